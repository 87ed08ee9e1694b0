"""Each system call of a program that runs for long fails once: the program goes on, or ends with a status and a line.

A program that goes on does its work again; it never stays without doing it. A run without faults counts the calls of each kind, and in further
runs one of them fails. These tests wait nearly all of their time, so that they have a part of their own with more processes (scripts/test).
"""

import contextlib
import json
import os
import re
import subprocess
import time

import pytest
from programs import LIMIT, POLL, Program, product, wait_until
from test_ble_tool import run
from test_gateway import Broker, Client
from test_system_faults import number_of_faults, with_faults

pytestmark = pytest.mark.failed_calls

ADDRESS = "C0:11:22:33:44:55"
VALUE = f"ble/devices/{ADDRESS}-random/181A/2A6E/value"
# How each kind of call fails (faults/system_faults.c).
ERRORS = {
    "read": "EIO", "write": "EIO", "recv": "ENOMEM", "send": "ENOBUFS", "socket": "EMFILE", "wait": "ENOMEM", "watch": "ENOSPC",
    "make": "EMFILE", "thread": "EAGAIN", "connect": "ENOMEM", "option": "ENOMEM", "name": "ENOMEM", "open": "EMFILE", "file": "EIO",
}  # fmt: skip
# How often a program uses files depends on what earlier runs have stored.
FILE_CALLS = ("read", "write", "open", "file")

calls = pytest.mark.parametrize("call", ERRORS)


@pytest.fixture(scope="session")
def library(preloaded):
    return preloaded("system_faults")


