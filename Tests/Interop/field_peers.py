"""The other sides of the programs in the style of the field, on Bumble's host: peripherals, and a peer with both roles."""

import asyncio
import contextlib
import struct

from bumble import core, hci
from bumble.core import UUID, AdvertisingData
from bumble.device import Peer
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.l2cap import LeCreditBasedChannelSpec
from central import Sighting
from field_programs import BANNER, READY, SERVICE
from programs import until
from room_peers import Peripheral, Permissions, Properties

SHORT, LONG = (
    AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS,
    AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS,
)
NUS = "6E40{:04X}-B5A3-F393-E0A9-E50E24DCCA9E"
MDOC = "{:08X}-A123-48CE-896B-4C76973373E6"
CARDS = "CA4D{:04X}-4B1D-4E0C-9C35-6B2D7A1F0C11"
TRANSFER = "F11E{:04X}-4B1D-4E0C-9C35-6B2D7A1F0C11"
IDENT = b"0123456789ABCDEF"
# {"status": 20} in CBOR.
TERMINATION = bytes.fromhex("a166737461747573") + b"\x14"


def octets(uuid):
    return bytes(UUID(uuid))


def parts(value, length):
    return [value[start : start + length] for start in range(0, len(value), length)]


def value_length(mtu):
    """What fills one packet. With an ATT_MTU of 517 it is two octets longer than a value (Vol 3, Part F, 3.2.9), as the peers
    of streams send it."""
    return mtu - 3


def readable(uuid, value):
    return Characteristic(uuid, Properties.READ, Permissions.READABLE, value)


def notifying(uuid):
    return Characteristic(uuid, Properties.NOTIFY, Permissions.READABLE, b"")


def writable(uuid, received, properties=Properties.WRITE_WITHOUT_RESPONSE):
    value = CharacteristicValue(write=lambda _, value: received(bytes(value)))
    return Characteristic(uuid, properties, Permissions.WRITEABLE, value)


class FieldPeripheral(Peripheral):
    """A peripheral that sends its notifications one after the other."""

    async def __aenter__(self):
        self.outgoing = asyncio.Queue()
        await super().__aenter__()
        self.later(self.send_all())
        return self

    def send(self, characteristic, value):
        self.outgoing.put_nowait((characteristic, value))

    def disconnect(self):
        """Ends the link after the notifications before."""
        self.outgoing.put_nowait(None)

    async def send_all(self):
        while True:
            if (item := await self.outgoing.get()) is None:
                await self.connection.disconnect()
            else:
                await self.device.notify_subscribers(*item)

    @property
    def room(self):
        """The octets of one notification."""
        return value_length(self.connection.att_mtu)


# Mesh provisioning


def segments(message, length):
    """Proxy PDUs of the type Provisioning (Mesh Protocol 1.1, 6.3.1)."""
    found = parts(message, length - 1)
    kinds = [0] if len(found) == 1 else [1, *[2] * (len(found) - 2), 3]
    return [bytes([kind << 6 | 0x03]) + part for kind, part in zip(kinds, found, strict=True)]


class Reassembler:
    def __init__(self):
        self.message = b""

    def receive(self, segment):
        """The message, with its last segment."""
        kind = segment[0] >> 6
        assert segment[0] & 0x3F == 0x03 and (kind in (0, 1)) == (not self.message), segment.hex()
        self.message += segment[1:]
        if kind in (1, 2):
            return None
        message, self.message = self.message, b""
        return message


class MeshDevice(FieldPeripheral):
    name, advertised = "Mesh", (SHORT, octets("1827"))

    def __init__(self, spec, key, certificate):
        super().__init__(spec)
        self.key, self.certificate = key, certificate
        self.segments, self.messages, self.reassembler = [], [], Reassembler()

    def add_services(self):
        self.data_out = notifying("2ADC")
        self.device.add_service(Service("1827", [writable("2ADB", self.receive), self.data_out]))

    def receive(self, segment):
        self.segments.append(segment)
        message = self.reassembler.receive(segment)
        if message is not None:
            self.messages.append(message)
            if answer := self.answer(message):
                for part in segments(answer, 20):
                    self.send(self.data_out, part)

    def answer(self, message):
        match message[0]:
            case 0x00:
                return bytes.fromhex("010100010000000000000000")
            case 0x0A:
                record, offset, length = struct.unpack(">HHH", message[1:])
                fragment = self.certificate[offset : offset + length]
                return b"\x0b\x00" + struct.pack(">HHH", record, offset, len(self.certificate)) + fragment
            case 0x03:
                return b"\x03" + self.key
            case 0x05 | 0x06:
                return message[:1] + self.key[:16]
            case 0x07:
                return b"\x08"


