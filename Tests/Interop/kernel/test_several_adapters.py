"""One process and several adapters, or several names of one."""

import struct
import subprocess

from bluetooth import set_down
from conftest import DESCRIPTION, PATTERN, Peripheral, long_uuid, wait_for_count
from programs import LIMIT, product


def test_two_at_once(controllers, connect, drop, identity, logs):
    with Peripheral("linux:hci0", logs / "two.txt", "--transport", f"linux:{identity[3]}") as peripheral:
        wait_for_count(peripheral, "READY", 2)
        clients = [connect(1, to=identity[0]), connect(2, to=identity[3])]
        handles = clients[0].characteristics()
        for number, client in enumerate(clients):
            client.exchange_mtu(100 + number)
            assert client.read_long(handles[long_uuid("0002")]) == PATTERN
            client.write(handles[long_uuid("0003")], b"%d" % number)
            client.write(handles[long_uuid("0007")] + 1, b"\x01\x00")
        for number, client in enumerate(clients):
            client.write(handles[long_uuid("0006")], struct.pack("<BHH", 1, 50, 20 + number))
        for number, client in enumerate(clients):
            assert client.read(handles[long_uuid("0003")]) == b"%d" % number, "each has values of its own"
            for expected in range(50):
                pdu = client.link.value_update()
                assert struct.unpack_from("<I", pdu, 3)[0] == expected and len(pdu) == 23 + number
        # The one goes, the other stays.
        set_down(3)
        peripheral.wait_for("poweredOff: linux:00:AA")
        drop(clients[1], 2, identity[3])
        assert clients[0].read_long(handles[long_uuid("0002")]) == PATTERN
        set_down(3, False)
        peripheral.wait_for("poweredOn again")
        again = connect(2, to=identity[3])
        assert again.read_long(handles[long_uuid("0002")]) == PATTERN
        drop(again, 2, identity[3])
        drop(clients[0])


def test_two_names_of_one_adapter_share_it(controllers, connect, drop, identity, logs):
    names = ["linux:hci0", "--transport", "linux", "--transport", f"linux:{identity[0]}"]
    with Peripheral(names[0], logs / "names.txt", *names[1:]) as peripheral:
        wait_for_count(peripheral, "READY", 3)
        client = connect()
        # One database, with what each of the three managers publishes.
        assert [uuid for _, _, uuid in client.services()].count(struct.pack("<H", 0x181A)) == 3
        wait_for_count(peripheral, "\nconnected", 3)
        drop(client)


def test_the_two_ways_to_one_adapter_exclude_each_other(controllers):
    ways = ["linux:hci0", "hci-socket:0"]
    done = subprocess.run(
        [*product("reference-peripheral"), "--desc", DESCRIPTION, "--transport", ways[0], "--transport", ways[1]],
        capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    # Each manager opens its own, and either may be the first.
    refusals = [f"{late}: this process already uses the adapter as {early}" for early, late in (ways, ways[::-1])]
    assert done.returncode == 75 and any(refusal in done.stderr for refusal in refusals)
