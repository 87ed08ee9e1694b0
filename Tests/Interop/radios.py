"""The radios the tests run on: each a program that gives every host attached to it a controller of its own."""

import contextlib
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from programs import HERE, LIMIT, ROOT, Program, product, python, reserved_port


@dataclass
class Radio:
    name: str
    program: Program
    port: int

    @property
    def transport(self):
        return f"tcp-client:127.0.0.1:{self.port}"


@contextlib.contextmanager
def bumble(name, folder, *options):
    with Program(python(HERE / "radio.py", *options), folder / f"{name}.log") as program:
        port = int(program.wait_for("READY").split()[1])
        yield Radio(name, program, port)


@contextlib.contextmanager
def ours(name, folder, *options, before=()):
    command = [*before, *product("virtual-radio"), "--tcp", 0, *options]
    with Program(command, folder / f"{name}.log") as program:
        port = int(program.wait_for("READY").rsplit(":", 1)[1])
        yield Radio(name, program, port)


def rootcanal_command():
    """RootCanal's binary; with a private C library where the system's is too old for it."""
    binary = Path(sys.prefix).glob("lib/python*/site-packages/rootcanal/bin/linux-x86_64/rootcanal")
    binary = next(binary, None)
    if binary is None:
        pytest.skip("RootCanal is not installed: make test-rootcanal does it")
    found = subprocess.run(
        [ROOT / "scripts/rootcanal-libraries", ROOT / ".cache/rootcanal"], capture_output=True, text=True, timeout=LIMIT
    )
    assert found.returncode == 0, found.stderr
    libraries = found.stdout.strip()
    if not libraries:
        return [binary]
    return [f"{libraries}/ld-linux-x86-64.so.2", "--library-path", libraries, binary]


@contextlib.contextmanager
def rootcanal(name, folder):
    """RootCanal has four ports, and cannot choose one that is free."""
    with contextlib.ExitStack() as stack:
        test, hci, link, link_le = [stack.enter_context(reserved_port()) for _ in range(4)]
        ports = ["-test_port", test, "-hci_port", hci, "-link_port", link, "-link_ble_port", link_le]
        with Program([*rootcanal_command(), *ports], folder / f"{name}.log") as program:
            program.wait_for_port(hci)
            yield Radio(name, program, hci)


RADIOS = {
    "bumble": lambda folder: bumble("bumble", folder),
    # The smallest controller there is: one buffer of 27 octets, legacy advertising, and a stream in shreds.
    "bumble-small": lambda folder: bumble(
        "bumble-small", folder, "--acl-length", 27, "--acl-packets", 1, "--legacy", "--shreds"
    ),
    "virtual": lambda folder: ours("virtual", folder),
    "virtual-small": lambda folder: ours(
        "virtual-small", folder, "--acl-length", 27, "--acl-count", 1, "--no-extended-advertising"
    ),
    # The same with the timing of a real radio.
    "virtual-paced": lambda folder: ours("virtual-paced", folder, "--pace"),
    "rootcanal": lambda folder: rootcanal("rootcanal", folder),
}


# Those that every run of the tests has. The others have markers (pytest.ini).
FIRST = ("bumble", "virtual")


def parameters(*names):
    """The parameters of a test or fixture for radios of these names."""
    return [pytest.param(name, marks=marks(name)) for name in names]


def marks(name):
    if name in FIRST:
        return ()
    return pytest.mark.rootcanal if name == "rootcanal" else pytest.mark.other_radios


def peripheral(transport, description, folder, trace=None):
    """Our reference peripheral at `transport`, serving the description; its bonds stay in `folder`."""
    bonds = f"BLE_BONDS={folder / 'bonds.json'}"
    command = ["env", bonds, *product("reference-peripheral"), "--transport", transport, "--desc", description]
    if trace is not None:
        command += ["--snoop", trace]
    return Program(command, folder / "reference-peripheral.log")


def have_tshark():
    return shutil.which("tshark") is not None
