"""Sessions of centrals in traces, repeated by `ble replay`: against the recorded program, and against others."""

import asyncio
import json
import re
import struct

import pytest
import traces
from bumble.snoop import BtSnooper
from central import Central
from our_central import our_central
from programs import HERE, Program, product
from radios import have_tshark, ours, peripheral
from secured_peripheral import NAME, OPEN, SEALED, SECRET, VALUES, SecuredPeripheral
from test_ble_tool import run
from test_trace_formats import packet_logger, pcap_without_directions

STATION = "Weather Station 7"
MANUFACTURER = "text:Lighthouse Instruments"
NOTIFY, INDICATE = b"\x01\x00", b"\x02\x00"


@pytest.fixture
def radio(tmp_path):
    with ours("virtual", tmp_path) as radio:
        yield radio
        radio.program.check_alive()


def described(folder, **changes):
    """The description of the weather station with other values: a value instead of another."""
    text = (HERE / "weather.json").read_text()
    for old, new in changes.values():
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = folder / "other.json"
    path.write_text(text)
    return path


async def use(link):
    """A session with everything that the weather station has: discovery, values, long ones, writes, errors, streams."""
    await link.exchange_mtu(100)
    services = await link.discover()
    characteristics = {c.uuid: c for s in services for c in s.characteristics}
    handles = [c.handle for s in services for c in s.characteristics]
    for handle in handles:
        answer = await link.request(struct.pack("<BH", 0x0A, handle))
        if answer[0] == 0x0B and len(answer) == link.mtu:
            await link.read_long(handle)

    def ours(number):
        return characteristics[bytes.fromhex(f"7a3c{number:04x}52d64c1e9b0f6d1e2f3a4b5c")[::-1]]

    await link.write(ours(3).handle, b"Storm")
    assert await link.read(ours(3).handle) == b"Storm"
    await link.prepare(ours(3).handle, 0, b"No ")
    assert (await link.execute()) == b"\x19"
    link.write_command(ours(4).handle, b"bar")
    assert await link.read(ours(4).handle) == b"bar"
    assert (await link.request(struct.pack("<BH", 0x12, ours(4).handle) + bytes(13)))[0] == 0x01
    await link.write(ours(7).descriptors[b"\x02\x29"], NOTIFY)
    await link.write(ours(6).handle, struct.pack("<BHH", 0x01, 20, 30))
    for _ in range(20):
        await link.update(link.notifications)
    await link.write(ours(8).descriptors[b"\x02\x29"], INDICATE)


async def recorded(radio, folder, end="peripheral"):
    """The trace of the weather station with Bumble's host as the central, written by our host or by Bumble's."""
    files = {"peripheral": folder / "station.btsnoop", "central": folder / "bumble.btsnoop"}
    with peripheral(radio.transport, HERE / "weather.json", folder, files["peripheral"]):
        with open(files["central"], "wb") as trace:
            async with Central(radio.transport) as central:
                central.device.host.snooper = BtSnooper(trace)
                link = await central.connect(STATION)
                await use(link)
                await link.disconnect()
    return files[end]


def replay(radio, trace, device=STATION, *words, status=0):
    return run("replay", trace, device, "--transport", radio.transport, "--longest-pause", "1", *words, status=status)


@pytest.mark.parametrize("end", ["peripheral", "central"])
async def test_the_same_program_answers_in_the_same_way(radio, tmp_path, end):
    trace = await recorded(radio, tmp_path, end)
    with peripheral(radio.transport, HERE / "weather.json", tmp_path):
        output = replay(radio, trace)
        assert re.search(r"\d\d requests, 1 command, 20 values: no difference\n$", output), output
        # The values that the session writes are there now.
        assert "now 62 61 72" in replay(radio, trace, status=1)
    with peripheral(radio.transport, HERE / "weather.json", tmp_path):
        report = json.loads(replay(radio, trace, STATION, "--json"))
        assert report["equal"] and report["differences"] == [] and report["values"] == 20


