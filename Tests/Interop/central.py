"""A central that speaks raw ATT PDUs over Bumble's host, so that a test can say what a polite client never would."""

import asyncio
import contextlib
import secrets
import socket
import struct
from dataclasses import dataclass, field

from bumble import hci
from bumble.device import ConnectionParametersPreferences, Device
from bumble.transport import open_transport
from programs import LIMIT, until

ATT_CHANNEL = 4

# Opcodes (Vol 3, Part F, 3.4.8) that a central receives without having asked.
NOTIFICATION, INDICATION, MULTIPLE_NOTIFICATION = 0x1B, 0x1D, 0x23
CONFIRMATION = b"\x1e"


def uuid(text):
    """The octets of a UUID as they are on the air, little-endian: 2 or 16."""
    return bytes.fromhex(text.replace("-", ""))[::-1]


def error(request, handle, code):
    """The Error Response (3.4.1.1) to a request."""
    return struct.pack("<BBHB", 0x01, request, handle, code)


@dataclass(frozen=True)
class Sighting:
    """One advertising report."""

    address: hci.Address
    connectable: bool
    is_scan_response: bool
    data: bytes

    def elements(self):
        """The AD structures (Vol 3, Part C, 11) as pairs of type and octets; anything out of order is an assertion."""
        elements, rest = [], self.data
        while rest and rest[0]:
            length = rest[0]
            assert length < len(rest), f"element of {length} octets in the last {len(rest)}: {self.data.hex()}"
            elements.append((rest[1], rest[2 : 1 + length]))
            rest = rest[1 + length :]
        assert not any(rest), f"octets after the end mark: {self.data.hex()}"
        return elements


@dataclass
class Characteristic:
    declaration: int
    properties: int
    handle: int
    uuid: bytes
    descriptors: dict = field(default_factory=dict)


@dataclass
class Service:
    start: int
    end: int
    uuid: bytes
    is_primary: bool
    includes: list = field(default_factory=list)
    characteristics: list = field(default_factory=list)


