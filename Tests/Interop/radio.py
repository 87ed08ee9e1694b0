"""A radio of Bumble controllers behind an H4 server: every TCP connection gets a controller of its own.

    python radio.py [--acl-length 27] [--acl-packets 1] [--legacy] [--later] [--shreds] [WAY ...]

Prints `READY port` once it listens; ends when its standard input closes. Each WAY is one more way in, for a host that
is not a TCP client: `tcp-client:HOST:PORT` and `unix-client:PATH` go and fetch the host that listens there,
`unix-server:PATH` waits for it, `tty:PATH` opens the line it offers, `pty:PATH` offers a line, `slow-pty:PATH` a line of
115200 baud until the controller gets Broadcom's command for another rate.

Bumble's controllers were made for Bumble's own host. Where version 0.0.236 leaves the specification, the subclasses
below put it right, because a host under test must be judged against a controller that keeps the rules: unknown commands
are answered (Vol 4, Part E, 4.5), ACL data reaches the other host in the fragments it was sent in, each cut to the
length that controller announced (4.1.1), a scan response is the advertiser's, not a second copy of its advertising
data, and a train of periodic advertising has the SID and the state of its own set. Synchronization and subrating are
Bumble's: every train has an interval of 100 ms, the loss of one is never reported, and every subrate factor is 2.
"""

import argparse
import asyncio
import itertools
import os
import pty
import struct
import sys
import termios
import tty

from bumble import hci, ll
from bumble.controller import Controller, LegacyAdvertiser
from bumble.link import LocalLink
from bumble.transport.common import StreamPacketSink, StreamPacketSource

# Advertising PDU types (Vol 4, Part E, 7.8.5) and the event types that an extended report gives them (7.7.65.13).
ADV_IND, ADV_SCAN_IND, ADV_NONCONN_IND = 0, 2, 3
EXTENDED_EVENT_TYPE = {ADV_IND: 0x13, ADV_SCAN_IND: 0x12, ADV_NONCONN_IND: 0x10}
CONNECTABLE, SCANNABLE, SCAN_RESPONSE, LEGACY = 0x01, 0x02, 0x08, 0x10

# What Bumble's controller performs, and does not announce.
LATER_FEATURES = hci.LeFeatureMask.CONNECTION_SUBRATING
LATER_COMMANDS = {
    hci.HCI_LE_READ_NUMBER_OF_SUPPORTED_ADVERTISING_SETS_COMMAND,
    hci.HCI_LE_READ_MAXIMUM_ADVERTISING_DATA_LENGTH_COMMAND,
    hci.HCI_LE_SET_ADVERTISING_SET_RANDOM_ADDRESS_COMMAND,
    hci.HCI_LE_SET_EXTENDED_ADVERTISING_PARAMETERS_COMMAND,
    hci.HCI_LE_SET_EXTENDED_ADVERTISING_DATA_COMMAND,
    hci.HCI_LE_SET_EXTENDED_SCAN_RESPONSE_DATA_COMMAND,
    hci.HCI_LE_SET_EXTENDED_ADVERTISING_ENABLE_COMMAND,
    hci.HCI_LE_REMOVE_ADVERTISING_SET_COMMAND,
    hci.HCI_LE_CLEAR_ADVERTISING_SETS_COMMAND,
    hci.HCI_LE_SET_EXTENDED_SCAN_PARAMETERS_COMMAND,
    hci.HCI_LE_SET_EXTENDED_SCAN_ENABLE_COMMAND,
    hci.HCI_LE_EXTENDED_CREATE_CONNECTION_COMMAND,
    hci.HCI_LE_SET_PERIODIC_ADVERTISING_PARAMETERS_COMMAND,
    hci.HCI_LE_SET_PERIODIC_ADVERTISING_DATA_COMMAND,
    hci.HCI_LE_SET_PERIODIC_ADVERTISING_ENABLE_COMMAND,
    hci.HCI_LE_PERIODIC_ADVERTISING_CREATE_SYNC_COMMAND,
    hci.HCI_LE_PERIODIC_ADVERTISING_CREATE_SYNC_CANCEL_COMMAND,
    hci.HCI_LE_PERIODIC_ADVERTISING_TERMINATE_SYNC_COMMAND,
    hci.HCI_LE_SET_HOST_FEATURE_COMMAND,
    hci.HCI_LE_SET_DEFAULT_SUBRATE_COMMAND,
    hci.HCI_LE_SUBRATE_REQUEST_COMMAND,
}
# The interval of which Bumble's controller says every train is, in units of 1.25 ms.
TRAIN_INTERVAL = 80

