"""A Bumble peripheral that is strict about security, for our central: values that need encryption or authentication, and faults."""

import asyncio
import contextlib
import secrets
import struct

from bumble import att, hci
from bumble.device import AdvertisingType, Device, DeviceConfiguration
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.profiles.gatt_service import GenericAttributeProfileService
from bumble.smp import ErrorCode, Session, SMP_Pairing_Confirm_Command
from bumble.transport import open_transport
from central import acknowledge_at_once
from programs import LIMIT

NAME = "Safe"
SERVICE = "7A3C0001-52D6-4C1E-9B0F-6D1E2F3A4B5C"
# The characteristics: value, and the level that a read needs.
OPEN, SECRET, SEALED = "FFF1", "FFF2", "FFF3"
VALUES = {OPEN: b"open", SECRET: b"secret", SEALED: b"sealed"}
PASSKEY = 123456
IO = PairingDelegate.IoCapability


class FailingSession(Session):
    """Fails a pairing instead of distributing its keys, on a link that is encrypted already: the `session_proxy` of a manager."""

    def distribute_keys(self):
        self.send_pairing_failed(ErrorCode.UNSPECIFIED_REASON)


class WrongConfirmSession(Session):
    """Sends confirm values that are not those of its random values."""

    def send_command(self, command):
        if isinstance(command, SMP_Pairing_Confirm_Command):
            value = command.confirm_value
            command = SMP_Pairing_Confirm_Command(confirm_value=bytes([value[0] ^ 1]) + value[1:])
        super().send_command(command)


class SecuredPeripheral:
    """Counts what a central does, and answers reads by the level that the link really has.

    Bumble takes every encrypted link for authenticated; here a link is authenticated if a user took part in its pairing.
    """

    def __init__(self, spec, io=IO.NO_OUTPUT_NO_INPUT, sc=True, accepts=True, fault=None, database_hash=False, eatt=False):
        self.spec, self.io, self.sc, self.accepts, self.fault = spec, io, sc, accepts, fault
        self.pairings, self.prompts, self.failures, self.reads = 0, [], [], []
        self.opcodes = []
        self.has_user = False
        self.has_database_hash = database_hash
        self.has_eatt = eatt
        # The passkey that the user types, once it is shown on the other device.
        self.passkey = asyncio.get_running_loop().create_future()

    async def __aenter__(self):
        async with contextlib.AsyncExitStack() as stack:
            transport = await asyncio.wait_for(open_transport(self.spec), LIMIT)
            stack.push_async_callback(transport.close)
            acknowledge_at_once(transport)
            address = hci.Address(secrets.token_bytes(5) + b"\xc7", hci.Address.RANDOM_DEVICE_ADDRESS)
            configuration = DeviceConfiguration(NAME, address, gatt_service_enabled=not self.has_database_hash)
            configuration.eatt_enabled = self.has_eatt
            self.device = Device.from_config_with_hci(configuration, transport.source, transport.sink)
            self.device.irk = secrets.token_bytes(16)
            if self.has_database_hash:
                self.device.add_service(GenericAttributeProfileService())
            self.device.pairing_config_factory = lambda _: self.pairing_config()
            self.device.add_services([Service(SERVICE, [self.characteristic(uuid) for uuid in VALUES])])
            self.device.on("connection", self.connected)
            self.gatt = self.device.on_gatt_pdu
            self.smp = self.device.on_smp_pdu
            self.device.l2cap_channel_manager.register_fixed_channel(att.ATT_CID, self.receive)
            self.device.l2cap_channel_manager.register_fixed_channel(6, self.receive_smp)
            await asyncio.wait_for(self.device.power_on(), LIMIT)
            name = bytes([len(NAME) + 1, 0x09]) + NAME.encode()
            await self.device.start_advertising(
                advertising_type=AdvertisingType.UNDIRECTED_CONNECTABLE_SCANNABLE,
                advertising_data=b"\x02\x01\x06" + name,
                own_address_type=hci.OwnAddressType.RANDOM,
                advertising_interval_min=30,
                advertising_interval_max=30,
                auto_restart=True,
            )
            self.stack = stack.pop_all()
        return self

    async def __aexit__(self, *failure):
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.stack.aclose(), LIMIT)

    def characteristic(self, uuid):
        # Permissions are checked by `read`, not by Bumble.
        value = CharacteristicValue(read=lambda connection: self.read(uuid, connection))
        return Characteristic(uuid, Characteristic.Properties.READ, Characteristic.READABLE, value)

    def read(self, uuid, connection):
        if connection is None:
            return VALUES[uuid]
        self.reads.append(uuid)
        if uuid != OPEN and not connection.encryption:
            raise att.ATT_Error(att.ErrorCode.INSUFFICIENT_AUTHENTICATION)
        if uuid == SEALED and not self.has_user:
            raise att.ATT_Error(att.ErrorCode.INSUFFICIENT_AUTHENTICATION)
        return VALUES[uuid]

    def connected(self, connection):
        self.connection = connection
        connection.on("pairing_failure", lambda reason: self.failures.append(int(reason)))

    def receive_smp(self, handle, pdu):
        if pdu and pdu[0] == 0x01:
            self.pairings += 1
        self.smp(handle, pdu)

    def receive(self, handle, pdu):
        is_read = bool(pdu) and pdu[0] == 0x0A
        self.opcodes.append(pdu[0] if pdu else None)
        if is_read and self.fault == "silent":
            return
        if is_read and self.fault == "gone":
            asyncio.ensure_future(self.connection.disconnect())
            return
        if is_read and self.fault == "slow":
            asyncio.get_running_loop().call_later(2, self.gatt, handle, pdu)
            return
        if is_read and self.fault == "stray":
            # Responses to requests that nobody has sent, and a notification of a handle that is none.
            self.device.send_l2cap_pdu(handle, att.ATT_CID, b"\x13")
            self.device.send_l2cap_pdu(handle, att.ATT_CID, struct.pack("<BBHB", 0x01, 0x12, 0xFFFF, 0x0E))
            self.device.send_l2cap_pdu(handle, att.ATT_CID, b"\x1b\xff\xff\x00")
        self.gatt(handle, pdu)

    def pairing_config(self):
        peripheral = self

        class User(PairingDelegate):
            def used(self, how):
                peripheral.has_user = True
                peripheral.prompts.append(how)

            async def accept(self):
                return peripheral.accepts

            async def compare_numbers(self, number, digits):
                self.used("compare")
                return True

            async def get_number(self):
                self.used("enter")
                return await peripheral.passkey

            async def generate_passkey(self):
                return PASSKEY

            async def display_number(self, number, digits):
                self.used("display")

            async def confirm(self, auto=False):
                return True

        return PairingConfig(
            sc=self.sc,
            mitm=self.io != IO.NO_OUTPUT_NO_INPUT,
            bonding=True,
            delegate=User(self.io),
            identity_address_type=PairingConfig.AddressType.RANDOM,
        )
