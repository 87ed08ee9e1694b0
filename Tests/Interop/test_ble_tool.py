"""The tool `ble`, as a user starts it: on a radio of ours or Bumble's, with Bumble as the other host."""

import contextlib
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios

import jsonschema
import pytest
import traces
from central import uuid
from programs import LIMIT, ROOT, Program, product, wait_until
from radios import have_tshark, ours

SCHEMA = json.loads((ROOT / "Docs/ble.schema.json").read_text())


def checked(command, output):
    """The objects that a command has printed with --json; each has the form that the schema states."""
    definition = {**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{command}"}]}
    objects = [json.loads(line) for line in output.splitlines()]
    for found in objects:
        jsonschema.Draft202012Validator(definition).validate(found)
    return objects


def run(*words, status=0, **options):
    """The output of a command that ends by itself."""
    done = subprocess.run(
        [*product("ble"), *map(str, words)], capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL, **options
    )
    assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    if "--json" in words:
        checked(words[0], done.stdout)
    return done.stdout if status == 0 else done.stderr + done.stdout


def on_a_terminal(*words, until=None):
    """The output on a terminal of 80 columns, without colours. A command that does not end by itself is interrupted as soon as
    the output satisfies `until`.
    """
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [*product("ble"), *map(str, words)]
    environment = {**os.environ, "NO_COLOR": "1"}
    with subprocess.Popen(command, stdout=child, stderr=child, stdin=subprocess.DEVNULL, env=environment) as program:
        os.close(child)
        output, is_interrupted = b"", False
        with contextlib.suppress(OSError):  # EIO: the program has ended
            while part := os.read(parent, 65_536):
                output += part
                if until is not None and until(output.decode(errors="replace")):
                    program.send_signal(signal.SIGINT)
                    until = None
                    is_interrupted = True
        assert program.wait(LIMIT) == (128 + signal.SIGINT if is_interrupted else 0), output
    os.close(parent)
    return output.decode().replace("\r\n", "\n")


@contextlib.contextmanager
def serving(radio, folder, name="Thermometer"):
    """The example that `ble serve` prints, served under a name."""
    description = folder / f"{name.lower()}.json"
    description.write_text(run("serve", "--example").replace("Thermometer", name))
    command = [*product("ble"), "serve", description, "--transport", radio.transport]
    with Program(command, folder / f"serve-{name}.log") as program:
        program.description = description
        program.wait_for("READY")
        yield program
        program.check_alive()


@pytest.fixture
def thermometer(radio, tmp_path):
    with serving(radio, tmp_path) as program:
        yield program


def change(thermometer, text):
    """Replaces the description at once, so that no part of it is read."""
    new = thermometer.description.with_suffix(".new")
    new.write_text(text)
    new.replace(thermometer.description)


def test_demonstration_and_its_log(tmp_path):
    output = run("demo", cwd=tmp_path)
    assert output.count("bpm") == 5 and "found" in output
    trace = tmp_path / "demo.btsnoop"
    lines = [json.loads(line) for line in run("log", "--json", "--all", trace).splitlines()]
    notifications = [line for line in lines if line["name"] == "Handle Value Notification"]
    assert [line["details"].split(" = ")[1] for line in notifications] == [
        f"{70 + beat % 5} bpm, skin contact" for beat in range(1, 6)
    ]
    assert not any(line["failure"] for line in lines)
    text = run("log", trace)
    assert "Heart Rate Measurement = 71 bpm" in text
    # The commands that set the controller up are left out.
    assert "Reset" not in text and "LE Set Extended Advertising Enable" in text
    assert "> HCI   Reset" in run("log", trace, "--all")
    layers = [json.loads(line)["layer"] for line in run("log", "--json", "--layer", "att", trace).splitlines()]
    assert layers == ["ATT"] * len([line for line in lines if line["layer"] == "ATT"])
    [link] = {line["link"] for line in lines if line["layer"] == "ATT"}
    assert {json.loads(line)["link"] for line in run("log", "--json", "--link", link, trace).splitlines()} == {link}
    assert max(map(len, on_a_terminal("log", trace).splitlines())) <= 80
    if have_tshark():
        # Each ATT PDU that Wireshark finds has a line, in the same order and with the same time.
        found = traces.fields(trace, "btatt", "frame.time_relative")
        assert [f"{line['time']:.6f}" for line in lines if line["layer"] == "ATT"] == [f"{float(row[0]):.6f}" for row in found]
    run("log", trace, "--svg", tmp_path / "demo.svg")
    picture = (tmp_path / "demo.svg").read_text()
    subprocess.run(["python3", "-c", "import sys, xml.dom.minidom as x; x.parse(sys.argv[1])", tmp_path / "demo.svg"], check=True)
    assert "Heart Rate Measurement" in picture


def test_device_on_the_radio_is_found_inspected_read_and_written(thermometer, radio, tmp_path):
    transport = ["--transport", radio.transport]
    command = [*product("ble"), "scan", "--json", "--duration", LIMIT, *transport]
    with Program(command, tmp_path / "scan.log") as scan:
        scan.wait_for("Thermometer")
        # The scan goes on until it has found another device: the first one is reported once.
        with serving(radio, tmp_path, "Later"):
            scan.wait_for("Later")
    lines = checked("scan", scan.output)
    [found] = [device for device in lines if device.get("name") == "Thermometer"]
    assert found["services"] == ["181A", "180F"] and found["connectable"]
    device = json.loads(run("inspect", "--json", "thermometer", *transport))
    values = {c["uuid"]: c.get("value", {}) for s in device["services"] for c in s["characteristics"]}
    assert values["2A6E"] == {"hex": "6608", "text": "21.50 °C", "value": 21.5, "unit": "°C"}
    assert values["2A19"] == {"hex": "64", "text": "100 %", "value": 100, "unit": "%"}
    assert values["2A3D"] == {"hex": b"kitchen".hex(), "text": '"kitchen"'}
    temperature = {"characteristic": "2A6E", **values["2A6E"]}
    read = json.loads(run("read", "Thermometer", "2A6E", "--json", *transport))
    [handle] = [c["handle"] for s in device["services"] for c in s["characteristics"] if c["uuid"] == "2A6E"]
    assert read == {**temperature, "handle": handle}
    assert "Room temperature" in run("inspect", found["address"], *transport)
    run("write", "Thermometer", "2A3D", "text:bath", *transport)
    assert run("read", "Thermometer", "String", "--hex", *transport).strip() == b"bath".hex()
    assert "wrote 2A3D" in thermometer.wait_for("wrote")


def test_a_name_that_does_not_fit_is_reported_and_found_by_what_is_sent(radio, tmp_path):
    name, sent = "The thermometer in the kitchen", "The thermometer in the kitche"
    with serving(radio, tmp_path, name) as program:
        notice = program.wait_for("does not fit into the advertisement")
        assert f"the name '{name}' has 30 octets" in notice and f"'{sent}' (29 octets) is sent" in notice
        assert run("read", sent, "2A19", "--transport", radio.transport) == "100 %\n"


@pytest.mark.parametrize("filters, text", [([], "0.5 s: none advertises in range"), (["--name", "x"], "0.5 s with --name. Run: ble scan")])
def test_a_scan_without_a_result_ends_after_its_duration_and_says_so(filters, text, tmp_path):
    with ours("empty", tmp_path) as radio:
        command = [*product("ble"), "scan", "--json", "--duration", "0.5", *filters, "--transport", radio.transport]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and done.stdout == ""
    assert done.stderr.startswith(f"ble: no device was found in {text}"), done.stderr


def test_a_device_that_is_not_found_is_named_beside_those_that_are(thermometer, radio):
    error = run("read", "Termometer", "2A19", "--timeout", 2, "--transport", radio.transport, status=68)
    # Devices of other tests may be nearer.
    hint, _, received = error.partition(" Received were ")
    assert hint.endswith("Did you mean 'Thermometer'?") and "'Thermometer' (" in received, error


def test_the_radio_says_that_a_host_has_left(tmp_path):
    with ours("leaves", tmp_path) as radio:
        run("scan", "--duration", 0.1, "--transport", radio.transport)
        assert "the host closed the connection" in radio.program.wait_for("disconnected")


def test_changed_file_is_served(thermometer, radio, tmp_path):
    transport = ["--transport", radio.transport]
    command = [*product("ble"), "subscribe", "Thermometer", "2A6E", "--count", "2", *transport]
    with Program(command, tmp_path / "subscribe.log") as subscriber:
        assert "2A6E" in thermometer.wait_for("subscribed")
        for before, after, text in (("21.50 °C", "21.60 °C", "21.60 °C"), ("21.60 °C", "7A08", "21.70 °C")):
            change(thermometer, thermometer.description.read_text().replace(before, after))
            thermometer.wait_for(f"2A6E is now {text}")
        assert subscriber.wait_for_end() == 0, subscriber.output
    assert subscriber.output.split("\n")[:2] == ["21.60 °C", "21.70 °C"]
    change(thermometer, "{")
    assert "stay as they are" in thermometer.wait_for("thermometer.json:1: this is not JSON")
    change(thermometer, run("serve", "--example").replace("2A3D", "2A3E"))
    thermometer.wait_for("published anew")
    wait_until(lambda: thermometer.output.count("READY") == 2, lambda: thermometer.output)
    assert run("read", "Thermometer", "2A3E", *transport) == '6b 69 74 63 68 65 6e "kitchen"\n'


def test_subscription_has_numbers(thermometer, radio, tmp_path):
    command = [*product("ble"), "subscribe", "Thermometer", "2A6E", "--json", "--count", "1", "--transport", radio.transport]
    with Program(command, tmp_path / "subscribe.log") as subscriber:
        thermometer.wait_for("subscribed")
        change(thermometer, thermometer.description.read_text().replace("21.50 °C", "21.60 °C"))
        assert subscriber.wait_for_end() == 0, subscriber.output
    [value] = checked("subscribe", subscriber.output)
    assert value.pop("handle") > 0
    assert value == {"characteristic": "2A6E", "hex": "7008", "text": "21.60 °C", "value": 21.6, "unit": "°C"}


def test_a_misspelt_field_of_a_description_is_an_error(tmp_path):
    """What the program would ignore might be what protects a value."""
    description = tmp_path / "lock.json"
    description.write_text(run("serve", "--example").replace('"properties"', '"secruity": "encrypted",\n        "properties"', 1))
    said = run("serve", description, "--transport", "virtual", status=65)
    assert 'secruity: unknown field. Did you mean "security"?' in said and "READY" not in said, said
    assert "lock.json:" in said


async def test_bumble_reads_a_served_value(thermometer, radio):
    from central import Central

    async with Central(radio.transport) as central:
        link = await central.connect("Thermometer")
        services = await link.discover()
        temperature = next(c for s in services for c in s.characteristics if c.uuid == uuid("2A6E"))
        assert await link.read(temperature.handle) == bytes.fromhex("6608")


def test_bench_measures_each_path(radio, tmp_path):
    transport = ["--transport", radio.transport]
    with Program([*product("ble"), "bench", "--serve", *transport], tmp_path / "serve.log") as server:
        server.wait_for("READY")
        lines = run("bench", "ble bench", "--json", "--seconds", 0.5, *transport).splitlines()
    results = {line["measurement"]: line for line in map(json.loads, lines)}
    assert set(results) == {"reads", "writes without response", "notifications", "L2CAP channel, echoed"}
    assert all(result["octets"] > 0 for result in results.values())


def test_pairing_leaves_a_bond_that_can_be_removed(thermometer, radio, tmp_path):
    environment = {**os.environ, "BLE_BONDS": str(tmp_path / "bonds.json")}
    transport = ["--transport", radio.transport]
    assert "bonded" in run("pair", "Thermometer", *transport, env=environment)
    [bond] = [json.loads(line) for line in run("bonds", "--json", *transport, env=environment).splitlines()]
    assert bond["secureConnections"] and bond["keySize"] == 16
    run("bonds", "--remove", bond["address"], *transport, env=environment)
    assert run("bonds", *transport, env=environment) == ""


def test_bonds_are_listed_without_their_adapter(tmp_path):
    """The adapter was unplugged, or another program has it."""
    with contextlib.ExitStack() as stack:
        radio = stack.enter_context(ours("gone", tmp_path))
        transport = ["--transport", radio.transport]
        stack.enter_context(serving(radio, tmp_path))
        run("pair", "Thermometer", *transport)
        [bond] = run("bonds", "--json", *transport).splitlines()
    run("scan", "--duration", 1, *transport, status=69)
    assert run("bonds", "--json", *transport).splitlines() == [bond]
    assert "no program listens there" in run("bonds", "--remove", json.loads(bond)["address"], *transport, status=69)
    assert run("bonds", "--transport", "unix-client:/another") == ""


REPORTS = {
    "name": "Keyboard",
    "services": [{"uuid": "1812", "characteristics": [
        {"uuid": "2A4D", "properties": ["read"], "value": "01"},
        {"uuid": "2A4D", "properties": ["read", "write"], "value": "02"}]}],
}  # fmt: skip


def test_handle_chooses_among_characteristics_of_one_uuid(radio, tmp_path):
    description = tmp_path / "keyboard.json"
    description.write_text(json.dumps(REPORTS))
    transport = ["--transport", radio.transport]
    with Program([*product("ble"), "serve", description, *transport], tmp_path / "serve.log") as program:
        program.wait_for("READY")
        error = run("read", "Keyboard", "Report", *transport, status=64)
        handles = re.findall(r"(0x[0-9A-F]{4}) \(Human Interface Device; ", error)
        assert len(handles) == 2 and "--handle" in error
        # inspect shows them, too.
        tree = run("inspect", "Keyboard", *transport)
        assert re.findall(r"Report \(2A4D\)  \[.*\]  (0x[0-9A-F]{4})\n", tree) == handles
        assert [run("read", "Keyboard", "2A4D", "--hex", "--handle", handle, *transport) for handle in handles] == ["01\n", "02\n"]
        # Octets of standard input are written as they are.
        command = [*product("ble"), "write", "Keyboard", "2A4D", "-", "--handle", handles[1], *transport]
        subprocess.run(command, input=b"\x00\xff\n", timeout=LIMIT, check=True)
        assert run("read", "Keyboard", "2A4D", "--hex", "--handle", handles[1], *transport) == "00ff0a\n"
        done = subprocess.run(command, input=bytes(513), capture_output=True, timeout=LIMIT)
        assert done.returncode == 65 and b"at most 512 octets" in done.stderr


def test_a_characteristic_is_found_by_its_description_and_written_by_typed_values(radio, tmp_path):
    description = tmp_path / "greenhouse.json"
    description.write_text(json.dumps({"name": "Greenhouse", "services": [{"uuid": "Environmental Sensing", "characteristics": [
        {"uuid": "Temperature", "properties": ["read", "write"], "value": "21.5 °C", "description": "Air"},
        {"uuid": "Temperature", "properties": ["read"], "value": "-3 °C", "description": "Soil"},
        {"uuid": "7D0A0002-9E47-4C5A-9B1B-3C1E6F2A8D10", "properties": ["read", "write"], "description": "Window"}]}]}))  # fmt: skip
    transport = ["--transport", radio.transport]
    with Program([*product("ble"), "serve", description, *transport], tmp_path / "serve.log") as program:
        program.wait_for("READY")
        assert [run("read", "Greenhouse", name, *transport) for name in ("Air", "soil")] == ["21.50 °C\n", "-3.00 °C\n"]
        run("write", "Greenhouse", "Air", "-0.5 °C", *transport)
        assert run("read", "Greenhouse", "Air", *transport) == "-0.50 °C\n"
        for typed, shown in (("int16:2150", "66 08"), ("utf8:half open", '68 61 6c 66 20 6f 70 65 6e "half open"'), ("float32:1", "00 00 80 3f")):
            run("write", "Greenhouse", "Window", typed, *transport)
            assert run("read", "Greenhouse", "Window", *transport) == f"{shown}\n"
        error = run("write", "Greenhouse", "Air", "warm", *transport, status=65)
        assert "'warm' is no value of Temperature. Write it as ble read prints it, such as 0.00 °C" in error
        assert "There are: " in (error := run("read", "Greenhouse", "Door", *transport, status=68)) and "Temperature 'Soil'" in error
    # A fault that the command line shows is reported without the device.
    assert "is no value of Temperature" in run("write", "nobody", "Temperature", "warm", *transport, status=65)


def test_a_command_prints_the_value(radio, tmp_path):
    value, description = tmp_path / "humidity", tmp_path / "sensor.json"
    value.write_text("40 %")
    description.write_text(json.dumps({"name": "Sensor", "services": [{"uuid": "181A", "characteristics": [
        {"uuid": "2A6F", "properties": ["read", "notify"], "exec": f"cat {value}", "every": 1},
        {"uuid": "2A6E", "properties": ["read"], "exec": "echo broken; exit 5"}]}]}))  # fmt: skip
    transport = ["--transport", radio.transport]
    with Program([*product("ble"), "serve", description, *transport], tmp_path / "serve.log") as program:
        program.wait_for("READY")
        assert run("read", "Sensor", "Humidity", *transport) == "40.00 %\n"
        assert "Unlikely Error (0x0E)" in run("read", "Sensor", "Temperature", *transport, status=76)
        assert "2A6E has no value: the command 'echo broken; exit 5': exit status 5" in program.output
        command = [*product("ble"), "subscribe", "Sensor", "Humidity", "--count", "2", *transport]
        with Program(command, tmp_path / "subscribe.log") as subscriber:
            subscriber.wait_for("40.00 %")
            (tmp_path / "new").write_text("41 %")
            (tmp_path / "new").replace(value)
            assert subscriber.wait_for_end() == 0, subscriber.output
        assert subscriber.output.splitlines() == ["40.00 %", "41.00 %"]
    description.chmod(0o666)
    assert "other users can change" in run("serve", description, *transport, status=66)


def test_search_shows_its_progress_on_a_terminal(radio):
    words = ["read", "nobody", "2A19", "--timeout", "0.1", "--transport", radio.transport]
    parent, child = pty.openpty()
    with subprocess.Popen([*product("ble"), *words], stdout=subprocess.PIPE, stderr=child, stdin=subprocess.DEVNULL) as program:
        os.close(child)
        output = b""
        with contextlib.suppress(OSError):  # EIO: the program has ended
            while part := os.read(parent, 65_536):
                output += part
        assert program.wait(LIMIT) == 68 and program.stdout.read() == b""
    os.close(parent)
    assert b"\r\x1b[Ksearching for 'nobody': 0 devices in range, 0 s left" in output
    # It is erased before the error.
    assert b"\r\x1b[Kble: no device 'nobody' was found in 0.1 s" in output
    assert "searching" not in run(*words, status=68)


@pytest.mark.parametrize("words", [["man"], ["demo"], ["scan", "--json"]], ids=lambda words: words[0])
def test_output_that_cannot_be_written_is_an_error(words, thermometer, radio, tmp_path):
    command = [*product("ble"), *words, *(["--transport", radio.transport] if words[0] == "scan" else [])]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=LIMIT, cwd=tmp_path)
    assert done.returncode == 74
    assert done.stderr == b"ble: standard output cannot be written: No space left on device\n"


