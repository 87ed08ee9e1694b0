"""The acceptance checks of `../shared/peers`, where that folder is: central, radio and database made by others."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import traces
from programs import ROOT, Program, python
from radios import have_tshark, ours, peripheral, rootcanal

PEERS = Path(os.environ.get("BLE_PEERS", ROOT.parent / "shared" / "peers"))

pytestmark = pytest.mark.skipif(
    not (PEERS / "central_check.py").exists(), reason=f"no acceptance checks at {PEERS} (BLE_PEERS names the folder)"
)


def check(transport, description, folder):
    """Runs the checks on the peripheral at the radio; gives their results and the last line."""
    results = folder / "results.json"
    command = python(PEERS / "central_check.py", "--transport", transport, "--desc", description, "--json", results)
    done = subprocess.run([*command, "--slow", "3"], capture_output=True, text=True, timeout=900)
    assert results.exists(), done.stdout + done.stderr
    failed = [
        f"{r['check']}: {r['detail']}" for r in json.loads(results.read_text())["results"] if r["status"] == "FAIL"
    ]
    return failed, done.stdout.strip().splitlines()[-1]


def accept(transport, folder, capsys, description=PEERS / "reference.json"):
    trace = folder / "peripheral.btsnoop"
    with peripheral(transport, description, folder, trace) as program:
        failed, closing = check(transport, description, folder)
        program.check_alive()
    with capsys.disabled():
        print(f"\n    central_check: {closing}")
    assert failed == []
    passed = re.match(r"(\d+) passed, 0 failed", closing)
    assert passed and int(passed[1]) >= 113, closing
    if have_tshark():
        traces.check(trace, least=1000)


@pytest.mark.parametrize(
    "options", [(), ("--acl-len", "27", "--acl-count", "1", "--no-ext-adv")], ids=["bumble", "bumble-small"]
)
def test_reference_peripheral_on_bumble(options, tmp_path, capsys):
    command = python(PEERS / "bumble_radio.py", "--port", 0, "--fix", *options)
    with Program(command, tmp_path / "radio.log") as radio:
        # The radio prints the address of a port it was given, not of one it was left to choose.
        accept(f"tcp-client:127.0.0.1:{radio.wait_for('READY').rsplit(':', 1)[1]}", tmp_path, capsys)


@pytest.mark.parametrize("options", [(), ("--acl-length", 27, "--acl-count", 1)], ids=["virtual", "virtual-small"])
def test_reference_peripheral_on_our_radio(options, tmp_path, capsys):
    with ours("virtual", tmp_path, *options) as radio:
        accept(radio.transport, tmp_path, capsys)
        radio.program.check_alive()


@pytest.mark.rootcanal
def test_reference_peripheral_on_rootcanal(tmp_path, capsys):
    with rootcanal("rootcanal", tmp_path) as radio:
        accept(radio.transport, tmp_path, capsys)
        radio.program.check_alive()
