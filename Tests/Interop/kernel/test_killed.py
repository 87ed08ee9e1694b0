"""One of two processes on adapters of the kernel is killed within a procedure: the other one goes on, and serves a new process.

The kernel ends the link of a killed process when its sockets are closed, at the latest 2 s after the last one (HCI_DISCONN_TIMEOUT). A
pairing is the kernel's own: it holds the link until it has ended, at the latest after the 30 s of the Security Manager (Vol 3, Part H, 3.4).
"""

from types import SimpleNamespace

import pytest
from procedures import Central, Peripheral, connecting, discovering, pairing, preparing, running, subscribed, wait_for_one_of
from procedures import within, writing
from programs import wait_until

PERIPHERAL, CENTRAL = SimpleNamespace(transport="linux:hci0"), SimpleNamespace(transport="linux:hci1")
STEPS = [connecting, discovering, pairing, subscribed, writing, preparing]


def reads(central, peripheral):
    """Connects and reads. The central may be connected already, by the attempt that the kill interrupted. A link that the kernel has kept
    for the killed process may end meanwhile: then once more."""

    def has_read():
        central.skip()
        central.tell(f"k connect {peripheral.address} 15 15 0 1000")
        wait_for_one_of(central, ("k connected", "k failed"))
        central.skip()
        central.tell("k read 181A 2A6E")
        wait_for_one_of(central, ("k value", "k failed"))
        return "k value" in "\n".join(central.program.output.split("\n")[central.position :])

    wait_until(has_read, lambda: f"no value:\n{central.program.output[-2000:]}")


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_a_peripheral_outlives_its_central_on_adapters_of_the_kernel(controllers, tmp_path, step):
    with within(step, PERIPHERAL, tmp_path, CENTRAL) as (peripheral, central, options):
        central.kill()
        if step is not connecting or "p1 connected" in peripheral.program.output:
            wait_for_one_of(peripheral, ("p1 disconnected",))
        # These controllers have no airtime: the write in parts may have been executed. It is whole then. Two steps write in one request,
        # `discovering` the complement of the value that it has read.
        written = [line.split()[-1] for line in peripheral.program.output.splitlines() if "p1 written" in line]
        is_whole = step in (writing, discovering) or all(value == "w" * 512 for value in written)
        assert is_whole, f"prepared writes end with their link:\n{peripheral.program.output[-2000:]}"
        second = Central(CENTRAL, tmp_path, *options)
        with running(second):
            reads(second, peripheral)


# Without the pairing: where it was complete, the central has a bond that the new process lacks, and rightly ends each link.
@pytest.mark.parametrize("step", [step for step in STEPS if step is not pairing], ids=lambda step: step.__name__)
def test_a_central_outlives_its_peripheral_on_adapters_of_the_kernel(controllers, tmp_path, step):
    with within(step, PERIPHERAL, tmp_path, CENTRAL) as (peripheral, central, options):
        peripheral.kill()
        if step is not connecting:
            wait_for_one_of(central, ("k ended", "k failed"))
        second = Peripheral(PERIPHERAL, tmp_path, *options)
        with running(second):
            reads(central, second)
