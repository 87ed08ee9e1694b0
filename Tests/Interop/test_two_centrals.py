"""Several centrals at once: what one does is no other's business."""

import asyncio
import contextlib
import struct

from central import error

LOG, NOTE, SETTING, CONTROL, STREAM = "0002", "0003", "0004", "0006", "0007"
NOTIFY = b"\x01\x00"


async def test_each_has_its_own_mtu(station):
    async with station.link() as one, station.link() as other:
        await one.exchange_mtu(247)
        handle = station.characteristic(LOG).handle
        assert len(await one.read(handle)) == 246
        assert len(await other.read(handle)) == 22


async def test_each_sees_what_the_other_wrote(station):
    async with station.link() as one, station.link() as other:
        handle = station.characteristic(SETTING).handle
        await one.write(handle, b"one")
        assert await other.read(handle) == b"one"
        await other.write(handle, b"hPa")
        assert await one.read(handle) == b"hPa"


async def test_each_has_its_own_subscription(station):
    async with station.link() as one, station.link() as other:
        await one.write(station.cccd(STREAM), NOTIFY)
        assert await other.read(station.cccd(STREAM)) == b"\x00\x00"
        await one.write(station.characteristic(CONTROL).handle, struct.pack("<BHH", 0x01, 3, 8))
        for _ in range(3):
            await one.update(one.notifications)
        await other.silence()
        assert other.notifications.empty()


async def test_each_has_its_own_prepared_parts(station):
    async with station.link() as one, station.link() as other:
        handle = station.characteristic(NOTE).handle
        await one.write(handle, b"before")
        await one.prepare(handle, 0, b"mine")
        assert await other.execute() == b"\x19"
        assert await other.read(handle) == b"before"
        assert await one.execute() == b"\x19"
        assert await other.read(handle) == b"mine"


async def test_one_vanishes_the_other_stays(station):
    async with station.link() as one:
        async with station.central() as vanishing:
            link = await vanishing.connect(station.name)
            await link.exchange_mtu(100)
            vanishing.links.clear()  # the host goes without saying goodbye
        await one.silence()
        assert await one.exchange_mtu(100) == 247


async def test_malformed_of_one_does_not_reach_the_other(station):
    async with station.link() as one, station.link() as other:
        one.send_acl(b"\xff\xff\x04\x00\x0a")  # announces 65,535 octets, sends one
        one.send_acl(b"\x01")
        handle = station.characteristic(SETTING).handle
        await other.expect(struct.pack("<BH", 0x0A, 0), error(0x0A, 0, 0x01))
        assert await other.read(handle) == b"hPa"


async def test_six_at_once_under_traffic(station):
    async with contextlib.AsyncExitStack() as stack:
        links = [await stack.enter_async_context(station.link()) for _ in range(6)]
        for index, link in enumerate(links):
            await link.exchange_mtu(64 + 20 * index)
            await link.write(station.cccd(STREAM), NOTIFY)

        async def converse(link):
            size = link.mtu - 3
            await link.write(station.characteristic(CONTROL).handle, struct.pack("<BHH", 0x01, 100, size))
            for _ in range(20):
                assert len(await link.read(station.characteristic(LOG).handle)) == link.mtu - 1
            numbers = []
            while len(numbers) < 100:
                _, value = await link.update(link.notifications)
                assert len(value) == size
                numbers.append(int.from_bytes(value[:4], "little"))
            assert numbers == list(range(100))

        await asyncio.gather(*[converse(link) for link in links])
