"""The example of both roles: alone as `make demo` runs it, and as two programs on each radio."""

import pytest
import traces
from programs import Program, product
from radios import have_tshark


@pytest.mark.limit(120)
def test_demonstration_ends_and_leaves_a_trace(tmp_path):
    trace = tmp_path / "demo.btsnoop"
    with Program([*product("heart-rate"), "--snoop", trace], tmp_path / "heart-rate.log") as program:
        assert program.wait_for_end(60) == 0, program.output
    assert program.output.count("bpm") == 5, program.output
    if have_tshark():
        traces.check(trace, least=10)
        assert len(traces.fields(trace, "btatt.opcode == 0x1b", "frame.number")) == 5


def test_two_programs_meet(radio, tmp_path):
    command = [*product("heart-rate"), "--transport", radio.transport, "--role"]
    with Program([*command, "peripheral"], tmp_path / "peripheral.log") as monitor:
        with Program([*command, "central"], tmp_path / "central.log") as collector:
            assert collector.wait_for_end(60) == 0, collector.output + monitor.output
        assert monitor.wait_for_end(60) == 0, monitor.output
    assert collector.output.count("bpm") == 5, collector.output
