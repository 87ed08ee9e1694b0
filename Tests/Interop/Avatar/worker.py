"""Runs tests of one class of Avatar on a RootCanal of its own, and writes each test's result as a line of JSON.

    python worker.py CLASS RESULTS FOLDER [--reference] < names of tests

The device under test is our stack behind pandora_server.py; with --reference it is Bumble, as is the other device in both
cases.
"""

import argparse
import asyncio
import importlib
import json
import logging
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bumble.pandora.security import SecurityService  # noqa: E402
from mobly import config_parser, signals, test_runner  # noqa: E402
from programs import LIMIT, Program, product, python  # noqa: E402
from radios import rootcanal, rootcanal_command  # noqa: E402, F401

HERE = Path(__file__).resolve().parent
MODULES = {"LeHostTest": "avatar.cases.le_host_test", "LeSecurityTest": "avatar.cases.le_security_test"}


class PatientAsyncio:
    """asyncio for a module of Avatar, whose waits of 15 s have the limit of every other test: no rule says 15 s, and a loaded computer
    takes longer now and then."""

    def __getattr__(self, name):
        return getattr(asyncio, name)

    @staticmethod
    async def wait_for(awaitable, timeout):
        return await asyncio.wait_for(awaitable, LIMIT)


def mark_waiting(path):
    """Makes the file when Bumble waits for the security of a link, and sees a Security Request."""
    wait_security = SecurityService.WaitSecurity

    async def marking(service, request, context):
        waiting = asyncio.ensure_future(wait_security(service, request, context))
        # It runs to the end of its preparations.
        await asyncio.sleep(0)
        path.touch()
        return await waiting

    SecurityService.WaitSecurity = marking


def configuration(folder, controllers):
    config = config_parser.TestRunConfig()
    config.testbed_name = config.test_bed_name = "avatar"
    config.log_path = str(folder / "mobly")
    config.controller_configs = controllers
    config.user_params = {
        "order_PandoraDevice": 0,
        "order_BumbleDevice": 1,
        "scan_timeout": LIMIT,
    }
    return config


def run(case, names, radio, folder, is_reference, results):
    transport = {"transport": radio.transport}
    if is_reference:
        run_tests(case, names, folder, {"BumbleDevice": [dict(transport), dict(transport)]}, results)
        return
    mark_waiting(folder / "waits-for-security")
    command = python(HERE / "pandora_server.py", radio.transport, folder, *product("avatar-agent"))
    with Program(command, folder / "server.log") as server:
        port = server.wait_for("READY").split()[1]
        pandora = {"grpc_target": f"localhost:{port}", "name": "bluetoothle"}
        run_tests(case, names, folder, {"PandoraDevice": [pandora], "BumbleDevice": [transport]}, results)


def run_tests(case, names, folder, controllers, results):
    class Recorded(case):
        """Writes a result as soon as a test ends, so that a run which is killed tells what it had."""

        def _write(self, record):
            with open(results, "a") as file:
                end = record.termination_signal
                details = f"{end.type}: {end.details}"[:2000] if end else ""
                line = {"name": record.test_name, "result": record.result, "details": details}
                line["seconds"] = (record.end_time - record.begin_time) / 1000
                file.write(json.dumps(line) + "\n")

        def exec_one_test(self, test_name, test_method, record=None):
            record = super().exec_one_test(test_name, test_method, record)
            self._write(record)
            return record

    Recorded.__name__ = case.__name__
    config = configuration(folder, controllers)
    runner = test_runner.TestRunner(config.log_path, config.testbed_name)
    with runner.mobly_logger(console_level=logging.ERROR):
        runner.add_test_class(config, Recorded, names)
        try:
            runner.run()
        except signals.TestAbortAll as error:
            print(f"aborted: {error}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=MODULES)
    parser.add_argument("results", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reference", action="store_true")
    options = parser.parse_args()
    names = sys.stdin.read().split("\n")
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("BLE_BONDS", str(folder / "bonds.json"))
    module = importlib.import_module(MODULES[options.case])
    module.asyncio = PatientAsyncio()
    case = getattr(module, options.case)
    with rootcanal("rootcanal", folder) as radio:
        run(case, [name for name in names if name], radio, folder, options.reference, options.results.resolve())


if __name__ == "__main__":
    main()
