"""btsnoop traces as Wireshark reads them."""

import subprocess
from collections import Counter

from programs import LIMIT

SENT = "hci_h4.direction == 0"  # the record's direction flag: host to controller

# Well-formed packets that Wireshark 4.0's ATT dissector calls malformed, because it reads a field that is not there.
DISSECTOR_FAULTS = [
    # Read Blob Response at the very end of a value: an empty part (Vol 3, Part F, 3.4.4.6).
    "btatt.opcode == 0x0d && btl2cap.length == 1",
    # An include declaration of a 128-bit service: no UUID in it (Vol 3, Part G, 3.2), entries of 6 octets.
    "btatt.opcode == 0x09 && btatt.length == 6 && btatt.uuid16 == 0x2802",
]


def fields(trace, display_filter, *names):
    """One tuple of `names` for each frame the display filter lets through."""
    command = ["tshark", "-n", "-r", str(trace), "-Y", display_filter, "-T", "fields"]
    for name in names:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    return [tuple(line.split("\t")) for line in done.stdout.splitlines()]


def check(trace, least):
    """Wireshark reads the whole trace, at least `least` frames of ours among it, and none of ours is malformed."""
    directions = Counter(int(direction, 0) for (direction,) in fields(trace, "frame", "hci_h4.direction"))
    assert directions[0] >= least and directions[1] > 0, f"frames by direction: {directions}"
    excused = " || ".join(f"({fault})" for fault in DISSECTOR_FAULTS)
    malformed = fields(trace, f"_ws.malformed && {SENT} && !({excused})", "frame.number", "_ws.col.Info")
    assert malformed == [], f"malformed packets sent: {malformed}"
    assert fields(trace, "_ws.short", "frame.number") == []
