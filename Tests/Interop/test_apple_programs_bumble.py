"""Programs written as for Apple's systems, each with Bumble's host as its other side: both roles, the delegate calls in order."""

import asyncio
import struct

import pytest
from apple_programs import (
    HELLO_GREETS,
    HELLO_READER,
    HELLO_STARTS,
    READER_FINDS,
    READER_READS,
    READER_READS_AGAIN,
    SENSOR_STARTS,
    AppleProgram,
    check,
)
from bumble.core import UUID
from central import Central, error
from radios import RADIOS, parameters
from room_peers import (
    ALARM,
    COMMAND,
    HELLO,
    HISTORY,
    LABEL,
    OWNER,
    ROOM,
    TEMPERATURE,
    TRANSFER,
    Hello,
    RoomSensor,
)
from test_security import Visitor

NOTIFY, INDICATE, OFF = b"\x01\x00", b"\x02\x00", b"\x00\x00"
USER_DESCRIPTION, CONFIGURATION, FORMAT = b"\x01\x29", b"\x02\x29", b"\x04\x29"
INSUFFICIENT_AUTHENTICATION = 0x05


@pytest.fixture(params=parameters("virtual", "bumble"))
def radio(request, tmp_path):
    with RADIOS[request.param](tmp_path) as radio:
        yield radio
        radio.program.check_alive()


def octets(uuid):
    return bytes(UUID(uuid))


async def test_the_reader_reads_a_sensor_of_bumble(radio, tmp_path):
    async with RoomSensor(radio.transport) as sensor:
        with AppleProgram("room-reader", radio.transport, tmp_path) as reader:
            assert await asyncio.to_thread(reader.wait_for_end) == 0, reader.output
        reads = READER_READS
        if radio.name == "bumble":
            # Bumble's controllers do not have the command.
            refusal = "/didReadRSSI true .*Read RSSI.*Unknown HCI Command.*/"
            reads = [refusal if line.startswith("didReadRSSI") else line for line in reads]
        check(reader, READER_FINDS + reads + READER_READS_AGAIN)
    commands = [f"command {number:02x}" for number in range(1, 101)]
    assert sensor.calls == [
        *("label 500", "label 0", *commands),
        *("transfer True", "transfer False", "alarm True encrypted True"),
    ]


async def test_the_reader_of_greetings_follows_a_service_of_bumble(radio, tmp_path):
    async with Hello(radio.transport) as hello:
        with AppleProgram("hello-reader", radio.transport, tmp_path) as reader:
            await asyncio.to_thread(reader.wait_for, "didDiscoverServices 0")
            hello.is_missed.set()
            assert await asyncio.to_thread(reader.wait_for_end) == 0, reader.output
        check(reader, HELLO_READER)
    assert hello.calls == ["subscribed True", "subscribed True"]


async def test_the_sensor_serves_a_central_of_bumble(radio, tmp_path):
    with AppleProgram("room-sensor", radio.transport, tmp_path) as sensor:
        await asyncio.to_thread(sensor.wait_for, SENSOR_STARTS[-1])
        async with Central(radio.transport) as central:
            await use(await central.connect("Room"), central)
        check(
            sensor,
            [
                *SENSOR_STARTS,
                "didReceiveRead temperature",
                "didReceiveRead history",
                "didReceiveWrite label 305 octets in 2 parts",
                "didReceiveRead label",
                "didReceiveWrite label 0 octets in 1 parts",
                "didReceiveWrite command 1 octets in 1 parts",
                "didSubscribeTo temperature",
                "didSubscribeTo transfer",
                "peripheralManagerIsReady",
                "didUnsubscribeFrom transfer",
                "didReceiveRead owner",
                "didSubscribeTo alarm",
                "didUnsubscribeFrom temperature",
                "didUnsubscribeFrom alarm",
            ],
        )


