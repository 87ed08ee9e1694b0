"""The priority of connections against Bumble's host in the other role: what really changes on the link.

Docs/Decisions/links-and-channels.md#one-priority
"""

import asyncio
import contextlib
import secrets

import pytest
from bumble import hci
from bumble.device import AdvertisingType, Device, DeviceConfiguration
from bumble.transport import open_transport
from central import Central, acknowledge_at_once
from programs import LIMIT, Program, product, until
from radios import RADIOS

SERVICE = "181A"
# In milliseconds (Vol 4, Part E, 7.8.18), and as the peripheral one value, because iOS rejects a shorter one.
INTERVALS = {
    # Eight packets of 251 octets on LE 2M.
    ("throughput", "central"): (11.25, 11.25),
    ("throughput", "peripheral"): (15, 15),
    ("balanced", "central"): (30, 50),
    ("balanced", "peripheral"): (30, 50),
    ("lowPower", "central"): (105, 120),
    ("lowPower", "peripheral"): (105, 120),
}


# Bumble's controller has neither procedure.
@pytest.fixture
def radio(tmp_path):
    with RADIOS["virtual"](tmp_path) as radio:
        yield radio
        radio.program.check_alive()


class Managers:
    """The program `managers` with one priority for all its connections."""

    def __init__(self, program):
        self.program = program

    def do(self, line):
        self.program.process.stdin.write(f"{line}\n".encode())
        self.program.process.stdin.flush()

    async def wait_for(self, prefix):
        return await asyncio.to_thread(self.program.wait_for, prefix)

    async def connect(self):
        """Finds the peripheral of `advertiser`, and connects to it."""
        self.do(f"c1 scan {SERVICE}")
        await self.wait_for("c1 discovered Fast")
        self.do("c1 connect Fast")
        await self.wait_for("c1 connected Fast")

    async def advertise(self):
        """Has a service, and advertises it as Fast."""
        self.do(f"p1 publish {SERVICE} 2A6E text")
        self.do(f"p1 advertise Fast {SERVICE}")
        await self.wait_for("p1 advertises")


@contextlib.contextmanager
def managers(radio, folder, priority):
    command = ["env", f"BLE_BONDS={folder / 'bonds.json'}", *product("managers"), "--transport", radio.transport]
    with Program([*command, "--priority", priority], folder / "managers.log") as program:
        yield Managers(program)
        program.check_alive()


@contextlib.asynccontextmanager
async def advertiser(spec, subrates=False, has_short_intervals=False):
    """A host of Bumble that advertises, and its connection, once there is one."""
    transport = await asyncio.wait_for(open_transport(spec), LIMIT)
    try:
        acknowledge_at_once(transport)
        address = hci.Address(secrets.token_bytes(5) + b"\xc7", hci.Address.RANDOM_DEVICE_ADDRESS)
        configuration = DeviceConfiguration(
            "Fast",
            address,
            le_subrate_enabled=subrates,
            le_shorter_connection_intervals_enabled=has_short_intervals,
        )
        device = Device.from_config_with_hci(configuration, transport.source, transport.sink)
        connection = asyncio.get_running_loop().create_future()
        device.on("connection", connection.set_result)
        await asyncio.wait_for(device.power_on(), LIMIT)
        await device.start_advertising(
            advertising_type=AdvertisingType.UNDIRECTED_CONNECTABLE_SCANNABLE,
            advertising_data=b"\x02\x01\x06\x03\x03" + bytes.fromhex(SERVICE)[::-1] + b"\x05\x09Fast",
            own_address_type=hci.OwnAddressType.RANDOM,
            advertising_interval_min=30,
            advertising_interval_max=30,
        )
        yield connection
    finally:
        await transport.close()


