import asyncio
import contextlib
import importlib.util
import inspect
import json
import os
import shlex
import shutil
import signal
import subprocess

import pytest
from central import Central
from programs import HERE, LIMIT, Program, products
from radios import RADIOS, parameters, peripheral

# A shell ignores SIGINT in what it runs in the background, and programs inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Home Assistant's parts are in an environment of their own (scripts/test proxy).
PROXY_TESTS = ["test_erring_proxy.py", "test_proxy.py", "test_proxy_killed.py"]
collect_ignore = [] if importlib.util.find_spec("aioesphomeapi") else PROXY_TESTS

# The fixtures whose tests run one after the other in one process, for each module and radio.
SHARED = ("air", "client", "paced", "radio", "station")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs `async def` tests, each in an event loop of its own and within the limit."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    named = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**named), LIMIT))
    return True


# The order, and the processes that the tests run in


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """The folder of the programs is looked up once, for all processes."""
    os.environ["BLE_PRODUCTS"] = str(products())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    for item in items:
        shared = [
            name
            for name, definitions in item._fixtureinfo.name2fixturedefs.items()
            if name in SHARED and definitions[-1].scope != "function"
        ]
        if shared:
            parameters = getattr(item, "callspec", None)
            radio = parameters.params.get("radio", "") if parameters else ""
            item.add_marker(pytest.mark.xdist_group(f"{item.path.stem} {radio}"))
    # The sort is stable: otherwise the order stays random.
    items.sort(key=lambda item: item.get_closest_marker("early") is None)


# Failures


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed test shows the last lines of its programs."""
    report = yield
    if report.failed:
        for program in Program.started:
            report.sections.append((" ".join(map(os.path.basename, program.command[:3])), program.output[-1500:]))
    if call.when == "teardown":
        Program.started[:] = [program for program in Program.started if program.process.poll() is None]
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter, config):
    """After everything else: how to repeat each failed test alone."""
    yield
    failed = [report.nodeid for kind in ("failed", "error") for report in terminalreporter.stats.get(kind, [])]
    if not failed:
        return
    terminalreporter.section("to repeat a failed test alone", yellow=True)
    for name in dict.fromkeys(map(without_group, failed)):
        again = f"-m '' -n 0 -p no:randomly {shlex.quote(name)}"
        terminalreporter.write_line(f"repeat: cd Tests/Interop && ../../.cache/python/bin/python -m pytest {again}")
    if seed := getattr(config.option, "randomly_seed", None):
        terminalreporter.write_line(f"The order of this run: --randomly-seed={seed}")


def without_group(name):
    """The name of a test without the group that xdist adds to it."""
    return name.rsplit("@", 1)[0] if name.rfind("@") > name.rfind("]") else name


# The place of bonds and of other files that programs keep: without it the folder of the user, which all tests and all runs share


@pytest.fixture(scope="session", autouse=True)
def state_of_the_session(tmp_path_factory):
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
    os.environ.pop("STATE_DIRECTORY", None)


@pytest.fixture(autouse=True)
def state(state_of_the_session, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


# The radio and the station


@pytest.fixture(scope="session", params=parameters(*RADIOS))
def radio(request, tmp_path_factory):
    with RADIOS[request.param](tmp_path_factory.mktemp(request.param)) as radio:
        yield radio
        radio.program.check_alive()


class Station:
    """The weather station of weather.json: our peripheral on one of the radios."""

    def __init__(self, radio, description):
        self.radio, self.description = radio, description
        self.name = description["name"]
        self.services = None

    def central(self):
        return Central(self.radio.transport)

    @contextlib.asynccontextmanager
    async def link(self):
        """A fresh link of a fresh central, with the database discovered once for all tests."""
        async with self.central() as central:
            link = await central.connect(self.name)
            if self.services is None:
                self.services = await link.discover()
            yield link

    def characteristic(self, short, nth=0):
        """The nth characteristic whose UUID begins (as written) with 7a3c followed by `short`, or is `short`."""
        text = f"7a3c{short}-52d6-4c1e-9b0f-6d1e2f3a4b5c" if short.startswith("0") else short
        wanted = bytes.fromhex(text.replace("-", ""))[::-1]
        found = [c for s in self.services for c in s.characteristics if c.uuid == wanted]
        return found[nth]

    def cccd(self, short):
        return self.characteristic(short).descriptors[b"\x02\x29"]


@pytest.fixture(scope="session")
def station(radio, tmp_path_factory):
    path = HERE / "weather.json"
    with peripheral(radio.transport, path, tmp_path_factory.mktemp("station")) as program:
        program.wait_for("READY")
        station = Station(radio, json.loads(path.read_text()))
        station.program = program
        yield station
        program.check_alive()


@pytest.fixture(autouse=True)
def still_running(request):
    """Whatever a test does, the peripheral is there afterwards."""
    yield
    if "station" in request.fixturenames:
        request.getfixturevalue("station").program.check_alive()


@pytest.fixture(scope="session")
def preloaded(tmp_path_factory):
    """Compiles a library of faults/, for LD_PRELOAD, with the compiler of this computer, or CC where the programs are for another processor;
    gives its path.
    """

    def compiled(name):
        compiler = shlex.split(os.environ.get("CC", "")) or [found for found in map(shutil.which, ("cc", "clang")) if found][:1]
        if not compiler:
            pytest.skip("there is no C compiler")
        built = tmp_path_factory.mktemp("faults") / f"{name}.so"
        command = [*compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", built, HERE / f"faults/{name}.c", "-ldl", "-lpthread"]
        subprocess.run(command, check=True, timeout=LIMIT)
        return built

    return compiled