def chosen(count):
    """Which of so many calls fail: the first ones, with which a program starts, and some of the later ones."""
    return sorted({*range(min(count, 4)), *(count * part // 4 for part in range(1, 4))} & set(range(count)))


def calls_of(log):
    return {name: int(calls) for name, calls, _ in (line.split() for line in log.read_text().splitlines())}


class Thermometer:
    """The description of `ble serve --example`, whose temperature can be changed."""

    def __init__(self, folder):
        self.file, self.value = folder / "thermometer.json", 0
        self.description = json.loads(run("serve", "--example"))
        self.change()

    def change(self):
        self.value += 1
        self.description["services"][0]["characteristics"][0]["value"] = self.value.to_bytes(2, "little").hex()
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(self.description))
        new.rename(self.file)


def follows(condition, program, thermometer):
    """Whether a condition is satisfied while the temperature changes and the program runs. If it is not, the caller tries again.

    A change before the program has subscribed is not reported: the next one follows soon.
    """
    for _ in range(20):
        thermometer.change()
        deadline = time.monotonic() + 0.25
        while time.monotonic() < deadline:
            if condition():
                return True
            if program.process.poll() is not None:
                return False
            time.sleep(POLL)
    return False


def read_by_another(program, transport, thermometer):
    """What `ble serve` is for."""
    command = [*product("ble"), "read", ADDRESS, "2A6E", "--timeout", "5", *transport]
    return subprocess.run(command, capture_output=True, timeout=LIMIT).returncode == 0


def prints(program, transport, thermometer):
    """What `ble scan` and `ble subscribe` are for."""
    before = program.output.count("\n{")
    return follows(lambda: program.output.count("\n{") > before, program, thermometer)


class Use:
    """A program, and a function that uses it, with whether it has worked."""

    def __init__(self, program, works):
        self.program, self.works = program, works

    def end(self, log):
        """Uses the program until its call has failed and it has worked after that, or has ended.

        A call that is not reached after three uses is none of this run.
        """
        deadline, uses, works = time.monotonic() + LIMIT, 0, False
        while not works and self.program.process.poll() is None:
            assert time.monotonic() < deadline, f"it neither works nor ends:\n{self.program.output[-2000:]}"
            has_failed = log.exists()
            if self.works():
                uses += 1
                works = has_failed or uses == 3
        if works:
            self.program.process.terminate()
        status = self.program.wait_for_end()
        if not works:
            check_failure(status, self.program)


def check_failure(status, program):
    assert 0 < status < 128 and re.search(r"^ble(-gateway)?: ", program.output, re.MULTILINE), (status, program.output[-2000:])


@pytest.fixture(scope="session")
def counted(tmp_path_factory, worker_id):
    """The folder of the calls that the programs made without a fault, which the processes of the tests share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "calls-without-faults"
    folder.mkdir(exist_ok=True)
    return folder


def calls_without_faults(counted, name, run):
    """The calls of each kind that a program makes; `run` runs it, with a path for its calls, where no test has done so yet."""
    if not (whole := counted / name).exists():
        log = whole.with_name(f"{name}-{os.getpid()}")
        run(log)
        log.rename(whole)
    return calls_of(whole)


def sweep(start, library, counted, name, folder, call):
    """Runs a program without a fault, then once for each chosen call that fails.

    `start` takes the beginning of the command and a path for the output, and gives a `Use`.
    """

    def run(log):
        with start(with_faults(library, "", log), folder / "whole.log") as use:
            for _ in range(3):
                wait_until(use.works, lambda: f"it does not work:\n{use.program.output}")
            use.program.process.terminate()
            use.program.wait_for_end()

    numbers, reached = chosen(calls_without_faults(counted, name, run)[call]), 0
    for number in numbers:
        log = folder / f"calls-{number}"
        command = with_faults(library, f"{call}:{ERRORS[call]}:100", log, first=number, limit=1)
        with start(command, folder / f"{number}.log") as use:
            use.end(log)
        reached += log.exists() and number_of_faults(log)[call]
    assert reached or not numbers or call in FILE_CALLS


@contextlib.contextmanager
def served(folder, *endpoint):
    """A radio, and the thermometer on it; gives the thermometer, the options of a host and the program that serves."""
    thermometer = Thermometer(folder)
    with Program([*product("ble"), "radio", *endpoint], folder / "radio.log") as radio:
        transport = ["--transport", radio.wait_for("READY").split()[1]]
        command = [*product("ble"), "serve", thermometer.file, "--address", ADDRESS, *transport]
        yield thermometer, transport, command
        radio.check_alive()


def check_command(library, counted, name, folder, command, call, *endpoint):
    words = {"scan": ["scan", "--json", "--all", "--duration", LIMIT], "subscribe": ["subscribe", "--json", ADDRESS, "2A6E"]}
    with contextlib.ExitStack() as stack:
        thermometer, transport, serve = stack.enter_context(served(folder, *endpoint))
        if command == "serve":
            whole, use = serve, read_by_another
        else:
            whole, use = [*product("ble"), *words[command], *transport], prints
            stack.enter_context(Program(serve, folder / "serve.log")).wait_for("READY")

        @contextlib.contextmanager
        def start(before, log):
            with Program([*before, *whole], log) as program:
                yield Use(program, lambda: use(program, transport, thermometer))

        sweep(start, library, counted, name, folder, call)


@calls
@pytest.mark.parametrize("command", ["serve", "scan", "subscribe"])
def test_a_command_goes_on_or_ends(library, counted, tmp_path, command, call):
    check_command(library, counted, command, tmp_path, command, call, "--tcp", "0")


@pytest.mark.parametrize("call", ["recv", "send", "socket", "connect"])
def test_a_command_on_a_unix_socket_goes_on_or_ends(library, counted, tmp_path, call):
    check_command(library, counted, "serve-unix", tmp_path, "serve", call, "--unix", tmp_path / "radio")


@calls
def test_a_gateway_goes_on_or_ends(library, counted, tmp_path, call):
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(Broker(tmp_path / "broker"))
        client = stack.enter_context(Client(broker))
        thermometer, transport, serve = stack.enter_context(served(tmp_path, "--tcp", "0"))
        stack.enter_context(Program(serve, tmp_path / "serve.log")).wait_for("READY")
        words = ["--broker", f"127.0.0.1:{broker.port}", "--id", "kitchen", "--subscribe", "181A/2A6E", *transport]

        @contextlib.contextmanager
        def start(before, log):
            with Program([*before, *product("ble-gateway"), *words], log) as program:

                def publishes():
                    before = thermometer.value

                    def is_new(message):
                        return int.from_bytes(bytes.fromhex(message["hex"]), "little") > before

                    return follows(lambda: any(map(is_new, client.of(VALUE))), program, thermometer)

                yield Use(program, publishes)

        sweep(start, library, counted, "gateway", tmp_path, call)


@calls
def test_two_hosts_on_a_radio_of_the_process_end(library, counted, tmp_path, call):
    """`ble demo`: both hosts and their radio are in one process. The runs with a fault are at the same time."""

    def demonstrate(log, number, faults=""):
        command = [*with_faults(library, faults, log, first=number, limit=1), *product("ble"), "demo"]
        return Program(command, tmp_path / f"{number}.log")

    def run(log):
        with demonstrate(log, 0) as program:
            assert program.wait_for_end() == 0, program.output

    numbers = chosen(calls_without_faults(counted, "demo", run)[call])
    faults = f"{call}:{ERRORS[call]}:100"
    with contextlib.ExitStack() as stack:
        programs = [stack.enter_context(demonstrate(tmp_path / f"calls-{number}", number, faults)) for number in numbers]
        for program in programs:
            status = program.wait_for_end()
            if status != 0:
                check_failure(status, program)
