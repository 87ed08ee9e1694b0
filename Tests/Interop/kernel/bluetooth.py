"""The kernel's Bluetooth sockets, by their numbers: Python's own support for them is often left out."""

import ctypes
import errno
import os
import select
import socket
import struct
import time

import repetitions
from programs import LIMIT, wait_until

AF_BLUETOOTH, L2CAP, HCI = 31, 0, 1
RAW, CONTROL, NO_DEVICE = 0, 3, 0xFFFF
PUBLIC, RANDOM = 1, 2
ATT_CHANNEL = 4
# Seconds of one attempt to connect: it waits for an advertisement, which may be lost (known-faults.ini), and is repeated then.
ATTEMPT = 15

LIBC = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    answer = getattr(LIBC, name)(*arguments)
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return answer


def address_octets(text):
    return bytes.fromhex(text.replace(":", ""))[::-1]


def address_text(octets):
    return ":".join(f"{octet:02X}" for octet in reversed(octets))


def open_hci(device, channel):
    number = call("socket", AF_BLUETOOTH, socket.SOCK_RAW | socket.SOCK_CLOEXEC, HCI)
    if channel == RAW:
        everything = struct.pack("<IIIHxx", 1 << 4, 0xFFFFFFFF, 0xFFFFFFFF, 0)
        call("setsockopt", number, 0, 2, everything, len(everything))
    bound = struct.pack("<HHH", AF_BLUETOOTH, device, channel)
    call("bind", number, bound, len(bound))
    return number


def readable(number, seconds):
    return bool(select.select([number], [], [], max(0, seconds))[0])


class Management:
    """The kernel's management protocol: requests and their answers; events between them are dropped."""

    POWERED, LE, SC = 0x0005, 0x000D, 0x002D

    def __init__(self):
        self.number = open_hci(NO_DEVICE, CONTROL)

    def request(self, opcode, index=NO_DEVICE, parameters=b""):
        os.write(self.number, struct.pack("<HHH", opcode, index, len(parameters)) + parameters)
        deadline = time.monotonic() + LIMIT
        while readable(self.number, deadline - time.monotonic()):
            message = os.read(self.number, 4096)
            event, about, _ = struct.unpack_from("<HHH", message)
            if event in (1, 2) and about == index and struct.unpack_from("<H", message, 6)[0] == opcode:
                return message[8], message[9:]
        raise TimeoutError(f"no answer to management command {opcode:#06x}")

    def indices(self):
        _, list_ = self.request(0x0003)
        return sorted(struct.unpack_from(f"<{list_[0]}H", list_, 2))

    def settings(self, index):
        status, information = self.request(0x0004, index)
        return struct.unpack_from("<I", information, 13)[0] if status == 0 else None

    def address(self, index):
        return address_text(self.request(0x0004, index)[1][:6])

    def switch(self, index, on, opcode=POWERED):
        return self.request(opcode, index, bytes([on]))[0]

    def switch_on(self, index):
        """With Low Energy, which without a daemon is not the kernel's default.

        Repeated until the settings say it: another program that changes the adapter keeps it busy, and the kernel may answer success
        although the adapter stays off (known-faults.ini: "power on lost").
        """

        def is_on():
            if self.settings(index) & 0x201 == 0x201:
                return True
            if self.switch(index, 1, self.LE) or self.switch(index, 1):
                return False
            if self.settings(index) & 0x201 == 0x201:
                return True
            failure = f"hci{index} is off although Set Powered has succeeded"
            assert repetitions.allowed(f"AssertionError: {failure}"), failure
            return False

        wait_until(is_on, lambda: f"hci{index} stays off: settings {self.settings(index):#x}")

    def set_static_address(self, index, address):
        """Set Static Address; all zeros is none. The adapter must be off."""
        assert self.request(0x002B, index, address_octets(address))[0] == 0

    def advertise(self, index, data=b""):
        """Add Advertising: instance 1, connectable, begun again by the kernel after each link."""
        parameters = struct.pack("<BIHHBB", 1, 1, 0, 0, len(data), 0) + data
        assert self.request(0x003E, index, parameters)[0] == 0

    def stop_advertising(self, index):
        self.request(0x003F, index, b"\x00")

    def disconnect(self, index, peer, kind=PUBLIC):
        """Ends a link at once; left alone, the kernel keeps it for two seconds after its last socket."""
        return self.request(0x0014, index, address_octets(peer) + bytes([kind]))[0]

    def close(self):
        os.close(self.number)


