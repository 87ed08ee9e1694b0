"""Copies of devices: a central's session with a peripheral of Bumble, and with its copy, which `ble twin` makes from
the packet trace of the first one and `ble serve` serves, has the same ATT PDUs and receives the same advertisements."""

import asyncio
import contextlib
import json
import struct
import subprocess

import jsonschema
import pytest
from bumble import att, hci
from bumble.core import UUID, AdvertisingData
from bumble.device import AdvertisingEventProperties, AdvertisingParameters
from bumble.gatt import Characteristic, CharacteristicValue, Descriptor, Service
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig
from bumble.snoop import BtSnooper
from central import Central, names
from programs import LIMIT, Program, product, until
from radios import ours
from room_peers import Peripheral, Permissions, Properties
from test_ble_tool import SCHEMA

PART = "7A3C{:04X}-52D6-4C1E-9B0F-6D1E2F3A4B5C"
NOTIFY, INDICATE = b"\x01\x00", b"\x02\x00"
CONFIGURATION = b"\x02\x29"
# The reports of a device after which its advertising interval can be told.
REPORTS = 6


# What is compared


def frames(trace):
    """The L2CAP frames of a btsnoop file: whether it was received, the channel and the payload."""
    octets, place, parts = trace.read_bytes(), 16, {}
    while place < len(octets):
        _, length, flags, _ = struct.unpack_from(">IIII", octets, place)
        packet = octets[place + 24 : place + 24 + length]
        place += 24 + length
        if packet[:1] != b"\x02":
            continue
        handle, received = struct.unpack_from("<H", packet, 1)[0], flags & 1
        key, data = (handle & 0x0FFF, received), packet[5:]
        parts[key] = parts.get(key, b"") + data if handle >> 12 & 3 == 1 else data
        if len(parts[key]) >= 4 and len(parts[key]) == 4 + struct.unpack_from("<H", parts[key])[0]:
            frame = parts.pop(key)
            yield bool(received), struct.unpack_from("<H", frame, 2)[0], frame[4:]


def attribute_pdus(trace):
    return [(received, pdu.hex()) for received, channel, pdu in frames(trace) if channel == 4]


def security_requests(trace):
    return [pdu for received, channel, pdu in frames(trace) if received and channel == 6 and pdu[0] == 0x0B]


# The devices


class Device(Peripheral):
    """A peripheral whose session a central performs."""

    name = "Original"
    advertised = (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, struct.pack("<H", 0x180F))

    async def after(self, seconds, characteristic, value, indicates=False):
        await asyncio.sleep(seconds)
        send = self.device.indicate_subscribers if indicates else self.device.notify_subscribers
        await send(characteristic, value)


class Bonded(Device):
    """Values that need encryption, for reads, writes and subscriptions."""

    def add_services(self):
        secured = Permissions.READ_REQUIRES_ENCRYPTION | Permissions.WRITE_REQUIRES_ENCRYPTION
        self.value = b"first"
        value = CharacteristicValue(read=lambda _: self.value, write=self.write)
        self.secret = Characteristic(
            PART.format(2),
            Properties.READ | Properties.WRITE,
            Permissions.READABLE | Permissions.WRITEABLE | secured,
            value,
        )
        self.device.add_service(Service(PART.format(1), [self.secret]))

    def write(self, _, value):
        self.value = bytes(value)

    @staticmethod
    async def session(central, connect):
        link, found = await connect()
        secret = found[PART.format(2)]
        refusal = await link.request(struct.pack("<BH", 0x0A, secret.handle))
        assert refusal == struct.pack("<BBHB", 0x01, 0x0A, secret.handle, 0x0F)
        await link.connection.pair()
        assert await link.read(secret.handle) == b"first"
        await link.write(secret.handle, b"second")
        await link.disconnect()
        link, _ = await connect(discovers=False)
        await link.connection.encrypt()
        assert await link.read(secret.handle) == b"second"
        await link.disconnect()