# An mdoc


class Chunks:
    """Messages of which each chunk says whether another one follows."""

    def __init__(self):
        self.message = b""

    def receive(self, chunk):
        assert chunk[0] in (0, 1), chunk.hex()
        self.message += chunk[1:]
        if chunk[0] == 1:
            return None
        message, self.message = self.message, b""
        return message

    @staticmethod
    def of(message, length):
        found = parts(message, length - 1)
        return [bytes([1]) + part for part in found[:-1]] + [bytes([0]) + found[-1]]


class Frames:
    """Messages on a channel, each after its length."""

    def __init__(self, received):
        self.octets, self.received = b"", received

    def add(self, octets):
        self.octets += octets
        while len(self.octets) >= 4 and len(self.octets) >= 4 + (length := int.from_bytes(self.octets[:4], "big")):
            message, self.octets = self.octets[4 : 4 + length], self.octets[4 + length :]
            self.received(message)

    @staticmethod
    def of(message):
        return len(message).to_bytes(4, "big") + message


class MdocServer(FieldPeripheral):
    """The holder in peripheral server mode, or the reader in central client mode, which has a message from the start of a session.

    The reader ends the session: by the state, or on the channel, which this end then closes.
    """

    name, advertised = "Mdoc", (LONG, octets(SERVICE))

    def __init__(self, spec, role, message):
        super().__init__(spec)
        self.role, self.message = role, message
        self.received, self.states, self.chunks = [], [], Chunks()

    def add_services(self):
        first = {"holder": 1, "reader": 5}[self.role]
        both = Properties.NOTIFY | Properties.WRITE_WITHOUT_RESPONSE
        self.state = writable(MDOC.format(first), self.state_changed, both)
        self.to_client = notifying(MDOC.format(first + 2))
        from_client = writable(MDOC.format(first + 1), self.receive)
        psm = self.device.create_l2cap_server(LeCreditBasedChannelSpec(), handler=self.opened).psm
        channel = readable(MDOC.format({"holder": 0xA, "reader": 0xB}[self.role]), struct.pack("<H", psm))
        ident = [readable(MDOC.format(8), IDENT)] if self.role == "reader" else []
        self.device.add_service(Service(SERVICE, [self.state, from_client, self.to_client, *ident, channel]))

    def state_changed(self, value):
        self.states.append(value)
        if value == b"\x01" and self.role == "reader":
            self.send_message()

    def receive(self, chunk):
        message = self.chunks.receive(chunk)
        if message is None:
            return
        self.received.append(message)
        if self.role == "reader":
            self.send(self.state, b"\x02")
        else:
            self.send_message()

    def send_message(self):
        for chunk in Chunks.of(self.message, self.room):
            self.send(self.to_client, chunk)

    def opened(self, channel):
        def received(message):
            if message == TERMINATION:
                self.states.append(message)
                self.later(channel.disconnect())
                return
            self.received.append(message)
            channel.write(Frames.of(TERMINATION if self.role == "reader" else self.message))

        channel.sink = Frames(received).add
        if self.role == "reader":
            channel.write(Frames.of(self.message))


# A serial bridge


