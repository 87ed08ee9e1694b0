"""The clients that people use on Linux pair with us: bluetoothd on hci1, and none on our adapter."""

import json
import sys
from pathlib import Path

import pytest
from daemon import BluetoothDaemon
from dialogue import DISCONNECTED, Dialogue
from pairing import vault
from test_bluez_clients import UUID, run_bleak

HERE = Path(__file__).resolve().parent
# What the peripheral has and what the central has, and what the central's user is asked.
MODELS = {
    "just-works": (None, "NoInputNoOutput", None),
    "passkey": ("display", "KeyboardOnly", "enter"),
    "numeric-comparison": ("display_yes_no", "DisplayYesNo", "compare"),
}


@pytest.fixture
def daemon(controllers, logs):
    with BluetoothDaemon(logs, 2, hides_ours=True) as daemon:
        yield daemon


def bleak(logs, name, capability):
    command = [sys.executable, HERE / "bleak_pairing.py", "hci1", "Vault", capability, logs / f"{name}.txt"]
    return json.loads(run_bleak(command, logs / f"{name}-bleak.txt"))


def check(read, is_authenticated):
    assert read["0102"] == "secret"
    assert (read["0103"] == "sealed") == is_authenticated, read


@pytest.mark.parametrize("model", MODELS)
def test_bleak(daemon, logs, request, model):
    name = f"bleak-pairing-{model}"
    ours, theirs, asked = MODELS[model]
    pairing = {"io": ours} if ours else {}
    with vault(logs, name, **pairing) as program:
        found = bleak(logs, name, theirs)
        program.wait_for("paired")
        check(found["read"], ours is not None)
        assert (asked in found["asked"]) == (asked is not None)
    # Another run of our program knows the central, and the central has no more to be asked.
    with vault(logs, name, knows=True, **pairing) as program:
        found = bleak(logs, name, "")
        check(found["read"], ours is not None)
        assert found["asked"] == [] and "paired" not in program.output


@pytest.mark.parametrize("model", MODELS)
def test_bluetoothctl(daemon, identity, logs, tools, model):
    name = f"bluetoothctl-pairing-{model}"
    ours, theirs, asked = MODELS[model]
    pairing = {"io": ours} if ours else {}
    with Dialogue([tools("bluetoothctl"), "--agent", theirs], logs / f"{name}-bluetoothctl.txt") as control:
        control.wait_after("Agent registered", 0)
        control.ask(f"select {identity[1]}", identity[1])
        control.ask("default-agent", "Default agent request successful")
        with vault(logs, name, **pairing) as program:
            control.ask("scan on", f"Device {identity[0]}")
            control.say("scan off")
            before = len(control.output)
            control.say(f"pair {identity[0]}")
            if asked == "enter":
                control.wait_after("Enter passkey", before)
                control.say(program.wait_for("passkey").split()[-1])
            elif asked == "compare":
                shown = program.wait_for("compared").split()[-1]
                control.wait_after(f"Confirm passkey {int(shown):06}", before)
                control.say("yes")
            control.wait_after("Pairing successful", before)
            program.wait_for("paired")
            read(control, ours is not None)
            control.ask(f"disconnect {identity[0]}", *DISCONNECTED)
        with vault(logs, name, knows=True, **pairing) as program:
            control.ask(f"connect {identity[0]}", "Connection successful")
            read(control, ours is not None)
            assert "paired" not in program.output
            control.ask(f"disconnect {identity[0]}", *DISCONNECTED)
        control.say(f"remove {identity[0]}")
        control.say("quit")


def read(control, is_authenticated):
    control.say("menu gatt")
    for short, value in (("0102", "73 65 63 72 65 74"), ("0103", "73 65 61 6c 65 64" if is_authenticated else "Failed")):
        control.ask(f"select-attribute {UUID(short)}", short)
        control.ask("read", value)
    control.say("back")


def test_where_bluetoothd_has_our_adapter_it_pairs(controllers, logs):
    """Its agent is asked and its keys are used; we stay out of it and learn from the kernel what a link is worth."""
    name = "bluetoothd-pairs"
    with BluetoothDaemon(logs, 2), vault(logs, name) as program:
        program.wait_for("bluetoothd is running and pairs with its own agent")
        found = bleak(logs, name, "NoInputNoOutput")
        check(found["read"], False)
        assert "\npaired" not in program.output
