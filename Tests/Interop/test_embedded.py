"""The firmware of Examples/Microcontroller, as a process of Linux and on a Cortex-M4 in QEMU: BLEPeripheral as Embedded Swift."""

import asyncio
import contextlib
import re
import socket
import struct

import pytest
from bumble.core import ProtocolError
from bumble.pairing import PairingConfig, PairingDelegate
from central import Central, error, uuid
from programs import HERE, LIMIT, ROOT, Program, Terminal, until, wait_until
from radios import RADIOS
from test_acceptance import PEERS, check
from test_ble_tool import run
from test_security import Visitor

pytestmark = pytest.mark.embedded

LINUX, CORTEX_M4 = "x86_64-unknown-linux-gnu", "armv7em-none-none-eabi"
WITHOUT_PAIRING = "x86_64-without-pairing"
NAME, NOTIFY = "Thermometer", b"\x01\x00"
TEMPERATURE, INTERVAL, LOCATION = range(3)
TYPES = [uuid("2A6E"), *(uuid(f"9E3C000{n}-7B1F-4C52-9D7A-7C2D5F5B0A01") for n in (1, 2))]
INSUFFICIENT_AUTHENTICATION, INSUFFICIENT_ENCRYPTION, OUT_OF_RANGE = 0x05, 0x0F, 0xFF
PAIRING_NOT_SUPPORTED, PIN_OR_KEY_MISSING = 0x05, 0x06
IO = PairingDelegate.IoCapability

versions = pytest.mark.parametrize("sc", [True, False], ids=["secure-connections", "legacy"])
models = pytest.mark.parametrize("passkey", [False, True], ids=["just-works", "passkey"])


class Firmware(Program):
    """The thermometer. Its flash is a file of the folder: another one there has the same bonds."""

    program, first_line = "thermometer", "advertising"

    def __init__(self, triple, port, folder, *options):
        built = ROOT / ".cache/embedded" / triple / self.program
        command = ["env", f"PORT={port}", built]
        if triple == CORTEX_M4:
            command = ["qemu-system-arm", "-M", "mps2-an386", "-cpu", "cortex-m4", "-display", "none", "-monitor", "none"]
            command += ["-semihosting-config", "enable=on,target=native"]
            command += ["-chardev", f"socket,id=controller,host=127.0.0.1,port={port}"]
            command += ["-serial", "chardev:controller", "-serial", "stdio", *options, "-kernel", f"{built}.elf"]
        super().__init__(command, folder / "firmware.log")

    def __enter__(self):
        self.wait_for_line(self.first_line)
        return self

    def __exit__(self, *failure):
        self.process.kill()
        super().__exit__(*failure)
        if not any(failure):
            assert "fault" not in self.output, self.output

    def wait_for_line(self, line):
        wait_until(lambda: self.check_alive() or line in self.output.splitlines(), lambda: f"no {line!r}: {self.output}")

    def press(self, key, answer):
        """Presses a key of the console; gives the matches of its answer."""
        before = len(re.findall(answer, self.output))
        self.process.stdin.write(key.encode())
        self.process.stdin.flush()
        return wait_until(lambda: re.findall(answer, self.output)[before:], lambda: self.output)

    def memory(self):
        [numbers] = self.press("m", r"memory: heap (\d+), allocations (\d+), live (\d+), stack (\d+)(?:, ticks (\d+))?\n")
        return tuple(map(int, numbers[:4]))

    def instructions(self):
        """Of the program since its start, except those of its waits, to within 40 for each turn of its loop; with COUNTING."""
        [ticks] = self.press("m", r"ticks (\d+)\n")
        return int(ticks) * 40


# An instruction takes a nanosecond of the machine's time.
COUNTING = ["-icount", "shift=0"]


