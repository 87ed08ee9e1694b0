"""`ble proxy` with Home Assistant's own parts as its clients (aioesphomeapi, bleak-esphome, habluetooth), and Bumble's devices.

They run in an environment of their own: scripts/test proxy.
"""

import asyncio
import base64
import contextlib
import os
import re
import secrets
import signal

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
from bumble.device import AdvertisingEventProperties, AdvertisingParameters, Device, DeviceConfiguration
from bumble.gatt import Characteristic, CharacteristicValue, Descriptor, Service
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.transport import open_transport
from central import acknowledge_at_once
from home import Home, api
from programs import LIMIT, Program, Terminal, product, until, wait_until

pytestmark = pytest.mark.proxy

SERVICE = "7a3c0001-52d6-4c1e-9b0f-6d1e2f3a4b5c"
VALUE, LONG, COMMAND, COUNTER, SECRET = (f"7a3c{number:04x}-52d6-4c1e-9b0f-6d1e2f3a4b5c" for number in range(2, 7))
PASSKEY = 123456
READ_BY_GROUP_TYPE = 0x10


class Lamp:
    """A device of Bumble's host."""

    def __init__(self, transport, name="Lamp", delegate=None, address=None, identity="RANDOM"):
        self.spec, self.name, self.delegate, self.address = transport, name, delegate or Display(), address
        self.identity = PairingConfig.AddressType[identity]
        self.value, self.long, self.commands = b"off", bytes(range(256)) * 2, []

    async def __aenter__(self):
        async with contextlib.AsyncExitStack() as stack:
            transport = self.transport = await asyncio.wait_for(open_transport(self.spec), LIMIT)
            stack.push_async_callback(transport.close)
            acknowledge_at_once(transport)
            if self.address is None:
                self.address = hci.Address(secrets.token_bytes(5) + b"\xc7", hci.Address.RANDOM_DEVICE_ADDRESS)
            self.device = Device.from_config_with_hci(
                DeviceConfiguration(self.name, self.address), transport.source, transport.sink
            )
            self.device.pairing_config_factory = lambda _: PairingConfig(
                sc=True, mitm=True, bonding=True, delegate=self.delegate, identity_address_type=self.identity
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


class Comparison(PairingDelegate):
    """Shows a number, and has keys for yes and no."""

    def __init__(self):
        super().__init__(PairingDelegate.IoCapability.DISPLAY_OUTPUT_AND_YES_NO_INPUT)
        self.numbers = []

    async def compare_numbers(self, number, digits):
        self.numbers.append(f"{number:0{digits}}")
        return True


class Keyboard(PairingDelegate):
    """Has keys for digits."""

    def __init__(self):
        super().__init__(PairingDelegate.IoCapability.KEYBOARD_INPUT_ONLY)
        self.entered = asyncio.Future()

    async def get_number(self):
        return await self.entered


@pytest.fixture
def radio(tmp_path):
    """A radio with two endpoints: a second adapter of one program needs another transport."""
    with Program([*product("ble"), "radio", "--tcp", "0", "--tcp", "0"], tmp_path / "radio.log") as program:
        def ready():
            found = re.findall(r"READY (\S+)\n", program.output)
            return len(found) == 2 and found

        program.transports = wait_until(ready, "the radio is not ready")
        program.transport = program.transports[0]
        yield program
        program.check_alive()


class Proxy(Program):
    def __init__(self, radio, folder, *options, number=0, key=None, adapters=1):
        self.key = base64.b64encode(secrets.token_bytes(32)).decode() if key is None else key
        file = folder / f"proxy-{number}.key"
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as written:
            written.write(f"{self.key}\n")
        encryption = ["--key-file", file] if self.key else ["--plain-text"]
        transport = [word for spec in radio.transports[:adapters] for word in ("--transport", spec)]
        super().__init__(
            [*product("ble"), "proxy", *transport, *encryption, "--listen", "127.0.0.1:0", *options],
            folder / f"proxy-{number}.log",
        )
        self.port = int(re.search(r":(\d+)", self.wait_for("READY").split()[1])[1])

    @property
    def descriptors(self):
        """The number of open descriptors without timers: Dispatch makes one for each of its clocks when that is first used,
        and keeps it. What has a timer of its own has other descriptors, too."""
        folder, number = f"/proc/{self.process.pid}/fd", 0
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):
                number += os.readlink(f"{folder}/{name}") != "anon_inode:[timerfd]"
        return number


