"""The host as Embedded Swift (Tests/Embedded), as a program of Linux and as the firmware of a Cortex-M4 in QEMU."""

import re
import subprocess

import pytest
from central import Central
from programs import ROOT, Program, product, wait_until
from radios import RADIOS
from test_security import Visitor

pytestmark = pytest.mark.embedded

LINUX, CORTEX_M4 = "x86_64-unknown-linux-gnu", "armv7em-none-none-eabi"
NAME, TEMPERATURE = "Thermometer", bytes.fromhex("6e2a")
NOTIFY = b"\x01\x00"
INSUFFICIENT_AUTHENTICATION, INSUFFICIENT_ENCRYPTION = 0x05, 0x0F


class Guest(Visitor):
    """A visitor of the thermometer, whose temperature is its first handle."""

    async def connect(self):
        self.link = await self.find()
        if self.handles is None:
            found = [c for s in await self.link.discover() for c in s.characteristics]
            self.handles = [c.handle for c in found if c.uuid == TEMPERATURE]


def firmware(triple, radio, folder):
    built = ROOT / ".cache/embedded" / triple
    log = folder / "firmware.log"
    if triple == LINUX:
        return Program(["env", f"PORT={radio.port}", built / "host"], log)
    machine = ["qemu-system-arm", "-M", "mps2-an386", "-cpu", "cortex-m4", "-display", "none", "-monitor", "none"]
    controller = f"socket,id=controller,host=127.0.0.1,port={radio.port}"
    serial = ["-chardev", controller, "-serial", "chardev:controller", "-serial", "stdio"]
    return Program([*machine, *serial, "-kernel", built / "host.elf"], log)


@pytest.fixture(params=["bumble", "virtual"])
def radio(request, tmp_path):
    with RADIOS[request.param](tmp_path) as radio:
        yield radio
        radio.program.check_alive()


@pytest.fixture(params=[LINUX, CORTEX_M4])
def thermometer(request, radio, tmp_path):
    with firmware(request.param, radio, tmp_path) as program:
        program.wait_for("advertising")
        yield program
        assert "fault" not in program.output, program.output


def ble(command, radio):
    words = [*product("ble"), command, NAME, "--transport", radio.transport]
    ended = subprocess.run(words, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_our_central_pairs_and_returns(thermometer, radio):
    assert "bonded, encrypted" in ble("pair", radio)
    assert "0.20 °C" in ble("inspect", radio)
    assert thermometer.output.count("paired") == 1, thermometer.output


@pytest.mark.parametrize("sc", [True, False], ids=["secure-connections", "legacy"])
async def test_bumbles_central_pairs_and_returns(thermometer, radio, sc):
    """Four links: one that pairs, and three that return with its key. The memory in use is the same after the last two."""
    async with Central(radio.transport) as central:
        guest = Guest(central, NAME)
        await guest.connect()
        assert await guest.read(0) == guest.refused(0, INSUFFICIENT_AUTHENTICATION)
        key = (await guest.pair(sc=sc)).ltk
        for number in range(1, 5):
            value = (await guest.read(0))[1:]
            await guest.link.write(guest.handles[0] + 1, NOTIFY)
            handle, notified = await guest.link.update(guest.link.notifications)
            assert [handle] == guest.handles and notified == bytes([value[0] + 1, 0])
            await guest.link.disconnect()
            wait_until(lambda: thermometer.output.count("disconnected") == number, lambda: thermometer.output)
            if number < 4:
                await guest.connect()
                assert await guest.read(0) == guest.refused(0, INSUFFICIENT_ENCRYPTION)
                assert await guest.encrypt(key.value, key.ediv or 0, key.rand or bytes(8)) == 0
    assert thermometer.output.count("paired, a bond") == 1, thermometer.output
    heaps = re.findall(r"heap (\d+)", thermometer.output)
    assert heaps[2] == heaps[3], heaps
