"""Programs whose output nobody reads: a pipe that is full, such as that of a log collector that hangs."""

import contextlib
import fcntl
import json
import os
import re
import signal
import socket
import subprocess

import pytest
from programs import LIMIT, product, wait_until
from test_ble_pairing import radio, served
from test_ble_tool import run
from test_gateway import Broker, Client

# F_SETPIPE_SZ of Linux.
SET_PIPE_SIZE = 1031
ADDRESS = "C0:11:22:33:44:55"


class Pipe:
    """A pipe of one page, whose writers block or not."""

    def __init__(self, blocks, isfull=True):
        self.reading, self.writing = os.pipe()
        fcntl.fcntl(self.writing, SET_PIPE_SIZE, 4096)
        os.set_blocking(self.writing, False)
        if isfull:
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(self.writing, bytes(4096))
        os.set_blocking(self.writing, blocks)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        os.close(self.reading)
        os.close(self.writing)


@contextlib.contextmanager
def running(words, program="ble", **outputs):
    process = subprocess.Popen([*product(program), *map(str, words)], stdin=subprocess.DEVNULL, **outputs)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def check_end(process, status=128 + signal.SIGTERM):
    """A program whose output is stuck ends with a signal as any other."""
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT) == status


writers = pytest.mark.parametrize("blocks", [True, False], ids=["blocking", "non-blocking"])


@writers
def test_a_peripheral_serves(blocks, tmp_path):
    description = tmp_path / "thermometer.json"
    description.write_text(run("serve", "--example"))
    with radio(tmp_path) as transport, Pipe(blocks) as pipe:
        words = ["serve", description, "--address", ADDRESS, *transport]
        with running(words, stdout=pipe.writing, stderr=pipe.writing) as process:
            # Each connection is an event.
            for _ in range(3):
                assert run("read", ADDRESS, "2A6E", *transport) == "21.50 °C\n"
            assert process.poll() is None
            check_end(process)


def message(kind, payload):
    """A message of ESPHome's native API in plain text."""
    return bytes([0, len(payload), kind]) + payload


def greet(port):
    client = socket.create_connection(("127.0.0.1", port), LIMIT)
    client.sendall(message(1, b"\x0a\x04test\x10\x01\x18\x0a"))
    assert client.recv(100)
    return client


@writers
def test_a_proxy_serves(blocks, tmp_path):
    with radio(tmp_path) as transport, Pipe(blocks) as pipe:
        words = ["proxy", "--plain-text", "--listen", "127.0.0.1:0", *transport]
        with running(words, stdout=subprocess.PIPE, stderr=pipe.writing) as process:
            port = int(re.search(rb"127.0.0.1:(\d+)", process.stdout.readline())[1])
            # Each client that comes and goes, and each message of an unknown kind, is a line.
            for _ in range(20):
                with greet(port) as client:
                    client.sendall(message(68, b"\x08\x01\x10\x63"))
            greet(port).close()
            check_end(process)


@writers
def test_a_radio_serves(blocks, tmp_path):
    description, endpoint = tmp_path / "thermometer.json", tmp_path / "radio"
    description.write_text(run("serve", "--example"))
    with Pipe(blocks) as pipe:
        with running(["radio", "--unix", endpoint], stdout=pipe.writing, stderr=pipe.writing) as process:
            wait_until(endpoint.exists, "the radio does not listen")
            transport = ["--transport", f"unix-client:{endpoint}"]
            with served(description, transport, tmp_path) as device:
                assert run("read", device.address, "2A6E", *transport) == "21.50 °C\n"
            check_end(process)


