"""SIGTERM and SIGINT end each program of a release build, within two seconds, its links and its advertisement with it.

An optimized build releases an object after its last use, so a program can lose its sources of signals there alone. The products are those
of BLE_PRODUCTS (scripts/test signals: a release build), or those that variables such as BLE_GATEWAY name (make test-deb: the installed
ones). Each end is measured and printed. The measured time is not compared with the two seconds, because no test depends on how busy the
computer is.
"""

import asyncio
import json
import shutil
import signal
import stat
import struct
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bumble import hci
from bumble.core import AdvertisingData
from programs import HERE, LIMIT, Program, product, quiet, reserved_port, until, wait_until
from test_examples import bumble, find
from test_gateway import Broker, Client, subscribed, thermometer

pytestmark = pytest.mark.release

# The reasons for which a host ends a link (Vol 1, Part F, 2.19 to 2.22); a host that is killed leaves 0x08, Connection Timeout.
ENDED_BY_THE_HOST = (0x13, 0x15, 0x16)

by_each_signal = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])


def of_a_tool(number):
    """The exit status of a tool, as a shell shows it for the signal."""
    return 128 + number


def of_a_service(number):
    """The exit status of a program whose end by a signal is the intended one."""
    return 0


# The radio, and what its traces say


class Trace:
    """The controller of one host, from the trace that the radio has of the packets between both."""

    ADVERTISE, ADVERTISE_EXTENDED, REMOVE_SET, CLEAR_SETS = 0x200A, 0x2039, 0x203C, 0x203D
    SCAN, SCAN_EXTENDED, RESET = 0x200C, 0x2042, 0x0C03
    DISCONNECTION, META = 0x05, 0x3E
    CONNECTIONS, SET_TERMINATED = (0x01, 0x0A, 0x29), 0x12

    def __init__(self, path):
        self.path = path

    def packets(self):
        """The H4 packets (the record format of btsnoop); the last record may be incomplete."""
        octets = self.path.read_bytes() if self.path.exists() else b""
        place = 16
        while place + 24 <= len(octets):
            length = struct.unpack_from(">I", octets, place + 4)[0]
            if place + 24 + length > len(octets):
                return
            yield octets[place + 24 : place + 24 + length]
            place += 24 + length

    def read(self):
        self.sets, self.links, self.reasons, self.is_scanning = set(), set(), [], False
        for packet in self.packets():
            if packet[0] == 1:
                self.command(struct.unpack_from("<H", packet, 1)[0], packet[4:])
            elif packet[0] == 4:
                self.event(packet[1], packet[3:])
        return self

    def command(self, opcode, parameters):
        if opcode == self.ADVERTISE:
            self.enable({"legacy"}, parameters[0])
        elif opcode == self.ADVERTISE_EXTENDED:
            handles = {parameters[2 + 4 * index] for index in range(parameters[1])}
            self.enable(handles or set(self.sets), parameters[0])
        elif opcode == self.REMOVE_SET:
            self.sets.discard(parameters[0])
        elif opcode == self.CLEAR_SETS:
            self.sets.clear()
        elif opcode in (self.SCAN, self.SCAN_EXTENDED):
            self.is_scanning = parameters[0] == 1
        elif opcode == self.RESET:
            self.sets, self.links, self.is_scanning = set(), set(), False

    def enable(self, sets, enabled):
        self.sets = self.sets | sets if enabled else self.sets - sets

    def event(self, code, parameters):
        if code == self.DISCONNECTION and parameters[0] == 0:
            self.links.discard(struct.unpack_from("<H", parameters, 1)[0])
            self.reasons.append(parameters[3])
        elif code == self.META and parameters[0] in self.CONNECTIONS and parameters[1] == 0:
            self.links.add(struct.unpack_from("<H", parameters, 2)[0])
            if parameters[4] == 1:
                self.sets.discard("legacy")  # a link ends the advertising that it came from
        elif code == self.META and parameters[0] == self.SET_TERMINATED:
            self.sets.discard(parameters[2])


@dataclass
class Air:
    """A simulated radio; the traces of its hosts have numbers in the order in which these connect."""

    transport: str
    traces: Path
    hosts: int = 0

    def next(self):
        """The trace of the host that connects next."""
        self.hosts += 1
        return Trace(self.traces / f"{self.hosts}-tcp.btsnoop")


