"""One process that serves on two adapters."""

import struct

from bluetooth import set_down
from conftest import PATTERN, Peripheral, long_uuid, wait_for_count


def test_two_at_once(controllers, connect, drop, identity, logs):
    with Peripheral("linux:hci0", logs / "two.txt", "--transport", f"linux:{identity[3]}") as peripheral:
        wait_for_count(peripheral, "READY", 2)
        clients = [connect(1, to=identity[0]), connect(2, to=identity[3])]
        handles = clients[0].characteristics()
        for number, client in enumerate(clients):
            client.exchange_mtu(100 + number)
            assert client.read_long(handles[long_uuid("0002")]) == PATTERN
            client.write(handles[long_uuid("0003")], b"%d" % number)
            client.write(handles[long_uuid("0007")] + 1, b"\x01\x00")
        for number, client in enumerate(clients):
            client.write(handles[long_uuid("0006")], struct.pack("<BHH", 1, 50, 20 + number))
        for number, client in enumerate(clients):
            assert client.read(handles[long_uuid("0003")]) == b"%d" % number, "each has values of its own"
            for expected in range(50):
                pdu = client.link.value_update()
                assert struct.unpack_from("<I", pdu, 3)[0] == expected and len(pdu) == 23 + number
        # The one goes, the other stays.
        set_down(3)
        peripheral.wait_for("poweredOff: linux:00:AA")
        drop(clients[1], 2, identity[3])
        assert clients[0].read_long(handles[long_uuid("0002")]) == PATTERN
        set_down(3, False)
        peripheral.wait_for("poweredOn again")
        again = connect(2, to=identity[3], patience=20)
        assert again.read_long(handles[long_uuid("0002")]) == PATTERN
        drop(again, 2, identity[3])
        drop(clients[0])