class Link:
    """One connection to the peripheral."""

    def __init__(self, device, connection):
        self.device, self.connection = device, connection
        self.mtu = 23
        self.answers, self.notifications, self.indications = asyncio.Queue(), asyncio.Queue(), asyncio.Queue()
        self.confirms_by_itself = True
        self.ended = asyncio.get_running_loop().create_future()
        connection.on("disconnection", lambda reason: self.ended.done() or self.ended.set_result(reason))

    # PDUs

    def receive(self, pdu):
        if pdu[0] == NOTIFICATION:
            self.notifications.put_nowait((int.from_bytes(pdu[1:3], "little"), pdu[3:]))
        elif pdu[0] == INDICATION:
            self.indications.put_nowait((int.from_bytes(pdu[1:3], "little"), pdu[3:]))
            if self.confirms_by_itself:
                self.send(CONFIRMATION)
        else:
            self.answers.put_nowait(pdu)

    def send(self, pdu):
        assert not self.ended.done(), f"the link is gone, reason 0x{self.ended.result():02x}"
        self.connection.send_l2cap_pdu(ATT_CHANNEL, pdu)

    def send_acl(self, *fragments):
        """Octets as ACL data packets, L2CAP headers and all, for frames no L2CAP layer would form."""
        for index, fragment in enumerate(fragments):
            packet = hci.HCI_AclDataPacket(self.connection.handle, 0 if index == 0 else 1, 0, len(fragment), fragment)
            self.device.host.send_hci_packet(packet)

    async def request(self, pdu):
        """Sends a request and gives the next answer; a link that ends meanwhile is an assertion."""
        assert self.answers.empty(), f"unasked answer {self.answers.get_nowait().hex()}"
        self.send(pdu)
        return await self.answer()

    async def answer(self):
        wanted = asyncio.ensure_future(self.answers.get())
        await asyncio.wait((wanted, self.ended), timeout=LIMIT, return_when=asyncio.FIRST_COMPLETED)
        if wanted.done():
            return wanted.result()
        wanted.cancel()
        assert not self.ended.done(), f"the link ended, reason 0x{self.ended.result():02x}, instead of an answer"
        raise AssertionError(f"no answer in {LIMIT:g} s")

    async def expect(self, pdu, answer):
        received = await self.request(pdu)
        assert received == answer, f"{pdu.hex()} → {received.hex()}, expected {answer.hex()}"

    async def silence(self):
        """Nothing was answered: a request sent now gets the next answer."""
        received = await self.request(struct.pack("<BH", 0x0A, 0x0000))
        assert received == error(0x0A, 0x0000, 0x01), f"unasked answer {received.hex()}"

    async def update(self, queue):
        return await asyncio.wait_for(queue.get(), LIMIT)

    # Procedures (Vol 3, Part G, 4)

    async def exchange_mtu(self, mtu):
        answer = await self.request(struct.pack("<BH", 0x02, mtu))
        assert answer[0] == 0x03 and len(answer) == 3, answer.hex()
        server = int.from_bytes(answer[1:], "little")
        self.mtu = max(23, min(mtu, server))
        return server

    async def read(self, handle):
        answer = await self.request(struct.pack("<BH", 0x0A, handle))
        assert answer[0] == 0x0B, f"read of 0x{handle:04x}: {answer.hex()}"
        return answer[1:]

    async def read_long(self, handle):
        value = await self.read(handle)
        part = value
        while len(part) == self.mtu - 1:
            answer = await self.request(struct.pack("<BHH", 0x0C, handle, len(value)))
            assert answer[0] == 0x0D, f"read blob of 0x{handle:04x} at {len(value)}: {answer.hex()}"
            part = answer[1:]
            value += part
        return value

    async def write(self, handle, value):
        await self.expect(struct.pack("<BH", 0x12, handle) + value, b"\x13")

    def write_command(self, handle, value):
        self.send(struct.pack("<BH", 0x52, handle) + value)

    async def prepare(self, handle, offset, value):
        fields = struct.pack("<HH", handle, offset) + value
        await self.expect(b"\x16" + fields, b"\x17" + fields)

    async def execute(self):
        return await self.request(b"\x18\x01")

    async def groups(self, kind):
        found, start = [], 1
        while start <= 0xFFFF:
            answer = await self.request(struct.pack("<BHHH", 0x10, start, 0xFFFF, kind))
            if answer[0] == 0x01:
                assert answer == error(0x10, start, 0x0A), answer.hex()
                break
            assert answer[0] == 0x11 and len(answer) <= self.mtu, answer.hex()
            for handle, value in entries(answer):
                found.append(Service(handle, int.from_bytes(value[:2], "little"), value[2:], kind == 0x2800))
            start = found[-1].end + 1
        return found

    async def by_type(self, start, end, kind):
        found = []
        while start <= end:
            answer = await self.request(struct.pack("<BHHH", 0x08, start, end, kind))
            if answer[0] == 0x01:
                assert answer == error(0x08, start, 0x0A), answer.hex()
                break
            assert answer[0] == 0x09 and len(answer) <= self.mtu, answer.hex()
            found += entries(answer)
            start = found[-1][0] + 1
        return found

    async def information(self, start, end):
        found = []
        while start <= end:
            answer = await self.request(struct.pack("<BHH", 0x04, start, end))
            if answer[0] == 0x01:
                assert answer == error(0x04, start, 0x0A), answer.hex()
                break
            assert answer[0] == 0x05 and len(answer) <= self.mtu, answer.hex()
            size = {1: 4, 2: 18}[answer[1]]
            for i in range(2, len(answer), size):
                found.append((int.from_bytes(answer[i : i + 2], "little"), answer[i + 2 : i + size]))
            start = found[-1][0] + 1
        return found

    async def discover(self):
        services = await self.groups(0x2800) + await self.groups(0x2801)
        for service in services:
            for _, value in await self.by_type(service.start, service.end, 0x2802):
                service.includes.append(
                    (int.from_bytes(value[:2], "little"), int.from_bytes(value[2:4], "little"), value[4:])
                )
            for declaration, value in await self.by_type(service.start, service.end, 0x2803):
                handle = int.from_bytes(value[1:3], "little")
                service.characteristics.append(Characteristic(declaration, value[0], handle, value[3:]))
            following = [c.declaration for c in service.characteristics[1:]] + [service.end + 1]
            for characteristic, next_start in zip(service.characteristics, following):
                for handle, kind in await self.information(characteristic.handle + 1, next_start - 1):
                    characteristic.descriptors[kind] = handle
        return sorted(services, key=lambda service: service.start)

    async def disconnect(self):
        if not self.ended.done():
            await asyncio.wait_for(self.connection.disconnect(), LIMIT)
        return await asyncio.wait_for(self.ended, LIMIT)


def entries(answer):
    """Handle and value of each entry of a Read By Type or Read By Group Type Response."""
    size = answer[1]
    assert size > 2 and len(answer) > 2 and (len(answer) - 2) % size == 0, answer.hex()
    return [
        (int.from_bytes(answer[i : i + 2], "little"), answer[i + 2 : i + size]) for i in range(2, len(answer), size)
    ]


