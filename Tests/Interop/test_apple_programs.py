"""Programs written as for Apple's systems, two processes on one radio: the delegate calls of both sides, in their order."""

import json
import os
import signal
import subprocess

import pytest
from apple_programs import (
    CHIME,
    DOORBELL_IS_ANSWERED,
    DOORBELL_STARTS,
    HELLO_GREETS,
    HELLO_READER,
    HELLO_STARTS,
    READER_FINDS,
    READER_READS,
    READER_READS_AGAIN,
    SENSOR_IS_READ,
    SENSOR_IS_READ_AGAIN,
    SENSOR_STARTS,
    AppleProgram,
    check,
)
from programs import LIMIT, Program, product, wait_until
from radios import RADIOS, parameters
from test_signals import ENDED_BY_THE_HOST, Air, check_end


@pytest.fixture(params=parameters("virtual", "virtual-small"))
def radio(request, tmp_path):
    with RADIOS[request.param](tmp_path) as radio:
        yield radio
        radio.program.check_alive()


@pytest.fixture
def sensor(radio, tmp_path):
    with AppleProgram("room-sensor", radio.transport, tmp_path) as program:
        program.wait_for(SENSOR_STARTS[-1])
        yield program
        program.check_alive()


def test_a_sensor_is_read_and_read_again(radio, sensor, tmp_path):
    with AppleProgram("room-reader", radio.transport, tmp_path) as reader:
        assert reader.wait_for_end() == 0, reader.output + sensor.output
    check(reader, READER_FINDS + READER_READS + READER_READS_AGAIN)
    check(sensor, SENSOR_STARTS + SENSOR_IS_READ + SENSOR_IS_READ_AGAIN)


def test_a_service_is_removed_and_added_again_under_its_subscriber(radio, tmp_path):
    with AppleProgram("hello", radio.transport, tmp_path, "--until-line") as hello:
        hello.wait_for(HELLO_STARTS[-1])
        with AppleProgram("hello-reader", radio.transport, tmp_path) as reader:
            reader.wait_for("didDiscoverServices 0")
            hello.tell("")
            assert reader.wait_for_end() == 0, reader.output + hello.output
        check(reader, HELLO_READER)
        check(hello, HELLO_STARTS + HELLO_GREETS)


LIBRARIES = {
    "promises": [
        "temperature 21.50",
        "label Office",
        "the sensor rejects an empty label",
        "notifying true",
        "temperature 21.60",
        "disconnected",
    ],
    "tasks": [
        "found Room true",
        "temperature 21.50, label of true",
        "label Office",
        "the sensor rejects an empty label",
        "temperature 21.60",
        "disconnected",
    ],
    "publishers": ["label Office", "temperature 21.60", "disconnected"],
}


@pytest.mark.parametrize("radio", ["virtual"], indirect=True)
@pytest.mark.parametrize("style", LIBRARIES)
def test_a_library_reads_the_sensor(radio, sensor, tmp_path, style):
    with AppleProgram("library-runs", radio.transport, tmp_path, style) as run:
        assert run.wait_for_end() == 0, run.output + sensor.output
    check(run, LIBRARIES[style])


