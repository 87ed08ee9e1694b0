"""One of two processes is killed in the middle of a procedure: the other one goes on, and serves a new process.

Docs/Robustness.md states the times. Each link has a supervision timeout of 1 s.
"""

import contextlib
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from procedures import CHARACTERISTIC, SERVICE, STEPS, Central, Peripheral
from procedures import connecting, converse, discovering, running, subscribed, wait_for_one_of, within, writing
from programs import HERE, LIMIT, Program, product, reserved_port, wait_until
from radios import RADIOS, Radio, bumble, peripheral


@dataclass
class Times:
    """Within how many seconds something is reported."""

    # The end of a link: its supervision timeout, and a second more.
    end: float
    # The controller that has returned: hosts try every 2 s.
    controller: float


@pytest.fixture(params=[pytest.param("any"), pytest.param("measured", marks=pytest.mark.slow)])
def times(request):
    return Times(LIMIT, LIMIT) if request.param == "any" else Times(2.0, 6.0)


@pytest.fixture
def radio(tmp_path):
    # With the timing of a real radio a procedure takes long enough to be in the middle of it.
    with RADIOS["virtual-paced"](tmp_path) as radio:
        yield radio
        radio.program.check_alive()


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_a_peripheral_outlives_its_central(radio, tmp_path, step, times):
    with within(step, radio, tmp_path) as (peripheral, central, options):
        central.kill()
        if step is not connecting or "p1 connected" in peripheral.program.output:
            wait_for_one_of(peripheral, ("p1 disconnected",), times.end)
        peripheral.settle()
        written = peripheral.program.output.count("p1 written")
        # `discovering` also writes, the complement of what it has read.
        assert written == 0 or step in (writing, discovering), "prepared writes end with their link"
        second = Central(radio, tmp_path, *options)
        with running(second):
            converse(second, peripheral, tmp_path)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_a_central_outlives_its_peripheral(radio, tmp_path, step, times):
    with within(step, radio, tmp_path) as (peripheral, central, options):
        peripheral.kill()
        if step is not connecting:
            # Each procedure under way ends with an error, in any order with the end of the link.
            wait_for_one_of(central, ("k ended",), times.end)
            central.settle()
        second = Peripheral(radio, tmp_path, *options)
        with running(second):
            if second.address == peripheral.address:
                wait_for_a_link(central, second)
            central.skip()
            converse(central, second, tmp_path)


def wait_for_a_link(central, second):
    """Where a new process has the address of the killed one, an attempt to connect goes on and makes a link to it, unless it has made one to
    the killed process. That link ends before the central can connect again.
    """

    def has_one():
        second.program.check_alive()
        central.program.check_alive()
        # Both ends have to report the link: the central's line, if it came later, would be taken for the answer to its next attempt.
        is_connected = "p1 connected" in second.program.output and "k connected" in central.program.output
        return is_connected or any(text in central.program.output for text in ("k ended", "k failed"))

    wait_until(has_one, lambda: f"no link to the new process and no end of one:\n{central.program.output}\n{second.program.output}")


@contextlib.contextmanager
def radio_at(port, folder):
    with Program([*product("virtual-radio"), "--tcp", port], folder / "radio.log") as program:
        program.wait_for("READY")
        yield Radio("virtual", program, port)


def test_hosts_outlive_their_controllers(tmp_path, times):
    """The process of the controllers is killed with a link up, and started again. Below "powered off" the services of a peripheral
    manager are gone, as with Apple's framework; the channel that BLEKit has published is kept.
    """
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(reserved_port())
        with radio_at(port, tmp_path) as radio:
            peripheral, central = Peripheral(radio, tmp_path), Central(radio, tmp_path)
            stack.enter_context(running(peripheral, central))
            subscribed(central, peripheral, tmp_path)
            peripheral.skip()
            central.skip()
            radio.program.process.kill()
            radio.program.process.wait()
            wait_for_one_of(central, ("k ended",), times.end)
            central.settle()
            peripheral.wait_for("p1 resetting", times.end)
            peripheral.wait_for("p1 disconnected", times.end)
        with radio_at(port, tmp_path):
            peripheral.wait_for("p1 poweredOn", times.controller)
            peripheral.tell(f"p1 publish {SERVICE} {CHARACTERISTIC} again", f"p1 advertise Clock {SERVICE}", "k address")
            peripheral.address = peripheral.wait_for("k address").split()[2]
            central.tell("k address")
            central.wait_for("k address", times.controller)
            converse(central, peripheral, tmp_path)


def test_a_process_takes_the_place_of_a_killed_one(tmp_path):
    """Two processes want one socket: the second ends with an error that says so, and succeeds once the first was killed."""
    path = tmp_path / "host.sock"
    for name in ("first", "second", "third"):
        (tmp_path / name).mkdir()
    with peripheral(f"unix-server:{path}", HERE / "weather.json", tmp_path / "first") as first:
        first.wait_for_socket(path)
        with peripheral(f"unix-server:{path}", HERE / "weather.json", tmp_path / "second") as second:
            assert second.wait_for_end() != 0
            assert "another program" in second.output, second.output
        first.process.kill()
        first.process.wait()
    assert path.exists(), "nobody has removed it"
    with peripheral(f"unix-server:{path}", HERE / "weather.json", tmp_path / "third") as third:
        third.wait_for_socket(path)
        with bumble("bumble", tmp_path, f"unix-client:{path}"):
            third.wait_for("READY")


def test_a_second_process_on_a_port_is_told_so(tmp_path):
    """As with the socket: the first process keeps its port, and the next one has it at once after a kill."""
    for name in ("first", "second", "third"):
        (tmp_path / name).mkdir()
    with reserved_port() as port:
        take_a_port_over(port, tmp_path)


def take_a_port_over(port, tmp_path):
    with peripheral(f"tcp-server:127.0.0.1:{port}", HERE / "weather.json", tmp_path / "first") as first:
        first.wait_for_port(port)
        with peripheral(f"tcp-server:127.0.0.1:{port}", HERE / "weather.json", tmp_path / "second") as second:
            assert second.wait_for_end() != 0
            assert "another program" in second.output and str(port) in second.output, second.output
        first.check_alive()
        with bumble("bumble", tmp_path, f"tcp-client:127.0.0.1:{port}"):
            first.wait_for("READY")
            first.process.kill()
            first.process.wait()
    with peripheral(f"tcp-server:127.0.0.1:{port}", HERE / "weather.json", tmp_path / "third") as third:
        third.wait_for_port(port)
        with bumble("bumble", tmp_path, f"tcp-client:127.0.0.1:{port}"):
            third.wait_for("READY")


def test_a_serial_line_that_vanishes_and_returns(tmp_path, times):
    """An adapter on a serial line is unplugged with its host at work, and plugged in again: a pseudo-terminal takes its place."""
    path = tmp_path / "tty"
    with contextlib.ExitStack() as stack:
        with bumble("first", tmp_path, f"pty:{path}"):
            peripheral = Peripheral(SimpleNamespace(transport=f"serial:{path},115200,none"), tmp_path)
            stack.enter_context(running(peripheral))
            peripheral.skip()
        path.unlink(missing_ok=True)
        peripheral.wait_for("p1 resetting", times.end)
        with bumble("second", tmp_path, f"pty:{path}"):
            peripheral.wait_for("p1 poweredOn", times.controller)
            peripheral.tell(f"p1 publish {SERVICE} {CHARACTERISTIC} again", f"p1 advertise Clock {SERVICE}")
            peripheral.wait_for("p1 advertises")
