"""btmon's decoding of a whole session beside our own trace of it."""

import re
import shutil
import signal
import struct
import subprocess
from pathlib import Path

import pytest
from conftest import PATTERN, Peripheral, long_uuid
from programs import LIMIT, Program, wait_until


def att_pdus(path):
    """The ATT PDUs of our trace, in order: (sent by us, octets)."""
    octets = path.read_bytes()
    assert octets[:8] == b"btsnoop\0"
    place, found = 16, []
    while place + 24 <= len(octets):
        length, _, flags, _ = struct.unpack_from(">IIII", octets, place)
        packet = octets[place + 24 : place + 24 + length]
        place += 24 + length
        if len(packet) == length and packet[0] == 2 and packet[7:9] == b"\x04\x00":
            found.append((flags & 1 == 0, packet[9:]))
    return found


def monitor_pdus(path):
    """The ATT PDUs of hci0 in btmon's own file (datalink 2001: opcode in the low, adapter in the high 16 bits).

    Long ones travel in fragments, which are put together by direction.
    """
    octets = path.read_bytes()
    place, found, parts = 16, [], {}
    while place + 24 <= len(octets):
        _, length, flags, _ = struct.unpack_from(">IIII", octets, place)
        packet = octets[place + 24 : place + 24 + length]
        place += 24 + length
        if place > len(octets):
            break  # still being written
        if flags >> 16 != 0 or flags & 0xFFFF not in (4, 5):
            continue
        sent = flags & 0xFFFF == 4
        is_continued = struct.unpack_from("<H", packet)[0] >> 12 & 3 == 1
        frame = (parts.get(sent, b"") if is_continued else b"") + packet[4:]
        parts[sent] = frame
        if len(frame) >= 4 and len(frame) - 4 == struct.unpack_from("<H", frame)[0] and frame[2:4] == b"\x04\x00":
            found.append((sent, frame[4:]))
    return found


@pytest.fixture
def roomy_sockets():
    """What a program does not take in time the kernel drops once a socket is full: here it never is, however late btmon."""
    room = Path("/proc/sys/net/core/rmem_default")
    before = room.read_text()
    room.write_text(str(64 << 20))
    yield
    room.write_text(before)


def test_btmon_and_our_trace_agree(controllers, connect, drop, logs, tools, roomy_sockets):
    record, trace = Path("/run/btmon.btsnoop"), Path("/run/session.btsnoop")
    with Program([tools("btmon"), "-w", record], logs / "btmon.txt") as monitor:
        wait_until(lambda: record.exists() and record.stat().st_size > 16, "btmon records nothing")
        with Peripheral("linux:hci0", logs / "session.txt", "--snoop", trace) as peripheral:
            peripheral.wait_for("READY")
            for mtu in (23, 247):
                client = connect()
                if mtu > 23:
                    client.exchange_mtu(mtu)
                client.services()
                characteristics = client.characteristics()
                assert client.read_long(characteristics[long_uuid("0002")]) == PATTERN
                client.write_long(characteristics[long_uuid("0003")], bytes(range(60)))
                for short, bits, order in (("0007", 1, 1), ("0008", 2, 2)):
                    client.write(characteristics[long_uuid(short)] + 1, struct.pack("<H", bits))
                    client.write(characteristics[long_uuid("0006")], struct.pack("<BHH", order, 20, 20))
                    for _ in range(20):
                        client.link.value_update()
                drop(client)
        ours = att_pdus(trace)
        wait_until(lambda: len(monitor_pdus(record)) >= len(ours), lambda: f"{len(monitor_pdus(record))} of {len(ours)} PDUs")
        monitor.process.send_signal(signal.SIGINT)
        monitor.wait_for_end()
    kernels = monitor_pdus(record)
    assert len(ours) > 200
    # The one sees a PDU when it is handed over, the other when it is on the wire: each direction has its order.
    for direction in (True, False):
        assert [pdu for sent, pdu in ours if sent is direction] == [pdu for sent, pdu in kernels if sent is direction]
    # btmon decodes as it records; what it cannot make sense of it calls invalid or malformed.
    assert "ATT: Handle Value Notification" in monitor.output
    assert not re.search("malformed|invalid", monitor.output, re.IGNORECASE)
    for path in (record, trace):
        shutil.copy(path, logs)
        decoded = subprocess.run(
            [tools("tshark"), "-r", path, "-Y", "btatt"], capture_output=True, text=True, timeout=LIMIT
        ).stdout  # fmt: skip
        assert "Read Blob Response" in decoded and "Handle Value Notification" in decoded
        assert "Malformed" not in decoded
