"""The gateway with a real broker (mosquitto), a client of it (paho-mqtt), and devices on Bumble's host."""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import paho.mqtt.client as mqtt
import pytest
from bumble import att, hci
from bumble.core import UUID, AdvertisingData
from bumble.device import Device
from bumble.gatt import Characteristic, CharacteristicValue, Descriptor, Service
from bumble.transport import open_transport
from central import acknowledge_at_once
from programs import LIMIT, Program, product, reserved_port, until
from radios import ours

pytestmark = pytest.mark.early

ADDRESS = "C0:11:22:33:44:55"
# A random address; one without the suffix is a public one, and another device.
NAME = f"{ADDRESS}-random"
DEVICE = f"ble/devices/{NAME}"
TEMPERATURE = f"{DEVICE}/181A/2A6E"
OUTPUT = f"{DEVICE}/181A/FFE1"
SIGNALLING, COMMAND_REJECT = 5, 0x01
# 21.50 °C.
FIRST_VALUE = bytes([0x66, 0x08])


class Broker:
    """mosquitto on a port of its own. What it has for a client that is away outlives a stop."""

    def __init__(self, folder):
        self.folder = folder
        self.reservation = contextlib.ExitStack()
        self.port = self.reservation.enter_context(reserved_port())
        folder.mkdir()
        self.configuration = folder / "mosquitto.conf"
        self.configuration.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {folder}/\n"
            "max_queued_messages 0\nlog_type error\n" + (f"user {os.environ.get('USER', 'root')}\n" if os.geteuid() == 0 else "")
        )
        self.stack = contextlib.ExitStack()

    def start(self):
        binary = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
        program = self.stack.enter_context(Program([binary, "-c", self.configuration], self.folder / "mosquitto.log"))
        program.wait_for_port(self.port)

    def stop(self):
        self.stack.close()

    def forget(self):
        """Restarts without memory."""
        self.stop()
        (self.folder / "mosquitto.db").unlink()
        self.start()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *failure):
        self.stop()
        self.reservation.close()


class Client:
    """A client with a session that the broker keeps: it gets each message of QoS 1."""

    def __init__(self, broker, name="test"):
        self.messages = []
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=name, clean_session=False)
        self.client.reconnect_delay_set(1, 1)
        self.client.on_message = lambda client, data, message: self.messages.append(
            (message.topic, message.payload, message.retain)
        )
        self.client.on_connect = lambda client, *rest: client.subscribe("#", 1)
        self.client.connect("127.0.0.1", broker.port, keepalive=10)
        self.client.loop_start()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.client.disconnect()
        self.client.loop_stop()

    def publish(self, topic, payload="", retain=False):
        self.client.publish(topic, payload, qos=1, retain=retain).wait_for_publish(LIMIT)

    def of(self, topic):
        """The payloads of a topic as JSON, in their order."""
        return [json.loads(payload) for name, payload, _ in list(self.messages) if name == topic and payload]

    def retained(self):
        """What the broker had when the client subscribed, by topic."""
        return {topic: payload for topic, payload, isRetained in list(self.messages) if isRetained}

    async def wait(self, topic, accept=lambda message: True, after=0):
        """The first message of a topic after the first `after` ones that is accepted."""

        def why():
            return f"nothing on {topic}; {self.of(topic)[-3:]}; topics: {sorted({name for name, _, _ in self.messages})}"

        # A list, because a message may be an empty object.
        [message] = await until(lambda: [message for message in self.of(topic)[after:] if accept(message)][:1], why)
        return message

    async def ask(self, topic, operation, payload):
        """The result of a request."""
        before = len(self.of(f"{topic}/result"))
        self.publish(f"{topic}/{operation}", payload)
        return await self.wait(f"{topic}/result", after=before)


def rejected(connection):
    raise att.ATT_Error(error_code=att.ErrorCode.READ_NOT_PERMITTED)


@contextlib.asynccontextmanager
async def thermometer(transport, *services):
    """A device with a temperature that is notified, a characteristic that is written, and further services."""
    async with contextlib.AsyncExitStack() as stack:
        opened = await asyncio.wait_for(open_transport(transport), LIMIT)
        stack.push_async_callback(opened.close)
        acknowledge_at_once(opened)
        address = hci.Address(ADDRESS, hci.Address.RANDOM_DEVICE_ADDRESS)
        device = Device.with_hci("Thermometer", address, opened.source, opened.sink)
        device.written = []
        device.temperature = Characteristic(
            UUID.from_16_bits(0x2A6E), Characteristic.Properties.READ | Characteristic.Properties.NOTIFY,
            Characteristic.Permissions.READABLE, FIRST_VALUE,
        )
        output = Characteristic(
            UUID.from_16_bits(0xFFE1),
            Characteristic.Properties.WRITE | Characteristic.Properties.WRITE_WITHOUT_RESPONSE,
            Characteristic.Permissions.WRITEABLE,
            CharacteristicValue(read=rejected, write=lambda connection, value: device.written.append(bytes(value))),
        )
        for service in [Service(UUID.from_16_bits(0x181A), [device.temperature, output]), *services]:
            device.add_service(service)
        await asyncio.wait_for(device.power_on(), LIMIT)
        data = AdvertisingData(
            [
                (AdvertisingData.FLAGS, bytes([6])),
                (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, bytes([0x1A, 0x18])),
                (AdvertisingData.COMPLETE_LOCAL_NAME, b"Thermometer"),
            ]
        )
        await device.start_advertising(
            auto_restart=True, own_address_type=hci.OwnAddressType.RANDOM, advertising_data=bytes(data),
            advertising_interval_min=50, advertising_interval_max=50,
        )
        yield device


