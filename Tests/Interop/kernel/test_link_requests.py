"""What the peripheral's application may ask about a link: its signal strength, and other timing."""

import struct

from conftest import long_uuid

# LE Connection Update Complete, success (Vol 4, Part E, 7.7.65.3), as H4.
UPDATE_COMPLETE = b"\x04\x3e\x0a\x03\x00"


def test_signal_strength(peripheral, connect):
    client = connect()
    client.write(client.characteristics()[long_uuid("0006")], b"\x07")
    # What btvirt says of every link.
    assert peripheral.wait_for("rssi of ").endswith(": -1 dBm")


def test_connection_parameters(peripheral, connect, logs, request):
    client = connect()
    client.write(client.characteristics()[long_uuid("0006")], b"\x06")
    told = peripheral.wait_for("timing of ")
    trace = (logs / f"{request.node.name}.btsnoop").read_bytes()
    place = trace.index(UPDATE_COMPLETE)
    interval, latency, timeout = struct.unpack_from("<HHH", trace, place + 7)
    assert (interval, latency, timeout) == (24, 0, 600)
    assert told.endswith(": 0.03 seconds, latency 0, 6.0 seconds")
    assert client.characteristics()
