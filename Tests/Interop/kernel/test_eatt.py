"""Enhanced ATT bearers (Vol 3, Part F, 3.2.11) between our stack in user space and BlueZ: its daemon, and the kernel's channels."""

import contextlib
import json
import os
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest
from bluetooth import AF_BLUETOOTH, PUBLIC, Link, Management, address_octets, call
from conftest import Peripheral, long_uuid, wait_for_count
from daemon import BluetoothDaemon
from dialogue import DISCONNECTED, Dialogue
from pairing import NEW_KEY, NOTHING, User, bond_file
from programs import HERE, LIMIT, product, wait_until
from test_bluez_clients import UUID
from test_pairing import never

SPSM = 0x0027
REQUEST, RESPONSE, END = 0x17, 0x18, 0x06
OPEN, SECRET = "0101", "0102"
VALUES = {OPEN: b"open", SECRET: b"secret"}


class Trace:
    """The L2CAP frames of a trace of our own that is still written: (sent, channel, octets). None of these tests' is fragmented."""

    def __init__(self, path):
        self.path = path

    def frames(self):
        octets, place, found = self.path.read_bytes(), 16, []
        while place + 24 <= len(octets):
            _, length, flags = struct.unpack_from(">III", octets, place)
            packet = octets[place + 24 : place + 24 + length]
            place += 24 + length
            if len(packet) == length >= 9 and packet[0] == 2:
                found.append((not flags & 1, struct.unpack_from("<H", packet, 7)[0], packet[9:]))
        return found

    def signals(self, code, sent=None):
        return [
            octets
            for is_sent, channel, octets in self.frames()
            if channel == 5 and octets[0] == code and sent in (None, is_sent)
        ]

    def results(self):
        """The result of each Credit Based Connection Response."""
        return [struct.unpack_from("<H", octets, 10)[0] for octets in self.signals(RESPONSE)]

    def pdus(self, sent):
        """ATT PDUs on dynamic channels: (channel, PDU)."""
        return [
            (channel, octets[2:]) for is_sent, channel, octets in self.frames() if channel >= 0x40 and is_sent == sent
        ]

    def opcodes(self, sent):
        return {pdu[0] for _, pdu in self.pdus(sent)}


@contextlib.contextmanager
def serving(logs, name, bearers):
    description = json.loads((HERE / "vault.json").read_text()) | {"enhanced_bearers": bearers, "pairing": {}}
    path, log = logs / f"{name}.json", logs / f"{name}.txt"
    path.write_text(json.dumps(description))
    bonds = bond_file(name)
    bonds.unlink(missing_ok=True)
    os.environ["BLE_BONDS"] = str(bonds)
    trace = log.with_suffix(".btsnoop")
    with Peripheral("hci-socket:0", log, "--snoop", trace, description=path) as program:
        program.wait_for("READY")
        program.trace = Trace(trace)
        yield program
        program.check_alive()


@contextlib.contextmanager
def daemon_with(logs, tools, identity, name, channels):
    """bluetoothd, whose GATT has so many bearers at most, and bluetoothctl on hci1."""
    with BluetoothDaemon(logs, 2, options=["[GATT]", f"Channels = {channels}"]) as daemon:
        command = [tools("bluetoothctl"), "--agent", "NoInputNoOutput"]
        with Dialogue(command, logs / f"{name}-bluetoothctl.txt") as control:
            control.wait_after("Agent registered", 0)
            control.ask(f"select {identity[1]}", identity[1])
            control.ask("default-agent", "Default agent request successful")
            control.daemon = daemon.program
            yield control


def pair(control, program, peer):
    control.ask("scan on", f"Device {peer}")
    control.say("scan off")
    control.ask(f"pair {peer}", "Pairing successful")
    program.wait_for("paired")
    control.daemon.wait_for("device_svc_resolved")


def read(control, short, value):
    control.ask(f"select-attribute {UUID(short)}", short)
    control.ask("read", value.hex(" "))


def read_all(control, rounds=5):
    control.say("menu gatt")
    for _ in range(rounds):
        for short, value in VALUES.items():
            read(control, short, value)
    control.say("back")


ATTACHED = "EATT channel connected"


