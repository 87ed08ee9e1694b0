"""Programs written as for Apple's systems, a process on each of two adapters of the kernel: the delegate calls of both sides."""

from pathlib import Path

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

pytestmark = pytest.mark.newer


@pytest.fixture
def homes(request):
    """Not among the logs, whose folder may belong to another user: bonds are root's here."""
    folder = Path("/run/homes") / request.node.name
    folder.mkdir(parents=True)
    return folder


def test_a_sensor_is_read_and_read_again(controllers, logs, homes):
    """By the same process, and by one that has only the identifier and the bond."""
    with AppleProgram("room-sensor", "linux:hci0", homes, logs=logs) as sensor:
        sensor.wait_for(SENSOR_STARTS[-1])
        with AppleProgram("room-reader", "linux:hci1", homes, logs=logs) as reader:
            assert reader.wait_for_end() == 0, reader.output + sensor.output
        check(reader, READER_FINDS + READER_READS + READER_READS_AGAIN)
        check(sensor, SENSOR_STARTS + SENSOR_IS_READ + SENSOR_IS_READ_AGAIN)
        with AppleProgram("room-reader", "linux:hci1", homes, "again", logs=logs) as reader:
            assert reader.wait_for_end() == 0, reader.output + sensor.output
        check(reader, READER_FINDS[:1] + READER_READS_AGAIN)
        check(sensor, SENSOR_STARTS + SENSOR_IS_READ + 2 * SENSOR_IS_READ_AGAIN)


def test_a_service_is_removed_and_added_again_under_its_subscriber(controllers, logs, homes):
    with AppleProgram("hello", "linux:hci0", homes, logs=logs) as hello:
        hello.wait_for(HELLO_STARTS[-1])
        with AppleProgram("hello-reader", "linux:hci1", homes, logs=logs) as reader:
            assert reader.wait_for_end() == 0, reader.output + hello.output
        check(reader, HELLO_READER)
        check(hello, HELLO_STARTS + HELLO_GREETS)
