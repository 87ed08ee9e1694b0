"""Programs written as for Apple's systems, two processes on one radio: the delegate calls of both sides, in their order."""

import pytest
from apple_programs import (
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
from radios import RADIOS, parameters


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