async def send_numbers(device, numbers):
    """Notifies numbers as temperatures, 21.50 °C is 2150, each when the gateway's host has received the one before."""
    [connection] = device.connections.values()
    rejects = asyncio.Queue()

    def received(handle, channel, pdu):
        if channel == SIGNALLING and pdu[0] == COMMAND_REJECT:
            rejects.put_nowait(pdu)

    device.host.on("l2cap_pdu", received)
    for number in numbers:
        await device.notify_subscribers(device.temperature, number.to_bytes(2, "little"))
        # An unknown command is answered (Vol 3, Part A, 4.1), after everything that was sent before it.
        connection.send_l2cap_pdu(SIGNALLING, bytes.fromhex("fe 07 0000"))
        await rejects.get()
    device.host.remove_listener("l2cap_pdu", received)


def numbers(client):
    """The notified numbers. The value that is read at the start of a connection is another one."""
    values = [bytes.fromhex(message["hex"]) for message in client.of(f"{TEMPERATURE}/value")]
    return [int.from_bytes(value, "little") for value in values if value != FIRST_VALUE]


def in_order(values):
    """Without the copies that QoS 1 allows: those of the messages that were on the way."""
    return list(dict.fromkeys(values))


def gateway(broker, radio, folder, *options, name="kitchen", log=None):
    identifier = ["--id", name] if name else []
    return Program(
        [*product("ble-gateway"), "--broker", f"127.0.0.1:{broker.port}", *identifier, "--transport", radio.transport, *options],
        folder / f"gateway-{log or name}.log",
    )


async def subscribed(device):
    # The client subscribes to Service Changed, too.
    await until(
        lambda: any(device.temperature.handle in handles for handles in device.gatt_server.subscribers.values()),
        "nobody has subscribed",
    )


@pytest.fixture
def broker(tmp_path):
    with Broker(tmp_path / "broker") as broker:
        yield broker


@pytest.fixture
def air(tmp_path):
    with ours("gateway", tmp_path) as radio:
        yield radio


async def test_values_advertisements_and_discovery_topics(broker, air, tmp_path):
    with Client(broker) as client, gateway(broker, air, tmp_path, "--subscribe", "Environmental Sensing/2A6E") as program:
        program.wait_for("READY")
        async with thermometer(air.transport) as device:
            await subscribed(device)
            # It is read once: a value that never changes is never notified.
            assert (await client.wait(f"{TEMPERATURE}/value"))["value"] == 21.5
            await send_numbers(device, [65516])
            value = await client.wait(f"{TEMPERATURE}/value", after=1)
            assert value["value"] == -0.2 and value["unit"] == "°C" and value["hex"] == "ecff"
            advertisement = await client.wait(f"{DEVICE}/advertisement")
            assert advertisement["name"] == "Thermometer" and advertisement["services"] == ["181A"]
            assert advertisement["gateway"] == "kitchen" and advertisement["rssi"] == -50
            assert (await client.wait(f"{DEVICE}/connection"))["state"] == "connected"
            sensor = await client.wait("homeassistant/sensor/ble_c01122334455_random_181a_2a6e/config")
            assert sensor["state_topic"] == f"{TEMPERATURE}/value" and sensor["device"]["name"] == "Thermometer"
            info = await client.wait("ble/gateways/kitchen/info", lambda info: info["connected"] == 1)
            assert info["lost"] == 0 and info["keptLimit"] == 10_000
        assert (await client.wait(f"{DEVICE}/connection", after=1))["state"] == "disconnected"
        # A client that comes later gets what is retained.
        with Client(broker, "late") as late:
            await late.wait("homeassistant/sensor/ble_c01122334455_random_181a_2a6e/config")
            assert ("ble/gateways/kitchen/status", b"online", True) in late.messages
        program.stop()
        offline, after = ("ble/gateways/kitchen/status", b"offline"), ("after", b"{}")
        await until(lambda: offline in [message[:2] for message in client.messages], lambda: client.messages[-3:])
        # It is the gateway's last message: what the client sends itself comes next.
        client.publish(*after)
        await client.wait("after")
        assert [message[:2] for message in client.messages[-2:]] == [offline, after]


