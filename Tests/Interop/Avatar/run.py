"""Runs Avatar's LE suites with our stack as the device under test and Bumble as the other device, on RootCanal.

    python run.py [--all] [--reference] [--jobs N] [--only TEXT] [--folder FOLDER]

Each test has to pass, unless exceptions.txt has its name: that file says what happens instead, and why. A test that passes or fails
against it is an error, and so is an exception that no test uses. No test is repeated; a line `repeat: COMMAND` runs one alone. Without
--all the tests with keys for BR/EDR are left out; --reference tests Bumble instead of our stack, and only prints its results.
"""

import argparse
import collections
import fnmatch
import importlib
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from worker import HERE, MODULES, rootcanal_command

ROOT = HERE.parents[2]
OUTCOMES = {"PASS": "passes", "SKIP": "is skipped", "FAIL": "fails", "ERROR": "fails"}
KEYS_FOR_BR_EDR = "*'ltk_irk_csrk_lk'*"
LEFT_OUT = 77  # the exit status
WATCHDOG = 1200.0  # seconds for all: a worker that has not ended then hangs
WORKERS_OF_HOST = 4  # it has fewer tests


def read_exceptions():
    """Lines of `outcome: pattern: reason`; a line that begins with a space goes on with the reason before it."""
    found = []
    for line in (HERE / "exceptions.txt").read_text().splitlines():
        if line.strip() and not line.startswith(("#", " ")):
            outcome, pattern, reason = (part.strip() for part in line.split(":", 2))
            assert outcome in OUTCOMES.values() and reason, line
            found.append((outcome, pattern))
    return found


def names(case, options):
    tests = getattr(importlib.import_module(MODULES[case]), case)
    found = [name for name in dir(tests) if name.startswith("test_") and (options.only or "") in name]
    # In an order in which each worker gets tests of each kind.
    random.Random(1).shuffle(found)
    return [name for name in found if options.all or not fnmatch.fnmatchcase(name, KEYS_FOR_BR_EDR)]


def start(case, names, folder, is_reference):
    """One worker, which has its tests from a file and its output in another."""
    folder.mkdir(parents=True)
    (folder / "names").write_text("\n".join(names))
    command = [sys.executable, HERE / "worker.py", case, folder / "results", folder]
    with open(folder / "names") as tests, open(folder / "log", "wb") as log:
        return subprocess.Popen(
            command + ["--reference"] * is_reference,
            stdin=tests,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=HERE,
            start_new_session=True,
        )


def run(tests, options, parent, jobs):
    shutil.rmtree(parent, ignore_errors=True)
    workers = {}
    for case, share in tests.items():
        count = min(jobs if case == "LeSecurityTest" else WORKERS_OF_HOST, len(share))
        for number in range(count):
            folder = parent / f"{case}-{number}"
            workers[folder] = start(case, share[number::count], folder, options.reference)
    end = time.monotonic() + WATCHDOG
    for folder, worker in workers.items():
        try:
            worker.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            print(f"{folder.name} has not ended after {WATCHDOG:.0f} s, and is killed with what it has started")
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
    lines = [line for folder in workers for line in read_lines(folder / "results")]
    return {line["name"]: line for line in lines}


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def expected(name, exceptions):
    return next((outcome for outcome, pattern in exceptions if fnmatch.fnmatchcase(name, pattern)), "passes")


def outcome(result):
    return OUTCOMES[result["result"]] if result else "did not run"


def unexpected(tests, results, exceptions):
    """The names of the tests that ended in another way than they should."""
    return [name for share in tests.values() for name in share if outcome(results.get(name)) != expected(name, exceptions)]


def repeat_late(tests, results, exceptions, options):
    """Runs those again, a few at a time, that a limit of time of Avatar's ended: on a busy computer the first run exceeds it."""
    wrong = unexpected(tests, results, exceptions)
    late = {case: [name for name in share if name in wrong and "Timeout" in results.get(name, {}).get("details", "")] for case, share in tests.items()}
    for name in [name for share in late.values() for name in share]:
        print(f"again, because it took longer than Avatar waits: {name}")
    results.update(run(late, options, options.folder.with_name(f"{options.folder.name}-again"), 2))


def unused(tests, exceptions, options):
    """The exceptions that are the first for no test. Without --all, those for keys of BR/EDR have none."""
    used = {
        next((pattern for _, pattern in exceptions if fnmatch.fnmatchcase(name, pattern)), None)
        for share in tests.values()
        for name in share
    }
    patterns = [pattern for _, pattern in exceptions if options.all or KEYS_FOR_BR_EDR.strip("*'") not in pattern]
    return [] if options.only else [pattern for pattern in patterns if pattern not in used]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--jobs", type=int, default=12, help="processes for le_security_test")
    parser.add_argument("--only", help="a part of the tests' names")
    parser.add_argument("--folder", type=Path, default=ROOT / ".cache/avatar")
    options = parser.parse_args()
    try:
        rootcanal_command()
    except pytest.skip.Exception as missing:
        print(f"Avatar was left out: {missing}")
        sys.exit(LEFT_OUT)
    tests = {case: names(case, options) for case in MODULES}
    results = run(tests, options, options.folder, options.jobs)
    if not options.reference:
        repeat_late(tests, results, read_exceptions(), options)
    for case, share in tests.items():
        counts = collections.Counter(results[name]["result"] for name in share if name in results)
        print(f"{case}: {len(share)} tests, " + ", ".join(f"{count} {key}" for key, count in sorted(counts.items())))
    if options.reference:
        for name, result in results.items():
            if result["result"] not in ("PASS", "SKIP"):
                print(f"{result['result']} {name}: {' '.join(result['details'].split())[:300]}")
        return
    exceptions = read_exceptions()
    wrong = unexpected(tests, results, exceptions)
    complaints = [
        f"{name} {outcome(results.get(name))}; expected: {expected(name, exceptions)}. "
        + " ".join(results.get(name, {}).get("details", "").split())[:300]
        for name in wrong
    ]
    complaints += [f"exceptions.txt: no test uses {pattern}" for pattern in unused(tests, exceptions, options)]
    for complaint in complaints:
        print(complaint)
    for name in wrong:
        print(f"repeat: cd Tests/Interop/Avatar && {os.path.relpath(sys.executable)} run.py --all --only {shlex.quote(name)}")
    passed = sum(result["result"] == "PASS" for result in results.values())
    print(f"{passed} of {sum(map(len, tests.values()))} tests of Avatar passed, {len(complaints)} unexpected")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
