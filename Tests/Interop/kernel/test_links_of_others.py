"""Links that another program makes as a central on the adapter that we share with the kernel."""

import contextlib

from bluetooth import Management, address_octets
from managers import managers
from programs import wait_until
from test_coexistence import hci_packets


def retrieve(program, service, count):
    """Asks until that many devices are retrieved; gives the line."""

    def retrieved():
        found = program.ask(f"c1 retrieve {service}", "c1 retrieved ").strip().splitlines()[-1]
        return found if found.startswith(f"c1 retrieved {count}:") else None

    return wait_until(retrieved, lambda: program.output[-2000:])


def test_a_device_of_another_program_is_retrieved(controllers, connect, drop, identity, logs):
    with managers(logs, "other-peripheral", "linux:hci1") as peripheral, managers(logs, "others", "linux:hci0") as ours:
        peripheral.ask("p1 publish 180D 2A37 alpha", "p1 published 180D\n")
        ours.ask("c1 scan 180D", "c1 scans")
        peripheral.ask("p1 advertise Alpha 180D", "p1 advertises\n")
        ours.wait_for("c1 discovered Alpha")
        ours.ask("c1 stop", "c1 stopped")
        assert retrieve(ours, "180D", 0)
        client = connect(adapter=0, to=identity[1])
        assert client.characteristics()
        assert retrieve(ours, "180D", 1) == "c1 retrieved 1: Alpha"
        assert ours.ask("c1 state Alpha", "c1 state Alpha").strip().endswith("disconnected")
        # Ours waits for the end of theirs, and is made then.
        ours.say("c1 connect Alpha")
        drop(client, adapter=0, to=identity[1])
        ours.wait_for("c1 connected Alpha")
        assert "180D" in ours.ask("c1 discover Alpha", "c1 found on Alpha: ")
        ours.ask("c1 disconnect Alpha", "c1 disconnected Alpha")
        ours.check_alive()


def test_a_link_from_before_we_began_is_announced(controllers, connect, identity, logs):
    with managers(logs, "earlier-peripheral", "linux:hci1") as peripheral, contextlib.ExitStack() as stack:
        peripheral.ask("p1 publish 180D 2A37 alpha", "p1 published 180D\n")
        peripheral.ask("p1 advertise Alpha 180D", "p1 advertises\n")
        with contextlib.closing(Management()) as management:
            management.switch_on(0)
        client = connect(adapter=0, to=identity[1])
        ours = stack.enter_context(managers(logs, "later", "linux:hci0"))
        ours.ask("c1 scan 180D", "c1 scans")
        # LE Connection Complete: the role 0 is the central, then the address.
        announced = [
            packet
            for sent, packet in hci_packets(logs / "later.btsnoop")
            if not sent and packet[1:4:2] == b"\x3e\x01" and packet[7] == 0 and packet[9:15] == address_octets(identity[1])
        ]
        assert len(announced) == 1
        # It stays theirs.
        assert client.characteristics()
        ours.check_alive()