# Broadcom's command Update UART Baud Rate: two octets for the oscillator, and the rate.
UPDATE_UART_BAUD_RATE = 0xFC18

SUCCESS, UNKNOWN_COMMAND, UNKNOWN_CONNECTION, INVALID_PARAMETERS = 0x00, 0x01, 0x02, 0x12


class Air(LocalLink):
    """What all controllers share."""

    def carry(self, link, is_first, data):
        """Takes a fragment to the other end of the link, found by the addresses the link was made with."""
        receiver = self.find_le_controller(link.peer_address)
        if receiver is not None:
            asyncio.get_running_loop().call_soon(receiver.on_fragment, link.self_address, is_first, data)

    def advertiser(self, pdu):
        """The advertising behind a PDU: event type of its reports, and its scan response."""
        address, sid = pdu.advertiser_address, getattr(pdu, "sid", None)
        for controller in self.controllers:
            legacy = controller.le_legacy_advertiser
            if sid is None and legacy.enabled and legacy.address == address:
                event_type = EXTENDED_EVENT_TYPE.get(legacy.advertising_type, 0)
                return event_type, bytes(legacy.scan_response_data)
            for advertising_set in controller.advertising_sets.values():
                is_its_set = advertising_set.parameters and advertising_set.parameters.advertising_sid == sid
                if is_its_set and advertising_set.enabled and advertising_set.address == address:
                    event_type = int(advertising_set.parameters.advertising_event_properties) & 0x17
                    return event_type, bytes(advertising_set.scan_response_data)
        return None


class Advertiser(LegacyAdvertiser):
    """Legacy advertising at the interval asked for (units of 0.625 ms), of every undirected type."""

    def _on_timer_fired(self):
        self.send_advertising_data()
        seconds = max(self.advertising_interval_min * 0.000625, 0.02)
        self.timer_handle = asyncio.get_running_loop().call_later(seconds, self._on_timer_fired)

    def send_advertising_data(self):
        if self.enabled and self.advertising_type in EXTENDED_EVENT_TYPE:
            self.controller.send_advertising_pdu(
                ll.AdvInd(advertiser_address=self.address, data=bytes(self.advertising_data))
            )


