"""gatttool on hci1 against reference-peripheral on hci0: one command a link, then a dialogue."""

import re
import subprocess

from conftest import PATTERN
from dialogue import Dialogue
from programs import LIMIT

UUID = "7a3c{}-52d6-4c1e-9b0f-6d1e2f3a4b5c".format


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def values(text):
    """The value handle of each characteristic that gatttool lists."""
    return {
        uuid: int(handle, 16) for handle, uuid in re.findall(r"char value handle = (0x\w+), uuid = (\S+)", text)
    }


def test_gatttool(peripheral, identity, tools):
    tool = [tools("gatttool"), "-i", "hci1", "-b", identity[0]]
    assert UUID("0001") in run(*tool, "--primary")
    handles = values(run(*tool, "--characteristics"))
    long, text = handles[UUID("0002")], handles[UUID("0003")]
    read = run(*tool, "--char-read", "-a", hex(long))
    assert bytes.fromhex(read.split(": ")[1]) == PATTERN
    written = bytes(range(150))
    assert "successfully" in run(*tool, "--char-write-req", "-a", hex(text), "-n", written.hex())
    assert bytes.fromhex(run(*tool, "--char-read", "-a", hex(text)).split(": ")[1]) == written
    assert "2902" in run(*tool, "--char-desc")


def test_updates(peripheral, identity, logs, tools):
    with Dialogue([tools("gatttool"), "-i", "hci1", "-b", identity[0], "-I"], logs / "gatttool.txt") as tool:
        tool.ask("connect", "Connection successful")
        tool.say("characteristics")
        tool.wait_after(UUID("0008"), 0)
        handles = {
            uuid: int(handle, 16) for handle, uuid in re.findall(r"char value handle: (0x\w+), uuid: (\S+)", tool.output)
        }
        for short, bits, order, word in (("0007", "0100", "01", "Notification"), ("0008", "0200", "02", "Indication")):
            handle = handles[UUID(short)]
            tool.ask(f"char-write-req {handle + 1:#06x} {bits}", "written successfully")
            before = len(tool.output)
            # 20 values of 20 octets each.
            tool.say(f"char-write-req {handles[UUID('0006')]:#06x} {order}14001400")
            tool.wait_after("value: 13 00 00 00", before)
            told = re.findall(rf"{word}\s+handle = {handle:#06x} value: (\w\w)", tool.output[before:])
            assert [int(number, 16) for number in told] == list(range(20))
            tool.ask(f"char-write-req {handle + 1:#06x} 0000", "written successfully")
        tool.ask("disconnect", "")
