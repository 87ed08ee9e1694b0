"""`ble shell`: a script on standard input, and a user on a terminal."""

import contextlib
import json
import os
import pty
import signal
import subprocess

import pytest
from programs import LIMIT, Program, Terminal, product, wait_until
from test_ble_tool import change, checked, run, serving


@pytest.fixture
def thermometer(radio, tmp_path):
    with serving(radio, tmp_path) as program:
        yield program


def shell(radio, *words):
    return [*product("ble"), "shell", "Thermometer", *words, "--transport", radio.transport]


def script(radio, lines, *words, status=0, environment=None):
    """Standard output and standard error of a script, which ends with this status."""
    variables = {**os.environ, **(environment or {})}
    done = subprocess.run(
        shell(radio, *words), input="\n".join(lines), capture_output=True, text=True, timeout=LIMIT, env=variables
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout, done.stderr


def test_a_script_reads_and_writes_on_one_link(thermometer, radio):
    lines = [
        "# a comment, and an empty line", "", "read 2A6E", "write 2A3D 'text:living room'", "read String --service 181A", "info",
        "disconnect", "connect", "read 'Battery Level'", "exit", "never",
    ]  # fmt: skip
    output, error = script(radio, lines)
    assert error == ""
    values = [line for line in output.splitlines() if ": " not in line]
    assert values == ["21.50 °C", '"living room"', "100 %"]
    assert "ATT_MTU: " in output and "security: not encrypted\n" in output and "subscriptions: none\n" in output
    thermometer.wait_for("wrote 2A3D")
    wait_until(lambda: thermometer.output.count("\nconnected ") == 2, lambda: thermometer.output)


def test_values_arrive_while_a_script_runs(thermometer, radio, tmp_path):
    with Program(shell(radio), tmp_path / "shell.log") as program:
        for line in ("subscribe Temperature", "wait 2A6E '21.60 °C'", "read 2A19", "unsubscribe 2A6E", "wait 2A19"):
            program.tell(line)
        program.process.stdin.close()
        thermometer.wait_for("subscribed to 2A6E")
        for before, after, text in (("21.50 °C", "21.54 °C", "21.54 °C"), ("21.54 °C", "7008", "21.60 °C")):
            change(thermometer, thermometer.description.read_text().replace(before, after))
            thermometer.wait_for(f"2A6E is now {text}")
        # A wait without a subscription makes one.
        thermometer.wait_for("subscribed to 2A19")
        change(thermometer, thermometer.description.read_text().replace("100 %", "50 %"))
        assert program.wait_for_end() == 0, program.output
    assert program.output.splitlines() == ["Temperature: 21.54 °C", "Temperature: 21.60 °C", "100 %", "50 %"]


def test_values_are_json_as_those_of_the_commands(thermometer, radio):
    output, _ = script(radio, ["read 2A6E", "services"], "--json")
    read, services = output.splitlines()
    [value] = checked("shell", read)
    assert value["text"] == "21.50 °C" and value["unit"] == "°C"
    [device] = checked("shell", services)
    assert {service["uuid"] for service in device["services"]} >= {"181A", "180F"}
    assert script(radio, ["read 2A6E"], "--hex")[0] == "6608\n"


@pytest.mark.parametrize(
    ("line", "status", "reason"),
    [
        ("raed 2A6E", 64, "unknown command 'raed'. Did you mean 'read'?"),
        ("read", 64, "CHARACTERISTIC is missing"),
        ("write 2A3D 0g", 65, "'0g' is no value"),
        ("read 2A99", 68, "the device has no characteristic '2A99'"),
        ("write 2A6E 0000", 76, "Write Not Permitted"),
        ("write 2A6E 19", 65, "'19' is 1 octet, and Temperature has 2 octets. For a number write '19 °C'"),
        ("wait 2A6E '-5 °C' --timeout 0.2", 68, "Temperature has not had the value -5 °C in 0.2 s"),
        ("wait 2A6E --timeout 0.2", 68, "Temperature has had no value in 0.2 s"),
        ("unsubscribe 2A6E", 64, "there is no subscription to Temperature"),
    ],
)
def test_the_first_line_that_fails_ends_a_script(line, status, reason, thermometer, radio):
    output, error = script(radio, ["read 2A19", line, "read 2A6E"], status=status)
    assert output == "100 %\n"
    assert error.startswith("ble: line 2: ") and reason in error, error


LOCK = {
    "name": "Thermometer", "passkey": "123456",
    "services": [{"uuid": "181A", "characteristics": [
        {"uuid": "2A3D", "properties": ["read"], "value": "text:in", "security": "encrypted"},
        {"uuid": "2A3E", "properties": ["read"], "value": "text:out", "security": "authenticated"}]}],
}  # fmt: skip


def test_a_script_pairs_and_says_what_a_value_needs(radio, tmp_path):
    description = tmp_path / "lock.json"
    description.write_text(json.dumps(LOCK))
    description.chmod(0o600)
    bonds = {"BLE_BONDS": str(tmp_path / "bonds.json")}
    with Program([*product("ble"), "serve", description, "--transport", radio.transport], tmp_path / "serve.log") as server:
        server.wait_for("READY")
        output, error = script(radio, ["pair", "read 2A3D", "info", "read 2A3E"], status=76, environment=bonds)
    lines = output.splitlines()
    assert lines[0].endswith(": bonded, encrypted, not authenticated, key of 16 octets") and lines[1] == '"in"'
    assert "security: encrypted, not authenticated, key of 16 octets, bonded" in lines
    assert error.startswith("ble: line 4: ") and error.endswith(". Run: pair --authenticated\n"), error


def test_a_command_without_a_link_says_what_connects(thermometer, radio):
    _, error = script(radio, ["disconnect", "read 2A6E"], status=76)
    assert error == "ble: line 2: there is no link. Run: connect\n"


def test_a_link_that_is_lost_ends_the_subscriptions(radio, tmp_path):
    description = tmp_path / "lost.json"
    description.write_text(run("serve", "--example").replace("Thermometer", "Lost"))
    command = [*product("ble"), "shell", "Lost", "--transport", radio.transport]
    server = Program([*product("ble"), "serve", description, "--transport", radio.transport], tmp_path / "serve.log")
    with server, Program(command, tmp_path / "shell.log") as program:
        server.wait_for("READY")
        for line in ("subscribe 2A6E", "read 2A6E", "wait 2A6E", "read 2A19"):
            program.tell(line)
        # The server tells of a subscription before its response arrives; the value tells that it has.
        program.wait_for("21.50 °C")
        server.process.send_signal(signal.SIGINT)
        assert program.wait_for_end() == 76, program.output
    [error] = [line for line in program.output.splitlines() if line.startswith("ble: line 3: ")]
    assert "the link ended: Remote User Terminated Connection (0x13)" in error


def test_a_terminal_has_a_prompt_and_goes_on_after_an_error(thermometer, radio):
    parent, child = pty.openpty()
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm"}
    output = b""

    def wait_for(text, count=1):
        nonlocal output
        while output.count(text) < count:
            output += os.read(parent, 65_536)

    with subprocess.Popen(shell(radio), stdin=child, stdout=child, stderr=child, env=environment) as program:
        os.close(child)
        wait_for(b"Thermometer> ")
        assert b"connected to " in output
        os.write(parent, b"raed 2A6E\n")
        wait_for(b"Thermometer> ", 2)
        assert b"ble: unknown command 'raed'. Did you mean 'read'?" in output
        os.write(parent, b"read 2A6E\n")
        wait_for(b"Thermometer> ", 3)
        assert "\r\n21.50 °C\r\n".encode() in output
        # A value erases the prompt, which follows it.
        os.write(parent, b"subscribe 2A6E\n")
        wait_for(b"Thermometer> ", 4)
        change(thermometer, thermometer.description.read_text().replace("21.50 °C", "21.60 °C"))
        wait_for(b"Thermometer> ", 5)
        assert "\r\x1b[KTemperature: 21.60 °C\r\nThermometer> ".encode() in output
        os.write(parent, b"\x04")
        with contextlib.suppress(OSError):  # EIO: the program has ended
            while os.read(parent, 65_536):
                pass
        assert program.wait(LIMIT) == 0
    os.close(parent)


CONTROL_C, CONTROL_D = "\x03", "\x04"


def test_control_c_ends_the_command_and_control_d_the_shell(thermometer, radio):
    with Terminal("shell", "Thermometer", "--transport", radio.transport) as terminal:
        terminal.wait_for("Thermometer> ")
        # Each of them under way: the server has the subscription of the wait.
        for number, command in enumerate(["wait 2A19", "wait 2A6E '5 °C' --timeout 86400"], start=1):
            terminal.tell(command)
            thermometer.wait_for(f"subscribed to {command.split()[1]}")
            terminal.type(CONTROL_C)
            terminal.wait_for(r"\^C\nThermometer> ", times=number)
        # The same link.
        terminal.tell("read 2A6E")
        terminal.wait_for("\n21.50 °C\nThermometer> ")
        assert thermometer.output.count("\nconnected ") == 1 and "ble: " not in terminal.output, terminal.output
        # At the prompt: what was typed is dropped.
        terminal.type("unfinished ")
        terminal.wait_for("Thermometer> unfinished ")
        terminal.type(CONTROL_C)
        terminal.wait_for(r"\^C\nThermometer> ", times=3)
        terminal.tell("read 2A19")
        terminal.wait_for("\n100 %\nThermometer> ")
        terminal.type(CONTROL_D)
        terminal.check_end(0)
        assert "ble: " not in terminal.output


def test_a_signal_ends_a_shell_while_a_command_runs(thermometer, radio, tmp_path):
    """SIGTERM ends it on a terminal, and SIGINT ends a script."""
    with Terminal("shell", "Thermometer", "--transport", radio.transport) as terminal:
        terminal.wait_for("Thermometer> ")
        terminal.tell("wait 2A19")
        thermometer.wait_for("subscribed to 2A19")
        terminal.process.send_signal(signal.SIGTERM)
        terminal.check_end(143)
    with Program(shell(radio), tmp_path / "shell.log") as program:
        program.tell("wait 2A6E")
        thermometer.wait_for("subscribed to 2A6E")
        program.process.send_signal(signal.SIGINT)
        assert program.wait_for_end() == 130, program.output


def test_control_c_rejects_the_question_of_a_pairing_and_not_the_link(radio, tmp_path, monkeypatch):
    description = tmp_path / "lock.json"
    description.write_text(json.dumps(LOCK))
    description.chmod(0o600)
    with Program([*product("ble"), "serve", description, "--transport", radio.transport], tmp_path / "serve.log") as server:
        server.wait_for("READY")
        # Each end has bonds of its own.
        monkeypatch.setenv("BLE_BONDS", str(tmp_path / "bonds.json"))
        with Terminal("shell", "Thermometer", "--transport", radio.transport) as terminal:
            terminal.wait_for("Thermometer> ")
            terminal.tell("pair --authenticated")
            terminal.wait_for("The six digits that ")
            terminal.type(CONTROL_C)
            # One error, without a line of the log.
            terminal.wait_for(r"ble: .*the pairing failed.*\nThermometer> ")
            assert terminal.output.count("the pairing failed") == 1 and "[BluetoothLE]" not in terminal.output
            # What it had sent before it was told has arrived, too: that would end the next pairing.
            server.wait_for("the pairing failed")
            terminal.tell("info")
            terminal.wait_for("security: not encrypted\n")
            terminal.tell("pair --authenticated")
            terminal.wait_for("The six digits that ", times=2)
            terminal.tell("123456")
            terminal.wait_for(": bonded, authenticated")
            assert server.output.count("\nconnected ") == 1
            terminal.type(CONTROL_D)
            terminal.check_end(0)