class RuledController(Controller):
    """A Bumble controller that answers every command and keeps to the buffer sizes it announces."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.le_legacy_advertiser = Advertiser(self)
        self.reports_are_legacy = False
        self.reported = set()
        self.trains = {}  # by the handle of the set: the data, and whether the train is on

    # Commands

    def on_packet(self, packet):
        if packet[:1] != b"\x01" or len(packet) < 4:
            return super().on_packet(packet)
        opcode = struct.unpack_from("<H", packet, 1)[0]
        try:
            command = hci.HCI_Packet.from_bytes(packet)
            handler = getattr(self, f"on_{command.name.lower()}", None)
            if handler is None:
                return self._send_hci_command_status(UNKNOWN_COMMAND, opcode)
            self.on_hci_packet(command)
        except Exception:  # Parameters Bumble cannot read; a real controller answers those as well.
            self._send_hci_command_status(INVALID_PARAMETERS, opcode)

    def on_hci_disconnect_command(self, command):
        if self.find_connection_by_handle(command.connection_handle) is None:
            return self._send_hci_command_status(UNKNOWN_CONNECTION, command.op_code)
        return super().on_hci_disconnect_command(command)

    def on_hci_le_create_connection_cancel_command(self, command):
        pending, self.pending_le_connection = self.pending_le_connection, None
        if pending is None:
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.COMMAND_DISALLOWED_ERROR)
        cancelled = hci.HCI_LE_Connection_Complete_Event(
            status=UNKNOWN_CONNECTION,
            connection_handle=0,
            role=hci.Role.CENTRAL,
            peer_address_type=pending.peer_address_type,
            peer_address=pending.peer_address,
            connection_interval=0,
            peripheral_latency=0,
            supervision_timeout=0,
            central_clock_accuracy=0,
        )
        asyncio.get_running_loop().call_soon(self.send_hci_packet, cancelled)
        return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.SUCCESS)

    # ACL data: what a fragment holds is the hosts' business, as it is for a link layer.

    def on_hci_acl_data_packet(self, packet):
        link = self.find_le_connection_by_handle(packet.connection_handle)
        if link is None:
            return
        self.link.carry(link, packet.pb_flag != 1, packet.data)
        completed = hci.HCI_Number_Of_Completed_Packets_Event(
            connection_handles=[link.handle], num_completed_packets=[1]
        )
        self.send_hci_packet(completed)

    def on_fragment(self, sender_address, is_first, data):
        link = self.le_connections.get(sender_address)
        if link is None:
            return
        length = self.le_acl_data_packet_length
        for start in range(0, len(data), length):
            piece = data[start : start + length]
            boundary = 2 if is_first and start == 0 else 1  # first of an L2CAP frame, or its continuation
            self.send_hci_packet(hci.HCI_AclDataPacket(link.handle, boundary, 0, len(piece), piece))

    # Periodic advertising: a set has its train's data while the train is on.

    def on_hci_le_set_periodic_advertising_data_command(self, command):
        return self.set_train(command.advertising_handle, data=command.advertising_data)

    def on_hci_le_set_periodic_advertising_enable_command(self, command):
        return self.set_train(command.advertising_handle, is_on=bool(command.enable & 1))

    def set_train(self, handle, **change):
        if handle not in self.advertising_sets:
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.UNKNOWN_ADVERTISING_IDENTIFIER_ERROR)
        train = {"data": b"", "is_on": False} | self.trains.get(handle, {}) | change
        self.trains[handle] = train
        self.advertising_sets[handle].periodic_advertising_data = train["data"] if train["is_on"] else b""
        return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.SUCCESS)

    def on_hci_le_set_host_feature_command(self, command):
        if command.bit_number == hci.LeFeature.CONNECTION_SUBRATING_HOST_SUPPORT:
            self.le_features |= hci.LeFeatureMask.CONNECTION_SUBRATING_HOST_SUPPORT
        return super().on_hci_le_set_host_feature_command(command)

    # Scanning

    def on_hci_le_set_scan_enable_command(self, command):
        self.reports_are_legacy, self.reported = True, set()
        return super().on_hci_le_set_scan_enable_command(command)

    def on_hci_le_set_extended_scan_enable_command(self, command):
        self.reports_are_legacy, self.reported = False, set()
        return super().on_hci_le_set_extended_scan_enable_command(command)

    def on_hci_le_set_extended_scan_parameters_command(self, command):
        self.le_scan_type = command.scan_types[0] if command.scan_types else 0
        return super().on_hci_le_set_extended_scan_parameters_command(command)

    def on_advertising_pdu(self, pdu):
        advertiser = self.link.advertiser(pdu)
        if advertiser is None:
            return
        event_type, scan_response = advertiser
        if self.trains_wanted:
            self.receive_train(pdu)
        if self.le_scan_enable:
            train = TRAIN_INTERVAL if getattr(pdu, "periodic_advertising_data", None) else 0
            self.report(pdu.advertiser_address, event_type, bytes(pdu.data), getattr(pdu, "sid", 0xFF), train)
            if event_type & SCANNABLE and self.le_scan_type == 1:
                self.report(pdu.advertiser_address, event_type & ~0x04 | SCAN_RESPONSE, scan_response)
        pending = self.pending_le_connection
        if pending and event_type & CONNECTABLE and pending.peer_address == pdu.advertiser_address:
            self.create_le_connection(pdu.advertiser_address)

    @property
    def trains_wanted(self):
        return self.pending_periodic_advertising_syncs or self.established_periodic_advertising_syncs

    def receive_train(self, pdu):
        """Bumble's own synchronization, without its reports of advertisements and its connections."""
        scanning, pending = self.le_scan_enable, self.pending_le_connection
        self.le_scan_enable, self.pending_le_connection = 0, None
        if getattr(pdu, "periodic_advertising_data", None):
            super().on_advertising_pdu(pdu)
        self.le_scan_enable, self.pending_le_connection = scanning, pending

    def report(self, address, event_type, data, sid=0xFF, train=0):
        key = (bytes(address), sid, event_type & SCAN_RESPONSE)
        if self.filter_duplicates and key in self.reported:
            return
        self.reported.add(key)
        if self.reports_are_legacy:
            if event_type & LEGACY:
                self.send_event(0x02, legacy_report(address, event_type, data))
        else:
            for report in extended_reports(address, event_type, data, sid, train):
                self.send_event(0x0D, report)

    def send_event(self, subevent, parameters):
        packet = bytes([0x04, 0x3E, 1 + len(parameters), subevent]) + parameters
        if self.host:
            asyncio.get_running_loop().call_soon(self.host.on_packet, packet)


