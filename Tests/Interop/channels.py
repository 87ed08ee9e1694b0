"""The other end of an L2CAP channel: our transfer program, or a Bumble host."""

import asyncio
import contextlib
import re
import secrets
import zlib
from pathlib import Path
from unittest import mock

from bumble import hci
from bumble.device import AdvertisingType, Device, DeviceConfiguration
from bumble.l2cap import LeCreditBasedChannel, LeCreditBasedChannelSpec
from bumble.transport import open_transport
from central import acknowledge_at_once
from programs import LIMIT, Program, product, until

NAME = "Transfer"
MEGABYTE = 1 << 20


def transfer(radio, folder, role, *options):
    """Our transfer program; `role` is serve or connect."""
    command = [*product("channel-transfer"), role, NAME, "--transport", radio.transport, *options]
    return Program(command, folder / f"{role}.log")


def counts(program):
    """What the program has sent and received: the number of octets and their CRC-32."""
    found = re.findall(r"^(sent|received) (\d+) octets, CRC-32 ([0-9a-f]{8}), (\d+) KiB/s$", program.output, re.MULTILINE)
    return {direction: (int(count), int(crc, 16)) for direction, count, crc, _ in found}


def resident(program):
    """The memory of a program in KiB: now, and the most so far."""
    status = Path(f"/proc/{program.process.pid}/status").read_text()
    return tuple(int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) for name in ("VmRSS", "VmHWM"))


async def wait_for_line(program, text):
    """Waits until a line of the output begins with `text`, while the event loop runs."""

    def is_said():
        if any(line.startswith(text) for line in program.output.splitlines()):
            return True
        assert program.process.poll() in (None, 0), program.output[-2000:]
        return False

    await until(is_said, lambda: f"no {text!r}:\n{program.output[-2000:]}")


class Octets:
    """Octets that arrive: their number and their CRC-32."""

    def __init__(self):
        self.count, self.crc = 0, 0

    def add(self, octets):
        self.count += len(octets)
        self.crc = zlib.crc32(octets, self.crc)

    @property
    def result(self):
        return self.count, self.crc


class ChannelHost:
    """A Bumble host with credit-based channels."""

    def __init__(self, radio):
        self.spec = radio.transport

    async def __aenter__(self):
        async with contextlib.AsyncExitStack() as stack:
            transport = await asyncio.wait_for(open_transport(self.spec), LIMIT)
            stack.push_async_callback(transport.close)
            acknowledge_at_once(transport)
            address = hci.Address(secrets.token_bytes(5) + b"\xc7", hci.Address.RANDOM_DEVICE_ADDRESS)
            self.device = Device.from_config_with_hci(
                DeviceConfiguration(NAME, address), transport.source, transport.sink
            )
            await asyncio.wait_for(self.device.power_on(), LIMIT)
            self.stack = stack.pop_all()
        return self

    async def __aexit__(self, *failure):
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.stack.aclose(), LIMIT)

    async def listen(self, psm, **parameters):
        """Advertises, and gives a future for the channel that a central opens and the octets that it receives."""
        opened = asyncio.get_running_loop().create_future()
        spec = LeCreditBasedChannelSpec(psm=psm, **parameters)

        def accept(channel):
            # At once, because Bumble drops what comes before.
            octets = Octets()
            channel.sink = octets.add
            opened.set_result((channel, octets))

        self.device.create_l2cap_server(spec, handler=accept)
        await self.device.start_advertising(
            advertising_type=AdvertisingType.UNDIRECTED_CONNECTABLE_SCANNABLE,
            advertising_data=b"\x02\x01\x06" + bytes([len(NAME) + 1, 0x09]) + NAME.encode(),
            own_address_type=hci.OwnAddressType.RANDOM,
            advertising_interval_min=30,
            advertising_interval_max=30,
        )
        return opened

    async def connect(self):
        """A link to the device that advertises the name."""
        found = asyncio.get_running_loop().create_future()

        def sighted(advertisement):
            if not found.done() and NAME.encode() in bytes(advertisement.data):
                found.set_result(advertisement.address)

        self.device.on("advertisement", sighted)
        await self.device.start_scanning()
        address = await asyncio.wait_for(found, LIMIT)
        await self.device.stop_scanning()
        return await asyncio.wait_for(self.device.connect(address), LIMIT)

    @staticmethod
    async def open(link, psm, **parameters):
        """A channel of a link, and the octets that it receives."""
        octets = Octets()
        original = LeCreditBasedChannel.connect

        async def connect(channel):
            channel.sink = octets.add
            return await original(channel)

        with mock.patch.object(LeCreditBasedChannel, "connect", connect):
            return await link.create_l2cap_channel(LeCreditBasedChannelSpec(psm=psm, **parameters)), octets