async def test_reads_and_writes_by_topics(broker, air, tmp_path):
    with Client(broker) as client, gateway(broker, air, tmp_path) as program:
        program.wait_for("READY")
        async with thermometer(air.transport) as device:
            result = await client.ask(TEMPERATURE, "read", '{"id":"7"}')
            assert (result["operation"], result["id"], result["hex"], result["value"]) == ("read", "7", "6608", 21.5)
            assert (await client.wait(f"{TEMPERATURE}/value"))["value"] == 21.5
            assert "error" not in await client.ask(OUTPUT, "write", "01ff")
            assert "error" not in await client.ask(OUTPUT, "write", '{"text":"on","response":false}')
            # The second one has no response, so its result says that it was sent.
            await until(lambda: len(device.written) == 2, lambda: device.written)
            assert device.written == [b"\x01\xff", b"on"]
            for topic, operation, payload, kind in [
                (OUTPUT, "write", "0", "request"),
                (OUTPUT, "read", "", "device"),
                (TEMPERATURE, "write", "23", "request"),
                (f"{DEVICE}/181A/2A6F", "read", "", "notFound"),
                ("ble/devices/C0:00:00:00:00:01/181A/2A6E", "read", "", "notFound"),
            ]:
                error = (await client.ask(topic, operation, payload))["error"]
                assert error["kind"] == kind, error
                assert client.of(f"{topic}/result")[-1]["operation"] == operation
            client.publish(f"{DEVICE}/181A/Temperature/read")
            line = await asyncio.to_thread(program.wait_for, "a request is not performed")
            assert line.endswith("/181A/Temperature/read: 'Temperature' is not the UUID of a characteristic: write 2A6E")
            # Without subscriptions the connection ends when no request has come for 10 s.
            disconnected = await client.wait(f"{DEVICE}/connection", lambda message: message["state"] == "disconnected")
            assert "reason" not in disconnected
            assert (await client.ask(TEMPERATURE, "read", ""))["value"] == 21.5


def characteristic(number, value, *descriptors, properties=Characteristic.Properties.READ | Characteristic.Properties.NOTIFY):
    permissions = Characteristic.Permissions.READABLE
    return Characteristic(UUID.from_16_bits(number), properties, permissions, bytes([value]), list(descriptors))


def refusing_configuration():
    """A Client Characteristic Configuration that no client may write."""

    def refuse(connection, value):
        raise att.ATT_Error(error_code=att.ErrorCode.INSUFFICIENT_AUTHORIZATION)

    value = CharacteristicValue(read=lambda connection: bytes(2), write=refuse)
    return Descriptor(UUID.from_16_bits(0x2902), Descriptor.READABLE | Descriptor.WRITEABLE, value)


async def test_a_refused_subscription_ends_nothing_else(broker, air, tmp_path):
    refused = Service(UUID.from_16_bits(0xFFE0), [characteristic(0xFFE1, 0x17, refusing_configuration())])
    options = [word for name in ("FFE0/FFE1", "FFE0/FFE9", "181A/2A6E") for word in ("--subscribe", name)]
    with Client(broker) as client, gateway(broker, air, tmp_path, *options) as program:
        program.wait_for("READY")
        async with thermometer(air.transport, refused) as device:
            await subscribed(device)
            await send_numbers(device, range(10))
            await until(lambda: numbers(client) == list(range(10)), lambda: numbers(client))
            connection = await client.wait(f"{DEVICE}/connection", lambda message: "refused" in message)
            assert (connection["state"], connection["refused"]) == ("connected", ["FFE0/FFE1"])
            info = await client.wait("ble/gateways/kitchen/info", lambda info: info["refusedSubscriptions"] == 1)
            assert info["connected"] == 1
            # What it refuses to notify can be read.
            assert (await client.wait(f"{DEVICE}/FFE0/FFE1/value"))["hex"] == "17"
            assert (await client.ask(TEMPERATURE, "read", ""))["value"] == 21.5
            assert [message["state"] for message in client.of(f"{DEVICE}/connection")] == ["connected"] * 2
        lines = [line for line in program.output.splitlines() if "FFE0/FFE1" in line]
        assert len(lines) == 1 and "no subscription to FFE0/FFE1 on this connection: " in lines[0], lines
        assert "Insufficient Authorization (0x08)" in lines[0]
        assert "has no characteristic FFE0/FFE9" in program.output


