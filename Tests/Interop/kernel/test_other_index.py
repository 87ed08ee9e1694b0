"""An adapter that comes back under another index is found by its address."""

import os
import struct

from conftest import PATTERN, Peripheral, addresses, long_uuid, wait_for_count


def occupy_an_index():
    """A controller that says nothing and takes the lowest index for as long as it is open."""
    number = os.open("/dev/vhci", os.O_RDWR)
    # Vendor packet: make a primary controller; its answer holds the index.
    os.write(number, b"\xff\x00")
    assert struct.unpack("<BBH", os.read(number, 4))[2] == 0
    return number


def test_it_serves_again(controllers, connect, drop, identity, logs):
    with Peripheral("linux:hci0", logs / "other-index.txt") as peripheral:
        peripheral.wait_for("READY")
        client = connect()
        assert client.characteristics()
        drop(client)
        controllers.stop()
        peripheral.wait_for("the adapter is resetting")
        silent = occupy_an_index()
        try:
            controllers.start()
            found = addresses()
            assert found == {index + 1: address for index, address in identity.items()}
            wait_for_count(peripheral, "READY", 2)
            for _ in range(3):
                client = connect(found[2])
                assert client.read_long(client.characteristics()[long_uuid("0002")]) == PATTERN
                drop(client, 2)
        finally:
            os.close(silent)
            controllers.stop()
            controllers.start()
        wait_for_count(peripheral, "READY", 3)
        client = connect()
        assert client.characteristics()
        drop(client)
