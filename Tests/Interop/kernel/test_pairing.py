"""Pairing through the kernel's security manager, seen from a central that is nothing but the kernel's sockets."""

import contextlib
import re
import struct

import pytest
from bluetooth import Refused
from conftest import PATTERN, long_uuid
from pairing import NEW_KEY, DISPLAY_ONLY, DISPLAY_YES_NO, KEYBOARD_ONLY, NOTHING, User, bond_file, vault

pytestmark = pytest.mark.newer

OPEN, ENCRYPTED, AUTHENTICATED = (
    bytes.fromhex(f"7a3c{short}52d64c1e9b0f6d1e2f3a4b5c")[::-1] for short in ("0101", "0102", "0103")
)
CONTROL, LONG = long_uuid("0006"), long_uuid("0002")
# Types of long term keys in the management protocol.
LEGACY, LEGACY_AUTHENTICATED, SECURE, SECURE_AUTHENTICATED = range(4)


@pytest.fixture
def user(controllers, identity, drop):
    with contextlib.closing(User(1)) as user:
        yield user
        user.unpair(identity[0])


def refusal(client, handle):
    with pytest.raises(Refused) as refused:
        client.read(handle)
    return refused.value.code


def never(question, number):
    raise AssertionError(f"asked to {question} {number}")


def last(program, word):
    return int(re.findall(rf"{word} (\d+)", program.output)[-1])


def test_just_works(user, connect, identity, logs, request):
    with vault(logs, request.node.name) as program:
        client = connect()
        handles = client.characteristics()
        assert client.read(handles[OPEN]) == b"open"
        assert refusal(client, handles[ENCRYPTED]) == 0x05
        assert user.pair(identity[0], NOTHING, never) == 0
        assert user.key_types == [SECURE]
        program.wait_for("paired")
        assert client.read(handles[ENCRYPTED]) == b"secret"
        assert refusal(client, handles[AUTHENTICATED]) == 0x05


@pytest.mark.parametrize("secure, key", [(True, SECURE_AUTHENTICATED), (False, LEGACY_AUTHENTICATED)])
def test_a_passkey_that_we_show(controllers, connect, drop, identity, logs, request, secure, key):
    with contextlib.closing(User(1, secure)) as user:
        with vault(logs, request.node.name, io="display") as program:
            client = connect()
            handles = client.characteristics()
            assert refusal(client, handles[AUTHENTICATED]) == 0x05

            def answer(question, number):
                assert question == "enter"
                program.wait_for("passkey")
                return last(program, "passkey")

            assert user.pair(identity[0], KEYBOARD_ONLY, answer) == 0
            assert key in user.key_types
            program.wait_for("paired")
            assert client.read(handles[AUTHENTICATED]) == b"sealed"
            assert client.read(handles[ENCRYPTED]) == b"secret"
        user.unpair(identity[0])


def test_a_wrong_passkey(user, connect, identity, logs, request):
    with vault(logs, request.node.name, io="display") as program:
        client = connect()
        handles = client.characteristics()

        def answer(question, number):
            program.wait_for("passkey")
            return (last(program, "passkey") + 1) % 1_000_000

        assert user.pair(identity[0], KEYBOARD_ONLY, answer) == 5
        program.wait_for("not paired")
        # The central's kernel ends a link whose pairing failed.
        program.wait_for("disconnected")
        client.link.close()
        assert refusal(connect(), handles[ENCRYPTED]) == 0x05


def test_a_passkey_that_we_ask_for(user, connect, identity, logs, request):
    with vault(logs, request.node.name, io="keyboard") as program:
        client = connect()
        handles = client.characteristics()

        def answer(question, number):
            assert question == "show"
            program.process.stdin.write(f"{number}\n".encode())
            program.process.stdin.flush()

        assert user.pair(identity[0], DISPLAY_ONLY, answer) == 0
        assert user.key_types == [SECURE_AUTHENTICATED]
        assert client.read(handles[AUTHENTICATED]) == b"sealed"


@pytest.mark.parametrize("agrees", [True, False])
def test_two_numbers_compared(user, connect, identity, logs, request, agrees):
    with vault(logs, request.node.name, io="display_yes_no") as program:
        client = connect()
        handles = client.characteristics()

        def answer(question, number):
            assert question == "compare"
            program.wait_for("compared")
            assert last(program, "compared") == number
            return agrees

        assert user.pair(identity[0], DISPLAY_YES_NO, answer) == (0 if agrees else 5)
        if agrees:
            assert client.read(handles[AUTHENTICATED]) == b"sealed"
        else:
            program.wait_for("not paired")
            program.wait_for("disconnected")
            client.link.close()
            assert refusal(connect(), handles[AUTHENTICATED]) == 0x05


