"""A client, a device, the radio or the proxy is killed at a random moment: afterwards the slots are right, and no descriptor is lost.

PROXY_CYCLES is the number of cycles (20); PROXY_CYCLES_FILE gets a line of numbers for each, which proxy_plot.py draws.
"""

import asyncio
import contextlib
import os
import random

import pytest
from home import api
from programs import LIMIT, Program, product, reserved_port, until
from test_proxy import COUNTER, VALUE, Lamp, Proxy, Relay, address

pytestmark = pytest.mark.proxy

CYCLES = int(os.environ.get("PROXY_CYCLES", "20"))
VICTIMS = ("client", "device", "radio", "proxy")


class Trigger(Relay):
    """Does something once, after a number of octets in both directions: at a moment that does not depend on the computer."""

    def __init__(self, proxy, octets, action):
        super().__init__(proxy)
        self.left, self.action = octets, action

    def count(self, octets):
        self.left -= len(octets)
        if self.left <= 0:
            self.pull()

    def pull(self):
        action, self.action = self.action, None
        if action:
            action()

    async def relay(self, reader, writer):
        upstream, sink = await asyncio.open_connection("127.0.0.1", self.proxy.port)
        self.writers += [writer, sink]

        async def copy(source, target):
            with contextlib.suppress(ConnectionError):
                while octets := await source.read(64):
                    target.write(octets)
                    self.count(octets)
                target.close()

        await asyncio.gather(copy(reader, sink), copy(upstream, writer))


class Radio(Program):
    def __init__(self, folder, port):
        super().__init__([*product("ble"), "radio", "--tcp", port], folder / "radio.log")
        self.transport = self.wait_for("READY").split()[1]
        self.transports = [self.transport]


async def use(client, device):
    """What a client does with a device."""
    await client.connect(login=True)
    client.subscribe_bluetooth_le_raw_advertisements(lambda message: None)
    gone = asyncio.Event()
    await client.bluetooth_device_connect(
        address(device), lambda up, mtu, error: up or gone.set(), feature_flags=0xFF, has_cache=False, address_type=1)

    async def exchange():
        found = await client.bluetooth_gatt_get_services(address(device))
        handles = {c.uuid: c.handle for service in found.services for c in service.characteristics}
        await client.bluetooth_gatt_start_notify(address(device), handles[COUNTER], lambda handle, value: None)
        for number in range(20):
            await device.count(number)
            await client.bluetooth_gatt_read(address(device), handles[VALUE])
            await client.bluetooth_gatt_write(address(device), handles[VALUE], bytes(number), True)

    work, ended = asyncio.ensure_future(exchange()), asyncio.ensure_future(gone.wait())
    done, others = await asyncio.wait({work, ended}, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        task.cancel()
    for task in done:
        task.result()


async def slots(proxy, device):
    """What a client that has just come learns, once the device is received and no slot is in use."""
    client, seen, received = api(proxy), [], set()
    await client.connect(login=True)
    client.subscribe_bluetooth_connections_free(lambda *state: seen.append(state))
    client.subscribe_bluetooth_le_raw_advertisements(
        lambda message: received.update(entry.address for entry in message.advertisements))
    await until(lambda: address(device) in received, "the device is not received")
    await until(lambda: seen and seen[-1][0] == seen[-1][1], lambda: f"slots are lost: {seen[-1:]}")
    assert seen[-1][2] == []
    await client.disconnect()
    return seen[-1][0]


def clients(proxy):
    """The sockets of clients that the proxy has open."""
    opened = set()
    for number in os.listdir(f"/proc/{proxy.process.pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            opened.add(os.readlink(f"/proc/{proxy.process.pid}/fd/{number}"))
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table][1:]
    return [row for row in rows
            if row[1].endswith(f":{proxy.port:04X}") and row[3] != "0A" and f"socket:[{row[9]}]" in opened]


async def descriptors(proxy, baseline):
    """The open descriptors once no client has one: as many as before, if there was a time before."""
    await until(lambda: not clients(proxy), "the socket of a client that is gone stays open")
    await until(lambda: baseline in (None, proxy.descriptors), lambda: f"descriptors: {proxy.descriptors} instead of {baseline}")
    return proxy.descriptors


def memory(proxy):
    """Resident kilobytes."""
    with open(f"/proc/{proxy.process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_no_slot_is_lost_whatever_is_killed(tmp_path):
    # Not within the limit of one test: each wait has it.
    asyncio.run(cycles(tmp_path))


async def cycles(tmp_path):
    seed = int(os.environ.get("PROXY_SEED") or random.randrange(1 << 32))
    print("PROXY_SEED:", seed)
    choice, lines = random.Random(seed), []
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(reserved_port())
        radio = proxy = device = baseline = None
        for cycle in range(CYCLES):
            victim, octets = choice.choice(VICTIMS), choice.randrange(1, 6000)
            radio = radio or Radio(tmp_path, port)
            device = device or await Lamp(radio.transport).__aenter__()
            if proxy is None:
                proxy, baseline = Proxy(radio, tmp_path), None
            limit = await slots(proxy, device)
            # The first time is after a client was served: the thread of the server opens its poller after READY.
            baseline = await descriptors(proxy, baseline)
            lines.append(f"{cycle} {victim} {octets} {limit} {baseline} {memory(proxy)} {proxy.process.pid}")
            print(lines[-1], flush=True)

            def kill():
                if victim == "client":
                    relay.lose()
                elif victim == "device":
                    device.transport.sink.transport.abort()
                else:
                    (radio if victim == "radio" else proxy).process.kill()

            async with Trigger(proxy, octets, kill) as relay:
                client = api(relay)
                with contextlib.suppress(Exception):
                    await use(client, device)
                relay.pull()
                with contextlib.suppress(Exception):
                    await client.disconnect(force=True)
            if victim in ("device", "radio"):
                await device.__aexit__()
                device = None
            if victim == "radio":
                # The proxy stays, and opens its transport again.
                radio.process.wait(LIMIT)
                radio = None
            if victim == "proxy":
                proxy.process.wait(LIMIT)
                await until(lambda: not device.device.connections, "the link of a killed proxy has not ended")
                proxy = None
        if proxy:
            proxy.check_alive()
        if device:
            await device.__aexit__()
        for program in (proxy, radio):
            if program:
                program.process.kill()
    if file := os.environ.get("PROXY_CYCLES_FILE"):
        with open(file, "w") as written:
            written.write("\n".join(lines) + "\n")