async def test_each_characteristic_of_one_type_has_its_topics(broker, air, tmp_path):
    batteries = [Service(UUID.from_16_bits(0x180F), [characteristic(0x2A19, value) for value in values]) for values in [(90,), (50, 20)]]
    writable = Characteristic.Properties.READ | Characteristic.Properties.WRITE
    for service in batteries:
        service.characteristics[-1].properties |= writable
        service.characteristics[-1].permissions |= Characteristic.Permissions.WRITEABLE
    soil = Descriptor("2901", Descriptor.READABLE, b"Soil\0")
    batteries[1].characteristics[1].descriptors.append(soil)
    with Client(broker) as client, gateway(broker, air, tmp_path, "--subscribe", "181A/2A6E", "--subscribe", "180F/2A19") as program:
        program.wait_for("READY")
        async with thermometer(air.transport, *batteries) as device:
            for path, value in [("180F/2A19", 90), ("180F-2/2A19", 50), ("180F-2/2A19-2", 20)]:
                assert (await client.wait(f"{DEVICE}/{path}/value"))["value"] == value
                identifier = path.lower().replace("/", "_")
                sensor = await client.wait(f"homeassistant/sensor/ble_c01122334455_random_{identifier}/config")
                assert sensor["state_topic"] == f"{DEVICE}/{path}/value"
            assert sensor["name"] == "Battery Level (Soil)"
            last = batteries[1].characteristics[1]
            handles = device.gatt_server.subscribers
            await until(lambda: any(last.handle in subscribers for subscribers in handles.values()), "not subscribed")
            await device.notify_subscribers(last, bytes([19]))
            assert (await client.wait(f"{DEVICE}/180F-2/2A19-2/value", after=1))["value"] == 19
            assert (await client.ask(f"{DEVICE}/180F-2/2A19", "read", ""))["value"] == 50
            assert "error" not in await client.ask(f"{DEVICE}/180F-2/2A19-2", "write", "07")
            assert (await client.ask(f"{DEVICE}/180F-2/2A19-2", "read", ""))["value"] == 7
            assert (await client.ask(f"{DEVICE}/180F/2A19", "read", ""))["value"] == 90
            error = (await client.ask(f"{DEVICE}/180F-3/2A19", "read", ""))["error"]
            assert error["kind"] == "notFound" and "180F-3/2A19" in error["text"]


async def test_a_retained_request_is_not_performed(broker, air, tmp_path):
    with Client(broker) as client:
        client.publish(f"{OUTPUT}/write", "01", retain=True)
        client.publish(f"{TEMPERATURE}/read", '{"id":"1"}', retain=True)
        with gateway(broker, air, tmp_path) as program:
            program.wait_for("READY")
            async with thermometer(air.transport) as device:
                assert "error" not in await client.ask(OUTPUT, "write", "02")
                for topic in (f"{OUTPUT}/write", f"{TEMPERATURE}/read"):
                    line = f"a retained request is not performed: {topic}. Publish requests without RETAIN, and remove it: "
                    assert f"{line}mosquitto_pub -h 127.0.0.1 -r -n -t '{topic}'" in program.output
                # Removing it is no write of no octets.
                before = len(client.of(f"{OUTPUT}/result"))
                client.publish(f"{OUTPUT}/write", retain=True)
                error = (await client.wait(f"{OUTPUT}/result", after=before))["error"]
                assert error["kind"] == "request" and error["text"].startswith("the payload is empty"), error
                assert (await client.ask(TEMPERATURE, "read", '{"id":"2"}'))["id"] == "2"
                assert device.written == [b"\x02"]
                assert [answer["id"] for answer in client.of(f"{TEMPERATURE}/result")] == ["2"]


def state(payload):
    return json.loads(payload)["state"]


async def test_everything_retained_is_published_again(broker, air, tmp_path):
    """After a restart of the broker without memory, of Home Assistant, and of the gateway."""
    status, connection, value = "ble/gateways/kitchen/status", f"{DEVICE}/connection", f"{TEMPERATURE}/value"
    sensor = "homeassistant/sensor/ble_c01122334455_random_181a_2a6e/config"
    topics = {status, "ble/gateways/kitchen/info", connection, sensor, value}
    with Client(broker) as client, gateway(broker, air, tmp_path, "--subscribe", "181A/2A6E") as program:
        program.wait_for("READY")

        async def republished(before):
            new = lambda: {message[0] for message in client.messages[before:]}  # noqa: E731
            await until(lambda: topics <= new(), lambda: f"missing: {topics - new()}")

        async with thermometer(air.transport) as device:
            await subscribed(device)
            await republished(0)
            before = len(client.messages)
            await asyncio.to_thread(broker.forget)
            await republished(before)
            with Client(broker, "late") as late:
                await until(lambda: topics <= set(late.retained()), lambda: topics - set(late.retained()))
                kept = late.retained()
                assert kept[status] == b"online" and state(kept[connection]) == "connected"
                assert json.loads(kept[value])["value"] == 21.5
                assert json.loads(kept[sensor])["state_topic"] == value
                [gateway_status, link] = json.loads(kept[sensor])["availability"]
                assert (gateway_status["topic"], link["topic"]) == (status, connection)
            before = len(client.messages)
            client.publish("homeassistant/status", "online")
            await republished(before)
            # Killed, it cannot publish that the device is disconnected: the broker publishes its will.
            before = len(client.messages)
            program.process.kill()
            await until(lambda: (status, b"offline") in [it[:2] for it in client.messages[before:]], "no will")
        program.process.wait(LIMIT)
        with gateway(broker, air, tmp_path) as again:
            again.wait_for("READY")
            await until(
                lambda: [state(it[1]) for it in client.messages[before:] if it[0] == connection] == ["disconnected"],
                lambda: client.messages[before:],
            )


