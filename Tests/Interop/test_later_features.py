"""Periodic advertising and subrating of our host on the controllers of Bumble and RootCanal.

Bumble's do it in their own way: the loss of a train is never reported, and every subrate factor is 2 (radio.py).
"""

import asyncio
import json

import pytest
from bumble import hci
from central import Central
from programs import LIMIT, Program, product, until, wait_until
from radios import RADIOS, bumble, marks
from test_ble_tool import checked
from test_periodic_tool import receiving
from test_priority import advertiser, managers

OCTETS = "03021c1804ff01020304"
DESCRIPTION = {"name": "Clock", "periodic": {"data": OCTETS}, "services": [{"uuid": "1805", "characteristics": []}]}


@pytest.fixture(params=["bumble", pytest.param("rootcanal", marks=marks("rootcanal"))])
def radio(request, tmp_path):
    is_bumble = request.param == "bumble"
    with bumble("bumble", tmp_path, "--later") if is_bumble else RADIOS[request.param](tmp_path) as radio:
        yield radio
        radio.program.check_alive()


def serving(radio, folder):
    description = folder / "clock.json"
    description.write_text(json.dumps(DESCRIPTION))
    return Program([*product("ble"), "serve", description, "--transport", radio.transport], folder / "serve.log")


def events(program):
    """The events so far, without the line that says what is wrong with the controller."""
    lines = program.output.splitlines(keepends=True)
    return checked("scan", "".join(line for line in lines if line.startswith("{") and line.endswith("\n")))


def test_a_train_is_received_and_its_end_noticed(radio, tmp_path):
    with receiving(radio, tmp_path) as scan:
        with serving(radio, tmp_path):
            wait_until(lambda: any(e["event"] == "report" for e in events(scan)), lambda: scan.output)
        wait_until(lambda: any(e["event"] == "lost" for e in events(scan)), lambda: scan.output)
        found = events(scan)
        is_noticed_by_the_host = "it reports nothing of a train, and not its loss either" in scan.output
        assert is_noticed_by_the_host == (radio.name == "bumble"), scan.output
        assert [e["event"] for e in found[:3]] == ["synchronized", "report", "lost"], found
        assert found[1]["data"] == OCTETS and not found[1]["truncated"]
        # An advertiser has an address of its own each time: this is another train.
        with serving(radio, tmp_path):
            wait_until(lambda: sum(e["event"] == "report" for e in events(scan)) == 2, lambda: scan.output)


async def subrated(radio, connection):
    """Waits until Bumble's host has a factor: that of Bumble's controller, or one of low power."""

    def is_subrated():
        factor = connection.parameters.subrate_factor
        return factor == 2 if radio.name == "bumble" else factor > 1

    await until(is_subrated, lambda: f"not subrated: {connection.parameters}")


async def test_a_central_subrates(radio, tmp_path):
    async with advertiser(radio.transport, subrates=True) as connection:
        with managers(radio, tmp_path, "lowPower") as ours:
            await ours.connect()
            await subrated(radio, await asyncio.wait_for(connection, LIMIT))


# RootCanal 1.13.0 rejects the request of a peripheral, with "incompatible timeout requirement", whatever the central accepts.
@pytest.mark.parametrize("radio", ["bumble"], indirect=True)
async def test_a_peripheral_subrates(radio, tmp_path):
    with managers(radio, tmp_path, "lowPower") as ours:
        await ours.advertise()
        async with Central(radio.transport) as central:
            host_support = hci.LeFeature.CONNECTION_SUBRATING_HOST_SUPPORT
            await central.device.host.send_sync_command(
                hci.HCI_LE_Set_Host_Feature_Command(bit_number=host_support, bit_value=1)
            )
            link = await central.connect("Fast")
            await subrated(radio, link.connection)
