"""Draws the cycles of test_proxy_killed.py: the free slots, the descriptors and the memory of the proxy before each.

    python proxy_plot.py FILE ... > proxy.svg      (matplotlib, as Tests/Soak has it)
"""

import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

COLOURS = {"client": "tab:blue", "device": "tab:green", "radio": "tab:orange", "proxy": "tab:red"}


def main():
    rows = [line.split() for file in sys.argv[1:] for line in open(file)]
    plots, axes = plt.subplots(3, 1, sharex=True, figsize=(9, 6), layout="constrained")
    for victim, colour in COLOURS.items():
        # What was killed in the cycle before.
        chosen = [number for number in range(1, len(rows)) if rows[number - 1][1] == victim]
        for axis, column, scale in zip(axes, (3, 4, 5), (1, 1, 1024)):
            axis.plot(chosen, [int(rows[number][column]) / scale for number in chosen], ".", color=colour, label=f"{victim} killed")
    for axis, title in zip(axes, ("free slots", "descriptors", "resident memory, MB")):
        axis.set_title(title, loc="left", fontsize=10)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    axes[0].legend(ncols=4, fontsize=8, loc="lower right")
    axes[-1].set_xlabel("cycle")
    plots.savefig(sys.stdout, metadata={"Date": None})


main()
