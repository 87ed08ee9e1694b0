"""What a scanner sees of the peripheral (Vol 3, Part C, 11)."""

from central import uuid

FLAGS, UUIDS_16, UUIDS_128, SHORT_NAME, NAME = 0x01, 0x03, 0x07, 0x08, 0x09


async def test_areas_hold_what_was_declared(station):
    async with station.central() as central:
        data, response = await central.scan(station.name)
    assert data.connectable
    assert len(data.data) <= 31 and len(response.data) <= 31
    elements = dict(data.elements())
    assert elements[FLAGS] == b"\x06"
    assert elements[UUIDS_16] == uuid("181A")
    assert elements[UUIDS_128] == uuid("7a3c0001-52d6-4c1e-9b0f-6d1e2f3a4b5c")


async def test_name_goes_whole_to_the_scan_response(station):
    async with station.central() as central:
        data, response = await central.scan(station.name)
    assert [value for kind, value in response.elements() if kind == NAME] == [station.name.encode()]
    assert not [kind for kind, _ in data.elements() if kind in (SHORT_NAME, NAME)]
    assert FLAGS not in dict(response.elements())


async def test_advertises_while_connected_and_after(station):
    async with station.central() as first, station.central() as second:
        link = await first.connect(station.name)
        await second.scan(station.name)
        await link.disconnect()
        await second.scan(station.name)


async def test_reconnects_again_and_again(station):
    async with station.central() as central:
        for _ in range(8):
            link = await central.connect(station.name)
            assert await link.exchange_mtu(185) == 247
            assert await link.disconnect() in (0x13, 0x16)  # ended by this host, as seen from either end