@pytest.fixture
def proxy(radio, tmp_path):
    passkeys = tmp_path / "passkeys"
    passkeys.touch(0o600)
    passkeys.write_text(f"{PASSKEY}\n")
    with Proxy(radio, tmp_path, "--passkeys", passkeys) as program:
        yield program
        program.check_alive()


def lamp(radio, *options, **named):
    return Lamp(radio.transport, *options, **named)


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


@pytest.mark.parametrize("identity", ["RANDOM", "PUBLIC"])
async def test_a_device_that_has_lost_its_bond_is_used_again(radio, proxy, identity):
    """By requests of Home Assistant alone. A device may have another identity address than the one that it uses."""
    async with Home() as home:
        data = await home.add(proxy)
        async with lamp(radio, identity=identity) as device, home.link("Lamp") as link:
            await link.pair()
            assert await link.read_gatt_char(SECRET) == b"secret"
        # Each time the device was reset: it has the same address and no bond.
        async with lamp(radio, address=device.address, identity=identity), home.link("Lamp", dangerous_use_bleak_cache=True) as link:
            await until(lambda: "connected without encryption" in proxy.output, lambda: proxy.output)
            secret = address(device), link.services.get_characteristic(SECRET).handle
            for request in (link.pair, lambda: data.client.bluetooth_gatt_read(*secret, timeout=LIMIT)):
                with pytest.raises(Exception, match="(?i)auth|pair"):
                    await request()
            await link.unpair()
            await link.pair()
            assert await link.read_gatt_char(SECRET) == b"secret"
        await free(data)
        async with lamp(radio, address=device.address, identity=identity):
            response = await data.client.bluetooth_device_unpair(address(device), timeout=LIMIT)
            assert response.success and not response.error
            async with home.link("Lamp") as link:
                await link.pair()
                assert await link.read_gatt_char(SECRET) == b"secret"
        await free(data)


async def test_unpair_and_clear_cache_need_no_connection(radio, proxy):
    client = api(proxy)
    await client.connect(login=True)
    for request in (client.bluetooth_device_unpair, client.bluetooth_device_clear_cache):
        response = await request(0xC7_1122334455, timeout=LIMIT)
        assert response.success and not response.error
    await client.disconnect()


async def test_writes_without_response_arrive_in_order_however_many(radio, proxy):
    async with lamp(radio) as device, Home() as home:
        data = await home.add(proxy)
        async with home.link("Lamp") as link:
            for number in range(3000):
                await link.write_gatt_char(COMMAND, number.to_bytes(4, "little"), response=False)
            # An answer that follows them, and the requests of another part of the client.
            assert await link.read_gatt_char(VALUE) == b"off"
            assert device.commands == [number.to_bytes(4, "little") for number in range(3000)]
            assert await data.client.device_info()
        await free(data)
    assert "too many" not in proxy.output


async def test_a_write_without_response_that_is_lost_ends_the_connection(radio, proxy):
    async with lamp(radio) as device, Home() as home:
        data = await home.add(proxy)
        async with home.link("Lamp") as link:
            handle = link.services.get_characteristic(COMMAND).handle
            await data.client.bluetooth_gatt_write(address(device), handle, bytes(600), False)
            await until(lambda: not link.is_connected, "the connection goes on")
        await free(data)
    assert f"a write without response to handle 0x{handle:04X} is lost" in proxy.output
    assert device.commands == []


