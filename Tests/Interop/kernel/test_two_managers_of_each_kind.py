"""Two peripheral managers and two central managers of one process on one adapter: what belongs to one does not reach the other."""

import contextlib
import struct

import pytest
from bluetooth import Management
from conftest import wait_for_count
from managers import managers

pytestmark = pytest.mark.newer


def short(uuid):
    return struct.pack("<H", uuid)


@pytest.fixture
def alpha(controllers, logs):
    """A peripheral on hci1."""
    with managers(logs, "alpha", "linux:hci1") as program:
        program.ask("p1 publish 180D 2A37 alpha", "p1 published 180D\n")
        yield program


@pytest.fixture
def beta(controllers, logs):
    """A peripheral on hci2."""
    with managers(logs, "beta", "linux:hci2") as program:
        program.ask("p1 publish 180F 2A19 beta", "p1 published 180F\n")
        yield program


@pytest.fixture
def both(controllers, logs):
    """The process whose managers p1, p2, c1 and c2 share hci0."""
    with managers(logs, "both", "linux:hci0") as program:
        yield program
        program.check_alive()


def find(both, alpha, beta):
    """A scan of each, which finds a device each. (btvirt reports an advertisement once: the scans come first.)"""
    both.ask("c1 scan 180D", "c1 scans")
    both.ask("c2 scan 180F", "c2 scans")
    alpha.ask("p1 advertise Alpha 180D", "p1 advertises\n")
    beta.ask("p1 advertise Beta 180F", "p1 advertises\n")
    both.wait_for("c1 discovered Alpha")
    both.wait_for("c2 discovered Beta")


def test_scans_and_connections(both, alpha, beta):
    find(both, alpha, beta)
    both.ask("c1 stop", "c1 stopped")
    with contextlib.closing(Management()) as management:
        # Complete list of 16-bit UUIDs: that of both; then its name.
        management.advertise(3, b"\x05\x03" + short(0x180D) + short(0x180F) + b"\x06\x09Gamma")
        both.wait_for("c2 discovered Gamma")
        management.stop_advertising(3)
    both.ask("c2 stop", "c2 stopped")
    assert "c1 discovered Beta" not in both.output and "c2 discovered Alpha" not in both.output
    assert "c1 discovered Gamma" not in both.output, "it does not scan any more"

    both.ask("c1 connect Alpha", "c1 connected Alpha")
    both.ask("c2 connect Beta", "c2 connected Beta")
    for central, peer, service, characteristic, other in (
        ("c1", "Alpha", "180D", "2A37", alpha), ("c2", "Beta", "180F", "2A19", beta)
    ):  # fmt: skip
        assert service in both.ask(f"{central} discover {peer}", f"{central} found on {peer}: ")
        both.ask(f"{central} read {peer} {characteristic}", f"{central} value {peer} {characteristic} {peer.lower()}")
        both.ask(f"{central} subscribe {peer} {characteristic}", f"{central} notifies {peer} {characteristic}")
        other.ask("p1 notify again", "p1 notified")
        both.wait_for(f"{central} value {peer} {characteristic} again")
    for stray in ("c1 connected Beta", "c2 connected Alpha", "c1 value Beta", "c2 value Alpha"):
        assert stray not in both.output

    both.ask("c2 disconnect Beta", "c2 disconnected Beta\n")
    beta.wait_for("p1 disconnected")
    alpha.ask("p1 notify still", "p1 notified")
    both.wait_for("c1 value Alpha 2A37 still")
    assert "c1 disconnected" not in both.output


