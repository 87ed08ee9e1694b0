"""The ways to say which adapter is meant."""

import contextlib
import subprocess

import pytest
from bluetooth import Management
from conftest import Controllers, DESCRIPTION, PATTERN, Peripheral, addresses, long_uuid
from programs import LIMIT, product


def check(connect, drop, *, adapter, to):
    client = connect(adapter, to=to)
    assert client.read_long(client.characteristics()[long_uuid("0002")]) == PATTERN
    drop(client, adapter, to)


@pytest.mark.parametrize("name", ["linux", "linux:{0}", "linux:{3}"])
def test_the_first_and_by_address(controllers, connect, drop, identity, logs, name):
    meant = identity[3 if "3" in name else 0]
    with Peripheral(name.format(*identity.values()), logs / "named.txt") as peripheral:
        peripheral.wait_for("READY")
        check(connect, drop, adapter=1, to=meant)


def test_the_first_is_one_with_low_energy(controllers, connect, drop, logs):
    controllers.stop()
    others = [Controllers(logs, 1), Controllers(logs, 2)]
    try:
        others[0].start("-B")
        others[1].start()
        found = addresses()
        assert sorted(found) == [0, 1, 2]
        with Peripheral("linux", logs / "first.txt") as peripheral:
            peripheral.wait_for("READY")
            client = connect(found[2], to=found[1])
            assert client.characteristics()
            client.link.close()
    finally:
        for program in others:
            program.stop()
        controllers.start()


def test_an_address_that_nobody_has(controllers):
    done = subprocess.run(
        [*product("reference-peripheral"), "--desc", DESCRIPTION, "--transport", "linux:F0:F1:F2:F3:F4:F5"],
        capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    assert done.returncode == 69 and "there is no adapter with the address F0:F1:F2:F3:F4:F5" in done.stderr


def test_one_that_another_program_took(controllers, logs):
    with Peripheral("hci-socket:0", logs / "taking.txt") as program:
        program.wait_for("READY")
        done = subprocess.run(
            [*product("reference-peripheral"), "--desc", DESCRIPTION, "--transport", "linux:hci0"],
            capture_output=True, text=True, timeout=LIMIT,
        )  # fmt: skip
    assert done.returncode == 75 and "another program uses" in done.stderr
    with contextlib.closing(Management()) as management:
        assert 0 in management.indices()
