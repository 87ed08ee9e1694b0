#!/usr/bin/env python3
"""Benchmarks/start.py [PROGRAM] [RUNS]

How long the tool needs from its start to its end, beside bluetoothctl (Debian's package bluez): both print their version. Each run of one is
followed by a run of the other, so that both have the same share of the machine. PROGRAM is the tool: that of .cache/release
(scripts/release-products, `make deb`), with the Swift runtime linked statically, unless it is given.
"""

import os
import pathlib
import shutil
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def cost(command):
    """The milliseconds of one run: of the clock, and of the processor."""
    nothing = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    start = time.perf_counter()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=nothing)
    _, status, usage = os.wait4(process, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)} ends with the status {os.waitstatus_to_exitcode(status)}")
    return (time.perf_counter() - start) * 1_000, (usage.ru_utime + usage.ru_stime) * 1_000


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / ".cache/release/release/ble")
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 101
    other = shutil.which("bluetoothctl")
    if other is None:
        sys.exit("bluetoothctl is missing. Run: sudo apt-get install bluez")
    commands = {"ble": [program, "--version"], "bluetoothctl": [other, "--version"]}
    found = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            found[name].append(cost(command))
    middle = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in found.items()}
    print(f"{'--version, median of ' + str(runs):34} {'clock, ms':>12} {'processor, ms':>14}")
    for name, (clock, processor) in middle.items():
        print(f"{name:34} {clock:12.2f} {processor:14.2f}")
    ours, theirs = middle["ble"], middle["bluetoothctl"]
    print(f"{'ratio':34} {ours[0] / theirs[0]:12.2f} {ours[1] / theirs[1]:14.2f}")


main()