async def settings(connection, priority, role):
    """Waits until Bumble's host has the data length, the PHY and the interval of the priority."""
    low, high = INTERVALS[priority, role]
    wanted_phy = hci.Phy.LE_2M if priority == "throughput" else hci.Phy.LE_1M
    found = None

    async def are_those():
        nonlocal found
        phy = await connection.get_phy()
        interval = connection.parameters.connection_interval
        octets = (connection.data_length.max_tx_octets, connection.data_length.max_rx_octets)
        found = (octets, phy.tx_phy, phy.rx_phy, interval)
        is_long = octets == (251, 251) or priority != "throughput"
        return is_long and phy.tx_phy == phy.rx_phy == wanted_phy and low <= interval <= high

    await until(are_those, lambda: f"{priority} as the {role}: {found}")


@pytest.mark.parametrize("priority", ["throughput", "balanced", "lowPower"])
async def test_a_central_brings_its_links_to_their_priority(radio, tmp_path, priority):
    async with advertiser(radio.transport) as connection:
        with managers(radio, tmp_path, priority) as ours:
            await ours.connect()
            await settings(await asyncio.wait_for(connection, LIMIT), priority, "central")


@pytest.mark.parametrize("priority", ["throughput", "balanced", "lowPower"])
async def test_a_peripheral_asks_for_its_priority(radio, tmp_path, priority):
    with managers(radio, tmp_path, priority) as ours:
        await ours.advertise()
        async with Central(radio.transport) as central:
            link = await central.connect("Fast")
            await settings(link.connection, priority, "peripheral")


async def subrating(connection):
    """Waits until Bumble's host has low power by subrating: a short interval, of which one in several is used."""

    async def is_that():
        parameters = connection.parameters
        every = parameters.connection_interval * parameters.subrate_factor
        is_continued = parameters.continuation_number == parameters.subrate_factor - 1
        return parameters.connection_interval <= 50 and 90 <= every <= 125 and is_continued

    await until(is_that, lambda: f"low power by subrating: {connection.parameters}")


async def test_a_central_subrates_for_low_power(radio, tmp_path):
    async with advertiser(radio.transport, subrates=True) as connection:
        with managers(radio, tmp_path, "lowPower") as ours:
            await ours.connect()
            await subrating(await asyncio.wait_for(connection, LIMIT))


async def test_a_peripheral_requests_subrating_for_low_power(radio, tmp_path):
    with managers(radio, tmp_path, "lowPower") as ours:
        await ours.advertise()
        async with Central(radio.transport) as central:
            host = central.device.host
            await host.send_sync_command(hci.HCI_LE_Set_Host_Feature_Command(bit_number=38, bit_value=1))
            await central.device.set_default_connection_subrate(1, 100, 2, 0, 32_000)
            link = await central.connect("Fast")
            await subrating(link.connection)


@pytest.mark.parametrize("has_procedure", [True, False], ids=["link-layer", "l2cap"])
async def test_a_peripheral_asks_by_l2cap_only_where_the_central_lacks_the_procedure(radio, tmp_path, has_procedure):
    """Vol 3, Part A, 4.20; Vol 6, Part B, 5.1.7 (GAP/CONN/CPUP/BV-10-C). A host lacks it where it masks the event."""
    with managers(radio, tmp_path, "lowPower") as ours:
        await ours.advertise()
        async with Central(radio.transport) as central:
            host, manager, asked = central.device.host, central.device.l2cap_channel_manager, []

            def noting(how, handler):
                return lambda *arguments: (asked.append(how), handler(*arguments))[1]

            event = "on_hci_le_remote_connection_parameter_request_event"
            request = "on_l2cap_connection_parameter_update_request"
            setattr(host, event, noting("link-layer", getattr(host, event)))
            setattr(manager, request, noting("l2cap", getattr(manager, request)))
            if not has_procedure:
                mask = bytes([0xFF & ~0x20]) + b"\xff" * 7
                await host.send_sync_command(hci.HCI_LE_Set_Event_Mask_Command(le_event_mask=mask))
            link = await central.connect("Fast")
            await settings(link.connection, "lowPower", "peripheral")
            assert asked == (["link-layer"] if has_procedure else ["l2cap"])
