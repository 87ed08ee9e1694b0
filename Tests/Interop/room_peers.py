"""The other sides of the programs of Tests/Programs, on Bumble's host: the room sensor and the hello demo as peripherals."""

import asyncio
import contextlib
import secrets
import struct

from bumble import att, hci
from bumble.core import UUID, AdvertisingData
from bumble.device import AdvertisingType, Device, DeviceConfiguration
from bumble.gatt import Characteristic, CharacteristicValue, Descriptor, Service
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig
from bumble.profiles.gatt_service import GenericAttributeProfileService
from bumble.transport import open_transport
from central import acknowledge_at_once
from programs import LIMIT

Properties, Permissions = Characteristic.Properties, Characteristic.Permissions
INCLUDE = UUID.from_16_bits(0x2802)
HELLO = "0BADCAFE-{:04X}-4C1E-9B0F-6D1E2F3A4B5C"
ROOM = "E5A0{:04X}-4B1D-4E0C-9C35-6B2D7A1F0C11"
TEMPERATURE, LABEL, HISTORY, COMMAND, TRANSFER, OWNER, ALARM = "2A6E", *(ROOM.format(n) for n in range(2, 8))


class Peripheral:
    """A Bumble peripheral that advertises a service again after each link, and keeps its bonds in memory."""

    name, advertised = None, None

    def __init__(self, spec):
        self.spec = spec
        self.calls, self.tasks = [], []

    async def __aenter__(self):
        async with contextlib.AsyncExitStack() as stack:
            transport = await asyncio.wait_for(open_transport(self.spec), LIMIT)
            stack.push_async_callback(transport.close)
            acknowledge_at_once(transport)
            address = hci.Address(secrets.token_bytes(5) + b"\xc5", hci.Address.RANDOM_DEVICE_ADDRESS)
            configuration = DeviceConfiguration(self.name, address, gatt_service_enabled=False)
            self.device = Device.from_config_with_hci(configuration, transport.source, transport.sink)
            self.device.keystore = MemoryKeyStore()
            self.device.pairing_config_factory = lambda _: PairingConfig(
                sc=True, mitm=False, bonding=True, identity_address_type=PairingConfig.AddressType.RANDOM
            )
            self.server = self.device.gatt_server
            self.attribute_service = GenericAttributeProfileService(database_hash_enabled=False)
            self.device.add_service(self.attribute_service)
            self.add_services()
            self.device.on("connection", lambda connection: setattr(self, "connection", connection))
            await asyncio.wait_for(self.device.power_on(), LIMIT)
            name = (AdvertisingData.COMPLETE_LOCAL_NAME, self.name.encode())
            data = AdvertisingData([(AdvertisingData.FLAGS, b"\x06"), self.advertised, name])
            await self.device.start_advertising(
                advertising_type=AdvertisingType.UNDIRECTED_CONNECTABLE_SCANNABLE,
                advertising_data=bytes(data),
                own_address_type=hci.OwnAddressType.RANDOM,
                advertising_interval_min=30,
                advertising_interval_max=30,
                auto_restart=True,
            )
            self.stack = stack.pop_all()
        return self

    async def __aexit__(self, *failure):
        for task in self.tasks:
            task.cancel()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.stack.aclose(), LIMIT)

    def later(self, coroutine):
        self.tasks.append(asyncio.ensure_future(coroutine))

    def on_subscription(self, characteristic, react):
        """Calls `react` with whether the client is subscribed now."""
        characteristic.on(
            Characteristic.EVENT_SUBSCRIPTION, lambda _, notifies, indicates: react(bool(notifies or indicates))
        )