async def test_home_assistant_writes_what_can_be_written(broker, air, tmp_path):
    """As its documentation says: a number by its template, an option of a selection by its value."""
    properties = Characteristic.Properties.READ | Characteristic.Properties.WRITE
    setpoint = Characteristic(
        UUID.from_16_bits(0x2A6E), properties, Characteristic.Permissions.READABLE | Characteristic.Permissions.WRITEABLE, FIRST_VALUE
    )
    alerts = []
    alert = Characteristic(
        UUID.from_16_bits(0x2A06), Characteristic.Properties.WRITE_WITHOUT_RESPONSE, Characteristic.Permissions.WRITEABLE,
        CharacteristicValue(read=rejected, write=lambda connection, value: alerts.append(bytes(value))),
    )
    services = [Service(UUID.from_16_bits(0xFFE0), [setpoint]), Service(UUID.from_16_bits(0x1802), [alert])]
    options = [word for name in ("181A/2A6E", "FFE0/2A6E", "1802/2A06") for word in ("--subscribe", name)]
    with Client(broker) as client, gateway(broker, air, tmp_path, *options) as program:
        program.wait_for("READY")
        async with thermometer(air.transport, *services):
            number = await client.wait("homeassistant/number/ble_c01122334455_random_ffe0_2a6e/config")
            assert (await client.wait(number["state_topic"]))["value"] == 21.5
            client.publish(number["command_topic"], number["command_template"].replace("{{ value }}", "19.5"))
            # The device does not notify it.
            assert (await client.wait(number["state_topic"], after=1))["value"] == 19.5
            select = await client.wait("homeassistant/select/ble_c01122334455_random_1802_2a06/config")
            assert select["options"][2] == "High Alert" and "'High Alert':'02'" in select["command_template"]
            client.publish(select["command_topic"], "02")
            await until(lambda: alerts, "no alert")
            assert alerts == [b"\x02"]
        assert f"{NAME.split('-')[0]} (random): FFE0/2A6E has no notifications: its value is read once" in program.output
        assert "1802/2A06 has no notifications: it is only written" in program.output


async def test_nothing_is_lost_while_the_broker_is_away(broker, air, tmp_path):
    with Client(broker) as client, gateway(broker, air, tmp_path, "--subscribe", "181A/2A6E") as program:
        program.wait_for("READY")
        async with thermometer(air.transport) as device:
            await subscribed(device)
            sent = asyncio.create_task(send_numbers(device, range(200)))
            await until(lambda: len(numbers(client)) >= 50, lambda: f"{len(numbers(client))} numbers received")
            await asyncio.to_thread(broker.stop)
            await until(lambda: "no connection to the broker" in program.output, lambda: program.output)
            await sent
            await send_numbers(device, range(200, 300))
            sent = asyncio.create_task(send_numbers(device, range(300, 400)))
            broker.start()
            await sent
            await client.wait(f"{TEMPERATURE}/value", lambda value: value["hex"] == (399).to_bytes(2, "little").hex())
            assert in_order(numbers(client)) == list(range(400))
            assert client.of("ble/gateways/kitchen/lost") == []
        assert "no connection to the broker" in program.output


async def test_what_is_beyond_the_limit_is_counted(broker, air, tmp_path):
    options = ["--subscribe", "181A/2A6E", "--kept-values", 50]
    with Client(broker) as client, gateway(broker, air, tmp_path, *options) as program:
        program.wait_for("READY")
        async with thermometer(air.transport) as device:
            await subscribed(device)
            await send_numbers(device, range(20))
            await client.wait(f"{TEMPERATURE}/value", lambda value: value["hex"] == "1300")
            broker.stop()
            await until(lambda: "no connection to the broker" in program.output, lambda: program.output)
            await send_numbers(device, range(20, 320))
            broker.start()
            await client.wait(f"{TEMPERATURE}/value", lambda value: value["hex"] == (319).to_bytes(2, "little").hex())
            lost = sum(report["values"] for report in client.of("ble/gateways/kitchen/lost"))
            received = in_order(numbers(client))
            assert received == sorted(received)
            assert received[-40:] == list(range(280, 320))
            missing = 320 - len(received)
            gone = sorted(set(range(320)) - set(received))
            assert missing == lost and 245 <= missing <= 255, (lost, gone[:3], gone[-3:], received[15:30])
            info = await client.wait("ble/gateways/kitchen/info", lambda info: info["lost"] == lost)
            assert info["keptLimit"] == 50


