"""Pairing, bonds and encryption of the reference peripheral against Bumble's host, and what a hostile central sends."""

import asyncio
import contextlib
import json
import stat

import bumble.core
import pytest
from bumble import hci
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.smp import OobContext, OobLegacyContext, OobSharedData, Session
from central import Central, error
from programs import HERE, LIMIT, until
from radios import RADIOS, parameters, peripheral
from secured_peripheral import FailingSession

NAME, SMP_CHANNEL = "Vault", 6
IO = PairingDelegate.IoCapability
# The characteristics of vault.json, in their order.
OPEN, SECRET, SEALED, STREAM = range(4)


class User(PairingDelegate):
    """Does what a user would: types the passkey, agrees to the number."""

    async def get_number(self):
        return 123456

    async def compare_numbers(self, number, digits):
        return True

    async def confirm(self, auto=False):
        return True


@pytest.fixture(params=parameters("bumble", "virtual", "rootcanal"))
def secure_radio(request, tmp_path):
    with RADIOS[request.param](tmp_path) as radio:
        yield radio
        radio.program.check_alive()


@contextlib.contextmanager
def vault(radio, folder, **pairing):
    description = json.loads((HERE / "vault.json").read_text())
    description["pairing"] |= pairing
    path = folder / "vault.json"
    path.write_text(json.dumps(description))
    with peripheral(radio.transport, path, folder) as program:
        program.wait_for("READY")
        yield program
        program.check_alive()


class Visitor:
    """A central with Bumble's own security manager."""

    def __init__(self, central, name=NAME):
        self.central, self.name = central, name
        self.handles = None

    async def connect(self):
        self.link = await self.find()
        self.smp = asyncio.Queue()
        if self.handles is None:
            services = await self.link.discover()
            ours = next(s for s in services if s.uuid[12:14] == b"\x00\x01")
            self.handles = [c.handle for c in ours.characteristics]
            self.cccd = ours.characteristics[STREAM].descriptors[b"\x02\x29"]
        return self.link

    async def find(self):
        # A private address may change between being heard and being called.
        while True:
            data, _ = await self.central.scan(self.name)
            with contextlib.suppress(bumble.core.TimeoutError):
                return await self.central.connect_to(data.address, 5)

    async def pair(self, io=IO.NO_OUTPUT_NO_INPUT, sc=True, oob=None):
        self.central.device.pairing_config_factory = lambda _: PairingConfig(
            sc=sc,
            mitm=io != IO.NO_OUTPUT_NO_INPUT,
            bonding=True,
            oob=oob,
            delegate=User(io),
            identity_address_type=PairingConfig.AddressType.RANDOM,
        )
        # Bumble stores the keys before it says that it has paired.
        await asyncio.wait_for(self.link.connection.pair(), LIMIT)
        stored = await self.central.device.keystore.get_all()
        return stored[-1][1]

    async def encrypt(self, value, ediv=0, rand=bytes(8)):
        done = asyncio.get_running_loop().create_future()
        connection = self.link.connection
        connection.on("connection_encryption_change", lambda: done.done() or done.set_result(0))
        connection.on("connection_encryption_failure", lambda code: done.done() or done.set_result(code))
        command = hci.HCI_LE_Enable_Encryption_Command(
            connection_handle=connection.handle, random_number=rand, encrypted_diversifier=ediv, long_term_key=value
        )
        await self.central.device.host.send_async_command(command)
        await asyncio.wait((done, self.link.ended), timeout=LIMIT, return_when=asyncio.FIRST_COMPLETED)
        return done.result() if done.done() else None

    async def read(self, which):
        return await self.link.request(bytes([0x0A]) + self.handles[which].to_bytes(2, "little"))

    def refused(self, which, code):
        return error(0x0A, self.handles[which], code)


@contextlib.asynccontextmanager
async def visitor(radio):
    async with Central(radio.transport) as central:
        visitor = Visitor(central)
        await visitor.connect()
        yield visitor


async def another_address(radio, seen):
    """Waits until the peripheral advertises at an address that is not one of those, and gives it."""
    async with Central(radio.transport) as other:
        data, _ = await other.scan(NAME, lambda sighting: sighting.address not in seen)
        return data.address


