"""Credit-based channels on kernel sockets: ours and l2test, ours and ours; checksums, a reader that stalls, security, ends."""

import contextlib
import hashlib
import os
import re
import struct
from pathlib import Path

import pytest
from bluetooth import Management
from conftest import wait_for_count
from managers import managers
from programs import Program, wait_until

# The programs of the tests are built for debugging, and the machine is emulated: CHANNEL_OCTETS=10000000 takes minutes.
SIZE = int(os.environ.get("CHANNEL_OCTETS", "1000000"))
PSM = "0080"
FILES = Path("/run/channels")


@pytest.fixture
def files():
    FILES.mkdir(exist_ok=True)
    yield FILES
    for file in FILES.iterdir():
        file.unlink()


def made(files, name, size):
    """A file of octets that are as good as random."""
    path = files / name
    path.write_bytes(hashlib.shake_256(name.encode()).digest(size))
    return path


def same(one, other):
    return hashlib.sha256(one.read_bytes()).digest() == hashlib.sha256(other.read_bytes()).digest()


def memory(program, what="VmRSS"):
    """KiB."""
    status = Path(f"/proc/{program.process.pid}/status").read_text()
    return int(re.search(rf"{what}:\s+(\d+)", status)[1])


@pytest.fixture
def listener(controllers, logs):
    """Ours on hci0, which advertises."""
    with managers(logs, "listener", "linux:hci0") as program:
        yield program
        program.check_alive()


@pytest.fixture
def opener(controllers, logs):
    """Ours on hci1."""
    with managers(logs, "opener", "linux:hci1") as program:
        yield program
        program.check_alive()


def publish(listener, psm=PSM, security="none"):
    listener.ask(f"k publish {psm} {security}", f"k published {psm}\n")


def connect(listener, opener, identity):
    listener.ask("p1 advertise Channels 180D", "p1 advertises\n")
    opener.ask(f"k connect {identity[0]}", "k connected")


def open_channel(listener, opener, psm=PSM, number=1):
    before = len(listener.output)
    opener.ask(f"k open {psm}", f"k opened {number} ")
    listener.wait_after(f"k accepted {number} ", before)


@pytest.mark.newer
def test_a_file_in_both_directions_with_a_reader_that_stalls(listener, opener, identity, files):
    publish(listener)
    connect(listener, opener, identity)
    open_channel(listener, opener)
    there, back = made(files, "there", SIZE), made(files, "back", SIZE)
    before = [memory(program) for program in (listener, opener)]
    listener.say(f"k receive 1 {files}/there-received {SIZE // 2} 5")
    opener.say(f"k receive 1 {files}/back-received")
    opener.say(f"k send 1 {there} 2000")
    listener.say(f"k send 1 {back} 2000")
    wait_for_count(listener, "k stalls 1", 1)
    wait_for_count(listener, "k sent 1", 1)
    wait_for_count(opener, "k sent 1", 1)
    # What is on its way counts after the end of the channel, too.
    opener.ask("k close 1", "k closed 1\n")
    wait_for_count(listener, f"k received 1 {SIZE}", 1)
    assert same(there, files / "there-received")
    wait_for_count(opener, "k received 1", 1)
    for program, old in zip((listener, opener), before):
        assert memory(program, "VmHWM") - old < 20_000, "KiB"


def test_ours_sends_to_l2test(peripheral, opener, identity, files, logs, tools):
    """Its frames, which it checks: a number, the length, and 0x7F from then on."""
    size, count = 1_000, SIZE // 1_000
    content = b"".join(struct.pack("<IH", number, size) + b"\x7f" * (size - 6) for number in range(count))
    (files / "frames").write_bytes(content)
    command = [tools("l2test"), "-r", "-i", "hci0", "-V", "le_public", "-P", str(int(PSM, 16)),
               "-I", str(size), "-b", str(size)]  # fmt: skip
    with Program(["stdbuf", "-oL", *command], logs / "l2test-r.txt") as l2test:
        l2test.wait_for("Waiting for connection")
        opener.ask(f"k connect {identity[0]}", "k connected")
        opener.ask(f"k open {PSM}", f"k opened 1 {size}")
        opener.say(f"k send 1 {files}/frames {size}")
        wait_for_count(opener, f"k sent 1 {SIZE}", 1)
        # l2test reads nothing that waits in its socket when the channel ends.
        wait_for_count(l2test, "bytes in", count)
        opener.ask("k close 1", "k closed 1\n")
        l2test.wait_for("Disconnect")
        assert "missmatch" not in l2test.output
        received = sum(int(octets) for octets in re.findall(r"(\d+) bytes in", l2test.output))
        assert received == SIZE, l2test.output[-2000:]


@pytest.mark.newer
def test_l2test_sends_to_ours(listener, identity, files, logs, tools):
    size, count = 1_000, SIZE // 1_000
    publish(listener)
    listener.ask("p1 advertise Channels 180D", "p1 advertises\n")
    # With -s it closes the channel at once, and the kernel drops frames that have no credits.
    command = [tools("l2test"), "-y", "-i", "hci1", "-V", "le_public", "-P", str(int(PSM, 16)),
               "-b", str(size), "-N", str(count), identity[0]]  # fmt: skip
    with Program(command, logs / "l2test-s.txt") as l2test:
        listener.wait_for("k accepted 1")
        received = files / "frames-received"
        received.touch()
        listener.say(f"k receive 1 {received}")
        wait_until(lambda: received.stat().st_size >= SIZE, lambda: f"{received.stat().st_size} octets are received")
        listener.ask("k close 1", "k closed 1\n")
        l2test.wait_for_end()
    sent = [struct.pack("<IH", number, size) + b"\x7f" * (size - 6) for number in range(count)]
    content = received.read_bytes()
    found = [content[place : place + size] for place in range(0, len(content), size)]
    assert sorted(found) == sorted(sent)
    assert found == sent, "the order"


def test_refusals_and_ends(listener, opener, identity, files):
    publish(listener)
    connect(listener, opener, identity)
    assert "SPSM not supported" in opener.ask("k open 0090", "k failed: ")
    open_channel(listener, opener)
    # The other end, with what it has sent before.
    short = made(files, "short", 100_000)
    opener.say(f"k receive 1 {files}/short-received")
    listener.ask(f"k send 1 {short} 700", "k sent 1 100000")
    listener.ask("k close 1", "k closed 1\n")
    opener.wait_for("k received 1 100000")
    listener.ask(f"k withdraw {PSM}", f"k withdrew {PSM}\n")
    assert same(short, files / "short-received")
    assert "SPSM not supported" in opener.ask(f"k open {PSM}", "k failed: ")

    publish(listener, "0081")
    open_channel(listener, opener, "0081", 2)
    listener.say(f"k receive 2 {files}/none")
    with contextlib.closing(Management()) as management:
        management.disconnect(1, identity[0])
    listener.wait_for("k failed: the channel ended with its link")


@pytest.mark.newer
def test_security_that_the_service_demands(listener, opener, identity):
    """The kernel of the opener pairs by itself, and repeats the request."""
    publish(listener, PSM, "encrypted")
    connect(listener, opener, identity)
    open_channel(listener, opener)
