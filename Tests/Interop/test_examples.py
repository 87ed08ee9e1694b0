"""The examples: alone on the simulated radio, as their READMEs run them, and each end against Bumble."""

import asyncio
import contextlib
import re
import secrets
import struct

import pytest
from bumble import hci
from bumble.core import UUID, AdvertisingData
from bumble.device import Device, Peer
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.profiles.battery_service import BatteryService, BatteryServiceProxy
from bumble.profiles.device_information_service import DeviceInformationService, DeviceInformationServiceProxy
from bumble.profiles.heart_rate_service import HeartRateService, HeartRateServiceProxy
from bumble.transport import open_transport
from central import acknowledge_at_once
from programs import LIMIT, Program, product, until
from radios import ours

Properties, Permissions = Characteristic.Properties, Characteristic.Permissions
UART = "6E40000{}-B5A3-F393-E0A9-E50E24DCCA9E"


def example(number):
    return UUID(f"7A3C00{number}-52D6-4C1E-9B0F-6D1E2F3A4B5C")


@pytest.fixture(scope="module")
def air(tmp_path_factory):
    """The transport of a simulated radio that all these tests share; each has devices of its own names."""
    with ours("virtual", tmp_path_factory.mktemp("examples")) as radio:
        yield radio.transport
        radio.program.check_alive()


def run(name, folder, *words, environment=()):
    return Program(["env", f"BLE_BONDS={folder / 'bonds.json'}", *environment, *product(name), *words], folder / f"{name}.log")


async def ended(program):
    status = await asyncio.to_thread(program.wait_for_end)
    assert status == 0, f"{status}: {program.output}"
    return program.output


# Both ends in one process: the program, its arguments, what the output has.
ALONE = [
    ("battery", [], ["model Battery example", "product 1 of Bluetooth SIG (0x01)", "charge 90 %", "discharging, charge good",
                     "charge now 87 %"]),
    ("uart-echo", [], ["echo of 5 octets", "echo of 2000 octets"]),
    ("scanner", [], ["iBeacon E2C56DB5-DFFB-48D2-B060-D0F5A71096E0 1/2, -59 dBm at 1 m",
                     "Eddystone-URL https://swift.org/", '"Thermometer"']),
    ("explorer", [], ["service 180D", "characteristic 2A38", "value 02", "value 40", "is not readable: ",
                      "descriptor 2901 4f776e6572"]),
    ("beacon", [], ["found 1/1, -59 dBm at 1 m", "set the minor number to 7", "found 1/7"]),
    ("provisioning", [], ["type 483920 on the other device", "a key of 16 octets", 'the device has the network "Home"',
                          "the device is in the network"]),
    ("provisioning", ["comparison"], ["the other device shows", "a key of 16 octets", "the device is in the network"]),
    ("keyboard", [], ["HID version 111", "lights: Caps Lock", "output report 1", 'received the keys of "Hello"',
                      "received Volume Increment (0x00E9)"]),
    ("throughput", [], ["writes without response: ", "notifications: ", "L2CAP channel, both ways: 400000 octets"]),
    ("relay", [], ["forwards 20.", "received 20."]),
    ("proxy", [], ["in range: ", "connections: 1 of 32", "received 20."]),
    ("heart-rate", [], ["made by BluetoothLE for Swift, model Chest strap 1", "worn on the chest", "battery at 87 %"]),
]  # fmt: skip
# These run until Control-C.
ENDLESS = {"battery", "proxy", "relay", "scanner", "thermometer"}


def check_output(program, name, lines):
    """The program prints the lines, and ends with status 0: by itself, or after SIGTERM."""
    for line in lines if name in ENDLESS else ():
        program.wait_for(line)
    if name in ENDLESS:
        program.process.terminate()
    assert program.wait_for_end() == 0, program.output
    for line in lines:
        assert line in program.output, f"{line!r} is missing in:\n{program.output}"


@pytest.mark.parametrize(("name", "words", "lines"), ALONE, ids=[" ".join([name, *words]) for name, words, _ in ALONE])
def test_both_ends_without_hardware(name, words, lines, tmp_path):
    with run(name, tmp_path, *words) as program:
        check_output(program, name, lines)