def test_one_link_of_two_managers(both, alpha):
    """The link ends when the last of them lets it go; each has its own subscription."""
    for central in ("c1", "c2"):
        both.ask(f"{central} scan 180D", f"{central} scans")
    alpha.ask("p1 advertise Alpha 180D", "p1 advertises\n")
    for central in ("c1", "c2"):
        both.wait_for(f"{central} discovered Alpha")
        both.ask(f"{central} stop", f"{central} stopped")
    for central in ("c1", "c2"):
        both.ask(f"{central} connect Alpha", f"{central} connected Alpha")
        both.ask(f"{central} discover Alpha", f"{central} found on Alpha: ")
    both.ask("c1 subscribe Alpha 2A37", "c1 notifies Alpha 2A37")
    alpha.ask("p1 notify first", "p1 notified")
    both.wait_for("c1 value Alpha 2A37 first")
    both.ask("c2 subscribe Alpha 2A37", "c2 notifies Alpha 2A37")
    both.ask("c1 unsubscribe Alpha 2A37", "c1 silent Alpha 2A37")
    alpha.ask("p1 notify second", "p1 notified")
    both.wait_for("c2 value Alpha 2A37 second")
    assert "c2 value Alpha 2A37 first" not in both.output and "c1 value Alpha 2A37 second" not in both.output
    both.ask("c1 subscribe Alpha 2A37", "c1 notifies Alpha 2A37")
    both.ask("c1 disconnect Alpha", "c1 disconnected Alpha\n")
    alpha.ask("p1 notify third", "p1 notified")
    both.wait_for("c2 value Alpha 2A37 third")
    assert "c1 value Alpha 2A37 third" not in both.output and "c2 disconnected" not in both.output
    assert "p1 disconnected" not in alpha.output and "p1 unsubscribed" not in alpha.output
    both.ask("c2 disconnect Alpha", "c2 disconnected Alpha\n")
    alpha.wait_for("p1 disconnected")


def test_services_and_subscriptions(both, connect, drop):
    both.ask("p1 publish 181A 2A6E one", "p1 published 181A\n")
    both.ask("p2 publish 181B 2A9D two", "p2 published 181B\n")
    both.ask("p1 advertise First 181A", "p1 advertises\n")
    client = connect(3)
    assert {short(0x181A), short(0x181B)} <= {uuid for _, _, uuid in client.services()}
    handles = client.characteristics()
    first, second = handles[short(0x2A6E)], handles[short(0x2A9D)]
    assert client.read(first) == b"one" and client.read(second) == b"two"
    assert "p2 read 2A6E" not in both.output and "p1 read 2A9D" not in both.output
    for manager, handle, uuid in (("p1", first, "2A6E"), ("p2", second, "2A9D")):
        client.write(handle + 1, b"\x01\x00")
        both.wait_for(f"{manager} subscribed {uuid}")
        both.ask(f"{manager} notify {manager}", f"{manager} notified")
        assert client.link.value_update() == b"\x1b" + struct.pack("<H", handle) + manager.encode()
        client.write(handle, b"new")
        both.wait_for(f"{manager} written {uuid} new")
    for stray in ("p1 subscribed 2A9D", "p2 subscribed 2A6E", "p1 written 2A9D", "p2 written 2A6E"):
        assert stray not in both.output
    for manager in ("p1", "p2"):
        wait_for_count(both, f"{manager} connected", 1)

    both.ask("p1 remove", "p1 removed")
    both.ask("p2 notify rest", "p2 notified")
    while client.link.value_update() != b"\x1b" + struct.pack("<H", second) + b"rest":
        pass  # Service Changed comes before it
    services = {uuid for _, _, uuid in client.services()}
    assert short(0x181B) in services and short(0x181A) not in services
    drop(client, 3)
    for manager in ("p1", "p2"):
        both.wait_for(f"{manager} disconnected")


def test_all_at_once(both, alpha, beta, connect, drop):
    """While both central managers hold links of their own, both peripheral managers serve a central."""
    both.ask("p1 publish 181A 2A6E one", "p1 published 181A\n")
    both.ask("p2 publish 181B 2A9D two", "p2 published 181B\n")
    both.ask("p2 advertise Second 181B", "p2 advertises\n")
    find(both, alpha, beta)
    both.ask("c1 connect Alpha", "c1 connected Alpha")
    both.ask("c2 connect Beta", "c2 connected Beta")
    both.ask("c1 stop", "c1 stopped")
    both.ask("c2 stop", "c2 stopped")
    for central, peer in (("c1", "Alpha"), ("c2", "Beta")):
        both.ask(f"{central} discover {peer}", f"{central} found on {peer}: ")
    client = connect(3)
    handles = client.characteristics()
    for _ in range(20):
        both.say("c1 read Alpha 2A37")
        both.say("c2 read Beta 2A19")
        assert client.read(handles[short(0x2A6E)]) == b"one"
        assert client.read(handles[short(0x2A9D)]) == b"two"
    wait_for_count(both, "c1 value Alpha 2A37 alpha", 20)
    wait_for_count(both, "c2 value Beta 2A19 beta", 20)
    drop(client, 3)
    both.wait_for("p1 disconnected")
    assert "c1 disconnected" not in both.output and "c2 disconnected" not in both.output
