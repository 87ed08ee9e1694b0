"""The examples that are scripts, with the programs that stand in for those of a user, and with one that errs."""

import pytest
from programs import ROOT, Program, product


def run(example, folder, *environment):
    """The status of the script and its output. Its programs end with it."""
    [ble], [gateway] = product("ble"), product("ble-gateway")
    command = ["env", f"BLE={ble}", f"GATEWAY={gateway}", *environment, ROOT / "Examples" / example / "test"]
    with Program(command, folder / "script.log") as program:
        return program.wait_for_end(), program.output


@pytest.mark.slow
@pytest.mark.parametrize("example, checks", [("FirmwareTest", 6), ("GatewayTest", 5)])
def test_a_stand_in_passes(example, checks, tmp_path):
    status, output = run(example, tmp_path)
    assert status == 0, output
    numbers = [line.split(" - ")[0] for line in output.splitlines() if " - " in line]
    assert numbers == [f"ok {number + 1}" for number in range(checks)]
    assert output.splitlines()[-1] == f"1..{checks}"


def test_a_firmware_without_a_service_fails(tmp_path):
    """The thermometer has another temperature, and takes writes of it."""
    description = (ROOT / "Examples/FirmwareTest/thermometer.json").read_text()
    wrong = description.replace("21.50 °C", "20.00 °C").replace('["read", "notify"]', '["read", "write", "notify"]')
    (tmp_path / "wrong.json").write_text(wrong)
    firmware = f'"$BLE" serve {tmp_path}/wrong.json --transport tcp-client:$HCI_HOST:$HCI_PORT'
    status, output = run("FirmwareTest", tmp_path, f"FIRMWARE={firmware}")
    assert status == 1
    failed = [line for line in output.splitlines() if line.startswith("not ok")]
    assert [line.split(" - ")[0] for line in failed] == ["not ok 1", "not ok 2", "not ok 3"], output
