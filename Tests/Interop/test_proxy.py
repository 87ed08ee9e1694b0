"""`ble proxy` with Home Assistant's own parts as its clients (aioesphomeapi, bleak-esphome, habluetooth), and Bumble's devices.

They run in an environment of their own: scripts/test proxy.
"""

import asyncio
import base64
import contextlib
import os
import re
import secrets

import bleak
import pytest
from aioesphomeapi import (
    APIConnectionError,
    BluetoothProxyFeature,
    EncryptionPlaintextAPIError,
    InvalidEncryptionKeyAPIError,
    RequiresEncryptionAPIError,
)
from bumble import att, hci
from bumble.device import Device, DeviceConfiguration
from bumble.gatt import Characteristic, CharacteristicValue, Descriptor, Service
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.transport import open_transport
from central import acknowledge_at_once
from home import Home, api
from programs import LIMIT, Program, product, until

pytestmark = pytest.mark.proxy

SERVICE = "7a3c0001-52d6-4c1e-9b0f-6d1e2f3a4b5c"
VALUE, LONG, COMMAND, COUNTER, SECRET = (f"7a3c{number:04x}-52d6-4c1e-9b0f-6d1e2f3a4b5c" for number in range(2, 7))
PASSKEY = 123456


class Lamp:
    """A device of Bumble's host."""

    def __init__(self, transport, name="Lamp"):
        self.spec, self.name = transport, name
        self.value, self.long, self.commands = b"off", bytes(range(256)) * 2, []

    async def __aenter__(self):
        async with contextlib.AsyncExitStack() as stack:
            transport = await asyncio.wait_for(open_transport(self.spec), LIMIT)
            stack.push_async_callback(transport.close)
            acknowledge_at_once(transport)
            self.address = hci.Address(secrets.token_bytes(5) + b"\xc7", hci.Address.RANDOM_DEVICE_ADDRESS)
            self.device = Device.from_config_with_hci(
                DeviceConfiguration(self.name, self.address), transport.source, transport.sink
            )
            self.device.pairing_config_factory = lambda _: PairingConfig(
                sc=True, mitm=True, bonding=True, delegate=Display(), identity_address_type=PairingConfig.AddressType.RANDOM
            )
            P, C = Characteristic.Properties, Characteristic
            self.counter = C(COUNTER, P.READ | P.NOTIFY, C.READABLE, b"\0", [Descriptor("2901", C.READABLE, b"Counter")])
            self.device.add_services([Service(SERVICE, [
                C(VALUE, P.READ | P.WRITE, C.READABLE | C.WRITEABLE, CharacteristicValue(
                    read=lambda _: self.value, write=lambda _, value: setattr(self, "value", value))),
                C(LONG, P.READ | P.WRITE, C.READABLE | C.WRITEABLE, CharacteristicValue(
                    read=lambda _: self.long, write=lambda _, value: setattr(self, "long", value))),
                C(COMMAND, P.WRITE_WITHOUT_RESPONSE, C.WRITEABLE, CharacteristicValue(
                    write=lambda _, value: self.commands.append(value))),
                self.counter,
                C(SECRET, P.READ, C.READABLE, CharacteristicValue(read=self.secret)),
            ])])
            await self.device.power_on()
            name = bytes([len(self.name) + 1, 0x09]) + self.name.encode()
            await self.device.start_advertising(
                advertising_data=b"\x02\x01\x06" + name, own_address_type=hci.OwnAddressType.RANDOM,
                advertising_interval_min=30, advertising_interval_max=30, auto_restart=True)
            self.stack = stack.pop_all()
        return self

    async def __aexit__(self, *failure):
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.stack.aclose(), LIMIT)

    def secret(self, connection):
        if connection is not None and not connection.encryption:
            raise att.ATT_Error(att.ErrorCode.INSUFFICIENT_AUTHENTICATION)
        return b"secret"

    async def count(self, number):
        await self.device.notify_subscribers(self.counter, bytes([number]))


class Display(PairingDelegate):
    """Shows its passkey."""

    def __init__(self):
        super().__init__(PairingDelegate.IoCapability.DISPLAY_OUTPUT_ONLY)

    async def generate_passkey(self):
        return PASSKEY


@pytest.fixture
def radio(tmp_path):
    """Gives the transport of a host for our tool, and that of Bumble."""
    with Program([*product("ble"), "radio", "--tcp", "0"], tmp_path / "radio.log") as program:
        program.transport = program.wait_for("READY").split()[1]
        program.client = program.transport
        yield program
        program.check_alive()


