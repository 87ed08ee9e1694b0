"""Our central on linux:hci1 pairs by itself, because a peripheral on hci0 refuses it a value."""

import contextlib
import json

import pytest
from bluetooth import Management
from conftest import wait_for_count
from pairing import bond_file
from programs import Program, product

pytestmark = pytest.mark.newer

STRAP = {
    "name": "Strap",
    "advertising": {"flags": 6, "uuids_complete": ["180D"]},
    "services": [
        {
            "uuid": "180D",
            "characteristics": [
                {"uuid": "2A38", "properties": ["read"], "value": "01", "permissions": {"read": "encrypted"}},
                {"uuid": "2A37", "properties": ["notify"], "value": ""},
            ],
        }
    ],
}


@pytest.fixture
def adapters(controllers):
    """Without what the other tests have paired."""
    with contextlib.closing(Management()) as management:
        for index in (0, 1):
            management.switch(index, 0)
            management.request(0x0013, index, b"\0\0")


@pytest.mark.parametrize("transport", ["linux:hci0", "hci-socket:0"])
def test_it_pairs_once_and_is_known_by_another_run(adapters, logs, monkeypatch, transport):
    place = "kernel" if transport.startswith("linux") else "channel"
    description = logs / "strap.json"
    description.write_text(json.dumps(STRAP))
    for role in ("strap", "watch"):
        bond_file(f"{role}-{place}").unlink(missing_ok=True)
    monkeypatch.setenv("BLE_BONDS", str(bond_file(f"strap-{place}")))
    command = [*product("reference-peripheral"), "--desc", description, "--transport", transport]
    with Program(command, logs / f"strap-{place}.txt") as strap:
        strap.wait_for("READY")
        monkeypatch.setenv("BLE_BONDS", str(bond_file(f"watch-{place}")))
        for run in (1, 2):
            words = ["--role", "central", "--transport", "linux:hci1", "--rounds", "1"]
            with Program([*product("heart-rate"), *words], logs / f"watch-{place}-{run}.txt") as watch:
                watch.wait_for("reads: worn on the chest")
            wait_for_count(strap, "disconnected", run)
        assert strap.output.count("\npaired") == 1 and "bond lost" not in strap.output
    bonds = json.loads(bond_file(f"watch-{place}").read_text())["bonds"]
    assert len(bonds) == 1 and "centralKey" in bonds[0]

    # A strap that has forgotten the bond is asked nothing: whoever cannot encrypt may be another device (BLESA).
    bond_file(f"strap-{place}").unlink()
    monkeypatch.setenv("BLE_BONDS", str(bond_file(f"strap-{place}")))
    with Program(command, logs / f"strap-{place}-forgetful.txt") as strap:
        strap.wait_for("READY")
        monkeypatch.setenv("BLE_BONDS", str(bond_file(f"watch-{place}")))
        words = ["--role", "central", "--transport", "linux:hci1", "--rounds", "1"]
        with Program([*product("heart-rate"), *words], logs / f"watch-{place}-3.txt") as watch:
            assert watch.wait_for_end() != 0
        assert "finds 18" not in watch.output and "reads" not in watch.output, watch.output
        strap.wait_for("bond lost")
        assert "\npaired" not in strap.output
    assert json.loads(bond_file(f"watch-{place}").read_text())["bonds"] == bonds
