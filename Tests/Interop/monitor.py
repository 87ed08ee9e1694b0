"""A heart-rate monitor on Bumble's host: trusts only whom it has paired with, and shows a private address."""

import asyncio
import contextlib
import secrets

from bumble import hci
from bumble.core import UUID, AdvertisingData
from bumble.device import AdvertisingEventProperties, AdvertisingParameters, Device
from bumble.gatt import Characteristic, Descriptor, Service
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig
from bumble.transport import open_transport
from central import acknowledge_at_once
from programs import LIMIT

TRUSTED = Characteristic.Permissions.READ_REQUIRES_ENCRYPTION | Characteristic.Permissions.WRITE_REQUIRES_ENCRYPTION
OPEN = Characteristic.Permissions.READABLE | Characteristic.Permissions.WRITEABLE


class Friend(MemoryKeyStore):
    """Knows one central, by no name: each run of our program has a controller, and so an address, of its own."""

    async def get(self, name):
        return next(iter(self.all_keys.values()), None)


class Monitor:
    def __init__(self, spec):
        self.spec = spec
        self.addresses, self.pairings, self.encryptions = [], 0, 0
        # Requests and commands that came, and those of them that came in the clear.
        self.requests, self.requests_in_the_clear = 0, 0

    async def __aenter__(self):
        async with contextlib.AsyncExitStack() as stack:
            transport = await asyncio.wait_for(open_transport(self.spec), LIMIT)
            stack.push_async_callback(transport.close)
            acknowledge_at_once(transport)
            identity = hci.Address(secrets.token_bytes(5) + b"\xc9", hci.Address.RANDOM_DEVICE_ADDRESS)
            self.device = Device.with_hci("Bumble monitor", identity, transport.source, transport.sink)
            self.device.keystore = Friend()
            self.device.irk = secrets.token_bytes(16)
            self.device.pairing_config_factory = lambda _: PairingConfig(
                sc=True, mitm=False, bonding=True, identity_address_type=PairingConfig.AddressType.RANDOM
            )
            permissions = OPEN | TRUSTED
            self.measurement = Characteristic(
                UUID.from_16_bits(0x2A37), Characteristic.Properties.NOTIFY, Characteristic.Permissions.READABLE
            )
            location = Characteristic(
                UUID.from_16_bits(0x2A38), Characteristic.Properties.READ, permissions, bytes([1])
            )
            self.device.add_service(Service(UUID.from_16_bits(0x180D), [self.measurement, location]))
            # Bumble's own descriptor of the measurement demands nothing; this monitor's does.
            for attribute in self.device.gatt_server.attributes:
                if isinstance(attribute, Descriptor) and attribute.type == UUID.from_16_bits(0x2902):
                    attribute.permissions |= TRUSTED
            self.device.on("connection", self.connected)
            self.serve = self.device.gatt_server.on_gatt_pdu
            self.device.gatt_server.on_gatt_pdu = self.served
            await asyncio.wait_for(self.device.power_on(), LIMIT)
            beating = asyncio.create_task(self.beat())
            stack.callback(beating.cancel)
            self.stack = stack.pop_all()
        return self

    async def __aexit__(self, *failure):
        await asyncio.wait_for(self.stack.aclose(), LIMIT)

    def connected(self, connection):
        self.connection = connection
        connection.on("pairing", lambda _: self.count("pairings"))
        connection.on("connection_encryption_change", lambda: self.count("encryptions"))

    def served(self, bearer, pdu):
        self.requests += 1
        self.requests_in_the_clear += not self.connection.is_encrypted
        self.serve(bearer, pdu)

    def forget(self):
        """As if it had been reset: it has no keys any more."""
        self.device.keystore.all_keys.clear()

    def count(self, what):
        setattr(self, what, getattr(self, what) + 1)

    async def beat(self):
        while True:
            await asyncio.sleep(0.1)
            await self.device.notify_subscribers(self.measurement, bytes([0, 72]))

    async def advertise(self):
        """Until somebody connects, at an address that nobody has seen before."""
        address = hci.Address.generate_private_address(self.device.irk)
        await self.device.send_sync_command(hci.HCI_LE_Set_Random_Address_Command(random_address=address))
        self.device.random_address = address
        self.addresses.append(address)
        data = AdvertisingData(
            [
                (AdvertisingData.FLAGS, bytes([6])),
                (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, bytes([0x0D, 0x18])),
            ]
        )
        await self.device.start_advertising(
            own_address_type=hci.OwnAddressType.RANDOM, advertising_data=bytes(data), scan_response_data=b""
        )

    async def advertise_at_length(self):
        """With 240 octets of extended advertising data: all that fits one AUX_ADV_IND, as a connectable one must, but not
        one report of 229 octets. The list of services lies across the border of two reports."""

        def company(length):
            return bytes([length - 1, AdvertisingData.MANUFACTURER_SPECIFIC_DATA, *([0xFF] * (length - 2))])

        services = bytes([3, AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, 0x0D, 0x18])
        data = bytes([2, 1, 6]) + company(224) + services + company(9)
        assert len(data) == 240 and data[227:231] == services
        properties = AdvertisingEventProperties(is_connectable=True, is_scannable=False, is_legacy=False)
        await self.device.create_advertising_set(
            advertising_parameters=AdvertisingParameters(
                advertising_event_properties=properties,
                primary_advertising_interval_min=100,
                primary_advertising_interval_max=100,
                own_address_type=hci.OwnAddressType.RANDOM,
                advertising_sid=5,
            ),
            random_address=hci.Address.generate_private_address(self.device.irk),
            advertising_data=data,
        )
