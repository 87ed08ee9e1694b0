"""`ble proxy` while a client, a device, the radio or the proxy itself is killed at a random moment: free slots and descriptors are right
afterwards.

PROXY_KILLS is the number of cycles, PROXY_KILLS_SEED their seed, and PROXY_KILLS_ROWS a file for a row of each.
"""

import asyncio
import base64
import contextlib
import json
import os
import random
import re
import secrets

import pytest
from aioesphomeapi import APIClient
from aioesphomeapi.core import APIConnectionError
from programs import LIMIT, Program, product, until

pytestmark = pytest.mark.proxy

CYCLES = int(os.environ.get("PROXY_KILLS", 12))
DEVICES = 3
LAMP = {
    "name": "Lamp",
    "services": [{"uuid": "FFF0", "characteristics": [{"uuid": "FFF1", "properties": ["read", "write"], "value": "07"}]}],
}


class World:
    """The radio, the proxy and the devices, each a process with an endpoint of its own, so that addresses stay."""

    def __init__(self, folder):
        self.folder, self.number = folder, 0
        self.key = base64.b64encode(secrets.token_bytes(32)).decode()
        with open(os.open(folder / "key", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(self.key)
        (folder / "lamp.json").write_text(json.dumps(LAMP))
        self.programs = {}

    def start(self, name, *words):
        self.number += 1
        program = Program([*product("ble"), *words], self.folder / f"{self.number}-{name}.log")
        self.programs[name] = program
        return program

    def sockets(self):
        return [self.folder / f"{number}.sock" for number in range(DEVICES + 1)]

    def transport(self, number):
        return ["--transport", f"unix-client:{self.sockets()[number]}"]

    def start_all(self):
        """Starts whatever is not running."""
        if not self.runs("radio"):
            radio = self.start("radio", "radio", *(word for path in self.sockets() for word in ("--unix", path)))
            radio.wait_for(f"READY unix-client:{self.sockets()[-1]}")
        if not self.runs("proxy"):
            proxy = self.start("proxy", "proxy", *self.transport(0), "--listen", "127.0.0.1:0", "--key-file", "key")
            self.port = int(re.search(r":(\d+)", proxy.wait_for("READY").split()[1])[1])
            self.descriptors = None
        for number in range(1, DEVICES + 1):
            if not self.runs(f"device-{number}"):
                device = self.start(f"device-{number}", "serve", "lamp.json", *self.transport(number))
                device.address = int(re.search(r"as ([0-9A-F:]+)", device.wait_for("READY"))[1].replace(":", ""), 16)

    def runs(self, name):
        return name in self.programs and self.programs[name].process.poll() is None

    def kill(self, name):
        self.programs[name].process.kill()
        self.programs[name].process.wait()

    @property
    def addresses(self):
        return [self.programs[f"device-{number}"].address for number in range(1, DEVICES + 1)]

    @property
    def open_descriptors(self):
        return len(os.listdir(f"/proc/{self.programs['proxy'].process.pid}/fd"))

    @property
    def memory(self):
        """Anonymous memory of the proxy, in kB."""
        text = open(f"/proc/{self.programs['proxy'].process.pid}/smaps_rollup").read()
        return int(re.search(r"Anonymous:\s+(\d+)", text)[1])


class Client:
    """One client of the native API."""

    async def __aenter__(self):
        self.api = APIClient("127.0.0.1", self.port, None, noise_psk=self.key, client_info="test")
        self.slots, self.found = None, set()
        await self.api.connect(login=True)
        self.api.subscribe_bluetooth_connections_free(lambda free, limit, allocated: setattr(self, "slots", (free, limit, allocated)))
        self.api.subscribe_bluetooth_le_raw_advertisements(lambda message: self.found.update(a.address for a in message.advertisements))
        return self

    def __init__(self, world):
        self.port, self.key = world.port, world.key

    async def __aexit__(self, *failure):
        with contextlib.suppress(APIConnectionError, TimeoutError):
            await self.api.disconnect(force=True)

    async def use(self, address, step):
        """Connects to a device and uses it; `step` is called before each step."""
        step("connect")
        await self.api.bluetooth_device_connect(
            address, lambda *state: None, timeout=10, disconnect_timeout=10, feature_flags=0xFF, address_type=0)
        step("discover")
        services = await self.api.bluetooth_gatt_get_services(address)
        [handle] = [c.handle for s in services.services for c in s.characteristics if c.uuid.startswith("0000fff1")]
        for _ in range(3):
            step("read")
            assert bytes(await self.api.bluetooth_gatt_read(address, handle)) == b"\x07"
        step("disconnect")
        await self.api.bluetooth_device_disconnect(address)


async def cycle(world, number, draw):
    """Kills something before a random step of clients that use devices."""
    victim = draw.choice(["nothing", "client", "device", "proxy", "radio"])
    moment = draw.randrange(14)
    steps = []
    killed = asyncio.Event()

    def step(name):
        steps.append(name)
        if len(steps) != moment + 1:
            return
        if victim == "device":
            world.kill(f"device-{draw.randint(1, DEVICES)}")
        elif victim in ("proxy", "radio"):
            world.kill(victim)
        killed.set()

    async with Client(world) as client:
        await until(lambda: client.found >= set(world.addresses), lambda: (client.found, world.addresses))
        uses = [asyncio.create_task(client.use(address, step)) for address in world.addresses]
        if victim == "client":
            waiting = asyncio.create_task(killed.wait())
            await asyncio.wait([waiting, asyncio.gather(*uses, return_exceptions=True)], return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            # Without a goodbye.
            await client.api.disconnect(force=True)
            for use in uses:
                use.cancel()
        results = await asyncio.wait_for(asyncio.gather(*uses, return_exceptions=True), LIMIT)
    if victim == "nothing":
        assert results == [None] * DEVICES, results
    world.start_all()
    async with Client(world) as client:
        await until(lambda: client.slots and client.slots[0] == client.slots[1], lambda: (number, victim, steps, client.slots))
        # Every device can be used again.
        await until(lambda: client.found >= set(world.addresses), lambda: (client.found, world.addresses))
        await client.use(world.addresses[number % DEVICES], lambda name: None)
        assert client.slots[2] == [], client.slots
    # The number that this proxy has at the first time.
    if world.descriptors is None:
        await asyncio.sleep(0)
        world.descriptors = world.open_descriptors
    await until(lambda: world.open_descriptors <= world.descriptors, lambda: (number, victim, world.open_descriptors))
    return victim, len(steps), world.open_descriptors, world.memory


async def test_no_slot_and_no_descriptor_is_lost_whatever_is_killed(tmp_path):
    draw = random.Random(int(os.environ.get("PROXY_KILLS_SEED", 7)))
    world = World(tmp_path)
    world.start_all()
    rows = ["cycle,victim,steps,descriptors,anonymous kB"]
    for number in range(CYCLES):
        rows.append(",".join(map(str, (number, *await cycle(world, number, draw)))))
    if path := os.environ.get("PROXY_KILLS_ROWS"):
        with open(path, "w") as file:
            file.write("\n".join(rows) + "\n")