@pytest.mark.parametrize("sc", [True, False], ids=["secure-connections", "legacy"])
async def test_bond_outlives_our_process(secure_radio, tmp_path, sc):
    """Killed without warning and started again: the bond, the encryption and the subscription are still there."""
    async with Central(secure_radio.transport) as central:
        guest = Visitor(central)
        with peripheral(secure_radio.transport, HERE / "vault.json", tmp_path) as program:
            program.wait_for("READY")
            await guest.connect()
            assert await guest.read(SECRET) == guest.refused(SECRET, 0x05)
            keys = await guest.pair(IO.KEYBOARD_INPUT_ONLY, sc)
            assert await guest.read(SECRET) == b"\x0bsecret"
            assert await guest.read(SEALED) == b"\x0bsealed"
            await guest.link.write(guest.cccd, b"\x01\x00")
            bonds = tmp_path / "bonds.json"

            def has_subscription():
                found = json.loads(bonds.read_text())["bonds"] if bonds.exists() else []
                return any(one["value"] == 1 for bond in found for one in bond["configurations"])

            # Subscriptions are saved later than keys.
            await until(has_subscription, lambda: bonds.read_text())
            assert stat.S_IMODE(bonds.stat().st_mode) == 0o600
            assert len(json.loads(bonds.read_text())["bonds"]) == 1
            program.process.kill()
        with contextlib.suppress(Exception):
            await guest.link.disconnect()
        with vault(secure_radio, tmp_path):
            await guest.connect()
            assert await guest.read(SECRET) == guest.refused(SECRET, 0x0F)
            key = keys.ltk or keys.ltk_central
            assert await guest.encrypt(key.value, key.ediv or 0, key.rand or bytes(8)) == 0
            assert await guest.read(SECRET) == b"\x0bsecret"
            assert await guest.read(SEALED) == b"\x0bsealed"
            assert await guest.link.read(guest.cccd) == b"\x01\x00"


async def test_wrong_and_unknown_keys(secure_radio, tmp_path):
    with vault(secure_radio, tmp_path) as program:
        async with visitor(secure_radio) as guest:
            keys = await guest.pair()
            for value, ediv in ((bytes(16), 0), (keys.ltk.value, 77)):
                await guest.link.disconnect()
                await guest.connect()
                assert await guest.encrypt(value, ediv) != 0
                if not guest.link.ended.done():
                    assert await guest.read(SECRET) == guest.refused(SECRET, 0x0F)
                    await guest.link.disconnect()
                await guest.connect()
                assert await guest.encrypt(keys.ltk.value) == 0
                assert await guest.read(SECRET) == b"\x0bsecret"
        async with visitor(secure_radio) as stranger:
            await stranger.encrypt(bytes(range(16)))
            if not stranger.link.ended.done():
                assert await stranger.read(SECRET) == stranger.refused(SECRET, 0x05)
        program.wait_for("bond lost")


async def test_private_peripheral_is_known_again(secure_radio, tmp_path):
    """A stranger each time, but for the one who was given the key; and a link outlives the change of the address."""
    description = tmp_path / "private.json"
    options = {"privacy": 2, "distributes_identity": True}
    description.write_text(json.dumps(json.loads((HERE / "vault.json").read_text()) | options))
    with peripheral(secure_radio.transport, description, tmp_path) as program:
        program.wait_for("READY")
        async with visitor(secure_radio) as guest:
            device, shown = guest.central.device, guest.link.connection.peer_address
            assert shown.is_resolvable
            keys = await guest.pair()
            await device.refresh_resolving_list()
            identity = device.address_resolver.resolve(shown)
            assert identity is not None and identity.is_public
            await another_address(secure_radio, {shown})
            assert await guest.read(SECRET) == b"\x0bsecret"
            await guest.link.disconnect()
            await guest.connect()
            assert guest.link.connection.peer_resolvable_address not in (None, shown)
            assert guest.link.connection.peer_address == identity
            assert await guest.encrypt(keys.ltk.value) == 0
            assert await guest.read(SECRET) == b"\x0bsecret"
        identifiers = {line.split()[1] for line in program.output.splitlines() if line.startswith("connected")}
        assert len(identifiers) == 1, program.output


