"""The faults of other programs because of which a test may be repeated, from a file with a section for each: its name, whose fault it is
(`program`), the regular expression of its message (`message`), and why the fault is not ours (`reason`)."""

import configparser
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class KnownFault:
    name: str
    program: str
    message: re.Pattern
    reason: str

    def __str__(self):
        return f"{self.program}: {self.name}"


class KnownFaults:
    def __init__(self, path):
        parser = configparser.ConfigParser(interpolation=None, delimiters=("=",))
        parser.read_string(path.read_text())
        self.faults = [
            KnownFault(name, section["program"], re.compile(section["message"]), section["reason"])
            for name, section in parser.items()
            if name != parser.default_section
        ]

    def __iter__(self):
        return iter(self.faults)

    def matching(self, message):
        """The fault that the message of a failure names, or None."""
        return next((fault for fault in self if fault.message.search(message)), None)

    def named(self, name):
        return next(fault for fault in self if fault.name == name)