async def test_the_gateway_that_hears_a_device_better_serves_it(broker, tmp_path):
    """Two places: the device is near to one gateway, and far from the other."""
    (tmp_path / "near").mkdir()
    (tmp_path / "far").mkdir()
    with contextlib.ExitStack() as stack:
        near = stack.enter_context(ours("near", tmp_path / "near", "--rssi", -40))
        far = stack.enter_context(ours("far", tmp_path / "far", "--rssi", -75))
        client = stack.enter_context(Client(broker))
        one = stack.enter_context(gateway(broker, far, tmp_path, name="attic"))
        other = stack.enter_context(gateway(broker, near, tmp_path, name="kitchen"))
        one.wait_for("READY")
        other.wait_for("READY")
        async with thermometer(near.transport), contextlib.AsyncExitStack() as devices:
            claims = [f"ble/claims/{NAME}/{name}" for name in ("attic", "kitchen")]
            serving = await client.wait(claims[1], lambda claim: claim["serves"])
            assert serving["rssi"] == -40
            # Only now: a gateway takes a device of which it has no other claim.
            await devices.enter_async_context(thermometer(far.transport))
            await client.wait(claims[0])
            # It decides every second, and publishes its claim again after ten.
            await client.wait(claims[0], after=1)
            assert client.of(claims[0])[-1] == {"rssi": -75, "serves": False, "connected": False}
            assert {message["gateway"] for message in client.of(f"{DEVICE}/advertisement")} == {"kitchen"}
            result = await client.ask(TEMPERATURE, "read", "")
            assert result["value"] == 21.5
            assert (await client.wait(f"{DEVICE}/connection"))["gateway"] == "kitchen"
            # It dies: the broker publishes its will, and the other one takes over.
            other.process.kill()
            taken = await client.wait(claims[0], lambda claim: claim["serves"])
            assert taken["rssi"] == -75
            assert len(client.of(f"{TEMPERATURE}/result")) == 1


async def test_the_gateway_that_takes_a_device_over_has_its_retained_messages(broker, tmp_path):
    """Home Assistant's birth message makes each gateway publish its own again, and no gateway those of another one."""
    for name in ("kitchen", "attic"):
        (tmp_path / name).mkdir()
    with contextlib.ExitStack() as stack:
        far = stack.enter_context(ours("kitchen", tmp_path / "kitchen", "--rssi", -75))
        near = stack.enter_context(ours("attic", tmp_path / "attic", "--rssi", -40))
        client = stack.enter_context(Client(broker))
        for name, radio in (("kitchen", far), ("attic", near)):
            stack.enter_context(gateway(broker, radio, tmp_path, "--subscribe", "181A/2A6E", name=name)).wait_for("READY")
        sensor = "homeassistant/sensor/ble_c01122334455_random_181a_2a6e/config"

        def served(name):
            return lambda message: message["availability"][0]["topic"] == f"ble/gateways/{name}/status"

        async with thermometer(far.transport):
            await client.wait(sensor, served("kitchen"))
        # Its connection has ended, so the one that receives the device better takes it over.
        async with thermometer(near.transport):
            await client.wait(sensor, served("attic"))
            claim, connection = f"ble/claims/{NAME}/kitchen", f"{DEVICE}/connection"
            await until(lambda: not client.of(claim)[-1]["serves"], lambda: client.of(claim)[-3:])
            # The one that has lost the link can be the last one to notice that.
            await client.wait(connection, lambda message: (message["gateway"], message["state"]) == ("kitchen", "disconnected"))
            await until(lambda: client.of(connection)[-1]["gateway"] == "attic", lambda: client.of(connection)[-3:])
            assert client.of(connection)[-1]["state"] == "connected"
            before = len(client.messages)

            async def born():
                """The birth message was handled: `status` is the first of what it makes a gateway publish."""
                known = len(client.messages)
                client.publish("homeassistant/status", "online")
                topics = {f"ble/gateways/{name}/status" for name in ("kitchen", "attic")}
                await until(lambda: topics <= {it[0] for it in client.messages[known:]}, "no status")

            await born()
            await born()
            again = client.messages[before:]
            announced = [json.loads(it[1]) for it in again if it[0] == sensor]
            assert announced and all(map(served("attic"), announced)), announced
            links = [json.loads(it[1]) for it in again if it[0] == connection]
            assert links and {link["gateway"] for link in links} == {"attic"}, links


