"""The gateway with a real broker (mosquitto), a client of it (paho-mqtt), and devices on Bumble's host."""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import paho.mqtt.client as mqtt
import pytest
from bumble import att, hci
from bumble.core import UUID, AdvertisingData
from bumble.device import Device
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.transport import open_transport
from central import LINK, acknowledge_at_once
from programs import ROOT, Program, free_ports, product
from radios import ours

ADDRESS = "C0:11:22:33:44:55"
DEVICE = f"ble/devices/{ADDRESS}"
TEMPERATURE = f"{DEVICE}/181A/2A6E"
OUTPUT = f"{DEVICE}/181A/FFE1"
WAIT = 20.0


def gateway_program():
    path = ROOT / "Gateway/.build/debug/ble-gateway"
    assert path.exists(), f"{path} is missing: make gateway builds it (make test does)"
    return path


class Broker:
    """mosquitto on a port of its own. What it has for a client that is away outlives a stop."""

    def __init__(self, folder):
        self.folder = folder
        [self.port] = free_ports(1)
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

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *failure):
        self.stop()


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

    def publish(self, topic, payload=""):
        self.client.publish(topic, payload, qos=1).wait_for_publish(WAIT)

    def of(self, topic):
        """The payloads of a topic as JSON, in their order."""
        return [json.loads(payload) for name, payload, _ in list(self.messages) if name == topic and payload]

    async def wait(self, topic, accept=lambda message: True, after=0):
        """The first message of a topic after the first `after` ones that is accepted."""
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            for message in self.of(topic)[after:]:
                if accept(message):
                    return message
            await asyncio.sleep(0.05)
        seen = sorted({name for name, _, _ in self.messages})
        raise AssertionError(f"nothing on {topic} in {WAIT:g} s; {self.of(topic)[-3:]}; topics: {seen}")

    async def ask(self, topic, operation, payload):
        """The result of a request."""
        before = len(self.of(f"{topic}/result"))
        self.publish(f"{topic}/{operation}", payload)
        return await self.wait(f"{topic}/result", after=before)


def rejected(connection):
    raise att.ATT_Error(error_code=att.ErrorCode.READ_NOT_PERMITTED)


@contextlib.asynccontextmanager
async def thermometer(transport):
    """A device with a temperature that is notified, and a characteristic that is written."""
    async with contextlib.AsyncExitStack() as stack:
        opened = await asyncio.wait_for(open_transport(transport), LINK)
        stack.push_async_callback(opened.close)
        acknowledge_at_once(opened)
        address = hci.Address(ADDRESS, hci.Address.RANDOM_DEVICE_ADDRESS)
        device = Device.with_hci("Thermometer", address, opened.source, opened.sink)
        device.written = []
        device.temperature = Characteristic(
            UUID.from_16_bits(0x2A6E), Characteristic.Properties.READ | Characteristic.Properties.NOTIFY,
            Characteristic.Permissions.READABLE, bytes([0x66, 0x08]),
        )
        output = Characteristic(
            UUID.from_16_bits(0xFFE1),
            Characteristic.Properties.WRITE | Characteristic.Properties.WRITE_WITHOUT_RESPONSE,
            Characteristic.Permissions.WRITEABLE,
            CharacteristicValue(read=rejected, write=lambda connection, value: device.written.append(bytes(value))),
        )
        device.add_service(Service(UUID.from_16_bits(0x181A), [device.temperature, output]))
        await asyncio.wait_for(device.power_on(), LINK)
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


async def send_numbers(device, numbers, interval=0.02):
    """Notifies numbers as temperatures: 21.50 °C is 2150."""
    for number in numbers:
        await device.notify_subscribers(device.temperature, number.to_bytes(2, "little"))
        await asyncio.sleep(interval)


def numbers(client):
    return [int.from_bytes(bytes.fromhex(message["hex"]), "little") for message in client.of(f"{TEMPERATURE}/value")]


def in_order(values):
    """Without the copies that QoS 1 allows: those of the messages that were on the way."""
    return list(dict.fromkeys(values))


def gateway(broker, radio, folder, *options, name="kitchen"):
    return Program(
        [gateway_program(), "--broker", f"127.0.0.1:{broker.port}", "--id", name, "--transport", radio.transport, *options],
        folder / f"gateway-{name}.log",
    )


async def subscribed(device):
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        # The client subscribes to Service Changed, too.
        if any(device.temperature.handle in handles for handles in device.gatt_server.subscribers.values()):
            return
        await asyncio.sleep(0.05)
    raise AssertionError("nobody has subscribed")


@pytest.fixture
def broker(tmp_path):
    with Broker(tmp_path / "broker") as broker:
        yield broker


@pytest.fixture
def air(tmp_path):
    with ours("gateway", tmp_path) as radio:
        yield radio