class Guest(Visitor):
    def __init__(self, central, firmware):
        super().__init__(central, NAME)
        self.firmware = firmware

    async def connect(self):
        self.link = await self.find()
        if self.handles is None:
            found = [c for s in await self.link.discover() for c in s.characteristics]
            self.handles = [next(c.handle for c in found if c.uuid == kind) for kind in TYPES]
            self.cccd = next(c for c in found if c.uuid == TYPES[TEMPERATURE]).descriptors[uuid("2902")]

    async def pair_with(self, passkey, sc):
        firmware = self.firmware

        class User(PairingDelegate):
            async def get_number(self):
                await until(lambda: "passkey " in firmware.output, "a passkey")
                return int(re.findall(r"passkey (\d{6})", firmware.output)[-1])

        io = IO.KEYBOARD_INPUT_ONLY if passkey else IO.NO_OUTPUT_NO_INPUT
        self.central.device.pairing_config_factory = lambda _: PairingConfig(
            sc=sc, mitm=passkey, delegate=User(io), identity_address_type=PairingConfig.AddressType.RANDOM
        )
        await asyncio.wait_for(self.link.connection.pair(), LIMIT)
        [(_, keys)] = await self.central.device.keystore.get_all()
        return keys.ltk or keys.ltk_central

    async def set_interval(self, milliseconds):
        return await self.link.request(struct.pack("<BHH", 0x12, self.handles[INTERVAL], milliseconds))

    async def notified(self):
        handle, value = await self.link.update(self.link.notifications)
        assert handle == self.handles[TEMPERATURE] and len(value) == 2
        return int.from_bytes(value, "little")


@pytest.fixture(params=["bumble", "virtual"])
def radio(request, tmp_path):
    with RADIOS[request.param](tmp_path) as radio:
        yield radio
        radio.program.check_alive()


@pytest.fixture(params=[LINUX, CORTEX_M4])
def start(request, radio, tmp_path):
    return lambda: Firmware(request.param, radio.port, tmp_path)


@versions
@models
async def test_bumbles_central_pairs_and_returns_after_a_restart(start, radio, passkey, sc):
    async with Central(radio.transport) as central:
        with start() as firmware:
            if passkey:
                firmware.press("p", "pairing: passkey")
            guest = Guest(central, firmware)
            await guest.connect()
            assert await guest.read(TEMPERATURE) == guest.refused(TEMPERATURE, INSUFFICIENT_AUTHENTICATION)
            key = await guest.pair_with(passkey, sc)
            level = 2 if not passkey else 4 if sc else 3
            wait_until(lambda: f"level {level}\n" in firmware.output, lambda: firmware.output)
            assert len(await guest.read(TEMPERATURE)) == 3
            # The interval: one that is too short, one that is accepted, and its value.
            assert await guest.set_interval(9) == error(0x12, guest.handles[INTERVAL], OUT_OF_RANGE)
            assert await guest.set_interval(10) == b"\x13"
            assert await guest.read(INTERVAL) == b"\x0b\x0a\x00"
            await guest.link.write(guest.cccd, NOTIFY)
            # In order; a value is left out while the controller is too late for the ones before it.
            values = [await guest.notified() for _ in range(5)]
            assert values == sorted(set(values))
            await guest.link.disconnect()
            # With the link, or before, the subscription is stored.
            wait_until(lambda: "disconnected" in firmware.output, lambda: firmware.output)
            wait_until(lambda: firmware.output.count("bond stored") >= 2, lambda: firmware.output)
        with start() as firmware:
            assert "1 bonds" in firmware.output
            await guest.connect()
            assert await guest.read(TEMPERATURE) == guest.refused(TEMPERATURE, INSUFFICIENT_ENCRYPTION)
            assert await guest.encrypt(key.value, key.ediv or 0, key.rand or bytes(8)) == 0
            assert len(await guest.read(TEMPERATURE)) == 3
            # The subscription is that of the bond.
            assert await guest.link.read(guest.cccd) == NOTIFY
            await guest.set_interval(10)
            await guest.notified()
            assert "paired" not in firmware.output


