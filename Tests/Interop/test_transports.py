"""Every way to a controller that a transport string can name, with a whole conversation over it."""

import contextlib
import socket

import pytest
from central import Central
from programs import HERE, LIMIT, reserved_port, wait_until
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


async def test_unix_server(tmp_path):
    path = tmp_path / "host.sock"
    with peripheral(f"unix-server:{path}", HERE / "weather.json", tmp_path) as program:
        wait_for_path(program, path)
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
