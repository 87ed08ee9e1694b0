"""Controllers for Low Energy alone that know no extended advertising, as before Bluetooth 5."""

import contextlib

import pytest
from bluetooth import Management
from conftest import PATTERN, Peripheral, addresses, long_uuid

LE_SET_ADVERTISING_ENABLE, LE_SET_EXTENDED_ADVERTISING_ENABLE = b"\x01\x0a\x20", b"\x01\x39\x20"


@pytest.fixture(scope="module")
def legacy(controllers):
    with controllers.of_kind("-L"):
        yield addresses()


def serve(connect, drop, legacy, log, to):
    trace = log.with_suffix(".btsnoop")
    with Peripheral("linux:hci0", log, "--snoop", trace) as peripheral:
        peripheral.wait_for("READY")
        for _ in range(3):
            client = connect(legacy[1], to=to)
            client.exchange_mtu(247)
            assert client.read_long(client.characteristics()[long_uuid("0002")]) == PATTERN
            drop(client, 1, to)
        peripheral.check_alive()
    commands = trace.read_bytes()
    assert LE_SET_ADVERTISING_ENABLE in commands and LE_SET_EXTENDED_ADVERTISING_ENABLE not in commands


def test_legacy_advertising(legacy, connect, drop, logs):
    serve(connect, drop, legacy, logs / "legacy.txt", legacy[0])


def test_killed_and_started_again(legacy, connect, drop, logs):
    with Peripheral("linux:hci0", logs / "legacy-killed.txt") as peripheral:
        peripheral.wait_for("READY")
        peripheral.process.kill()
        peripheral.process.wait(10)
    log = logs / "legacy-started-again.txt"
    serve(connect, drop, legacy, log, legacy[0])
    assert "an advertisement of another program" in log.read_text()


def test_static_address(legacy, connect, drop, logs):
    """The kernel then knows its end of each link by the static address, whatever address is on the air."""
    with contextlib.closing(Management()) as management:
        management.switch(0, 0)
        management.set_static_address(0, "C0:FF:EE:00:00:01")
        try:
            serve(connect, drop, legacy, logs / "static.txt", legacy[0])
        finally:
            management.switch(0, 0)
            management.set_static_address(0, "00:00:00:00:00:00")