class Bridge(FieldPeripheral):
    name, advertised = "Bridge", (LONG, octets(NUS.format(1)))

    def add_services(self):
        self.transmit = notifying(NUS.format(3))
        self.on_subscription(self.transmit, self.subscribed)
        self.is_subscribed, self.is_greeted = False, False
        receive = writable(NUS.format(2), self.receive, Properties.WRITE | Properties.WRITE_WITHOUT_RESPONSE)
        self.device.add_service(Service(NUS.format(1), [receive, self.transmit]))

    def subscribed(self, is_subscribed):
        self.calls.append(f"subscribed {is_subscribed}")
        self.is_subscribed = is_subscribed
        if is_subscribed:
            self.reply(BANNER)
            if self.is_greeted:
                self.reply(READY)

    def receive(self, value):
        if self.is_greeted:
            self.reply(value)
            return
        assert value == b"hello\r\n", value
        self.calls.append("hello")
        self.is_greeted = True
        if self.is_subscribed:
            self.reply(READY)

    def reply(self, value):
        for part in parts(value, self.room):
            self.send(self.transmit, part)


# A transfer


class Source(FieldPeripheral):
    """It ends the first link after a third of the file, the second one after two thirds."""

    name, advertised = "Source", (LONG, octets(TRANSFER.format(1)))

    def __init__(self, spec, file):
        super().__init__(spec)
        self.file, self.offsets = file, []

    def add_services(self):
        self.content = notifying(TRANSFER.format(4))
        length = readable(TRANSFER.format(2), struct.pack("<I", len(self.file)))
        offset = writable(TRANSFER.format(3), self.start, Properties.WRITE)
        self.device.add_service(Service(TRANSFER.format(1), [length, offset, self.content]))

    def start(self, value):
        [offset] = struct.unpack("<I", value)
        self.offsets.append(offset)
        end = len(self.file) * len(self.offsets) // 3
        for part in parts(self.file[offset:end], self.room):
            self.send(self.content, part)
        if end < len(self.file):
            self.disconnect()


# Cards


class CardPeer(FieldPeripheral):
    """A peer with both roles on one link. With `connects` it tries to connect, while the program does."""

    name, advertised = "Cards", (LONG, octets(CARDS.format(1)))

    def __init__(self, spec, card, connects):
        super().__init__(spec)
        self.card, self.connects = struct.pack(">H", len(card)) + card, connects
        self.written, self.notified, self.connection, self.is_sent = b"", b"", None, False

    def add_services(self):
        self.outbox = notifying(CARDS.format(3))
        self.on_subscription(self.outbox, self.subscribed)
        inbox = writable(CARDS.format(2), self.receive, Properties.WRITE)
        self.device.add_service(Service(CARDS.format(1), [inbox, self.outbox]))

    async def __aenter__(self):
        await super().__aenter__()
        self.later(self.collect())
        return self

    def receive(self, value):
        self.written += value

    def subscribed(self, is_subscribed):
        if is_subscribed:
            for part in parts(self.card, self.room):
                self.send(self.outbox, part)

    async def collect(self):
        """What a central does, on the link of either."""
        if self.connects:
            await self.connect()
        await until(lambda: self.connection, "no link")
        peer = Peer(self.connection)
        [service] = await peer.discover_service(UUID(CARDS.format(1)))
        await service.discover_characteristics()
        found = {bytes(characteristic.uuid): characteristic for characteristic in service.characteristics}
        await found[octets(CARDS.format(3))].subscribe(lambda value: setattr(self, "notified", self.notified + value))
        # A Write Request has a whole value: 512 octets at most.
        for part in parts(self.card, min(self.room, 512)):
            await found[octets(CARDS.format(2))].write_value(part, with_response=True)
        self.is_sent = True

    async def connect(self):
        found = asyncio.get_running_loop().create_future()

        def sighted(report):
            elements = Sighting(report.address, True, False, bytes(report.data)).elements()
            if (0x07, octets(CARDS.format(1))) in elements and not found.done():
                found.set_result(report.address)

        self.device.host.on("advertising_report", sighted)
        await self.device.start_scanning()
        await until(lambda: found.done() or self.connection, "no program")
        await self.device.stop_scanning()
        # The link that the program makes at the same time may be first: then this attempt has an error, or no end.
        if not self.connection:
            connecting = asyncio.ensure_future(
                self.device.connect(found.result(), own_address_type=hci.OwnAddressType.RANDOM, timeout=None)
            )
            await until(lambda: self.connection or connecting.done(), "no link")
            connecting.cancel()
            with contextlib.suppress(core.BaseBumbleError, asyncio.CancelledError):
                await connecting