@pytest.mark.parametrize("own", [hci.OwnAddressType.RANDOM, hci.OwnAddressType.RESOLVABLE_OR_RANDOM])
async def test_private_peripheral_is_resolved_in_the_centrals_controller(secure_radio, tmp_path, own):
    """The central's controller has our key: it connects by our identity, reports the private address that it has resolved
    (Vol 4, Part E, 7.7.65.10), and the key of the bond encrypts the link, each time with another address. With the
    second own address type the controller makes private addresses of the central, too."""
    if secure_radio.name == "bumble":
        pytest.skip("Bumble's controller has no resolving list")
    description = tmp_path / "private.json"
    options = {"privacy": 2, "distributes_identity": True}
    description.write_text(json.dumps(json.loads((HERE / "vault.json").read_text()) | options))
    with peripheral(secure_radio.transport, description, tmp_path) as program:
        program.wait_for("READY")
        async with visitor(secure_radio) as guest:
            device, seen = guest.central.device, {guest.link.connection.peer_address}
            keys = await guest.pair()
            await guest.link.disconnect()
            device.address_resolution_offload = True
            await device.refresh_resolving_list()
            await device.host.send_async_command(
                hci.HCI_LE_Set_Address_Resolution_Enable_Command(address_resolution_enable=1)
            )
            [(_, identity)] = await device.keystore.get_resolving_keys()
            shown = set(seen)
            for _ in range(3):
                shown.add(await another_address(secure_radio, shown))
                guest.link = await guest.central.connect_to(identity, own_address_type=own)
                connection = guest.link.connection
                # RootCanal resolves the address and reports the type of an address that was not resolved.
                if secure_radio.name == "virtual":
                    assert connection.peer_address.address_type == hci.Address.PUBLIC_IDENTITY_ADDRESS
                    assert connection.peer_resolvable_address.is_resolvable
                    assert connection.peer_resolvable_address not in seen
                    seen.add(connection.peer_resolvable_address)
                    is_private = own == hci.OwnAddressType.RESOLVABLE_OR_RANDOM
                    assert (connection.self_resolvable_address is not None) == is_private
                assert await guest.encrypt(keys.ltk.value) == 0
                assert await guest.read(SECRET) == b"\x0bsecret"
                await guest.link.disconnect()
        identifiers = {line.split()[1] for line in program.output.splitlines() if line.startswith("connected")}
        assert len(identifiers) == 1, program.output


async def test_private_peripheral_gives_its_identity_to_the_authenticated(secure_radio, tmp_path):
    """Just Works makes a bond without the key; a passkey brings it."""
    description = tmp_path / "private.json"
    description.write_text(json.dumps(json.loads((HERE / "vault.json").read_text()) | {"privacy": 60}))
    with peripheral(secure_radio.transport, description, tmp_path) as program:
        program.wait_for("READY")
        program.wait_for("loses this adapter")
        async with visitor(secure_radio) as guest:
            shown = guest.link.connection.peer_address
            assert (await guest.pair()).irk is None
            assert await guest.read(SECRET) == b"\x0bsecret"
            keys = await guest.pair(IO.KEYBOARD_INPUT_ONLY)
            await guest.central.device.refresh_resolving_list()
            assert keys.irk is not None
            assert guest.central.device.address_resolver.resolve(shown) is not None


HOSTILE = [
    (b"\x01\x03\x00\x01\x06\x01\x01", 0x06),  # key size 6
    (b"\x01\x03\x00\x09\x11\x01\x01", 0x0A),  # key size 17
    (b"\x01\x05\x00\x09\x10\x01\x01", 0x0A),  # IO capability 5
    (b"\x01\x03\x02\x09\x10\x01\x01", 0x0A),  # OOB data flag 2
    (b"\x01\x03\x00\x09\x10\x01", 0x0A),  # truncated
    (b"\x01\x03\x00\x09\x10\x01\x01\x00", 0x0A),  # over-long
    (b"\x03" + bytes(16), 0x08),  # out of order
    (b"\x0c" + bytes(64), 0x08),
    (b"\x0d" + bytes(16), 0x08),
    (b"\x06" + bytes(16), 0x08),
    (b"\x0b\x01", 0x07),  # a Security Request to the peripheral
    (b"\x0f\x00", None),  # reserved codes are ignored
    (b"\xff", None),
]