@pytest.mark.parametrize("zone", ["temp", "missing"])
def test_thermometer_has_the_value_of_the_file(zone, tmp_path):
    (tmp_path / "temp").write_text("36625\n")
    zone = tmp_path / zone
    with run("thermometer", tmp_path, environment=[f"THERMAL_ZONE={zone}"]) as program:
        is_simulated = not zone.exists()
        lines = ["with simulated values", "reads 4", "measures 4"] if is_simulated else [f"with {zone}", "reads 36.6", "measures 36.6"]
        check_output(program, "thermometer", lines)
    assert re.search(r"measures \d\d\.\d\d °C at 20\d\d-", program.output), program.output


def passkey(program):
    """The digits that the device of the example shows."""
    return re.search(r"type (\d{6}) on", program.wait_for("on the other device"))[1]


def test_a_wrong_passkey_pairs_nothing(air, tmp_path):
    with run("provisioning", tmp_path, "peripheral", "--transport", air) as device:
        device.wait_for("advertises")
        with Program([*product("provisioning"), "central", "--transport", air], tmp_path / "central.log") as central:
            central.wait_for("type the digits")
            central.tell(f"{(int(passkey(device)) + 1) % 1_000_000:06}")
            assert central.wait_for_end() == 76, central.output
        assert "sets the network" not in device.output, device.output


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [(["--help"], 0, "usage: battery "), (["red"], 0, "usage: battery "), (["central", "--transport", "x"], 64, "x: ")],
)
def test_exit_statuses(words, status, text, tmp_path):
    with run("battery", tmp_path, *words) as program:
        assert program.wait_for_end() == status, program.output
    assert program.output.startswith(text), program.output


# Bumble's host as the other end


class User(PairingDelegate):
    def __init__(self, io):
        super().__init__(io)
        # `device`: the program that shows the digits.
        self.device, self.compared = None, []

    async def get_number(self):
        return int(await asyncio.to_thread(passkey, self.device))

    async def compare_numbers(self, number, digits):
        self.compared.append(number)
        return True

    async def confirm(self, auto=False):
        return True


@contextlib.asynccontextmanager
async def bumble(spec, delegate=None):
    """A Bumble host with a controller of its own, powered on."""
    transport = await asyncio.wait_for(open_transport(spec), LIMIT)
    try:
        acknowledge_at_once(transport)
        address = hci.Address(secrets.token_bytes(5) + b"\xc9", hci.Address.RANDOM_DEVICE_ADDRESS)
        device = Device.with_hci("Bumble", address, transport.source, transport.sink)
        device.keystore = MemoryKeyStore()
        device.irk = secrets.token_bytes(16)
        device.pairing_config_factory = lambda _: PairingConfig(
            sc=True, mitm=delegate is not None, bonding=True, delegate=delegate,
            identity_address_type=PairingConfig.AddressType.RANDOM,
        )  # fmt: skip
        yield device
    finally:
        with contextlib.suppress(Exception):
            await asyncio.wait_for(transport.close(), LIMIT)


async def find(device, matches):
    """The first advertisement that matches."""
    found = asyncio.get_running_loop().create_future()

    def advertised(advertisement):
        if not found.done() and matches(advertisement):
            found.set_result(advertisement)

    device.on("advertisement", advertised)
    await device.start_scanning(active=True, filter_duplicates=False)
    try:
        return await asyncio.wait_for(found, LIMIT)
    finally:
        await device.stop_scanning()
        device.remove_listener("advertisement", advertised)


@contextlib.asynccontextmanager
async def peer(spec, name, delegate=None):
    """Bumble's central, connected to the device of that name."""
    async with bumble(spec, delegate) as device:
        await asyncio.wait_for(device.power_on(), LIMIT)
        advertisement = await find(device, lambda it: it.data.get(AdvertisingData.COMPLETE_LOCAL_NAME) == name)
        connection = await device.connect(advertisement.address, timeout=LIMIT, own_address_type=hci.OwnAddressType.RANDOM)
        peer = Peer(connection)
        await asyncio.wait_for(peer.request_mtu(247), LIMIT)
        await asyncio.wait_for(peer.discover_all(), LIMIT)
        peer.advertisement = advertisement
        yield peer
        await connection.disconnect()


