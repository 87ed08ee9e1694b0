#!/usr/bin/env python3
"""How much of what a link can carry arrived, from packet traces.

    link_limit.py TRACE...                  a line for each direction of each link that received data, from btsnoop files
    link_limit.py --run PROGRAM             performs the runs of link-limit, prints their lines, and draws Docs/Performance/limit.svg
    link_limit.py --picture TRACE FILE.svg  draws the last second of a trace

The limit is computed here from the parameters in the trace (connection interval, PHY, data length, encryption) and the times of Vol 6,
Part B, 2.1, 2.2 and 4.5.1, and not by the code under test. It is the number of octets in whole exchanges of full packets: a data packet,
T_IFS, an empty packet, T_IFS. An event ends T_IFS before the next anchor point. What arrived are the octets of the ACL packets that the
controller passed to its host, in whole connection intervals at the end of the trace.
"""

import re
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

T_IFS = 150
# Microseconds of a packet without a payload, and of an octet of payload. LE Coded with S=8.
AIRTIME = {1: (80, 8), 2: (44, 4), 3: (720, 64)}
PHYS = {1: "LE 1M", 2: "LE 2M", 3: "LE Coded"}
INTEGRITY_CHECK = 4


def airtime(phy, octets, encrypted):
    fixed, each = AIRTIME[phy]
    return fixed + each * (octets + (INTEGRITY_CHECK if encrypted and octets else 0))


