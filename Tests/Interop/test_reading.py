"""Discovery and reads (Vol 3, Part G, 4.3 to 4.8), PDU by PDU and by Bumble's own GATT client."""

import struct

import pytest
from bumble.core import UUID
from bumble.device import Peer
from central import error, uuid
from programs import LIMIT

PATTERN = bytes(7 * i & 0xFF for i in range(300))


@pytest.mark.parametrize("client, agreed", [(23, 23), (24, 24), (100, 100), (247, 247), (517, 247)])
async def test_mtu_is_the_smaller_of_both(station, client, agreed):
    async with station.link() as link:
        assert await link.exchange_mtu(client) == 247
        value = await link.read(station.characteristic("0002").handle)
        assert value == PATTERN[: agreed - 1]


async def test_mtu_is_23_before_any_exchange(station):
    async with station.link() as link:
        assert await link.read(station.characteristic("0002").handle) == PATTERN[:22]


async def test_database_is_as_described(station):
    async with station.link() as link:
        found = [s for s in await link.discover() if s.uuid not in (uuid("1800"), uuid("1801"))]
    described = station.description["services"]
    assert sorted(s.uuid for s in found) == sorted(uuid(s["uuid"]) for s in described)
    for service in described:
        same = next(s for s in found if s.uuid == uuid(service["uuid"]))
        assert same.is_primary == service.get("primary", True)
        assert [c.uuid for c in same.characteristics] == [uuid(c["uuid"]) for c in service["characteristics"]]
        for characteristic, described_one in zip(same.characteristics, service["characteristics"], strict=True):
            assert characteristic.properties == properties(described_one)
            has_cccd = uuid("2902") in characteristic.descriptors
            assert has_cccd == bool(characteristic.properties & 0x30)


def properties(description):
    bits = {"read": 0x02, "write_without_response": 0x04, "write": 0x08, "notify": 0x10, "indicate": 0x20}
    return sum(bits[name] for name in description["properties"])


async def test_included_services_name_their_ranges(station):
    async with station.link() as link:
        services = await link.discover()
    weather = next(s for s in services if s.uuid == uuid("7a3c0001-52d6-4c1e-9b0f-6d1e2f3a4b5c"))
    information = next(s for s in services if s.uuid == uuid("180A"))
    calibration = next(s for s in services if not s.is_primary)
    # A 128-bit UUID does not fit into an include declaration: it is left out (Vol 3, Part G, 3.2).
    assert weather.includes == [
        (information.start, information.end, uuid("180A")),
        (calibration.start, calibration.end, b""),
    ]


async def test_every_procedure_gives_the_same_database(station):
    async with station.link() as link:
        small = await link.discover()
        await link.exchange_mtu(247)
        assert await link.discover() == small
        attributes = await link.information(1, 0xFFFF)
    handles = [handle for handle, _ in attributes]
    assert handles == sorted(set(handles))
    types = dict(attributes)
    for service in small:
        assert types[service.start] == uuid("2800" if service.is_primary else "2801")
        for characteristic in service.characteristics:
            assert types[characteristic.declaration] == uuid("2803")
            assert types[characteristic.handle] == characteristic.uuid


async def test_find_by_type_value_finds_the_services_of_a_uuid(station):
    async with station.link() as link:
        for service in (s for s in station.services if s.is_primary):
            answer = await link.request(struct.pack("<BHHH", 0x06, 1, 0xFFFF, 0x2800) + service.uuid)
            assert answer == struct.pack("<BHH", 0x07, service.start, service.end)
        await link.expect(struct.pack("<BHHHH", 0x06, 1, 0xFFFF, 0x2800, 0xFEFE), error(0x06, 1, 0x0A))


