"""A program that is stopped for a while (Control-Z, a debugger) takes what has arrived before it looks at its limits of time."""

import contextlib
import os
import signal
import socket
import time
from pathlib import Path

from programs import LIMIT, Program, product, wait_until

RESET, READ_LOCAL_VERSION = bytes.fromhex("01030c00"), bytes.fromhex("01011000")
RESET_COMPLETE = bytes.fromhex("040e0401030c00")
# Vol 4, Part E, 4.4 gives a controller one second; our host gives it two.
COMMAND_TIMEOUT = 2


def command(host):
    """The next command of the host, all of it."""
    header = host.recv(4, socket.MSG_WAITALL)
    return header + host.recv(header[3], socket.MSG_WAITALL) if header[3] else header


@contextlib.contextmanager
def stopped(process):
    os.kill(process.pid, signal.SIGSTOP)
    try:
        wait_until(lambda: "\nState:\tT" in Path(f"/proc/{process.pid}/status").read_text(), lambda: "the program is not stopped")
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)


def test_an_answer_that_came_while_the_program_was_stopped_is_in_time(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as controller:
        controller.settimeout(LIMIT)
        transport = f"tcp-client:127.0.0.1:{controller.getsockname()[1]}"
        with Program([*product("ble"), "scan", "--transport", transport], tmp_path / "scan.log") as program:
            host, _ = controller.accept()
            with host:
                host.settimeout(LIMIT)
                assert command(host) == RESET
                with stopped(program.process):
                    # On a computer with much other work it may have been late before it was stopped.
                    host.setblocking(False)
                    with contextlib.suppress(BlockingIOError):
                        host.recv(1024)
                    host.settimeout(LIMIT)
                    host.sendall(RESET_COMPLETE)
                    # Its clock goes on.
                    time.sleep(COMMAND_TIMEOUT + 0.2)
                assert command(host) == READ_LOCAL_VERSION, program.output
