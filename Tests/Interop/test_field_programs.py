"""Programs in the style of the field, two processes on one radio: their payload at the first and second start, and after a kill."""

import signal

import pytest
from apple_programs import check
from field_programs import BANNER, READY, SERVICE, Sides, payload
from programs import Program, product, wait_until
from radios import RADIOS, parameters
from test_signals import Air


@pytest.fixture(params=parameters("virtual", "virtual-small", "virtual-paced"))
def radio(request, tmp_path):
    with RADIOS[request.param](tmp_path) as radio:
        yield radio
        radio.program.check_alive()


def check_killed(program):
    assert program.wait_for_end() == -signal.SIGKILL, program.output


def check_done(program, *others):
    assert program.wait_for_end() == 0, "\n".join(each.output for each in (program, *others))


# A bearer for mesh provisioning

CERTIFICATE = 1_500


class Provisioning(Sides):
    def __init__(self, radio, folder, *words):
        super().__init__("mesh-provisioning", radio.transport, folder, "device", "provisioner")
        self.words = words
        self.keys = {side: folder / f"{side}-key" for side in self.starts}
        octets = payload(128)
        self.keys["device"].write_bytes(octets[:64])
        self.keys["provisioner"].write_bytes(octets[64:])
        self.certificate, self.output = self.file("certificate", CERTIFICATE), folder / "output"

    def device(self, *words):
        device = self.start("device", "device", self.keys["device"], self.certificate, *self.words, *words)
        device.wait_for("unprovisioned")
        return device

    def provisioner(self, *words):
        return self.start("provisioner", "provisioner", self.keys["provisioner"], self.output, *self.words, *words)

    def check(self, device, provisioner, before_device=(), before_provisioner=()):
        """What both print of one provisioning, after other lines."""
        check_done(provisioner, device)
        keys = {side: path.read_bytes() for side, path in self.keys.items()}
        check(
            provisioner,
            [
                *before_provisioner,
                "bearerDidOpen",
                "capabilities 010100010000000000000000",
                f"certificate {CERTIFICATE} octets",
                f"publicKey {keys['device'].hex()}",
                "complete",
                "bearerDidClose without error",
            ],
        )
        check(
            device,
            [
                "unprovisioned",
                *before_device,
                "didSubscribe",
                "invite",
                "start",
                f"publicKey {keys['provisioner'].hex()}",
                f"data {keys['provisioner'][:33].hex()}",
                "didUnsubscribe",
            ],
        )
        assert self.output.read_bytes() == payload(CERTIFICATE)
        self.output.unlink()


# As short as the specification allows, and as long as a packet of the link.
@pytest.fixture(params=[("--segments", 20), ()], ids=["20", "packet"])
def provisioning(request, radio, tmp_path):
    return Provisioning(radio, tmp_path, *request.param)


def test_a_device_is_provisioned_at_each_start(provisioning):
    for _ in range(2):
        with provisioning.device() as device, provisioning.provisioner() as provisioner:
            provisioning.check(device, provisioner)


def test_a_device_is_provisioned_after_its_provisioner_was_killed(provisioning):
    with provisioning.device() as device:
        with provisioning.provisioner("--killed-after", 10) as killed:
            check_killed(killed)
        device.wait_for("didUnsubscribe")
        with provisioning.provisioner() as provisioner:
            provisioning.check(device, provisioner, before_device=["didSubscribe", "invite", "didUnsubscribe"])


def test_a_provisioner_begins_anew_with_a_device_that_was_killed(provisioning):
    with provisioning.device("--killed-after", 10) as killed, provisioning.provisioner() as provisioner:
        check_killed(killed)
        with provisioning.device() as device:
            before = ["bearerDidOpen", "capabilities 010100010000000000000000", "bearerDidClose with an error"]
            provisioning.check(device, provisioner, before_provisioner=before)


# A holder and a reader of an mdoc

REQUEST, DOCUMENT = 2_000, 20_000
# The name of the side that is the GATT server, and whether the messages go over a channel.
ARRANGEMENTS = pytest.mark.parametrize("server", ["holder", "reader"])
WAYS = pytest.mark.parametrize("way", [(), ("--channel",)], ids=["characteristics", "channel"])


class Presentation(Sides):
    def __init__(self, radio, folder, server, way):
        super().__init__("mdoc", radio.transport, folder, "holder", "reader")
        self.server, self.way = server, way
        self.client = {"holder": "reader", "reader": "holder"}[server]
        self.file("holder/document", DOCUMENT)
        self.file("reader/request", REQUEST)

    def run(self, side, *words):
        files = [self.folder / side / name for name in ("request", "document")]
        role = "server" if side == self.server else "client"
        program = self.start(side, side, role, SERVICE, *files, *self.way, *words)
        if role == "server":
            program.wait_for("advertising")
        return program

    def lines(self, side):
        """What a side prints of a session."""
        ident = ["ident"] if (side, self.server) == ("holder", "reader") else []
        message = {"holder": f"request {REQUEST} octets", "reader": f"document {DOCUMENT} octets"}[side]
        return [*ident, "session starts", message, "session ends in good order"]

    def check(self, programs, before=None):
        """Both sides end after a session; `before` is what a side has printed until then."""
        for side, program in programs.items():
            check_done(program, *programs.values())
            starts = ["advertising"] if side == self.server else []
            check(program, [*starts, *(before or {}).get(side, []), *self.lines(side)])
        received = {"holder/request": REQUEST, "reader/document": DOCUMENT}
        for name, length in received.items():
            assert (self.folder / name).read_bytes() == payload(length), name
            (self.folder / name).unlink()