async def test_values_advertisements_and_discovery_topics(broker, air, tmp_path):
    with Client(broker) as client, gateway(broker, air, tmp_path, "--subscribe", "181A/2A6E") as program:
        program.wait_for("READY")
        async with thermometer(air.transport) as device:
            await subscribed(device)
            await send_numbers(device, [2150, 65516])
            value = await client.wait(f"{TEMPERATURE}/value", after=1)
            assert value["value"] == -0.2 and value["unit"] == "°C" and value["hex"] == "ecff"
            assert client.of(f"{TEMPERATURE}/value")[0]["value"] == 21.5
            advertisement = await client.wait(f"{DEVICE}/advertisement")
            assert advertisement["name"] == "Thermometer" and advertisement["services"] == ["181A"]
            assert advertisement["gateway"] == "kitchen" and advertisement["rssi"] == -50
            assert (await client.wait(f"{DEVICE}/connection"))["state"] == "connected"
            sensor = await client.wait("homeassistant/sensor/ble_c01122334455_181a_2a6e/config")
            assert sensor["state_topic"] == f"{TEMPERATURE}/value" and sensor["device"]["name"] == "Thermometer"
            info = await client.wait("ble/gateways/kitchen/info", lambda info: info["connected"] == 1)
            assert info["lost"] == 0 and info["keptLimit"] == 10_000
        assert (await client.wait(f"{DEVICE}/connection", after=1))["state"] == "disconnected"
        # A client that comes later gets what is retained.
        with Client(broker, "late") as late:
            await late.wait("homeassistant/sensor/ble_c01122334455_181a_2a6e/config")
            assert ("ble/gateways/kitchen/status", b"online", True) in late.messages
        program.stop()
        await asyncio.sleep(0.5)
        assert client.messages[-1][:2] == ("ble/gateways/kitchen/status", b"offline")


async def test_reads_and_writes_by_topics(broker, air, tmp_path):
    with Client(broker) as client, gateway(broker, air, tmp_path) as program:
        program.wait_for("READY")
        async with thermometer(air.transport) as device:
            result = await client.ask(TEMPERATURE, "read", '{"id":"7"}')
            assert (result["operation"], result["id"], result["hex"], result["value"]) == ("read", "7", "6608", 21.5)
            assert (await client.wait(f"{TEMPERATURE}/value"))["value"] == 21.5
            assert "error" not in await client.ask(OUTPUT, "write", "01ff")
            assert "error" not in await client.ask(OUTPUT, "write", '{"text":"on","response":false}')
            assert device.written == [b"\x01\xff", b"on"]
            for topic, operation, payload, kind in [
                (OUTPUT, "write", "0", "request"),
                (OUTPUT, "read", "", "device"),
                (f"{DEVICE}/181A/2A6F", "read", "", "notFound"),
                ("ble/devices/C0:00:00:00:00:01/181A/2A6E", "read", "", "notFound"),
            ]:
                error = (await client.ask(topic, operation, payload))["error"]
                assert error["kind"] == kind, error
                assert client.of(f"{topic}/result")[-1]["operation"] == operation
            # Without subscriptions the connection ends when no request has come for 10 s.
            disconnected = await client.wait(f"{DEVICE}/connection", lambda message: message["state"] == "disconnected")
            assert "reason" not in disconnected
            assert (await client.ask(TEMPERATURE, "read", ""))["value"] == 21.5


@pytest.mark.limit(120)
async def test_nothing_is_lost_while_the_broker_is_away(broker, air, tmp_path):
    with Client(broker) as client, gateway(broker, air, tmp_path, "--subscribe", "181A/2A6E") as program:
        program.wait_for("READY")
        async with thermometer(air.transport) as device:
            await subscribed(device)
            sent = asyncio.create_task(send_numbers(device, range(400)))
            await asyncio.sleep(2)
            broker.stop()
            await asyncio.sleep(4)
            broker.start()
            await sent
            await client.wait(f"{TEMPERATURE}/value", lambda value: value["hex"] == (399).to_bytes(2, "little").hex())
            assert in_order(numbers(client)) == list(range(400))
            assert client.of("ble/gateways/kitchen/lost") == []
        assert "no connection to the broker" in program.output


@pytest.mark.limit(120)
async def test_what_is_beyond_the_limit_is_counted(broker, air, tmp_path):
    options = ["--subscribe", "181A/2A6E", "--kept-values", 50]
    with Client(broker) as client, gateway(broker, air, tmp_path, *options) as program:
        program.wait_for("READY")
        async with thermometer(air.transport) as device:
            await subscribed(device)
            await send_numbers(device, range(20))
            await client.wait(f"{TEMPERATURE}/value", lambda value: value["hex"] == "1300")
            broker.stop()
            await asyncio.sleep(0.5)
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
        async with thermometer(near.transport), thermometer(far.transport):
            claims = [f"ble/claims/{ADDRESS}/{name}" for name in ("attic", "kitchen")]
            await client.wait(claims[0])
            serving = await client.wait(claims[1], lambda claim: claim["serves"])
            assert serving["rssi"] == -40
            await asyncio.sleep(3)
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


def test_the_tool_starts_the_gateway(tmp_path):
    environment = {**os.environ, "PATH": f"{gateway_program().parent}:{os.environ['PATH']}"}
    command = [*product("ble"), "gateway", "--id", "kitchen"]
    done = subprocess.run([*command, "--check"], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "the configuration is valid\n"), done.stderr
    done = subprocess.run([*command, "--brokr"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 78 and "unknown option '--brokr'" in done.stderr


def test_a_rejected_password_ends_the_gateway_with_a_remedy(air, tmp_path):
    broker = Broker(tmp_path / "broker")
    passwords = broker.folder / "passwords"
    passwords.touch()
    text = broker.configuration.read_text().replace("allow_anonymous true", f"allow_anonymous false\npassword_file {passwords}")
    broker.configuration.write_text(text)
    secret = Path(tmp_path / "secret")
    secret.write_text("wrong-password\n")
    secret.chmod(0o644)
    options = ["--username", "gateway", "--password-file", secret]
    with broker, gateway(broker, air, tmp_path, *options) as program:
        assert program.wait_for_end(WAIT) == 69
        assert "rejects the gateway" in program.output and "Check the user name" in program.output
        assert f"Run: chmod 600 {secret}" in program.output
        assert "wrong-password" not in program.output
