"""Names as devices send them: padded, and only in a later advertisement. The peripherals are of Bumble's host."""

import asyncio
import contextlib
import json
import secrets
import subprocess

import pytest
from bumble import hci
from bumble.device import AdvertisingType, Device, DeviceConfiguration
from bumble.gatt import Characteristic, Descriptor, Service
from bumble.transport import open_transport
from central import acknowledge_at_once
from our_central import our_central
from programs import LIMIT, Program, Terminal, product
from radios import RADIOS, parameters


@pytest.fixture(scope="module", params=parameters("bumble", "virtual"))
def radio(request, tmp_path_factory):
    with RADIOS[request.param](tmp_path_factory.mktemp(request.param)) as radio:
        yield radio
        radio.program.check_alive()


def readable(uuid, value, *descriptors):
    return Characteristic(uuid, Characteristic.Properties.READ, Characteristic.READABLE, value, list(descriptors))


class Peripheral:
    """A peripheral with a battery of 66 %, whose texts are padded."""

    def __init__(self, device):
        self.device = device

    async def advertise(self, name):
        """Advertises another name: octets, or nothing at all."""
        await self.device.stop_advertising()
        structure = bytes([len(name) + 1, 0x09]) + name if name else b""
        await self.device.start_advertising(
            advertising_type=AdvertisingType.UNDIRECTED_CONNECTABLE_SCANNABLE,
            advertising_data=b"\x02\x01\x06" + structure,
            own_address_type=hci.OwnAddressType.RANDOM,
            advertising_interval_min=30,
            advertising_interval_max=30,
            auto_restart=True,
        )


@contextlib.asynccontextmanager
async def peripheral(radio, name):
    transport = await asyncio.wait_for(open_transport(radio.transport), LIMIT)
    try:
        acknowledge_at_once(transport)
        address = hci.Address(secrets.token_bytes(5) + b"\xc7", hci.Address.RANDOM_DEVICE_ADDRESS)
        device = Device.from_config_with_hci(DeviceConfiguration("Pad\0\0\0\0", address), transport.source, transport.sink)
        description = Descriptor("2901", Descriptor.READABLE, b"Level\0\0\0")
        device.add_services(
            [
                Service("180F", [readable("2A19", b"\x42", description)]),
                Service("180A", [readable("2A29", b"Maker  \xff\xff"), readable("2A24", b"X1\0old")]),
            ]
        )
        await asyncio.wait_for(device.power_on(), LIMIT)
        found = Peripheral(device)
        await found.advertise(name)
        yield found
    finally:
        await asyncio.wait_for(transport.close(), LIMIT)


async def run(*words):
    """The output of a command that ends by itself, while the peripheral answers."""
    command = [*product("ble"), *map(str, words)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


async def wait_for(program, text):
    return await asyncio.to_thread(program.wait_for, text)


PADDED = [b"Pad\0\0\0\0", b"Pad \xff\xff", b"Pad\0Lamp"]


@pytest.mark.parametrize("name", PADDED, ids=["nul", "spaces", "rest"])
async def test_padding_is_not_part_of_a_name(radio, tmp_path, name):
    transport = ["--transport", radio.transport]
    async with peripheral(radio, name) as device:
        for uuid, value in (("2A19", "66 %"), ("2A00", '"Pad"'), ("2A29", '"Maker"'), ("2A24", '"X1"')):
            assert await run("read", "Pad", uuid, *transport) == f"{value}\n"
        assert 'Characteristic User Description (2901): "Level"' in await run("inspect", "pad", *transport)
        with Program([*product("ble"), "scan", "--json", "--name", "Pad", *transport], tmp_path / "scan.log") as scan:
            line = json.loads(await wait_for(scan, "address"))
        assert line["name"] == "Pad" and line["address"] == str(device.device.random_address).split("/")[0]
        # The CoreBluetooth types compare the name in the advertisement.
        with our_central(radio, tmp_path) as central:
            await central.connect("Pad")


async def test_a_name_that_comes_later_is_found(radio, tmp_path):
    transport = ["--transport", radio.transport]
    scans = {
        "all": ([], ["Early", "Late"]),
        "named": (["--name", "late"], ["Late"]),
        "strong": (["--name", "late", "--rssi", "-100"], ["Late"]),
    }
    async with peripheral(radio, b"Early") as device:
        with contextlib.ExitStack() as stack:
            programs = {}
            for name, (words, _) in scans.items():
                command = [*product("ble"), "scan", "--json", "--duration", LIMIT, *words, *transport]
                programs[name] = stack.enter_context(Program(command, tmp_path / f"{name}.log"))
            await wait_for(programs["all"], "Early")
            terminal = stack.enter_context(Terminal("read", "Late", "2A19", *transport))
            # It has received the device, under its other name.
            await asyncio.to_thread(terminal.wait_for, "searching for 'Late': 1 device in range")
            for name in (b"", b"Late"):
                await device.advertise(name)
            for program in programs.values():
                await wait_for(program, "Late")
            await asyncio.to_thread(terminal.check_end, 0)
            for name, (_, names) in scans.items():
                lines = [json.loads(line) for line in programs[name].output.splitlines()]
                assert [line.get("name") for line in lines] == names
        assert "66 %" in terminal.output
