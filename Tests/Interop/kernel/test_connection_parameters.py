"""The connection parameters of the links that our central makes, as the kernel's monitor shows them."""

import struct

import pytest
from bluetooth import Monitor
from conftest import Peripheral
from managers import managers
from programs import wait_until

pytestmark = pytest.mark.newer

CREATE = (0x200D, 0x2043)  # LE Create Connection, LE Extended Create Connection
LOAD = 0x0035


@pytest.fixture
def strap(controllers, logs, request):
    """Driven by our own host: no kernel at that end asks for another timing."""
    with Peripheral("hci-socket:0", logs / f"{request.node.name}-peripheral.txt") as program:
        program.wait_for("READY")
        yield program
        program.check_alive()


@pytest.fixture
def central(strap, logs, request):
    with managers(logs, request.node.name, "linux:hci1") as program:
        yield program


@pytest.fixture
def monitor(central):
    with Monitor(1) as monitor:
        yield monitor


def created(command):
    """(least interval, greatest interval, latency, timeout) of a command that creates a link."""
    return struct.unpack_from("<HHHH", command, len(command) - 12)


def test_six_seconds_unless_asked_otherwise(central, identity, monitor):
    answer = central.ask(f"k connect {identity[0]}", "k connected")
    assert "interval 50.0 latency 0 timeout 6000.0" in answer
    assert [created(command) for command in monitor.commands(*CREATE)] == [(24, 40, 0, 600)]
    assert monitor.timings() == [(40, 0, 600)]


def test_those_asked_for_are_in_force(central, identity, monitor):
    answer = central.ask(f"k connect {identity[0]} 100 125 4 8000", "k connected")
    assert "interval 125.0 latency 4 timeout 8000.0" in answer
    assert monitor.timings() == [(100, 4, 800)]
    central.ask("k update 30 45 1 2000", "k asked")
    wait_until(lambda: len(monitor.timings()) == 2, lambda: f"two timings, not {monitor.timings()}")
    interval, *rest = monitor.timings()[1]
    assert 24 <= interval <= 36 and rest == [1, 200]
    # The monitor may have the event before our host.
    expected = f"k timing interval {interval * 1.25} latency 1 timeout 2000.0\n"
    wait_until(lambda: expected in central.ask("k timing", " timeout "), lambda: f"no {expected!r} in {central.output[-2000:]}")


def test_a_linux_peripheral_asks_for_its_own(controllers, identity, logs, request):
    """Its kernel asks for 30 to 50 ms where a link comes up with another interval, and our kernel accepts."""
    log = logs / f"{request.node.name}-peripheral.txt"
    with Peripheral("linux:hci0", log) as peripheral, Monitor(1) as monitor:
        peripheral.wait_for("READY")
        with managers(logs, request.node.name, "linux:hci1") as central:
            central.ask(f"k connect {identity[0]} 100 125 0 8000", "k connected")
            wait_until(lambda: len(monitor.timings()) == 2, lambda: f"two timings, not {monitor.timings()}")
            assert monitor.timings()[0] == (100, 0, 800)
            interval, latency, timeout = monitor.timings()[1]
            assert 24 <= interval <= 40 and (latency, timeout) == (0, 800)


def test_the_kernel_uses_them_too(central, identity, monitor, connect, drop):
    """For a link to the same device that it makes itself: its own default is a supervision timeout of 420 ms."""
    central.ask(f"k connect {identity[0]} 35 45 2 3000", "k connected")
    central.ask("k disconnect", "k disconnected")
    entry = bytes(reversed(bytes.fromhex(identity[0].replace(":", "")))) + struct.pack("<BHHHH", 1, 28, 36, 2, 300)
    assert monitor.requests(LOAD) == [b"\x01\x00" + entry]
    client = connect()
    assert client.services()
    drop(client)
    assert [created(command) for command in monitor.commands(*CREATE)] == [(28, 36, 2, 300)] * 2
    assert monitor.timings() == [(36, 2, 300)] * 2
