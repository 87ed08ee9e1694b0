"""The acceptance checks of `../shared/peers`, where that folder is: central, radio and database made by others."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import traces
from our_central import model, our_central
from programs import LIMIT, ROOT, Program, product, python
from radios import have_tshark, ours, peripheral, rootcanal

PEERS = Path(os.environ.get("BLE_PEERS", ROOT.parent / "shared" / "peers"))

pytestmark = pytest.mark.skipif(
    not (PEERS / "central_check.py").exists(), reason=f"no acceptance checks at {PEERS} (BLE_PEERS names the folder)"
)


def check(transport, description, folder):
    """Runs the checks on the peripheral at the radio; gives their results and the last line."""
    results = folder / "results.json"
    command = python(PEERS / "central_check.py", "--transport", transport, "--desc", description, "--json", results)
    done = subprocess.run([*command, "--slow", "3"], capture_output=True, text=True, timeout=5 * LIMIT)
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


@pytest.mark.early
@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="bumble"),
        pytest.param(
            ("--acl-len", "27", "--acl-count", "1", "--no-ext-adv"), id="bumble-small", marks=pytest.mark.other_radios
        ),
    ],
)
def test_reference_peripheral_on_bumble(options, tmp_path, capsys):
    command = python(PEERS / "bumble_radio.py", "--port", 0, "--fix", *options)
    with Program(command, tmp_path / "radio.log") as radio:
        # The radio prints the address of a port it was given, not of one it was left to choose.
        accept(f"tcp-client:127.0.0.1:{radio.wait_for('READY').rsplit(':', 1)[1]}", tmp_path, capsys)


@pytest.mark.early
@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="virtual"),
        pytest.param(("--acl-length", 27, "--acl-count", 1), id="virtual-small", marks=pytest.mark.other_radios),
    ],
)
def test_reference_peripheral_on_our_radio(options, tmp_path, capsys):
    with ours("virtual", tmp_path, *options) as radio:
        accept(radio.transport, tmp_path, capsys)
        radio.program.check_alive()


# A person at the device compares or types digits.
NOT_IN_A_COPY = {
    "pair.sc_central_display_yes_no", "pair.sc_central_keyboard",
    "pair.sc_central_keyboard_display", "pair.legacy_central_keyboard", "pair.legacy_central_keyboard_display",
}


@pytest.mark.early
def test_a_copy_of_the_reference_peripheral(tmp_path, capsys):
    """`ble twin` makes the copy from the trace of the checks; the checks pass on the copy, too."""
    description, copy = PEERS / "reference.json", tmp_path / "copy.json"
    with ours("virtual", tmp_path) as radio:
        accept(radio.transport, tmp_path, capsys)
        [ble] = product("ble")
        trace = tmp_path / "peripheral.btsnoop"
        made = subprocess.run([ble, "twin", trace], capture_output=True, text=True, timeout=LIMIT)
        assert made.returncode == 0, made.stderr
        copy.write_text(made.stdout)
        copy.chmod(0o600)
        served = ["env", f"XDG_STATE_HOME={tmp_path / 'state'}", ble, "serve", copy, "--transport", radio.transport]
        with Program(served, tmp_path / "copy.log") as program:
            program.wait_for("READY")
            failed, closing = check(radio.transport, description, tmp_path)
            program.check_alive()
    with capsys.disabled():
        print(f"\n    central_check of the copy: {closing}")
    assert {text.split(":")[0] for text in failed} == NOT_IN_A_COPY, failed
    passed = re.match(r"(\d+) passed", closing)
    assert passed and int(passed[1]) >= 108, closing


@pytest.mark.rootcanal
def test_reference_peripheral_on_rootcanal(tmp_path, capsys):
    with rootcanal("rootcanal", tmp_path) as radio:
        accept(radio.transport, tmp_path, capsys)
        radio.program.check_alive()


def peer(radio, folder, *options):
    """The peripheral of `../shared/peers`, as strict as the specification."""
    command = python(PEERS / "peripheral_peer.py", "--transport", radio.transport, "--strict", "--log", folder / "seen.jsonl")
    return Program([*command, *options], folder / "peer.log")


def seen(folder):
    """The events that the peer has logged."""
    return [json.loads(line)["event"] for line in (folder / "seen.jsonl").read_text().splitlines()]


def value(short):
    return f"B1E001{short}-0000-4000-8000-5357494654AB"


SHORT, LONG, STREAM, ENCRYPTED, AUTHENTICATED, CONTROL = map(value, ("01", "02", "05", "07", "08", "09"))


@pytest.mark.parametrize("generation", ["sc", "legacy"])
@pytest.mark.parametrize("io", ["display", "display_yes_no", "keyboard", "none", "keyboard_display"])
async def test_reference_central_with_a_strict_peripheral(io, generation, tmp_path):
    """Every IO capability and both generations of pairing: one question for one attempt, errors with their type."""
    options = ["--io", io] + (["--no-sc"] if generation == "legacy" else [])
    with ours("virtual", tmp_path) as radio, peer(radio, tmp_path, *options) as strict:
        strict.wait_for("READY")
        with our_central(radio, tmp_path, "--io", "keyboard") as central:
            await central.connect("RefPeer")
            assert await central.read(SHORT) == b"hello".hex()
            assert await central.read(LONG) == bytes(7 * i & 0xFF for i in range(512)).hex()
            central.do(f"subscribe {STREAM}")
            assert await central.wait_for("subscription") == f"subscription {STREAM} done"
            central.do(f"write {CONTROL} 0114000800")
            for number in range(20):
                octets = number.to_bytes(4, "little") + bytes((number + i) & 0xFF for i in range(4))
                assert await central.wait_for(f"value {STREAM}") == f"value {STREAM} {octets.hex()}"
            question = model("keyboard", io.replace("_", "-"), generation == "sc")
            central.do(f"read {ENCRYPTED}")
            if question:
                await central.wait_for(f"asked {question}")
                central.do("passkey 123456")
            assert await central.wait_for(f"value {ENCRYPTED}") == f"value {ENCRYPTED} {b'secret'.hex()}"
            answer = await central.read(AUTHENTICATED)
            assert answer == b"mitm-secret".hex() if question else answer.startswith("error CBATTErrorDomain 5 ")
            assert central.count("asked") == (1 if question else 0)
            central.do("disconnect")
            await central.wait_for("disconnected")
        assert seen(tmp_path).count("pairing") == 1, seen(tmp_path)


@pytest.mark.parametrize("fault", ["slow", "unexpected", pytest.param("noreply", marks=pytest.mark.slow), "dropconn"])
async def test_reference_central_with_a_faulty_peripheral(fault, tmp_path):
    with ours("virtual", tmp_path) as radio, peer(radio, tmp_path, "--fault", fault) as faulty:
        faulty.wait_for("READY")
        with our_central(radio, tmp_path) as central:
            if fault == "dropconn":
                await central.wait_for("READY")
                central.do("connect RefPeer")
                assert "CBErrorDomain 7 " in await central.wait_for("disconnected")
                return
            await central.connect("RefPeer")
            answer = await central.read(SHORT)
            if fault == "noreply":
                assert answer.startswith("error ")
                await central.wait_for("disconnected")
            else:
                assert answer == b"hello".hex() and central.count("disconnected") == 0