def found(peer, uuid):
    characteristics = peer.get_characteristics_by_uuid(uuid if isinstance(uuid, UUID) else UUID.from_16_bits(uuid))
    assert characteristics, uuid
    return characteristics[0]


class Values:
    """The values that a characteristic notifies or indicates."""

    def __init__(self):
        self.queue = asyncio.Queue()

    async def subscribe(self, characteristic, indicates=False):
        await asyncio.wait_for(characteristic.subscribe(self.queue.put_nowait, not indicates), LIMIT)
        return self

    async def next(self):
        return await asyncio.wait_for(self.queue.get(), LIMIT)


@contextlib.asynccontextmanager
async def serving(name, air, folder, *words, environment=()):
    with run(name, folder, "peripheral", *words, "--transport", air, environment=environment) as program:
        await asyncio.to_thread(program.wait_for, "advertises")
        yield program
        program.check_alive()


async def test_bumble_reads_battery_and_device_information(air, tmp_path):
    async with serving("battery", air, tmp_path), peer(air, "Battery") as it:
        battery = it.create_service_proxy(BatteryServiceProxy)
        assert await battery.battery_level.read_value() == 90
        information = it.create_service_proxy(DeviceInformationServiceProxy)
        assert await information.manufacturer_name.read_value() == "BluetoothLE for Swift"
        assert await information.firmware_revision.read_value() == "1.0.2"
        # Flags: the level; present, no sources, discharging, good.
        assert bytes(await found(it, 0x2BED).read_value()) == bytes([2, 0xC1, 0x00, 90])
        assert bytes(await found(it, 0x2A50).read_value()) == struct.pack("<BHHH", 1, 0xFFFF, 1, 0x0102)
        values = await Values().subscribe(found(it, 0x2A19))
        assert [bytes(await values.next()) for _ in range(2)] == [bytes([89]), bytes([88])]


async def test_bumble_gets_its_octets_back(air, tmp_path):
    async with serving("uart-echo", air, tmp_path), peer(air, "UART") as it:
        values = await Values().subscribe(found(it, UUID(UART.format(3))))
        receive = found(it, UUID(UART.format(2)))
        for octets, answered in ((b"hello", True), (bytes(range(200)), False)):
            await receive.write_value(octets, with_response=answered)
            assert bytes(await values.next()) == octets


async def test_bumble_receives_temperatures(air, tmp_path):
    zone = tmp_path / "temp"
    zone.write_text("-12345\n")
    async with serving("thermometer", air, tmp_path, environment=[f"THERMAL_ZONE={zone}"]), peer(air, "Thermometer") as it:
        assert struct.unpack("<h", await found(it, 0x2A6E).read_value()) == (-1235,)
        value = bytes(await (await Values().subscribe(found(it, 0x2A1C), indicates=True)).next())
        flags, mantissa, exponent = value[0], int.from_bytes(value[1:4], "little", signed=True), struct.unpack("b", value[4:5])[0]
        assert (flags, exponent) == (0x06, -2) and mantissa in (-1234, -1235)
        year, month, day = struct.unpack("<HBB", value[5:9])
        assert year > 2024 and 1 <= month <= 12 and 1 <= day <= 31 and value[12:] == b"\x02"


async def test_bumble_sets_the_beacon(air, tmp_path):
    region = bytes.fromhex("E2C56DB5DFFB48D2B060D0F5A71096E0")

    def data(major, minor):
        return b"\x02\x15" + region + struct.pack(">HHb", major, minor, -59)

    def beacon(advertisement):
        company = advertisement.data.get(AdvertisingData.MANUFACTURER_SPECIFIC_DATA)
        return company[1] if company and company[0] == 0x004C else None

    async with serving("beacon", air, tmp_path):
        async with peer(air, "Beacon") as it:
            assert beacon(it.advertisement) == data(1, 1)
            await found(it, example(71)).write_value(struct.pack("<H", 500), with_response=True)
            await found(it, example(72)).write_value(struct.pack("<H", 65535), with_response=True)
            assert struct.unpack("<H", await found(it, example(71)).read_value()) == (500,)
        async with bumble(air) as device:
            await asyncio.wait_for(device.power_on(), LIMIT)
            await find(device, lambda it: beacon(it) == data(500, 65535))