@pytest.fixture
def bonded(user, connect, drop, identity, logs):
    """Pairs, leaves and ends the program of that name; gives the handles."""

    def bonded(name):
        with vault(logs, name) as program:
            client = connect()
            handles = client.characteristics()
            assert user.pair(identity[0], NOTHING, never) == 0
            program.wait_for("paired")
            drop(client)
            program.wait_for("disconnected")
        return handles

    return bonded


def test_a_bond_outlives_our_process(bonded, connect, logs, request):
    name = request.node.name
    handles = bonded(name)
    bonds = bond_file(name)
    assert bonds.stat().st_mode & 0o777 == 0o600
    keys = re.findall(r'"([0-9a-fA-F]{32})"', bonds.read_text())
    assert len(keys) >= 2
    for key in map(bytes.fromhex, keys):
        for place in (logs / f"{name}.txt", logs / f"{name}.btsnoop"):
            seen = place.read_bytes()
            assert not any(secret in seen for secret in (key, key[::-1], key.hex().encode(), key.hex().upper().encode()))
    with vault(logs, name, knows=True) as program:
        client = connect()
        # The central encrypts with the key it has: BT_SECURITY, level 2.
        client.link.secure(2)
        assert client.read(handles[ENCRYPTED]) == b"secret"
        assert "paired" not in program.output and "bond lost" not in program.output


def test_a_central_whose_bond_is_not_known_here(bonded, connect, logs, request):
    name = request.node.name
    bonded(name)
    with vault(logs, name) as program:
        client = connect()
        client.link.demand(2)
        assert "remove it on the device" in program.wait_for("bond lost")
        # The link ends, or it stays without a key.
        with contextlib.suppress(OSError):
            assert not client.link.is_secure(2)


def test_a_private_central_is_known_again(user, bonded, connect, drop, logs, request):
    """It uses a new resolvable private address after each start of its adapter."""
    name = request.node.name
    user.hide(True)
    try:
        handles = bonded(name)
        with vault(logs, name, knows=True) as program:
            for _ in range(3):
                user.restart()
                client = connect()
                client.link.secure(2)
                assert client.read(handles[ENCRYPTED]) == b"secret"
                drop(client)
            names = re.findall(r"^connected (\S+)", program.output, re.MULTILINE)
        assert len(names) == 3 and len(set(names)) == 1
        trace = (logs / f"{name}.btsnoop").read_bytes()
        # LE Enhanced Connection Complete: success, handle, peripheral, a random address.
        addresses = re.findall(rb"\x04\x3e\x1f\x0a\x00..\x01\x01(.{6})", trace, re.DOTALL)
        assert len(set(addresses)) == 3 and all(address[5] >> 6 == 0b01 for address in addresses)
    finally:
        user.hide(False)


def test_pairing_that_we_ask_for(user, connect, identity, logs, request):
    with vault(logs, request.node.name, file="weather.json") as program:
        client = connect()
        handles = client.characteristics()
        client.write_command(handles[CONTROL], b"\x05")
        user.serve(never, lambda event, _: True if event == NEW_KEY else None)
        program.wait_for("paired")
        assert client.link.security() == (2, 16)
        assert client.read(handles[LONG]) == PATTERN[:22]


def test_a_central_that_does_not_want_what_we_ask_for(user, connect, logs, request):
    """Its kernel refuses to bond; ours carries no ATT until the link is encrypted, so the link is ended and another works."""
    user.switch(1, 0, user.BONDABLE)
    with vault(logs, request.node.name, file="weather.json") as program:
        client = connect()
        handles = client.characteristics()
        client.write_command(handles[CONTROL], b"\x05")
        program.wait_for("not paired")
        program.wait_for("disconnected")
        client.link.close()
        client = connect()
        assert client.read(handles[LONG]) == PATTERN[:22]
        # Asked again on a link that is secure already, nothing happens.
        user.switch(1, 1, user.BONDABLE)
        for _ in range(2):
            client.write_command(handles[CONTROL], b"\x05")
            if client.link.security()[0] < 2:
                user.serve(never, lambda event, _: True if event == NEW_KEY else None)
            assert client.read(handles[LONG]) == PATTERN[:22]


def test_what_the_kernel_offers_is_what_the_program_allows(user, connect, identity, logs, request):
    """A user who does not bond gets no bond; Secure Connections alone takes no legacy pairing."""
    with vault(logs, request.node.name, bonding=False) as program:
        client = connect()
        client.characteristics()
        assert user.pair(identity[0], NOTHING, never) != 0
        assert "\npaired" not in program.output
