"""Bonds of the tool `ble` over several runs of it, on the radio of `ble radio`."""

import contextlib
import json
import re

import pytest
from programs import Program, product
from test_ble_tool import run


@contextlib.contextmanager
def radio(folder, *words):
    """`ble radio` with an endpoint; gives the options of a host."""
    with Program([*product("ble"), "radio", *(words or ("--tcp", "0"))], folder / "radio.log") as program:
        transport = program.wait_for("READY").split()[1]
        yield ["--transport", transport]
        program.check_alive()


@contextlib.contextmanager
def served(description, transport, folder):
    with Program([*product("ble"), "serve", description, *transport], folder / "serve.log") as program:
        program.address = re.search(r"([0-9A-F:]{17}) \(", program.wait_for("READY"))[1]
        yield program
        program.check_alive()


@pytest.fixture
def thermometer(tmp_path):
    """The description of a thermometer whose temperature needs encryption."""
    description = json.loads(run("serve", "--example"))
    description["services"][0]["characteristics"][0]["security"] = "encrypted"
    path = tmp_path / "thermometer.json"
    path.write_text(json.dumps(description))
    return path


def bonds(transport):
    return [json.loads(line) for line in run("bonds", "--json", *transport).splitlines()]


def test_a_bond_is_of_use_in_each_later_run(thermometer, tmp_path):
    with radio(tmp_path) as transport:
        with served(thermometer, transport, tmp_path) as device:
            assert "bonded, encrypted" in run("pair", "Thermometer", *transport)
            assert run("read", device.address, "2A6E", *transport) == "21.50 °C\n"
            # Each end has bonds of its own, although both have the transport in common.
            [bond] = bonds(transport)
            assert bond["address"] == device.address
            address = device.address
        # The peripheral is started again, and has its bond.
        with served(thermometer, transport, tmp_path) as device:
            assert device.address == address
            assert run("read", address, "2A6E", *transport) == "21.50 °C\n"
            assert bonds(transport) == [bond]


def test_a_device_that_lost_its_bond_is_an_error_with_the_commands_that_pair_anew(thermometer, tmp_path):
    with radio(tmp_path) as transport:
        with served(thermometer, transport, tmp_path) as device:
            run("pair", device.address, *transport)
        for file in (tmp_path / "state/BluetoothLE").glob("ble-serve-*"):
            file.unlink()
        with served(thermometer, transport, tmp_path) as device:
            error = run("read", device.address, "2A6E", *transport, status=76)
            where = " ".join(transport)
            remove, pair = f"bonds --remove {device.address} {where}", f"pair {device.address} {where}"
            assert f"has forgotten this bond: remove the bond here, then pair again. Run: ble {remove} && ble {pair}\n" in error
            run(*remove.split())
            run(*pair.split())
            assert run("read", device.address, "2A6E", *transport) == "21.50 °C\n"


def test_a_chosen_address_is_that_of_the_device(thermometer, tmp_path):
    with radio(tmp_path) as transport:
        address = "C0:11:22:33:44:55"
        with served(thermometer, [*transport, "--address", address], tmp_path) as device:
            assert device.address == address
            run("pair", address, *transport)
            assert [bond["address"] for bond in bonds(transport)] == [address]
            assert f"connected {address}" not in device.output
    assert "static random address" in run("scan", "--address", "00:11:22:33:44:55", status=64)


def test_each_endpoint_has_the_address_of_its_device(thermometer, tmp_path):
    """Programs may start in any order where each has an endpoint of its own."""
    sockets = [tmp_path / "lamp", tmp_path / "reader"]
    words = [word for socket in sockets for word in ("--unix", socket)]
    found = []
    for first, second in (sockets, reversed(sockets)):
        with radio(tmp_path, *words), contextlib.ExitStack() as stack:
            addresses = {}
            for socket in (first, second):
                device = stack.enter_context(served(thermometer, ["--transport", f"unix-client:{socket}"], tmp_path))
                addresses[socket.name] = device.address
            found.append(addresses)
    assert found[0] == found[1] and len(set(found[0].values())) == 2
