"""The clients that people use on Linux, on hci1, against reference-peripheral on hci0."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import repetitions
from conftest import PATTERN, Peripheral
from daemon import BluetoothDaemon
from dialogue import DISCONNECTED, Dialogue

HERE = Path(__file__).resolve().parent
UUID = "7a3c{}-52d6-4c1e-9b0f-6d1e2f3a4b5c".format


@pytest.fixture(scope="module")
def daemon(controllers, logs):
    with BluetoothDaemon(logs, 2) as daemon:
        yield daemon


def test_btgatt_client(peripheral, identity, logs, tools):
    tool = os.environ.get("BTGATT_CLIENT") or tools("btgatt-client")
    for round in range(5):
        command = [tool, "-i", "hci1", "-d", identity[0], "-t", "public", "-m", "247"]
        with Dialogue(command, logs / f"btgatt-client{round}.txt") as client:
            client.wait_for("GATT discovery procedures complete")
            listed = client.wait_after(UUID("0008"), 0)
            handles = {
                uuid: int(handle, 16) for handle, uuid in re.findall(r"value: (0x\w+), props: .*uuid: (\S+)", listed)
            }
            long, text, control = (handles[UUID(short)] for short in ("0002", "0003", "0006"))
            assert "300 bytes" in client.ask(f"read-long-value {long:#x} 0", "Read value")
            octets = " ".join(f"{octet:#x}" for octet in range(40))
            assert "Write successful" in client.ask(f"write-long-value {text:#x} 0 {octets}", "Write")
            assert "40 bytes" in client.ask(f"read-value {text:#x}", "Read value")
            for short, order in (("0007", 1), ("0008", 2)):
                client.ask(f"register-notify {handles[UUID(short)]:#x}", "Registered notify handler")
                before = len(client.output)
                client.say(f"write-value {control:#x} {order} 20 0 20 0")
                last = "13 00 00 00"
                client.wait_after(last, before)
                assert client.output[before:].count("Handle Value Not/Ind") == 20
            client.say("quit")


def test_bluetoothctl(daemon, controllers, identity, logs, tools):
    with Peripheral("linux:hci0", logs / "bluetoothctl-peripheral.txt") as peripheral:
        peripheral.wait_for("READY")
        with Dialogue([tools("bluetoothctl")], logs / "bluetoothctl.txt") as control:
            control.ask(f"select {identity[1]}", identity[1])
            control.ask("scan on", f"Device {identity[0]}")
            control.say("scan off")
            for _ in range(5):
                control.ask(f"connect {identity[0]}", "ServicesResolved: yes")
                control.say("menu gatt")
                control.ask(f"select-attribute {UUID('0003')}", "0003")
                control.ask("write \"0x41 0x42 0x43\"", "Attempting to write")
                control.ask("read", "41 42 43")
                control.say("back")
                control.ask(f"disconnect {identity[0]}", *DISCONNECTED)
            control.say("quit")
        peripheral.check_alive()


def test_bleak(daemon, controllers, logs):
    with Peripheral("linux:hci0", logs / "bleak-peripheral.txt") as peripheral:
        peripheral.wait_for("READY")
        command = [sys.executable, HERE / "bleak_client.py", "hci1", "Weather Station 7", "5"]
        printed = run_bleak(command, logs / "bleak.txt")
        peripheral.check_alive()
    check(printed, 5)


def run_bleak(command, log):
    """What it prints. Its repetitions are those of the test; the wait for each of its steps has the limit."""
    with open(log, "a+") as errors:
        begin = errors.tell()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        errors.seek(begin)
        lines = errors.read().splitlines()
    for line in lines:
        if line.startswith("repeated: "):
            repetitions.allowed(line.removeprefix("repeated: "))
    assert done.returncode == 0, lines[-1] if lines else f"ended with {done.returncode}"
    return done.stdout


def check(lines, rounds):
    lines = lines.splitlines()
    assert len(lines) == rounds
    for line in lines:
        found = json.loads(line)
        assert UUID("0001") in found["services"]
        assert bytes.fromhex(found["long"]) == PATTERN
        assert bytes.fromhex(found["written"]) == bytes(range(150))
        assert found["command"] == "mbar"
        assert found["values"] == {"0007": list(range(20)), "0008": list(range(20))}


def test_bleak_while_we_drive_the_controller_ourselves(daemon, controllers, logs):
    with Peripheral("hci-socket:0", logs / "bleak-channel-peripheral.txt") as peripheral:
        peripheral.wait_for("READY")
        command = [sys.executable, HERE / "bleak_client.py", "hci1", "Weather Station 7", "2"]
        printed = run_bleak(command, logs / "bleak-channel.txt")
        peripheral.check_alive()
    check(printed, 2)
