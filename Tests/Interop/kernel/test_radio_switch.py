"""Radio switches (rfkill), which switch adapters off and tell nobody by the management protocol that they let go."""

import struct

import pytest
from bluetooth import Management
from conftest import Peripheral, long_uuid, wait_for_count

BLOCKED = "linux:hci0: a radio switch (rfkill) blocks hci0. Run: sudo rfkill unblock bluetooth"


def block(on):
    """struct rfkill_event: number, type Bluetooth, operation "change all", soft, hard."""
    with open("/dev/rfkill", "wb", buffering=0) as switches:
        switches.write(struct.pack("<IBBBB", 0, 2, 3, on, 0))


@pytest.fixture
def blockable(controllers):
    yield
    block(False)
    management = Management()
    controllers.switch_on(management, [index for index in management.indices() if index])
    management.close()


def serves(connect, drop):
    client = connect()
    assert long_uuid("0002") in client.characteristics()
    drop(client)


def test_blocked_while_it_serves(blockable, controllers, peripheral, connect, drop):
    with_management = Management()
    serves(connect, drop)
    for round in range(1, 4):
        block(True)
        wait_for_count(peripheral, f"the adapter is poweredOff: {BLOCKED}", round)
        block(False)
        wait_for_count(peripheral, "the adapter is poweredOn again", round)
        controllers.switch_on(with_management, [1])
        serves(connect, drop)
    with_management.close()


def test_blocked_before_it_comes(blockable, controllers, connect, drop, logs):
    block(True)
    with Peripheral("linux:hci0", logs / "blocked.txt") as peripheral:
        peripheral.wait_for(f"the adapter is poweredOff: {BLOCKED}")
        block(False)
        peripheral.wait_for("READY")
        management = Management()
        controllers.switch_on(management, [1])
        management.close()
        serves(connect, drop)


def test_blocked_and_taken(blockable, controllers, logs):
    block(True)
    with Peripheral("hci-socket:0", logs / "blocked-channel.txt") as peripheral:
        peripheral.wait_for("a radio switch (rfkill) blocks")
        block(False)
        peripheral.wait_for("READY")
