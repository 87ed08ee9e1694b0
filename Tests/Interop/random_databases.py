"""Random services of a Bumble peripheral, and what a client must find of them."""

import asyncio
import contextlib
import random
import secrets
import struct
from dataclasses import dataclass

from bumble import hci
from bumble.att import Attribute
from bumble.core import UUID
from bumble.device import AdvertisingType, Device, DeviceConfiguration
from bumble.gatt import Characteristic, CharacteristicDeclaration, Descriptor, Service
from bumble.transport import open_transport
from central import acknowledge_at_once
from programs import LIMIT

NAME = "Random"
ADVERTISED = "FFF0"
# Around the lengths that fit one PDU of an ATT_MTU of 23, 48, 185, 247 or 517.
MTUS = (23, 24, 48, 185, 247, 517)
LENGTHS = (0, 1, 2, 19, 20, 21, 22, 23, 44, 47, 48, 182, 185, 246, 247, 300, 511, 512)
# Extended Properties, which would have to fit the properties, and the descriptors that hosts generate are left out.
DESCRIPTORS = ("2901", "2904", "2908", "0F0F0F0F-0000-4000-8000-0F0F0F0F0F0F")
NOTIFY_OR_INDICATE = Characteristic.Properties.NOTIFY | Characteristic.Properties.INDICATE


@dataclass
class Found:
    """One attribute as the client reports it: its value, or the ATT error of a read."""

    handle: int
    uuid: str
    value: bytes | None
    properties: int = 0
    is_written: bool = False


class RandomDatabase:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.mtu = self.random.choice(MTUS)
        self.gaps = [self.random.choice((0,) * 6 + (1, 2, 30)) for _ in range(400)]
        self.services = []
        for _ in range(self.random.randint(1, 6)):
            self.services.append(self.service())

    def uuid(self):
        """Few of them, so that types repeat."""
        if self.random.random() < 0.4:
            return UUID(f"5C4B3A2F-1E6D-0F9B-4C1E-52D67A3C000{self.random.randint(0, 2)}")
        return UUID.from_16_bits(0xFF00 + self.random.randint(0, 5))

    def service(self):
        # Bumble puts the first two octets of each UUID into an include declaration: right for 16 bits alone.
        short = [service for service in self.services if len(service.uuid.uuid_bytes) == 2]
        included = self.random.sample(short, min(len(short), self.random.randint(0, 2)))
        characteristics = [self.characteristic() for _ in range(self.random.randint(0, 4))]
        return Service(self.uuid(), characteristics, primary=True, included_services=included)

    def value(self):
        return self.random.randbytes(self.random.choice(LENGTHS))

    def permissions(self):
        """No reads without authorization, which nobody gives; else reads, some on encrypted links."""
        if self.random.random() < 0.1:
            return Attribute.READABLE | Attribute.READ_REQUIRES_AUTHORIZATION
        if self.random.random() < 0.1:
            return Attribute.READABLE | Attribute.WRITEABLE | Attribute.READ_REQUIRES_ENCRYPTION
        return Attribute.READABLE | Attribute.WRITEABLE

    def characteristic(self):
        types = self.random.sample(DESCRIPTORS, self.random.randint(0, 3))
        descriptors = [Descriptor(type, self.permissions(), self.value()) for type in types]
        # Without Extended Properties, and without signed writes, which Bumble has not.
        properties = Characteristic.Properties(self.random.randint(0, 0x3F))
        return Characteristic(self.uuid(), properties, self.permissions(), self.value(), descriptors)

    def publish(self, server):
        """Adds the services with gaps between the handles. A value follows its declaration."""

        def next_handle():
            last = server.attributes[-1] if server.attributes else None
            handle = last.handle + 1 if last else 1
            return handle if isinstance(last, CharacteristicDeclaration) else handle + self.gaps[len(server.attributes)]

        server.next_handle = next_handle
        server.max_mtu = self.mtu
        for service in self.services:
            server.add_service(service)

    def tree(self):
        """The services as the client has to find them: UUID, first and last handle, attributes."""
        return [
            (
                str_of(service.uuid),
                service.handle,
                service.end_group_handle,
                [one for characteristic in service.characteristics for one in self.found(characteristic)],
            )
            for service in self.services
        ]

    def found(self, characteristic):
        is_written = bool(characteristic.properties & Characteristic.Properties.WRITE)
        yield Found(
            characteristic.handle,
            str_of(characteristic.uuid),
            readable(characteristic),
            int(characteristic.properties),
            is_written and readable(characteristic) is not None,
        )
        for descriptor in characteristic.descriptors:
            yield Found(descriptor.handle, str_of(descriptor.type), readable(descriptor))
        if characteristic.properties & NOTIFY_OR_INDICATE:
            yield Found(characteristic.end_group_handle, "2902", b"\0\0")

    def includes(self):
        return {
            (str_of(service.uuid), service.handle): [str_of(included.uuid) for included in service.included_services]
            for service in self.services
        }


def readable(attribute):
    return None if attribute.permissions & Attribute.READ_REQUIRES_AUTHORIZATION else bytes(attribute.value)


def str_of(uuid):
    octets = bytes(reversed(uuid.uuid_bytes)).hex().upper()
    if len(octets) == 4:
        return octets
    return "-".join((octets[:8], octets[8:12], octets[12:16], octets[16:20], octets[20:]))


class RandomPeripheral:
    """A Bumble peripheral with a random database, at a public address."""

    def __init__(self, spec, seed):
        self.spec, self.database = spec, RandomDatabase(seed)

    async def __aenter__(self):
        async with contextlib.AsyncExitStack() as stack:
            transport = await asyncio.wait_for(open_transport(self.spec), LIMIT)
            stack.push_async_callback(transport.close)
            acknowledge_at_once(transport)
            address = hci.Address(secrets.token_bytes(5) + b"\xc7", hci.Address.RANDOM_DEVICE_ADDRESS)
            configuration = DeviceConfiguration(NAME, address, gap_service_enabled=False, gatt_service_enabled=False)
            self.device = Device.from_config_with_hci(configuration, transport.source, transport.sink)
            self.database.publish(self.device.gatt_server)
            await asyncio.wait_for(self.device.power_on(), LIMIT)
            data = b"\x02\x01\x06\x03\x03" + struct.pack("<H", int(ADVERTISED, 16))
            await self.device.start_advertising(
                advertising_type=AdvertisingType.UNDIRECTED_CONNECTABLE_SCANNABLE,
                advertising_data=data + bytes([len(NAME) + 1, 0x09]) + NAME.encode(),
                own_address_type=hci.OwnAddressType.PUBLIC,
                advertising_interval_min=30,
                advertising_interval_max=30,
                auto_restart=True,
            )
            self.stack = stack.pop_all()
        return self

    @property
    def address(self):
        return str(self.device.public_address).split("/")[0]

    async def __aexit__(self, *failure):
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.stack.aclose(), LIMIT)