class Notifying(Device):
    """Notifications after a subscription, an indication, and a level that is another one for each read."""

    def add_services(self):
        self.levels = iter(range(97, 0, -1))
        self.rate = Characteristic("2A37", Properties.NOTIFY, Permissions.READABLE, b"")
        self.alarm = Characteristic(PART.format(2), Properties.INDICATE, Permissions.READABLE, b"")
        level = CharacteristicValue(read=lambda _: bytes([next(self.levels)]))
        self.device.add_service(Service("180D", [self.rate]))
        self.device.add_service(Service("180F", [Characteristic("2A19", Properties.READ, Permissions.READABLE, level)]))
        self.device.add_service(Service(PART.format(1), [self.alarm]))
        self.on_subscription(self.rate, lambda is_on: is_on and self.later(self.beat()))
        self.on_subscription(self.alarm, lambda is_on: is_on and self.later(self.warn()))

    async def warn(self):
        await self.after(0.03, self.alarm, b"\x07", indicates=True)

    async def beat(self):
        for rate in range(60, 66):
            await self.after(0.05, self.rate, bytes([0, rate]))

    @staticmethod
    async def session(central, connect):
        link, found = await connect()
        rate, alarm, level = found["2A37"], found[PART.format(2)], found["2A19"]
        assert [await link.read(level.handle) for _ in range(3)] == [b"\x61", b"\x60", b"\x5f"]
        await link.write(rate.descriptors[CONFIGURATION], NOTIFY)
        for expected in range(60, 66):
            assert await link.update(link.notifications) == (rate.handle, bytes([0, expected]))
        await link.write(alarm.descriptors[CONFIGURATION], INDICATE)
        assert await link.update(link.indications) == (alarm.handle, b"\x07")
        await link.disconnect()


class Controlled(Device):
    """A control point: accepted and refused commands, a response by indication, a state that changes, and a command
    that is not answered."""

    def add_services(self):
        self.state = b"off"
        self.point = Characteristic(
            PART.format(2),
            Properties.WRITE | Properties.WRITE_WITHOUT_RESPONSE | Properties.INDICATE,
            Permissions.WRITEABLE,
            CharacteristicValue(write=self.command),
        )
        self.progress = Characteristic(PART.format(3), Properties.NOTIFY, Permissions.READABLE, b"")
        state, refused = CharacteristicValue(read=lambda _: self.state), CharacteristicValue(read=self.refuse)
        self.device.add_service(
            Service(
                PART.format(1),
                [
                    self.point,
                    self.progress,
                    Characteristic(PART.format(4), Properties.READ, Permissions.READABLE, state),
                    Characteristic(PART.format(5), Properties.READ, Permissions.READABLE, refused),
                ],
            )
        )

    def refuse(self, _):
        raise att.ATT_Error(att.ErrorCode.READ_NOT_PERMITTED)

    def command(self, _, value):
        match bytes(value):
            case b"\x01":
                self.state = b"on"
                self.later(self.work())
            case b"\x02":
                self.later(self.after(0.02, self.point, b"\x80\x02\x01", True))
            case _:
                raise att.ATT_Error(0x81)

    async def work(self):
        for percent in (10, 50, 100):
            await self.after(0.04, self.progress, bytes([percent]))
        await self.after(0.04, self.point, b"\x80\x01\x01", True)

    @staticmethod
    async def session(central, connect):
        link, found = await connect()
        point, progress, state = (found[PART.format(number)] for number in (2, 3, 4))
        assert await link.read(state.handle) == b"off"
        refused = found[PART.format(5)].handle
        await link.expect(struct.pack("<BH", 0x0A, refused), struct.pack("<BBHB", 0x01, 0x0A, refused, 0x02))
        await link.write(point.descriptors[CONFIGURATION], INDICATE)
        await link.write(progress.descriptors[CONFIGURATION], NOTIFY)
        refusal = struct.pack("<BBHB", 0x01, 0x12, point.handle, 0x81)
        await link.expect(struct.pack("<BHB", 0x12, point.handle, 9), refusal)
        await link.write(point.handle, b"\x01")
        assert [await link.update(link.notifications) for _ in range(3)] == [
            (progress.handle, bytes([percent])) for percent in (10, 50, 100)
        ]
        assert await link.update(link.indications) == (point.handle, b"\x80\x01\x01")
        assert await link.read(state.handle) == b"on"
        link.write_command(point.handle, b"\x02")
        assert await link.update(link.indications) == (point.handle, b"\x80\x02\x01")
        await link.disconnect()


class Long(Device):
    """Values of several requests, descriptors, an included service, a secondary service, and an MTU of 100."""

    def add_services(self):
        self.server.max_mtu = 100
        self.label = b"unnamed"
        model = Characteristic("2A24", Properties.READ, Permissions.READABLE, b"X-1")
        about = Service(PART.format(8), [model], primary=False)
        self.device.add_service(about)
        label = CharacteristicValue(read=lambda _: self.label, write=self.write)
        described = Characteristic(
            PART.format(2),
            Properties.READ | Properties.WRITE,
            Permissions.READABLE | Permissions.WRITEABLE,
            label,
            [
                Descriptor("2901", Permissions.READABLE, b"Label"),
                Descriptor("2904", Permissions.READABLE, bytes.fromhex("19000027010000")),
            ],
        )
        octets = bytes(n % 251 for n in range(400))
        history = Characteristic(PART.format(3), Properties.READ, Permissions.READABLE, octets)
        self.device.add_service(Service(PART.format(1), [described, history], included_services=[about]))

    def write(self, _, value):
        self.label = bytes(value)

    @staticmethod
    async def session(central, connect):
        link, found = await connect()
        label, history = found[PART.format(2)], found[PART.format(3)]
        assert await link.read(found["2A24"].handle) == b"X-1"
        for handle in label.descriptors.values():
            await link.read(handle)
        assert await link.read_long(history.handle) == bytes(n % 251 for n in range(400))
        assert await link.read(label.handle) == b"unnamed"
        written = bytes(range(90))
        await link.write(label.handle, written)
        assert await link.read_long(label.handle) == written
        await link.disconnect()