class Monitor:
    """What passes between the kernel and one controller, and what programs ask of the kernel, from now on: btmon's source."""

    COMMAND, EVENT, REQUEST = 2, 3, 16

    def __init__(self, index):
        self.index = index
        self.number = open_hci(NO_DEVICE, 2)
        # SO_RCVBUFFORCE: what a full socket does not take is lost.
        call("setsockopt", self.number, socket.SOL_SOCKET, 33, struct.pack("<i", 16 << 20), 4)
        self.seen = []

    def packets(self):
        """All of the controller since the beginning: (kind, octets)."""
        while readable(self.number, 0):
            message = os.read(self.number, 4096)
            kind, index, length = struct.unpack_from("<HHH", message)
            if index == self.index and kind in (self.COMMAND, self.EVENT, self.REQUEST):
                self.seen.append((kind, message[6 : 6 + length]))
        return self.seen

    def commands(self, *opcodes):
        """The parameters of these commands to the controller, whoever sent them."""
        return [
            octets[3:]
            for kind, octets in self.packets()
            if kind == self.COMMAND and struct.unpack_from("<H", octets)[0] in opcodes
        ]

    def requests(self, opcode):
        """The parameters of this command to the kernel, from any program."""
        return [
            octets[6:]
            for kind, octets in self.packets()
            if kind == self.REQUEST and struct.unpack_from("<H", octets, 4)[0] == opcode
        ]

    def scans(self):
        """How often scanning was enabled: LE Set (Extended) Scan Enable."""
        return sum(octets[0] for octets in self.commands(0x200C, 0x2042))

    def timings(self):
        """(interval, latency, timeout) of each link as it came up, and as it changed."""
        found = []
        for kind, octets in self.packets():
            if kind != self.EVENT or octets[0] != 0x3E or octets[3] != 0:
                continue
            # LE Connection Complete, its later versions, and LE Connection Update Complete.
            place = {0x01: 14, 0x0A: 26, 0x29: 26, 0x03: 6}.get(octets[2])
            if place:
                found.append(struct.unpack_from("<HHH", octets, place))
        return found

    def close(self):
        os.close(self.number)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()


def set_down(index, down=True):
    """HCIDEVDOWN or HCIDEVUP, as hciconfig does it."""
    number = call("socket", AF_BLUETOOTH, socket.SOCK_RAW | socket.SOCK_CLOEXEC, HCI)
    try:
        call("ioctl", number, ctypes.c_ulong(0x400448CA if down else 0x400448C9), ctypes.c_ulong(index))
    except OSError as failure:
        if failure.errno != errno.EALREADY:
            raise
    finally:
        os.close(number)


