"""bluetoothd on the same adapter, started after us."""

import struct

from bluetooth import Refused
from conftest import Peripheral, long_uuid
from daemon import BluetoothDaemon
from programs import wait_until


# Disconnect with its three octets (Vol 4, Part E, 7.1.6), as H4.
DISCONNECT = b"\x01\x06\x04\x03"


def hci_packets(path):
    """Our own trace: (sent by us, H4 packet), in order."""
    octets = path.read_bytes()
    place, found = 16, []
    # The last packet may be in the middle of being written.
    while place + 24 <= len(octets):
        length, _, flags, _ = struct.unpack_from(">IIII", octets, place)
        packet = octets[place + 24 : place + 24 + length]
        if len(packet) == length:
            found.append((flags & 1 == 0, packet))
        place += 24 + length
    return found


def test_a_daemon_that_comes_later_does_not_keep_our_links(controllers, connect, drop, logs):
    trace = logs / "later.btsnoop"
    with Peripheral("linux:hci0", logs / "later.txt", "--snoop", trace) as peripheral:
        peripheral.wait_for("READY")
        client = connect()
        assert client.characteristics()
        drop(client)
        with BluetoothDaemon(logs, 2):

            def serves():
                client = None
                try:
                    client = connect()
                    if long_uuid("0002") in client.characteristics():
                        return True
                    # bluetoothd's database: the peripheral ends this link within a second.
                    while True:
                        client.link.receive()
                except (OSError, Refused):
                    if client:
                        client.link.close()
                    return False

            wait_until(serves, lambda: peripheral.output)
            peripheral.wait_for("bluetoothd took a link of this program")
            peripheral.check_alive()
    packets = [packet for _, packet in hci_packets(trace)]
    disconnects = [place for place, packet in enumerate(packets) if packet[:4] == DISCONNECT]
    answers = [place for place, packet in enumerate(packets) if packet[:2] == b"\x04\x0f" and packet[5:7] == b"\x06\x04"]
    assert disconnects and len(disconnects) == len(answers), "what the adapter's keeper sends is in the trace, too"
    assert all(sent < answered for sent, answered in zip(disconnects, answers))
