"""bleak on one adapter: bleak_client.py hci1 NAME ROUNDS; says what it finds, one line of JSON a round."""

import asyncio
import json
import sys

from bleak import BleakClient, BleakScanner

UUID = "7a3c{}-52d6-4c1e-9b0f-6d1e2f3a4b5c".format


async def session(device, adapter):
    values = {"0007": [], "0008": []}
    async with BleakClient(device, timeout=20, bluez={"adapter": adapter}) as client:
        found = {"services": sorted(service.uuid for service in client.services)}
        found["long"] = bytes(await client.read_gatt_char(UUID("0002"))).hex()
        await client.write_gatt_char(UUID("0003"), bytes(range(150)), response=True)
        found["written"] = bytes(await client.read_gatt_char(UUID("0003"))).hex()
        await client.write_gatt_char(UUID("0004"), b"mbar", response=False)
        found["command"] = bytes(await client.read_gatt_char(UUID("0004"))).decode()
        for short, order in (("0007", 1), ("0008", 2)):
            await client.start_notify(UUID(short), lambda _, value, short=short: values[short].append(value[0]))
            await client.write_gatt_char(UUID("0006"), bytes([order, 20, 0, 20, 0]), response=True)
            for _ in range(100):
                if len(values[short]) == 20:
                    break
                await asyncio.sleep(0.1)
            await client.stop_notify(UUID(short))
    found["values"] = values
    return found


async def main(adapter, name, rounds):
    for number in range(int(rounds)):
        for attempt in range(4):
            try:
                device = await BleakScanner.find_device_by_name(name, timeout=15, bluez={"adapter": adapter})
                found = await session(device, adapter)
                break
            except Exception as failure:
                # BlueZ at times takes its own new link for a lost one.
                print(f"round {number}, attempt {attempt}: {failure!r}", file=sys.stderr, flush=True)
                await asyncio.sleep(2)
        else:
            sys.exit(1)
        print(json.dumps(found), flush=True)
        await asyncio.sleep(0.5)


asyncio.run(main(*sys.argv[1:]))