@pytest.fixture
def air(tmp_path):
    command = [*product("ble"), "radio", "--tcp", "127.0.0.1:0", "--traces", tmp_path / "traces"]
    with Program(command, tmp_path / "radio.log") as program:
        yield Air(program.wait_for("READY").split()[1], tmp_path / "traces")
        program.check_alive()


# The end of a program


@pytest.fixture
def end(capsys, request):
    """Ends a program by one signal, and gives its exit status; the time that it took is printed."""

    def end(program, number):
        start = time.monotonic()
        program.process.send_signal(number)
        status = program.wait_for_end()
        seconds = time.monotonic() - start
        with capsys.disabled():
            print(f"\n{seconds:6.2f} s  {request.node.name}", end="")
        return status

    return end


def check_end(trace, program):
    """Nothing is left of the program on the radio: its host has turned off what it had turned on, before it ended."""
    state = trace.read()
    left = {"links": state.links, "advertising sets": state.sets, "scan": state.is_scanning}
    assert not any(left.values()), f"{left}\n{program.output[-2000:]}"


@dataclass
class Case:
    """A program and its arguments; a text that it prints when it is at work, or that its peer does; its exit status."""

    name: str
    words: list
    ready: str = ""
    advertised: str = ""
    status: callable = of_a_service
    peer: "Case" = None
    needs_description: bool = field(default=False)

    def start(self, air, folder):
        command = [*product(self.name), *self.words]
        if self.needs_description:
            command.append(description(folder))
        environment = [f"BLE_BONDS={folder / self.name}.json", f"BLE_TRANSPORT={air.transport}"]
        return Program(["env", *environment, *command], folder / f"{self.name}-{air.hosts}.log")


def description(folder):
    """The example of `ble serve`."""
    path = folder / "thermometer.json"
    # A program in another root begins in a folder below /tmp (scripts/run-in-root).
    command = [*product("ble"), "serve", "--example"]
    shown = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=True)
    path.write_text(shown.stdout)
    return path


def example(name, advertised):
    return Case(name, ["peripheral"], "advertises", advertised)


SERVE = Case("ble", ["serve"], "READY", "Thermometer", of_a_tool, needs_description=True)
WEATHER = Case("reference-peripheral", ["--desc", HERE / "weather.json"], "READY", "Weather Station 7")
STRAP = Case("heart-rate", ["--role", "peripheral", "--beats", 1000, "--rounds", 2], "advertises", "Strap", of_a_tool)

PERIPHERALS = {
    "tool-serve": SERVE,
    "tool-bench": Case("ble", ["bench", "--serve"], "READY", "ble bench", of_a_tool),
    "reference": WEATHER,
    "channel": Case("channel-transfer", ["serve", "Server"], "READY", "Server"),
    "heart-rate": STRAP,
    "battery": example("battery", "Battery"),
    "beacon": example("beacon", "Beacon"),
    "keyboard": example("keyboard", "Keyboard"),
    "uart-echo": example("uart-echo", "UART"),
    "provisioning": example("provisioning", "Lamp"),
    "relay": example("relay", "Relay"),
    "thermometer": example("thermometer", "Thermometer"),
    "throughput": example("throughput", "Throughput"),
}


@by_each_signal
@pytest.mark.parametrize("case", PERIPHERALS.values(), ids=PERIPHERALS)
async def test_a_peripheral(case, number, air, tmp_path, end):
    trace = air.next()
    with case.start(air, tmp_path) as program:
        await asyncio.to_thread(program.wait_for, case.ready)
        async with bumble(air.transport) as device:
            await asyncio.wait_for(device.power_on(), LIMIT)
            found = await find(device, lambda it: it.data.get(AdvertisingData.COMPLETE_LOCAL_NAME) == case.advertised)
            link = await device.connect(found.address, timeout=LIMIT, own_address_type=hci.OwnAddressType.RANDOM)
            ended = asyncio.get_running_loop().create_future()
            link.on("disconnection", ended.set_result)
            status = await asyncio.to_thread(end, program, number)
            assert await asyncio.wait_for(ended, LIMIT) in ENDED_BY_THE_HOST
        assert status == case.status(number), program.output
        check_end(trace, program)


CENTRALS = {
    "tool-subscribe": Case("ble", ["subscribe", "Thermometer", "2A6E"], status=of_a_tool, peer=SERVE),
    "channel": Case("channel-transfer", ["connect", "Server", "--receive", 1_000_000], "open", peer=PERIPHERALS["channel"]),
    "heart-rate": Case("heart-rate", ["--role", "central", "--beats", 1000], "bpm", status=of_a_tool, peer=STRAP),
    "battery": Case("battery", ["central"], "charge now", peer=PERIPHERALS["battery"]),
    "thermometer": Case("thermometer", ["central"], "measures", peer=PERIPHERALS["thermometer"]),
    "proxy": Case("proxy", ["clients"], "received", peer=Case("proxy", ["sensor"], "advertises")),
}