# The service file for Avahi


def test_a_service_file_replaces_no_other_file(radio, tmp_path):
    file, target = tmp_path / "ble-proxy.service", tmp_path / "target"

    def ends_without_a_service():
        with Program(
            [*product("ble"), "proxy", "--transport", radio.transport, "--plain-text", "--listen", "127.0.0.1:0", "--announce", file],
            tmp_path / "refused.log",
        ) as program:
            assert program.wait_for_end() == 73
            assert "replaces no other file" in program.output

    file.write_text("precious")
    ends_without_a_service()
    assert file.read_text() == "precious"
    file.unlink()
    file.symlink_to(target)
    target.write_text("target")
    ends_without_a_service()
    assert file.is_symlink() and target.read_text() == "target"
    file.unlink()

    # It is made, replaced after a kill, and removed at the end, unless another file has its name then.
    with Proxy(radio, tmp_path, "--announce", file) as proxy:
        assert f"<port>{proxy.port}</port>" in file.read_text()
        proxy.process.kill()
    with Proxy(radio, tmp_path, "--announce", file, number=1) as proxy:
        assert f"<port>{proxy.port}</port>" in file.read_text()
        proxy.process.terminate()
        proxy.wait_for_end()
        assert not file.exists()
    with Proxy(radio, tmp_path, "--announce", file, number=2) as proxy:
        file.unlink()
        file.write_text("precious")
        proxy.process.terminate()
        proxy.wait_for_end()
    assert file.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.glob("ble-proxy*")) == ["ble-proxy.service"]


# A person answers


class Person(Terminal):
    """`ble answer` on a terminal."""

    async def sees(self, pattern):
        return await until(
            lambda: re.search(pattern, self.output), lambda: f"{pattern!r} is not in the output:\n{self.output}")


@contextlib.asynccontextmanager
async def attended(radio, folder, delegate=None):
    """A device that a client is connected to by a proxy whose pairings a person answers."""
    socket = folder / "answers"
    with Proxy(radio, folder, "--answers", socket) as proxy:
        async with lamp(radio, delegate=delegate) as device, Home() as home:
            data = await home.add(proxy)
            async with home.link("Lamp") as link:
                with Person("answer", socket) as person:
                    await person.sees("are asked here")
                    yield proxy, device, link, person
            await free(data)
        proxy.check_alive()


async def test_a_person_enters_a_passkey(radio, tmp_path):
    async with attended(radio, tmp_path) as (proxy, device, link, person):
        pairing = asyncio.ensure_future(link.pair())
        await person.sees(r"The six digits that C7:\S+ shows:")
        person.tell("12")
        await person.sees("A passkey has six digits")
        person.tell(PASSKEY)
        await pairing
        await person.sees(r"C7:\S+: paired\n")
        assert await link.read_gatt_char(SECRET) == b"secret"
        assert "waits for a person" in proxy.output and str(PASSKEY) not in proxy.output


async def test_a_person_compares_numbers(radio, tmp_path):
    screen = Comparison()
    async with attended(radio, tmp_path, screen) as (proxy, device, link, person):
        pairing = asyncio.ensure_future(link.pair())
        question = await person.sees(r"Does C7:\S+ show (\d{6})\? \[y/N\]")
        await until(lambda: screen.numbers, "the device shows no number")
        assert question[1] == screen.numbers[0]
        person.tell("y")
        await pairing
        await person.sees(r"C7:\S+: paired\n")
        assert await link.read_gatt_char(SECRET) == b"secret"
        assert question[1] not in proxy.output


async def test_a_person_enters_the_digits_on_the_device(radio, tmp_path):
    keyboard = Keyboard()
    async with attended(radio, tmp_path, keyboard) as (proxy, device, link, person):
        pairing = asyncio.ensure_future(link.pair())
        digits = await person.sees(r"Passkey: enter (\d{6}) on C7:")
        keyboard.entered.set_result(int(digits[1]))
        await pairing
        await person.sees(r"C7:\S+: paired\n")
        assert await link.read_gatt_char(SECRET) == b"secret"
        assert digits[1] not in proxy.output


