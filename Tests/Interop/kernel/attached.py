"""Controllers on serial lines, for a kernel without `hci_vhci`, such as Debian's for arm64.

    python attached.py BTVIRT -lCOUNT

btvirt serves its controllers on a socket. Each gets a pseudo-terminal, whose other end `btattach` gives to the kernel.
"""

import ctypes
import os
import pathlib
import pty
import signal
import socket
import subprocess
import sys
import threading
import time
import tty

SOCKET = pathlib.Path("/tmp/bt-server-bredrle")


def relay(read, write):
    while octets := read(4096):
        write(octets)


def start(*command):
    """A program that ends with this one: PR_SET_PDEATHSIG is 1."""
    return subprocess.Popen(command, preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL))


def main():
    SOCKET.unlink(missing_ok=True)
    server = start(sys.argv[1], "-s")
    while not SOCKET.exists():
        assert server.poll() is None
        time.sleep(0.05)
    adapters = pathlib.Path("/sys/class/bluetooth")
    for number in range(int(sys.argv[2].removeprefix("-l"))):
        controller = socket.socket(socket.AF_UNIX)
        controller.connect(str(SOCKET))
        line, other_end = pty.openpty()
        tty.setraw(line)
        tty.setraw(other_end)
        for read, write in (
            (lambda size, line=line: os.read(line, size), controller.sendall),
            (controller.recv, lambda octets, line=line: os.write(line, octets)),
        ):
            threading.Thread(target=relay, args=(read, write), daemon=True).start()
        attach = start("btattach", "-B", os.ttyname(other_end), "-P", "h4", "-N")
        # In this order, for the indices.
        while not (adapters / f"hci{number}").exists():
            assert attach.poll() is None
            time.sleep(0.05)
    server.wait()


main()
