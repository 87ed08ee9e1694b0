"""Our central against peripherals of Bumble's host that demand security: one question an attempt, errors with their type."""

import itertools
import time

import pytest
from bumble.gatt import Service
from bumble.smp import Session
from our_central import model, our_central
from radios import RADIOS, parameters
from secured_peripheral import IO, NAME, OPEN, PASSKEY, SEALED, SECRET, VALUES, FailingSession, SecuredPeripheral, WrongConfirmSession

NAMES = {
    "none": IO.NO_OUTPUT_NO_INPUT,
    "display": IO.DISPLAY_OUTPUT_ONLY,
    "display-yes-no": IO.DISPLAY_OUTPUT_AND_YES_NO_INPUT,
    "keyboard": IO.KEYBOARD_INPUT_ONLY,
    "keyboard-display": IO.DISPLAY_OUTPUT_AND_KEYBOARD_INPUT,
}


@pytest.fixture(scope="module", params=parameters("bumble", "virtual", "rootcanal"))
def radio(request, tmp_path_factory):
    with RADIOS[request.param](tmp_path_factory.mktemp(request.param)) as radio:
        yield radio
        radio.program.check_alive()


def hexadecimal(uuid):
    return VALUES[uuid].hex()


@pytest.mark.parametrize("sc", [True, False], ids=["sc", "legacy"])
@pytest.mark.parametrize("ours, theirs", list(itertools.product(("none", "display-yes-no", "keyboard-display"), NAMES)))
async def test_a_refused_read_pairs_once(radio, tmp_path, ours, theirs, sc):
    async with SecuredPeripheral(radio.transport, NAMES[theirs], sc) as peripheral:
        with our_central(radio, tmp_path, "--io", ours) as central:
            await central.connect(NAME)
            assert await central.read(OPEN) == hexadecimal(OPEN)
            assert peripheral.pairings == 0
            question = model(ours, theirs, sc)
            central.do(f"read {SECRET}")
            if question:
                asked = await central.wait_for(f"asked {question}")
                if question == "display":
                    # Their user types what is shown here.
                    peripheral.passkey.set_result(int(asked.split()[-1]))
                elif question == "passkey":
                    central.do(f"passkey {PASSKEY}")
                else:
                    central.do("consent yes")
            line = await central.wait_for(f"value {SECRET}")
            assert line == f"value {SECRET} {hexadecimal(SECRET)}"
            assert peripheral.pairings == 1 and central.count("paired") == 1
            assert central.count("asked") == (1 if question else 0)

            sealed = await central.read(SEALED)
            if question:
                assert sealed == hexadecimal(SEALED)
            else:
                # Just Works again would not help: nobody can be asked.
                assert sealed.startswith("error CBATTErrorDomain 5 ")
            # A second pairing would begin before this read.
            assert await central.read(OPEN) == hexadecimal(OPEN)
            assert peripheral.pairings == 1, central.program.output


@pytest.mark.parametrize("sc", [True, False], ids=["sc", "legacy"])
async def test_a_peripheral_that_rejects_pairing_is_asked_once(radio, tmp_path, sc):
    async with SecuredPeripheral(radio.transport, sc=sc, accepts=False) as peripheral:
        with our_central(radio, tmp_path) as central:
            await central.connect(NAME)
            assert (await central.read(SECRET)).startswith("error CBATTErrorDomain 5 ")
            assert await central.read(OPEN) == hexadecimal(OPEN)
            assert peripheral.pairings == 1 and central.count("not paired") == 1, central.program.output


async def test_a_wrong_passkey_is_asked_for_once(radio, tmp_path):
    async with SecuredPeripheral(radio.transport, IO.DISPLAY_OUTPUT_ONLY) as peripheral:
        with our_central(radio, tmp_path, "--io", "keyboard-display") as central:
            await central.connect(NAME)
            central.do(f"read {SECRET}")
            await central.wait_for("asked passkey")
            central.do("passkey 654321")
            line = await central.wait_for(f"value {SECRET}")
            assert line.startswith(f"value {SECRET} error CBATTErrorDomain 5 ")
            assert await central.read(OPEN) == hexadecimal(OPEN)
            assert central.count("asked") == 1 and peripheral.pairings == 1, central.program.output


@pytest.mark.parametrize("sc", [True, False], ids=["sc", "legacy"])
async def test_the_log_tells_a_wrong_passkey_from_a_wrong_confirm_value(radio, tmp_path, sc):
    """Both have the reason Confirm Value Failed."""
    async with SecuredPeripheral(radio.transport, IO.DISPLAY_OUTPUT_ONLY, sc) as peripheral:
        with our_central(radio, tmp_path, "--io", "keyboard-display") as central:
            await central.connect(NAME)
            central.do("pair")
            await central.wait_for("asked passkey")
            central.do("passkey 654321")
            await central.wait_for("not paired")
            assert "rejected by the peer in the step passkey entry: Confirm Value Failed (0x04)" in central.program.output
    async with SecuredPeripheral(radio.transport, sc=sc) as peripheral:
        peripheral.device.smp_manager.session_proxy = WrongConfirmSession
        with our_central(radio, tmp_path) as central:
            await central.connect(NAME)
            central.do("pair")
            await central.wait_for("not paired")
            text = "Confirm Value Failed (0x04), the peer's random value does not match its confirm value"
            # In legacy pairing the responder checks first, and Bumble's finds nothing wrong.
            assert f"rejected by this device in the step confirm values: {text}" in central.program.output


