"""What a request costs, beside BlueZ's btgatt-server: same kernel, same central, in turns. `make bench-kernel` runs it.

The processor is emulated: the ratios tell something, the figures themselves do not.
"""

import contextlib
import os
import statistics
import struct
import time
from pathlib import Path

from bluetooth import Management
from conftest import Peripheral
from programs import Program

ROUNDS = 7
REQUESTS = 2000


def processor_seconds(process):
    """What all threads of a process have used; to the nanosecond, as the scheduler counts it."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def measure(client, process):
    """Requests a second, and the server's processor time for one in µs, of reads of the device's name."""
    request = struct.pack("<BH", 0x0A, client.characteristics()[struct.pack("<H", 0x2A00)])
    for _ in range(100):
        client.link.request(request)
    began, used = time.monotonic(), processor_seconds(process)
    for _ in range(REQUESTS):
        assert client.link.request(request)[0] == 0x0B
    passed, used = time.monotonic() - began, processor_seconds(process) - used
    return REQUESTS / passed, used / REQUESTS * 1e6


def ours(connect, drop, logs):
    with Peripheral("linux:hci0", logs / "benchmark-ours.txt") as program:
        program.wait_for("READY")
        client = connect()
        result = measure(client, program.process.pid)
        drop(client)
    return result


def btgatt_server(connect, drop, logs):
    with contextlib.closing(Management()) as management:
        management.switch_on(0)
        command = ["stdbuf", "-oL", os.environ["BTGATT_SERVER"], "-i", "hci0"]
        with Program(command, logs / "benchmark-btgatt.txt") as program:
            program.wait_for("listening on ATT channel")
            management.advertise(0)
            client = connect()
            result = measure(client, program.process.pid)
            management.stop_advertising(0)
            drop(client)
        management.switch(0, 0)
    return result


def test_requests(controllers, connect, drop, logs):
    rounds = [(ours(connect, drop, logs), btgatt_server(connect, drop, logs)) for _ in range(ROUNDS)]
    lines = []
    for name, results in zip(("reference-peripheral", "btgatt-server"), zip(*rounds)):
        rate, cost = (statistics.median(values) for values in zip(*results))
        lines.append(f"{name:22}{rate:8.0f} requests/s{cost:9.1f} µs of processor time each")
    rates = [own[0] / other[0] for own, other in rounds]
    costs = [own[1] / other[1] for own, other in rounds]
    for name, ratios in (("rate", rates), ("processor time", costs)):
        median = statistics.median(ratios)
        lines.append(f"ours to theirs, {name}: {median:.2f} ({min(ratios):.2f} to {max(ratios):.2f}, {ROUNDS} rounds)")
    text = "\n".join(lines)
    print(f"\n{text}")
    (logs / "benchmark.txt").write_text(f"{text}\n")
