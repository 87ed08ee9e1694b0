"""The tool `ble` with periodic advertising, and Bumble's host, on our radio."""

import json

import pytest
from central import Central
from programs import Program, product, until, wait_until
from radios import parameters
from test_ble_tool import checked
from test_periodic_advertising import DATA, INTERVAL, SID, Listener, advertise

OCTETS = "03021c1804ff01020304"
DESCRIPTION = {"name": "Clock", "periodic": {"data": OCTETS, "interval": INTERVAL}, "services": [{"uuid": "1805", "characteristics": []}]}


def events(program):
    """The lines that the program has printed so far, but for one that is not complete."""
    lines = "".join(line for line in program.output.splitlines(keepends=True) if line.endswith("\n"))
    return checked("scan", lines)


def receiving(radio, folder, *words):
    return Program(
        [*product("ble"), "scan", "--periodic", "--json", "--duration", 600, *words, "--transport", radio.transport],
        folder / "scan.log",
    )


@pytest.mark.parametrize("radio", parameters("virtual", "virtual-paced"), indirect=True)
async def test_a_train_of_bumble_is_received(radio, tmp_path):
    async with Central(radio.transport) as sender:
        await advertise(sender.device)
        with receiving(radio, tmp_path) as program:
            await until(lambda: any(e["event"] == "report" for e in events(program)), lambda: program.output)
            found = events(program)
            assert {(e["advertisingSet"], e["event"]) for e in found} == {(SID, "synchronized"), (SID, "report")}
            [report] = [e for e in found if e["event"] == "report"]
            assert report["data"] == DATA.hex() and not report["truncated"]
            assert report["address"] == str(sender.device.random_address).split("/")[0]


@pytest.mark.parametrize("radio", parameters("virtual", "virtual-paced"), indirect=True)
async def test_a_train_that_is_served_is_received_by_bumble(radio, tmp_path):
    description = tmp_path / "clock.json"
    description.write_text(json.dumps(DESCRIPTION))
    command = [*product("ble"), "serve", description, "--transport", radio.transport]
    with Program(command, tmp_path / "serve.log") as program:
        address = program.wait_for("READY").split()[-1].split("-")[0]
        async with Central(radio.transport) as receiver:
            announced = []
            receiver.device.host.on("advertising_report", announced.append)
            await receiver.device.start_scanning(legacy=False, filter_duplicates=False)

            def train():
                return next((a for a in announced if getattr(a, "periodic_advertising_interval", 0)), None)

            await until(train, lambda: f"no announcement of {address}: {len(announced)} reports")
            sync = await receiver.device.create_periodic_advertising_sync(
                train().address, train().advertising_sid, sync_timeout=2.0
            )
            listener = Listener(sync)
            await until(lambda: sync.state == sync.State.ESTABLISHED, "synchronization")
            assert sync.periodic_advertising_interval == INTERVAL
            await listener.receives(bytes.fromhex(OCTETS))


@pytest.mark.parametrize("radio", parameters("virtual", "virtual-paced"), indirect=True)
def test_a_train_that_ends_is_lost(radio, tmp_path):
    description = tmp_path / "clock.json"
    description.write_text(json.dumps(DESCRIPTION))
    serve = [*product("ble"), "serve", description, "--transport", radio.transport]
    with receiving(radio, tmp_path) as scan:
        with Program(serve, tmp_path / "serve.log"):
            wait_until(lambda: any(e["event"] == "report" for e in events(scan)), lambda: scan.output)
        wait_until(lambda: any(e["event"] == "lost" for e in events(scan)), lambda: scan.output)
        assert [e["data"] for e in events(scan) if e["event"] == "report"] == [OCTETS], "repeated data once"
