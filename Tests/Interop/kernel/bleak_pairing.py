"""bleak pairs and reads: bleak_pairing.py hci1 NAME CAPABILITY LOG; an empty CAPABILITY pairs no more, but is known.

The agent knows what the peripheral shows by its LOG, as a user would by its screen. Says what it found as JSON."""

import asyncio
import json
import re
import sys
from pathlib import Path

from bleak import BleakClient
from bleak_client import found_by_name, repeated
from dbus_fast import BusType
from dbus_fast.aio import MessageBus
from dbus_fast.errors import DBusError
from dbus_fast.service import ServiceInterface, method
from programs import LIMIT

UUID = "7a3c{}-52d6-4c1e-9b0f-6d1e2f3a4b5c".format


class Agent(ServiceInterface):
    def __init__(self, log):
        super().__init__("org.bluez.Agent1")
        self.log, self.asked = Path(log), []

    async def shown(self, word):
        while not (found := re.findall(rf"{word} (\d+)", self.log.read_text())):
            await asyncio.sleep(0.1)
        return int(found[-1])

    @method()
    def Release(self):
        pass

    @method()
    def Cancel(self):
        self.asked.append("cancel")

    @method()
    async def RequestPasskey(self, device: "o") -> "u":  # noqa: F821
        self.asked.append("enter")
        return await self.shown("passkey")

    @method()
    async def RequestConfirmation(self, device: "o", passkey: "u"):  # noqa: F821
        self.asked.append("compare")
        if await self.shown("compared") != passkey:
            raise DBusError("org.bluez.Error.Rejected", "another number")

    @method()
    def RequestAuthorization(self, device: "o"):  # noqa: F821
        self.asked.append("consent")


async def session(adapter, name, capability, agent):
    device = await found_by_name(name, adapter)
    # BlueZ 5.82 ends the link after Insufficient Authentication if it cannot reach the level, and never answers the read.
    end = asyncio.get_running_loop().create_future()
    async with BleakClient(
        device, timeout=LIMIT, bluez={"adapter": adapter}, disconnected_callback=lambda _: end.done() or end.set_result(None)
    ) as client:
        if capability:
            await asyncio.wait_for(client.pair(), LIMIT)
        read = {}
        for short in ("0102", "0103"):
            reading = asyncio.ensure_future(asyncio.wait_for(client.read_gatt_char(UUID(short)), LIMIT))
            await asyncio.wait([reading, end], return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                reading.cancel()
                read[short] = "the link ended"
                continue
            try:
                read[short] = bytes(reading.result()).decode()
            except Exception as failure:
                read[short] = str(failure)
    return {"read": read, "asked": agent.asked}


async def main(adapter, name, capability, log):
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    agent = Agent(log)
    bus.export("/agent", agent)
    proxy = bus.get_proxy_object("org.bluez", "/org/bluez", await bus.introspect("org.bluez", "/org/bluez"))
    manager = proxy.get_interface("org.bluez.AgentManager1")
    await manager.call_register_agent("/agent", capability or "NoInputNoOutput")
    await manager.call_request_default_agent("/agent")
    print(json.dumps(await repeated(lambda: session(adapter, name, capability, agent))), flush=True)


asyncio.run(main(*sys.argv[1:]))