@pytest.mark.newer
def test_bluetoothd_uses_a_bearer(controllers, identity, logs, tools):
    name = "eatt-bluetoothd"
    with daemon_with(logs, tools, identity, name, 2) as control, serving(logs, name, 3) as program:
        pair(control, program, identity[0])
        for count in (1, 2):
            wait_for_count(control.daemon, ATTACHED, count)
            read_all(control)
            control.ask(f"disconnect {identity[0]}", *DISCONNECTED)
            wait_for_count(program, "disconnected", count)
            if count == 1:
                control.ask(f"connect {identity[0]}", "Connection successful")
        control.ask(f"remove {identity[0]}", "removed")
        requests = program.trace.signals(REQUEST, sent=False)
        assert all(struct.unpack_from("<H", request, 4)[0] == SPSM for request in requests)
        assert program.trace.results().count(0) == 2
        values = [pdu[1:] for _, pdu in program.trace.pdus(sent=True) if pdu[0] == 0x0B]
        assert all(value in values for value in VALUES.values()), "the values came on the bearer"
        assert "Failed to handle response" not in control.daemon.output


@pytest.mark.newer
@pytest.mark.parametrize("bearers", [3, 0])
def test_bluetoothd_is_served_on_the_first_bearer_otherwise(controllers, identity, logs, tools, bearers):
    """BlueZ's default: two channels at once, which the kernel would mix up. We reject them, and have none without the option."""
    name = f"eatt-bluetoothd-default-{bearers}"
    with daemon_with(logs, tools, identity, name, 3) as control, serving(logs, name, bearers) as program:
        pair(control, program, identity[0])
        if bearers:
            wait_until(program.trace.results, "no Credit Based Connection Response")
        read_all(control)
        control.ask(f"disconnect {identity[0]}", *DISCONNECTED)
        control.ask(f"remove {identity[0]}", "removed")
        assert program.trace.results() == ([4] if bearers else [])
        if bearers:
            (request,) = program.trace.signals(REQUEST)
            assert struct.unpack_from("<HH", request, 12) == (0x41, 0x40)
        assert program.trace.pdus(sent=True) == [] and ATTACHED not in control.daemon.output
        assert "Failed to handle response" not in control.daemon.output


class Bearer(Link):
    """One channel of the kernel to our ATT: extended flow control (BT_MODE 4), and what it receives (BT_RCVMTU)."""

    def __init__(self, own, peer, mtu=247):
        self.mtu = mtu
        super().__init__(own, peer, PUBLIC, LIMIT)

    def _bind_and_connect(self, own, peer, peer_type, patience):
        here = struct.pack("<HH6sHBx", AF_BLUETOOTH, 0, address_octets(own), 0, PUBLIC)
        call("bind", self.number, here, len(here))
        call("setsockopt", self.number, 274, 15, b"\x04", 1)
        call("setsockopt", self.number, 274, 13, struct.pack("<H", self.mtu), 2)
        call("setsockopt", self.number, 1, 21, struct.pack("<qq", int(patience), 0), 16)
        there = struct.pack("<HH6sHBx", AF_BLUETOOTH, SPSM, address_octets(peer), 0, peer_type)
        call("connect", self.number, there, len(there))


@pytest.mark.newer
def test_several_bearers_of_the_kernel(controllers, connect, identity, logs):
    with contextlib.closing(User(1)) as user, contextlib.ExitStack() as stack:
        with serving(logs, "eatt-kernel", 3) as program:
            first = connect()
            first.exchange_mtu(247)
            handles = {short: first.characteristics()[long_uuid(short)] for short in VALUES}
            assert user.pair(identity[0], NOTHING, never) == 0
            program.wait_for("paired")

            bearers = [stack.enter_context(Bearer(identity[1], identity[0])) for _ in range(3)]
            assert program.trace.results() == [0, 0, 0]
            everyone = [first.link, *bearers]

            # Each has a transaction of its own: all ask before one listens.
            for _ in range(20):
                for number, link in enumerate(everyone):
                    link.send(struct.pack("<BH", 0x0A, handles[(OPEN, SECRET)[number % 2]]))
                for number, link in reversed(list(enumerate(everyone))):
                    assert link.receive() == b"\x0b" + VALUES[(OPEN, SECRET)[number % 2]]
            assert len({channel for channel, _ in program.trace.pdus(sent=True)}) == 3

            # What one writes the others read.
            assert bearers[0].request(struct.pack("<BH", 0x12, handles[SECRET]) + b"new") == b"\x13"
            ask = struct.pack("<BH", 0x0A, handles[SECRET])
            assert [link.request(ask) for link in everyone] == [b"\x0bnew"] * 4

            # The peer closes one in a transaction; it takes no other along.
            bearers[0].send(ask)
            bearers[0].close()
            assert [link.request(ask) for link in (first.link, *bearers[1:])] == [b"\x0bnew"] * 3

            # We close one that sends more than its ATT_MTU.
            small = stack.enter_context(Bearer(identity[1], identity[0], mtu=64))
            assert small.request(ask) == b"\x0bnew"
            small.send(struct.pack("<BH", 0x12, handles[SECRET]) + bytes(100))
            with pytest.raises((OSError, ConnectionError)):
                small.receive()
            assert len(program.trace.signals(END, sent=True)) == 1
            assert [link.request(ask) for link in (first.link, *bearers[1:])] == [b"\x0bnew"] * 3
            program.wait_for("exceeds the ATT_MTU of 64")
        user.unpair(identity[0])