class Central:
    """One Bumble host with a controller of its own on the radio."""

    def __init__(self, spec):
        self.spec = spec
        self.links = {}
        self.sightings = []

    async def __aenter__(self):
        async with contextlib.AsyncExitStack() as stack:
            self.transport = await asyncio.wait_for(open_transport(self.spec), LIMIT)
            stack.push_async_callback(self.transport.close)
            acknowledge_at_once(self.transport)
            address = hci.Address(secrets.token_bytes(5) + b"\xc7", hci.Address.RANDOM_DEVICE_ADDRESS)
            self.device = Device.with_hci("central", address, self.transport.source, self.transport.sink)
            self.device.irk = secrets.token_bytes(16)
            self.device.l2cap_channel_manager.register_fixed_channel(ATT_CHANNEL, self.receive)
            self.device.host.on("advertising_report", self.sighted)
            self.device.on("connection", self.connected)
            await asyncio.wait_for(self.device.power_on(), LIMIT)
            stack.push_async_callback(self.disconnect_all)
            self.stack = stack.pop_all()
        return self

    async def __aexit__(self, *failure):
        await asyncio.wait_for(self.stack.aclose(), LIMIT)

    def connected(self, connection):
        # Here, not where `connect` has returned: the link may end before that.
        self.links[connection.handle] = Link(self.device, connection)

    async def disconnect_all(self):
        for link in self.links.values():
            with contextlib.suppress(Exception):
                await link.disconnect()

    def receive(self, handle, pdu):
        if pdu and handle in self.links:
            self.links[handle].receive(pdu)

    def sighted(self, report):
        kind = int(report.event_type)
        if isinstance(report, hci.HCI_LE_Extended_Advertising_Report_Event.Report):
            connectable, is_scan_response = bool(kind & 0x01), bool(kind & 0x08)
        else:
            connectable, is_scan_response = kind in (0, 1), kind == 4
        self.sightings.append(Sighting(report.address, connectable, is_scan_response, bytes(report.data)))

    async def scan(self, name, accept=lambda sighting: True):
        """Listens until both areas of an advertiser called `name` were received: (advertising data, scan response)."""

        def both():
            for named in [s for s in self.sightings if names(s, name) and accept(s)]:
                same = [s for s in self.sightings if s.address == named.address]
                data = next((s for s in same if not s.is_scan_response), None)
                response = next((s for s in same if s.is_scan_response), None)
                if data is not None and response is not None:
                    return data, response
            return None

        self.sightings.clear()
        await asyncio.wait_for(self.device.start_scanning(active=True, filter_duplicates=False), LIMIT)
        try:
            return await until(both, lambda: f"{name!r} not received; received: {self.addresses()}")
        finally:
            await asyncio.wait_for(self.device.stop_scanning(), LIMIT)

    def addresses(self):
        return sorted({str(s.address) for s in self.sightings})

    async def connect(self, name, interval=None):
        data, _ = await self.scan(name)
        return await self.connect_to(data.address, interval=interval)

    async def connect_to(self, address, seconds=LIMIT, interval=None, own_address_type=hci.OwnAddressType.RANDOM):
        """Connects; `interval` is the connection interval in milliseconds, instead of Bumble's default."""
        preferences = None
        if interval is not None:
            wanted = ConnectionParametersPreferences(
                connection_interval_min=interval, connection_interval_max=interval, supervision_timeout=5000
            )
            preferences = {hci.Phy.LE_1M: wanted}
        connecting = self.device.connect(
            address,
            timeout=seconds,
            connection_parameters_preferences=preferences,
            own_address_type=own_address_type,
        )
        connection = await connecting
        return next(link for link in self.links.values() if link.connection is connection)


def names(sighting, name):
    """Whether the report carries `name`, complete (0x09) or shortened (0x08)."""
    return any(kind == 9 and value == name.encode() for kind, value in sighting.elements() if kind in (8, 9))


def acknowledge_at_once(transport):
    """Some controllers write an H4 packet in two pieces without TCP_NODELAY; a delayed ACK would cost 40 ms each."""
    endpoint = getattr(transport.sink, "transport", None)
    stream = endpoint and endpoint.get_extra_info("socket")
    if stream is None or stream.family == socket.AF_UNIX or not hasattr(socket, "TCP_QUICKACK"):
        return
    receive = transport.source.data_received

    def data_received(data):
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        receive(data)

    transport.source.data_received = data_received
