"""heart-rate as a central on linux:hci1, against our own peripheral and against btgatt-server, both on hci0."""

import contextlib
import os
import struct

import pytest
from bluetooth import Management
from conftest import Peripheral, wait_for_count
from daemon import BluetoothDaemon
from programs import Program, product

pytestmark = pytest.mark.newer


def collector(log, rounds, *more):
    words = ["--role", "central", "--transport", "linux:hci1", "--beats", "1", "--rounds", rounds, *more]
    return Program([*product("heart-rate"), *words], log)


def meet(logs, rounds):
    """Our monitor and our collector, so many times; gives what the collector says."""
    words = ["--role", "peripheral", "--transport", "linux:hci0", "--beats", "1", "--rounds", rounds]
    with Program([*product("heart-rate"), *words], logs / "monitor.txt") as monitor:
        monitor.wait_for("advertises")
        with collector(logs / "collector.txt", rounds, "--snoop", logs / "collector.btsnoop") as central:
            assert central.wait_for_end() == 0, central.output
        assert monitor.wait_for_end() == 0, monitor.output
    return central.output


def test_twenty_times_our_own(controllers, logs):
    heard = meet(logs, 20)
    for line in ("connected to Strap", "reads: made by", "battery at 87 %", "♥", "rejected, application error 0x80", "disconnected"):
        assert heard.count(line) == 20, f"{line}: {heard.count(line)}\n{heard[-3000:]}"


def test_the_kernel_connects_after_our_scan(controllers, connect, drop, logs):
    """An active scan of ours is a discovery for the kernel, and while it discovers it connects nobody."""
    meet(logs, 1)
    with Peripheral("linux:hci0", logs / "after-scan.txt") as peripheral:
        peripheral.wait_for("READY")
        client = connect(1)
        assert client.characteristics()
        drop(client)


def test_beside_a_daemon_on_both_adapters(controllers, logs):
    with BluetoothDaemon(logs, 2):
        assert meet(logs, 5).count("disconnected") == 5


@pytest.mark.skipif("BTGATT_SERVER" not in os.environ, reason="btgatt-server is not built")
def test_twenty_times_btgatt_server(controllers, logs):
    command = ["stdbuf", "-oL", os.environ["BTGATT_SERVER"], "-i", "hci0", "-r"]
    with contextlib.closing(Management()) as management:
        management.switch_on(0)
        with collector(logs / "collector-btgatt.txt", 20) as central:
            for round in range(1, 21):
                # It serves one link; nobody is to come where it does not listen.
                with Program(command, logs / "btgatt-server.txt") as server:
                    server.wait_for("listening on ATT channel")
                    # Complete list of 16-bit UUIDs: Heart Rate.
                    management.advertise(0, bytes([3, 0x03]) + struct.pack("<H", 0x180D))
                    server.wait_for("Connect from")
                    management.stop_advertising(0)
                    wait_for_count(central, "disconnected", round)
            assert central.wait_for_end() == 0, central.output
    assert central.output.count("♥") == 20
    assert central.output.count("finds") >= 20
