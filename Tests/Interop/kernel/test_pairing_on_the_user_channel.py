"""Our own security manager, on a controller that the kernel has given up, against the kernel's as the central's."""

import contextlib

import pytest
from pairing import KEYBOARD_ONLY, NOTHING, User, vault
from test_pairing import AUTHENTICATED, ENCRYPTED, last, never, refusal


@pytest.mark.parametrize("secure", [True, False])
@pytest.mark.parametrize("model", ["just works", "passkey"])
def test_both_generations(controllers, connect, drop, identity, logs, request, secure, model):
    name = request.node.name
    pairing = {"io": "display"} if model == "passkey" else {}
    with contextlib.closing(User(1, secure)) as user:
        with vault(logs, name, transport="hci-socket:0", **pairing) as program:
            client = connect()
            handles = client.characteristics()
            assert refusal(client, handles[ENCRYPTED]) == 0x05

            def enter(question, number):
                assert question == "enter"
                program.wait_for("passkey")
                return last(program, "passkey")

            capability, answer = (KEYBOARD_ONLY, enter) if pairing else (NOTHING, never)
            assert user.pair(identity[0], capability, answer) == 0
            program.wait_for("paired")
            assert client.read(handles[ENCRYPTED]) == b"secret"
            if pairing:
                assert client.read(handles[AUTHENTICATED]) == b"sealed"
            else:
                assert refusal(client, handles[AUTHENTICATED]) == 0x05
            drop(client)
            program.wait_for("disconnected")
        with vault(logs, name, transport="hci-socket:0", knows=True, **pairing) as program:
            client = connect()
            client.link.secure(2)
            assert client.read(handles[ENCRYPTED]) == b"secret"
            assert "paired" not in program.output and "bond lost" not in program.output
        user.unpair(identity[0])
