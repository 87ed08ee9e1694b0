"""What Home Assistant has of a Bluetooth proxy: the client of ESPHome's native API (aioesphomeapi), its backend of Bleak (bleak-esphome)
and the manager that chooses a proxy for each connection (habluetooth)."""

import asyncio
import contextlib

import bleak
import habluetooth
from aioesphomeapi import APIClient
from bleak_esphome import connect_scanner
from bluetooth_adapters import BluetoothAdapters
from habluetooth.central_manager import CentralBluetoothManager
from habluetooth.usage import uninstall_multiple_bleak_catcher
from programs import LIMIT, until


class NoAdapters(BluetoothAdapters):
    """This computer has no adapter of its own."""

    adapters = {}
    default_adapter = "none"


def api(proxy, key=None):
    return APIClient("127.0.0.1", proxy.port, None, noise_psk=proxy.key if key is None else key, client_info="home")


class Home:
    """Programs that use `bleak` unchanged reach all proxies through the manager."""

    async def __aenter__(self):
        CentralBluetoothManager.manager = None
        self.manager = habluetooth.BluetoothManager(NoAdapters())
        habluetooth.set_manager(self.manager)
        await self.manager.async_setup()
        self.stack = contextlib.AsyncExitStack()
        return self

    async def __aexit__(self, *failure):
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.stack.aclose(), LIMIT)
        self.manager.async_stop()
        uninstall_multiple_bleak_catcher()
        CentralBluetoothManager.manager = None

    async def add(self, proxy):
        """Connects to a proxy; gives its client and what bleak-esphome has of it."""
        client = api(proxy)

        async def ended(expected):
            data.bluetooth_device.async_set_unavailable()
            for callback in list(data.disconnect_callbacks):
                callback()

        await client.connect(on_stop=ended, login=True)
        self.stack.push_async_callback(client.disconnect)
        data = connect_scanner(client, await client.device_info(), True)
        data.client = client
        self.stack.callback(data.scanner.async_setup())
        self.stack.callback(self.manager.async_register_scanner(data.scanner))
        await until(lambda: data.bluetooth_device.ble_connections_limit, "the proxy reports no slots")
        return data

    async def find(self, name):
        return await until(
            lambda: next((d for d in self.manager.async_discovered_devices(True) if d.name == name), None),
            lambda: f"{name} is not found among {self.manager.async_discovered_devices(True)}",
        )

    @contextlib.asynccontextmanager
    async def link(self, name, **options):
        client = bleak.BleakClient(await self.find(name))
        await client.connect(**options)
        try:
            yield client
        finally:
            with contextlib.suppress(bleak.BleakError):
                await client.disconnect()