async def test_hostile_security_manager(secure_radio, tmp_path):
    """Each refused with its reason, on one link, and then a pairing of good will on the same link."""
    with vault(secure_radio, tmp_path):
        async with visitor(secure_radio) as guest:
            manager = guest.central.device.l2cap_channel_manager
            polite = manager.fixed_channels[SMP_CHANNEL]
            manager.fixed_channels[SMP_CHANNEL] = lambda _, pdu: guest.smp.put_nowait(pdu)
            for pdu, reason in HOSTILE:
                guest.link.connection.send_l2cap_pdu(SMP_CHANNEL, pdu)
                if reason is None:
                    await guest.link.silence()
                    assert guest.smp.empty(), pdu.hex()
                else:
                    answer = await asyncio.wait_for(guest.smp.get(), LIMIT)
                    assert answer == bytes([5, reason]), f"{pdu.hex()} → {answer.hex()}"
            # Two that are not on the curve: DHKey Check Failed. The debug key is on it: Invalid Parameters.
            for key, reason in ((bytes(64), 0x0B), (b"\x07" * 64, 0x0B), (DEBUG_KEY, 0x0A)):
                guest.link.connection.send_l2cap_pdu(SMP_CHANNEL, b"\x01\x03\x00\x09\x10\x01\x01")
                assert (await asyncio.wait_for(guest.smp.get(), LIMIT))[0] == 2
                guest.link.connection.send_l2cap_pdu(SMP_CHANNEL, b"\x0c" + key)
                assert await asyncio.wait_for(guest.smp.get(), LIMIT) == bytes([5, reason])
            manager.fixed_channels[SMP_CHANNEL] = polite
            await guest.pair()
            assert await guest.read(SECRET) == b"\x0bsecret"


@pytest.mark.parametrize("sc", [True, False], ids=["secure-connections", "legacy"])
async def test_a_pairing_that_fails_while_keys_are_distributed(secure_radio, tmp_path, sc):
    """The link stays encrypted with the key of that pairing, which gives access to nothing.

    Docs/Decisions/pairing-and-bonds.md#a-failed-pairing-gives-no-level
    """
    with vault(secure_radio, tmp_path) as program:
        async with visitor(secure_radio) as guest:
            manager = guest.central.device.smp_manager
            manager.session_proxy = FailingSession
            with pytest.raises(bumble.core.ProtocolError):
                await guest.pair(IO.KEYBOARD_INPUT_ONLY, sc)
            program.wait_for("not paired")
            assert guest.link.connection.is_encrypted
            for which in (SECRET, SEALED):
                assert await guest.read(which) == guest.refused(which, 0x05)
            manager.session_proxy = Session
            await guest.pair(IO.KEYBOARD_INPUT_ONLY, sc)
            assert await guest.read(SEALED) == b"\x0bsealed"


# The public key whose private key the specification prints (Vol 3, Part H, 2.3.5.6.1), as it travels.
DEBUG_KEY = (
    bytes.fromhex("20b003d2f297be2c5e2c83a7e9f9a5b9eff49111acf4fddbcc0301480e359de6")[::-1]
    + bytes.fromhex("dc809c49652aeb6d63329abf5a52155c766345c28fed3024741c8ed01589d28b")[::-1]
)


@pytest.mark.parametrize("sc", [True, False], ids=["secure-connections", "legacy"])
async def test_out_of_band(secure_radio, tmp_path, sc):
    """What one device has told the other another way protects a pairing for which neither has a display or a keyboard."""
    key = bytes(range(16))
    with vault(secure_radio, tmp_path, io="none", oob=sc, **({} if sc else {"oob_tk": key.hex()})) as program:
        record = bytes.fromhex(program.wait_for("out of band").split()[-1])
        assert record[:2] == b"\x11\x22" and record[18:20] == b"\x11\x23" and len(record) == 36
        told = OobSharedData(c=record[2:18], r=record[20:])
        oob = PairingConfig.OobConfig(
            our_context=OobContext() if sc else None,
            peer_data=told if sc else None,
            legacy_context=None if sc else OobLegacyContext(key),
        )
        async with visitor(secure_radio) as guest:
            assert await guest.read(SEALED) == guest.refused(SEALED, 0x05)
            keys = await guest.pair(sc=sc, oob=oob)
            assert (keys.ltk or keys.ltk_central).authenticated
            assert await guest.read(SEALED) == b"\x0bsealed"


async def test_a_wrong_word_out_of_band(secure_radio, tmp_path):
    with vault(secure_radio, tmp_path, io="none", oob=True) as program:
        record = bytes.fromhex(program.wait_for("out of band").split()[-1])
        told = OobSharedData(c=record[2:18], r=bytes(16))
        oob = PairingConfig.OobConfig(our_context=OobContext(), peer_data=told, legacy_context=None)
        async with visitor(secure_radio) as guest:
            with pytest.raises(bumble.core.ProtocolError):
                await guest.pair(oob=oob)
            program.wait_for("not paired")
            assert await guest.read(SEALED) == guest.refused(SEALED, 0x05)