def test_mocks_take_the_place_of_managers_and_peers(tmp_path):
    with AppleProgram("library-runs", "virtual", tmp_path, "mocks") as run:
        assert run.wait_for_end() == 0, run.output
    check(
        run,
        [
            "centralManagerDidUpdateState false",
            "centralManagerDidUpdateState true",
            'scans for [["180D"]] true',
            "scans false",
            "didAdd 181C",
            "peripheralManagerDidStartAdvertising true",
            'sent ["Hell", "o, w"] false',
            "sent 3 true",
            "level 87",
            '["discoverServices [\\"180F\\"]", "discoverCharacteristics 180F", "readValue", "writeValue 1 true"]',
        ],
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_the_end_of_a_program_ends_its_link(number, tmp_path):
    """The program does not handle the signal. It is told nothing of the end of its link: it would call `exit`."""
    command = [*product("ble"), "radio", "--tcp", "127.0.0.1:0", "--traces", tmp_path / "traces"]
    with Program(command, tmp_path / "radio.log") as radio:
        air = Air(radio.wait_for("READY").split()[1], tmp_path / "traces")
        theirs = air.next()
        with AppleProgram("hello", air.transport, tmp_path, "--until-line") as hello:
            hello.wait_for(HELLO_STARTS[-1])
            ours = air.next()
            with AppleProgram("hello-reader", air.transport, tmp_path) as reader:
                reader.wait_for("didUpdateNotificationStateFor 1")
                reader.process.send_signal(number)
                assert reader.wait_for_end() == -number, reader.output
            check_end(ours, reader)
            wait_until(lambda: not theirs.read().links, "the peripheral has a link still")
            assert theirs.reasons[-1] in ENDED_BY_THE_HOST
            hello.check_alive()


# Programs with restoration identifiers, started several times

ENDINGS = {
    "kill": lambda program: program.process.send_signal(signal.SIGKILL),
    "exit": lambda program: program.tell("exit"),
    "return": lambda program: program.tell("return"),
    "SIGTERM": lambda program: program.process.send_signal(signal.SIGTERM),
    "SIGINT": lambda program: program.process.send_signal(signal.SIGINT),
}
STATUS = {"kill": -signal.SIGKILL, "exit": 0, "return": 0, "SIGTERM": -signal.SIGTERM, "SIGINT": -signal.SIGINT}


def states(folder, program, role):
    """The files of states of a program."""
    return list((folder / f"{program}-home").glob(f"bonds.{role}-*.json"))


def end(program, ending, folder, role, text):
    """Ends a program once its state is saved, a moment after its last change; only a kill leaves the state."""

    def saved():
        return [path for path in states(folder, program.name, role) if text in path.read_text()]

    found = wait_until(saved, lambda: f"no state with {text!r}:\n{program.output}")
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in found)
    ENDINGS[ending](program)
    assert program.wait_for_end() == STATUS[ending], program.output
    assert bool(states(folder, program.name, role)) == (ending == "kill")


def logs(folder, run):
    path = folder / str(run)
    path.mkdir()
    return path


@pytest.mark.parametrize("radio", ["virtual"], indirect=True)
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_that_adds_its_service_at_each_start_is_found_at_each_start(radio, tmp_path, ending):
    for run in range(1, 6):
        with AppleProgram("doorbell", radio.transport, tmp_path, logs=logs(tmp_path, run)) as doorbell:
            doorbell.wait_for("didStartAdvertising")
            with AppleProgram("chime", radio.transport, tmp_path, logs=tmp_path / str(run)) as chime:
                assert chime.wait_for_end() == 0, chime.output + doorbell.output
            check(chime, CHIME)
            restored = ["willRestoreState 1"] if ending == "kill" and run > 1 else []
            check(doorbell, restored + DOORBELL_STARTS + DOORBELL_IS_ANSWERED)
            end(doorbell, ending, tmp_path, "peripheral", "serviceUUIDs")


@pytest.mark.parametrize("radio", ["virtual"], indirect=True)
@pytest.mark.parametrize("ending", ["kill", "exit"])
def test_a_program_that_keeps_what_is_restored_is_found_at_each_start(radio, tmp_path, ending):
    for run in range(1, 4):
        with AppleProgram("doorbell", radio.transport, tmp_path, "--keeps", logs=logs(tmp_path, run)) as doorbell:
            is_restored = ending == "kill" and run > 1
            doorbell.wait_for("peripheralManagerDidUpdateState true" if is_restored else "didStartAdvertising")
            with AppleProgram("chime", radio.transport, tmp_path, logs=tmp_path / str(run)) as chime:
                assert chime.wait_for_end() == 0, chime.output + doorbell.output
            check(chime, CHIME)
            starts = ["willRestoreState 1", *DOORBELL_STARTS[:1]] if is_restored else DOORBELL_STARTS
            check(doorbell, starts + DOORBELL_IS_ANSWERED)
            end(doorbell, ending, tmp_path, "peripheral", "serviceUUIDs")


