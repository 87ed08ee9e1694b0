"""Every way to a controller that a transport string can name, with a whole conversation over it."""

import contextlib
import os
import socket
import struct
import subprocess
import termios
import tty

import pytest
from central import Central
from programs import HERE, LIMIT, product, reserved_port, wait_until
from radios import bumble, peripheral

NAME = "Weather Station 7"


def wait_for_path(program, path):
    def is_there():
        program.check_alive()
        return path.exists()

    wait_until(is_there, lambda: f"{path} did not appear:\n{program.output[-2000:]}")


async def converse(radio):
    async with Central(radio.transport) as central:
        link = await central.connect(NAME)
        assert await link.exchange_mtu(247) == 247
        services = await link.discover()
        log = next(
            c for s in services for c in s.characteristics if c.uuid.startswith(bytes.fromhex("5c4b3a2f1e6d0f9b"))
        )
        assert await link.read_long(log.handle)
        assert await link.disconnect() in (0x13, 0x16)


async def test_unix_client(tmp_path):
    path = tmp_path / "controller.sock"
    with bumble("bumble", tmp_path, f"unix-server:{path}") as radio:
        with peripheral(f"unix-client:{path}", HERE / "weather.json", tmp_path):
            await converse(radio)


async def test_serial(tmp_path):
    """A pseudo-terminal takes the place of the line; it has no baud rate to get wrong."""
    path = tmp_path / "tty"
    with bumble("bumble", tmp_path, f"pty:{path}") as radio:
        with peripheral(f"serial:{path},115200,none", HERE / "weather.json", tmp_path):
            await converse(radio)


def change_baud_rate(path, old, new):
    """What a program such as btattach does with a Broadcom controller: resets it and orders another rate."""
    line = os.open(path, os.O_RDWR | os.O_NOCTTY)
    try:
        tty.setraw(line)
        attributes = termios.tcgetattr(line)
        attributes[4] = attributes[5] = getattr(termios, f"B{old}")
        termios.tcsetattr(line, termios.TCSANOW, attributes)
        for command in (bytes.fromhex("01030C00"), struct.pack("<BHBHI", 1, 0xFC18, 6, 0, new)):
            os.write(line, command)
            answer = b""
            while len(answer) < 7:
                answer += os.read(line, 7 - len(answer))
            assert answer == b"\x04\x0e\x04\x01" + command[1:3] + b"\x00", answer.hex()
    finally:
        os.close(line)


async def test_serial_after_a_change_of_the_baud_rate(tmp_path):
    """A controller that begins with 115200 baud. Our transport has one rate: another program changes that of the controller before."""
    path = tmp_path / "tty"
    with bumble("bumble", tmp_path, f"slow-pty:{path}") as radio:
        fast, slow = f"serial:{path},3000000,rtscts", f"serial:{path},115200,rtscts"
        doctor = [*product("ble"), "doctor", "--transport"]
        assert "The adapter works." in subprocess.run([*doctor, slow], capture_output=True, text=True, timeout=LIMIT).stdout
        early = subprocess.run([*doctor, fast], capture_output=True, text=True, timeout=LIMIT)
        assert early.returncode == 74 and "the baud rate" in " ".join(early.stdout.split()), early
        change_baud_rate(path, 115200, 3000000)
        with peripheral(fast, HERE / "weather.json", tmp_path):
            await converse(radio)


async def test_unix_server(tmp_path):
    path = tmp_path / "host.sock"
    with peripheral(f"unix-server:{path}", HERE / "weather.json", tmp_path) as program:
        program.wait_for_socket(path)
        with bumble("bumble", tmp_path, f"unix-client:{path}") as radio:
            await converse(radio)
    assert not path.exists(), "the socket is taken away at the end"


async def test_pty(tmp_path):
    path = tmp_path / "line"
    with peripheral(f"pty:{path}", HERE / "weather.json", tmp_path) as program:
        wait_for_path(program, path)
        with bumble("bumble", tmp_path, f"tty:{path}") as radio:
            await converse(radio)
    assert not path.is_symlink(), "the link is taken away at the end"


async def test_tcp_server(tmp_path):
    with reserved_port() as port, peripheral(f"tcp-server:_:{port}", HERE / "weather.json", tmp_path) as program:
        program.wait_for_port(port)
        with bumble("bumble", tmp_path, f"tcp-client:127.0.0.1:{port}") as radio:
            await converse(radio)
        # The controller has gone; the next one is as welcome.
        with bumble("bumble", tmp_path, f"tcp-client:127.0.0.1:{port}") as radio:
            await converse(radio)


def test_unreachable_controller_is_named(tmp_path):
    """Nobody listens: the program says which transport, and does not hang in silence or crash."""
    with reserved_port() as port, peripheral(f"tcp-client:127.0.0.1:{port}", HERE / "weather.json", tmp_path) as program:
        program.wait_for(str(port))


def test_malformed_transport_is_refused(tmp_path):
    with peripheral("tcp-client:nowhere", HERE / "weather.json", tmp_path) as program:
        assert program.wait_for_end() not in (0, -4, -5, -6, -11), program.output
        assert "tcp-client" in program.output


@pytest.mark.early
async def test_controller_that_sends_garbage(tmp_path):
    """A listener that is no controller: no trap, and a word about it."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.settimeout(LIMIT)
        port = server.getsockname()[1]
        with peripheral(f"tcp-client:127.0.0.1:{port}", HERE / "weather.json", tmp_path) as program:
            for garbage in (
                b"\xff" * 64,
                b"HTTP/1.1 400 Bad Request\r\n\r\n",
                b"\x04\x0e\xff" + b"\x00" * 100,
                b"\x04",
            ):
                connection, _ = server.accept()
                with connection:
                    connection.settimeout(LIMIT)
                    connection.recv(64)
                    connection.sendall(garbage)
                    # The program closes its end when it has read everything.
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(4096):
                        pass
                program.check_alive()
            # After the last one it connects again, too.
            connection, _ = server.accept()
            connection.close()
            program.check_alive()
