"""What is repeated in this run, because of which known fault; known-faults.ini has them."""

import collections
import os
from pathlib import Path

from known_faults import KnownFaults

FAULTS = KnownFaults(Path(__file__).with_name("known-faults.ini"))
# The tests in which something was repeated, by the fault, with the messages.
REPEATED = collections.defaultdict(list)


def message_of(failure):
    return f"{type(failure).__name__}: {failure}"


def allowed(message, test=None):
    """Whether a known fault has this message. The caller repeats what failed then: the repetition is counted here."""
    fault = FAULTS.matching(message)
    if fault:
        test = test or os.environ.get("PYTEST_CURRENT_TEST", "").split("::")[-1].split(" ")[0]
        REPEATED[fault].append((test, message))
    return fault is not None


def lines():
    """For the end of a run."""
    for fault, cases in REPEATED.items():
        tests = ", ".join(sorted({test for test, _ in cases}))
        yield f"repetitions because of {fault}: {len(cases)}, in {tests}"


def count():
    return sum(map(len, REPEATED.values()))