@versions
@models
def test_our_central_pairs_and_returns_after_a_restart(start, radio, passkey, sc):
    # The controller of each run has another address.
    words = [NAME, "--transport", radio.transport, "--address", "C7:00:00:00:00:01"]
    with start() as firmware:
        if passkey:
            firmware.press("p", "pairing: passkey")
        with Terminal("pair", *words, *([] if sc else ["--legacy"])) as terminal:
            if passkey:
                terminal.wait_for("The six digits that")
                terminal.tell(wait_until(lambda: re.findall(r"passkey (\d{6})", firmware.output), lambda: firmware.output)[0])
            terminal.check_end(0)
            level = "authenticated, LE Secure Connections" if passkey and sc else "authenticated" if passkey else "encrypted"
            assert f"bonded, {level}" in terminal.output
        # Otherwise it loses its power before it has the bond.
        firmware.wait_for("bond stored")
    with start() as firmware:
        assert re.search(r"2\d\.\d\d °C\n", run("inspect", *words)), firmware.output
        interval = "9E3C0001-7B1F-4C52-9D7A-7C2D5F5B0A01"
        run("write", NAME, interval, "f4 01", *words[1:])
        assert "f4 01" in run("read", NAME, interval, *words[1:])
        assert "paired" not in firmware.output


async def test_memory_is_allocated_at_the_start_alone(start, radio):
    """A hundred reads and notifications allocate nothing, and links leave nothing allocated."""
    async with Central(radio.transport) as central:
        with start() as firmware:
            guest = Guest(central, firmware)
            await guest.connect()
            key = await guest.pair_with(False, True)
            await guest.link.write(guest.cccd, NOTIFY)
            # Queues grow up to their limits, by chance: to as many packets as have been late at once. So a few links may leave more
            # allocated than the link before, and a few turns may allocate, but not all.
            links = []
            for number in range(1, 13):
                await guest.link.disconnect()
                wait_until(lambda: firmware.output.count("disconnected") == number, lambda: firmware.output)
                links.append(firmware.memory())
                await guest.connect()
                assert await guest.encrypt(key.value, key.ediv or 0, key.rand or bytes(8)) == 0
                if number > 1 and links[-1][2] == links[-2][2]:
                    break
            else:
                raise AssertionError(links)

            async def use(count):
                for _ in range(count):
                    await guest.read(TEMPERATURE)
                    await guest.notified()

            await guest.set_interval(10)
            turns = []
            for _ in range(16):
                before = firmware.memory()
                await use(100)
                turns.append((before, firmware.memory()))
                if turns[-1][0] == turns[-1][1]:
                    return
            raise AssertionError(turns)


async def test_four_links_at_once(start, radio):
    async with contextlib.AsyncExitStack() as stack:
        firmware = stack.enter_context(start())
        guests = []
        for number in range(4):
            guest = Guest(await stack.enter_async_context(Central(radio.transport)), firmware)
            await guest.connect()
            await guest.pair_with(False, number % 2 == 0)
            guests.append(guest)
        # With four links the firmware no longer advertises.
        wait_until(lambda: firmware.output.splitlines().count("not advertising") > 0, lambda: firmware.output)
        await guests[0].set_interval(10)
        for guest in guests:
            await guest.link.write(guest.cccd, NOTIFY)
        for _ in range(20):
            for guest in guests:
                await guest.notified()
        print("with four links: heap {}, allocations {}, live {}, stack {}".format(*firmware.memory()))
        await guests[3].link.disconnect()
        wait_until(lambda: firmware.output.splitlines()[-1] == "advertising", lambda: firmware.output)