@dataclass(frozen=True)
class Parameters:
    """Of one link, as the events of the controller report them; times in microseconds."""

    interval: int
    is_central: bool
    tx_phy: int = 1
    rx_phy: int = 1
    tx_octets: int = 27
    tx_time: int = 328
    rx_octets: int = 27
    rx_time: int = 328
    encrypted: bool = False
    mtu: int = 23

    def payload(self, received=True):
        """The octets of a full data packet: the time of a packet limits them, too."""
        phy, octets, time = (self.rx_phy, self.rx_octets, self.rx_time) if received else (self.tx_phy, self.tx_octets, self.tx_time)
        fixed, each = AIRTIME[phy]
        return max(27, min(octets, (time - fixed) // each - (INTEGRITY_CHECK if self.encrypted else 0)))

    def full(self, received=True):
        """The time of a full data packet."""
        return airtime(self.rx_phy if received else self.tx_phy, self.payload(received), self.encrypted)

    def empty(self, received=True):
        return airtime(self.rx_phy if received else self.tx_phy, 0, False)

    def exchange(self):
        """Data is received, an empty packet is sent."""
        return self.full() + T_IFS + self.empty(received=False) + T_IFS

    def packets(self):
        """Data packets in one event, in the direction that is received."""
        return max(1, self.interval // self.exchange())

    def packets_of_both(self):
        """Data packets in one event where both ends send: one more in one direction may fit behind the full exchanges."""
        both = self.full() + T_IFS + self.full(received=False) + T_IFS
        exchanges = self.interval // both
        return 2 * exchanges + (1 if self.interval - exchanges * both >= self.exchange() else 0)

    def __str__(self):
        text = f"{PHYS[self.rx_phy]}, {self.interval / 1000:g} ms, {self.payload()} octets, ATT_MTU {self.mtu}"
        return text + (", encrypted" if self.encrypted else "")


@dataclass
class Link:
    parameters: Parameters
    # The time of the last change of the parameters.
    since: int
    # Time and octets of the ACL packets, without their headers.
    received: list = field(default_factory=list)
    sent: list = field(default_factory=list)
    # Time and number of packets that the controller has completed.
    completed: list = field(default_factory=list)


def records(path):
    """The packets of a btsnoop file: time in microseconds, whether the controller sent it, octets with the type first."""
    data = Path(path).read_bytes()
    assert data[:8] == b"btsnoop\0", f"{path} is no btsnoop file"
    _, link_type = struct.unpack_from(">II", data, 8)
    assert link_type == 1002, f"{path} has the data link type {link_type}, not H4"
    place = 16
    while place + 24 <= len(data):
        _, length, flags, _, time = struct.unpack_from(">IIIIq", data, place)
        yield time, bool(flags & 1), data[place + 24 : place + 24 + length]
        place += 24 + length


class Trace:
    """The links of one host: those that have ended, and those that were up at the end."""

    def __init__(self, path):
        self.name, self.links, self.end = Path(path).stem, [], 0
        self.open = {}
        for time, is_received, packet in records(path):
            self.end = time
            if packet[:1] == b"\x04":
                self.event(time, packet[1], packet[3:])
            elif packet[:1] == b"\x02":
                handle, length = struct.unpack_from("<HH", packet, 1)
                if link := self.open.get(handle & 0xFFF):
                    (link.received if is_received else link.sent).append((time, length))
                    self.att(link, packet[5:])

    def att(self, link, frame):
        """Exchange MTU Response: the smaller of both values counts. Both of ours offer the same, so that the response has it."""
        if len(frame) == 7 and frame[2:5] == b"\x04\x00\x03":
            link.parameters = replace(link.parameters, mtu=max(23, struct.unpack_from("<H", frame, 5)[0]))

    def change(self, handle, time, **values):
        if link := self.open.get(handle):
            new = replace(link.parameters, **values)
            if new != link.parameters:
                link.parameters, link.since = new, time

    def event(self, time, code, body):
        if code == 0x05 and body[0] == 0:  # Disconnection Complete
            self.open.pop(struct.unpack_from("<H", body, 1)[0], None)
        elif code in (0x08, 0x59) and body[0] == 0:  # Encryption Change
            self.change(struct.unpack_from("<H", body, 1)[0], time, encrypted=body[3] != 0)
        elif code == 0x13:  # Number Of Completed Packets
            for index in range(body[0]):
                handle, count = struct.unpack_from("<HH", body, 1 + 4 * index)
                if link := self.open.get(handle):
                    link.completed.append((time, count))
        elif code == 0x3E:
            self.le_event(time, body[0], body[1:])

    def le_event(self, time, code, body):
        if code in (0x01, 0x0A, 0x29) and body[0] == 0:  # LE (Enhanced) Connection Complete
            handle, role = struct.unpack_from("<HB", body, 1)
            interval = struct.unpack_from("<H", body, 11 if code == 0x01 else 23)[0]
            link = Link(Parameters(interval * 1250, role == 0), time)
            self.open[handle] = link
            self.links.append(link)
        elif code == 0x03 and body[0] == 0:  # LE Connection Update Complete
            handle, interval = struct.unpack_from("<HH", body, 1)
            self.change(handle, time, interval=interval * 1250)
        elif code == 0x07:  # LE Data Length Change
            handle, *lengths = struct.unpack_from("<HHHHH", body)
            self.change(handle, time, **dict(zip(("tx_octets", "tx_time", "rx_octets", "rx_time"), lengths)))
        elif code == 0x0C and body[0] == 0:  # LE PHY Update Complete
            handle, tx, rx = struct.unpack_from("<HBB", body, 1)
            self.change(handle, time, tx_phy=tx, rx_phy=rx)


@dataclass
class Flow:
    """The data that one end of a link received in whole intervals."""

    name: str
    parameters: Parameters
    events: int
    octets: int
    # Packets in each event, as far as the anchor points can be found.
    counts: list

    @property
    def limit(self):
        return self.events * self.parameters.packets() * self.parameters.payload()

    @property
    def share(self):
        return self.octets / self.limit

    @property
    def seconds(self):
        return self.events * self.parameters.interval / 1_000_000

    def __str__(self):
        rate, limit = (octets * 8 / self.seconds / 1000 for octets in (self.octets, self.limit))
        empty = sum(count == 0 for count in self.counts)
        short = sum(0 < count < self.parameters.packets() for count in self.counts)
        return (
            f"{self.name:44} {rate:8.1f} of {limit:8.1f} kbit/s {self.share:7.2%}   {self.events} events, {empty} empty, {short} not full"
            f"   {self.parameters}"
        )


def flow(trace, link, seconds=1.0):
    """None for a link that has received next to nothing."""
    parameters = link.parameters
    events = int(seconds * 1_000_000 / parameters.interval)
    if not events or not link.received:
        return None
    end = link.received[-1][0]
    # Whole events: the last one may have gone on.
    last = [packet for packet in link.received if packet[0] > end - seconds * 1_000_000]
    end -= (end - first_phase(last, parameters.interval)) % parameters.interval + 1
    begin = end - events * parameters.interval
    if begin < link.since:
        return None
    window = [(time, octets) for time, octets in link.received if begin < time <= end]
    total = sum(octets for _, octets in window)
    found = Flow(trace.name, parameters, events, total, counts(window, end, parameters, events))
    return found if found.share > 0.1 else None


def first_phase(window, interval):
    """When the first packet of an event arrives, modulo the interval: after the largest gap between the phases of packets."""
    phases = sorted({time % interval for time, _ in window})
    return max(((after - before) % interval or interval, after) for before, after in zip(phases, phases[1:] + phases[:1]))[1]


def counts(window, end, parameters, events):
    """The packets of each event."""
    if not window:
        return [0] * events
    interval = parameters.interval
    first = first_phase(window, interval)
    numbers = {}
    for time, _ in window:
        number = (time - first) // interval
        numbers[number] = numbers.get(number, 0) + 1
    last = (end - first) // interval
    return [numbers.get(number, 0) for number in range(last - events + 1, last + 1)]


def flows(paths, seconds=1.0):
    found = []
    for path in paths:
        trace = Trace(path)
        found += [one for one in (flow(trace, link, seconds) for link in trace.links) if one]
    return found


def share_of_both(found):
    """The share of two flows of one link, in opposite directions at once."""
    parameters, events = found[0].parameters, min(flow.events for flow in found)
    return sum(flow.octets for flow in found) / (events * parameters.packets_of_both() * parameters.payload())


def perform(program, folder, names=()):
    """Performs runs of link-limit, all without names. The traces of each run, by its name."""
    names = subprocess.run([*program, folder, *names], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return {name: sorted(Path(folder).glob(f"{name}.*.btsnoop"), key=host) for name in names}


def host(path):
    return int(re.search(r"\.(\d+)\.btsnoop", path.name)[1])


def print_run(name, paths):
    found = flows(paths)
    if "-both" in name:
        share, octets = share_of_both(found), sum(flow.octets for flow in found)
    else:
        octets = sum(flow.octets for flow in found)
        share = octets / sum(flow.limit for flow in found) if found else 0
    rate = octets * 8 / found[0].seconds / 1000 if found else 0
    empty = sum(count == 0 for flow in found for count in flow.counts)
    events = sum(flow.events for flow in found)
    print(f"{name:36} {rate:9.1f} kbit/s {share:8.2%}   {empty:4} of {events:5} events empty   {found[0].parameters if found else ''}")


# The run whose trace is drawn.
DRAWN = "2m-notifications"
WIDTH, LEFT, TOP, ROW = 960, 64, 76, 5
# The colours of data packets that are full and that are not, and of empty packets.
FULL, PARTIAL, EMPTY = "#3b6ea5", "#8fb4d9", "#d08a2e"


def picture(path):
    """The last second of the busiest link of a trace: a row is a connection event, from its anchor point to the next one."""
    trace = Trace(path)
    link = max(trace.links, key=lambda link: len(link.received))
    parameters, rows = link.parameters, 1_000_000 // link.parameters.interval
    poll = 0 if not parameters.is_central else parameters.empty(received=False) + T_IFS
    # The anchor point: where the first packet of an event begins, or the central's packet before it.
    end = link.received[-1][0]
    last = [packet for packet in link.received if packet[0] > end - 1_000_000]
    anchor = first_phase(last, parameters.interval) - parameters.full() - poll
    # Whole events: the last one may have gone on.
    end -= (end - anchor) % parameters.interval
    begin = end - rows * parameters.interval
    window = [(time, octets) for time, octets in link.received if begin < time <= end]
    found = Flow(trace.name, parameters, rows, sum(octets for _, octets in window), counts(window, end - 1, parameters, rows))
    scale = (WIDTH - LEFT - 16) / parameters.interval
    height = TOP + rows * ROW + 44

    boxes = {colour: [] for colour in (FULL, PARTIAL, EMPTY)}

    def box(start, time, row, colour):
        width, depth = max(0.6, time * scale), ROW - 1.5
        boxes[colour].append(f"M{LEFT + start * scale:.1f} {TOP + row * ROW}h{width:.1f}v{depth}h-{width:.1f}z")

    first = (begin - anchor) // parameters.interval
    for time, octets in window:
        number, phase = divmod(time - anchor, parameters.interval)
        row = number - first
        data = airtime(parameters.rx_phy, octets, parameters.encrypted)
        box(phase - data, data, row, FULL if octets == parameters.payload() else PARTIAL)
        # The other end's empty packet: before the data where the central polls, else behind it.
        other = parameters.empty(received=False)
        box(phase - data - poll if poll else phase + T_IFS, other, row, EMPTY)
    empty = sum(count == 0 for count in found.counts)
    title = f"{found.octets * 8 / found.seconds / 1000:,.0f} kbit/s of L2CAP frames, {found.share:.1%} of the limit"
    facts = f"{parameters}; {rows} connection events, {empty} of them empty; {parameters.packets()} packets fit into each"
    ticks = "".join(
        f'<text x="{LEFT + at * 1000 * scale:.1f}" y="{TOP - 8}" text-anchor="middle">{at} ms</text>'
        for at in range(0, parameters.interval // 1000 + 1, 2)
    )
    labels = "".join(
        f'<text x="{LEFT - 8}" y="{TOP + row * ROW + 5}" text-anchor="end">{row * parameters.interval / 1000:.0f} ms</text>'
        for row in range(0, rows, 8)
    )
    bottom = TOP + rows * ROW
    legend = "".join(
        f'<rect x="{LEFT + at}" y="{bottom + 14}" width="14" height="10" fill="{colour}"/><text x="{LEFT + at + 20}" y="{bottom + 23}">{text}</text>'
        for at, colour, text in (
            (0, FULL, "data packet, full"),
            (150, PARTIAL, "data packet, not full"),
            (320, EMPTY, "empty packet of the other end"),
        )
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="11" fill="#333">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n'
        f'<text x="{LEFT}" y="22" font-size="15">{title}</text>\n<text x="{LEFT}" y="42">{facts}</text>\n'
        f"{ticks}\n{labels}\n"
        f'<rect x="{LEFT}" y="{TOP - 2}" width="{parameters.interval * scale:.1f}" height="{rows * ROW + 3}" fill="none" stroke="#bbb"/>\n'
        + "\n".join(f'<path fill="{colour}" d="{"".join(paths)}"/>' for colour, paths in boxes.items() if paths)
        + f"\n{legend}\n</svg>\n"
    )


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--run"] and len(arguments) > 1:
        root = Path(__file__).resolve().parent.parent
        program = arguments[1:]
        with tempfile.TemporaryDirectory() as folder:
            for name, paths in perform(program, folder).items():
                print_run(name, paths)
                if name == DRAWN:
                    (root / "Docs/Performance/limit.svg").write_text(picture(paths[0]))
    elif arguments[:1] == ["--picture"] and len(arguments) == 3:
        Path(arguments[2]).write_text(picture(arguments[1]))
    elif arguments and not arguments[0].startswith("-"):
        for found in flows(arguments):
            print(found)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
