"""What no client should send: the protocol's answer or silence, and the link goes on (Vol 3, Part F, 3.3 and 3.4)."""

import asyncio
import struct

import pytest
from central import error

SETTING, NOTE = "0004", "0003"

# The shortest well-formed PDU of each request a server knows, as opcode and parameters.
REQUESTS = {
    "exchange MTU": (0x02, "1700"),
    "find information": (0x04, "0100 ffff"),
    "find by type value": (0x06, "0100 ffff 0028"),
    "read by type": (0x08, "0100 ffff 0328"),
    "read": (0x0A, "0100"),
    "read blob": (0x0C, "0100 0000"),
    "read multiple": (0x0E, "0100 0200"),
    "read by group type": (0x10, "0100 ffff 0028"),
    "write": (0x12, "0100"),
    "prepare write": (0x16, "0100 0000"),
    "execute write": (0x18, "00"),
    "read multiple variable": (0x20, "0100 0200"),
}


def is_refusal(answer, request):
    return len(answer) == 5 and answer[:2] == bytes([0x01, request]) and answer[4] == 0x04


@pytest.mark.parametrize("name", REQUESTS)
async def test_truncated_requests_are_invalid_pdus(station, name):
    opcode, parameters = REQUESTS[name]
    whole = bytes.fromhex(parameters)
    async with station.link() as link:
        for length in range(len(whole)):
            answer = await link.request(bytes([opcode]) + whole[:length])
            assert is_refusal(answer, opcode), f"{length} of {len(whole)} octets: {answer.hex()}"
        await link.silence()


# Requests of fixed length; the others end in a list or a value. (A type of 3 octets is no UUID.)
@pytest.mark.parametrize(
    "name",
    ["exchange MTU", "find information", "read by type", "read", "read blob", "read by group type", "execute write"],
)
async def test_trailing_octets_are_invalid_pdus(station, name):
    opcode, parameters = REQUESTS[name]
    async with station.link() as link:
        answer = await link.request(bytes([opcode]) + bytes.fromhex(parameters) + b"\x00")
        assert is_refusal(answer, opcode), answer.hex()
        await link.silence()


async def test_unknown_requests_are_not_supported(station):
    known = {opcode for opcode, _ in REQUESTS.values()}
    async with station.link() as link:
        # Even opcodes without the command bit are requests, but 0x1E, the confirmation.
        for opcode in sorted(set(range(0x00, 0x40, 2)) - known - {0x1E}):
            answer = await link.request(bytes([opcode, 1, 2, 3]))
            assert answer == error(opcode, 0x0000, 0x06), f"0x{opcode:02x}: {answer.hex()}"


async def test_unknown_commands_are_ignored(station):
    async with station.link() as link:
        for opcode in set(range(0x40, 0x80)) - {0x52}:
            link.send(bytes([opcode, 1, 2, 3]))
        await link.silence()


async def test_responses_nobody_asked_for_are_ignored(station):
    async with station.link() as link:
        for pdu in ("0117010001", "031700", "0b00", "13", "1b0100ff", "1d0100ff", "23010001 00ff"):
            link.send(bytes.fromhex(pdu))
        link.send(struct.pack("<BH", 0x0A, 0))
        answer = await link.answer()
        if answer == b"\x1e":  # the indication may be confirmed
            answer = await link.answer()
        assert answer == error(0x0A, 0, 0x01)
        await link.silence()


async def test_values_longer_than_the_mtu(station):
    """A PDU over the MTU is not the server's to serve; whatever it answers, nothing is written and the link goes on."""
    async with station.link() as link:
        handle = station.characteristic(NOTE).handle
        before = await link.read_long(handle)
        link.send(struct.pack("<BH", 0x12, handle) + b"v" * 100)
        answer = await link.request(struct.pack("<BH", 0x0A, 0))
        if answer != error(0x0A, 0, 0x01):
            assert answer[:2] == b"\x01\x12", answer.hex()
            assert await link.answer() == error(0x0A, 0, 0x01)
        assert await link.read_long(handle) == before


async def test_broken_frames_are_dropped(station):
    async with station.link() as link:
        link.send_acl(b"")  # no header at all
        link.send_acl(b"\x03")  # half a length
        link.send_acl(b"\x00\x00\x04\x00")  # an empty PDU on the ATT channel
        link.send_acl(b"\x03\x00\x99\x00\x01\x02\x03")  # a channel nobody has
        link.send_acl(b"\x03\x00\x04\x00\x0a", b"\x00\x00\xff\xff")  # longer than it said
        link.send_acl(b"\x20\x00\x04\x00\x12")  # a frame that never ends, cut off by the next
        await link.silence()


async def test_signalling_nobody_knows_is_rejected(station):
    """An unknown code gets Command Reject, command not understood (Vol 3, Part A, 4.1)."""
    async with station.link() as link:
        rejects = asyncio.Queue()
        link.device.host.on("l2cap_pdu", lambda handle, channel, pdu: channel == 5 and rejects.put_nowait(pdu))
        link.connection.send_l2cap_pdu(5, bytes.fromhex("fe 07 0000"))
        assert await link.update(rejects) == bytes.fromhex("01 07 0200 0000")
        await link.silence()


async def test_one_frame_in_many_fragments(station):
    async with station.link() as link:
        request = struct.pack("<HHBH", 3, 4, 0x0A, station.characteristic(SETTING).handle)
        link.send_acl(*[request[i : i + 1] for i in range(len(request))])
        assert await link.answer() == b"\x0bhPa"
