"""What clients of the broker can make the gateway keep, at its limits (Docs/ThreatModel.md)."""

import asyncio
import json
from collections import Counter

import pytest
from bumble.core import UUID
from bumble.gatt import Characteristic, CharacteristicValue, Service
from programs import until
from radios import ours
from test_gateway import DEVICE, Broker, Client, gateway, thermometer

pytestmark = pytest.mark.early

WAITING_REQUESTS = 64
GATEWAYS = 256
SLOW = f"{DEVICE}/FFE0/FFE2"
ABSENT = "ble/devices/C0:00:00:00:00:01/181A/2A6E"


@pytest.fixture
def broker(tmp_path):
    with Broker(tmp_path / "broker") as broker:
        yield broker


@pytest.fixture
def air(tmp_path):
    with ours("gateway", tmp_path) as radio:
        yield radio


def request_all(client, topic, count):
    """Publishes read requests, one right after the other."""
    for number in range(count):
        client.client.publish(f"{topic}/read", json.dumps({"id": str(number)}), qos=1)


async def results(client, topic, count):
    """How often each kind of result was published for a topic, when there are so many results."""
    await until(lambda: len(client.of(f"{topic}/result")) >= count, lambda: len(client.of(f"{topic}/result")))
    found = client.of(f"{topic}/result")
    assert sorted(int(result["id"]) for result in found) == list(range(count)), "each request has one result"
    return Counter(result["error"]["kind"] if "error" in result else "value" for result in found)


async def test_requests_for_a_device_that_does_not_answer_are_limited(broker, air, tmp_path):
    goes_on = asyncio.Event()

    async def value(connection):
        await goes_on.wait()
        return b"\x17"

    slow = Characteristic(
        UUID.from_16_bits(0xFFE2), Characteristic.Properties.READ, Characteristic.Permissions.READABLE, CharacteristicValue(read=value)
    )
    with Client(broker) as client, gateway(broker, air, tmp_path) as program:
        program.wait_for("READY")
        async with thermometer(air.transport, Service(UUID.from_16_bits(0xFFE0), [slow])):
            await client.wait(f"{DEVICE}/advertisement")
            count = WAITING_REQUESTS + 40
            request_all(client, SLOW, count)
            # One may have begun.
            await until(lambda: len(client.of(f"{SLOW}/result")) >= count - WAITING_REQUESTS - 1, "no request is rejected")
            goes_on.set()
            found = await results(client, SLOW, count)
            assert found["busy"] in (count - WAITING_REQUESTS, count - WAITING_REQUESTS - 1) and found["value"] == count - found["busy"], found


async def test_requests_for_devices_that_nobody_receives_are_limited(broker, air, tmp_path):
    with Client(broker) as client, gateway(broker, air, tmp_path) as program:
        program.wait_for("READY")
        count = 20 * WAITING_REQUESTS
        request_all(client, ABSENT, count)
        found = await results(client, ABSENT, count)
        # Those that wait are answered after five seconds; others may have taken their places meanwhile.
        assert found["busy"] > 0 and found["notFound"] >= WAITING_REQUESTS and found.total() == count, found


async def test_names_of_gateways_are_limited(broker, air, tmp_path):
    """The first of the gateways by name answers for devices that none receives; one past the limit is not among them."""
    with Client(broker) as client, gateway(broker, air, tmp_path) as program:
        program.wait_for("READY")
        for number in range(GATEWAYS):
            client.client.publish(f"ble/gateways/other-{number:03}/status", "online", qos=1)
        client.publish("ble/gateways/attic/status", "online")
        assert (await client.ask(ABSENT, "read", ""))["error"]["kind"] == "notFound"
