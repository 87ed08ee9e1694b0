"""What `ble` shows on a terminal of 80 or 50 columns, captured with tmux."""

import contextlib
import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
import unicodedata
from pathlib import Path

import pytest
from programs import LIMIT, Program, product, wait_until
from radios import ours
from test_ble_tool import run

NUMBERS = itertools.count()

INSPECTED = """\
ADDRESS (public), ATT_MTU 517
├─ Generic Access (1800)
│  ├─ Device Name (2A00)  [read]  0x0003
│  │    "Thermometer"
│  ├─ Appearance (2A01)  [read]  0x0005
│  │    Generic Thermometer
│  └─ Central Address Resolution (2AA6)  [read]  0x0007
│       resolution is supported
├─ Generic Attribute (1801)
│  ├─ Service Changed (2A05)  [indicate]  0x000A
│  │  · Client Characteristic Configuration (2902): indications
│  ├─ Client Supported Features (2B29)  [read, write]  0x000D
│  │    client features: none
│  └─ Database Hash (2B2A)  [read]  0x000F
│       HASH
├─ Environmental Sensing (181A)
│  ├─ Temperature (2A6E)  [read, notify]  0x0012
│  │    21.50 °C
│  │  · Client Characteristic Configuration (2902): off
│  │  · Characteristic User Description (2901): "Room temperature"
│  └─ String (2A3D)  [read, write]  0x0016
│       "kitchen"
└─ Battery (180F)
   └─ Battery Level (2A19)  [read, notify]  0x0019
        100 %
      · Client Characteristic Configuration (2902): off"""

NARROW_SERVICE = """\
├─ Environmental Sensing (181A)
│  ├─ Temperature (2A6E)
│  │    [read, notify]  0x0012
│  │    21.50 °C
│  │  · Client Characteristic
│  │    Configuration (2902):
│  │    off
│  │  · Characteristic User Description
│  │    (2901):
│  │    "Room temperature"
│  └─ String (2A3D)
│       [read, write]  0x0016
│       "kitchen"
"""

# The last reads and notifications of the demonstration; continuation lines are indented below the text.
LOGGED = """\
   TIME < ATT   Read Request: 0x0015 Body Sensor Location
   TIME > ATT   Read Response: chest
   TIME < ATT   Find Information Request: 0x0013-0x0013
   TIME > ATT   Find Information Response: 0x0013 Client Characteristic
                    Configuration
   TIME < ATT   Write Request: 0x0013 Client Characteristic Configuration =
                    notifications
   TIME > ATT   Write Response
   TIME > ATT   Handle Value Notification: 0x0012 Heart Rate Measurement =
                    71 bpm, skin contact"""


