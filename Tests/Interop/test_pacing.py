"""A virtual radio with real timing (`virtual-radio --pace`), under hosts that are not ours."""

import json
import struct
import time

import pytest
from conftest import Station
from programs import HERE, Program, product
from radios import ours, peripheral

STREAM, CONTROL, SETTING = "0007", "0006", "0004"
NOTIFY = b"\x01\x00"


@pytest.fixture(scope="module")
def paced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paced")
    path = HERE / "weather.json"
    with ours("paced", folder, "--pace") as radio, peripheral(radio.transport, path, folder) as program:
        program.wait_for("READY")
        yield Station(radio, json.loads(path.read_text()))
        program.check_alive()
        radio.program.check_alive()


@pytest.mark.slow
@pytest.mark.parametrize("interval", [15, 50, 120])
async def test_a_round_trip_takes_at_least_one_connection_interval(paced, interval):
    """The request goes out at one connection event, the response comes with the next (Vol 6, Part B, 4.5.1)."""
    async with paced.central() as central:
        link = await central.connect(paced.name, interval=interval)
        if paced.services is None:
            paced.services = await link.discover()
        handle = paced.characteristic(SETTING).handle
        times = []
        for _ in range(10):
            begin = time.monotonic()
            await link.write(handle, b"paced")
            times.append(time.monotonic() - begin)
    assert min(times) >= interval / 1000, times


@pytest.mark.slow
async def test_a_connection_update_changes_the_round_trip(paced):
    async with paced.central() as central:
        link = await central.connect(paced.name, interval=15)
        if paced.services is None:
            paced.services = await link.discover()
        await link.connection.update_parameters(100, 100, 0, 5000)
        handle = paced.characteristic(SETTING).handle
        # The update takes effect six events later; these take more.
        for _ in range(6):
            await link.write(handle, b"paced")
        for _ in range(5):
            begin = time.monotonic()
            await link.write(handle, b"paced")
            assert time.monotonic() - begin >= 0.1


@pytest.mark.slow
async def test_notifications_take_their_airtime(paced):
    """Data PDUs of 27 octets: 80 + 150 + 296 + 150 µs each, at most 44 in an event of 30 ms."""
    async with paced.central() as central:
        link = await central.connect(paced.name, interval=30)
        if paced.services is None:
            paced.services = await link.discover()
        await link.write(paced.cccd(STREAM), NOTIFY)
        count = 400
        begin = time.monotonic()
        await link.write(paced.characteristic(CONTROL).handle, struct.pack("<BHH", 0x01, count, 20))
        for number in range(count):
            _, value = await link.update(link.notifications)
            assert int.from_bytes(value[:4], "little") == number
        assert time.monotonic() - begin >= (count / 44 - 1) * 0.03


def test_two_programs_meet(paced, tmp_path):
    command = [*product("heart-rate"), "--transport", paced.radio.transport, "--role"]
    with Program([*command, "peripheral"], tmp_path / "peripheral.log") as monitor:
        with Program([*command, "central"], tmp_path / "central.log") as collector:
            assert collector.wait_for_end() == 0, collector.output + monitor.output
        assert monitor.wait_for_end() == 0, monitor.output
    assert collector.output.count("bpm") == 5, collector.output
