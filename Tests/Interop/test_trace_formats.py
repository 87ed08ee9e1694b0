"""Traces in other formats than btsnoop, written by Wireshark's programs and by hand: `ble log` shows the same."""

import asyncio
import json
import os
import struct
import subprocess

import jsonschema
import pytest
import traces
from bumble.snoop import BtSnooper
from programs import LIMIT, Program, product
from radios import have_tshark, ours
from secured_peripheral import NAME, OPEN, SecuredPeripheral
from test_ble_tool import SCHEMA, run, serving

needs_tshark = pytest.mark.skipif(not have_tshark(), reason="tshark is not installed")

# Microseconds from 0000-01-01, the origin of btsnoop's time, to 1970-01-01.
ORIGIN = 0x00DCDDB30F2F8000


def records(trace):
    """Direction (1: received), microseconds since 1970 and packet of each record of a btsnoop file."""
    octets = trace.read_bytes()
    assert octets[:16] == b"btsnoop\0" + struct.pack(">II", 1, 1002)
    place = 16
    while place < len(octets):
        _, length, flags, _, time = struct.unpack_from(">IIIIQ", octets, place)
        yield flags & 1, time - ORIGIN, octets[place + 24 : place + 24 + length]
        place += 24 + length


def packet_logger(trace, order):
    """A file of Apple's PacketLogger: length, seconds, microseconds, type, packet without its indicator."""
    for received, time, packet in records(trace):
        kind = {1: 0x00, 4: 0x01, 2: 0x03 if received else 0x02}[packet[0]]
        yield struct.pack(f"{order}III", len(packet) + 8, time // 1_000_000, time % 1_000_000) + bytes([kind]) + packet[1:]


def pcap_without_directions(trace):
    """Link type 187: packets with an indicator, and nothing else."""
    yield struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0x40000, 187)
    for _, time, packet in records(trace):
        yield struct.pack("<IIII", time // 1_000_000, time % 1_000_000, len(packet), len(packet)) + packet


def monitor(trace):
    """Link type 254, big-endian: the packets of the Linux monitor, the opcode in place of the indicator."""
    yield struct.pack(">IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0x40000, 254)
    for received, time, packet in records(trace):
        head = struct.pack(">HH", 0, {1: 2, 4: 3, 2: 5 if received else 4}[packet[0]])
        length = len(packet) + 3
        yield struct.pack(">IIII", time // 1_000_000, time % 1_000_000, length, length) + head + packet[1:]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Two traces: of the demonstration, and of an inspection."""
    folder = tmp_path_factory.mktemp("recorded")
    run("demo", cwd=folder)
    with ours("radio", folder) as radio, serving(radio, folder):
        run("inspect", "Thermometer", "--transport", radio.transport, "--snoop", folder / "inspect.btsnoop")
    return [folder / "demo.btsnoop", folder / "inspect.btsnoop"]


@needs_tshark
@pytest.mark.parametrize("form", ["pcap", "nsecpcap", "pcapng"])
def test_files_of_wireshark_have_the_same_log(form, recorded, tmp_path):
    for trace in recorded:
        expected = run("log", "--all", trace)
        assert expected.count("\n") > 100
        subprocess.run(["editcap", "-F", form, trace, tmp_path / "converted"], check=True, capture_output=True, timeout=LIMIT)
        assert run("log", "--all", tmp_path / "converted") == expected
        command = ["tshark", "-n", "-r", trace, "-F", form, "-w", tmp_path / "written"]
        subprocess.run(command, check=True, capture_output=True, timeout=LIMIT)
        assert run("log", "--all", tmp_path / "written") == expected


FORMATS = {
    "packet-logger-big": lambda trace: packet_logger(trace, ">"),
    "packet-logger-little": lambda trace: packet_logger(trace, "<"),
    "pcap-187": pcap_without_directions,
    "pcap-254": monitor,
}


@pytest.mark.parametrize("form", FORMATS)
def test_files_by_hand_have_the_same_log(form, recorded, tmp_path):
    for trace in recorded:
        expected = run("log", "--all", trace)
        octets = b"".join(FORMATS[form](trace))
        file = tmp_path / "converted"
        file.write_bytes(octets)
        assert run("log", "--all", file) == expected
        # Standard input is read as it arrives.
        done = subprocess.run(
            [*product("ble"), "log", "--all", "-"], input=octets, capture_output=True, timeout=LIMIT, check=True
        )
        assert done.stdout.decode() == expected
        if have_tshark():
            names = ("btatt", "btatt.opcode", "btatt.handle")
            assert traces.fields(file, *names) == traces.fields(trace, *names)


def test_a_file_that_is_damaged_ends_with_the_packets_before(recorded, tmp_path):
    trace, file = recorded[0], tmp_path / "damaged"
    whole = b"".join(packet_logger(trace, ">"))
    file.write_bytes(whole + struct.pack(">III", 3, 0, 0) + b"\0")
    done = subprocess.run([*product("ble"), "log", "--all", file], capture_output=True, text=True, timeout=LIMIT)
    assert done.stdout == run("log", "--all", trace)
    assert done.stderr == f"ble: {file}: at octet {len(whole)}: a record of 3 octets; the shortest one has 9\n"
    assert done.returncode == 65
    file.write_bytes(whole[:-1])
    lines = list(packet_logger(trace, ">"))
    done = subprocess.run([*product("ble"), "log", file], capture_output=True, text=True, timeout=LIMIT)
    place = len(whole) - len(lines[-1])
    assert done.stderr == f"ble: {file}: the last packet is incomplete: it begins at octet {place}\n"
    assert done.returncode == 0


def test_packets_are_shown_while_a_program_captures(recorded, tmp_path):
    octets = recorded[0].read_bytes()
    with subprocess.Popen([*product("ble"), "log", "--all", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as log:
        log.stdin.write(octets[:1_000])
        log.stdin.flush()
        # The input stays open.
        first = log.stdout.readline()
        log.stdin.write(octets[1_000:])
        log.stdin.close()
        rest = log.stdout.read()
        assert log.wait(LIMIT) == 0
    assert (first + rest).decode() == run("log", "--all", recorded[0])


@pytest.mark.parametrize("words", [["--layer", "smp"], ["--explain"]], ids=lambda words: words[0])
def test_the_length_of_a_trace_needs_no_memory(words, recorded, tmp_path):
    octets, file = recorded[0].read_bytes(), tmp_path / "repeated"

    def peak(length):
        """The memory for a file of about this length, in KiB."""
        file.write_bytes(octets[:16] + octets[16:] * (length // len(octets)))
        command = [*product("ble"), "log", *words, file]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as log:
            _, status, usage = os.wait4(log.pid, 0)
            log.returncode = os.waitstatus_to_exitcode(status)
        assert log.returncode == 0
        return usage.ru_maxrss

    assert peak(3_000_000) < peak(100_000) + 3_000


def test_a_link_that_a_trace_does_not_have_is_an_error(recorded):
    for link in ("0x0123", "C0:11:22:33:44:55"):
        error = run("log", recorded[0], "--link", link, status=68)
        assert error.startswith(f"ble: {recorded[0]} has no link '{link}'. It has: 0x0"), error
    assert "takes a handle" in run("log", recorded[0], "--link", "0x1000", status=64)


def test_a_diagram_goes_to_standard_output(recorded, tmp_path):
    picture = run("log", recorded[0], "--svg", "-", cwd=tmp_path)
    run("log", recorded[0], "--svg", tmp_path / "demo.svg")
    assert picture == (tmp_path / "demo.svg").read_text() and not (tmp_path / "-").exists()


@pytest.mark.parametrize("words", [[], ["--json"], ["--svg", "-"], ["--describe"]], ids=lambda words: "".join(words))
def test_a_log_that_cannot_be_written_is_an_error(words, recorded):
    with open("/dev/full", "wb") as full:
        command = [*product("ble"), "log", recorded[1], *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=LIMIT)
    assert done.stderr == b"ble: standard output cannot be written: No space left on device\n"
    assert done.returncode == 74


DEVICE = {
    "name": "Station", "appearance": 768,
    "services": [
        {"uuid": "181A", "characteristics": [
            {"uuid": "2A6E", "properties": ["read", "notify"], "value": "21.50 °C", "description": "Room \"A\""},
            {"uuid": "2A3D", "properties": ["read", "write", "write_without_response"], "value": "text:attic"}]},
        {"uuid": "7D0A0001-9E47-4C5A-9B1B-3C1E6F2A8D10", "characteristics": [
            {"uuid": "7D0A0002-9E47-4C5A-9B1B-3C1E6F2A8D10", "properties": ["read", "indicate"], "value": "00" * 300},
            {"uuid": "7D0A0003-9E47-4C5A-9B1B-3C1E6F2A8D10", "properties": ["read", "write"], "security": "authenticated"}]}],
}  # fmt: skip


def described(text, tmp_path, name):
    """The file with a description, which has the form that the schema states."""
    definition = {**SCHEMA, "anyOf": [{"$ref": "#/$defs/serve"}]}
    jsonschema.Draft202012Validator(definition).validate(json.loads(text))
    file = tmp_path / name
    file.write_text(text)
    return file


def inspect(file, tmp_path, *words):
    """What `ble inspect` prints about a device that `ble serve` serves, and its packet trace."""
    trace = tmp_path / f"{file.stem}.btsnoop"
    trace.unlink(missing_ok=True)
    with ours(f"radio-{file.stem}", tmp_path) as radio:
        transport = ["--transport", radio.transport]
        with Program([*product("ble"), "serve", file, *transport], tmp_path / f"{file.stem}.log") as server:
            server.wait_for("READY")
            return run("inspect", DEVICE["name"], *words, *transport, "--snoop", trace), trace


def test_the_description_of_a_device_that_was_seen_is_that_device(tmp_path):
    original = described(json.dumps(DEVICE), tmp_path, "original.json")
    tree = json.loads(inspect(original, tmp_path, "--json")[0])["services"]
    text, trace = inspect(original, tmp_path, "--describe")
    copy = described(text, tmp_path, "copy.json")
    assert json.loads(inspect(copy, tmp_path, "--json")[0])["services"] == tree
    assert json.loads(text)["services"] == DEVICE["services"]
    # The trace of the inspection shows the same, and the advertisement.
    seen = json.loads(described(run("log", trace, "--describe"), tmp_path, "seen.json").read_text())
    assert seen.pop("advertise") == ["181A", "7D0A0001-9E47-4C5A-9B1B-3C1E6F2A8D10"]
    assert seen == json.loads(text)


def explained(trace):
    """The findings of a trace, those that are problems, and their text."""
    text = run("log", trace, "--explain")
    findings = [json.loads(line) for line in run("log", trace, "--explain", "--json").splitlines()]
    for finding in findings:
        assert finding["headline"] in text
        for evidence in finding["evidence"]:
            assert evidence["text"] in text
    return findings, [finding for finding in findings if finding["problem"]], text


def test_a_trace_without_a_failure_is_explained(recorded):
    for trace in recorded:
        findings, problems, text = explained(trace)
        assert problems == [] and "Nothing wrong in " in text
        assert [finding["kind"] for finding in findings].count("disconnection") == 1
    link = next(finding["link"] for finding in findings if finding["kind"] == "disconnection")
    assert run("log", trace, "--explain", "--link", link) == text
    assert "has no link" in run("log", trace, "--explain", "--link", "0x0123", status=68)
    assert "--explain reads the whole trace" in run("log", trace, "--explain", "--layer", "att", status=64)


async def test_the_traces_of_both_hosts_are_explained(tmp_path):
    """Bumble's peripheral ends the link instead of an answer, and rejects a pairing. Each host writes a trace of its own."""
    ending = ["The peer ended the link after", "a Read Request that it had not answered"]
    rejection = ["ended the pairing", "Pairing Failed"]
    with ours("radio", tmp_path) as radio:
        for fault, words, phrases in (("gone", ("read", NAME, OPEN), ending), (None, ("pair", NAME), rejection)):
            own, other = tmp_path / f"{words[0]}-own.btsnoop", tmp_path / f"{words[0]}-bumble.btsnoop"
            async with SecuredPeripheral(radio.transport, fault=fault, accepts=False) as peripheral:
                with open(other, "wb") as file:
                    peripheral.device.host.snooper = BtSnooper(file)
                    command = [*product("ble"), *words, "--transport", radio.transport, "--snoop", own]
                    done = await asyncio.to_thread(
                        subprocess.run, command, capture_output=True, timeout=LIMIT, stdin=subprocess.DEVNULL
                    )
                    peripheral.device.host.snooper = None
            assert done.returncode not in (0, 64), done
            _, problems, text = explained(own)
            assert problems and all(phrase in text for phrase in phrases), text
            _, _, text = explained(other)
            if fault is None:
                assert "This host ended the pairing after the Pairing Request" in text, text
                assert "The peer ended the pairing after the Pairing Request" in explained(own)[2]
            else:
                assert "This host ended the link after" in text and "< ATT   Read Request" in text, text


@needs_tshark
def test_the_numbers_of_packets_are_those_of_wireshark(recorded):
    for trace in recorded:
        [finding] = [finding for finding in explained(trace)[0] if finding["kind"] == "disconnection"]
        number = str(finding["evidence"][-1]["packet"])
        assert traces.fields(trace, "bthci_evt.code == 0x05", "frame.number") == [(number,)]
