"""Shorter connection intervals against Bumble's host in the other role, on our radio.

Docs/Decisions/links-and-channels.md#shorter-connection-intervals

Bumble's controller answers LE Connection Rate Request, but has neither the feature bit nor LE Read All Remote Features.
"""

import asyncio

import pytest
from bumble import hci
from central import Central
from programs import LIMIT, until
from radios import ours
from test_priority import advertiser, managers


@pytest.fixture
def radio(tmp_path):
    with ours("virtual-6.2", tmp_path, "--shortest-interval", 8) as radio:
        yield radio
        radio.program.check_alive()


async def balanced(connection):
    """Waits until our host has the timing of its priority, and so requests no other one."""

    async def is_that():
        return 30 <= connection.parameters.connection_interval <= 50

    await until(is_that, lambda: f"a balanced timing: {connection.parameters}")


def rate(connection):
    parameters = connection.parameters
    return parameters.connection_interval, parameters.subrate_factor, parameters.continuation_number


async def request(connection, shortest, longest, factor, continuation):
    """A request in milliseconds, and its outcome."""
    update = connection.update_parameters_with_subrate(shortest, longest, 1, factor, 0, continuation, 6000, 0, 0)
    await asyncio.wait_for(update, LIMIT)
    return rate(connection)


async def test_a_peripheral_follows_the_rate_of_its_central(radio, tmp_path):
    with managers(radio, tmp_path, "balanced") as ours:
        await ours.advertise()
        async with Central(radio.transport) as central:
            bit = hci.LeFeature.SHORTER_CONNECTION_INTERVALS_HOST_SUPPORT
            support = hci.HCI_LE_Set_Host_Feature_Command(bit_number=bit, bit_value=1)
            await central.device.host.send_sync_command(support)
            link = await central.connect("Fast")
            await balanced(link.connection)
            assert await request(link.connection, 1, 2, 4, 3) == (1, 4, 3)
            assert await request(link.connection, 1.125, 2, 1, 0) == (1.125, 1, 0)
            # Below the shortest interval of the controllers.
            with pytest.raises(hci.HCI_Error):
                await request(link.connection, 0.5, 0.875, 1, 0)


async def test_a_central_accepts_the_rate_of_its_peripheral(radio, tmp_path):
    async with advertiser(radio.transport, has_short_intervals=True) as connection:
        with managers(radio, tmp_path, "balanced") as ours:
            await ours.connect()
            link = await asyncio.wait_for(connection, LIMIT)
            await balanced(link)
            assert await request(link, 1, 2, 4, 3) == (1, 4, 3)
            # Intervals that our central does not accept: the rate stays.
            with pytest.raises(hci.HCI_Error):
                await request(link, 60, 70, 1, 0)
            assert rate(link) == (1, 4, 3)