@ARRANGEMENTS
@WAYS
def test_a_document_is_presented_at_each_start(radio, tmp_path, server, way):
    presentation = Presentation(radio, tmp_path, server, way)
    for _ in range(2):
        with presentation.run(server) as first, presentation.run(presentation.client) as second:
            presentation.check({server: first, presentation.client: second})


@ARRANGEMENTS
@WAYS
@pytest.mark.parametrize("killed", ["holder", "reader"])
def test_a_document_is_presented_after_a_kill(radio, tmp_path, server, way, killed):
    """A side is killed in the middle of the message that it receives; the other side stays for the next session."""
    presentation = Presentation(radio, tmp_path, server, way)
    limit = {"holder": REQUEST, "reader": DOCUMENT}[killed] // 2
    words = {killed: ("--killed-after", limit)}
    client = presentation.client
    survivor = server if killed == client else client
    with presentation.run(server, *words.get(server, ())) as first:
        with presentation.run(client, *words.get(client, ())) as second:
            programs = {server: first, client: second}
            check_killed(programs[killed])
            programs[survivor].wait_for("session ends early")
            before = [*presentation.lines(survivor)[:-1], "session ends early"]
            # A reader has no document of a holder that was killed while it received the request.
            if survivor == "reader":
                before = [line for line in before if not line.startswith("document")]
            with presentation.run(killed) as again:
                programs[killed] = again
                presentation.check(programs, {survivor: before})


# Two peers that connect to each other

CARDS = {"a": 3_000, "b": 2_999}


class Cards(Sides):
    def __init__(self, transport, folder):
        super().__init__("card-exchange", transport, folder, *CARDS)
        for side, length in CARDS.items():
            self.file(f"{side}/card", length)

    def run(self, side, *words):
        folder = self.folder / side
        return self.start(side, folder / "card", folder, *words)

    def check(self):
        """Each side gets the card of the other one by both ways. The files are removed."""
        for side, other in (("a", "b"), ("b", "a")):
            for way in ("written", "notified"):
                path = self.folder / side / way
                wait_until(path.exists, f"{side} has no card that was {way}")
                assert path.read_bytes() == payload(CARDS[other]), path
                path.unlink()


def test_two_peers_that_connect_to_each_other_exchange_cards_at_each_start_on_one_link(tmp_path):
    command = [*product("ble"), "radio", "--tcp", "127.0.0.1:0", "--traces", tmp_path / "traces"]
    with Program(command, tmp_path / "radio.log") as program:
        air = Air(program.wait_for("READY").split()[1], tmp_path / "traces")
        cards = Cards(air.transport, tmp_path)
        for _ in range(2):
            with cards.run("a") as a, cards.run("b") as b:
                cards.check()
                for peer in (a, b):
                    peer.wait_for("card sent")
                    peer.wait_for("didConnect")
                for trace in (air.next(), air.next()):
                    assert len(trace.read().links) == 1


@pytest.mark.parametrize("killed", CARDS)
@pytest.mark.parametrize("waits", [True, False], ids=["after-the-timeout", "at-once"])
def test_two_peers_exchange_cards_again_after_a_kill(radio, tmp_path, killed, waits):
    """Started at once, the killed peer makes a link while the other one still has the former link."""
    cards = Cards(radio.transport, tmp_path)
    survivor = {"a": "b", "b": "a"}[killed]
    with cards.run(survivor) as other:
        with cards.run(killed, "--killed-after", 1_500) as first:
            check_killed(first)
        if waits:
            other.wait_for("didDisconnect")
        for path in tmp_path.glob("[ab]/[wn]o*ed"):
            path.unlink()
        with cards.run(killed) as again:
            cards.check()
            again.wait_for("card sent")
            other.wait_for("didDisconnect")
        assert other.process.poll() is None


# A serial bridge

INPUT = 30_000


class Serial(Sides):
    def __init__(self, radio, folder, *words):
        super().__init__("serial-bridge", radio.transport, folder, "bridge", "terminal")
        self.words = words
        self.input, self.output = self.file("input", INPUT), folder / "output"

    def bridge(self, *words):
        bridge = self.start("bridge", "bridge", *words)
        bridge.wait_for("advertising")
        return bridge

    def terminal(self, *words):
        return self.start("terminal", "terminal", self.input, self.output, *self.words, *words)

    def check(self, bridge, terminal, before_bridge=(), before_terminal=()):
        check_done(terminal, bridge)
        lines = ["didConnect", "ready", f"received {len(BANNER + READY) + INPUT} octets", "didDisconnect"]
        check(terminal, [*before_terminal, *lines])
        starts = ["hello", "didSubscribe"] if self.words else ["didSubscribe", "hello"]
        check(bridge, ["advertising", *before_bridge, *starts, "didUnsubscribe"])
        assert self.output.read_bytes() == BANNER + READY + payload(INPUT)
        self.output.unlink()


