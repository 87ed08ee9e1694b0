"""System calls that are cut, interrupted, or fail: both ends of the heart-rate pair with a library that is loaded before libc."""

import re
import socket

import pytest
import traces
from programs import LIMIT, Program, product, wait_until
from radios import have_tshark, ours

# What a kernel may do at any time, and nobody may notice.
HARMLESS = ",".join(
    [
        *(f"{call}:EINTR:15" for call in ("read", "write", "recv", "send", "accept", "wait")),
        *(f"{call}:EAGAIN:15" for call in ("recv", "send")),
        *(f"{call}:short:40" for call in ("read", "write", "recv", "send")),
    ]
)


@pytest.fixture(scope="session")
def library(preloaded):
    return preloaded("system_faults")


def with_faults(library, faults, log, seed=1, first=0, limit=1 << 30):
    """The beginning of a command whose program has these faults."""
    return [
        "env",
        f"LD_PRELOAD={library}",
        f"FAULTS={faults}",
        f"FAULT_SEED={seed}",
        f"FAULT_FIRST={first}",
        f"FAULT_LIMIT={limit}",
        f"FAULT_LOG={log}",
    ]


def number_of_faults(log):
    return {name: int(faults) for name, _, faults in (line.split() for line in log.read_text().splitlines())}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_short_and_interrupted_calls_change_nothing(library, tmp_path, seed):
    trace, log = tmp_path / "demo.btsnoop", tmp_path / "faults"
    command = [*with_faults(library, HARMLESS, log, seed), *product("heart-rate"), "--snoop", trace]
    with Program(command, tmp_path / "heart-rate.log") as program:
        assert program.wait_for_end() == 0, program.output
    assert program.output.count("bpm") == 5, program.output
    faults = number_of_faults(log)
    assert min(faults[call] for call in ("write", "recv", "send")) > 10, faults
    if have_tshark():
        traces.check(trace, least=10)


@pytest.mark.early
@pytest.mark.parametrize(
    ("faults", "first", "text"),
    [
        ("send:ENOMEM:100", 40, "ENOMEM"),
        ("recv:ENOMEM:100", 40, "ENOMEM"),
        ("send:ENOBUFS:100", 40, "ENOBUFS"),
        ("socket:EMFILE:100", 0, "EMFILE"),
    ],
)
def test_a_failing_call_is_an_error_with_its_reason(library, tmp_path, faults, first, text):
    command = [*with_faults(library, faults, tmp_path / "faults", first=first), *product("heart-rate")]
    with Program(command, tmp_path / "heart-rate.log") as program:
        status = program.wait_for_end()
    assert 0 < status < 128, (status, program.output)
    assert re.search(rf"{text}|the simulated radio has ended", program.output), program.output


def test_a_radio_without_descriptors_accepts_later(library, tmp_path):
    """EMFILE of the first calls of accept: the connection waits, and is accepted when a descriptor is free."""
    # With this seed the radio never fails twice in a row: it tries every second, and a host waits two seconds for its controller.
    command = with_faults(library, "accept:EMFILE:50", tmp_path / "faults", seed=204)
    with ours("radio", tmp_path, before=command) as radio:
        pair = [*product("heart-rate"), "--transport", radio.transport, "--role"]
        with Program([*pair, "peripheral"], tmp_path / "peripheral.log") as monitor:
            with Program([*pair, "central"], tmp_path / "central.log") as collector:
                assert collector.wait_for_end() == 0, collector.output + monitor.output
            assert monitor.wait_for_end() == 0, monitor.output


class Closed(Exception):
    """The server has closed the connection, or refuses it."""


def asked(address, question, length):
    """What a server answers to octets."""
    try:
        with socket.create_connection(address, LIMIT) if isinstance(address, tuple) else socket.socket(socket.AF_UNIX) as client:
            if not isinstance(address, tuple):
                client.settimeout(LIMIT)
                client.connect(address)
            client.sendall(question)
            answer = b""
            while len(answer) < length:
                part = client.recv(length)
                if not part:
                    raise Closed
                answer += part
            return answer
    except OSError as error:
        raise Closed from error


HELLO, RESET = bytes([0, 7, 1]) + b"\x0a\x01x\x10\x01\x18\x0a", bytes.fromhex("01030c00")
FAILURES = [("accept", "EMFILE"), ("watch", "ENOSPC"), ("wait", "ENOMEM"), ("recv", "ENOMEM"), ("send", "ENOBUFS")]


@pytest.mark.slow
@pytest.mark.parametrize("server", ["proxy", "answers", "radio", "virtual-radio"])
@pytest.mark.parametrize(("call", "error"), FAILURES)
def test_a_server_with_one_failed_call_serves_or_ends(library, tmp_path, server, call, error):
    """Each of its first calls fails once: the next client is served, or the program ends with a status and a line."""
    reached = 0
    with ours("radio", tmp_path) as radio:
        for number in range(10):
            log, output, path = tmp_path / f"faults-{number}", tmp_path / f"{number}.log", str(tmp_path / f"socket-{number}")
            command = with_faults(library, f"{call}:{error}:100", log, first=number, limit=1)
            if server == "radio":
                command += [*product("ble"), "radio", "--tcp", "0"]
            elif server == "virtual-radio":
                command += [*product(server), "--tcp", "0"]
            else:
                command += [*product("ble"), "proxy", "--plain-text", "--listen", "127.0.0.1:0", "--answers", path]
                command += ["--transport", radio.transport]
            with Program(command, output) as program:
                wait_until(lambda: "READY" in program.output or program.process.poll() is not None, "neither ready nor ended")
                served = False
                while not served and program.process.poll() is None and "READY" in program.output:
                    port = int(re.search(r"READY \S+:(\d+)", program.output)[1])
                    try:
                        if server == "answers":
                            served = asked(path, b"", 10).startswith(b"{")
                        else:
                            served = asked(("127.0.0.1", port), HELLO if server == "proxy" else RESET, 3) != b""
                    except Closed:
                        pass
                if served:
                    program.process.terminate()
                status = program.wait_for_end()
                if not served:
                    name = "virtual-radio: " if server == "virtual-radio" else "ble: "
                    assert 0 < status < 128 and name in program.output, (number, status, program.output)
            if log.exists() and number_of_faults(log)[call]:
                reached += 1
    assert reached > 0
