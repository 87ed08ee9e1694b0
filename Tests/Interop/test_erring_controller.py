"""Each of our programs ends on SIGTERM within two seconds, whatever its controller has accepted and never completed.

The time of each end is printed; as in test_signals.py it is compared only with the limit of a test that hangs, because no test depends on
how busy the computer is.
"""

import contextlib
import signal
import time
from dataclasses import dataclass

import pytest
from programs import HERE, Program, product, python
from radios import ours
from test_gateway import Broker

# What a controller never completes: the events that are lost, and the commands that are accepted and not performed.
NEVER = {
    "disconnect": ["--lose", "05"],
    "connect": ["--accept", "2043", "--accept", "200d"],
    "connect-and-cancel": ["--accept", "2043", "--accept", "200d", "--accept", "200e"],
    "encrypt": ["--lose", "08", "--lose", "59", "--lose", "30"],
    "update": ["--lose", "3e03", "--lose", "05"],
    "phy": ["--lose", "3e0c", "--lose", "05"],
    "data-length": ["--lose", "3e07", "--lose", "05"],
    "features": ["--lose", "3e04", "--lose", "3e2b", "--lose", "05"],
    "version": ["--lose", "0c", "--lose", "05"],
    "anything": [],
}


@dataclass
class Relay:
    program: Program
    port: int

    @property
    def transport(self):
        return f"tcp-client:127.0.0.1:{self.port}"

    @property
    def transports(self):
        return [self.transport]

    def silence(self):
        """From now on the controller answers nothing."""
        self.program.process.send_signal(signal.SIGUSR1)
        self.program.wait_for("SILENT")


@contextlib.contextmanager
def relay(radio, folder, *options):
    with Program(python(HERE / "erring_relay.py", radio.port, *options), folder / "relay.log") as program:
        yield Relay(program, int(program.wait_for("READY").split()[1]))


@pytest.fixture
def radio(tmp_path):
    with ours("radio", tmp_path) as radio:
        yield radio


def tool(transport, folder, name, *words):
    environment = ["env", f"BLE_BONDS={folder / name}.json", f"BLE_TRANSPORT={transport}"]
    return Program([*environment, *product("ble"), *words], folder / f"{name}.log")


@contextlib.contextmanager
def thermometer(radio, folder):
    """`ble serve` with a controller that does not err, and its example."""
    path = description(folder)
    with tool(radio.transport, folder, "example", "serve", "--example") as example:
        assert example.wait_for_end() == 0, example.output
        path.write_text(example.output)
    with tool(radio.transport, folder, "thermometer", "serve", path) as program:
        program.wait_for("READY")
        yield program
        program.check_alive()


@pytest.fixture
def ends(capsys, request):
    """Ends a program by SIGTERM, and prints the time that it took."""

    def ends(program, status):
        start = time.monotonic()
        program.process.send_signal(signal.SIGTERM)
        assert program.wait_for_end() == status, program.output
        with capsys.disabled():
            print(f"\n{time.monotonic() - start:6.2f} s  {request.node.name}", end="")

    return ends


def description(folder):
    return folder / "thermometer.json"


def silence(name, relay):
    if name == "anything":
        relay.silence()


@pytest.mark.parametrize("name", NEVER)
def test_a_read(name, radio, tmp_path, ends):
    """It prints its value and does not wait for the end of its link; without a value, it ends by the signal."""
    with thermometer(radio, tmp_path), relay(radio, tmp_path, *NEVER[name]) as erring:
        with tool(erring.transport, tmp_path, "read", "read", "Thermometer", "2A6E") as program:
            if name.startswith("connect"):
                erring.program.wait_for("accepted")
                ends(program, 143)
            elif name == "anything":
                program.wait_for_end()
            else:
                assert program.wait_for_end() == 0, program.output
                assert "21.50" in program.output


@pytest.mark.parametrize("name", NEVER)
def test_a_subscription(name, radio, tmp_path, ends):
    with thermometer(radio, tmp_path) as device, relay(radio, tmp_path, *NEVER[name]) as erring:
        with tool(erring.transport, tmp_path, "subscribe", "subscribe", "Thermometer", "2A6E") as program:
            if name.startswith("connect"):
                erring.program.wait_for("accepted")
            else:
                device.wait_for("subscribed")
            silence(name, erring)
            ends(program, 143)


@pytest.mark.parametrize("name", ["connect", "anything"])
def test_a_scan(name, radio, tmp_path, ends):
    with thermometer(radio, tmp_path), relay(radio, tmp_path, *NEVER[name]) as erring:
        with tool(erring.transport, tmp_path, "scan", "scan", "--json") as program:
            program.wait_for("Thermometer")
            silence(name, erring)
            ends(program, 143)


@pytest.mark.parametrize("name", [name for name in NEVER if not name.startswith("connect")])
def test_a_peripheral(name, radio, tmp_path, ends):
    with thermometer(radio, tmp_path), relay(radio, tmp_path, *NEVER[name]) as erring:
        path = tmp_path / "other.json"
        path.write_text(description(tmp_path).read_text().replace('"Thermometer"', '"Other"'))
        with tool(erring.transport, tmp_path, "serve", "serve", path) as program:
            program.wait_for("READY")
            with tool(radio.transport, tmp_path, "central", "subscribe", "Other", "2A6E"):
                program.wait_for("subscribed")
                silence(name, erring)
                ends(program, 143)


@pytest.mark.parametrize("name", NEVER)
def test_the_gateway(name, radio, tmp_path, ends):
    with thermometer(radio, tmp_path), relay(radio, tmp_path, *NEVER[name]) as erring:
        with Broker(tmp_path / "broker") as broker:
            words = ["--broker", f"127.0.0.1:{broker.port}", "--id", "kitchen", "--subscribe", "181A/2A6E"]
            command = [f"BLE_TRANSPORT={erring.transport}", *product("ble-gateway"), *words]
            with Program(["env", *command], tmp_path / "gateway.log") as program:
                program.wait_for("READY")
                if name.startswith("connect"):
                    erring.program.wait_for("accepted")
                silence(name, erring)
                ends(program, 0)
