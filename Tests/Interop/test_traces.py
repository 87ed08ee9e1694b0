"""What our traces hold, as Wireshark reads them."""

import struct

import pytest
import traces
from central import Central
from programs import HERE
from radios import bumble, have_tshark, peripheral

pytestmark = pytest.mark.skipif(not have_tshark(), reason="tshark is not installed")


async def test_trace_of_a_peripheral(tmp_path):
    trace = tmp_path / "peripheral.btsnoop"
    with bumble("bumble", tmp_path) as radio:
        with peripheral(radio.transport, HERE / "weather.json", tmp_path, trace):
            async with Central(radio.transport) as central:
                link = await central.connect("Weather Station 7")
                await link.exchange_mtu(100)
                handles = [c.handle for s in await link.discover() for c in s.characteristics]
                for handle in handles:
                    await link.request(struct.pack("<BH", 0x0A, handle))
                    await link.request(struct.pack("<BHHH", 0x08, handle, 0xFFFF, 0x2803))
        traces.check(trace, least=40)
    requests = traces.fields(trace, "btatt.opcode == 0x0a", "btatt.handle")
    assert [int(handle, 16) for (handle,) in requests] == handles
    answers = traces.fields(trace, "btatt.opcode == 0x0b || btatt.opcode == 0x01", "btatt.opcode")
    assert len(answers) >= len(handles)
    times = [float(time) for (time,) in traces.fields(trace, "frame", "frame.time_epoch")]
    assert times == sorted(times) and times[0] > 1_577_836_800, "times since 1970 that never go back"