@pytest.mark.parametrize("model", ["passkey", "comparison"])
async def test_bumble_pairs_and_provisions(model, air, tmp_path):
    io = PairingDelegate.IoCapability
    user = User(io.KEYBOARD_INPUT_ONLY if model == "passkey" else io.DISPLAY_OUTPUT_AND_YES_NO_INPUT)
    words = ["comparison"] if model == "comparison" else []
    async with serving("provisioning", air, tmp_path, *words) as program, peer(air, "Lamp", user) as it:
        user.device = program
        network, state = found(it, example(81)), found(it, example(82))
        with pytest.raises(Exception, match="(?i)authentication|encryption"):
            await asyncio.wait_for(network.write_value(b"\x04Homepassword", with_response=True), LIMIT)
        if model == "comparison":
            # The user of the device compares, too.
            program.process.stdin.write(b"yes\n")
            program.process.stdin.flush()
        await asyncio.wait_for(it.connection.pair(), LIMIT)
        assert it.connection.is_encrypted
        if model == "comparison":
            assert len(user.compared) == 1 and f"shows {user.compared[0]:06}" in program.output
        assert bytes(await state.read_value()) == b"\x00"
        values = await Values().subscribe(state)
        with pytest.raises(Exception, match="(?i)0x80|128|application"):
            await network.write_value(b"\x04Homeshort", with_response=True)
        await network.write_value(b"\x04Homepassword", with_response=True)
        assert [bytes(await values.next()) for _ in range(2)] == [b"\x01", b"\x02"]
        assert 'sets the network "Home"' in program.output and "password" not in program.output


async def test_a_comparison_that_nobody_confirms_provisions_nothing(air, tmp_path):
    user = User(PairingDelegate.IoCapability.DISPLAY_OUTPUT_AND_YES_NO_INPUT)
    async with serving("provisioning", air, tmp_path, "comparison") as program, peer(air, "Lamp", user) as it:
        program.process.stdin.write(b"no\n")
        program.process.stdin.flush()
        with pytest.raises(Exception):
            await asyncio.wait_for(it.connection.pair(), LIMIT)
        assert len(user.compared) == 1
        with pytest.raises(Exception, match="(?i)authentication|encryption"):
            await asyncio.wait_for(found(it, example(81)).write_value(b"\x04Evilpassword", with_response=True), LIMIT)
        assert "sets the network" not in program.output


async def test_bumble_is_the_host_of_the_keyboard(air, tmp_path):
    user = User(PairingDelegate.IoCapability.NO_OUTPUT_NO_INPUT)
    async with serving("keyboard", air, tmp_path) as program, peer(air, "Keyboard", user) as it:
        assert int(it.advertisement.data.get(AdvertisingData.APPEARANCE)) == 0x03C1
        with pytest.raises(Exception, match="(?i)authentication|encryption"):
            await found(it, 0x2A4B).read_value()
        it.connection.device.pairing_config_factory = lambda _: PairingConfig(sc=True, mitm=False, bonding=True)
        await asyncio.wait_for(it.connection.pair(), LIMIT)
        report_map = bytes(await found(it, 0x2A4B).read_value())
        assert report_map[:6] == bytes.fromhex("05010906a101") and report_map.count(0xC0) >= 2
        assert bytes(await found(it, 0x2A4A).read_value()) == bytes.fromhex("11010002")
        reports = {}
        for characteristic in it.get_characteristics_by_uuid(UUID.from_16_bits(0x2A4D)):
            await characteristic.discover_descriptors()
            reference = next(d for d in characteristic.descriptors if d.type == UUID.from_16_bits(0x2908))
            reports[bytes(await reference.read_value())] = characteristic
        assert sorted(reports) == [b"\x01\x01", b"\x01\x02", b"\x02\x01"]
        await reports[b"\x01\x02"].write_value(b"\x02", with_response=False)
        values = await Values().subscribe(reports[b"\x01\x01"])
        typed = [bytes(await values.next()) for _ in range(4)]
        assert typed == [bytes([2, 0, 0x0B, 0, 0, 0, 0, 0]), bytes(8), bytes([0, 0, 8, 0, 0, 0, 0, 0]), bytes(8)]
        await asyncio.to_thread(program.wait_for, "lights: Caps Lock")


