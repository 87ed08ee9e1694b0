#!/usr/bin/env python3
"""Bumble's host at both ends of a link of the paced radio: bumble_link.py RADIO [--1m] [--encrypted] [--channel END] [--interval MS] [--seconds S].

RADIO is the port of `virtual-radio --pace --snoop FOLDER`. The central asks for 251 octets, the PHY and the interval (11.25 ms, 10 ms when
encrypted, or 7.5 ms with --1m), as the priority for throughput does. Then the peripheral notifies values of 244 octets, and the central writes
such values without response, each as fast as its queue of packets accepts them; with --channel central or peripheral, this end sends SDUs on
a channel instead, in frames that fill packets. `link_limit.py FOLDER/*.btsnoop` prints the shares.
"""

import argparse
import asyncio

from bumble import hci
from bumble.core import UUID
from bumble.device import Device, DeviceConfiguration, Peer
from bumble.gatt import Characteristic, Service
from bumble.l2cap import LeCreditBasedChannelSpec
from bumble.transport import open_transport

VALUE = bytes(244)
# Nine packets of 251 octets: 4 octets of L2CAP in each, and 2 of the length in the first.
MPS = 247
SDU = bytes(9 * MPS - 2)
SERVICE, STREAM, SINK = UUID("FFF0"), UUID("FFF1"), UUID("FFF2")
# Packets that wait for a buffer of the controller, beside those that it has.
AHEAD = 16


async def device(port, name, address):
    transport = await open_transport(f"tcp-client:127.0.0.1:{port}")
    made = Device.from_config_with_hci(
        DeviceConfiguration(name, hci.Address(address, hci.Address.RANDOM_DEVICE_ADDRESS)), transport.source, transport.sink
    )
    return made, transport


async def room(host):
    """Waits until few enough packets wait."""
    queue = host.le_acl_packet_queue or host.acl_packet_queue
    while queue.pending >= queue.max_in_flight + AHEAD:
        flow = asyncio.get_running_loop().create_future()
        queue.once("flow", lambda: flow.done() or flow.set_result(None))
        await flow


async def stream_sdu(channel):
    channel.write(SDU)
    await channel.drain()


async def send(one, host, seconds):
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        await one()
        await room(host)


async def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--1m", dest="is_1m", action="store_true")
    parser.add_argument("--encrypted", action="store_true")
    parser.add_argument("--channel", choices=["central", "peripheral"])
    parser.add_argument("--interval", type=float)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    interval = options.interval or (7.5 if options.is_1m else 10 if options.encrypted else 11.25)

    peripheral, first = await device(options.port, "Bumble", "F0:F1:F2:F3:F4:F5")
    stream = Characteristic(STREAM, Characteristic.Properties.NOTIFY, Characteristic.READABLE, b"")
    sink = Characteristic(SINK, Characteristic.Properties.WRITE_WITHOUT_RESPONSE, Characteristic.WRITEABLE, b"")
    peripheral.add_service(Service(SERVICE, [stream, sink]))
    central, second = await device(options.port, "Central", "E0:E1:E2:E3:E4:E5")
    await peripheral.power_on()
    await central.power_on()
    await peripheral.start_advertising(auto_restart=False, own_address_type=hci.OwnAddressType.RANDOM)
    accepted = asyncio.get_running_loop().create_future()
    peripheral.on("connection", accepted.set_result)
    connection = await central.connect(peripheral.random_address, own_address_type=hci.OwnAddressType.RANDOM)
    peer = Peer(connection)
    await peer.request_mtu(517)
    [service] = await peer.discover_service(SERVICE)
    found = await service.discover_characteristics()
    stream_there, sink_there = (next(one for one in found if one.uuid == uuid) for uuid in (STREAM, SINK))
    await stream_there.subscribe(lambda value: None)
    if options.encrypted:
        await connection.pair()
    await connection.set_data_length(251, 2120)
    if not options.is_1m:
        await connection.set_phy([hci.Phy.LE_2M], [hci.Phy.LE_2M])
    await connection.update_parameters(interval, interval, 0, 5000)
    await asyncio.sleep(2)

    other = await accepted
    if options.channel:
        there = asyncio.get_running_loop().create_future()
        specification = LeCreditBasedChannelSpec(mtu=2048 + MPS, mps=MPS, max_credits=128)
        server = peripheral.create_l2cap_server(spec=specification, handler=there.set_result)
        here = await connection.create_l2cap_channel(
            spec=LeCreditBasedChannelSpec(psm=server.psm, mtu=2048 + MPS, mps=MPS, max_credits=128)
        )
        here.sink = there.result().sink = lambda sdu: None
        if options.channel == "central":
            await send(lambda: stream_sdu(here), central.host, options.seconds)
        else:
            await send(lambda: stream_sdu(there.result()), peripheral.host, options.seconds)
    else:
        await send(lambda: peripheral.notify_subscriber(other, stream, VALUE), peripheral.host, options.seconds)
        await send(lambda: sink_there.write_value(VALUE), central.host, options.seconds)
    await asyncio.sleep(0.5)
    for transport in (second, first):
        await transport.close()


asyncio.run(main())
