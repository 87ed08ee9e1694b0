"""A central made of nothing but the kernel's sockets, against reference-peripheral on linux:hci0."""

import struct

import pytest
from bluetooth import Refused
from conftest import PATTERN, long_uuid, wait_for_count
from programs import wait_until


def test_discovery(peripheral, connect):
    client = connect()
    uuids = [uuid for _, _, uuid in client.services()]
    assert struct.pack("<H", 0x181A) in uuids and long_uuid("0001") in uuids
    assert long_uuid("0002") in client.characteristics()


def test_long_read_at_each_mtu(peripheral, connect):
    client = connect()
    handle = client.characteristics()[long_uuid("0002")]
    assert client.read_long(handle) == PATTERN
    assert client.exchange_mtu(517) == 247
    assert client.read_long(handle) == PATTERN


def test_writes_of_every_kind(peripheral, connect):
    client = connect()
    characteristics = client.characteristics()
    long_value = characteristics[long_uuid("0003")]
    client.write_long(long_value, bytes(range(150)))
    assert client.read_long(long_value) == bytes(range(150))
    client.write(long_value, b"short")
    assert client.read(long_value) == b"short"
    short_value = characteristics[long_uuid("0004")]
    client.write_command(short_value, b"mbar")
    assert client.read(short_value) == b"mbar"
    with pytest.raises(Refused) as refused:
        client.write(short_value, bytes(13))
    assert refused.value.code == 0x0D


def test_notifications_and_indications(peripheral, connect):
    client = connect()
    client.exchange_mtu(247)
    characteristics = client.characteristics()
    for short, bits, opcode, kind in (("0007", 1, 1, 0x1B), ("0008", 2, 2, 0x1D)):
        value = characteristics[long_uuid(short)]
        client.write(value + 1, struct.pack("<H", bits))
        client.write(characteristics[long_uuid("0006")], struct.pack("<BHH", opcode, 200, 20))
        for number in range(200):
            pdu = client.link.value_update()
            assert pdu[:3] == struct.pack("<BH", kind, value)
            assert struct.unpack_from("<I", pdu, 3)[0] == number and len(pdu) == 23


def test_the_peripheral_ends_the_link_and_advertises_again(peripheral, connect):
    for _ in range(5):
        client = connect()
        control = client.characteristics()[long_uuid("0006")]
        client.write_command(control, b"\x04")
        with pytest.raises((ConnectionError, OSError)):
            while True:
                client.link.receive()
        client.link.close()
    wait_for_count(peripheral, "disconnected", 5)


def test_three_centrals_at_once(peripheral, connect):
    clients = [connect(adapter) for adapter in (1, 2, 3)]
    handles = clients[0].characteristics()
    for number, client in enumerate(clients):
        client.exchange_mtu(100 + number)
        client.write(handles[long_uuid("0007")] + 1, b"\x01\x00")
    for number, client in enumerate(clients):
        client.write(handles[long_uuid("0006")], struct.pack("<BHH", 1, 50, 20 + number))
    for number, client in enumerate(clients):
        assert client.read_long(handles[long_uuid("0002")]) == PATTERN
        for expected in range(50):
            pdu = client.link.value_update()
            assert struct.unpack_from("<I", pdu, 3)[0] == expected and len(pdu) == 23 + number


def test_two_hundred_links_leak_nothing(peripheral, connect, drop):
    handle = before = None
    for cycle in range(200):
        client = connect()
        if handle is None:
            handle = client.characteristics()[long_uuid("0003")]
        client.write(handle, b"%d" % cycle)
        assert client.read(handle) == b"%d" % cycle
        drop(client)
        if cycle == 4:
            before = peripheral.descriptors()
    wait_until(lambda: peripheral.descriptors() <= before, lambda: f"{peripheral.descriptors()} descriptors, {before} before")
    wait_for_count(peripheral, "\nconnected", 200)
    assert peripheral.output.count("\nconnected") == 200
