"""Writes of every kind (Vol 3, Part G, 4.9), and what is refused."""

import struct

from central import error

LOG, NOTE, SETTING = "0002", "0003", "0004"


async def test_write_is_read_back(station):
    async with station.link() as link:
        handle = station.characteristic(SETTING).handle
        for value in (b"mmHg", b"", b"x" * 12, b"hPa"):
            await link.write(handle, value)
            assert await link.read(handle) == value


async def test_commands_arrive_in_order_and_unanswered(station):
    async with station.link() as link:
        handle = station.characteristic(SETTING).handle
        for number in range(100):
            link.write_command(handle, b"%d" % number)
        assert await link.read(handle) == b"99"
        link.write_command(handle, b"y" * 13)  # too long: dropped, no error (Vol 3, Part F, 3.4.5.3)
        link.write_command(station.characteristic(LOG).handle, b"")  # not permitted: dropped
        link.write_command(0xFFF0, b"")  # no such handle: dropped
        await link.silence()
        assert await link.read(handle) == b"99"
        await link.write(handle, b"hPa")


async def test_refusals_name_the_handle(station):
    async with station.link() as link:
        setting, log = station.characteristic(SETTING).handle, station.characteristic(LOG).handle
        await link.expect(struct.pack("<BH", 0x12, setting) + b"z" * 13, error(0x12, setting, 0x0D))
        await link.expect(struct.pack("<BH", 0x12, log) + b"z", error(0x12, log, 0x03))
        await link.expect(struct.pack("<BH", 0x12, 0xFFF0) + b"z", error(0x12, 0xFFF0, 0x01))
        await link.expect(struct.pack("<BHH", 0x16, log, 0) + b"z", error(0x16, log, 0x03))
        declaration = station.characteristic(SETTING).declaration
        await link.expect(struct.pack("<BH", 0x12, declaration) + b"z", error(0x12, declaration, 0x03))


async def test_long_write_in_parts(station):
    async with station.link() as link:
        handle = station.characteristic(NOTE).handle
        before = await link.read_long(handle)
        note = bytes(range(200))
        for offset in range(0, 200, 18):
            await link.prepare(handle, offset, note[offset : offset + 18])
        assert await link.read_long(handle) == before, "prepared parts are not written before they are executed"
        assert await link.execute() == b"\x19"
        assert await link.read_long(handle) == note
        await link.write(handle, b"No storm.")


async def test_cancelled_parts_are_forgotten(station):
    async with station.link() as link:
        handle = station.characteristic(NOTE).handle
        before = await link.read_long(handle)
        await link.prepare(handle, 0, b"forgotten")
        await link.expect(b"\x18\x00", b"\x19")
        assert await link.execute() == b"\x19"
        assert await link.read_long(handle) == before


async def test_execution_is_all_or_nothing(station):
    async with station.link() as link:
        setting, note = station.characteristic(SETTING).handle, station.characteristic(NOTE).handle
        await link.write(setting, b"hPa")
        before = await link.read_long(note)
        await link.prepare(note, 0, b"half of it")
        await link.prepare(setting, 0, b"x" * 13)  # one octet more than the setting may have
        assert await link.execute() == error(0x18, setting, 0x0D)
        assert await link.read_long(note) == before
        assert await link.read(setting) == b"hPa"


async def test_gap_between_parts_is_an_invalid_offset(station):
    async with station.link() as link:
        setting = station.characteristic(SETTING).handle
        await link.write(setting, b"hPa")
        await link.prepare(setting, 9, b"gap")
        assert await link.execute() == error(0x18, setting, 0x07)
        assert await link.read(setting) == b"hPa"


async def test_prepare_queue_has_an_end(station):
    """Past its bound the server says Prepare Queue Full, keeps what it has, and goes on serving."""
    async with station.link() as link:
        note = station.characteristic(NOTE).handle
        answer = b""
        for _ in range(5000):
            answer = await link.request(struct.pack("<BHH", 0x16, note, 0) + b"x" * 18)
            if answer[0] != 0x17:
                break
        assert answer == error(0x16, note, 0x09)
        await link.expect(b"\x18\x00", b"\x19")
        await link.prepare(note, 0, b"again")
        await link.expect(b"\x18\x00", b"\x19")
