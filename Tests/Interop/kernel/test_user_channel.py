"""The stack in user space on an adapter taken from the kernel."""

import contextlib
import subprocess

import pytest
from bluetooth import Management
from conftest import DESCRIPTION, PATTERN, Peripheral, long_uuid
from programs import LIMIT, product


@pytest.fixture
def taken(controllers, logs, request):
    with Peripheral("hci-socket:0", logs / f"{request.node.name}.txt") as program:
        program.wait_for("READY")
        yield program
        program.check_alive()


def test_it_serves(taken, connect, drop):
    for _ in range(5):
        client = connect()
        client.exchange_mtu(247)
        characteristics = client.characteristics()
        assert client.read_long(characteristics[long_uuid("0002")]) == PATTERN
        client.write_long(characteristics[long_uuid("0003")], bytes(range(150)))
        assert client.read_long(characteristics[long_uuid("0003")]) == bytes(range(150))
        drop(client)


def test_a_second_program_is_told_who_is_there(taken):
    done = subprocess.run(
        [*product("reference-peripheral"), "--desc", DESCRIPTION, "--transport", "hci-socket:0"],
        capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    print(done.stderr)
    held = "hci-socket:0: another program uses the adapter (bind: Device or resource busy (EBUSY)). End that program"
    assert done.returncode == 75 and held in done.stderr


def test_the_next_program_gets_it_from_a_killed_one(controllers, connect, drop, logs):
    """With a link up: the kernel closes the channel of the killed program, so the next one begins with a reset."""
    with Peripheral("hci-socket:0", logs / "killed-on-the-channel.txt") as first:
        first.wait_for("READY")
        client = connect()
        first.process.kill()
        first.process.wait(10)
        drop(client)
    with Peripheral("hci-socket:0", logs / "next-on-the-channel.txt") as second:
        second.wait_for("READY")
        client = connect()
        assert client.read_long(client.characteristics()[long_uuid("0002")]) == PATTERN
        drop(client)
        second.check_alive()


def test_the_kernel_gets_it_back(controllers, logs):
    with contextlib.closing(Management()) as management:
        with Peripheral("hci-socket:0", logs / "back.txt") as program:
            program.wait_for("READY")
            assert 0 not in management.indices()
        assert 0 in management.indices()