class Extended(Device):
    """One extended advertisement with more data than a legacy one has."""

    data = bytes(AdvertisingData([(9, b"Original"), (0xFF, b"\xff\xff" + bytes(range(150)))]))

    def add_services(self):
        level = Characteristic("2A19", Properties.READ, Permissions.READABLE, b"\x2a")
        self.device.add_service(Service("180F", [level]))

    async def __aenter__(self):
        await super().__aenter__()
        await self.device.stop_advertising()
        properties = AdvertisingEventProperties(is_connectable=True, is_scannable=False, is_legacy=False)
        await self.device.create_advertising_set(
            advertising_parameters=AdvertisingParameters(
                advertising_event_properties=properties,
                own_address_type=hci.OwnAddressType.RANDOM,
                primary_advertising_interval_min=100,
                primary_advertising_interval_max=100,
            ),
            random_address=self.device.random_address,
            advertising_data=self.data,
            auto_restart=True,
        )
        return self

    @staticmethod
    async def session(central, connect):
        link, found = await connect()
        assert await link.read(found["2A19"].handle) == b"\x2a"
        await link.disconnect()


class Demanding(Device):
    """Requests security and other connection parameters, sends a value before it answers, and ends the link."""

    def add_services(self):
        self.point = Characteristic(
            PART.format(2),
            Properties.WRITE | Properties.NOTIFY,
            Permissions.WRITEABLE,
            CharacteristicValue(write=self.command),
        )
        self.device.add_service(Service(PART.format(1), [self.point]))
        self.device.on("connection", lambda connection: self.later(self.demand(connection)))

    async def demand(self, connection):
        await asyncio.sleep(0.2)
        connection.request_pairing()
        await asyncio.sleep(0.1)
        with contextlib.suppress(Exception):
            await connection.update_parameters(30, 45, 2, 4000, use_l2cap=True)

    async def command(self, connection, value):
        await self.device.notify_subscribers(self.point, b"\x00" + bytes(value))
        if value == b"\x09":
            self.later(self.end(connection))

    async def end(self, connection):
        await asyncio.sleep(0.02)
        await connection.disconnect()

    @staticmethod
    async def session(central, connect):
        link, found = await connect()
        requested = asyncio.Event()
        link.connection.on("security_request", lambda *_: requested.set())
        point = found[PART.format(2)]
        await link.write(point.descriptors[CONFIGURATION], NOTIFY)
        await asyncio.wait_for(requested.wait(), LIMIT)
        await link.connection.pair()
        await until(lambda: link.connection.parameters.peripheral_latency == 2, "no other timing")
        await link.write(point.handle, b"\x01")
        assert await link.update(link.notifications) == (point.handle, b"\x00\x01")
        await link.write(point.handle, b"\x09")
        assert await asyncio.wait_for(link.ended, LIMIT) == 0x13


# A session


def short(uuid):
    """The UUID of a characteristic as the devices above write it."""
    return uuid[::-1].hex().upper() if len(uuid) == 2 else str(UUID.from_bytes(uuid)).upper()


async def performed(radio, kind, trace):
    """Performs the session of a kind of device, with its packets in a file; gives what the device advertised."""
    async with Central(radio.transport) as central:
        central.device.keystore = MemoryKeyStore()
        central.device.pairing_config_factory = lambda _: PairingConfig(
            sc=True, mitm=False, bonding=True, identity_address_type=PairingConfig.AddressType.RANDOM
        )
        with open(trace, "wb") as file:
            central.device.host.snooper = BtSnooper(file)
            seen = []

            async def search():
                central.sightings.clear()
                await central.device.start_scanning(active=True, filter_duplicates=False)

                def enough():
                    named = next((s for s in central.sightings if names(s, "Original")), None)
                    seen[:] = [s for s in central.sightings if named and s.address == named.address]
                    return sum(not s.is_scan_response for s in seen) >= REPORTS

                await until(enough, "the device was not received")
                await central.device.stop_scanning()
                return seen[0].address

            async def connect(discovers=True):
                link = await central.connect_to(await search())
                await link.exchange_mtu(517)
                services = await link.discover() if discovers else []
                return link, {short(c.uuid): c for service in services for c in service.characteristics}

            try:
                await kind.session(central, connect)
            finally:
                central.device.host.snooper = None
        return {(s.connectable, s.is_scan_response, s.data.hex()) for s in seen}