class RoomSensor(Peripheral):
    """What room-sensor serves, to the octet; values longer than 95 octets need several requests."""

    name = "Room"
    advertised = (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, struct.pack("<H", 0x181A))

    def add_services(self):
        self.server.max_mtu = 100
        self.label = b"unnamed"
        about = Service(
            ROOM.format(1),
            [
                Characteristic("2A29", Properties.READ, Permissions.READABLE, b"Example Works"),
                Characteristic("2A24", Properties.READ, Permissions.READABLE, b"RS-1"),
            ],
            primary=False,
        )
        self.device.add_service(about)
        self.temperature = Characteristic(
            TEMPERATURE,
            Properties.READ | Properties.NOTIFY,
            Permissions.READABLE,
            b"\x66\x08",
            [
                Descriptor("2901", Permissions.READABLE, b"Room temperature"),
                Descriptor("2904", Permissions.READABLE, bytes.fromhex("0efe2f27010000")),
            ],
        )
        self.transfer = Characteristic(TRANSFER, Properties.NOTIFY, Permissions.READABLE, b"")
        self.alarm = Characteristic(ALARM, Properties.INDICATE, Permissions.READABLE, b"")
        label = CharacteristicValue(read=lambda _: self.label, write=lambda _, value: self.write_label(value))
        command = CharacteristicValue(write=lambda _, value: self.calls.append(f"command {value.hex()}"))
        room = Service(
            "181A",
            [
                self.temperature,
                Characteristic(
                    LABEL, Properties.READ | Properties.WRITE, Permissions.READABLE | Permissions.WRITEABLE, label
                ),
                Characteristic(HISTORY, Properties.READ, Permissions.READABLE, bytes(n % 251 for n in range(400))),
                Characteristic(COMMAND, Properties.WRITE_WITHOUT_RESPONSE, Permissions.WRITEABLE, command),
                self.transfer,
                Characteristic(
                    OWNER, Properties.READ, Permissions.READABLE | Permissions.READ_REQUIRES_ENCRYPTION, b"Ada"
                ),
                self.alarm,
            ],
            included_services=[about],
        )
        self.device.add_service(room)
        # An include declaration names the UUID only where that has 16 bits (Vol 3, Part G, 3.2); Bumble's has the first two octets.
        include = next(attribute for attribute in self.server.attributes if attribute.type == INCLUDE)
        include.value = struct.pack("<HH", about.handle, about.end_group_handle)
        self.on_subscription(self.temperature, self.temperature_subscribed)
        self.on_subscription(self.transfer, self.transfer_subscribed)
        self.on_subscription(self.alarm, self.alarm_subscribed)

    def write_label(self, value):
        self.calls.append(f"label {len(value)}")
        if not value:
            raise att.ATT_Error(att.ErrorCode.INVALID_ATTRIBUTE_LENGTH)
        self.label = bytes(value)

    def temperature_subscribed(self, is_subscribed):
        if is_subscribed:
            self.later(self.device.notify_subscribers(self.temperature, b"\x70\x08"))

    def transfer_subscribed(self, is_subscribed):
        self.calls.append(f"transfer {is_subscribed}")
        if is_subscribed:
            self.later(self.send_chunks())

    async def send_chunks(self):
        for number in range(200):
            await self.device.notify_subscribers(self.transfer, f"{number:04d}".encode())
        await self.device.notify_subscribers(self.transfer, b"EOM")

    def alarm_subscribed(self, is_subscribed):
        self.calls.append(f"alarm {is_subscribed} encrypted {bool(self.connection.encryption)}")
        if is_subscribed:
            self.later(self.device.indicate_subscribers(self.alarm, b"\x01"))


class Hello(Peripheral):
    """Greets three times, takes its service away until `is_missed`, and greets again."""

    name = "Hello"
    advertised = (
        AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS,
        bytes(UUID(HELLO.format(1))),
    )

    def add_services(self):
        self.greetings, self.first = 0, len(self.server.attributes)
        self.is_missed = asyncio.Event()
        self.add_hello()

    def add_hello(self):
        self.greeting = Characteristic(HELLO.format(2), Properties.READ | Properties.NOTIFY, Permissions.READABLE, b"Hello")
        self.on_subscription(self.greeting, self.subscribed)
        self.device.add_service(Service(HELLO.format(1), [self.greeting]))

    def subscribed(self, is_subscribed):
        self.calls.append(f"subscribed {is_subscribed}")
        if is_subscribed:
            self.later(self.greet())

    async def greet(self):
        for _ in range(3):
            self.greetings += 1
            await self.device.notify_subscribers(self.greeting, f"Hello {self.greetings}".encode())
        if self.greetings == 3:
            del self.server.attributes[self.first :]
            self.server.attributes_by_handle.clear()
            await self.services_changed()
            await self.is_missed.wait()
            self.add_hello()
            await self.services_changed()

    async def services_changed(self):
        changed = self.attribute_service.service_changed_characteristic
        await self.device.indicate_subscribers(changed, struct.pack("<HH", self.first + 1, 0xFFFF))
