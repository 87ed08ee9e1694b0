"""`ble doctor` in each state of a machine: what it finds, its remedy, and its exit status."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from bluetooth import Management
from daemon import BluetoothDaemon
from programs import LIMIT, product
from test_permissions import NOBODY
from test_radio_switch import block, blockable  # noqa: F401


def doctor(*words, before=(), program=None):
    """The exit status, the report by the name of each check, and the output for a person."""
    command = [*before, *([program] if program else product("ble")), "doctor", *words]
    report = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=LIMIT)
    assert report.stdout, report.stderr
    text = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    assert text.returncode == report.returncode
    found = json.loads(report.stdout)
    assert found["works"] == (report.returncode == 0)
    return report.returncode, {check["name"]: check for check in found["checks"]}, text.stdout


def failures(checks):
    return {name: check["remedy"] for name, check in checks.items() if check["verdict"] == "failure"}


def test_root_with_an_adapter(controllers):
    status, checks, text = doctor("--transport", "linux:hci0")
    assert status == 0 and failures(checks) == {}
    assert "hci0" in checks["adapters"]["finding"] and checks["bluetoothd"]["finding"] == "not running"
    assert checks["controller"]["finding"].startswith("Bluetooth ") and "LE 1M" in checks["PHYs"]["finding"]
    assert "The adapter works." in text and all(len(line) <= 80 for line in text.splitlines())


def test_the_user_channel(controllers):
    with_management = Management()
    try:
        status, checks, _ = doctor("--transport", "hci-socket:0")
        assert status == 0 and failures(checks) == {}
    finally:
        controllers.switch_on(with_management, [0])
        with_management.close()


def test_a_user_without_capabilities(controllers):
    path = Path("/run/ble")
    shutil.copy(product("ble")[0], path)
    os.chmod(path, 0o755)
    status, checks, text = doctor(before=NOBODY, program=path)
    remedy = f"Run: sudo setcap 'cap_net_raw,cap_net_admin+eip' {path}"
    assert status == 77 and failures(checks) == {"permissions": remedy}
    assert " ".join(text.split()).count(remedy) == 1


def test_with_bluetoothd_running(controllers, logs):
    with BluetoothDaemon(logs, 2):
        status, checks, _ = doctor("--transport", "linux:hci0")
        assert status == 0 and "systemctl stop bluetooth" in checks["bluetoothd"]["remedy"]
        assert failures(checks) == {}


def test_with_the_adapter_blocked(blockable, controllers):  # noqa: F811
    block(True)
    status, checks, _ = doctor("--transport", "linux:hci0")
    assert status == 69
    assert failures(checks)["radio switch hci0"] == "Run: sudo rfkill unblock bluetooth"


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is missing")
def test_in_a_container_without_the_flags(controllers):
    status, checks, _ = doctor(before=["unshare", "--net"])
    assert status == 69
    assert failures(checks) == {"kernel": "Run the container with --net host --cap-add NET_ADMIN --cap-add NET_RAW."}
