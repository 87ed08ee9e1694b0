"""Draws the growth curves of the H4 benchmark: curves.py CURVES.tsv FOLDER.

Each line of the file is a curve, a line in it, the number of attributes, links or devices, and the instructions of one operation, or its
processor time in nanoseconds.
"""

import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

# The same input gives the same file.
matplotlib.rcParams["svg.hashsalt"] = "curves"
matplotlib.rcParams["svg.fonttype"] = "none"

CURVES = {
    "attributes": ("A read, by the attributes of the database", "attributes", "instructions"),
    "links": ("A read, by the links that are up", "links", "instructions"),
    "traffic": ("A value, by the links, all of which carry traffic", "links", "nanoseconds"),
    "devices": ("An advertising report, by the devices that advertise", "devices", "nanoseconds"),
}


def main() -> None:
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    lines: dict[str, dict[str, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    for row in source.read_text().splitlines():
        curve, label, x, instructions = row.split("\t")
        lines[curve][label].append((int(x), int(instructions)))
    folder.mkdir(parents=True, exist_ok=True)
    for curve, (title, unit, cost) in CURVES.items():
        figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
        highest = 0
        for label, points in lines[curve].items():
            xs, ys = zip(*sorted(points))
            axes.plot(xs, ys, marker="o", markersize=3.5, linewidth=1.4, label=label)
            highest = max(highest, *ys)
        axes.set_xscale("log")
        axes.set_ylim(0, highest * 1.15)
        axes.set_title(title, fontsize=11)
        axes.set_xlabel(unit)
        axes.set_ylabel(cost)
        axes.grid(True, linewidth=0.4, alpha=0.6)
        axes.legend(frameon=False, fontsize=9)
        figure.savefig(folder / f"{curve}.svg", metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