async def test_bumble_measures_throughput(air, tmp_path):
    async with serving("throughput", air, tmp_path), peer(air, "Throughput") as it:
        before = struct.unpack("<I", await found(it, example(93)).read_value())[0]
        for _ in range(10):
            await found(it, example(91)).write_value(bytes(200), with_response=False)
        assert struct.unpack("<I", await found(it, example(93)).read_value())[0] == before + 2000
        values = await Values().subscribe(found(it, example(92)))
        assert bytes(await values.next()) == b"\x5a" * 244
        psm = struct.unpack("<H", await found(it, example(94)).read_value())[0]
        assert 0x80 <= psm <= 0xFF


async def test_bumble_reads_a_heart_rate(air, tmp_path):
    command = [*product("heart-rate"), "--role", "peripheral", "--transport", air, "--beats", 3]
    with Program(command, tmp_path / "heart-rate.log") as program:
        await asyncio.to_thread(program.wait_for, "advertises")
        async with peer(air, "Strap") as it:
            proxy = it.create_service_proxy(HeartRateServiceProxy)
            assert await proxy.body_sensor_location.read_value() == HeartRateService.BodySensorLocation.CHEST
            await proxy.reset_energy_expended()
            values = Values()
            await proxy.heart_rate_measurement.subscribe(values.queue.put_nowait)
            first = await values.next()
            assert (first.heart_rate, first.sensor_contact_detected, first.energy_expended) == (72, True, 1)
            for _ in range(2):
                await values.next()
        await ended(program)


# Bumble's peripherals, for our centrals


@contextlib.asynccontextmanager
async def advertised(spec, name, services, service):
    """A Bumble peripheral that advertises `service` under a name."""
    async with bumble(spec) as device:
        device.add_services(services)
        await asyncio.wait_for(device.power_on(), LIMIT)
        uuid = UUID(service) if isinstance(service, str) else UUID.from_16_bits(service)
        kind = 0x03 if len(uuid.to_pdu_bytes()) == 2 else 0x07
        data = AdvertisingData([(0x01, b"\x06"), (kind, uuid.to_pdu_bytes())])
        await device.start_advertising(
            advertising_data=bytes(data),
            scan_response_data=bytes(AdvertisingData([(0x09, name.encode())])),
            own_address_type=hci.OwnAddressType.RANDOM,
            auto_restart=True,
        )
        yield device


def central(name, air, folder):
    return run(name, folder, "central", "--transport", air)


async def stopped(program, *lines):
    """The output of a program that runs until Control-C, up to the lines."""
    for line in lines:
        await asyncio.to_thread(program.wait_for, line)
    program.process.terminate()
    return await ended(program)


async def test_battery_reads_bumbles_services(air, tmp_path):
    level = iter([41, 40, 39])
    battery = BatteryService(lambda connection: 42)
    information = DeviceInformationService(manufacturer_name="Bumble", model_number="Model 3")

    async with advertised(air, "Bumble battery", [battery, information], 0x180F) as device:

        async def discharge():
            while True:
                await asyncio.sleep(0.3)
                await device.notify_subscribers(battery.battery_level_characteristic, next(level, 39))

        battery.battery_level_characteristic.on("subscription", lambda *_: tasks.append(asyncio.ensure_future(discharge())))
        tasks = []
        with central("battery", air, tmp_path) as program:
            output = await stopped(program, "charge now 40 %")
        for task in tasks:
            task.cancel()
    assert "made by Bumble, model Model 3" in output and "charge 42 %" in output, output
    assert "charge now 41 %" in output and "charge now 40 %" in output, output