def test_the_tool_starts_the_gateway(tmp_path):
    environment = {**os.environ, "PATH": f"{Path(product('ble-gateway')[0]).parent}:{os.environ['PATH']}"}
    command = [*product("ble"), "gateway", "--id", "kitchen"]
    done = subprocess.run([*command, "--check"], env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, done.stdout) == (0, "the configuration is valid\n"), done.stderr
    # Both programs have one declaration of the command line.
    for words in (command, product("ble-gateway")):
        done = subprocess.run([*words, "--brokr"], env=environment, capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 64 and "unknown option --brokr. Did you mean --broker?\nusage: ble" in done.stderr


def test_the_tool_has_the_help_of_a_gateway_that_is_not_installed(tmp_path):
    tool = shutil.copy(product("ble")[0], tmp_path / "ble")
    environment = {**os.environ, "PATH": "/nowhere"}
    done = subprocess.run([tool, "gateway", "--help"], env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0 and "usage: ble gateway [OPTIONS]" in done.stdout and "--broker HOST[:PORT]" in done.stdout
    done = subprocess.run([tool, "gateway", "--id", "a"], env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 69 and "ble-gateway is not installed" in done.stderr


def test_manual_page_and_completions_are_well_formed(tmp_path):
    def output(*words):
        return subprocess.run([*product("ble-gateway"), *words], capture_output=True, text=True, timeout=LIMIT, check=True).stdout

    for shell in ("zsh", "fish"):
        assert "kept-values" in output("--completions", shell)
    script = tmp_path / "gateway.bash"
    script.write_text(output("--completions", "bash"))
    complete = f"source {script}; COMP_WORDS=(ble-gateway --kep); COMP_CWORD=1; _ble_gateway; echo ${{COMPREPLY[@]}}"
    assert subprocess.run(["bash", "-c", complete], capture_output=True, text=True, check=True).stdout.strip() == "--kept-values"
    if shutil.which("groff"):
        page = output("--man")
        shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, check=True)
        assert shown.stderr == "" and "thermometers" in shown.stdout


async def test_of_two_gateways_with_one_name_one_ends(broker, tmp_path):
    """Two machines with one configuration: they would close each other's connections without end."""
    with contextlib.ExitStack() as stack:
        for name in ("one", "other"):
            (tmp_path / name).mkdir()
        radios = [stack.enter_context(ours(name, tmp_path / name)) for name in ("one", "other")]
        client = stack.enter_context(Client(broker))
        first = stack.enter_context(gateway(broker, radios[0], tmp_path, log="first"))
        first.wait_for("READY")
        await client.wait("ble/gateways/kitchen/info")
        second = stack.enter_context(gateway(broker, radios[1], tmp_path, log="second"))
        second.wait_for("READY")
        assert await asyncio.to_thread(first.wait_for_end, LIMIT) == 78, first.output
        assert first.output.splitlines()[-1] == (
            "ble-gateway: another gateway named 'kitchen' has connected to the broker 127.0.0.1. Give each gateway a name of "
            'its own: --id NAME, or "identifier" in the configuration'
        )
        # The other one is connected again, and is the one that clients see.
        await until(lambda: second.output.count("connected to the broker") >= 2, lambda: second.output)
        status = ("ble/gateways/kitchen/status", b"online")
        await until(lambda: [it[:2] for it in client.messages if it[0] == status[0]][-1] == status, lambda: client.messages[-5:])
        info = client.of("ble/gateways/kitchen/info")
        await client.wait("ble/gateways/kitchen/info", lambda message: message["instance"] == info[-1]["instance"] != info[0]["instance"])
        second.check_alive()


async def test_the_name_of_a_gateway_without_one_is_that_of_its_machine(broker, air, tmp_path):
    names = []
    for run in ("first", "second"):
        with Client(broker, run) as client, gateway(broker, air, tmp_path, name=None, log=run) as program:
            program.wait_for("READY")
            await until(lambda: [it for it in client.messages if it[0].endswith("/status") and it[1] == b"online"], "no status")
            names.append([it[0].split("/")[2] for it in client.messages if it[0].endswith("/status") and it[1] == b"online"][-1])
            program.stop()
    assert names[0] == names[1] and re.fullmatch(r"[0-9A-Za-z-]+-[0-9a-f]{6}", names[0]), names


async def test_the_end_of_the_gateway_is_no_failure(broker, air, tmp_path):
    with Client(broker) as client, gateway(broker, air, tmp_path, "--subscribe", "181A/2A6E") as program:
        program.wait_for("READY")
        async with thermometer(air.transport) as device:
            await subscribed(device)
            await client.wait(f"{DEVICE}/connection")
            await client.wait("ble/gateways/kitchen/info", lambda info: info["connected"] == 1)
            before = len(client.of("ble/gateways/kitchen/info"))
            program.process.send_signal(signal.SIGINT)
            assert await asyncio.to_thread(program.wait_for_end, LIMIT) == 0
        lines = program.output.splitlines()
        assert lines[-1] == f"ble-gateway: {ADDRESS} (random) is disconnected", lines
        assert "no connection" not in program.output
        assert "reason" not in await client.wait(f"{DEVICE}/connection", lambda message: message["state"] == "disconnected")
        # The last one is retained.
        await client.wait("ble/gateways/kitchen/info", lambda info: info["connected"] == 0, after=before)


@pytest.mark.slow
async def test_a_request_for_a_device_that_goes_away_is_answered(broker, air, tmp_path):
    """When nobody has received it for 30 seconds."""
    with Client(broker) as client, gateway(broker, air, tmp_path) as program:
        program.wait_for("READY")
        async with thermometer(air.transport):
            await client.wait(f"{DEVICE}/advertisement")
        # Before that time is over, the attempt to connect may have failed.
        while (error := (await client.ask(TEMPERATURE, "read", ""))["error"])["kind"] == "device":
            assert "cancelled" not in error["text"], error
        assert error["kind"] == "notFound", error
        assert error["text"] == f"no gateway receives {ADDRESS} (random). Is it switched on and near? Run: ble scan"


async def test_a_value_that_needs_a_pairing_has_the_command_in_the_log(broker, air, tmp_path, monkeypatch):
    """The command makes the bond in the gateway's file: its own would be of no use to the gateway."""
    description, bonds = tmp_path / "lock.json", tmp_path / "bonds.json"
    value = {"uuid": "2A6E", "properties": ["read", "notify"], "value": "21.5 °C", "security": "authenticated"}
    description.write_text(json.dumps({"name": "Lock", "services": [{"uuid": "181A", "characteristics": [value]}]}))
    transport = ["--transport", air.transport]
    with Program([*product("ble"), "serve", description, *transport], tmp_path / "serve.log") as server:
        address = re.search(r"([0-9A-F:]{17}) \(", server.wait_for("READY"))[1]
        # Not that of the device, too.
        monkeypatch.setenv("BLE_BONDS", str(bonds))
        with gateway(broker, air, tmp_path, "--subscribe", "181A/2A6E") as program:
            program.wait_for("READY")
            line = await asyncio.to_thread(program.wait_for, "181A/2A6E")
            command = f"BLE_BONDS={bonds} ble pair {address}-public --authenticated {' '.join(transport)}"
            assert line.endswith(f". Stop the gateway, run this command as its user, and start it again: {command}"), line


def test_a_broker_that_does_not_run_has_a_remedy(broker, air, tmp_path):
    broker.stop()
    with gateway(broker, air, tmp_path) as program:
        line = program.wait_for("no connection to the broker")
        assert line == (
            f"ble-gateway: no connection to the broker 127.0.0.1:{broker.port}: connection refused. Start a broker there, or give "
            "the address of another one: --broker HOST[:PORT]"
        )
        broker.start()
        program.wait_for("READY")
        assert program.output.count("no connection") == 1, program.output


def test_a_rejected_password_ends_the_gateway_with_a_remedy(air, tmp_path):
    broker = Broker(tmp_path / "broker")
    passwords = broker.folder / "passwords"
    passwords.touch()
    text = broker.configuration.read_text().replace("allow_anonymous true", f"allow_anonymous false\npassword_file {passwords}")
    broker.configuration.write_text(text)
    secret = Path(tmp_path / "secret")
    secret.write_text("wrong-password\n")
    secret.chmod(0o600)
    options = ["--username", "gateway", "--password-file", secret]
    with broker, gateway(broker, air, tmp_path, *options) as program:
        assert program.wait_for_end(LIMIT) == 69
        assert program.output.splitlines()[-1] == (
            f"ble-gateway: the broker 127.0.0.1:{broker.port} rejects the gateway: not authorized (code 5). Check the user name "
            "and the password file of the configuration"
        )
        assert "no connection" not in program.output and "wrong-password" not in program.output


@pytest.mark.parametrize(
    "mode, kind, reason",
    [
        (0o644, "file", "is refused, because its permissions are 0644: other users may have read or changed it. Make another "
         "secret, because others may have it, or run: chmod 600 '{secret}'"),
        (0o600, "link", "is refused, because it is a symbolic link"),
        (0o600, "none", ": there is no password file {secret}. Make one with: (umask 077; cat > '{secret}')"),
    ],
    ids=["open", "link", "missing"],
)  # fmt: skip
def test_a_password_file_that_is_not_private_is_refused(broker, air, tmp_path, mode, kind, reason):
    secret = Path(tmp_path / "secret")
    if kind != "none":
        target = tmp_path / "target" if kind == "link" else secret
        target.write_text("password\n")
        target.chmod(mode)
        if kind == "link":
            secret.symlink_to(target)
    with gateway(broker, air, tmp_path, "--username", "gateway", "--password-file", secret) as program:
        assert program.wait_for_end(LIMIT) == 66, program.output
        text = f"the password file {secret} {reason}" if kind != "none" else reason.removeprefix(": ")
        assert program.output == f"ble-gateway: {text.format(secret=secret)}\n"


def test_a_password_without_encryption_is_reported(air, tmp_path):
    """To this machine it is no matter. The name is that of another one (RFC 6761), which has no address."""
    secret = Path(tmp_path / "secret")
    secret.write_text("password\n")
    secret.chmod(0o600)
    words = ["--broker", "mqtt.invalid", "--username", "gateway", "--password-file", secret, "--transport", air.transport]
    with Program([*product("ble-gateway"), *words], tmp_path / "gateway.log") as program:
        line = program.wait_for("is sent without encryption")
        assert line == (
            "ble-gateway: the password for mqtt.invalid is sent without encryption: others in the network can read it. Use "
            "TLS: --ca-file FILE"
        )
        assert "no connection to the broker mqtt.invalid:1883: the name is unknown." in program.wait_for("no connection")
