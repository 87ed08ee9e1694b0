"""Bonds of the tool `ble` over several runs of it, on the radio of `ble radio`."""

import contextlib
import fcntl
import json
import os
import re
import shlex
import subprocess

import pytest
from programs import LIMIT, Program, Terminal, product
from test_ble_tool import run


SECURE, LEGACY = [], ["--legacy"]
versions = pytest.mark.parametrize("version", [SECURE, LEGACY], ids=["secure", "legacy"])


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


@versions
def test_a_bond_is_of_use_in_each_later_run(version, thermometer, tmp_path):
    with radio(tmp_path) as transport:
        with served(thermometer, transport, tmp_path) as device:
            assert "bonded, encrypted" in run("pair", "Thermometer", *version, *transport)
            assert run("read", device.address, "2A6E", *transport) == "21.50 °C\n"
            # Each end has bonds of its own, although both have the transport in common.
            [bond] = bonds(transport)
            assert bond["address"] == device.address and bond["secureConnections"] == (version == SECURE)
            address = device.address
        # The peripheral is started again, and has its bond.
        with served(thermometer, transport, tmp_path) as device:
            assert device.address == address
            assert run("read", address, "2A6E", *transport) == "21.50 °C\n"
            assert bonds(transport) == [bond]


def test_a_bond_outlives_a_change_of_the_name(thermometer, tmp_path):
    """While the device is served, and between two runs."""
    with radio(tmp_path) as transport:
        with served(thermometer, transport, tmp_path) as device:
            run("pair", "Thermometer", *transport)
            assert bonds(transport)[0]["name"] == "Thermometer"
            for name in ("Kitchen", "Bath"):
                description = json.loads(thermometer.read_text())
                new = thermometer.with_suffix(".new")
                new.write_text(json.dumps({**description, "name": name}))
                new.replace(thermometer)
                device.wait_for(f'READY "{name}"')
                assert run("read", name, "2A6E", *transport) == "21.50 °C\n"
                assert bonds(transport)[0]["name"] == name
        with served(thermometer, transport, tmp_path) as device:
            assert run("read", device.address, "2A6E", *transport) == "21.50 °C\n"
            assert len(list((tmp_path / "state/BluetoothLE").glob("ble-serve-thermometer.json-*.json"))) == 1


@contextlib.contextmanager
def without_its_bond(description, transport, folder, *words, **options):
    """A device that has paired with the host of `words` and `options`, and has lost the bond."""
    with served(description, transport, folder) as device:
        run("pair", device.address, *words, **options)
    for file in (folder / "state/BluetoothLE").glob("ble-serve-*"):
        file.unlink()
    with served(description, transport, folder) as device:
        yield device


def test_a_device_that_lost_its_bond_is_an_error_with_the_commands_that_pair_anew(thermometer, tmp_path):
    with radio(tmp_path) as transport, without_its_bond(thermometer, transport, tmp_path, *transport) as device:
        error = run("read", device.address, "2A6E", *transport, status=76)
        where = " ".join(transport)
        remove, pair = f"bonds --remove {device.address}-public {where}", f"pair {device.address}-public {where}"
        assert f"has forgotten this bond: remove the bond here, then pair again. Run: ble {remove} && ble {pair}\n" in error
        run(*remove.split())
        run(*pair.split())
        assert run("read", device.address, "2A6E", *transport) == "21.50 °C\n"


def script(device, lines, transport, status=0):
    """Standard output and standard error of a script of `ble shell`."""
    command = [*product("ble"), "shell", device, *transport]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout, done.stderr


def test_a_script_replaces_a_bond_that_the_device_has_lost(thermometer, tmp_path):
    with radio(tmp_path) as transport, without_its_bond(thermometer, transport, tmp_path, *transport) as device:
        _, error = script(device.address, ["read 2A6E"], transport, status=76)
        assert "has forgotten this bond" in error and error.endswith(". Run: forget, then connect, then pair\n"), error
        output, _ = script(device.address, ["forget", "connect", "pair", "read 2A6E"], transport)
        assert output.splitlines()[0] == f"{device.address}-public: removed" and output.endswith("\n21.50 °C\n")
        assert run("read", device.address, "2A6E", *transport) == "21.50 °C\n"
        error = script(device.address, ["forget", "forget"], transport, status=68)[1]
        assert error == f"ble: line 2: there is no bond with {device.address}\n"


