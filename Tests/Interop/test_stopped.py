"""A program that is stopped for a while (Control-Z, a debugger) takes what has arrived before it looks at its limits of time."""

import asyncio
import os
import signal
import socket
import struct
from pathlib import Path

from programs import LIMIT, Program, product, quiet, until

RESET, READ_LOCAL_VERSION = bytes.fromhex("01030c00"), bytes.fromhex("01011000")
RESET_COMPLETE = bytes.fromhex("040e0401030c00")
PAUSE = 5  # seconds, more than our host gives a controller


async def command(reader):
    """The next command of the host, all of it."""
    header = await reader.readexactly(4)
    return header + await reader.readexactly(header[3])


async def test_an_answer_that_came_while_the_program_was_stopped_is_in_time(preloaded, tmp_path):
    clock = tmp_path / "clock"
    clock.write_bytes(bytes(8))
    environment = ["env", f"LD_PRELOAD={preloaded('still_clock')}", f"CLOCK_SECONDS={clock}"]
    listener = socket.create_server(("127.0.0.1", 0))
    transport = f"tcp-client:127.0.0.1:{listener.getsockname()[1]}"
    with listener, Program([*environment, *product("ble"), "scan", "--transport", transport], tmp_path / "scan.log") as program:
        listener.settimeout(LIMIT)
        reader, writer = await asyncio.open_connection(sock=(await asyncio.to_thread(listener.accept))[0])

        async def pause(until_second, answer=b""):
            await quiet(program)  # it waits for the controller
            status = Path(f"/proc/{program.process.pid}/status")
            os.kill(program.process.pid, signal.SIGSTOP)
            await until(lambda: "\nState:\tT" in status.read_text(), lambda: "the program is not stopped")
            writer.write(answer)
            await writer.drain()
            with open(clock, "r+b") as file:
                file.write(struct.pack("=q", until_second))
            os.kill(program.process.pid, signal.SIGCONT)

        assert await command(reader) == RESET
        await pause(PAUSE)
        assert await command(reader) == RESET, "the pause is shorter than the time that the controller has"
        await pause(2 * PAUSE, RESET_COMPLETE)
        assert await command(reader) == READ_LOCAL_VERSION, program.output
        writer.close()