class Link:
    """ATT over a kernel L2CAP socket: a central without anything between the test and the kernel."""

    def __init__(self, own, peer, peer_type=PUBLIC, patience=ATTEMPT):
        self.number = call("socket", AF_BLUETOOTH, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC, L2CAP)
        try:
            self._bind_and_connect(own, peer, peer_type, patience)
        except OSError:
            os.close(self.number)
            raise
        self.pending = []

    def _bind_and_connect(self, own, peer, peer_type, patience):
        here = self._address(own, PUBLIC)
        call("bind", self.number, here, len(here))
        limit = struct.pack("<qq", patience, 0)
        call("setsockopt", self.number, socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit, len(limit))
        there = self._address(peer, peer_type)
        call("connect", self.number, there, len(there))

    @staticmethod
    def _address(text, kind):
        return struct.pack("<HH6sHBx", AF_BLUETOOTH, 0, address_octets(text), ATT_CHANNEL, kind)

    def send(self, pdu):
        os.write(self.number, pdu)

    def receive(self):
        if not readable(self.number, LIMIT):
            raise TimeoutError("no ATT PDU came")
        pdu = os.read(self.number, 1024)
        if not pdu:
            raise ConnectionError("the link ended")
        return pdu

    def request(self, pdu):
        """The answer; notifications and indications on the way to it are kept (indications confirmed)."""
        self.send(pdu)
        while True:
            answer = self.receive()
            if answer[0] in (0x1B, 0x1D):
                self._keep(answer)
            elif answer[0] & 1 or answer[0] == 0x1E:
                return answer
            elif not answer[0] & 0x40:
                # The other end is a client too: Request Not Supported.
                self.send(struct.pack("<BBHB", 0x01, answer[0], 0, 0x06))

    def _keep(self, pdu):
        self.pending.append(pdu)
        if pdu[0] == 0x1D:
            self.send(b"\x1e")

    def security(self):
        """The kernel's word: level (1 in the clear, 2 encrypted, 3 authenticated, 4 with Secure Connections), key size."""
        answer = ctypes.create_string_buffer(2)
        call("getsockopt", self.number, 274, 4, answer, ctypes.byref(ctypes.c_uint32(2)))
        return tuple(answer.raw)

    def secure(self, level):
        """Encrypts the link, with a key that is there or by a pairing; until then the kernel takes no PDU."""
        self.demand(level)
        wait_until(lambda: self.is_secure(level), "the link is not encrypted")

    def demand(self, level):
        call("setsockopt", self.number, 274, 4, bytes([level, 0]), 2)

    def is_secure(self, level):
        # On a link that has ended the level is only what was wished; it has no key then.
        reached, size = self.security()
        return reached >= level and size > 0

    def value_update(self):
        if not self.pending:
            self._keep(self.receive())
        return self.pending.pop(0)

    def close(self):
        if self.number is not None:
            os.close(self.number)
        self.number = None

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()


class Refused(Exception):
    """An ATT Error Response."""

    def __init__(self, pdu):
        self.request, self.handle, self.code = struct.unpack("<BHB", pdu[1:5])
        super().__init__(f"request {self.request:#04x} on {self.handle:#06x}: error {self.code:#04x}")


class Client:
    """What a GATT client does, on a `Link`."""

    def __init__(self, link):
        self.link = link
        self.mtu = 23

    def ask(self, pdu):
        answer = self.link.request(pdu)
        if answer[0] == 1:
            raise Refused(answer)
        return answer

    def exchange_mtu(self, mtu):
        self.mtu = max(23, min(mtu, struct.unpack("<H", self.ask(struct.pack("<BH", 2, mtu))[1:])[0]))
        return self.mtu

    def services(self):
        found, start = [], 1
        while start <= 0xFFFF:
            try:
                answer = self.ask(struct.pack("<BHHH", 0x10, start, 0xFFFF, 0x2800))
            except Refused as refused:
                assert refused.code == 0x0A
                break
            size = answer[1]
            for place in range(2, len(answer), size):
                first, last = struct.unpack_from("<HH", answer, place)
                found.append((first, last, answer[place + 4 : place + size]))
            start = found[-1][1] + 1
        return found

    def characteristics(self):
        """UUID (as on the air) to value handle."""
        found, start = {}, 1
        while start <= 0xFFFF:
            try:
                answer = self.ask(struct.pack("<BHHH", 0x08, start, 0xFFFF, 0x2803))
            except Refused as refused:
                assert refused.code == 0x0A
                break
            size = answer[1]
            for place in range(2, len(answer), size):
                start = struct.unpack_from("<H", answer, place)[0] + 1
                value = struct.unpack_from("<H", answer, place + 3)[0]
                found.setdefault(answer[place + 5 : place + size], value)
        return found

    def read(self, handle):
        return self.ask(struct.pack("<BH", 0x0A, handle))[1:]

    def read_long(self, handle):
        value = part = self.read(handle)
        while len(part) == self.mtu - 1:
            part = self.ask(struct.pack("<BHH", 0x0C, handle, len(value)))[1:]
            value += part
        return value

    def write(self, handle, value):
        assert self.ask(struct.pack("<BH", 0x12, handle) + value) == b"\x13"

    def write_command(self, handle, value):
        self.link.send(struct.pack("<BH", 0x52, handle) + value)

    def write_long(self, handle, value):
        size = self.mtu - 5
        for offset in range(0, len(value), size):
            part = struct.pack("<HH", handle, offset) + value[offset : offset + size]
            assert self.ask(b"\x16" + part) == b"\x17" + part
        assert self.ask(b"\x18\x01") == b"\x19"
