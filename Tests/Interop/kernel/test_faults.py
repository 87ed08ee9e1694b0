"""The adapter goes and comes back under reference-peripheral, which tells so, lives on and serves again."""

import contextlib

from bluetooth import Management, set_down
from conftest import PATTERN, Peripheral, long_uuid, wait_for_count


def serves(connect, drop):
    client = connect()
    assert client.read_long(client.characteristics()[long_uuid("0002")]) == PATTERN
    drop(client)


def test_switched_off_and_on(peripheral, connect, drop):
    serves(connect, drop)
    before = peripheral.descriptors()
    for round in range(1, 6):
        set_down(0)
        wait_for_count(peripheral, "the adapter is poweredOff: linux:hci0: hci0 was switched off", round)
        set_down(0, False)
        wait_for_count(peripheral, "the adapter is poweredOn again", round)
        serves(connect, drop)
    assert peripheral.descriptors() <= before


def test_switched_off_during_a_link(peripheral, connect, drop):
    client = connect()
    set_down(0)
    peripheral.wait_for("disconnected")
    drop(client)
    peripheral.wait_for("poweredOff")
    set_down(0, False)
    peripheral.wait_for("the adapter is poweredOn again")
    serves(connect, drop)


def test_unplugged_and_plugged_in_again(controllers, peripheral, connect, drop):
    serves(connect, drop)
    before = peripheral.descriptors()
    controllers.stop()
    try:
        peripheral.wait_for("the adapter is resetting: linux:hci0: ")
    finally:
        controllers.start()
    wait_for_count(peripheral, "READY", 2)
    serves(connect, drop)
    assert peripheral.descriptors() <= before


def test_an_adapter_is_left_as_it_was_found(controllers, logs):
    with contextlib.closing(Management()) as management:
        management.switch(0, 0)
        before = management.settings(0)
        with Peripheral("linux:hci0", logs / "restoring.txt") as program:
            program.wait_for("READY")
            assert management.settings(0) & 1
        assert program.process.returncode == 0
        assert management.settings(0) == before


def test_killed_and_started_again(controllers, connect, drop, logs):
    """The controller still sends the advertisement of the program that was killed; the next one takes its place."""
    with Peripheral("linux:hci0", logs / "killed.txt") as program:
        program.wait_for("READY")
        program.process.kill()
        program.process.wait(10)
    with Peripheral("linux:hci0", logs / "started-again.txt") as program:
        program.wait_for("READY")
        assert "an advertisement of another program" in program.output, program.output
        serves(connect, drop)
        program.check_alive()