@pytest.mark.parametrize("sc", [True, False], ids=["sc", "legacy"])
async def test_a_pairing_that_fails_while_keys_are_distributed(radio, tmp_path, sc):
    """The link counts as one that is not encrypted, and another pairing on it succeeds.

    Docs/Decisions/pairing-and-bonds.md#a-failed-pairing-gives-no-level
    """
    async with SecuredPeripheral(radio.transport, sc=sc) as peripheral:
        peripheral.device.smp_manager.session_proxy = FailingSession
        with our_central(radio, tmp_path) as central:
            await central.connect(NAME)
            central.do("pair")
            await central.wait_for("security encrypted")
            await central.wait_for("security none")
            await central.wait_for("not paired")
            assert await central.read(OPEN) == hexadecimal(OPEN)
            assert central.count("paired") == 0 and central.count("disconnected") == 0
            # Bumble's responder keeps the session that has failed until the link ends.
            peripheral.device.smp_manager.sessions.clear()
            peripheral.device.smp_manager.session_proxy = Session
            central.do("pair")
            await central.wait_for("security encrypted")
            await central.wait_for("paired unauthenticated")
            assert await central.read(SECRET) == hexadecimal(SECRET)
            assert peripheral.pairings == 2, central.program.output


async def test_nothing_is_paired_that_must_not_be(radio, tmp_path):
    async with SecuredPeripheral(radio.transport) as peripheral:
        with our_central(radio, tmp_path, "--no-pairing") as central:
            await central.connect(NAME)
            assert (await central.read(SECRET)).startswith("error CBATTErrorDomain 5 ")
            assert await central.read(OPEN) == hexadecimal(OPEN)
            assert peripheral.pairings == 0 and central.count("asked") == 0


async def test_a_slow_answer_is_waited_for(radio, tmp_path):
    async with SecuredPeripheral(radio.transport, fault="slow"):
        with our_central(radio, tmp_path) as central:
            await central.connect(NAME)
            assert await central.read(OPEN) == hexadecimal(OPEN)


async def test_pdus_that_nobody_asked_for_are_ignored(radio, tmp_path):
    async with SecuredPeripheral(radio.transport, fault="stray") as peripheral:
        with our_central(radio, tmp_path) as central:
            await central.connect(NAME)
            for _ in range(3):
                assert await central.read(OPEN) == hexadecimal(OPEN)
            assert peripheral.reads.count(OPEN) == 3 and central.count("disconnected") == 0


@pytest.mark.slow
async def test_a_read_without_an_answer_ends_with_the_link(radio, tmp_path):
    """30 seconds (Vol 3, Part F, 3.3.3)."""
    async with SecuredPeripheral(radio.transport, fault="silent"):
        with our_central(radio, tmp_path) as central:
            await central.connect(NAME)
            start = time.monotonic()
            assert (await central.read(OPEN)).startswith("error ")
            assert 29 <= time.monotonic() - start <= 40
            await central.wait_for("disconnected")


async def test_a_link_that_ends_ends_the_read(radio, tmp_path):
    async with SecuredPeripheral(radio.transport, fault="gone"):
        with our_central(radio, tmp_path) as central:
            await central.connect(NAME)
            assert (await central.read(OPEN)).startswith("error CBErrorDomain ")
            assert "CBErrorDomain 7 " in await central.wait_for("disconnected")


READ_BY_GROUP_TYPE = 0x10


async def test_a_bonded_peripheral_is_discovered_once(radio, tmp_path):
    """By its Database Hash (Vol 3, Part G, 2.5.2), and again when that has changed."""

    async def discover(central):
        central.do("discover")
        return int((await central.wait_for("discovered")).split()[-1])

    async def connect_again(central, peripheral):
        central.do("disconnect")
        await central.wait_for("disconnected")
        del peripheral.opcodes[:]
        central.do(f"connect {NAME}")
        await central.wait_for("connected")

    async with SecuredPeripheral(radio.transport, database_hash=True) as peripheral:
        with our_central(radio, tmp_path) as central:
            await central.connect(NAME)
            assert await central.read(SECRET) == hexadecimal(SECRET)
            count = await discover(central)
            await connect_again(central, peripheral)
            assert await discover(central) == count
            assert READ_BY_GROUP_TYPE not in peripheral.opcodes, peripheral.opcodes
            assert await central.read(SECRET) == hexadecimal(SECRET)
            assert peripheral.pairings == 1

            peripheral.device.add_services([Service("7A3C0002-52D6-4C1E-9B0F-6D1E2F3A4B5C", [])])
            await connect_again(central, peripheral)
            await discover(central)
            assert READ_BY_GROUP_TYPE in peripheral.opcodes, peripheral.opcodes