def legacy_report(address, event_type, data):
    """LE Advertising Report (Vol 4, Part E, 7.7.65.2) with one report."""
    kinds = {0x13: 0, 0x12: 2, 0x10: 3}
    kind = 4 if event_type & SCAN_RESPONSE else kinds.get(event_type & 0x17, 0)
    return bytes([1, kind, address.address_type, *bytes(address), len(data), *data, 0xCE])


def extended_reports(address, event_type, data, sid, train):
    """LE Extended Advertising Report (7.7.65.13): data that one event cannot hold comes in several."""
    parts = [data[i : i + 229] for i in range(0, len(data), 229)] or [b""]
    for index, part in enumerate(parts):
        more = 0x20 if index + 1 < len(parts) else 0
        secondary = 0 if event_type & LEGACY else 1
        head = struct.pack("<BHB", 1, event_type | more, address.address_type) + bytes(address)
        yield head + struct.pack("<BBBbbHB6xB", 1, secondary, sid, 0x7F, -50, train, 0, len(part)) + part


class ShreddingTransport:
    """Writes the stream in pieces that ignore packet borders: a host must find them by the lengths alone."""

    def __init__(self, transport):
        self.transport = transport
        self.sizes = itertools.cycle((1, 2, 3, 5, 8, 13, 21, 34))
        self.held = b""

    def write(self, data):
        self.held += data
        while self.held:
            size = next(self.sizes)
            self.transport.write(self.held[:size])
            self.held = self.held[size:]


class SlowLine(StreamPacketSource):
    """The controller's end of a line with a rate. Octets of a host with another rate are noise, and lost.

    The command for another rate is answered at the rate that it came with.
    """

    def __init__(self, line):
        super().__init__()
        self.line, self.rate = line, 115200

    def data_received(self, data):
        if termios.tcgetattr(self.line)[5] != getattr(termios, f"B{self.rate}"):
            return
        if data[:3] == struct.pack("<BH", 1, UPDATE_UART_BAUD_RATE):
            os.write(self.line, struct.pack("<BBBBHB", 4, 0x0E, 4, 1, UPDATE_UART_BAUD_RATE, SUCCESS))
            self.rate = struct.unpack_from("<I", data, 6)[0]
        else:
            super().data_received(data)