def test_help_of_a_command():
    assert run("help") == run("--help") and run("help", "scan") == run("scan", "--help")
    assert "74 for an adapter" in run("man")


def test_services_are_named(thermometer, radio, tmp_path):
    command = [*product("ble"), "scan", "--json", "--service", "environmental sensing", "--duration", LIMIT, "--transport", radio.transport]
    with Program(command, tmp_path / "scan.log") as scan:
        scan.wait_for("Thermometer")
    assert run("read", "Thermometer", "Battery Level", "--service", "Battery", "--transport", radio.transport) == "100 %\n"


@pytest.mark.parametrize(
    "words, status, text",
    [
        ([], 64, "a command is missing"),
        (["fly"], 64, "unknown command 'fly'"),
        (["scna"], 64, "unknown command 'scna'. Did you mean 'scan'?"),
        (["help", "scna"], 64, "unknown command 'scna'. Did you mean 'scan'?"),
        (["scan", "--service", "Hart Rate"], 64, "Did you mean 'Heart Rate'?"),
        (["scan", "--service", "Temperature"], 64, "'Temperature' is the name of 2A6E, which is not a service"),
        (["log", "x", "--layer", "at"], 64, "Did you mean att?"),
        (["read", "x", "2A19", "--handle", "0"], 64, "a handle from 0x0001 to 0xFFFF"),
        (["read", "C0:11:22:33:44", "2A19"], 64, "'C0:11:22:33:44' is not an address, which has six octets"),
        (["pair", "c0-11-22-33-44-55"], 64, "is not the form of an address: C0:11:22:33:44:55"),
        (["shell", "C0:11:22:33:44"], 64, "which has six octets"),
        (["bench", "C0:11:22:33:44"], 64, "which has six octets"),
        (["inspect", "C0:11:22:33:44:55-rand"], 64, "-public, -random or nothing"),
        (["bonds", "--remove", "foo", "--transport", "virtual"], 68, "no bond and no remembered device has the name 'foo'"),
        (["bonds", "--remove", "C0:11:22:33:44"], 64, "which has six octets"),
        (["scan", "--fast"], 64, "unknown option --fast"),
        (["read", "x"], 64, "CHARACTERISTIC is missing"),
        (["log", "nowhere.btsnoop"], 66, "cannot be read"),
        (["log", "/proc/self/cmdline"], 65, "btsnoop"),
        (["scan", "--transport", "tcp-client:127.0.0.1:1"], 69, "no program listens there"),
        (["scan", "--transport", "nonsense"], 64, "nonsense"),
        (["read", "nobody", "2A19", "--timeout", "1", "--transport", "virtual"], 68, "no device 'nobody'"),
    ],
)
def test_failure_has_its_status_and_reason(words, status, text):
    assert text in run(*words, status=status)


