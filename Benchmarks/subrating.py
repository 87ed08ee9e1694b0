#!/usr/bin/env python3
"""Draws what subrating costs and saves, from the lines of link-limit --subrating.

    subrating.py PROGRAM    performs the runs of link-limit, prints them, and draws Docs/Performance/subrating.svg
"""

import subprocess
import sys
from pathlib import Path

PICTURE = Path(__file__).resolve().parent.parent / "Docs/Performance/subrating.svg"
# The columns of the lines: a title, the unit, and by what a number is divided.
COLUMNS = [("empty events in an idle minute", "", 1), ("a read after a pause", " ms", 1000), ("ten reads in a row", " ms", 1000)]
# The line has the longest time of a read, too.
DRAWN = (0, 1, 3)
COLOURS = ("#8a8a8a", "#2f6fb0", "#2f6fb0")
LEFT, BAR, GAP, TOP, ROW = 250, 150, 80, 46, 28


def perform(program):
    """The label and the numbers of each run."""
    output = subprocess.run([*program, "--subrating"], capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in output.splitlines()]
    return [(label, [int(number) for number in numbers]) for label, *numbers in rows]


def picture(rows):
    width, height = LEFT + len(COLUMNS) * (BAR + GAP), TOP + len(rows) * ROW + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12" fill="#333">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for row, (label, _) in enumerate(rows):
        parts.append(f'<text x="{LEFT - 12}" y="{TOP + row * ROW + 14}" text-anchor="end">{label}</text>')
    for column, ((title, unit, divisor), place, colour) in enumerate(zip(COLUMNS, DRAWN, COLOURS)):
        x, greatest = LEFT + column * (BAR + GAP), max(numbers[place] for _, numbers in rows)
        parts.append(f'<text x="{x}" y="{TOP - 18}" font-weight="bold">{title}</text>')
        for row, (_, numbers) in enumerate(rows):
            length, y = max(1, BAR * numbers[place] / greatest), TOP + row * ROW
            parts.append(f'<rect x="{x}" y="{y}" width="{length:.1f}" height="18" fill="{colour}"/>')
            parts.append(f'<text x="{x + length + 6:.1f}" y="{y + 14}">{numbers[place] / divisor:,.0f}{unit}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rows = perform(sys.argv[1:])
    for label, numbers in rows:
        print(label, *numbers, sep="\t")
    PICTURE.write_text(picture(rows))


if __name__ == "__main__":
    main()
