"""Periodic advertising of one Bumble host, received by others, on controllers of our virtual radio."""

import asyncio

import pytest
from bumble import hci
from bumble.device import (
    AdvertisingEventProperties,
    AdvertisingParameters,
    PeriodicAdvertisingParameters,
    PeriodicAdvertisingSync,
)
from central import Central
from programs import LIMIT, until
from radios import ours

SID, INTERVAL, SYNC_TIMEOUT = 7, 50, 2.0
DATA = bytes(range(200))
State = PeriodicAdvertisingSync.State


@pytest.fixture(scope="module", params=[(), ("--pace",)], ids=["virtual", "paced"])
def air(request, tmp_path_factory):
    with ours("periodic", tmp_path_factory.mktemp("periodic"), *request.param) as radio:
        yield radio


async def advertise(device):
    """A train with the ADI field. Bumble sends data in one command."""
    advertising_set = await device.create_advertising_set(
        advertising_parameters=AdvertisingParameters(
            advertising_event_properties=AdvertisingEventProperties(is_connectable=False, is_scannable=False),
            advertising_sid=SID,
        ),
        periodic_advertising_parameters=PeriodicAdvertisingParameters(
            periodic_advertising_interval_min=INTERVAL, periodic_advertising_interval_max=INTERVAL
        ),
        periodic_advertising_data=DATA,
    )
    await advertising_set.start_periodic(include_adi=True)
    return advertising_set


class Listener:
    """What a synchronization of Bumble's host receives."""

    def __init__(self, sync):
        self.sync, self.advertisements = sync, []
        sync.on(sync.EVENT_PERIODIC_ADVERTISEMENT, self.advertisements.append)

    async def established(self):
        await until(lambda: self.sync.state == State.ESTABLISHED, lambda: f"not established: {self.sync}")
        assert (self.sync.sid, self.sync.periodic_advertising_interval) == (SID, INTERVAL)

    async def receives(self, data):
        position = len(self.advertisements)
        await until(lambda: any(a.data_bytes == data for a in self.advertisements[position:]), "data of the train")
        assert not any(a.is_truncated for a in self.advertisements)


async def synchronize(device, advertiser):
    sync = await device.create_periodic_advertising_sync(advertiser, SID, sync_timeout=SYNC_TIMEOUT)
    listener = Listener(sync)
    await device.start_scanning(legacy=False, filter_duplicates=True)
    await listener.established()
    await device.stop_scanning()
    return listener


def identity(advertising_set):
    return advertising_set.device.random_address


async def transferred(device, mode=2):
    """A future for the synchronization that the next transfer from a peer begins."""
    await device.send_sync_command(
        hci.HCI_LE_Set_Default_Periodic_Advertising_Sync_Transfer_Parameters_Command(
            mode=mode, skip=0, sync_timeout=int(SYNC_TIMEOUT * 100), cte_type=0
        )
    )
    future = asyncio.get_running_loop().create_future()

    def received(sync, connection):
        future.set_result((Listener(sync), connection))

    device.once(device.EVENT_PERIODIC_ADVERTISING_SYNC_TRANSFER, received)
    return future


async def test_a_train_is_received_changed_and_lost(air):
    async with Central(air.transport) as sender, Central(air.transport) as receiver:
        advertising_set = await advertise(sender.device)
        listener = await synchronize(receiver.device, identity(advertising_set))
        await listener.receives(DATA)
        await advertising_set.stop()
        await advertising_set.set_periodic_advertising_data(b"\x02\x0a\x04")
        await listener.receives(b"\x02\x0a\x04")
        await advertising_set.stop_periodic()
        await until(lambda: listener.sync.state == State.LOST, "the loss of the train")


async def test_a_search_is_cancelled(air):
    async with Central(air.transport) as receiver:
        nobody = hci.Address("C0:11:22:33:44:55")
        sync = await receiver.device.create_periodic_advertising_sync(nobody, SID)
        cancelled = asyncio.get_running_loop().create_future()
        sync.on(sync.EVENT_CANCELLATION, lambda: cancelled.set_result(sync.status))
        # Bumble forgets a synchronization that it cancels; the event is for the one it still has.
        await receiver.device.send_sync_command(hci.HCI_LE_Periodic_Advertising_Create_Sync_Cancel_Command())
        assert await asyncio.wait_for(cancelled, LIMIT) == hci.HCI_OPERATION_CANCELLED_BY_HOST_ERROR


async def test_a_received_train_is_transferred(air):
    async with (
        Central(air.transport) as sender,
        Central(air.transport) as phone,
        Central(air.transport) as watch,
    ):
        advertising_set = await advertise(sender.device)
        listener = await synchronize(phone.device, identity(advertising_set))
        transfer = await transferred(watch.device)
        await watch.device.start_advertising()
        link = await phone.connect_to(watch.device.random_address)
        await listener.sync.transfer(link.connection, service_data=0x1234)
        received, connection = await asyncio.wait_for(transfer, LIMIT)
        assert connection.peer_address == phone.device.random_address
        assert received.sync.advertiser_address == identity(advertising_set)
        await received.established()
        await received.receives(DATA)
        # Both go on without the link.
        await link.disconnect()
        await received.receives(DATA)
        await listener.receives(DATA)


async def test_an_advertiser_transfers_its_train(air):
    async with Central(air.transport) as sender, Central(air.transport) as watch:
        advertising_set = await advertise(sender.device)
        transfer = await transferred(watch.device)
        await watch.device.start_advertising()
        link = await sender.connect_to(watch.device.random_address)
        await advertising_set.transfer_periodic_info(link.connection, service_data=1)
        received, _ = await asyncio.wait_for(transfer, LIMIT)
        await received.established()
        await received.receives(DATA)