def test_a_shell_says_why_a_link_with_another_key_ends(thermometer, tmp_path, monkeypatch):
    """The key of our bond is changed: the link ends at the first encrypted packet, during a command or before."""
    bonds_file = tmp_path / "bonds.json"
    with radio(tmp_path) as transport, served(thermometer, transport, tmp_path) as device:
        monkeypatch.setenv("BLE_BONDS", str(bonds_file))
        run("pair", device.address, *transport)
        bond = json.loads(bonds_file.read_text())
        for name in ("centralKey", "peripheralKey"):
            bond["bonds"][0][name]["key"] = "00" * 16
        bonds_file.write_text(json.dumps(bond))
        _, error = script(device.address, ["read 2A6E"], transport, status=76)
        assert "remove the bond on both sides, then pair again. Run: " in error or "and run forget, then" in error, error


def test_a_removed_bond_names_the_programs_that_still_have_it(thermometer, tmp_path):
    environment = {**os.environ, "BLE_BONDS": str(tmp_path / "bonds.json")}
    with radio(tmp_path) as transport, served(thermometer, transport, tmp_path) as device:
        run("pair", "Thermometer", *transport, env=environment)
        error = run("bonds", "--remove", "Lamp", *transport, status=68, env=environment)
        assert f"they are with: {device.address}-public 'Thermometer'" in error
        command = [*product("ble"), "bonds", "--remove", "Thermometer", *transport]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=environment, check=True)
        assert done.stdout == f"{device.address}-public: removed\n"
        assert f"a program that runs with the bonds in {tmp_path}/bonds.json uses this one until it ends" in done.stderr


def test_another_program_at_the_endpoint_has_another_address_and_is_told_so(thermometer, tmp_path):
    """The device has forgotten nothing: the bond is that of the address of the first program."""
    with radio(tmp_path) as transport, served(thermometer, transport, tmp_path) as device:
        run("pair", "Thermometer", *transport)
        [bond] = bonds(transport)
        scan = [*product("ble"), "scan", "--json", "--duration", LIMIT, *transport]
        with Program(scan, tmp_path / "scan.log") as first:
            first.wait_for("Thermometer")
            error = run("read", device.address, "2A6E", *transport, status=76)
        assert "this host had the address" in error and "give each program an endpoint of its own" in error, error
        assert "--remove" not in error and bonds(transport) == [bond]
        assert run("read", device.address, "2A6E", *transport) == "21.50 °C\n"


def test_the_commands_that_pair_anew_are_right_in_a_shell_without_the_variables_of_this_one(thermometer, tmp_path):
    bonds_file = tmp_path / "our bonds.json"
    with radio(tmp_path) as transport:
        environment = {**os.environ, "BLE_TRANSPORT": transport[1], "BLE_BONDS": str(bonds_file)}
        with without_its_bond(thermometer, transport, tmp_path, env=environment) as device:
            error = run("read", device.address, "2A6E", status=76, env=environment)
            commands = error.partition(". Run: ")[2]
            variable, where = f"BLE_BONDS='{bonds_file}'", f"{device.address}-public --transport {transport[1]}"
            assert commands == f"{variable} ble bonds --remove {where} && {variable} ble pair {where}\n"
            subprocess.run(f"ble() {{ {shlex.join(product('ble'))} \"$@\"; }}; {commands}", shell=True, timeout=LIMIT, check=True)
            assert run("read", device.address, "2A6E", env=environment) == "21.50 °C\n"
            assert bonds(transport) == []


