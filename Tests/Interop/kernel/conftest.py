import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bluetooth import Client, Link, Management, PUBLIC  # noqa: E402
from programs import HERE, Program, product  # noqa: E402

SAVED_LOGS = Path("/share/logs")
DESCRIPTION = HERE / "weather.json"
PATTERN = bytes(7 * i & 0xFF for i in range(300))  # what weather.json calls pattern:300


def long_uuid(short):
    return bytes.fromhex(f"7a3c{short}52d64c1e9b0f6d1e2f3a4b5c")[::-1]


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
        with contextlib.closing(Management()) as management:
            before = management.indices()
        # btvirt now and then takes the kernel's first command for something else, and that controller never appears.
        for _ in range(5):
            command = [os.environ.get("BTVIRT", "btvirt"), *kind, f"-l{self.count}"]
            self.program = Program(command, self.logs / f"btvirt{next(self.starts)}")
            deadline = time.monotonic() + 6
            while time.monotonic() < deadline:
                with contextlib.closing(Management()) as management:
                    new = [index for index in management.indices() if index not in before]
                    if len(new) >= self.count:
                        return self.switch_on(management, new[1:])
                time.sleep(0.1)
            self.stop()
            time.sleep(0.5)
        raise TimeoutError("the controllers do not appear")

    @staticmethod
    def switch_on(management, indices):
        for index in indices:
            management.switch_on(index)

    def stop(self):
        self.program.process.kill()
        self.program.stop()

    @contextlib.contextmanager
    def of_kind(self, *kind):
        """Other controllers in the place of the usual ones."""
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
    shutil.rmtree(SAVED_LOGS, ignore_errors=True)
    SAVED_LOGS.mkdir()
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
    for module in ("bluetooth", "hci_vhci"):
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


def wait_for_count(program, text, count, seconds=20):
    deadline = time.monotonic() + seconds
    while program.output.count(text) < count:
        program.check_alive()
        assert time.monotonic() < deadline, f"{text!r} not {count} times:\n{program.output[-2000:]}"
        time.sleep(0.05)


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

        def connect(adapter=1, patience=20, to=None, kind=PUBLIC):
            deadline = time.monotonic() + patience
            while True:
                try:
                    own = identity[adapter] if isinstance(adapter, int) else adapter
                    # btvirt tells of an advertisement once: a kernel that has missed it has to begin again.
                    return Client(stack.enter_context(Link(own, to or identity[0], kind, patience=4)))
                except OSError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.3)

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
