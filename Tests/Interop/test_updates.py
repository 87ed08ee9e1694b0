"""Notifications, indications and the subscriptions that allow them (Vol 3, Part G, 3.3.3.3, 4.10 and 4.11)."""

import asyncio
import struct

import pytest
from central import CONFIRMATION, error
from programs import LIMIT

TEMPERATURE, CONTROL, STREAM, ALARM = "2A6E", "0006", "0007", "0008"
NOTIFY, INDICATE, END = b"\x01\x00", b"\x02\x00", b"\x00\x00"


def stream(station, count, size):
    """The control point's command: `count` notifications of `size` octets."""
    return struct.pack("<BHH", 0x01, count, size)


def streamed(number, size):
    """A streamed value: its number, then octet i = number + i counted from 0."""
    return struct.pack("<I", number) + bytes((number + i) & 0xFF for i in range(size - 4))


async def test_subscription_belongs_to_the_link(station):
    async with station.link() as link:
        cccd = station.cccd(STREAM)
        assert await link.read(cccd) == END
        await link.write(cccd, NOTIFY)
        assert await link.read(cccd) == NOTIFY
    async with station.link() as link:
        assert await link.read(cccd) == END, "an unbonded client's subscription ends with its link"


async def test_cccd_takes_two_octets(station):
    async with station.link() as link:
        cccd = station.cccd(STREAM)
        for wrong in (b"", b"\x01", b"\x01\x00\x00"):
            await link.expect(struct.pack("<BH", 0x12, cccd) + wrong, error(0x12, cccd, 0x0D))
        assert await link.read(cccd) == END


@pytest.mark.parametrize("mtu", [23, 247])
async def test_notifications_in_order_and_whole(station, mtu):
    async with station.link() as link:
        await link.exchange_mtu(mtu)
        handle = station.characteristic(STREAM).handle
        await link.write(station.cccd(STREAM), NOTIFY)
        size = link.mtu - 3
        await link.write(station.characteristic(CONTROL).handle, stream(station, 300, size))
        for number in range(300):
            assert await link.update(link.notifications) == (handle, streamed(number, size))


async def test_nothing_comes_unsubscribed(station):
    async with station.link() as link, station.link() as subscriber:
        cccd, control = station.cccd(STREAM), station.characteristic(CONTROL).handle

        async def nothing_comes():
            """The peripheral sends values of all streams in turn: when the subscriber has its own, the other ones are done."""
            await link.write(control, stream(station, 3, 8))
            await subscriber.write(control, stream(station, 20, 8))
            for number in range(20):
                _, value = await subscriber.update(subscriber.notifications)
                assert value == streamed(number, 8)
            await link.silence()
            assert link.notifications.empty()

        await subscriber.write(cccd, NOTIFY)
        await nothing_comes()
        await link.write(cccd, NOTIFY)
        await link.write(cccd, END)
        await nothing_comes()


async def test_indications_wait_for_their_confirmation(station):
    async with station.link() as link:
        link.confirms_by_itself = False
        handle = station.characteristic(ALARM).handle
        await link.write(station.cccd(ALARM), INDICATE)
        await link.write(station.characteristic(CONTROL).handle, struct.pack("<BHH", 0x02, 3, 8))
        for number in range(3):
            assert await link.update(link.indications) == (handle, streamed(number, 8))
            # Requests are served meanwhile. An indication that did not wait would come before the second answer.
            await link.silence()
            await link.silence()
            assert link.indications.empty(), "the next indication came before the confirmation"
            link.send(CONFIRMATION)
        await link.silence()
        assert link.indications.empty()


async def test_unasked_confirmation_is_ignored(station):
    async with station.link() as link:
        link.send(CONFIRMATION)
        await link.silence()


async def test_peripheral_can_end_the_link(station):
    async with station.link() as link:
        link.send(struct.pack("<BH", 0x12, station.characteristic(CONTROL).handle) + b"\x04")
        assert await asyncio.wait_for(link.ended, LIMIT) == 0x13  # remote user terminated connection
    async with station.link() as link:
        await link.silence()