def test_schema_names_each_command_that_prints_json():
    help_texts = {command: run(command, "--help") for command in re.findall(r"(?m)^  (\w+) ", run("--help"))}
    with_json = {command for command, text in help_texts.items() if "--json" in text}
    assert len(with_json) >= 8 and with_json == {name for name in with_json if name in SCHEMA["$defs"]}
    assert {definition["$ref"].rsplit("/", 1)[1] for definition in SCHEMA["anyOf"]} == with_json
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    "command, line",
    [
        ("read", '{"characteristic": "2A6E", "handle": 3, "hex": "6608", "text": "21.50 °C", "value": "21.50 °C"}'),
        ("read", '{"characteristic": "2A6E", "handle": 3, "hex": "6608", "text": "21.50 °C", "unit": "°C"}'),
        ("read", '{"characteristic": "Temperature", "handle": 3, "hex": "6608", "text": "21.50 °C"}'),
        ("read", '{"characteristic": "2A6E", "handle": 3, "hex": "6608"}'),
        ("read", '{"characteristic": "2A6E", "handle": 0, "hex": "6608", "text": "21.50 °C"}'),
        ("bonds", '{"address": "C0:11", "authenticated": true, "secureConnections": true, "keySize": 16, "addressType": "public"}'),
        ("bonds", '{"address": "C0:11:22:33:44:55", "authenticated": true, "secureConnections": true, "keySize": 16, "addressType": "public", "key": "00"}'),
    ],
)
def test_schema_rejects_other_output(command, line):
    with pytest.raises(jsonschema.ValidationError):
        checked(command, line)


