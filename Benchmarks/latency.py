"""Draws the latency of the H4 benchmark: latency.py LATENCY.tsv FILE.svg.

Each line of the file is a situation, a kind of program, and median, 99th percentile and maximum in microseconds of both directions.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

# The same input gives the same file.
matplotlib.rcParams["svg.hashsalt"] = "latency"
matplotlib.rcParams["svg.fonttype"] = "none"

DIRECTIONS = (("from the packet to the handler", 2), ("from the call to the packet", 5))


def main() -> None:
    rows = [line.split("\t") for line in Path(sys.argv[1]).read_text().splitlines()]
    situations, programs = list(dict.fromkeys(row[0] for row in rows)), list(dict.fromkeys(row[1] for row in rows))
    figure, panels = plt.subplots(1, len(DIRECTIONS), figsize=(8.4, 3.6), sharey=True, layout="constrained")
    for axes, (title, column) in zip(panels, DIRECTIONS):
        for number, program in enumerate(programs):
            values = [row for row in rows if row[1] == program]
            xs = [situations.index(row[0]) + (number - (len(programs) - 1) / 2) * 0.18 for row in values]
            medians, high = ([float(row[column + offset]) for row in values] for offset in (0, 1))
            color = f"C{number}"
            axes.vlines(xs, medians, high, color=color, linewidth=1.2)
            axes.plot(xs, medians, "o", markersize=4, color=color, label=program)
            axes.plot(xs, high, "_", markersize=7, color=color)
        axes.set_xticks(range(len(situations)), situations, fontsize=9)
        axes.set_title(title, fontsize=10)
        axes.grid(True, axis="y", linewidth=0.4, alpha=0.6)
    panels[0].set_ylabel("microseconds: median and 99 %")
    panels[0].set_ylim(0, panels[0].get_ylim()[1])
    panels[1].legend(frameon=False, fontsize=8, loc="upper right")
    figure.savefig(sys.argv[2], metadata={"Date": None})


if __name__ == "__main__":
    main()
