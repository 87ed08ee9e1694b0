"""Enhanced ATT bearers (Vol 3, Part F, 3.2.11) between our hosts and Bumble's."""

import asyncio
import json

import pytest
from bumble import att, l2cap
from bumble.gatt_client import Client
from central import Central
from our_central import our_central
from programs import HERE, LIMIT, until
from radios import RADIOS, parameters, peripheral
from secured_peripheral import NAME, OPEN, SECRET, VALUES, SecuredPeripheral
from test_security import OPEN as OPEN_INDEX
from test_security import SECRET as SECRET_INDEX
from test_security import Visitor


@pytest.fixture(params=parameters("bumble", "virtual"))
def radio(request, tmp_path):
    with RADIOS[request.param](tmp_path) as radio:
        yield radio
        radio.program.check_alive()


def description(folder, bearers):
    path = folder / "vault.json"
    path.write_text(json.dumps(json.loads((HERE / "vault.json").read_text()) | {"enhanced_bearers": bearers}))
    return path


async def bearers(connection, count):
    found = await asyncio.wait_for(Client.connect_eatt(connection, count=count), LIMIT)
    return found if isinstance(found, list) else [found]


async def test_our_server_serves_several_bearers(radio, tmp_path):
    with peripheral(radio.transport, description(tmp_path, 3), tmp_path) as program:
        program.wait_for("READY")
        async with Central(radio.transport) as central:
            visitor = Visitor(central)
            await visitor.connect()
            connection = visitor.link.connection

            # Without encryption there are none.
            with pytest.raises(Exception):
                await bearers(connection, 1)
            await visitor.pair()

            clients = await bearers(connection, 3)
            handles = [visitor.handles[OPEN_INDEX], visitor.handles[SECRET_INDEX]]
            reads = [client.read_value(handle) for client in clients for handle in handles[:1]]
            assert await asyncio.wait_for(asyncio.gather(*reads), LIMIT) == [b"open"] * 3
            assert await visitor.read(SECRET_INDEX) == b"\x0bsecret", "the first bearer goes on"

            # What one bearer writes, the others read.
            await asyncio.wait_for(clients[0].write_value(handles[1], b"new", with_response=True), LIMIT)
            assert await asyncio.wait_for(clients[1].read_value(handles[1]), LIMIT) == b"new"

            # One that ends takes no other along.
            await asyncio.wait_for(clients[0].bearer.disconnect(), LIMIT)
            assert await asyncio.wait_for(clients[2].read_value(handles[1]), LIMIT) == b"new"
            assert await visitor.read(SECRET_INDEX) == b"\x0bnew"
        program.check_alive()


async def test_our_server_has_none_by_default(radio, tmp_path):
    with peripheral(radio.transport, HERE / "vault.json", tmp_path) as program:
        program.wait_for("READY")
        async with Central(radio.transport) as central:
            visitor = Visitor(central)
            await visitor.connect()
            await visitor.pair()
            with pytest.raises(Exception):
                await bearers(visitor.link.connection, 1)
            assert await visitor.read(SECRET_INDEX) == b"\x0bsecret"


class Requests:
    """The requests of a client, and the bearers on which they come.

    Once `is_holding`, the next one waits for another one, which comes on another bearer.
    """

    def __init__(self, device):
        self.served, self.held, self.is_holding = [], [], False
        self.on_pdu = device.gatt_server.on_gatt_pdu
        device.gatt_server.on_gatt_pdu = self.receive

    def receive(self, bearer, pdu):
        self.served.append((bearer, pdu))
        self.held.append((bearer, pdu))
        # A bearer has one request at a time (Vol 3, Part F, 3.3.2): two that wait are on two bearers.
        if self.is_holding and len(self.held) < 2:
            return
        self.is_holding = False
        held, self.held = self.held, []
        for one in held:
            self.on_pdu(*one)


@pytest.mark.parametrize("has_eatt", [True, False], ids=["with", "without"])
async def test_our_client_uses_bearers_where_there_are_some(radio, tmp_path, has_eatt):
    async with SecuredPeripheral(radio.transport, eatt=has_eatt) as there:
        requests = Requests(there.device)
        with our_central(radio, tmp_path, "--enhanced-bearers", "3") as central:
            await central.connect(NAME)
            assert await central.read(SECRET) == VALUES[SECRET].hex()

            def channels():
                connection = next(iter(there.device.connections.values()))
                return there.device.l2cap_channel_manager.le_coc_channels.get(connection.handle, {})

            if has_eatt:
                await until(lambda: len(channels()) == 3, lambda: f"3 bearers expected: {channels()}")
            # The response to this read comes after the one that opens the bearers.
            assert await central.read(SECRET) == VALUES[SECRET].hex()
            requests.is_holding = has_eatt
            for _ in range(4):
                central.do(f"read {OPEN}")
                central.do(f"read {SECRET}")
            for _ in range(8):
                await central.wait_for("value")
            assert len(channels()) == (3 if has_eatt else 0)
            enhanced = [pdu for bearer, pdu in requests.served if isinstance(bearer, l2cap.LeCreditBasedChannel)]
            assert bool(enhanced) == has_eatt
            assert all(isinstance(pdu, att.ATT_Read_Request) for pdu in enhanced)
