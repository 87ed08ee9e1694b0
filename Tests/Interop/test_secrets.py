"""The key of a proxy: neither its lines nor what other users see of the process have it."""

import base64
import contextlib
import os
import re
import secrets
import socket
from pathlib import Path

from programs import LIMIT, Program, product
from test_ble_pairing import radio


def test_the_key_of_a_proxy_is_in_no_line_and_no_argument(tmp_path):
    key = secrets.token_bytes(32)
    file = tmp_path / "key"
    file.touch(0o600)
    file.write_bytes(base64.b64encode(key) + b"\n")
    with radio(tmp_path) as transport:
        command = [*product("ble"), "proxy", "--key-file", file, "--listen", "127.0.0.1:0", *transport]
        with Program(command, tmp_path / "proxy.log") as proxy:
            port = int(re.search(r":(\d+)", proxy.wait_for("READY"))[1])
            # Each of these clients is a line: plain text, another key, octets that are no frame.
            for octets in (b"\x00\x00\x01", b"\x01\x00\x00\x01\x00\x31\x00" + secrets.token_bytes(48), b"GET / HTTP/1.1\r\n\r\n"):
                with socket.create_connection(("127.0.0.1", port), LIMIT) as client:
                    client.sendall(octets)
                    with contextlib.suppress(ConnectionError):
                        while client.recv(1_000):
                            pass
            seen = [Path(f"/proc/{proxy.process.pid}/{name}").read_bytes() for name in ("cmdline", "environ")]
            proxy.stop()
            assert proxy.output.count("\n") > 3, proxy.output
            for text in (proxy.output.encode(), *seen):
                for form in (base64.b64encode(key), base64.b64encode(key)[:20], key.hex().encode(), key):
                    assert form not in text
            assert os.fsencode(file) in seen[0]
