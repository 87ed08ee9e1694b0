"""The programs the tests start, and what the tests wait for. Nothing outlives the tests."""

import asyncio
import contextlib
import ctypes
import errno
import fcntl
import inspect
import os
import pty
import re
import shlex
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# The one limit of real time, in seconds: of each wait and of each test. It only ends a test that hangs, so it is far above
# everything that a loaded computer needs.
LIMIT = 300.0
POLL = 0.02

PR_SET_PDEATHSIG = 1


def wait_until(condition, what, seconds=LIMIT):
    """Waits until the condition gives something, and returns that. `what` is the text of the failure, or gives it.

    Tests of the time that something takes have their own `seconds` (the marker `slow`).
    """
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what() if callable(what) else what} (after {seconds:g} s)"
        time.sleep(POLL)
    return found


async def until(condition, what):
    """As `wait_until`, while the event loop runs. The condition may be a coroutine."""
    deadline = time.monotonic() + LIMIT
    while True:
        found = condition()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return found
        assert time.monotonic() < deadline, f"{what() if callable(what) else what} (after {LIMIT:g} s)"
        await asyncio.sleep(POLL)


@contextlib.contextmanager
def reserved_port():
    """A port for programs that need its number before they start, or keep it over a restart.

    The socket is bound but does not listen: nobody else gets the port, and connections to it are refused. A program that
    sets SO_REUSEADDR can listen on it, one after the other. The port is reserved for IPv6, too: a server that got it there
    would have clients that come to this one, because `localhost` is both.
    """
    with contextlib.ExitStack() as stack:
        while True:
            port = stack.enter_context(bound(socket.AF_INET, "127.0.0.1", 0)).getsockname()[1]
            try:
                stack.enter_context(bound(socket.AF_INET6, "::1", port))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    continue
                # This machine has no IPv6.
            break
        yield port


def bound(family, address, port):
    reservation = socket.socket(family)
    try:
        reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reservation.bind((address, port))
    except OSError:
        reservation.close()
        raise
    return reservation


@cache
def products():
    """The folder of the programs that `swift build` made: BLE_PRODUCTS, or the folder that it names."""
    if folder := os.environ.get("BLE_PRODUCTS"):
        return ROOT / folder
    shown = subprocess.run(
        ["swift", "build", "--show-bin-path"], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=True
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

    # Those that a test may be using, for its report.
    started = []

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
        Program.started.append(self)

    @property
    def output(self):
        return self.log.read_text(errors="replace")

    def check_alive(self):
        code = self.process.poll()
        assert code is None, f"{self.command[0]} ended with {code}:\n{self.output[-2000:]}"

    def wait_for(self, text):
        """Waits until the output holds `text`, which may be the program's last word; gives the line it stands in."""

        def find():
            has_ended = self.process.poll() is not None
            # A line without its end may be a part of one.
            lines = [line for line in self.output.splitlines(keepends=True) if has_ended or line.endswith("\n")]
            line = next((line.rstrip("\r\n") for line in lines if text in line), None)
            if line is None and has_ended:
                self.check_alive()
            return line

        return wait_until(find, lambda: f"{self.command[0]} did not say {text!r}:\n{self.output[-2000:]}")

    def tell(self, line):
        """Writes a line to the program's standard input."""
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def wait_for_port(self, port):
        def is_listening():
            self.check_alive()
            # Asked of the kernel: a connection would be taken for a host.
            listening = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
            return any(
                f":{port:04X}" in line.split()[1] and line.split()[3] == "0A" for line in listening.splitlines()[1:]
            )

        wait_until(is_listening, lambda: f"{self.command[0]} did not listen on {port}:\n{self.output[-2000:]}")

    def wait_for_socket(self, path):
        """Waits until it listens on a Unix socket, whether or not another one has left a file there."""

        def is_listening():
            self.check_alive()
            columns = map(str.split, Path("/proc/net/unix").read_text().splitlines())
            return any(line[-1] == str(path) and line[3] == "00010000" for line in columns)

        wait_until(is_listening, lambda: f"{self.command[0]} did not listen on {path}:\n{self.output[-2000:]}")

    def wait_for_end(self, seconds=LIMIT):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.command[0]} still runs after {seconds:g} s:\n{self.output[-2000:]}") from None

    def threads(self):
        """The state of each thread, and how often it has run (proc(5))."""
        found = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                lines = (line.split(":") for line in (task / "status").read_text().splitlines())
                fields = {name: value.strip() for name, value in lines if name == "State" or name.endswith("ctxt_switches")}
                found.append((task.name, *fields.values()))
        return found

    def stop(self):
        """Ends the program the way a person would (SIGTERM); kills it if it does not."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.stop()


class Terminal:
    """A command of the tool on a terminal, for its questions. The terminal is that of its session, so that Control-C signals it."""

    def __init__(self, *words):
        self.parent, child = pty.openpty()
        self.output = ""
        self.process = subprocess.Popen(
            [*product("ble"), *map(str, words)],
            stdin=child,
            stdout=child,
            stderr=child,
            env={**os.environ, "NO_COLOR": "1", "TERM": "xterm"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(child)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        with contextlib.suppress(OSError):  # EIO: the program has ended
            while part := os.read(self.parent, 65_536):
                self.output += part.decode(errors="replace").replace("\r\n", "\n")

    def wait_for(self, pattern, times=1):
        """Waits until the output has the pattern, so many times; gives the last match."""

        def find():
            found = list(re.finditer(pattern, self.output))
            return found[times - 1] if len(found) >= times else None

        return wait_until(find, lambda: f"{pattern!r} is not in the output:\n{self.output}")

    def tell(self, line):
        self.type(f"{line}\n")

    def type(self, keys):
        """Types keys, such as Control-C, which is \\x03."""
        os.write(self.parent, keys.encode())

    def check_end(self, status):
        assert self.process.wait(LIMIT) == status, self.output
        # The output of a program that has ended may wait to be read.
        self.reader.join(LIMIT)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(LIMIT)
        # A reader that still runs would read from the terminal that gets this number next.
        self.reader.join(LIMIT)
        os.close(self.parent)


async def quiet(*programs):
    """Waits until the programs have nothing to do: in ten looks in a row no thread of them runs, is ready to run, or has run since
    the look before. A program that waits for the processor is not quiet, however busy the computer is.
    """
    last, looks = None, 0

    def is_quiet():
        nonlocal last, looks
        now = [program.threads() for program in programs]
        sleeps = all(state.startswith("S") for threads in now for _, state, *_ in threads)
        looks = looks + 1 if sleeps and now == last else 0
        last = now
        return looks >= 10

    await until(is_quiet, lambda: f"programs at work: {last}")