@pytest.fixture(params=[(), ("--hello-first",)], ids=["subscribes-first", "hello-first"])
def serial(request, radio, tmp_path):
    return Serial(radio, tmp_path, *request.param)


def test_a_terminal_that_says_hello_at_once_gets_all_of_its_bridge_at_each_start(serial):
    for _ in range(2):
        with serial.bridge() as bridge, serial.terminal() as terminal:
            serial.check(bridge, terminal)


def test_a_bridge_serves_a_terminal_after_one_that_was_killed(serial):
    with serial.bridge() as bridge:
        with serial.terminal("--killed-after", 10_000) as killed:
            check_killed(killed)
        bridge.wait_for("didUnsubscribe")
        starts = ["hello", "didSubscribe"] if serial.words else ["didSubscribe", "hello"]
        with serial.terminal() as terminal:
            serial.check(bridge, terminal, before_bridge=[*starts, "didUnsubscribe"])


def test_a_terminal_begins_anew_with_a_bridge_that_was_killed(serial):
    with serial.bridge("--killed-after", 10_000) as killed, serial.terminal() as terminal:
        check_killed(killed)
        with serial.bridge() as bridge:
            serial.check(bridge, terminal, before_terminal=["didConnect", "ready", "didDisconnect"])


# A transfer with a timeout of the connection, that resumes

FILE = 200_000


class Transfer(Sides):
    def __init__(self, transport, folder):
        super().__init__("resuming-transfer", transport, folder, "source", "receiver")
        self.file("file", FILE)
        self.output = folder / "output"

    def source(self, *words):
        source = self.start("source", "source", self.folder / "file", *words)
        source.wait_for("advertising")
        return source

    def receiver(self, *words):
        return self.start("receiver", "receiver", self.output, *words)

    def check(self, source, receiver):
        check_done(receiver, source)
        assert self.output.read_bytes() == payload(FILE)

    def offsets(self, program):
        return [int(line.split()[1]) for line in program.transcript() if line.startswith("from ")]


@pytest.fixture
def transfer(radio, tmp_path):
    return Transfer(radio.transport, tmp_path)


def test_a_file_is_received_at_each_start(transfer):
    for beginning in ("scanning", "known source"):
        with transfer.source() as source, transfer.receiver() as receiver:
            transfer.check(source, receiver)
            check(receiver, [beginning, "didConnect", "from 0", f"received {FILE} octets"])
            check(source, ["advertising", "from 0", "didUnsubscribe"])
        transfer.output.unlink()


def test_a_connection_that_timed_out_is_tried_until_the_source_is_there(tmp_path):
    # An endpoint for each side: the addresses of the hosts of one endpoint follow from the order in which they start.
    paths = {side: tmp_path / f"{side}.socket" for side in ("source", "receiver")}
    command = [*product("ble"), "radio", *(word for path in paths.values() for word in ("--unix", path))]
    with Program(command, tmp_path / "radio.log") as radio:
        for path in paths.values():
            radio.wait_for_socket(path)
        transfer = Transfer({side: f"unix-client:{path}" for side, path in paths.items()}, tmp_path)
        with transfer.source() as source, transfer.receiver() as receiver:
            transfer.check(source, receiver)
        transfer.output.unlink()
        with transfer.receiver() as receiver:
            receiver.wait_for("connection timed out")
            with transfer.source() as source:
                transfer.check(source, receiver)
                # The time-outs before the source was there are one line of the transcript.
                lines = ["known source", "connection timed out", "didConnect", "from 0", f"received {FILE} octets"]
                check(receiver, lines)


def test_a_receiver_that_was_killed_resumes_at_its_next_start(transfer):
    with transfer.source() as source:
        with transfer.receiver("--killed-after", FILE // 2) as killed:
            check_killed(killed)
        source.wait_for("didUnsubscribe")
        offset = transfer.output.stat().st_size
        assert offset >= FILE // 2
        with transfer.receiver() as receiver:
            transfer.check(source, receiver)
            check(receiver, ["known source", "didConnect", f"from {offset}", f"received {FILE} octets"])
        check(source, ["advertising", "from 0", "didUnsubscribe", f"from {offset}", "didUnsubscribe"])


def test_a_receiver_resumes_with_a_source_that_was_killed(transfer):
    with transfer.source("--killed-after", FILE // 2) as killed, transfer.receiver() as receiver:
        check_killed(killed)
        with transfer.source() as source:
            transfer.check(source, receiver)
            [first, offset] = transfer.offsets(receiver)
            assert first == 0 and 0 < offset <= FILE // 2
            assert transfer.offsets(source) == [offset]
