import contextlib
import itertools
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import repetitions  # noqa: E402
from bluetooth import Client, Link, Management, PUBLIC  # noqa: E402
from programs import HERE, LIMIT, Program, product, wait_until  # noqa: E402

SAVED_LOGS = Path("/share/logs")
DESCRIPTION = HERE / "weather.json"
PATTERN = bytes(7 * i & 0xFF for i in range(300))  # what weather.json calls pattern:300


def long_uuid(short):
    return bytes.fromhex(f"7a3c{short}52d64c1e9b0f6d1e2f3a4b5c")[::-1]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        report.message = repetitions.message_of(call.excinfo.value)
    return report


def pytest_sessionstart(session):
    shutil.rmtree(SAVED_LOGS, ignore_errors=True)


def pytest_runtest_protocol(item, nextitem):
    """Runs a test once more, with all fixtures made anew, when every failure of it has the message of a known fault."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    messages = [report.message for report in reports if report.failed]
    if messages and all(map(repetitions.FAULTS.matching, messages)):
        repetitions.allowed(messages[0], item.name)
        item.session._setupstate.teardown_exact(None)
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    """The closing lines."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None:
        return
    machine = f"KERNEL={os.environ['KERNEL']} scripts/test-kernel"
    failed = [report.nodeid for outcome in ("failed", "error") for report in terminal.stats.get(outcome, [])]
    for test in dict.fromkeys(failed):
        print(f"repeat: {machine} {shlex.quote(test)}")
    for line in repetitions.lines():
        print(line)
    counts = {outcome: len(terminal.stats.get(outcome, [])) for outcome in ("passed", "failed", "error", "skipped", "xfailed")}
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count or outcome == "passed")
    print(f"{told}; repetitions because of known faults: {repetitions.count()}")


class ControllerMissing(Exception):
    """btvirt has made fewer adapters than it should have."""


class KernelLog:
    """What the kernel logs from now on."""

    def __init__(self):
        self.number = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.number, 0, os.SEEK_END)
        self.text = ""

    def read(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                self.text += os.read(self.number, 8192).decode(errors="replace")
        return self.text

    def close(self):
        os.close(self.number)


class Controllers:
    """BlueZ's btvirt: the first controller is the peripheral's, the others belong to centrals.

    A controller's address follows from its kind and its place in btvirt alone, not from the kernel's index for it.
    """

    def __init__(self, logs, count):
        self.logs, self.count = logs, count
        self.program = None
        self.starts = itertools.count()

    def start(self, *kind):
        """`kind`: -L for Low Energy alone with legacy advertising, -B for BR/EDR alone."""
        before = self.indices()
        deadline = time.monotonic() + LIMIT
        while True:
            try:
                new = self.appeared(kind, before)
                break
            except ControllerMissing as failure:
                if time.monotonic() > deadline or not repetitions.allowed(repetitions.message_of(failure)):
                    raise
                self.stop()
                wait_until(lambda: self.indices() == before, "the controllers disappear")
        with contextlib.closing(Management()) as management:
            self.switch_on(management, new[1:])

    def appeared(self, kind, before):
        """The indices of the controllers that btvirt has made."""
        with contextlib.closing(KernelLog()) as log:
            command = [os.environ.get("BTVIRT", "btvirt"), *kind, f"-l{self.count}"]
            self.program = Program(command, self.logs / f"btvirt{next(self.starts)}")

            def new():
                return [index for index in self.indices() if index not in before]

            def have_appeared():
                self.program.check_alive()
                missing = ControllerMissing(f"{len(new())} of {self.count} controllers appear: {log.read()}")
                if len(new()) < self.count and repetitions.FAULTS.matching(repetitions.message_of(missing)):
                    raise missing
                return len(new()) >= self.count

            wait_until(have_appeared, lambda: f"{len(new())} of {self.count} controllers appear: {log.read()}")
            return new()

    @staticmethod
    def indices():
        with contextlib.closing(Management()) as management:
            return management.indices()

    @staticmethod
    def switch_on(management, indices):
        for index in indices:
            management.switch_on(index)

    def stop(self):
        self.program.process.kill()
        self.program.stop()

    @contextlib.contextmanager
    def of_kind(self, *kind):
        """Other controllers instead of the usual ones."""
        self.stop()
        self.start(*kind)
        try:
            yield
        finally:
            self.stop()
            self.start()


@pytest.fixture(scope="session")
def logs():
    """In memory: a newer kernel's 9p now and then has no data for who reads a file that another process is writing."""
    path = Path("/run/logs")
    path.mkdir(exist_ok=True)
    SAVED_LOGS.mkdir(exist_ok=True)
    return path


@pytest.fixture(autouse=True)
def saved_logs(logs):
    """What a test has logged is kept outside of the machine after it, for the machine may not live to the last test."""
    begin = time.time()
    yield
    for log in logs.iterdir():
        if log.is_file() and log.stat().st_mtime >= begin:
            shutil.copy2(log, SAVED_LOGS)


@pytest.fixture(scope="session")
def controllers(logs):
    for module in os.environ.get("KERNEL_MODULES", "bluetooth hci_vhci").split():
        subprocess.run(["modprobe", module], check=True)
    controllers = Controllers(logs, int(os.environ.get("CONTROLLERS", "4")))
    controllers.start()
    yield controllers
    controllers.stop()


@pytest.fixture(autouse=True)
def centrals(controllers):
    """Every test finds the centrals' adapters switched on, whatever the one before left."""
    with contextlib.closing(Management()) as management:
        controllers.switch_on(management, range(1, controllers.count))


def wait_for_count(program, text, count):
    def has_come():
        if program.output.count(text) >= count:
            return True
        program.check_alive()
        return False

    wait_until(has_come, lambda: f"{text!r} not {count} times:\n{program.output[-2000:]}")


class Peripheral(Program):
    """reference-peripheral on one transport."""

    def __init__(self, transport, log, *more, executable=None, description=DESCRIPTION):
        command = executable or product("reference-peripheral")
        super().__init__([*command, "--desc", description, "--transport", transport, *more], log)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def addresses():
    """The address of each adapter by its index."""
    with contextlib.closing(Management()) as management:
        return {index: management.address(index) for index in management.indices()}


@pytest.fixture(scope="session")
def identity(controllers):
    """The address of hci0, and of a central's adapter by its index."""
    return addresses()


@pytest.fixture
def peripheral(controllers, logs, request):
    log = logs / f"{request.node.name}.txt"
    with Peripheral("linux:hci0", log, "--snoop", log.with_suffix(".btsnoop")) as program:
        program.wait_for("READY")
        yield program
        program.check_alive()


@pytest.fixture
def connect(identity):
    """Makes links to hci0, or another adapter's address, from any other adapter; ends them after the test."""
    with contextlib.ExitStack() as stack:

        def connect(adapter=1, to=None, kind=PUBLIC):
            deadline = time.monotonic() + LIMIT
            while True:
                try:
                    own = identity[adapter] if isinstance(adapter, int) else adapter
                    return Client(stack.enter_context(Link(own, to or identity[0], kind)))
                except OSError as failure:
                    if time.monotonic() > deadline or not repetitions.allowed(repetitions.message_of(failure)):
                        raise

        yield connect


@pytest.fixture
def drop(identity):
    """Ends a client's link at once, from the side of its adapter."""
    with contextlib.closing(Management()) as management:

        def drop(client, adapter=1, to=None, kind=PUBLIC):
            management.disconnect(adapter, to or identity[0], kind)
            client.link.close()

        yield drop


@pytest.fixture(scope="session")
def tools():
    def need(name):
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"{name} is missing")
        return path

    return need