def test_completions_and_manual_page_are_well_formed(tmp_path):
    script = tmp_path / "ble.bash"
    script.write_text(run("completions", "bash"))
    subprocess.run(["bash", "-n", script], check=True)
    complete = f"source {script}; COMP_WORDS=(ble inspect --js); COMP_CWORD=2; _ble; echo ${{COMPREPLY[@]}}"
    assert subprocess.run(["bash", "-c", complete], capture_output=True, text=True, check=True).stdout.strip() == "--json"
    page = run("man")
    if shutil.which("groff"):
        shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, check=True)
        assert shown.stderr == "" and "scan" in shown.stdout


def test_table_of_devices_fits_a_terminal_of_80_columns(thermometer, radio):
    """The table that the terminal keeps: the lines after the second screen. Other tests of it are in test_screens.py."""

    def is_complete(output):
        return any("Thermometer" in row and "Environmental Sensing" in row for row in output.splitlines())

    output = on_a_terminal("scan", "--transport", radio.transport, until=is_complete)
    head, *rows = output.split("\x1b[?1049l")[-1].splitlines()
    assert head.startswith("RSSI  ADDRESS                   NAME")
    assert any("Thermometer" in row and "Environmental Sensing" in row for row in rows)
    assert all(len(row) <= 80 for row in rows)


@pytest.mark.skipif(os.path.exists("/sys/module/bluetooth"), reason="this machine has Bluetooth")
def test_doctor_on_a_machine_without_bluetooth():
    """The other states of a machine are in kernel/test_doctor.py."""
    output = run("doctor", "--transport", "linux", status=69)
    assert "has no Bluetooth" in output and "sudo modprobe bluetooth" in output


def test_doctor_of_a_simulated_controller(radio):
    output = run("doctor", "--transport", radio.transport)
    assert "The adapter works." in output and "ACL buffers" in output
    report = json.loads(run("doctor", "--json", "--transport", radio.transport))
    assert report["works"] and "LE 1M" in report["controller"]["phys"]
