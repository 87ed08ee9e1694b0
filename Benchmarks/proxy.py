#!/usr/bin/env python3
"""Benchmarks/proxy.py [PROGRAM]

Instructions of `ble proxy` for an advertisement, from the packet of the controller to the socket of a client, beside those of
`ble scan --json --all` for the same advertisement. Callgrind counts those of the whole program in user space; the result is the difference of
two runs, in which only the number of advertisements differs, divided by it.

500 devices advertise, each time with other data, in bursts of 20: as many as a message has at 1,000 a second. PROGRAM is the tool: that of
.cache/release (scripts/release-products), with the Swift runtime linked statically, unless it is given. It needs valgrind and the Python
environment of the tests of the proxy: `make bench-proxy` has both.
"""

import asyncio
import base64
import pathlib
import random
import socket
import struct
import sys
import tempfile

from aioesphomeapi import APIClient
from bumble.controller import Controller
from bumble.transport.tcp_server import open_tcp_server_transport_with_socket

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEVICES, BURST = 500, 20
FEW, MANY = 500, 2500
KEY = base64.b64encode(bytes(32)).decode()
ROWS = {
    "ble proxy, encrypted": ["proxy", "--listen", "127.0.0.1:0", "--key-file", "KEY"],
    "ble proxy, plain text": ["proxy", "--listen", "127.0.0.1:0", "--plain-text"],
    "ble scan --json --all": ["scan", "--json", "--all", "--duration", "3600"],
}


def report(device, number):
    """An LE Advertising Report (Vol 4, Part E, 7.7.65.2) with Manufacturer Specific Data that has the number."""
    address = (0xC00000000000 | device).to_bytes(6, "little")
    data = bytes([2, 1, 6, 17, 0xFF, 0xFF, 0xFF]) + struct.pack("<I", number) + bytes(10) + bytes([3, 3, 0x1A, 0x18])
    parameters = bytes([2, 1, 0, 1]) + address + bytes([len(data)]) + data + bytes([200 + number % 20])
    return bytes([4, 0x3E, len(parameters)]) + parameters


class Reader:
    """Counts the advertisements that arrive: messages for a client of the proxy, lines of the scan."""

    def __init__(self):
        self.count = 0
        self.changed = asyncio.Event()

    def add(self, count):
        self.count += count
        self.changed.set()

    async def wait_for(self, count):
        while self.count < count:
            self.changed.clear()
            await self.changed.wait()


async def lines(process, reader):
    while octets := await process.stdout.read(1 << 20):
        reader.add(octets.count(b"\n"))


async def instructions(program, words, count):
    """Those of a whole run with so many advertisements."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        transport = await open_tcp_server_transport_with_socket(server)
        controller = Controller("C", host_source=transport.source, host_sink=transport.sink)
        profile, key = pathlib.Path(folder, "profile"), pathlib.Path(folder, "key")
        key.write_text(KEY)
        key.chmod(0o600)
        words = [str(key) if word == "KEY" else word for word in words]
        process = await asyncio.create_subprocess_exec(
            "valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={profile}", program, *words,
            "--transport", f"tcp-client:127.0.0.1:{server.getsockname()[1]}", stdout=asyncio.subprocess.PIPE)
        reader = Reader()
        if words[0] == "proxy":
            place = (await process.stdout.readline()).decode().split()[1]
            client = APIClient("127.0.0.1", int(place.rsplit(":", 1)[1]), None, noise_psk=KEY if str(key) in words else None)
            await client.connect(login=True)
            client.subscribe_bluetooth_le_raw_advertisements(lambda message: reader.add(len(message.advertisements)))
        else:
            reading = asyncio.create_task(lines(process, reader))
        while not controller.le_scan_enable:
            await asyncio.sleep(0.05)
        draw = random.Random(1)
        for number in range(count):
            if number % DEVICES == 0:
                order = draw.sample(range(DEVICES), DEVICES)
            transport.sink.on_packet(report(order[number % DEVICES], number))
            if number % BURST == BURST - 1:
                await reader.wait_for(number + 1)
        process.terminate()
        await process.wait()
        if words[0] != "proxy":
            await reading
        await transport.close()
        return next(int(line.split()[1]) for line in profile.read_text().splitlines() if line.startswith(("summary:", "totals:")))


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / ".cache/release/release/ble")
    print(f"{'':24} {'instructions':>12}")
    for name, words in ROWS.items():
        few, many = [asyncio.run(instructions(program, words, count)) for count in (FEW, MANY)]
        print(f"{name:24} {(many - few) / (MANY - FEW):12,.0f}", flush=True)


main()