async def test_uart_echo_receives_bumbles_echo(air, tmp_path):
    transmit = Characteristic(UUID(UART.format(3)), Properties.NOTIFY, Permissions(0))

    def received(connection, octets):
        asyncio.ensure_future(echo(bytes(octets)))

    lock = asyncio.Lock()

    async def echo(octets):
        async with lock:
            await device.notify_subscribers(transmit, octets)

    receive = Characteristic(
        UUID(UART.format(2)), Properties.WRITE | Properties.WRITE_WITHOUT_RESPONSE, Permissions.WRITEABLE,
        CharacteristicValue(write=received),
    )  # fmt: skip
    service = Service(UUID(UART.format(1)), [receive, transmit])
    async with advertised(air, "Bumble UART", [service], UART.format(1)) as device:
        with central("uart-echo", air, tmp_path) as program:
            output = await ended(program)
    assert "echo of 5 octets" in output and "echo of 2000 octets" in output, output


async def test_thermometer_decodes_fahrenheit(air, tmp_path):
    measurement = Characteristic(UUID.from_16_bits(0x2A1C), Properties.INDICATE, Permissions(0))
    # 98.6 °F, 2026-11-22 10:20:30, mouth.
    value = b"\x07" + (986).to_bytes(3, "little") + b"\xff" + struct.pack("<HBBBBB", 2026, 11, 22, 10, 20, 30) + b"\x06"
    tasks = []

    async with advertised(air, "Bumble thermometer", [Service(UUID.from_16_bits(0x1809), [measurement])], 0x1809) as device:

        async def measure():
            while True:
                await asyncio.sleep(0.2)
                with contextlib.suppress(Exception):
                    await device.indicate_subscribers(measurement, value)

        measurement.on("subscription", lambda *_: tasks.append(asyncio.ensure_future(measure())))
        with central("thermometer", air, tmp_path) as program:
            await until(lambda: program.output.count("measures") >= 2, "two measurements")
            output = await stopped(program)
        for task in tasks:
            task.cancel()
    measured = re.findall("measures (.*)", output)
    assert len(measured) >= 2 and set(measured) == {"98.6 °F at 2026-11-22 10:20:30"}, output


async def test_explorer_and_scanner_show_bumbles_device(air, tmp_path):
    odd = Characteristic(UUID.from_16_bits(0xFFF1), Properties.READ, Permissions.READ_REQUIRES_AUTHORIZATION, b"no")
    plain = Characteristic(UUID.from_16_bits(0xFFF2), Properties.READ | Properties.NOTIFY, Permissions.READABLE, b"\xca\xfe")
    async with advertised(air, "Bumble odd", [Service(UUID.from_16_bits(0xFFF0), [odd, plain])], 0xFFF0):
        with run("explorer", tmp_path, "Bumble odd", "--transport", air) as program:
            output = await ended(program)
        with run("scanner", tmp_path, "--transport", air) as program:
            scanned = await stopped(program, '"Bumble odd"')
    assert "service FFF0" in output and "value cafe" in output and "descriptor 2902 0000" in output, output
    assert "is not readable: " in output, output
    assert '"Bumble odd"' in scanned and "services FFF0" in scanned, scanned


async def test_relay_forwards_bumbles_sensor_to_bumble(air, tmp_path):
    celsius = Characteristic(UUID.from_16_bits(0x2A6E), Properties.READ | Properties.NOTIFY, Permissions.READABLE, b"\x00\x00")
    async with advertised(air, "Bumble sensor", [Service(UUID.from_16_bits(0x181A), [celsius])], 0x181A) as device:

        async def measure():
            number = 0
            while True:
                await asyncio.sleep(0.1)
                number += 1
                await device.notify_subscribers(celsius, struct.pack("<h", -2000 - number))

        measuring = asyncio.ensure_future(measure())
        async with serving("relay", air, tmp_path) as program:
            await asyncio.to_thread(program.wait_for, "forwards -20.")
            async with peer(air, "Relay") as it:
                values = await Values().subscribe(found(it, UUID("7A3C00A1-52D6-4C1E-9B0F-6D1E2F3A4B5C")))
                first, second = [struct.unpack("<h", await values.next())[0] for _ in range(2)]
                assert second < first < -2000
        measuring.cancel()