async def test_a_person_rejects_and_a_device_disappears(radio, tmp_path):
    async with attended(radio, tmp_path, Comparison()) as (proxy, device, link, person):
        pairing = asyncio.ensure_future(link.pair())
        await person.sees(r"Does C7:\S+ show \d{6}\?")
        person.tell("")
        with pytest.raises(bleak.BleakError):
            await pairing
        await person.sees(r"C7:\S+: not paired: .+\n")

    (tmp_path / "other").mkdir()
    async with attended(radio, tmp_path / "other") as (proxy, device, link, person):
        pairing = asyncio.ensure_future(link.pair())
        await person.sees(r"The six digits that C7:\S+ shows:")
        await device.stack.aclose()
        with pytest.raises(Exception):
            await pairing
        await person.sees(r"the question has ended.*: begin")


async def test_without_a_person_nobody_waits(radio, tmp_path):
    """The policy answers, as without --answers. The errors of `ble answer` say what to do."""
    socket = tmp_path / "answers"
    with Proxy(radio, tmp_path, "--answers", socket) as proxy:
        async with lamp(radio), Home() as home:
            await home.add(proxy)
            async with home.link("Lamp") as link:
                # Just Works.
                await link.pair()
        assert "waits for a person" not in proxy.output
        assert socket.stat().st_mode & 0o777 == 0o600
        with Person("answer", socket) as person:
            await person.sees("are asked here")
            proxy.process.send_signal(signal.SIGKILL)
            await person.sees("has ended. Start it again")
            person.check_end(69)
    with Person("answer", socket) as person:
        await person.sees("has ended. Start it again")
        person.check_end(69)
    with Person("answer", tmp_path / "nowhere") as person:
        await person.sees("no proxy waits for answers")
        person.check_end(69)
    # The file that the killed one has left is replaced.
    with Proxy(radio, tmp_path, "--answers", socket, number=1):
        with Person("answer", socket) as person:
            await person.sees("are asked here")


async def test_attributes_that_the_client_keeps_are_used_without_a_discovery(radio, proxy):
    async with lamp(radio) as device, Home() as home:
        data = await home.add(proxy)
        requests = []
        receive = device.device.on_gatt_pdu

        def record(handle, pdu):
            requests.append(pdu[0])
            receive(handle, pdu)

        device.device.l2cap_channel_manager.register_fixed_channel(att.ATT_CID, record)
        async with home.link("Lamp") as link:
            assert await link.read_gatt_char(VALUE) == b"off"
        assert READ_BY_GROUP_TYPE in requests
        requests.clear()
        async with home.link("Lamp", dangerous_use_bleak_cache=True) as link:
            assert await link.read_gatt_char(VALUE) == b"off"
            values = []
            await link.start_notify(COUNTER, lambda _, value: values.append(value[0]))
            await device.count(7)
            await until(lambda: values == [7], lambda: values)
            assert READ_BY_GROUP_TYPE not in requests
            answer = await data.client.bluetooth_device_clear_cache(address(device))
            assert answer.success
        await free(data)


async def test_connection_parameters_are_set(radio, proxy):
    async with lamp(radio) as device, Home() as home:
        data = await home.add(proxy)
        async with home.link("Lamp"):
            await data.client.bluetooth_device_set_connection_params(address(device), 40, 40, 2, 400)
            connection = next(iter(device.device.connections.values()))
            await until(lambda: connection.parameters.peripheral_latency == 2, lambda: connection.parameters)


def address(device):
    return int(str(device.address).split("/")[0].replace(":", ""), 16)


LARGE = b"".join(bytes([251, 0xFF]) + bytes([number]) * 250 for number in range(6)) + bytes([137, 0xFF]) + bytes(136)