async def test_what_belongs_to_parts_that_are_left_out_has_its_answer(start, radio):
    async with Central(radio.transport) as central:
        with start() as firmware:
            guest = Guest(central, firmware)
            await guest.connect()
            link = guest.link
            # No client: the server of the peer gets its confirmation; what needs none is ignored.
            await link.expect(b"\x1d\x03\x00\x01", b"\x1e")
            for pdu in b"\x1b\x03\x00\x01", b"\x0b\x01", b"\x1e":
                link.send(pdu)
            await link.silence()
            # No channels: requests are not understood, and are not answered by anything else.
            rejected = []
            central.device.l2cap_channel_manager.on_l2cap_command_reject = lambda *answer: rejected.append(answer[-1])
            requests = {
                7: struct.pack("<BBHHHHHH", 0x14, 7, 10, 0x80, 0x40, 64, 64, 1),
                8: struct.pack("<BBHHHHHH", 0x17, 8, 10, 0x27, 64, 64, 1, 0x40),
                9: struct.pack("<BBHHH", 0x06, 9, 4, 0x40, 0x40),
            }
            for request in requests.values():
                link.connection.send_l2cap_pdu(5, request)
            # Responses that nobody waits for, and a credit.
            link.connection.send_l2cap_pdu(5, struct.pack("<BBHHHHHH", 0x15, 1, 10, 0x40, 64, 64, 1, 0))
            link.connection.send_l2cap_pdu(5, struct.pack("<BBHHH", 0x16, 2, 4, 0x40, 1))
            link.connection.send_l2cap_pdu(0x40, b"\x01\x00\x00")
            await link.silence()
            await until(lambda: len(rejected) == len(requests), "rejections")
            assert [(answer.identifier, answer.reason) for answer in rejected] == [(number, 0) for number in requests]
            assert len((await guest.pair_with(False, True)).value) == 16


async def test_without_pairing_each_attempt_is_rejected(radio, tmp_path):
    async with Central(radio.transport) as central:
        with Firmware(WITHOUT_PAIRING, radio.port, tmp_path) as firmware:
            guest = Guest(central, firmware)
            await guest.connect()
            assert await guest.read(TEMPERATURE) == guest.refused(TEMPERATURE, INSUFFICIENT_AUTHENTICATION)
            for sc in True, False:
                with pytest.raises(ProtocolError) as failure:
                    await guest.pair_with(False, sc)
                assert failure.value.error_code == PAIRING_NOT_SUPPORTED
            # A key that the firmware does not have ends no link at the host of a central: the link is still in the clear.
            assert await guest.encrypt(bytes(range(16))) == PIN_OR_KEY_MISSING
            assert await guest.read(TEMPERATURE) == guest.refused(TEMPERATURE, INSUFFICIENT_AUTHENTICATION)


async def test_instructions_of_a_read(radio, tmp_path):
    """How many instructions the Cortex-M4 executes for a read: the whole program, from the octets of the controller to its octets."""
    async with Central(radio.transport) as central:
        with Firmware(CORTEX_M4, radio.port, tmp_path, *COUNTING) as firmware:
            guest = Guest(central, firmware)
            await guest.connect()
            # Its own work: measurements, and what a press of a key costs.
            await guest.pair_with(False, True)
            await guest.set_interval(60000)

            async def spent(count):
                before = firmware.instructions()
                for _ in range(count):
                    await guest.read(TEMPERATURE)
                return firmware.instructions() - before

            await spent(50)
            each = (await spent(550) - await spent(50)) / 500
            print(f"a read: {each:.0f} instructions")
            assert 2_000 < each < 40_000


class Attributes(Firmware):
    """The attributes without a host: the test is the host of the link layer."""

    program, first_line = "attributes", "serving"