@by_each_signal
@pytest.mark.parametrize("case", CENTRALS.values(), ids=CENTRALS)
def test_a_central(case, number, air, tmp_path, end):
    theirs = air.next()
    with case.peer.start(air, tmp_path) as peer:
        peer.wait_for(case.peer.ready)
        ours = air.next()
        with case.start(air, tmp_path) as program:
            if case.ready:
                program.wait_for(case.ready)
            else:
                peer.wait_for("subscribed")
            assert end(program, number) == case.status(number), program.output
            check_end(ours, program)
        wait_until(lambda: not theirs.read().links, "the peer has a link still")
        assert theirs.reasons[-1] in ENDED_BY_THE_HOST
        peer.check_alive()


@by_each_signal
def test_a_central_that_is_directed(number, air, tmp_path, end):
    theirs = air.next()
    with WEATHER.start(air, tmp_path) as peer:
        peer.wait_for("READY")
        ours = air.next()
        with Case("reference-central", []).start(air, tmp_path) as program:
            program.wait_for("READY")
            program.tell("connect Weather Station 7")
            program.wait_for("connected")
            assert end(program, number) == 0, program.output
            check_end(ours, program)
        wait_until(lambda: not theirs.read().links, "the peer has a link still")
        assert theirs.reasons[-1] in ENDED_BY_THE_HOST


SEARCHES = {
    "tool-scan": Case("ble", ["scan", "--json", "--duration", 3600], status=of_a_tool),
    "tool-search": Case("ble", ["read", "Nobody", "2A19", "--timeout", 3600], status=of_a_tool),
    "scanner": Case("scanner", []),
    "explorer": Case("explorer", ["Nobody"]),
}


@by_each_signal
@pytest.mark.parametrize("case", SEARCHES.values(), ids=SEARCHES)
def test_a_search(case, number, air, tmp_path, end):
    trace = air.next()
    options = ["--transport", air.transport] if case.name in ("scanner", "explorer") else []
    with Case(case.name, [*case.words, *options]).start(air, tmp_path) as program:
        wait_until(lambda: trace.read().is_scanning, lambda: f"no scan: {program.output}")
        assert end(program, number) == case.status(number), program.output
        check_end(trace, program)


@by_each_signal
@pytest.mark.parametrize(
    ("name", "words", "status"),
    [("ble", ["demo", "--beats", 1000], of_a_tool), ("heart-rate", ["--beats", 1000], of_a_tool),
     ("battery", [], of_a_service)], ids=["tool-demo", "heart-rate", "battery"],
)  # fmt: skip
def test_both_ends_in_one_process(name, words, status, number, tmp_path, end):
    with Program([*product(name), *words], tmp_path / "program.log") as program:
        program.wait_for("charge now" if name == "battery" else "bpm")
        assert end(program, number) == status(number), program.output


@by_each_signal
@pytest.mark.parametrize(
    ("name", "words", "status"),
    [("ble", ["radio", "--tcp", "127.0.0.1:0"], of_a_tool), ("virtual-radio", ["--tcp", 0], of_a_service)],
    ids=["tool-radio", "virtual-radio"],
)
async def test_a_radio(name, words, status, number, tmp_path, end):
    path = tmp_path / "hci"
    with Program([*product(name), *words, "--unix", path], tmp_path / "program.log") as program:
        await asyncio.to_thread(wait_until, path.exists, "there is no socket")
        transport = (await asyncio.to_thread(program.wait_for, "tcp-client:")).split()[1]
        async with bumble(transport) as device:
            await asyncio.wait_for(device.power_on(), LIMIT)
            assert await asyncio.to_thread(end, program, number) == status(number), program.output
    assert not path.exists(), "the socket is left"


@by_each_signal
async def test_the_tool_at_a_silent_input(number, tmp_path, end):
    with Program([*product("ble"), "log", "-"], tmp_path / "program.log") as program:
        await quiet(program)
        assert end(program, number) == of_a_tool(number), program.output


# The gateway


def gateway(broker, air, folder, *words, before=()):
    command = [*before, *product("ble-gateway"), "--broker", f"127.0.0.1:{broker}", "--id", "kitchen", *words]
    return Program(["env", f"BLE_TRANSPORT={air.transport}", *command], folder / "gateway.log")


