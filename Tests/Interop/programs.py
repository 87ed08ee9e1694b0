"""The programs the tests start, and the free ports and folders they need. Nothing outlives the tests."""

import ctypes
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
START = 30.0  # seconds until a program listens

PR_SET_PDEATHSIG = 1


def free_ports(count):
    """Ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


@cache
def products():
    """The folder of the programs that `swift build` made."""
    shown = subprocess.run(
        ["swift", "build", "--show-bin-path"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    return Path(shown.stdout.strip())


def product(name):
    """The command of one of our programs; an environment variable such as REFERENCE_PERIPHERAL names another one."""
    instead = os.environ.get(name.upper().replace("-", "_"))
    if instead:
        return shlex.split(instead)
    path = products() / name
    assert path.exists(), f"{path} is missing: build first (make test does)"
    return [str(path)]


def python(script, *arguments):
    return [sys.executable, str(script), *map(str, arguments)]


class Program:
    """A running program with its output in a file. It ends with the tests at the latest, whatever happens to them."""

    def __init__(self, command, log):
        self.command, self.log = [str(word) for word in command], Path(log)
        with open(self.log, "wb") as output:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.log.parent,
                preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL),
            )

    @property
    def output(self):
        return self.log.read_text(errors="replace")

    def check_alive(self):
        code = self.process.poll()
        assert code is None, f"{self.command[0]} ended with {code}:\n{self.output[-2000:]}"

    def wait_for(self, text):
        """Waits until the output holds `text`, which may be the program's last word; gives the line it stands in."""
        deadline = time.monotonic() + START
        while time.monotonic() < deadline:
            has_ended = self.process.poll() is not None
            line = next((line for line in self.output.splitlines() if text in line), None)
            if line is not None:
                return line
            if has_ended:
                self.check_alive()
            time.sleep(0.05)
        raise AssertionError(f"{self.command[0]} did not say {text!r} in {START:g} s:\n{self.output[-2000:]}")

    def wait_for_port(self, port):
        deadline = time.monotonic() + START
        while time.monotonic() < deadline:
            self.check_alive()
            # Asked of the kernel: a connection would be taken for a host.
            listening = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
            if any(
                f":{port:04X}" in line.split()[1] and line.split()[3] == "0A" for line in listening.splitlines()[1:]
            ):
                return
            time.sleep(0.05)
        raise AssertionError(f"{self.command[0]} did not listen on {port} in {START:g} s:\n{self.output[-2000:]}")

    def wait_for_end(self, seconds):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.command[0]} still runs after {seconds:g} s:\n{self.output[-2000:]}") from None

    def stop(self):
        """Ends the program the way a person would (SIGTERM); kills it if it does not."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)
        if self.process.stdin:
            self.process.stdin.close()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.stop()
