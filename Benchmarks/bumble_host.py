"""The host of the H4 benchmark on Bumble: bumble_host.py peripheral|scan SOCKET

As a peripheral it serves FFF0: FFF1, a value of 20 octets that Bumble keeps; FFF2, which is made for each read; FFF3, to write without
response; FFF4, which is notified for as long as a client is subscribed. As a scanner it counts reports until one has the manufacturer
data FF FF FF FF FF FF.
"""

import asyncio
import logging
import sys

from bumble import att, core, hci
from bumble.device import AdvertisingData, Device
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.transport import open_transport

# Packets that wait in Bumble, above which the application waits: Bumble has no limit of its own.
WAITING = 16
ADVERTISEMENT = bytes([2, 1, 6])


def value(first, second=0):
    return first.to_bytes(4, "little") + second.to_bytes(4, "little") + bytes(12)


class Peripheral:
    def __init__(self, device):
        self.device = device
        self.reads = self.writes = 0
        self.subscribers = set()
        properties, readable = Characteristic.Properties, att.Attribute.READABLE
        dynamic = CharacteristicValue(read=self.read)
        sink = CharacteristicValue(write=self.write)
        self.stream = Characteristic("FFF4", properties.NOTIFY, readable, bytes(20))
        self.stream.on("subscription", self.subscribed)
        write = properties.WRITE_WITHOUT_RESPONSE
        device.add_service(
            Service(
                core.UUID("FFF0"),
                [
                    Characteristic("FFF1", properties.READ, readable, bytes(range(20))),
                    Characteristic("FFF2", properties.READ, readable, dynamic),
                    Characteristic("FFF3", write, att.Attribute.WRITEABLE, sink),
                    self.stream,
                ],
            )
        )
        # It advertises again for the next link.
        device.on("connection", lambda connection: asyncio.ensure_future(self.advertise()))

    async def advertise(self):
        await self.device.start_advertising(auto_restart=False, advertising_data=ADVERTISEMENT)

    def read(self, connection):
        self.reads += 1
        return value(self.reads, self.writes)

    def write(self, connection, octets):
        self.writes += 1

    def subscribed(self, connection, notifies, indicates):
        if not notifies:
            self.subscribers.discard(connection.handle)
        elif connection.handle not in self.subscribers:
            self.subscribers.add(connection.handle)
            asyncio.ensure_future(self.notify(connection))

    async def notify(self, connection):
        queue = self.device.host.le_acl_packet_queue
        number = 0
        while connection.handle in self.subscribers:
            if queue.pending > WAITING:
                left = asyncio.get_running_loop().create_future()
                queue.once("flow", lambda left=left: left.done() or left.set_result(None))
                await left
                continue
            await self.device.gatt_server.notify_subscriber(connection, self.stream, value(number), force=True)
            number += 1


async def scan(device):
    def advertised(advertisement):
        data = advertisement.data.get(AdvertisingData.Type.MANUFACTURER_SPECIFIC_DATA)
        octets = data[1] if isinstance(data, tuple) else data
        if octets is not None and octets[:4] == b"\xff" * 4:
            asyncio.ensure_future(device.stop_scanning(legacy=True))

    device.on("advertisement", advertised)
    await device.start_scanning(legacy=True, active=False, filter_duplicates=False)


async def main(mode, socket):
    transport = await open_transport(f"unix-client:{socket}")
    address = hci.Address("F0:F1:F2:F3:F4:F5")
    device = Device.with_hci("h4bench", address, transport.source, transport.sink)
    if mode == "scan":
        await device.power_on()
        await scan(device)
    else:
        peripheral = Peripheral(device)
        await device.power_on()
        await peripheral.advertise()
    await transport.source.wait_for_termination()


logging.basicConfig(level=logging.ERROR)
asyncio.run(main(sys.argv[1], sys.argv[2]))
