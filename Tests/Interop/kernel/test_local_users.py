"""Other users of the machine: what Docs/Linux.md says of a program without capabilities beside one that shares an adapter.

A test that fails here means that this kernel protects more than that page says.
"""

import subprocess
import sys

from conftest import PATTERN, long_uuid
from programs import HERE, LIMIT, Program

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs", sys.executable]
LOCAL_USER = HERE / "kernel" / "local_user.py"


def test_any_user_may_serve_the_next_link(peripheral, connect, drop, identity, logs):
    drop(connect())
    with Program([*NOBODY, LOCAL_USER, "serve", identity[0]], logs / "local-user.txt") as other:
        other.wait_for("listens")
        client = connect()
        assert client.link.request(b"\x0a\x03\x00") == b"\x0bplanted"
        other.wait_for("0a0300")
        # It is noticed, and the link is ended.
        peripheral.wait_for("another program took a link")
        drop(client)
    client = connect()
    assert client.read_long(client.characteristics()[long_uuid("0002")]) == PATTERN


def open_channel(own, peer):
    command = [*NOBODY, LOCAL_USER, "open", own, peer]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True).stdout.strip()


def test_the_channel_of_a_link_that_we_serve_is_ours(peripheral, connect, identity):
    client = connect()
    assert client.characteristics()
    assert open_channel(identity[0], identity[1]) == "EBUSY"
    assert client.characteristics()


def test_any_user_may_connect(peripheral, identity):
    """As a central, on an adapter that the kernel runs: with the keys that the kernel has for the peer."""
    assert open_channel(identity[1], identity[0]) == "connected"
    peripheral.wait_for("connected")