class Screen:
    """A terminal in which a command of the tool runs."""

    def __init__(self, *words, rows=24, columns=80):
        assert shutil.which("tmux"), "tmux is missing: make test installs it"
        self.name = f"ble-{next(NUMBERS)}-{time.monotonic_ns()}"
        command = shlex.join([*product("ble"), *map(str, words)])
        # The screen stays when the command has ended.
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), f"{command}; echo ENDED; sleep 600")

    def tmux(self, *words):
        return subprocess.run(["tmux", "-u", "-L", self.name, *words], capture_output=True, text=True, timeout=LIMIT, check=True).stdout

    def wait_for(self, text):
        """The screen once it shows a text, without spaces at the ends of its lines."""
        wait_until(lambda: text in self.shown(), lambda: f"{text!r} is not on the screen:\n{self.shown()}")
        return self.shown()

    def shown(self):
        return "\n".join(line.rstrip() for line in self.tmux("capture-pane", "-p").splitlines()).rstrip()

    def resize(self, columns, rows=24):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def interrupt(self):
        """Interrupts the command, and not the shell that shows that it has ended."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        [command] = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        os.kill(int(command), signal.SIGINT)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.tmux("kill-server")


@pytest.fixture
def air(tmp_path):
    with ours("screens", tmp_path) as radio:
        description = tmp_path / "thermometer.json"
        description.write_text(run("serve", "--example"))
        command = [*product("ble"), "serve", description, "--transport", radio.transport]
        with Program(command, tmp_path / "serve.log") as program:
            program.wait_for("READY")
            yield radio


def without_address(text):
    return re.sub(r"(?:[0-9A-F]{2}:){5}[0-9A-F]{2}(?:-(?:random|public))?", "ADDRESS", text)


def test_scan_draws_a_table_that_stays_in_its_place(air):
    table = (
        "RSSI  ADDRESS                   NAME              CONTENT\n"
        " -50  ADDRESS  Thermometer       Environmental Sensing, Battery"
    )
    with Screen("scan", "--transport", air.transport) as screen:
        assert without_address(screen.wait_for("Environmental Sensing")) == table
        screen.interrupt()
        # Each refresh draws over the one before.
        assert without_address(screen.wait_for("ENDED")) == table + "\nENDED"


NAMES = ["温度計", "Cafe\u0301", "Plain"]
WIDE_TABLE = """\
RSSI  ADDRESS                   NAME              CONTENT
 -50  ADDRESS  温度計            Environmental Sensing, Battery
 -50  ADDRESS  Cafe\u0301              Environmental Sensing, Battery
 -50  ADDRESS  Plain             Environmental Sensing, Battery"""
NARROW_TABLE = """\
RSSI  ADDRESS                   NAME
 -50  ADDRESS  温度計
      Environmental Sensing, Battery
 -50  ADDRESS  Cafe\u0301
      Environmental Sensing, Battery
 -50  ADDRESS  Plain
      Environmental Sensing, Battery"""


@pytest.fixture
def named(tmp_path):
    """A radio with a thermometer of each name."""
    with ours("names", tmp_path) as radio, contextlib.ExitStack() as stack:
        for number, name in enumerate(NAMES):
            description = tmp_path / f"{number}.json"
            description.write_text(run("serve", "--example").replace("Thermometer", name))
            command = [*product("ble"), "serve", description, "--transport", radio.transport]
            program = stack.enter_context(Program(command, tmp_path / f"{number}.log"))
            program.wait_for("READY")
        yield radio


def in_order(shown):
    """The devices have one strength, so that their order is by chance: the lines by the name that is above or in them."""
    head, *lines = without_address(shown).splitlines()
    devices = re.findall(r"(?m)^ -50 .*\n(?:      .*\n)*", "\n".join(lines) + "\n")
    assert "".join(devices) == "\n".join(lines) + "\n", shown
    return "\n".join([head, "".join(sorted(devices, key=lambda text: next(n for n, name in enumerate(NAMES) if name in text)))]).rstrip()


def has_all(screen):
    return wait_until(
        lambda: shown if all(name in (shown := screen.shown()) for name in NAMES) else None,
        lambda: f"a device is missing:\n{screen.shown()}",
    )


def positions(shown):
    """The column at which the content of each device begins, wide characters counted twice and combining ones not at all."""

    def columns(text):
        return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)

    return {columns(line.split("Environmental")[0]) for line in shown.splitlines() if "Environmental" in line}


@pytest.mark.parametrize("columns, table, position", [(80, WIDE_TABLE, 50), (50, NARROW_TABLE, 6)])
def test_scan_keeps_its_columns_with_wide_and_combining_characters(columns, table, position, named):
    with Screen("scan", "--transport", named.transport, columns=columns) as screen:
        shown = has_all(screen)
        assert in_order(shown) == table and positions(shown) == {position}
        screen.interrupt()
        # What the terminal showed before is there again, with the table below it.
        ended = screen.wait_for("ENDED").removesuffix("\nENDED")
        assert in_order(ended) == table and positions(ended) == {position}


def test_scan_draws_its_table_anew_in_a_window_of_another_size(named):
    with Screen("scan", "--transport", named.transport) as screen:
        has_all(screen)
        for columns, rows, table in ((50, 24, NARROW_TABLE), (80, 24, WIDE_TABLE)):
            screen.resize(columns, rows)
            wait_until(lambda: in_order_or_none(screen.shown()) == table, lambda: f"{columns} columns:\n{screen.shown()}")
        # Three lines: the head, a device, and the number of the others.
        screen.resize(80, 3)
        wait_until(lambda: screen.shown().endswith("… 2 more, with weaker signals"), lambda: screen.shown())
        assert len(screen.shown().splitlines()) == 3
        screen.resize(80, 24)
        screen.interrupt()
        assert in_order(screen.wait_for("ENDED").removesuffix("\nENDED")) == WIDE_TABLE


def in_order_or_none(shown):
    """Nil while the window has another size than the table."""
    try:
        return in_order(shown)
    except (AssertionError, StopIteration):
        return None


def test_a_second_interruption_leaves_the_terminal_as_it_was(named):
    with Screen("scan", "--transport", named.transport) as screen:
        has_all(screen)
        screen.interrupt()
        with contextlib.suppress(ValueError, ProcessLookupError):  # it may have ended already
            screen.interrupt()
        screen.wait_for("ENDED")
        assert screen.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{wrap_flag}").split() == ["0", "1", "1"]


def test_inspect_draws_the_services_as_a_tree(air):
    with Screen("inspect", "Thermometer", "--transport", air.transport, rows=40) as screen:
        shown = without_address(screen.wait_for("ENDED"))
        assert re.sub(r"(?:[0-9a-f]{2} ){15}[0-9a-f]{2}", "HASH", shown) == INSPECTED + "\nENDED"


def test_inspect_keeps_its_tree_at_40_columns(air):
    with Screen("inspect", "Thermometer", "--transport", air.transport, rows=60, columns=40) as screen:
        shown = without_address(screen.wait_for("ENDED"))
        assert max(map(len, shown.splitlines())) <= 40
        service = shown[shown.index("├─ Environmental") : shown.index("└─ Battery")]
        assert service == NARROW_SERVICE


def test_scan_says_that_it_has_seen_nothing(tmp_path):
    with ours("empty", tmp_path) as radio, Screen("scan", "--transport", radio.transport) as screen:
        assert "RSSI  ADDRESS" in screen.wait_for("scanning: no device so far")
        screen.interrupt()
        assert screen.wait_for("ENDED").startswith("ble: no device was found in ")


def test_log_wraps_its_lines(tmp_path):
    run("demo", cwd=tmp_path)
    with Screen("log", tmp_path / "demo.btsnoop", rows=200) as screen:
        shown = re.sub(r"\d+\.\d{6}", "TIME", screen.wait_for("ENDED"))
        assert LOGGED in shown
        assert max(map(len, shown.splitlines())) <= 80