class Proxy(Program):
    def __init__(self, radio, folder, *options, number=0, key=None, transports=1):
        self.key = base64.b64encode(secrets.token_bytes(32)).decode() if key is None else key
        file = folder / f"proxy-{number}.key"
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as written:
            written.write(f"{self.key}\n")
        encryption = ["--key-file", file] if self.key else ["--plain-text"]
        transport = [word for _ in range(transports) for word in ("--transport", radio.transport)]
        super().__init__(
            [*product("ble"), "proxy", *transport, *encryption, "--listen", "127.0.0.1:0", *options],
            folder / f"proxy-{number}.log",
        )
        self.port = int(re.search(r":(\d+)", self.wait_for("READY").split()[1])[1])

    @property
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


@pytest.fixture
def proxy(radio, tmp_path):
    with Proxy(radio, tmp_path, "--pairing", str(PASSKEY)) as program:
        yield program
        program.check_alive()


def lamp(radio, name="Lamp"):
    return Lamp(radio.client, name)


async def free(data):
    device = data.bluetooth_device
    await until(lambda: device.ble_connections_free == device.ble_connections_limit, "a slot is lost")
    assert device.ble_allocations == []


async def test_bleak_reads_writes_and_subscribes_through_the_proxy(radio, proxy):
    async with lamp(radio) as device, Home() as home:
        data = await home.add(proxy)
        async with home.link("Lamp") as link:
            assert data.bluetooth_device.ble_connections_free == data.bluetooth_device.ble_connections_limit - 1
            assert await link.read_gatt_char(VALUE) == b"off"
            await link.write_gatt_char(VALUE, b"on", response=True)
            assert device.value == b"on" and await link.read_gatt_char(VALUE) == b"on"
            assert await link.read_gatt_char(LONG) == device.long
            await link.write_gatt_char(LONG, bytes(range(255, -1, -1)) * 2, response=True)
            assert device.long == bytes(range(255, -1, -1)) * 2
            for number in range(20):
                await link.write_gatt_char(COMMAND, bytes([number]), response=False)
            await until(lambda: device.commands == [bytes([n]) for n in range(20)], lambda: device.commands)
            [descriptor] = [d for d in link.services.get_characteristic(COUNTER).descriptors if d.uuid.startswith("00002901")]
            assert await link.read_gatt_descriptor(descriptor.handle) == b"Counter"

            values = []
            await link.start_notify(COUNTER, lambda _, value: values.append(value[0]))
            for number in range(100):
                await device.count(number)
            await until(lambda: values == list(range(100)), lambda: values)
            await link.stop_notify(COUNTER)
            await device.count(200)
            assert await link.read_gatt_char(VALUE) == b"on"
            assert values == list(range(100))
        await free(data)


async def test_a_device_pairs_with_its_passkey_and_is_unpaired(radio, proxy):
    async with lamp(radio), Home() as home:
        data = await home.add(proxy)
        async with home.link("Lamp") as link:
            await link.pair()
            assert await link.read_gatt_char(SECRET) == b"secret"
        # The bond is used by the next link.
        async with home.link("Lamp") as link:
            assert await link.read_gatt_char(SECRET) == b"secret"
            await link.unpair()
        await free(data)


async def test_services_are_cached_and_the_cache_is_cleared(radio, proxy):
    async with lamp(radio) as device, Home() as home:
        data = await home.add(proxy)
        for _ in range(2):
            async with home.link("Lamp") as link:
                assert await link.read_gatt_char(VALUE) == b"off"
                # The link has the class of bleak-esphome behind habluetooth's wrapper.
                assert (await data.client.bluetooth_device_clear_cache(address(device))).success
        await free(data)


async def test_connection_parameters_are_set(radio, proxy):
    async with lamp(radio) as device, Home() as home:
        data = await home.add(proxy)
        async with home.link("Lamp"):
            answer = await data.client.bluetooth_set_connection_params(address(device), 40, 40, 2, 400)
            assert answer.error == 0
            connection = next(iter(device.device.connections.values()))
            await until(lambda: connection.parameters.peripheral_latency == 2, lambda: connection.parameters)


def address(device):
    return int(str(device.address).split("/")[0].replace(":", ""), 16)


async def test_the_device_information_has_all_features(radio, proxy):
    client = api(proxy)
    await client.connect(login=True)
    info = await client.device_info()
    assert BluetoothProxyFeature(info.bluetooth_proxy_feature_flags) == BluetoothProxyFeature(0xFF)
    assert info.api_encryption_supported and info.bluetooth_mac_address
    entities, services = await client.list_entities_services()
    assert len(entities) == 2 and services == []
    states = []
    client.subscribe_states(states.append)
    await until(lambda: any(state.state == 0 for state in states), lambda: states)
    await client.disconnect()


async def test_the_mode_of_the_scanner_is_reported_and_set(radio, proxy):
    async with lamp(radio), Home() as home:
        data = await home.add(proxy)
        states = []
        data.client.subscribe_bluetooth_scanner_state(lambda state: states.append((int(state.state), int(state.mode))))
        data.client.bluetooth_scanner_set_mode(0)
        await until(lambda: (2, 0) in states, lambda: states)
        data.client.bluetooth_scanner_set_mode(1)
        await until(lambda: states and states[-1] == (2, 1), lambda: states)