class LinkLayer:
    def __init__(self, listener):
        self.socket, _ = listener.accept()
        self.socket.settimeout(LIMIT)
        self.received = b""

    def send(self, pdu, channel=4):
        self.socket.sendall(struct.pack("<HH", len(pdu), channel) + pdu)

    def receive(self):
        while True:
            if len(self.received) >= 4:
                length, channel = struct.unpack_from("<HH", self.received)
                if len(self.received) >= 4 + length:
                    pdu, self.received = self.received[4 : 4 + length], self.received[4 + length :]
                    assert channel == 4
                    return pdu
            octets = self.socket.recv(4096)
            assert octets, "the program has closed its stream"
            self.received += octets

    def request(self, pdu):
        self.send(pdu)
        while (response := self.receive())[0] == 0x1B:
            pass
        return response

    def find(self, kind):
        """The handle of the only characteristic of a type: Read By Type Request of declarations."""
        start = 1
        while True:
            response = self.request(struct.pack("<BHHH", 0x08, start, 0xFFFF, 0x2803))
            assert response[0] == 0x09 and response[1] == 7, response
            for place in range(2, len(response), 7):
                declaration, _, value, found = struct.unpack_from("<HBHH", response, place)
                if found == kind:
                    return value
                start = declaration + 1


@contextlib.contextmanager
def attributes(folder, *options):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.settimeout(LIMIT)
        with Attributes(CORTEX_M4, listener.getsockname()[1], folder, *options) as firmware:
            link = LinkLayer(listener)
            with contextlib.closing(link.socket):
                yield firmware, link


def test_attributes_without_a_host(tmp_path):
    with attributes(tmp_path) as (firmware, link):
        assert link.request(b"\x02\xf7\x00") == b"\x03\x41\x00"
        assert link.request(b"\x0a\x03\x00") == b"\x0bThermometer"
        temperature, interval = link.find(0x2A6E), link.find(0x2A21)
        assert link.request(struct.pack("<BHH", 0x12, interval, 10)) == b"\x13"
        assert link.request(struct.pack("<BH", 0x0A, interval)) == b"\x0b\x0a\x00"
        assert link.request(struct.pack("<BHHB", 0x12, interval, 10, 0)) == error(0x12, interval, 0x0D)
        assert link.request(struct.pack("<BHH", 0x12, temperature, 10)) == error(0x12, temperature, 0x03)
        assert link.request(struct.pack("<BH", 0x12, temperature + 1) + NOTIFY) == b"\x13"
        values = []
        while len(values) < 5:
            kind, handle, value = struct.unpack("<BHH", link.receive())
            assert (kind, handle) == (0x1B, temperature)
            values.append(value)
        assert values == list(range(values[0], values[0] + 5))
        # A frame that is too long ends the link for the server, and with it the subscription.
        link.send(bytes(300), channel=0x40)
        link.send(b"", channel=0x40)
        assert link.request(struct.pack("<BH", 0x0A, temperature + 1)) == b"\x0b\x00\x00"
        # Reads allocate nothing.
        before = firmware.memory()
        for _ in range(100):
            assert link.request(b"\x0a\x03\x00") == b"\x0bThermometer"
        assert firmware.memory()[2] == before[2]
        print("attributes alone: heap {}, allocations {}, live {}, stack {}".format(*firmware.memory()))


def test_instructions_of_a_read_without_a_host(tmp_path):
    with attributes(tmp_path, *COUNTING) as (firmware, link):
        interval = link.find(0x2A21)
        assert link.request(struct.pack("<BHH", 0x12, interval, 60000)) == b"\x13"

        def spent(count):
            before = firmware.instructions()
            for _ in range(count):
                assert link.request(struct.pack("<BH", 0x0A, interval)) == b"\x0b\x60\xea"
            return firmware.instructions() - before

        spent(50)
        each = (spent(550) - spent(50)) / 500
        print(f"a read without a host: {each:.0f} instructions")
        assert 500 < each < 4_000


@pytest.mark.skipif(not (PEERS / "central_check.py").exists(), reason=f"no acceptance checks at {PEERS}")
def test_acceptance_checks_that_apply(start, radio, tmp_path, capsys):
    with start():
        failed, closing = check(radio.transport, HERE / "thermometer.json", tmp_path)
    with capsys.disabled():
        print(f"\n    central_check: {closing}")
    assert failed == []
    assert int(re.match(r"(\d+) passed, 0 failed", closing)[1]) >= 60
