"""The procedures of two hosts, each a process of the program `managers`, and one of them at a random time within a procedure."""

import contextlib
import itertools
import os
import random
import signal
import time

from programs import LIMIT, Program, product, wait_until

SERVICE, CHARACTERISTIC, PSM = "181A", "2A6E", "80"
TIMING = "15 15 0 1000"  # milliseconds: the shortest and the longest interval, latency, supervision timeout
SEED = int(os.environ.get("KILL_SEED", time.time_ns() % 1_000_000))


class Host:
    """The program `managers`: what it says after the last line that was waited for."""

    numbers = itertools.count(1)

    def __init__(self, radio, folder, name, *options):
        number = next(self.numbers)
        command = ["env", f"BLE_BONDS={folder / f'{name}-{number}.json'}", *product("managers")]
        command += ["--transport", radio.transport, *options]
        self.program = Program(command, folder / f"{name}-{number}.log")
        self.position = 0

    def tell(self, *lines):
        for line in lines:
            self.program.process.stdin.write(f"{line}\n".encode())
        self.program.process.stdin.flush()

    def wait_for(self, text, seconds=LIMIT):
        """The next line with `text`, or with one of several; a failure of BLEKit ends the wait unless it is waited for."""
        texts = (text,) if isinstance(text, str) else text

        def find():
            self.program.check_alive()
            lines = self.program.output.split("\n")[:-1]
            for index in range(self.position, len(lines)):
                if any(text in lines[index] for text in texts):
                    self.position = index + 1
                    return lines[index]
                assert "k failed" not in lines[index], f"{lines[index]!r} instead of {text!r}"
            return None

        return wait_until(find, lambda: f"no {text!r}:\n{self.program.output[-2000:]}", seconds)

    def skip(self):
        """What was said until now is waited for by nobody."""
        self.position = self.program.output.count("\n")

    def settle(self):
        """Waits for the ends of the procedures that an ended link has ended: each has a line of its own, in any order."""
        self.tell("k settle")
        wait_for_one_of(self, ("k settled",))
        self.skip()

    def kill(self):
        self.program.process.send_signal(signal.SIGKILL)
        self.program.process.wait()


class Peripheral(Host):
    def __init__(self, radio, folder, *options):
        super().__init__(radio, folder, "peripheral", *options)
        self.tell(f"p1 publish {SERVICE} {CHARACTERISTIC} hello", f"p1 advertise Clock {SERVICE}")
        self.tell(f"k publish {PSM} none", "k address")
        self.address = self.wait_for("k address").split()[2]
        if "p1 advertises" not in self.program.output:
            self.wait_for("p1 advertises")


class Central(Host):
    def __init__(self, radio, folder, *options):
        super().__init__(radio, folder, "central", *options)

    def connect(self, peripheral):
        """The attempt that a kill has interrupted may have connected it already."""
        self.tell(f"k connect {peripheral.address} {TIMING}")
        self.wait_for(("k connected", "is connected already"))


def converse(central, peripheral, folder):
    """Everything that two hosts do: connect, pair, subscribe, write in parts, and a transfer over a channel."""
    central.skip()
    peripheral.skip()
    central.connect(peripheral)
    central.tell("k pair")
    central.wait_for("k paired")
    central.tell(f"k subscribe {SERVICE} {CHARACTERISTIC}")
    peripheral.wait_for(f"p1 subscribed {CHARACTERISTIC}")
    peripheral.tell("p1 notify tick")
    central.wait_for("k notified 4")
    central.tell(f"k write {SERVICE} {CHARACTERISTIC} 300")
    peripheral.wait_for("p1 written")
    central.wait_for("k wrote 300")
    file = folder / "octets"
    file.write_bytes(bytes(20_000))
    central.tell(f"k open {PSM}")
    opened = central.wait_for("k opened").split()[2]
    accepted = peripheral.wait_for("k accepted").split()[2]
    peripheral.tell(f"k receive {accepted} {folder / 'received'}")
    central.tell(f"k send {opened} {file} 1000")
    central.wait_for("k sent")
    central.tell(f"k close {opened}")
    peripheral.wait_for("k received")
    central.tell("k disconnect")
    peripheral.wait_for("p1 disconnected")


def connecting(central, peripheral, folder):
    central.tell(f"k connect {peripheral.address} {TIMING}")


def discovering(central, peripheral, folder):
    central.connect(peripheral)
    central.tell("k database")


def pairing(central, peripheral, folder):
    central.connect(peripheral)
    central.tell("k pair")


def subscribed(central, peripheral, folder):
    central.connect(peripheral)
    central.tell(f"k subscribe {SERVICE} {CHARACTERISTIC}")
    peripheral.wait_for(f"p1 subscribed {CHARACTERISTIC}")
    peripheral.tell(*[f"p1 notify {number}" for number in range(20)])


def writing(central, peripheral, folder):
    central.connect(peripheral)
    central.tell(f"k writes {SERVICE} {CHARACTERISTIC} 500")
    peripheral.wait_for("p1 written")


def preparing(central, peripheral, folder):
    """A value of 512 octets takes 29 Prepare Write Requests, one in each connection event of 15 ms at best."""
    central.connect(peripheral)
    central.tell(f"k write {SERVICE} {CHARACTERISTIC} 512")


def transferring(central, peripheral, folder):
    central.connect(peripheral)
    central.tell(f"k open {PSM}")
    opened = central.wait_for("k opened").split()[2]
    accepted = peripheral.wait_for("k accepted").split()[2]
    file = folder / "long"
    file.write_bytes(bytes(4_000_000))
    peripheral.tell(f"k receive {accepted} {folder / 'received'}")
    central.tell(f"k send {opened} {file} 1000")


# Seconds after which the kill comes: discovery precedes the prepared writes.
DELAYS = {preparing: (0.3, 0.7)}
STEPS = [connecting, discovering, pairing, subscribed, writing, preparing, transferring]


@contextlib.contextmanager
def running(*hosts):
    try:
        yield
    finally:
        for host in hosts:
            host.program.stop()


@contextlib.contextmanager
def within(step, radio, folder, central_radio=None):
    """Both hosts, at a random time within a procedure, and their options. A failure names the seed and the time."""
    options = ("--mtu", "23") if step is preparing else ()
    peripheral = Peripheral(radio, folder, *options)
    central = Central(central_radio or radio, folder, *options)
    with running(peripheral, central):
        step(central, peripheral, folder)
        delay = random.Random(f"{SEED} {step.__name__}").uniform(*DELAYS.get(step, (0, 0.15)))
        # The moment of the kill, and no wait: whatever the hosts have done by then, the other one has to go on.
        time.sleep(delay)
        try:
            yield peripheral, central, options
        except AssertionError as error:
            raise AssertionError(f"KILL_SEED={SEED}, {delay:.3f} s: {error}") from error


def wait_for_one_of(host, texts, seconds=LIMIT):
    """Until one of the texts was said, whatever else was."""

    def is_said():
        host.program.check_alive()
        rest = host.program.output.split("\n")[host.position :]
        return any(text in line for line in rest for text in texts)

    wait_until(is_said, lambda: f"none of {texts}:\n{host.program.output[-2000:]}", seconds)