# Clients that should not be there


async def refused(proxy, error, key):
    client = api(proxy, key)
    with pytest.raises(error):
        await client.connect(login=True)


async def test_clients_without_the_key_are_refused_and_disturb_nobody(radio, proxy):
    async with lamp(radio), Home() as home:
        data = await home.add(proxy)
        async with home.link("Lamp") as link:
            descriptors = proxy.descriptors
            for _ in range(5):
                await refused(proxy, InvalidEncryptionKeyAPIError, base64.b64encode(secrets.token_bytes(32)).decode())
                await refused(proxy, RequiresEncryptionAPIError, "")
                assert await link.read_gatt_char(VALUE) == b"off"
            await until(lambda: proxy.descriptors == descriptors, "a descriptor is lost")
        await free(data)


async def test_an_encrypted_client_of_a_proxy_in_plain_text_is_told_so(radio, tmp_path):
    with Proxy(radio, tmp_path, key="") as proxy:
        await refused(proxy, EncryptionPlaintextAPIError, base64.b64encode(bytes(32)).decode())
        client = api(proxy, "")
        await client.connect(login=True)
        assert not (await client.device_info()).api_encryption_supported
        await client.disconnect()


@pytest.mark.parametrize("octets", [
    b"GET / HTTP/1.1\r\n\r\n", b"\x00\x00\x01", b"\x01\x00\x00\x01\x00\x00", b"\x01\xff\xff", b"\x01\x00\x00\x01\x00\x31\x00" + bytes(48),
    b"\x01\x00\x00\x01\x00\x05hello", b"\x01\x00\x00\x01\x01\x00",
])
async def test_other_octets_get_a_short_answer_and_the_end(radio, proxy, octets):
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(octets)
    answer = await reader.read()
    assert len(answer) < 100
    writer.close()
    client = api(proxy)
    await client.connect(login=True)
    await client.disconnect()


async def test_a_recorded_conversation_opens_nothing(radio, proxy):
    """Everything that a client has sent, a second time."""
    recorded = bytearray()

    async def relay(reader, writer):
        upstream, sink = await asyncio.open_connection("127.0.0.1", proxy.port)

        async def copy(source, target, record=None):
            while data := await source.read(4096):
                if record is not None:
                    record += data
                target.write(data)
            target.close()

        await asyncio.gather(copy(reader, sink, recorded), copy(upstream, writer))

    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    client = api(proxy)
    client._params.addresses[:] = ["127.0.0.1"]
    client._params.port = server.sockets[0].getsockname()[1]
    await client.connect(login=True)
    await client.device_info()
    await client.disconnect()
    server.close()

    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(recorded)
    # The server's hello and its half of a handshake; nothing that is encrypted.
    answer = await reader.read()
    sizes = []
    while answer:
        size = int.from_bytes(answer[1:3], "big")
        sizes.append(size)
        answer = answer[3 + size:]
    assert len(sizes) == 2 and sizes[1] == 49
    writer.close()


# Slots


async def test_no_slot_is_lost_when_a_client_or_a_device_is_gone(radio, proxy):
    async with Home() as home:
        data = await home.add(proxy)
        descriptors = proxy.descriptors
        for round in range(5):
            async with lamp(radio, f"Lamp {round}") as device:
                other = api(proxy)
                await other.connect(login=True)
                connected = asyncio.get_running_loop().create_future()
                # The address is known to this client only because it is told.
                await other.bluetooth_device_connect(
                    address(device), lambda up, mtu, error: connected.done() or connected.set_result((up, error)),
                    feature_flags=0xFF, has_cache=False, address_type=1)
                assert await connected == (True, 0)
                await until(lambda: address(device) in data.bluetooth_device.ble_allocations, "no allocation is reported")
                if round % 2:
                    await device.__aexit__()
                    await free(data)
                    await other.disconnect()
                else:
                    # The socket is closed without a goodbye.
                    other._connection._frame_helper._transport.abort()
                    await free(data)
        await until(lambda: proxy.descriptors == descriptors, "a descriptor is lost")


async def test_twenty_devices_at_once_on_two_adapters(radio, tmp_path):
    names = [f"Lamp {number}" for number in range(20)]
    async with contextlib.AsyncExitStack() as stack:
        home = await stack.enter_async_context(Home())
        proxy = stack.enter_context(Proxy(radio, tmp_path, transports=2))
        data = await home.add(proxy)
        await asyncio.gather(*(stack.enter_async_context(lamp(radio, name)) for name in names))
        links = await asyncio.gather(*(stack.enter_async_context(home.link(name)) for name in names))
        assert await asyncio.gather(*(link.read_gatt_char(VALUE) for link in links)) == [b"off"] * 20
        assert len(data.bluetooth_device.ble_allocations) == 20
        for link in links:
            await link.disconnect()
        await free(data)