def copied(trace, folder, *words):
    """The copy of the device of a trace, and what `ble twin` says that it lacks."""
    command = [*product("ble"), "twin", trace, *words]
    done = subprocess.run(command, capture_output=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    description = json.loads(done.stdout)
    jsonschema.Draft202012Validator({**SCHEMA, "anyOf": [{"$ref": "#/$defs/serve"}]}).validate(description)
    copy = folder / "copy.json"
    copy.write_bytes(done.stdout)
    return copy, description, done.stderr.decode().splitlines()


KINDS = [Bonded, Notifying, Controlled, Long, Extended, Demanding]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.lower())
async def test_a_session_with_a_copy_is_that_with_the_device(kind, tmp_path):
    first, second = tmp_path / "original.btsnoop", tmp_path / "copy.btsnoop"
    with ours("radio", tmp_path) as radio:
        async with kind(radio.transport):
            advertised = await performed(radio, kind, first)
    copy, description, notes = await asyncio.to_thread(copied, first, tmp_path)
    with ours("radio", tmp_path) as radio:
        command = [*product("ble"), "serve", copy, "--transport", radio.transport]
        with Program(command, tmp_path / "serve.log") as server:
            await asyncio.to_thread(server.wait_for, "READY")
            assert await performed(radio, kind, second) == advertised
    assert attribute_pdus(second) == attribute_pdus(first)
    # Our host requests the parameters by the link layer, and not by L2CAP: the session waits for the outcome.
    assert security_requests(second) == security_requests(first)
    assert ("connection" in description) == (kind is Demanding) == bool(security_requests(first))
    assert all(note.startswith("ble: ") for note in notes)
    assert description["address"] == "static" and "the copy has a static address of its own" in "\n".join(notes)


async def test_our_central_sees_the_same_device(tmp_path):
    """Our own central makes the trace, and inspects the device and the copy."""

    async def inspected(radio, trace):
        words = ["inspect", "Original", "--json", "--transport", radio.transport, "--snoop", trace]
        done = await asyncio.to_thread(
            subprocess.run, [*product("ble"), *words], capture_output=True, timeout=LIMIT, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["services"]

    first, second = tmp_path / "original.btsnoop", tmp_path / "copy.btsnoop"
    with ours("radio", tmp_path) as radio:
        async with Long(radio.transport):
            services = await inspected(radio, first)
    copy, _, notes = await asyncio.to_thread(copied, first, tmp_path, "--keep-address")
    assert not any("was not seen: it is empty" in note for note in notes), notes
    with ours("radio", tmp_path) as radio:
        command = [*product("ble"), "serve", copy, "--transport", radio.transport]
        with Program(command, tmp_path / "serve.log") as server:
            ready = await asyncio.to_thread(server.wait_for, "READY")
            assert json.loads(copy.read_text())["address"] in ready
            assert await inspected(radio, second) == services
    assert attribute_pdus(second) == attribute_pdus(first)


def untimed(value):
    """A part of a description without times."""
    if isinstance(value, dict):
        return {key: untimed(part) for key, part in value.items() if key not in ("after", "delay")}
    return [untimed(part) for part in value] if isinstance(value, list) else value


async def test_the_trace_of_the_device_itself_shows_the_same(tmp_path):
    traces = tmp_path / "central.btsnoop", tmp_path / "device.btsnoop"
    with ours("radio", tmp_path) as radio, open(traces[1], "wb") as file:
        device = Controlled(radio.transport)
        async with device:
            device.device.host.snooper = BtSnooper(file)
            # Before the snooper came, it began to advertise.
            await device.device.stop_advertising()
            await device.device.start_advertising(
                advertising_data=bytes(AdvertisingData([(9, b"Original")])),
                own_address_type=hci.OwnAddressType.RANDOM,
                advertising_interval_min=30,
                advertising_interval_max=30,
                auto_restart=True,
            )
            await performed(radio, Controlled, traces[0])
            device.device.host.snooper = None
    descriptions = [(await asyncio.to_thread(copied, trace, tmp_path))[1] for trace in traces]
    assert untimed(descriptions[1]["services"]) == untimed(descriptions[0]["services"])
    assert descriptions[1]["advertising"]["data"] == descriptions[0]["advertising"]["data"]
    assert descriptions[1]["advertising"]["interval"] == 30 and descriptions[1]["mtu"] == descriptions[0]["mtu"]
