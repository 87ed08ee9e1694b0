"""The programs of Tests/Programs in the style of the field: each has two sides, whose payloads are files."""

import random

from apple_programs import AppleProgram

# What serial-bridge sends at a subscription and after hello.
BANNER = b"".join(b"boot %d\r\n" % number for number in range(200))
READY = b"ready\r\n"
SERVICE = "3F0D0001-4B1D-4E0C-9C35-6B2D7A1F0C11"


def payload(length):
    """Octets that are the same in each run, and of which no part comes twice."""
    return random.Random(length).randbytes(length)


class Sides:
    """The sides of a program on one radio. Each has a folder of its own, with its bonds and user defaults, for all its starts.

    `transport` is for all sides, or has one for each.
    """

    def __init__(self, name, transport, folder, *sides):
        self.name, self.folder = name, folder
        self.transports = transport if isinstance(transport, dict) else dict.fromkeys(sides, transport)
        self.starts = dict.fromkeys(sides, 0)
        for side in sides:
            (folder / side).mkdir()

    def file(self, name, length):
        path = self.folder / name
        path.write_bytes(payload(length))
        return path

    def start(self, side, *words):
        """Starts a side, the first time or once more."""
        self.starts[side] += 1
        folder = self.folder / side
        logs = folder / f"start-{self.starts[side]}"
        logs.mkdir()
        return AppleProgram(self.name, self.transports[side], folder, *map(str, words), logs=logs)
