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

DESCRIPTION = HERE / "weather.json"
PATTERN = bytes(7 * i & 0xFF for i in range(300))  # what weather.json calls pattern:300


def long_uuid(short):
    return bytes.fromhex(f"7a3c{short}52d64c1e9b0f6d1e2f3a4b5c")[::-1]


class Controllers:
    """BlueZ's btvirt: hci0 is the peripheral's, the others belong to centrals."""

    def __init__(self, logs, count):
        self.logs, self.count = logs, count
        self.program = None
        self.starts = itertools.count()

    def start(self):
        # btvirt now and then takes the kernel's first command for something else, and that controller never appears.
        for _ in range(5):
            self.program = Program([os.environ.get("BTVIRT", "btvirt"), f"-l{self.count}"], self.logs / f"btvirt{next(self.starts)}")
            deadline = time.monotonic() + 6
            while time.monotonic() < deadline:
                with contextlib.closing(Management()) as management:
                    if len(management.indices()) >= self.count:
                        return self.switch_centrals_on(management)
                time.sleep(0.1)
            self.stop()
            time.sleep(0.5)
        raise TimeoutError("the controllers do not appear")

    def switch_centrals_on(self, management):
        for index in range(1, self.count):
            # Without a daemon beside it, the kernel's default is BR/EDR alone.
            management.switch(index, 1, Management.LE)
            assert management.switch(index, 1) == 0

    def stop(self):
        self.program.process.kill()
        self.program.stop()


@pytest.fixture(scope="session")
def logs():
    path = Path("/share/logs")
    path.mkdir(exist_ok=True)
    return path


@pytest.fixture(scope="session")
def controllers(logs):
    for module in ("bluetooth", "hci_vhci"):
        subprocess.run(["modprobe", module], check=True)
    controllers = Controllers(logs, int(os.environ.get("CONTROLLERS", "4")))
    controllers.start()
    yield controllers
    controllers.stop()


class Peripheral(Program):
    """reference-peripheral on one transport."""

    def __init__(self, transport, log, *more, executable=None):
        command = executable or product("reference-peripheral")
        super().__init__([*command, "--desc", DESCRIPTION, "--transport", transport, *more], log)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


@pytest.fixture(scope="session")
def identity(controllers):
    """The address of hci0, and of a central's adapter by its index."""
    with contextlib.closing(Management()) as management:
        return {index: management.address(index) for index in management.indices()}


@pytest.fixture
def peripheral(controllers, logs, request):
    log = logs / f"{request.node.name}.txt"
    with Peripheral("linux:hci0", log, "--snoop", log.with_suffix(".btsnoop")) as program:
        program.wait_for("READY")
        yield program
        program.check_alive()


@pytest.fixture
def connect(identity):
    """Makes links to hci0 from any other adapter; ends them after the test."""
    with contextlib.ExitStack() as stack:

        def connect(adapter=1, patience=10):
            deadline = time.monotonic() + patience
            while True:
                try:
                    link = stack.enter_context(Link(identity[adapter], identity[0], PUBLIC))
                    return Client(link)
                except OSError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.3)

        yield connect


@pytest.fixture
def drop(identity):
    """Ends a client's link at once, from the side of its adapter."""
    with contextlib.closing(Management()) as management:

        def drop(client, adapter=1):
            management.disconnect(adapter, identity[0])
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