@pytest.mark.newer
def test_a_bearer_demands_security(controllers, connect, identity, logs):
    """The kernel pairs when it is told that the link is not secure enough, and then asks again."""
    with contextlib.closing(User(1)) as user, serving(logs, "eatt-security", 3) as program:
        first = connect()
        handle = first.characteristics()[long_uuid(OPEN)]
        with ThreadPoolExecutor() as threads:
            opened = threads.submit(Bearer, identity[1], identity[0])
            wait_until(program.trace.results, "no Credit Based Connection Response")
            assert program.trace.results() == [5], "insufficient authentication"
            assert first.read(handle) == b"open", "the first bearer goes on"
            user.serve(never, lambda event, _: event == NEW_KEY or None)
            with opened.result(LIMIT) as bearer:
                assert bearer.request(struct.pack("<BH", 0x0A, handle)) == b"\x0bopen"
        program.wait_for("paired")
        assert program.trace.results() == [5, 0]
        user.unpair(identity[0])


VALUE = "7a3c020{}-52d6-4c1e-9b0f-6d1e2f3a4b5c".format


def serve_values(control):
    """bluetoothctl answers for two characteristics, as programs of bluetoothd do."""
    control.say("menu gatt")
    control.ask(f"register-service {VALUE(0)}", "Primary (yes/no)")
    control.ask("yes", "#")
    for number in (1, 2):
        control.ask(f"register-characteristic {VALUE(number)} read", "Enter value")
        control.ask(f"{number} {number} {number}", "#")
    control.ask("register-application", "Application registered")
    control.say("back")
    control.ask("pairable on", "Changing pairable on succeeded")


@pytest.mark.newer
def test_our_central_uses_bearers_of_bluetoothd(controllers, identity, logs, tools):
    """It asks for three; bluetoothd takes as many as its option says, and closes the third: its own transaction goes elsewhere."""
    name = "eatt-central"
    trace, bonds = logs / f"{name}.btsnoop", bond_file(name)
    bonds.unlink(missing_ok=True)
    command = ["env", f"BLE_BONDS={bonds}", *product("reference-central"), "--transport", "hci-socket:0"]
    command += ["--snoop", trace, "--enhanced-bearers", "3"]
    with daemon_with(logs, tools, identity, name, 3) as control, contextlib.closing(Management()) as management:
        serve_values(control)
        management.advertise(1, b"\x02\x01\x06\x05\x09Eatt")
        with Dialogue(command, logs / f"{name}.txt") as central:
            central.wait_for("READY")
            # bluetoothd asks for bearers itself; when we reject that for security, its kernel demands a pairing, maybe before us.
            asked = len(control.output)
            central.ask("connect Eatt", "connected")
            central.ask("discover", "discovered")
            central.say("pair")
            control.wait_after("Request authorization", asked)
            control.say("yes")
            control.daemon.wait_for("EATT channel limit reached")
            before = len(central.output)
            for _ in range(10):
                for number in (1, 2):
                    central.say(f"read {VALUE(number)}")
            wait_until(lambda: central.output[before:].count("value ") == 20, lambda: central.output[before:])
            for number in (1, 2):
                assert central.output[before:].lower().count(f"value {VALUE(number)} " + f"0{number}" * 3) == 10
            central.say("disconnect")
            central.wait_for("disconnected")
            central.check_alive()
        management.stop_advertising(1)
        control.ask(f"remove {identity[0]}", "removed")
        read = Trace(trace)
        assert 0 in read.results() and control.daemon.output.count(ATTACHED) == 2
        assert "EATT channel limit reached" in control.daemon.output and len(read.signals(END, sent=False)) >= 1
        assert 0x0A in read.opcodes(sent=True) and 0x0B in read.opcodes(sent=False)
