"""bleak on one adapter: bleak_client.py hci1 NAME ROUNDS; says what it finds, one line of JSON a round."""

import asyncio
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bleak import BleakClient, BleakScanner  # noqa: E402
from bluetooth import ATTEMPT  # noqa: E402
from programs import LIMIT, until  # noqa: E402
from repetitions import allowed, message_of  # noqa: E402

UUID = "7a3c{}-52d6-4c1e-9b0f-6d1e2f3a4b5c".format


async def found_by_name(name, adapter):
    device = await BleakScanner.find_device_by_name(name, timeout=ATTEMPT, bluez={"adapter": adapter})
    if device is None:
        raise TimeoutError(f"bluetoothd does not report an advertisement of {name}")
    return device


async def repeated(session):
    """The result of a session, which is repeated while it fails because of a known fault; standard error has the messages."""
    deadline = time.monotonic() + LIMIT
    while True:
        try:
            async with asyncio.timeout(LIMIT):
                return await session()
        except Exception as failure:
            message = message_of(failure)
            if not allowed(message) or time.monotonic() > deadline:
                print(f"failed: {message}", file=sys.stderr, flush=True)
                sys.exit(1)
            print(f"repeated: {message}", file=sys.stderr, flush=True)


async def session(name, adapter):
    device = await found_by_name(name, adapter)
    values = {"0007": [], "0008": []}
    async with BleakClient(device, timeout=LIMIT, bluez={"adapter": adapter}) as client:
        found = {"services": sorted(service.uuid for service in client.services)}
        found["long"] = bytes(await client.read_gatt_char(UUID("0002"))).hex()
        await client.write_gatt_char(UUID("0003"), bytes(range(150)), response=True)
        found["written"] = bytes(await client.read_gatt_char(UUID("0003"))).hex()
        await client.write_gatt_char(UUID("0004"), b"mbar", response=False)
        found["command"] = bytes(await client.read_gatt_char(UUID("0004"))).decode()
        for short, order in (("0007", 1), ("0008", 2)):
            await client.start_notify(UUID(short), lambda _, value, short=short: values[short].append(value[0]))
            await client.write_gatt_char(UUID("0006"), bytes([order, 20, 0, 20, 0]), response=True)
            await until(lambda: len(values[short]) == 20, lambda: f"20 values, not {values[short]}")
            await client.stop_notify(UUID(short))
    found["values"] = values
    return found


async def main(adapter, name, rounds):
    for number in range(int(rounds)):
        print(json.dumps(await repeated(lambda: session(name, adapter))), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