@pytest.mark.parametrize("radio", ["virtual"], indirect=True)
@pytest.mark.parametrize("ending", ["kill", "SIGTERM"])
def test_a_central_that_scans_and_connects_at_each_start_gets_the_value_at_each_start(radio, tmp_path, ending):
    with AppleProgram("doorbell", radio.transport, tmp_path, logs=logs(tmp_path, 0)) as doorbell:
        doorbell.wait_for("didStartAdvertising")
        for run in range(1, 4):
            with AppleProgram("chime", radio.transport, tmp_path, "--restores", logs=logs(tmp_path, run)) as chime:
                chime.wait_for("didUpdateValueFor ding")
                restored = ["willRestoreState 1"] if ending == "kill" and run > 1 else []
                check(chime, restored + CHIME[:-1])
                end(chime, ending, tmp_path, "central", "address")


@pytest.mark.parametrize("radio", ["virtual"], indirect=True)
def test_a_stored_identifier_names_a_device_without_a_bond_in_the_next_process(radio, tmp_path):
    with AppleProgram("doorbell", radio.transport, tmp_path) as doorbell:
        doorbell.wait_for("didStartAdvertising")
        for run in range(1, 4):
            with AppleProgram("chime", radio.transport, tmp_path, "--returns", logs=logs(tmp_path, run)) as chime:
                assert chime.wait_for_end() == 0, chime.output + doorbell.output
            check(chime, CHIME if run == 1 else ["retrievePeripherals 1", *CHIME[1:]])
            # The program exits at once after its link; it has no bond, and nothing but the address is stored.
            files = {path.name: path for path in (tmp_path / "chime-home").glob("bonds*.json")}
            assert list(files) == ["bonds.devices.json"]
            assert files["bonds.devices.json"].stat().st_mode & 0o777 == 0o600
            [device] = json.loads(files["bonds.devices.json"].read_text())["devices"]
            assert set(device) == {"address", "name", "random"}


@pytest.mark.parametrize("radio", ["virtual"], indirect=True)
def test_a_program_that_turns_the_memory_of_devices_off_has_to_scan_again(radio, tmp_path):
    with AppleProgram("doorbell", radio.transport, tmp_path) as doorbell:
        doorbell.wait_for("didStartAdvertising")
        for run in range(1, 3):
            words = ["--returns", "--forgets"]
            with AppleProgram("chime", radio.transport, tmp_path, *words, logs=logs(tmp_path, run)) as chime:
                assert chime.wait_for_end() == 0, chime.output + doorbell.output
            check(chime, CHIME if run == 1 else ["retrievePeripherals 0", *CHIME])
            assert not list((tmp_path / "chime-home").glob("bonds*"))


@pytest.mark.parametrize("radio", ["virtual"], indirect=True)
def test_the_tool_shows_and_removes_remembered_devices(radio, tmp_path):
    def bonds(*words):
        command = [*product("ble"), "bonds", "--transport", radio.transport, *words]
        environment = {**os.environ, "BLE_BONDS": str(tmp_path / "chime-home/bonds.json")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=True)
        return done.stdout

    with AppleProgram("doorbell", radio.transport, tmp_path) as doorbell:
        doorbell.wait_for("didStartAdvertising")
        for run in range(1, 3):
            with AppleProgram("chime", radio.transport, tmp_path, "--returns", logs=logs(tmp_path, run)) as chime:
                assert chime.wait_for_end() == 0, chime.output + doorbell.output
            # Removed by the tool, the device is found by a scan again.
            check(chime, CHIME if run == 1 else ["retrievePeripherals 0", *CHIME])
            [device] = map(json.loads, bonds("--json").splitlines())
            assert device["bonded"] is False
            word = f"{device['address']}-{device['addressType']}"
            assert bonds() == f"{word}  '{device['name']}', remembered, without a bond\n"
            assert bonds("--remove", device["address"].lower() if run == 1 else device["name"]) == f"{word}: removed\n"
            assert bonds() == ""