async def test_a_changed_value_is_named_with_its_packet(radio, tmp_path):
    trace = await recorded(radio, tmp_path)
    description = described(tmp_path, maker=(MANUFACTURER, MANUFACTURER + "z"))
    with peripheral(radio.transport, description, tmp_path):
        output = replay(radio, trace, status=1)
        assert "values: 1 difference\n" in output, output
        pattern = (
            r"packet (\d+): Read Request of 0x[0-9A-F]{4} Manufacturer Name String: "
            r'recorded "Lighthouse Instruments", now "Lighthouse Instrumentsz"\n'
        )
        found = re.search(pattern, output)
        assert found, output
    with peripheral(radio.transport, description, tmp_path):
        [difference] = json.loads(replay(radio, trace, STATION, "--json", status=1))["differences"]
        assert difference["packet"] == int(found[1]) and difference["kind"] == "response"
        assert bytes.fromhex(difference["recorded"]["hex"])[1:] == b"Lighthouse Instruments"
        if have_tshark():
            [packet] = traces.fields(trace, f"frame.number == {found[1]}", "btatt.opcode", "btatt.handle")
            assert [int(field, 16) for field in packet] == [0x0B, difference["handle"]]
    with peripheral(radio.transport, description, tmp_path):
        assert "no difference" in replay(radio, trace, STATION, "--ignore", "2A29")


async def test_a_trace_of_our_central(radio, tmp_path):
    trace = tmp_path / "inspect.btsnoop"
    with peripheral(radio.transport, HERE / "weather.json", tmp_path):
        run("inspect", STATION, "--transport", radio.transport, "--snoop", trace)
        assert "no difference" in replay(radio, trace)
        for form, octets in (("pklg", packet_logger(trace, "<")), ("pcap", pcap_without_directions(trace))):
            other = tmp_path / f"inspect.{form}"
            other.write_bytes(b"".join(octets))
            assert replay(radio, other) == replay(radio, trace)
    with peripheral(radio.transport, described(tmp_path, humidity=("7f13", "8013")), tmp_path):
        output = replay(radio, trace, status=1)
        assert re.search(r"Humidity: recorded 49\.91 %, now 49\.92 %\n$", output), output


async def test_a_bond_of_before_is_of_use(radio, tmp_path):
    """The tool has paired when it recorded the trace; the replays encrypt where the trace does."""
    trace = tmp_path / "inspect.btsnoop"
    protected = '"value": "7f13", "permissions": {"read": "encrypted"}'
    with peripheral(radio.transport, described(tmp_path, humidity=('"value": "7f13"', protected)), tmp_path):
        run("inspect", STATION, "--transport", radio.transport, "--snoop", trace)
        for _ in range(2):
            assert "no difference" in replay(radio, trace)
    with peripheral(radio.transport, HERE / "weather.json", tmp_path):
        output = replay(radio, trace, status=1)
        assert "Humidity: recorded Insufficient Authentication (0x05), now 49.91 %" in output


async def test_a_peripheral_of_bumble_that_demands_a_pairing(radio, tmp_path):
    trace = tmp_path / "central.btsnoop"
    async with SecuredPeripheral(radio.transport) as device:
        with our_central(radio, tmp_path, "--io", "none", "--snoop", trace) as central:
            await central.connect(NAME)
            assert await central.read(OPEN) == VALUES[OPEN].hex()
            assert await central.read(SECRET) == VALUES[SECRET].hex()
            assert (await central.read(SEALED)).startswith("error")
        assert device.pairings == 1
    async with SecuredPeripheral(radio.transport) as device:
        output = await asyncio.to_thread(replay, radio, trace, NAME)
        assert "no difference" in output and device.pairings == 1
    async with SecuredPeripheral(radio.transport, accepts=False) as device:
        output = await asyncio.to_thread(replay, radio, trace, NAME, status=1)
        assert "the encryption of the link: recorded encrypted, now" in output and "not repeated:" in output


async def test_an_error_says_what_the_trace_lacks(radio, tmp_path):
    trace = await recorded(radio, tmp_path)
    octets = trace.read_bytes()
    files = {
        b"": "the file is empty",
        b"no trace of any kind": "this is not a packet trace",
        octets[:16]: "the trace has no link",
        octets[:700]: "the trace has no link",
    }
    broken = tmp_path / "broken.btsnoop"
    for content, text in files.items():
        broken.write_bytes(content)
        output = replay(radio, broken, status=65)
        assert text in output and str(broken) in output
    assert "cannot be read" in replay(radio, tmp_path / "none", status=66)
    assert "has no link 9" in replay(radio, trace, STATION, "--session", "9", status=65)
    assert "--ignore takes a UUID" in replay(radio, trace, STATION, "--ignore", "colour", status=64)


async def test_a_device_that_is_another_one(radio, tmp_path):
    """What `ble serve` offers has other attributes than the weather station."""
    trace = await recorded(radio, tmp_path)
    description = json.loads(run("serve", "--example"))
    path = tmp_path / "thermometer.json"
    path.write_text(json.dumps(description))
    with Program([*product("ble"), "serve", path, "--transport", radio.transport], tmp_path / "serve.log") as program:
        program.wait_for("READY")
        output = replay(radio, trace, description["name"], status=1)
        assert "finds other attributes than in the trace" in output
