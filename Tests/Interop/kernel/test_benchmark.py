"""What a request costs, beside BlueZ's btgatt-server: same kernel, same central, one after the other."""

import contextlib
import os
import struct
import time

import pytest
from bluetooth import Client, Link, Management
from conftest import Peripheral
from programs import Program

REQUESTS = 2000


def cpu_seconds(process):
    fields = open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(client, process):
    """Requests a second, and the server's processor time for one in µs, of reads of the device's name."""
    handle = client.characteristics()[struct.pack("<H", 0x2A00)]
    request = struct.pack("<BH", 0x0A, handle)
    for _ in range(50):
        client.link.request(request)
    began, used = time.monotonic(), cpu_seconds(process)
    for _ in range(REQUESTS):
        assert client.link.request(request)[0] == 0x0B
    passed, used = time.monotonic() - began, cpu_seconds(process) - used
    return REQUESTS / passed, used / REQUESTS * 1e6


@pytest.mark.skipif("BTGATT_SERVER" not in os.environ, reason="btgatt-server is not built")
def test_requests(controllers, connect, drop, identity, logs):
    lines = []
    with Peripheral("linux:hci0", logs / "benchmark-ours.txt") as program:
        program.wait_for("READY")
        client = connect()
        lines.append(("ours", *measure(client, program.process.pid)))
        drop(client)
    with contextlib.closing(Management()) as management:
        management.switch(0, 1, Management.LE)
        management.switch(0, 1)
        command = ["stdbuf", "-oL", os.environ["BTGATT_SERVER"], "-i", "hci0"]
        with Program(command, logs / "benchmark-btgatt.txt") as program:
            program.wait_for("listening on ATT channel")
            management.advertise(0)
            deadline = time.monotonic() + 20
            while True:
                try:
                    link = Link(identity[1], identity[0])
                    break
                except OSError:
                    assert time.monotonic() < deadline
            with link:
                client = Client(link)
                lines.append(("btgatt-server", *measure(client, program.process.pid)))
                drop(client)
            management.stop_advertising(0)
    with open(logs / "benchmark.txt", "w") as results:
        for name, rate, cost in lines:
            line = f"{name:14} {rate:8.0f} requests/s {cost:8.1f} µs of processor time each"
            print(line, file=results)
            print(line)
