"""bluetoothd on the same adapter, started after us."""

import pytest
from bluetooth import Refused
from conftest import Peripheral, long_uuid
from daemon import BluetoothDaemon


def test_a_daemon_that_comes_later_does_not_keep_our_links(controllers, connect, drop, logs):
    with Peripheral("linux:hci0", logs / "later.txt") as peripheral:
        peripheral.wait_for("READY")
        client = connect()
        assert client.characteristics()
        drop(client)
        with BluetoothDaemon(logs, 2):
            for _ in range(8):
                try:
                    client = connect()
                    if long_uuid("0002") in client.characteristics():
                        break
                    # bluetoothd's database: the peripheral ends this link within a second.
                    while True:
                        client.link.receive(5)
                except (OSError, Refused):
                    client.link.close()
            else:
                pytest.fail(peripheral.output)
            peripheral.wait_for("bluetoothd took a link that was meant for this one")
            peripheral.check_alive()