async def test_equal_characteristics_keep_their_own_values(station):
    async with station.link() as link:
        outside, inside = station.characteristic("2A6E", 0), station.characteristic("2A6E", 1)
        assert await link.read(outside.handle) == bytes.fromhex("f6ff")
        assert await link.read(inside.handle) == bytes.fromhex("6608")
        assert await link.read(outside.descriptors[uuid("2901")]) == b"Outside"
        assert await link.read(inside.descriptors[uuid("2901")]) == b"Inside"
        assert await link.read(station.characteristic("2A25").handle) == b""


async def test_long_value_in_parts(station):
    async with station.link() as link:
        handle = station.characteristic("0002").handle
        assert await link.read_long(handle) == PATTERN
        await link.expect(struct.pack("<BHH", 0x0C, handle, 300), b"\x0d")  # at the end: nothing more
        await link.expect(struct.pack("<BHH", 0x0C, handle, 301), error(0x0C, handle, 0x07))
        await link.exchange_mtu(247)
        assert await link.read_long(handle) == PATTERN


async def test_several_values_in_one_request(station):
    async with station.link() as link:
        outside, humidity = station.characteristic("2A6E").handle, station.characteristic("2A6F").handle
        write_only = station.characteristic("0005").handle
        await link.expect(struct.pack("<BHH", 0x0E, outside, humidity), bytes.fromhex("0f f6ff 7f13"))
        await link.expect(struct.pack("<BHH", 0x20, outside, humidity), bytes.fromhex("21 0200 f6ff 0200 7f13"))
        await link.expect(struct.pack("<BHH", 0x0E, outside, write_only), error(0x0E, write_only, 0x02))
        await link.expect(struct.pack("<BHH", 0x0E, 0xFFF0, outside), error(0x0E, 0xFFF0, 0x01))


async def test_refusals_name_the_handle(station):
    async with station.link() as link:
        write_only = station.characteristic("0005").handle
        await link.expect(struct.pack("<BH", 0x0A, write_only), error(0x0A, write_only, 0x02))
        await link.expect(struct.pack("<BH", 0x0A, 0x0000), error(0x0A, 0x0000, 0x01))
        await link.expect(struct.pack("<BH", 0x0A, 0xFFFF), error(0x0A, 0xFFFF, 0x01))
        await link.expect(struct.pack("<BHHH", 0x08, 5, 4, 0x2803), error(0x08, 5, 0x01))
        await link.expect(struct.pack("<BHHH", 0x08, 0, 4, 0x2803), error(0x08, 0, 0x01))
        await link.expect(struct.pack("<BHHH", 0x10, 1, 0xFFFF, 0x2803), error(0x10, 1, 0x10))


async def test_stack_owns_gap_and_gatt(station):
    async with station.link() as link:
        ((_, name),) = await link.by_type(1, 0xFFFF, 0x2A00)
        assert station.name.encode().startswith(name) and name
        hash_before = await link.by_type(1, 0xFFFF, 0x2B2A)
        assert len(hash_before) == 1 and len(hash_before[0][1]) == 16
        assert await link.by_type(1, 0xFFFF, 0x2B2A) == hash_before


async def test_bumbles_own_client_agrees(station):
    async with station.central() as central:
        data, _ = await central.scan(station.name)
        connection = await central.device.connect(data.address, timeout=LIMIT)
        # Bumble's host takes the ATT channel back for its own client.
        central.device.l2cap_channel_manager.register_fixed_channel(4, central.device.on_gatt_pdu)
        peer = Peer(connection)
        await peer.request_mtu(185)
        await peer.discover_all()
        (log,) = peer.get_characteristics_by_uuid(UUID("7a3c0002-52d6-4c1e-9b0f-6d1e2f3a4b5c"))
        assert bytes(await log.read_value()) == PATTERN
        (setting,) = peer.get_characteristics_by_uuid(UUID("7a3c0004-52d6-4c1e-9b0f-6d1e2f3a4b5c"))
        await setting.write_value(b"mbar", with_response=True)
        assert bytes(await setting.read_value()) == b"mbar"
        await setting.write_value(b"hPa", with_response=True)
        await connection.disconnect()
