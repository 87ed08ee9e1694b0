"""Bonded devices that connect again: twenty times, with the keys of their bond, and without a scan."""

import contextlib

import pytest
from bluetooth import Monitor
from managers import managers
from pairing import NOTHING, User, vault

pytestmark = pytest.mark.newer

ROUNDS = 20
ENCRYPTED = bytes.fromhex("7a3c010252d64c1e9b0f6d1e2f3a4b5c")[::-1]
START_DISCOVERY = 0x0023


@pytest.mark.parametrize("hides", [False, True], ids=["identity", "private"])
def test_a_bonded_central(controllers, connect, drop, identity, logs, request, hides):
    """The kernel's central, by its identity or by a resolvable private address."""
    with contextlib.closing(User(1)) as user:
        if hides:
            user.hide(True)
        try:
            with vault(logs, request.node.name) as program, Monitor(1) as monitor:
                handles = connect().characteristics()
                assert user.pair(identity[0], NOTHING, lambda *_: pytest.fail("a question")) == 0
                program.wait_for("paired")
                user.disconnect(1, identity[0])
                for _ in range(ROUNDS):
                    client = connect()
                    client.link.secure(2)
                    assert client.read(handles[ENCRYPTED]) == b"secret"
                    drop(client)
                assert monitor.requests(START_DISCOVERY) == []
                assert program.output.count("\npaired") == 1 and "bond lost" not in program.output
        finally:
            user.unpair(identity[0])
            if hides:
                user.hide(False)


@pytest.mark.parametrize("transport", ["linux:hci0", "hci-socket:0"])
def test_a_bonded_peripheral(controllers, identity, logs, request, transport):
    """Our central, in two runs of the program: the second has the bond from its file."""
    name = transport.split(":")[0]
    with contextlib.closing(User(1)), vault(logs, f"bonded-{name}", transport) as program, Monitor(1) as monitor:
        for run in range(2):
            with managers(logs, f"central-{name}", "linux:hci1", keeps_bonds=run > 0) as central:
                for _ in range(ROUNDS // 2):
                    central.ask(f"k connect {identity[0]}", "k connected")
                    answer = central.ask(
                        "k read 7a3c0100-52d6-4c1e-9b0f-6d1e2f3a4b5c 7a3c0102-52d6-4c1e-9b0f-6d1e2f3a4b5c", "k value"
                    )
                    assert b"secret".hex() in answer
                    central.ask("k disconnect", "k disconnected")
        assert monitor.scans() == 0
        assert program.output.count("\npaired") == 1 and "bond lost" not in program.output
