"""The examples that are scripts: tests of a firmware and of an integration, with their stand-ins and with ones that err."""

import os
import subprocess

import pytest
from programs import ROOT, product

LIMIT = 240


def run(example, **environment):
    [ble], [gateway] = product("ble"), product("ble-gateway")
    variables = os.environ | {"BLE": str(ble), "GATEWAY": str(gateway)} | environment
    done = subprocess.run([ROOT / "Examples" / example / "test"], env=variables, capture_output=True, text=True, timeout=LIMIT)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("example, checks", [("FirmwareTest", 6), ("GatewayTest", 5)])
def test_a_stand_in_passes(example, checks):
    status, output = run(example)
    assert status == 0, output
    assert [line.split(" - ")[0] for line in output.splitlines() if " - " in line] == [f"ok {n + 1}" for n in range(checks)]
    assert output.splitlines()[-1] == f"1..{checks}"


def test_a_firmware_without_a_service_fails(tmp_path):
    """The thermometer has another temperature, and takes writes of it."""
    description = (ROOT / "Examples/FirmwareTest/thermometer.json").read_text()
    wrong = description.replace("21.50 °C", "20.00 °C").replace('["read", "notify"]', '["read", "write", "notify"]')
    (tmp_path / "wrong.json").write_text(wrong)
    status, output = run(
        "FirmwareTest", FIRMWARE=f'"$BLE" serve {tmp_path}/wrong.json --transport tcp-client:$HCI_HOST:$HCI_PORT')
    assert status == 1
    failed = [line for line in output.splitlines() if line.startswith("not ok")]
    assert [line.split(" - ")[0] for line in failed] == ["not ok 1", "not ok 2", "not ok 3"], output
