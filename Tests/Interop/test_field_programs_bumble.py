"""Programs in the style of the field, each with Bumble's host as its other side."""

import asyncio
import struct

import pytest
from apple_programs import check
from bumble.l2cap import LeCreditBasedChannelSpec
from central import Central
from field_peers import (
    MDOC,
    NUS,
    TERMINATION,
    TRANSFER,
    Bridge,
    CardPeer,
    Chunks,
    Frames,
    MdocServer,
    MeshDevice,
    Reassembler,
    Source,
    octets,
    parts,
    segments,
    value_length,
)
from field_programs import BANNER, READY, SERVICE, Sides, payload
from programs import until
from radios import RADIOS, parameters

NOTIFY = b"\x01\x00"
CONFIGURATION = b"\x02\x29"
KEY, OTHER_KEY, CERTIFICATE = payload(64), payload(65)[:64], payload(1_500)
REQUEST, DOCUMENT = payload(2_000), payload(20_000)


@pytest.fixture(params=parameters("virtual", "bumble"))
def radio(request, tmp_path):
    with RADIOS[request.param](tmp_path) as radio:
        yield radio
        radio.program.check_alive()


class Program:
    """One side of a program, with its files."""

    def __init__(self, name, radio, folder):
        self.sides, self.folder = Sides(name, radio.transport, folder, "side"), folder

    def path(self, name, content=None):
        path = self.folder / name
        if content is not None:
            path.write_bytes(content)
        return path

    def start(self, *words):
        return self.sides.start("side", *words)


async def wait_for(program, text):
    await asyncio.to_thread(program.wait_for, text)


async def check_done(program):
    assert await asyncio.to_thread(program.wait_for_end) == 0, program.output


async def link_to(central, service):
    """A link to the device that advertises a service, and the characteristics of that."""
    kinds = (0x02, 0x03, 0x06, 0x07)

    def advertiser():
        for sighting in central.sightings:
            if any(kind in kinds and octets(service) == value for kind, value in sighting.elements()):
                return sighting.address
        return None

    await central.device.start_scanning(active=True, filter_duplicates=False)
    address = await until(advertiser, lambda: f"{service} not received")
    await central.device.stop_scanning()
    link = await central.connect_to(address)
    await link.exchange_mtu(517)
    found = next(each for each in await link.discover() if each.uuid == octets(service))
    return link, {characteristic.uuid: characteristic for characteristic in found.characteristics}


async def subscribe(link, characteristic):
    await link.write(characteristic.descriptors[CONFIGURATION], NOTIFY)


async def value_of(link, characteristic):
    handle, value = await link.update(link.notifications)
    assert handle == characteristic.handle
    return value


# Mesh provisioning


async def test_the_provisioner_provisions_a_device_of_bumble(radio, tmp_path):
    program = Program("mesh-provisioning", radio, tmp_path)
    output = program.path("output")
    async with MeshDevice(radio.transport, KEY, CERTIFICATE) as device:
        with program.start("provisioner", program.path("key", OTHER_KEY), output, "--segments", 20) as provisioner:
            await check_done(provisioner)
        assert output.read_bytes() == CERTIFICATE
    requests = [struct.pack(">BHHH", 0x0A, 1, offset, 60) for offset in range(0, len(CERTIFICATE), 60)]
    assert device.messages == [
        b"\x00\x05",
        *requests,
        bytes([2, 0, 0, 0, 0, 0]),
        b"\x03" + OTHER_KEY,
        b"\x05" + OTHER_KEY[:16],
        b"\x06" + OTHER_KEY[48:],
        b"\x07" + OTHER_KEY[:33],
    ]
    assert [len(segment) for segment in device.segments[-9:]] == [7, 20, 20, 20, 9, 18, 18, 20, 16]