async def use(link, central):
    """What the reader does, request by request."""
    assert await link.exchange_mtu(100) == 517
    services = await link.discover()
    about = next(s for s in services if s.uuid == octets(ROOM.format(1)))
    room = next(s for s in services if s.uuid == octets("181A"))
    assert not about.is_primary and room.is_primary
    assert room.includes == [(about.start, about.end, b"")]
    manufacturer, model = about.characteristics
    assert await link.read(manufacturer.handle) == b"Example Works" and await link.read(model.handle) == b"RS-1"

    found = {c.uuid: c for c in room.characteristics}
    temperature, label, owner = found[octets(TEMPERATURE)], found[octets(LABEL)], found[octets(OWNER)]
    assert await link.read(temperature.handle) == b"\x66\x08"
    assert await link.read(temperature.descriptors[USER_DESCRIPTION]) == b"Room temperature"
    assert await link.read(temperature.descriptors[FORMAT]) == bytes.fromhex("0efe2f27010000")
    assert await link.read_long(found[octets(HISTORY)].handle) == bytes(n % 251 for n in range(400))

    text = b"A long label. " * 22
    for offset in range(0, 300, 95):
        await link.prepare(label.handle, offset, text[offset : min(offset + 95, 300)])
    # Parts that follow each other reach the program as one; this one does not.
    await link.prepare(label.handle, 2, b"short")
    assert await link.execute() == b"\x19"
    assert await link.read_long(label.handle) == text[:2] + b"short" + text[7:300]
    await link.expect(struct.pack("<BH", 0x12, label.handle), error(0x12, label.handle, 0x0D))
    link.write_command(found[octets(COMMAND)].handle, b"\x01")

    await link.write(temperature.descriptors[CONFIGURATION], NOTIFY)
    assert await link.update(link.notifications) == (temperature.handle, b"\x70\x08")
    transfer = found[octets(TRANSFER)]
    await link.write(transfer.descriptors[CONFIGURATION], NOTIFY)
    for number in range(200):
        assert await link.update(link.notifications) == (transfer.handle, f"{number:04d}".encode())
    assert await link.update(link.notifications) == (transfer.handle, b"EOM")
    await link.write(transfer.descriptors[CONFIGURATION], OFF)

    request = struct.pack("<BH", 0x0A, owner.handle)
    await link.expect(request, error(0x0A, owner.handle, INSUFFICIENT_AUTHENTICATION))
    visitor = Visitor(central)
    visitor.link = link
    await visitor.pair()
    await link.expect(request, b"\x0bAda")
    alarm = found[octets(ALARM)]
    await link.write(alarm.descriptors[CONFIGURATION], INDICATE)
    assert await link.update(link.indications) == (alarm.handle, b"\x01")
    await link.disconnect()


async def test_the_hello_demo_serves_a_central_of_bumble(radio, tmp_path):
    """The central learns of both changes, keeps its link, and has to subscribe again."""

    async def discover(link):
        services = await link.discover()
        hello = next((s for s in services if s.uuid == octets(HELLO.format(1))), None)
        return hello and hello.characteristics[0], services

    async def greeting(link, number):
        return await link.update(link.notifications) == (greetings.handle, f"Hello {number}".encode())

    with AppleProgram("hello", radio.transport, tmp_path, "--until-line") as hello:
        await asyncio.to_thread(hello.wait_for, HELLO_STARTS[-1])
        async with Central(radio.transport) as central:
            link = await central.connect("Hello")
            greetings, services = await discover(link)
            changed = next(c for s in services for c in s.characteristics if c.uuid == octets("2A05"))
            await link.write(changed.descriptors[CONFIGURATION], INDICATE)
            await link.write(greetings.descriptors[CONFIGURATION], NOTIFY)
            assert [await greeting(link, number) for number in (1, 2, 3)] == [True] * 3
            handle, _ = await link.update(link.indications)
            assert handle == changed.handle
            assert (await discover(link))[0] is None
            hello.tell("")
            handle, _ = await link.update(link.indications)
            assert handle == changed.handle
            greetings, _ = await discover(link)
            assert await link.read(greetings.descriptors[CONFIGURATION]) == OFF
            assert await link.read(greetings.handle) == b"Hello"
            await link.write(greetings.descriptors[CONFIGURATION], NOTIFY)
            assert [await greeting(link, number) for number in (4, 5, 6)] == [True] * 3
            await link.disconnect()
        check(hello, HELLO_STARTS + HELLO_GREETS)
