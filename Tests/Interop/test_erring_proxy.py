"""`ble proxy` with Home Assistant's client ends on SIGTERM within two seconds, whatever its controller never completes.

The time of each end is printed (test_erring_controller.py).
"""

import asyncio
import contextlib

import pytest
from aioesphomeapi import APIConnectionError
from home import api
from programs import until
from test_erring_controller import NEVER, ends, relay, silence
from test_proxy import Proxy, address, lamp, radio

pytestmark = pytest.mark.proxy
__all__ = ["ends", "radio"]


@pytest.mark.parametrize("name", NEVER)
async def test_a_proxy(name, radio, tmp_path, ends):
    radio.port = radio.transport.rsplit(":", 1)[1]
    async with lamp(radio) as device:
        with relay(radio, tmp_path, *NEVER[name]) as erring, Proxy(erring, tmp_path) as proxy:
            client, links = api(proxy), []
            await client.connect(login=True)
            connecting = asyncio.create_task(
                client.bluetooth_device_connect(
                    address(device), lambda *state: links.append(state), feature_flags=0xFF, has_cache=False, address_type=1
                )
            )
            if name.startswith("connect"):
                await until(lambda: "accepted" in erring.program.output, lambda: proxy.output)
            else:
                await until(lambda: links, lambda: proxy.output)
                assert links[0][0], "the link is up"
            silence(name, erring)
            await asyncio.to_thread(ends, proxy, 143)
            with contextlib.suppress(APIConnectionError):
                await connecting
            with contextlib.suppress(APIConnectionError):
                await client.disconnect()
