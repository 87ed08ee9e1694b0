import asyncio
import contextlib
import inspect
import json

import pytest
from central import Central
from programs import HERE
from radios import RADIOS, peripheral

DEFAULT_LIMIT = 60.0


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs `async def` tests, each in an event loop of its own and within its time limit."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    marker = pyfuncitem.get_closest_marker("limit")
    limit = marker.args[0] if marker else DEFAULT_LIMIT
    named = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**named), limit))
    return True


def radio_parameters():
    return [
        pytest.param(name, marks=pytest.mark.rootcanal) if name == "rootcanal" else pytest.param(name)
        for name in RADIOS
    ]


@pytest.fixture(scope="session", params=radio_parameters())
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