async def test_the_device_is_provisioned_by_bumble(radio, tmp_path):
    program = Program("mesh-provisioning", radio, tmp_path)
    files = program.path("key", KEY), program.path("certificate", CERTIFICATE)
    with program.start("device", *files, "--segments", 20) as device:
        await wait_for(device, "unprovisioned")
        async with Central(radio.transport) as central:
            link, found = await link_to(central, "1827")
            data_in, data_out = found[octets("2ADB")], found[octets("2ADC")]
            await subscribe(link, data_out)
            reassembler = Reassembler()

            def send(message):
                for segment in segments(message, 20):
                    link.write_command(data_in.handle, segment)

            async def answer():
                while (message := reassembler.receive(await value_of(link, data_out))) is None:
                    pass
                return message

            send(b"\x00\x05")
            assert await answer() == bytes.fromhex("010100010000000000000000")
            send(struct.pack(">BHHH", 0x0A, 1, 0, len(CERTIFICATE)))
            assert await answer() == b"\x0b\x00" + struct.pack(">HHH", 1, 0, len(CERTIFICATE)) + CERTIFICATE
            send(bytes([2, 0, 0, 0, 0, 0]))
            send(b"\x03" + OTHER_KEY)
            assert await answer() == b"\x03" + KEY
            send(b"\x07" + OTHER_KEY[:33])
            assert await answer() == b"\x08"
            await link.disconnect()
        lines = ["invite", "start", f"publicKey {OTHER_KEY.hex()}", f"data {OTHER_KEY[:33].hex()}", "didUnsubscribe"]
        await asyncio.to_thread(check, device, ["unprovisioned", "didSubscribe", *lines])


# A holder and a reader of an mdoc

WAYS = pytest.mark.parametrize("way", [(), ("--channel",)], ids=["characteristics", "channel"])


class Mdoc(Program):
    """One side of a presentation, and the message that it sends."""

    def __init__(self, radio, folder, role):
        super().__init__("mdoc", radio, folder)
        self.role = role
        self.files = [folder / "request", folder / "document"]
        self.sent, self.received = self.files if role == "reader" else self.files[::-1]
        self.sent.write_bytes(REQUEST if role == "reader" else DOCUMENT)

    def run(self, end, way):
        return self.start(self.role, end, SERVICE, *self.files, *way)


@WAYS
@pytest.mark.parametrize("role", ["holder", "reader"])
async def test_a_client_presents_a_document_to_or_reads_it_from_a_server_of_bumble(radio, tmp_path, role, way):
    mdoc = Mdoc(radio, tmp_path, role)
    other, messages = {"holder": ("reader", (REQUEST, DOCUMENT)), "reader": ("holder", (DOCUMENT, REQUEST))}[role]
    async with MdocServer(radio.transport, other, messages[0]) as server:
        with mdoc.run("client", way) as program:
            await check_done(program)
        assert server.received == [messages[1]]
    assert mdoc.received.read_bytes() == messages[0]
    start, end = ([] if way else [b"\x01"]), ([TERMINATION] if way else [b"\x02"])
    assert server.states == start + (end if role == "reader" else [])


@pytest.mark.parametrize("role", ["holder", "reader"])
async def test_a_server_serves_a_client_of_bumble_by_characteristics(radio, tmp_path, role):
    mdoc = Mdoc(radio, tmp_path, role)
    with mdoc.run("server", ()) as program:
        await wait_for(program, "advertising")
        async with Central(radio.transport) as central:
            link, found = await link_to(central, SERVICE)
            first = {"holder": 1, "reader": 5}[role]
            state, from_client, to_client = (found[octets(MDOC.format(first + index))] for index in range(3))
            await subscribe(link, state)
            await subscribe(link, to_client)
            chunks = Chunks()

            def send(message):
                for chunk in Chunks.of(message, value_length(link.mtu)):
                    link.write_command(from_client.handle, chunk)

            async def answer():
                while (message := chunks.receive(await value_of(link, to_client))) is None:
                    pass
                return message

            link.write_command(state.handle, b"\x01")
            if role == "holder":
                send(REQUEST)
                assert await answer() == DOCUMENT
                link.write_command(state.handle, b"\x02")
            else:
                assert await answer() == REQUEST
                send(DOCUMENT)
                assert await value_of(link, state) == b"\x02"
            await link.disconnect()
        await check_done(program)
    assert mdoc.received.read_bytes() == (REQUEST if role == "holder" else DOCUMENT)


@pytest.mark.parametrize("role", ["holder", "reader"])
async def test_a_server_serves_a_client_of_bumble_over_a_channel(radio, tmp_path, role):
    mdoc = Mdoc(radio, tmp_path, role)
    with mdoc.run("server", ("--channel",)) as program:
        await wait_for(program, "advertising")
        async with Central(radio.transport) as central:
            link, found = await link_to(central, SERVICE)
            value = await link.read(found[octets(MDOC.format({"holder": 0xA, "reader": 0xB}[role]))].handle)
            spec = LeCreditBasedChannelSpec(psm=int.from_bytes(value, "little"))
            channel = await link.connection.create_l2cap_channel(spec)
            messages = asyncio.Queue()
            channel.sink = Frames(messages.put_nowait).add
            if role == "holder":
                channel.write(Frames.of(REQUEST))
                assert await messages.get() == DOCUMENT
                channel.write(Frames.of(TERMINATION))
            else:
                assert await messages.get() == REQUEST
                channel.write(Frames.of(DOCUMENT))
                assert await messages.get() == TERMINATION
                await channel.disconnect()
            await check_done(program)
    assert mdoc.received.read_bytes() == (REQUEST if role == "holder" else DOCUMENT)


# A serial bridge


@pytest.mark.parametrize("words", [(), ("--hello-first",)], ids=["subscribes-first", "hello-first"])
async def test_the_terminal_says_hello_to_a_bridge_of_bumble(radio, tmp_path, words):
    program = Program("serial-bridge", radio, tmp_path)
    content, output = payload(30_000), program.path("output")
    async with Bridge(radio.transport) as bridge:
        with program.start("terminal", program.path("input", content), output, *words) as terminal:
            await check_done(terminal)
    assert output.read_bytes() == BANNER + READY + content
    assert bridge.calls[:2] == (["hello", "subscribed True"] if words else ["subscribed True", "hello"])


async def test_the_bridge_returns_what_bumble_writes(radio, tmp_path):
    content = payload(30_000)
    with Program("serial-bridge", radio, tmp_path).start("bridge") as bridge:
        await wait_for(bridge, "advertising")
        async with Central(radio.transport) as central:
            link, found = await link_to(central, NUS.format(1))
            receive, transmit = found[octets(NUS.format(2))], found[octets(NUS.format(3))]
            # At once, and the subscription after it.
            link.write_command(receive.handle, b"hello\r\n")
            await subscribe(link, transmit)
            for part in parts(content, value_length(link.mtu)):
                link.write_command(receive.handle, part)
            received = b""
            while len(received) < len(BANNER + READY + content):
                received += await value_of(link, transmit)
            assert received == BANNER + READY + content
            await link.disconnect()
        await asyncio.to_thread(check, bridge, ["advertising", "hello", "didSubscribe", "didUnsubscribe"])


# A transfer that resumes


async def test_the_receiver_resumes_with_a_source_of_bumble_that_ends_the_link_twice(radio, tmp_path):
    program = Program("resuming-transfer", radio, tmp_path)
    file, output = payload(30_000), program.path("output")
    async with Source(radio.transport, file) as source:
        with program.start("receiver", output) as receiver:
            await check_done(receiver)
    assert output.read_bytes() == file
    first, second, third = source.offsets
    # Bumble may end the link before its last notifications have left.
    assert first == 0 < second <= 10_000 and second < third <= 20_000
    offsets = [line for offset in source.offsets for line in ("didConnect", f"from {offset}")]
    check(receiver, ["scanning", *offsets, "received 30000 octets"])


async def test_the_source_sends_to_bumble_from_an_offset(radio, tmp_path):
    program = Program("resuming-transfer", radio, tmp_path)
    file = payload(30_000)
    with program.start("source", program.path("file", file)) as source:
        await wait_for(source, "advertising")
        async with Central(radio.transport) as central:
            link, found = await link_to(central, TRANSFER.format(1))
            length, offset, content = (found[octets(TRANSFER.format(number))] for number in (2, 3, 4))
            assert await link.read(length.handle) == struct.pack("<I", len(file))
            await subscribe(link, content)
            await link.write(offset.handle, struct.pack("<I", 12_345))
            received = b""
            while len(received) < len(file) - 12_345:
                received += await value_of(link, content)
            assert received == file[12_345:]
            await link.disconnect()
        await asyncio.to_thread(check, source, ["advertising", "from 12345", "didUnsubscribe"])


# Two peers that connect to each other


@pytest.mark.parametrize("connects", [False, True], ids=["the-program-connects", "both-connect"])
async def test_cards_are_exchanged_with_a_peer_of_bumble_on_one_link(radio, tmp_path, connects):
    program = Program("card-exchange", radio, tmp_path)
    ours, theirs = payload(3_000), payload(2_999)
    async with CardPeer(radio.transport, theirs, connects) as peer:
        with program.start(program.path("card", ours), tmp_path) as exchange:
            framed = struct.pack(">H", len(ours)) + ours
            await until(
                lambda: peer.is_sent and peer.written == framed and peer.notified == framed,
                lambda: f"{len(peer.written)} octets written, {len(peer.notified)} notified",
            )
            for way in ("written", "notified"):
                await wait_for(exchange, f"card {way}")
                assert (tmp_path / way).read_bytes() == theirs
            assert len(peer.device.connections) == 1