@by_each_signal
async def test_the_gateway(number, air, tmp_path, end):
    trace = air.next()
    with Broker(tmp_path / "broker") as broker, Client(broker) as client:
        with gateway(broker.port, air, tmp_path, "--subscribe", "181A/2A6E") as program:
            await asyncio.to_thread(program.wait_for, "READY")
            async with thermometer(air.transport) as device:
                await subscribed(device)
                [link] = device.connections.values()
                ended = asyncio.get_running_loop().create_future()
                link.on("disconnection", ended.set_result)
                assert await asyncio.to_thread(end, program, number) == 0, program.output
                assert await asyncio.wait_for(ended, LIMIT) in ENDED_BY_THE_HOST
            check_end(trace, program)
        status = "ble/gateways/kitchen/status"
        await until(lambda: (status, b"offline") in [it[:2] for it in client.messages], lambda: client.messages[-3:])


@pytest.fixture(scope="session")
def silent_port(preloaded):
    """The beginning of a command whose connections to a port have no answer."""
    built = preloaded("silent_port")
    return lambda port: ["env", f"LD_PRELOAD={built}", f"SILENT_PORT={port}"]


@by_each_signal
@pytest.mark.parametrize("is_silent", [False, True], ids=["refused", "silent"])
async def test_the_gateway_without_a_broker(is_silent, number, air, tmp_path, end, request):
    trace = air.next()
    with reserved_port() as port:
        before = request.getfixturevalue("silent_port")(port) if is_silent else []
        with gateway(port, air, tmp_path, before=before) as program:
            await until(lambda: trace.read().is_scanning, lambda: f"no scan: {program.output}")
            if not is_silent:
                await asyncio.to_thread(program.wait_for, "no connection to the broker")
            assert await asyncio.to_thread(end, program, number) == 0, program.output
            check_end(trace, program)


@by_each_signal
async def test_the_tool_becomes_the_gateway(number, air, tmp_path, end):
    """`ble gateway` starts the other program in its place: the signals of the first one have no effect on it."""
    trace = air.next()
    with Broker(tmp_path / "broker") as broker:
        words = ["gateway", "--broker", f"127.0.0.1:{broker.port}", "--id", "kitchen"]
        with Case("ble", words).start(air, tmp_path) as program:
            await asyncio.to_thread(program.wait_for, "READY")
            assert await asyncio.to_thread(end, program, number) == 0, program.output
            check_end(trace, program)


async def test_the_gateway_reads_the_credential_of_its_unit(air, tmp_path, end):
    """As systemd starts it: the password is in the folder of the credentials, under the name that the unit gives it."""
    unit = (HERE.parents[1] / "Packaging/ble-gateway.service").read_text()
    [credential] = [line.removeprefix("LoadCredential=") for line in unit.splitlines() if line.startswith("LoadCredential=")]
    name, path = credential.split(":")
    assert name == "password" and path == "/etc/ble/password"
    broker = Broker(tmp_path / "broker")
    passwords = broker.folder / "passwords"
    tool = shutil.which("mosquitto_passwd") or "/usr/bin/mosquitto_passwd"
    subprocess.run([tool, "-b", "-c", passwords, "gateway", "open sesame"], check=True, timeout=LIMIT)
    passwords.chmod(0o644)
    text = broker.configuration.read_text().replace("allow_anonymous true", f"allow_anonymous false\npassword_file {passwords}")
    broker.configuration.write_text(text)
    credentials = tmp_path / "credentials"
    credentials.mkdir(mode=0o700)
    (credentials / name).write_text("open sesame\n")
    (credentials / name).chmod(stat.S_IRUSR)
    configuration = tmp_path / "gateway.json"
    configuration.write_text(json.dumps(
        {"identifier": "kitchen",
         "broker": {"host": "127.0.0.1", "port": broker.port, "username": "gateway", "passwordFile": name}}
    ))  # fmt: skip
    trace = air.next()
    with broker:
        environment = ["env", f"CREDENTIALS_DIRECTORY={credentials}", f"BLE_TRANSPORT={air.transport}"]
        command = [*environment, *product("ble-gateway"), "--config", configuration]
        with Program(command, tmp_path / "gateway.log") as program:
            await asyncio.to_thread(program.wait_for, "READY")
            assert "refused" not in program.output
            assert await asyncio.to_thread(end, program, signal.SIGTERM) == 0, program.output
            check_end(trace, program)