def test_a_bond_that_is_not_stored_is_an_error(thermometer, tmp_path):
    """Another program holds the lock of the file: the devices pair, and the bond would end with the command."""
    folder = tmp_path / "store"
    folder.mkdir(0o700)
    environment = {**os.environ, "BLE_BONDS": str(folder / "bonds.json")}
    with radio(tmp_path) as transport, served(thermometer, transport, tmp_path):
        with open(folder / "bonds.json.lock", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            error = run("pair", "Thermometer", *transport, status=73, env=environment)
            assert "and the bond is not stored: " in error and "another program is writing it" in error
            assert ": bonded" not in error and not (folder / "bonds.json").exists()
        assert "bonded, encrypted" in run("pair", "Thermometer", *transport, env=environment)
        assert len(json.loads((folder / "bonds.json").read_text())["bonds"]) == 1


def test_a_list_leaves_a_file_of_a_newer_version_as_it_is(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir(0o700)
    text = '{"version": 2, "program": "BluetoothLE 9.1", "bonds": [{"future": true}]}'
    for name in ["bonds.json", "bonds.devices.json"]:
        (folder / name).touch(0o600)
        (folder / name).write_text(text)
    environment = {**os.environ, "BLE_BONDS": str(folder / "bonds.json")}
    error = run("bonds", status=66, env=environment)
    assert "version 2, written by BluetoothLE 9.1" in error and "Use the program that wrote it or a newer one" in error
    assert sorted(os.listdir(folder)) == ["bonds.devices.json", "bonds.json"]
    assert {(folder / name).read_text() for name in os.listdir(folder)} == {text}


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


# Passkeys and numbers

SECURED = {"name": "Lock", "services": [{"uuid": "180F", "characteristics": [
    {"uuid": "2A19", "properties": ["read"], "value": "37", "security": "authenticated"}]}]}  # fmt: skip
LEVELS = {"": "authenticated, LE Secure Connections", "--legacy": "authenticated"}


@pytest.fixture
def lock(tmp_path):
    """Writes the description of a device with an authenticated value."""

    def write(**fields):
        path = tmp_path / "lock.json"
        # A passkey is a secret.
        path.touch(0o600)
        path.write_text(json.dumps({**SECURED, **fields}))
        return path

    return write


def check_bond(address, version, transport):
    """The bond of the runs before is authenticated, and opens the value in a run of its own."""
    [bond] = bonds(transport)
    facts = {"name": "Lock", "authenticated": True, "keySize": 16, "secureConnections": version == SECURE}
    assert bond == {"address": address, "addressType": "public", **facts}
    kind = "LE Secure Connections" if version == SECURE else "legacy pairing"
    assert run("bonds", *transport) == f"{address}-public  'Lock', {kind}, authenticated, key of 16 octets\n"
    assert run("read", "Lock", "2A19", *transport) == "55 %\n"


def check_paired(terminal, address, version):
    terminal.check_end(0)
    assert f"{address} (public): bonded, {LEVELS[''.join(version)]}, key of 16 octets\n" in terminal.output


@versions
def test_a_passkey_of_the_file_is_typed(version, lock, tmp_path):
    with radio(tmp_path) as transport, served(lock(passkey="012345"), transport, tmp_path) as device:
        with Terminal("pair", "Lock", *version, *transport) as terminal:
            terminal.wait_for(f"The six digits that {device.address} .* shows:")
            # What is no passkey is asked again.
            for number, line in enumerate(["12", "0123456", "o12345"], start=1):
                terminal.tell(line)
                terminal.wait_for("A passkey has six digits. The six digits that", times=number)
            terminal.tell("012 345")
            check_paired(terminal, device.address, version)
        check_bond(device.address, version, transport)
        # A passkey that is written on the device is not written into its log.
        assert "12345" not in device.output


@versions
def test_a_passkey_is_printed_where_nobody_can_answer(version, lock, tmp_path):
    """As a service: it has an output, and no terminal."""
    with radio(tmp_path) as transport, served(lock(), transport, tmp_path) as device:
        with Terminal("pair", "Lock", *version, *transport) as terminal:
            terminal.wait_for("The six digits that")
            terminal.tell(device.wait_for("Passkey: enter ").split()[2])
            check_paired(terminal, device.address, version)
        check_bond(device.address, version, transport)


@pytest.mark.parametrize("answers, status", [("yy", 0), ("yn", 76), ("ny", 76)])
def test_numbers_are_compared_on_both_terminals(answers, status, lock, tmp_path):
    with radio(tmp_path) as transport, Terminal("serve", lock(), *transport) as device:
        address = device.wait_for(r"READY .* as ([0-9A-F:]{17})")[1]
        with Terminal("pair", "Lock", *transport) as terminal:
            ends = [terminal, device]
            numbers = [end.wait_for(r"Does ([0-9A-F:]{17}) .* show (\d{6})\? \[y/N\]") for end in ends]
            assert numbers[0][2] == numbers[1][2] and numbers[0][1] == address
            terminal.tell("perhaps")
            terminal.wait_for("Please answer y or n. Does")
            for end, answer in zip(ends, answers, strict=True):
                end.tell(answer)
            if status == 0:
                check_paired(terminal, address, SECURE)
            else:
                terminal.check_end(status)
                assert "Numeric Comparison Failed" in terminal.output
        if status == 0:
            check_bond(address, SECURE, transport)
        else:
            assert bonds(transport) == []


def test_a_passkey_is_typed_at_the_peripheral(lock, tmp_path):
    """Of two devices with a display and a keyboard, the central displays in legacy pairing (Vol 3, Part H, 2.3.5.1)."""
    with radio(tmp_path) as transport, Terminal("serve", lock(), *transport) as device:
        address = device.wait_for(r"READY .* as ([0-9A-F:]{17})")[1]
        with Terminal("pair", "Lock", *LEGACY, *transport) as terminal:
            passkey = terminal.wait_for(f"Passkey: enter (\\d{{6}}) on {address}")[1]
            device.wait_for("The six digits that")
            device.tell(passkey)
            check_paired(terminal, address, LEGACY)
        check_bond(address, LEGACY, transport)


@versions
def test_a_wrong_passkey_is_an_error_and_leaves_no_bond(version, lock, tmp_path):
    with radio(tmp_path) as transport, served(lock(passkey="012345"), transport, tmp_path):
        with Terminal("pair", "Lock", *version, *transport) as terminal:
            terminal.wait_for("The six digits that")
            terminal.tell("543210")
            terminal.check_end(76)
            assert terminal.output.count("the pairing failed") == 1 and "Confirm Value Failed" in terminal.output
            assert "[BluetoothLE]" not in terminal.output
        assert bonds(transport) == []


@versions
def test_control_c_at_a_question_is_the_end_without_a_word(version, lock, tmp_path):
    with radio(tmp_path) as transport, served(lock(passkey="012345"), transport, tmp_path):
        with Terminal("pair", "Lock", *version, *transport) as terminal:
            terminal.wait_for("The six digits that .* shows:")
            terminal.type("\x03")
            terminal.check_end(130)
            assert "[BluetoothLE]" not in terminal.output and "ble: " not in terminal.output, terminal.output


def test_the_question_of_a_device_that_has_gone_is_void(lock, tmp_path):
    with radio(tmp_path) as transport, Terminal("serve", lock(), *transport) as device:
        device.wait_for("READY")
        for number in (1, 2):
            with Terminal("pair", "Lock", *transport) as terminal:
                terminal.wait_for("Does ")
                device.wait_for("Does .* show", times=number)
        device.wait_for("disconnected", times=2)
        # A line for the questions before is no answer to the next one.
        device.tell("y")
        with Terminal("pair", "Lock", *transport) as terminal:
            terminal.wait_for("Does ")
            device.wait_for("Does .* show", times=3)
            for end in (terminal, device):
                end.tell("y")
            terminal.check_end(0)


# Errors


def test_an_unpaired_read_of_an_authenticated_value_says_how_to_pair(lock, tmp_path):
    with radio(tmp_path) as transport, served(lock(passkey="012345"), transport, tmp_path) as device:
        command = f"ble pair {device.address}-public --authenticated {' '.join(transport)}"
        error = run("read", "Lock", "2A19", *transport, status=76)
        text = "Read Request (0x0A) for characteristic 2A19 rejected by the server: Insufficient Authentication (0x05)"
        assert error == f"ble: {device.address} (public): {text}. Run: {command}\n"
        output = output_of_both("inspect", "Lock", *transport)
        assert "Battery Level (2A19)" in output and text in output
        assert f"some values need a pairing. Run: {command}\n" in output
        with Terminal(*command.split()[1:]) as terminal:
            terminal.wait_for("The six digits that")
            terminal.tell("012345")
            check_paired(terminal, device.address, SECURE)
        check_bond(device.address, SECURE, transport)


def test_a_pairing_that_needs_a_passkey_says_that_it_needs_a_terminal(lock, tmp_path):
    """The bond was removed here: the device has one that is authenticated, and accepts no weaker one."""
    with radio(tmp_path) as transport, served(lock(passkey="012345"), transport, tmp_path) as device:
        with Terminal("pair", "Lock", "--authenticated", *transport) as terminal:
            terminal.wait_for("The six digits that")
            terminal.tell("012345")
            check_paired(terminal, device.address, SECURE)
        run("bonds", "--remove", device.address, *transport)
        error = run("read", "Lock", "2A19", *transport, status=76)
        assert error.endswith(f". Run: ble pair {device.address}-public --authenticated {' '.join(transport)}\n"), error
        assert "device that has a display" not in error
        for words in (["--authenticated"], []):
            error = run("pair", "Lock", *words, *transport, status=76)
            assert error.endswith(". Passkeys are displayed and entered on a terminal: run the command on one\n"), error


def output_of_both(*words):
    command = [*product("ble"), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr
