"""The example of both roles: alone as `make demo` runs it, and as two programs on each radio."""

import asyncio

import pytest
import traces
from monitor import Monitor
from programs import Program, product
from radios import have_tshark


def test_demonstration_ends_and_leaves_a_trace(tmp_path):
    trace = tmp_path / "demo.btsnoop"
    with Program([*product("heart-rate"), "--snoop", trace], tmp_path / "heart-rate.log") as program:
        assert program.wait_for_end() == 0, program.output
    assert program.output.count("bpm") == 5, program.output
    if have_tshark():
        traces.check(trace, least=10)
        assert len(traces.fields(trace, "btatt.opcode == 0x1b", "frame.number")) == 5


def test_two_programs_meet(radio, tmp_path):
    command = [*product("heart-rate"), "--transport", radio.transport, "--role"]
    with Program([*command, "peripheral"], tmp_path / "peripheral.log") as monitor:
        with Program([*command, "central"], tmp_path / "central.log") as collector:
            assert collector.wait_for_end() == 0, collector.output + monitor.output
        assert monitor.wait_for_end() == 0, monitor.output
    assert collector.output.count("bpm") == 5, collector.output


async def test_our_central_and_a_monitor_that_demands_trust(radio, tmp_path):
    """It pairs because it is refused, and on its next run knows the monitor again under another address: it encrypts before
    it asks anything. A monitor that has forgotten the bond is asked nothing at all (BLESA)."""
    command = ["env", f"BLE_BONDS={tmp_path / 'bonds.json'}", *product("heart-rate"), "--transport", radio.transport]
    async with Monitor(radio.transport) as monitor:
        for run in (1, 2):
            await monitor.advertise()
            log = tmp_path / f"central-{run}.log"
            with Program([*command, "--role", "central", "--beats", 3, "--snoop", f"{log}.snoop"], log) as collector:
                assert await asyncio.to_thread(collector.wait_for_end) == 0, collector.output
            assert collector.output.count("72 bpm") == 3, collector.output
            assert "worn on the chest" in collector.output
            assert (monitor.pairings, monitor.encryptions) == (1, run)
            if run == 1:
                in_the_clear = monitor.requests_in_the_clear
        assert len(set(monitor.addresses)) == 2
        assert monitor.requests_in_the_clear == in_the_clear > 0
        monitor.forget()
        before = monitor.requests
        await monitor.advertise()
        with Program([*command, "--role", "central", "--beats", 3], tmp_path / "central-3.log") as collector:
            assert await asyncio.to_thread(collector.wait_for_end) != 0, collector.output
        assert "has forgotten this bond" in collector.output, collector.output
        assert (monitor.requests, monitor.pairings) == (before, 1)


async def test_our_central_finds_a_long_advertisement(radio, tmp_path):
    """The service is named across the border of two reports (Vol 4, Part E, 7.7.65.13)."""
    if radio.name not in ("virtual", "virtual-paced", "rootcanal"):
        pytest.skip("our host scans by legacy commands with these controllers")
    command = ["env", f"BLE_BONDS={tmp_path / 'bonds.json'}", *product("heart-rate"), "--transport", radio.transport]
    async with Monitor(radio.transport) as monitor:
        await monitor.advertise_at_length()
        trace = tmp_path / "central.snoop"
        with Program([*command, "--role", "central", "--beats", 3, "--snoop", trace], tmp_path / "central.log") as central:
            assert await asyncio.to_thread(central.wait_for_end) == 0, central.output
    assert central.output.count("72 bpm") == 3, central.output
