"""Run as a user without rights: what the kernel lets such a program do with an adapter that another program shares.

serve OWN       listens for links of the adapter OWN, answers one read request with "planted", prints the request
open OWN PEER   opens the ATT channel to PEER; prints the error
"""

import errno
import os
import socket
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bluetooth import AF_BLUETOOTH, ATT_CHANNEL, L2CAP, PUBLIC, address_octets, call, readable  # noqa: E402
from programs import LIMIT  # noqa: E402


def address(text):
    return struct.pack("<HH6sHBx", AF_BLUETOOTH, 0, address_octets(text), ATT_CHANNEL, PUBLIC)


def bound(own):
    number = call("socket", AF_BLUETOOTH, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC, L2CAP)
    here = address(own)
    call("bind", number, here, len(here))
    return number


def serve(own):
    listener = bound(own)
    call("listen", listener, 1)
    print("listens", flush=True)
    assert readable(listener, LIMIT)
    link = call("accept", listener, None, None)
    assert readable(link, LIMIT)
    print(os.read(link, 100).hex(), flush=True)
    os.write(link, b"\x0bplanted")
    # Until the link ends.
    readable(link, LIMIT)


def open_channel(own, peer):
    number, there = bound(own), address(peer)
    try:
        call("connect", number, there, len(there))
        print("connected")
    except OSError as error:
        print(errno.errorcode[error.errno])


if __name__ == "__main__":
    {"serve": serve, "open": open_channel}[sys.argv[1]](*sys.argv[2:])