@pytest.mark.parametrize("phy", [hci.Phy.LE_1M, hci.Phy.LE_CODED])
async def test_extended_advertisements_arrive_whole(radio, proxy, phy):
    """1,650 octets, which Bumble's host does not divide among commands itself."""
    assert len(LARGE) == 1650
    async with lamp(radio) as device:
        host = device.device.host
        properties = AdvertisingEventProperties(is_connectable=False, is_scannable=False)
        parameters = AdvertisingParameters(
            advertising_event_properties=properties, primary_advertising_interval_min=100, primary_advertising_interval_max=100,
            own_address_type=hci.OwnAddressType.RANDOM, primary_advertising_phy=phy, secondary_advertising_phy=phy)
        advertising = await device.device.create_advertising_set(
            advertising_parameters=parameters, random_address=device.address, auto_start=False)
        parts = [LARGE[start:start + 251] for start in range(0, len(LARGE), 251)]
        for number, part in enumerate(parts):
            operation = 1 if number == 0 else 2 if number == len(parts) - 1 else 0
            await host.send_command(hci.HCI_LE_Set_Extended_Advertising_Data_Command(
                advertising_handle=advertising.advertising_handle, operation=operation, fragment_preference=1, advertising_data=part))
        await advertising.start()

        client = api(proxy)
        await client.connect(login=True)
        received = []
        client.subscribe_bluetooth_le_raw_advertisements(
            lambda message: received.extend((entry.address, entry.data) for entry in message.advertisements))
        await until(lambda: (address(device), LARGE) in received, lambda: {len(data) for _, data in received})
        # The legacy ones of the lamp.
        await until(lambda: any(len(data) < 62 for _, data in received), lambda: {len(data) for _, data in received})
        await client.disconnect()


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


class Relay:
    """A port that is connected to that of a proxy. It records what the client sends, and can lose both ends of the connection."""

    def __init__(self, proxy, before=None):
        # What happens before octets are passed on.
        self.before = before
        self.proxy, self.key = proxy, proxy.key
        self.recorded, self.writers = bytearray(), []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.relay, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *failure):
        self.lose()
        self.server.close()

    def lose(self):
        for writer in self.writers:
            writer.transport.abort()

    async def relay(self, reader, writer):
        upstream, sink = await asyncio.open_connection("127.0.0.1", self.proxy.port)
        self.writers += [writer, sink]

        async def copy(source, target, record):
            with contextlib.suppress(ConnectionError):
                while octets := await source.read(4096):
                    record += octets
                    if self.before:
                        await self.before()
                    target.write(octets)
                target.close()

        await asyncio.gather(copy(reader, sink, self.recorded), copy(upstream, writer, bytearray()))


async def test_a_recorded_conversation_opens_nothing(radio, proxy):
    """Everything that a client has sent, a second time."""
    async with Relay(proxy) as relay:
        client = api(relay)
        await client.connect(login=True)
        await client.device_info()
        await client.disconnect()
    halves = []
    for _ in range(2):
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(relay.recorded)
        # The server's hello and its half of a handshake; nothing that is encrypted.
        frames, answer = [], await reader.read()
        while answer:
            size = int.from_bytes(answer[1:3], "big")
            frames.append(answer[3:3 + size])
            answer = answer[3 + size:]
        assert [len(frame) for frame in frames][1:] == [49]
        halves.append(frames[1])
        writer.close()
    # Each connection has keys of its own: the public key of the server, and what is authenticated with it.
    assert halves[0][1:33] != halves[1][1:33] and halves[0][33:] != halves[1][33:]