@writers
def test_a_gateway_publishes(blocks, tmp_path):
    description = tmp_path / "thermometer.json"
    description.write_text(run("serve", "--example"))
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(Broker(tmp_path / "broker"))
        client = stack.enter_context(Client(broker))
        transport = stack.enter_context(radio(tmp_path))
        device = stack.enter_context(served(description, [*transport, "--address", ADDRESS], tmp_path))
        pipe = stack.enter_context(Pipe(blocks))
        words = ["--broker", f"127.0.0.1:{broker.port}", *transport]
        with running(words, "ble-gateway", stdout=pipe.writing, stderr=pipe.writing) as process:

            def is_published():
                assert process.poll() is None
                return any(topic.startswith(f"ble/devices/{device.address}") for topic, *_ in list(client.messages))

            wait_until(is_published, "no advertisement is published")
            check_end(process, 0)


@writers
def test_a_scan_waits_for_its_reader(blocks, tmp_path):
    """What a command is for is complete, however slow its reader is."""
    description = tmp_path / "thermometer.json"
    description.write_text(run("serve", "--example"))
    with radio(tmp_path) as transport, served(description, transport, tmp_path), Pipe(blocks, isfull=False) as pipe:
        with running(["scan", "--json", "--all", *transport], stdout=pipe.writing, stderr=subprocess.PIPE) as process:
            # Until it waits, as poll(2) says: the pipe has no room for another line.
            def is_full():
                assert process.poll() is None, process.stderr.read()
                queued = bytearray(4)
                fcntl.ioctl(pipe.reading, 0x541B, queued)  # FIONREAD
                return int.from_bytes(queued, "little") > 3_500

            wait_until(is_full, "the scan does not fill the pipe")
            text = b""
            while len(text) < 20_000:
                text += os.read(pipe.reading, 1_000)
            lines = text.split(b"\n")[:-1]
            assert lines and all(json.loads(line)["address"] for line in lines)
            wait_until(is_full, "the scan does not fill the pipe again")
            check_end(process)


def rest_of(process, pipe):
    """What a process that ends by itself writes to a pipe, all of it."""
    text = b""
    os.set_blocking(pipe.reading, False)

    def has_ended():
        nonlocal text
        is_over = process.poll() is not None
        with contextlib.suppress(BlockingIOError):
            while part := os.read(pipe.reading, 1_000):
                text += part
        return is_over

    wait_until(has_ended, lambda: f"it does not end: {text[-200:]}")
    return text.decode().lstrip("\0")


@writers
def test_a_demonstration_and_a_log_wait_for_their_reader(blocks, tmp_path):
    with Pipe(blocks) as pipe, running(["demo"], stdout=pipe.writing, stderr=pipe.writing, cwd=tmp_path) as process:
        text = rest_of(process, pipe)
        assert process.returncode == 0 and text.count(" bpm") == 5, text
    for form in ([], ["--json"]):
        words = ["log", tmp_path / "demo.btsnoop", *form]
        whole = run(*words)
        assert len(whole) > 4_096
        with Pipe(blocks) as pipe, running(words, stdout=pipe.writing, stderr=pipe.writing) as process:
            assert rest_of(process, pipe) == whole
            assert process.returncode == 0


@writers
def test_a_subscription_waits_for_its_reader(blocks, tmp_path):
    """Each value is there when the reader goes on, in order."""
    description = tmp_path / "thermometer.json"
    description.write_text(run("serve", "--example"))
    with radio(tmp_path) as transport, served(description, transport, tmp_path) as device, Pipe(blocks) as pipe:
        words = ["subscribe", device.address, "2A6E", "--hex", "--count", "5", *transport]
        with running(words, stdout=pipe.writing, stderr=pipe.writing) as process:
            device.wait_for("subscribed to 2A6E")
            for value in range(1, 6):
                changed = json.loads(description.read_text())
                changed["services"][0]["characteristics"][0]["value"] = f"0{value}00"
                description.write_text(json.dumps(changed))
                wait_until(lambda: device.output.count("2A6E is now") == value, lambda: device.output)
            assert rest_of(process, pipe).split() == ["0100", "0200", "0300", "0400", "0500"]
            assert process.returncode == 0
