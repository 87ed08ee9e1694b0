"""The programs of Tests/Programs, which are written as for Apple's systems, and the delegate calls that they print."""

import contextlib
import re

from programs import Program, product, wait_until

# What NSLog puts before a line: date, time, program, process and thread.
NSLOG = re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+ \S+\[[\da-f:]+\] ")
# What the stack says itself.
STACK = "[BluetoothLE] "


class AppleProgram(Program):
    """One of them at a transport. Bonds and user defaults stay in `folder`, for its next run; other files are logs."""

    def __init__(self, name, transport, folder, *arguments, logs=None):
        self.name = name
        home = folder / f"{name}-home"
        home.mkdir(mode=0o700, exist_ok=True)
        environment = [f"BLE_TRANSPORT={transport}", f"BLE_BONDS={home / 'bonds.json'}", f"HOME={home}"]
        # Standard output is a file here, which `print` writes in blocks.
        command = ["env", *environment, "stdbuf", "-oL", *product(name), *arguments]
        words = "-".join([name, *(argument.rpartition("/")[2] for argument in arguments)])
        super().__init__(command, (logs or folder) / f"{words}.txt")

    def transcript(self):
        """The lines of the program itself, without repetitions of the line before."""
        lines = [NSLOG.sub("", line) for line in self.output.splitlines() if not line.startswith(STACK)]
        return [line for index, line in enumerate(lines) if index == 0 or lines[index - 1] != line]


def check(program, expected):
    """The transcript has the expected lines, or gets them; a line that begins with a slash is a regular expression."""
    with contextlib.suppress(AssertionError):
        # Not longer than it runs: the lines that are missing are shown below.
        wait_until(
            lambda: len(program.transcript()) >= len(expected) or program.process.poll() is not None, "lines are missing"
        )
    transcript = program.transcript()
    for number, (line, wanted) in enumerate(zip(transcript, expected), 1):
        matches = re.fullmatch(wanted.strip("/"), line) if wanted.startswith("/") else line == wanted
        assert matches, f"line {number} is not {wanted!r}:\n{program.output}"
    assert len(transcript) == len(expected), f"{len(expected)} lines expected:\n{program.output}"


# What room-sensor prints until it advertises.
SENSOR_STARTS = [
    "peripheralManagerDidUpdateState poweredOn",
    "didAdd E5A00001-4B1D-4E0C-9C35-6B2D7A1F0C11",
    "didAdd 181A",
    "peripheralManagerDidStartAdvertising without error",
]
# What it prints of a reader that runs once, and connects a second time.
SENSOR_IS_READ = [
    "didReceiveRead temperature",
    "didReceiveRead label",
    "didReceiveRead history",
    r"/didReceiveWrite label 500 octets in \d parts/",
    "didReceiveRead label",
    "didReceiveWrite label 0 octets in 1 parts",
    "didReceiveWrite command 1 octets in 1 parts",
    "100 commands",
    "didSubscribeTo temperature",
    "didSubscribeTo transfer",
    "peripheralManagerIsReady",
    "didUnsubscribeFrom transfer",
    "didReceiveRead owner",
    "didSubscribeTo alarm",
    "didUnsubscribeFrom temperature",
    "didUnsubscribeFrom alarm",
]
# The second link belongs to a bonded central, whose subscriptions are kept (Vol 3, Part G, 3.3.3.3).
SENSOR_IS_READ_AGAIN = [
    "didSubscribeTo temperature",
    "didSubscribeTo alarm",
    "didReceiveRead owner",
    "didUnsubscribeFrom temperature",
    "didUnsubscribeFrom alarm",
]
READER_FINDS = [
    "centralManagerDidUpdateState poweredOn",
    'didDiscover Room ["181A"] true true',
]
READER_READS = [
    "didConnect Room true",
    "didDiscoverServices 181A primary true",
    "didDiscoverIncludedServicesFor true primary false",
    'didDiscoverCharacteristicsFor about ["2A29", "2A24"]',
    'didDiscoverCharacteristicsFor room ["temperature", "label", "history", "command", "transfer", "owner", "alarm"]',
    "didUpdateValueFor 2A29 Example Works",
    "didUpdateValueFor 2A24 RS-1",
    "didUpdateValueFor temperature 21.50",
    "didUpdateValueFor label 7 octets",
    "didUpdateValueFor history 400 octets",
    'didDiscoverDescriptorsFor temperature ["2901", "2902", "2904"]',
    "didUpdateValueFor descriptor Room temperature",
    "didUpdateValueFor descriptor configuration 0",
    "didUpdateValueFor descriptor format 7 octets",
    "didWriteValueFor label",
    "didUpdateValueFor label 500 octets",
    "didWriteValueFor label invalidAttributeValueLength",
    "peripheralIsReady",
    "didUpdateNotificationStateFor temperature on ",
    "didUpdateValueFor temperature 21.60",
    "didUpdateNotificationStateFor transfer on ",
    "didUpdateValueFor transfer 800 octets",
    "didUpdateNotificationStateFor transfer off ",
    "didUpdateValueFor owner Ada",
    "didUpdateNotificationStateFor alarm on ",
    "didUpdateValueFor alarm 1",
    "didReadRSSI true ",
    "didDisconnectPeripheral",
]
READER_READS_AGAIN = [
    "retrievePeripherals true true",
    # A run that has not found the sensor itself may not know its name.
    "/didConnect (Room|unnamed) true/",
    "didDiscoverServices 181A primary true",
    'didDiscoverCharacteristicsFor room ["owner"]',
    "didUpdateValueFor owner Ada",
    "didDisconnectPeripheral",
]
HELLO_STARTS = [
    "peripheralManagerDidUpdateState 5",
    "didAdd, the same service: 1",
    "peripheralManagerDidStartAdvertising 1 ",
]
HELLO_GREETS = [
    "didSubscribeTo, 1 subscribed",
    "remove, 1 subscribed",
    "add again, 0 subscribed",
    "didAdd, the same service: 1",
    "didSubscribeTo, 1 subscribed",
    "didUnsubscribeFrom, 0 subscribed",
]
HELLO_READER = [
    "didDiscover Hello",
    "didConnect",
    "didDiscoverServices 1",
    "didDiscoverCharacteristicsFor, notifying: 0",
    "didUpdateNotificationStateFor 1",
    "didUpdateValueFor Hello 1",
    "didUpdateValueFor Hello 2",
    "didUpdateValueFor Hello 3",
    "didModifyServices hello",
    "didDiscoverServices 0",
    "/didModifyServices ?/",
    "didDiscoverServices 1",
    "didDiscoverCharacteristicsFor, notifying: 0",
    "didUpdateNotificationStateFor 1",
    "didUpdateValueFor Hello 4",
    "didUpdateValueFor Hello 5",
    "didUpdateValueFor Hello 6",
    "didDisconnectPeripheral 0 0 1",
]
DOORBELL_STARTS = [
    "peripheralManagerDidUpdateState true",
    "didAdd without error",
    "didStartAdvertising without error",
]
DOORBELL_IS_ANSWERED = ["didSubscribeTo the button: true"]
CHIME = [
    "scanForPeripherals",
    "didConnect",
    "didDiscoverServices 1",
    "didUpdateValueFor ding",
    "didDisconnectPeripheral without error",
]