class Stranger:
    """Opens connections from another address than the clients, without the key."""

    def __init__(self, proxy):
        self.port, self.connections = proxy.port, []

    async def open(self):
        """Opens more connections than there are places, and waits until the proxy has closed those without one."""
        for _ in range(40):
            self.connections.append(
                await asyncio.open_connection("127.0.0.1", self.port, local_addr=("127.0.0.9", 0)))
        await until(lambda: sum(not (r.at_eof() or r.exception()) for r, _ in self.connections) < 16, "too many have a place")

    def close(self):
        for _, writer in self.connections:
            writer.transport.abort()


async def test_a_flood_of_connections_keeps_nobody_out(radio, proxy):
    """A stranger opens 40 connections before what a client sends or receives arrives."""
    stranger = Stranger(proxy)
    for _ in range(3):
        async with Relay(proxy, stranger.open) as relay:
            client = api(relay)
            await client.connect(login=True)
            assert (await client.device_info()).name
            await client.disconnect()
    assert len(stranger.connections) > 200
    stranger.close()


# Slots


async def test_no_slot_is_lost_when_a_client_or_a_device_is_gone(radio, proxy):
    async with Home() as home:
        data = await home.add(proxy)
        descriptors = proxy.descriptors
        for is_lost in (True, False) * 3:
            async with lamp(radio) as device, Relay(proxy) as relay:
                other = api(relay)
                await other.connect(login=True)
                states = []
                await other.bluetooth_device_connect(
                    address(device), lambda up, mtu, error: states.append((up, error)), feature_flags=0xFF, has_cache=False,
                    address_type=1)
                await until(lambda: states, "the device is not connected")
                assert states == [(True, 0)]
                await until(lambda: address(device) in data.bluetooth_device.ble_allocations, "no allocation is reported")
                if is_lost:
                    # A client that has no chance to say goodbye.
                    relay.lose()
                    await free(data)
                else:
                    await device.stack.aclose()
                    await free(data)
                    # The free slot may be reported first, to the other client.
                    await until(lambda: not states[-1][0], "the end of the connection is not reported")
                    await other.disconnect()
        await until(lambda: proxy.descriptors == descriptors, "a descriptor is lost")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_the_links_of_a_proxy_end_with_it(radio, tmp_path, how):
    async with lamp(radio) as device:
        for number in range(3):
            with Proxy(radio, tmp_path, number=number) as proxy:
                client, stops = api(proxy), []

                async def stopped(expected):
                    stops.append(expected)

                await client.connect(on_stop=stopped, login=True)
                slots = []
                client.subscribe_bluetooth_connections_free(lambda free, limit, allocated: slots.append((free, limit, allocated)))
                await until(lambda: slots, "no slots are reported")
                assert slots[0][0] == slots[0][1] and not slots[0][2]
                await client.bluetooth_device_connect(
                    address(device), lambda *state: None, feature_flags=0xFF, has_cache=False, address_type=1)
                await until(lambda: slots[-1][2] == [address(device)], lambda: slots)
                proxy.process.send_signal(how)
                await until(lambda: stops, "the client is not told")
                # A goodbye, or the end of the socket.
                assert stops == [how == signal.SIGTERM]
                await until(lambda: not device.device.connections, "the link has not ended")
                assert proxy.process.wait(LIMIT) in (-9, -15, 143, 0)


async def test_twenty_devices_at_once_on_two_adapters(radio, tmp_path):
    names = [f"Lamp {number}" for number in range(20)]
    async with contextlib.AsyncExitStack() as stack:
        home = await stack.enter_async_context(Home())
        proxy = stack.enter_context(Proxy(radio, tmp_path, adapters=2))
        data = await home.add(proxy)
        await asyncio.gather(*(stack.enter_async_context(lamp(radio, name)) for name in names))
        links = await asyncio.gather(*(stack.enter_async_context(home.link(name)) for name in names))
        assert await asyncio.gather(*(link.read_gatt_char(VALUE) for link in links)) == [b"off"] * 20
        assert len(data.bluetooth_device.ble_allocations) == 20
        for link in links:
            await link.disconnect()
        await free(data)