class Radio:
    def __init__(self, acl_length=None, acl_packets=None, legacy=False, later=False, shreds=False):
        self.air = Air()
        self.acl_length, self.acl_packets, self.shreds = acl_length, acl_packets, shreds
        self.legacy, self.later = legacy, later
        self.numbers = itertools.count(1)

    def attach(self, source, transport):
        number = next(self.numbers)
        sink = StreamPacketSink(ShreddingTransport(transport) if self.shreds else transport)
        address = hci.Address(bytes([number, 0, 0, 0x5E, 0x1F, 0xC0]), hci.Address.PUBLIC_DEVICE_ADDRESS)
        controller = RuledController(
            f"controller {number}", host_source=source, host_sink=sink, link=self.air, public_address=address
        )
        if self.acl_length:
            controller.le_acl_data_packet_length = controller.acl_data_packet_length = self.acl_length
        if self.acl_packets:
            controller.total_num_le_acl_data_packets = controller.total_num_acl_data_packets = self.acl_packets
        if self.legacy:
            extended = hci.LeFeatureMask.LE_EXTENDED_ADVERTISING | hci.LeFeatureMask.LE_PERIODIC_ADVERTISING
            controller.le_features &= ~extended
        if self.later:
            controller.le_features |= LATER_FEATURES
            controller.supported_commands = controller.supported_commands | LATER_COMMANDS
        return controller

    def detach(self, controller):
        """The host has gone: its links end for the peers by supervision timeout (0x08)."""
        controller.le_legacy_advertiser.stop()
        for advertising_set in controller.advertising_sets.values():
            advertising_set.stop()
        for link in list(controller.le_connections.values()):
            link.send_ll_control_pdu(ll.TerminateInd(hci.HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR))
        controller.host = None
        asyncio.get_running_loop().call_later(0.05, self.air.controllers.discard, controller)

    def attachment(self):
        radio = self

        class Attachment(StreamPacketSource):
            def connection_made(self, transport):
                self.controller = radio.attach(self, transport)

            def connection_lost(self, error):
                radio.detach(self.controller)

        return Attachment()

    async def listen(self):
        server = await asyncio.get_running_loop().create_server(self.attachment, "127.0.0.1", 0)
        return server.sockets[0].getsockname()[1]

    async def open(self, way):
        kind, _, where = way.partition(":")
        loop = asyncio.get_running_loop()
        if kind == "tcp-client":
            host, port = where.rsplit(":", 1)
            await loop.create_connection(self.attachment, host, int(port))
        elif kind == "unix-client":
            await loop.create_unix_connection(self.attachment, where)
        elif kind == "unix-server":
            await loop.create_unix_server(self.attachment, where)
        elif kind == "tty":
            await self.open_line(os.open(where, os.O_RDWR | os.O_NOCTTY), StreamPacketSource())
        elif kind in ("pty", "slow-pty"):
            line, other_end = pty.openpty()
            tty.setraw(other_end)
            os.symlink(os.ttyname(other_end), where)
            await self.open_line(line, SlowLine(line) if kind == "slow-pty" else StreamPacketSource())
        else:
            raise ValueError(f"no way in: {way}")

    async def open_line(self, line, source):
        tty.setraw(line)
        loop = asyncio.get_running_loop()
        writing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(os.dup(line), "wb", 0))
        await loop.connect_read_pipe(lambda: source, os.fdopen(line, "rb", 0))
        self.attach(source, writing)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--acl-length", type=int)
    parser.add_argument("--acl-packets", type=int)
    parser.add_argument("--legacy", action="store_true", help="no extended advertising")
    parser.add_argument("--later", action="store_true", help="announce extended and periodic advertising, and subrating")
    parser.add_argument("--shreds", action="store_true", help="write to the hosts in pieces of 1 to 34 octets")
    parser.add_argument("ways", nargs="*")
    options = parser.parse_args()
    radio = Radio(options.acl_length, options.acl_packets, options.legacy, options.later, options.shreds)
    for way in options.ways:
        await radio.open(way)
    print("READY", await radio.listen(), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
