"""Octets over credit-based L2CAP channels (Vol 3, Part A, 10.1): nothing is lost, memory is bounded, credits are kept.

Each end writes the CRC-32 of what it has sent and received.
"""

import asyncio
import contextlib
import random
import re

import pytest
from bumble.l2cap import LeCreditBasedChannel
from channels import MEGABYTE, ChannelHost, Octets, counts, resident, transfer, wait_for_line
from programs import LIMIT, quiet, until
from radios import RADIOS, parameters

PSM = 0x80
# The memory that a transfer may add to a program after its first tenth: queues have 64 KiB each, and the allocator some slack.
GROWTH = 8 * 1024  # KiB
# A transfer of ten megabytes in which the memory could grow; most of the processor's time is Bumble's.
sizes = pytest.mark.parametrize(
    "size", [pytest.param(MEGABYTE, id="short"), pytest.param(10 * MEGABYTE, id="long", marks=pytest.mark.slow)]
)


@pytest.fixture
def radio(tmp_path):
    with RADIOS["virtual"](tmp_path) as radio:
        yield radio
        radio.program.check_alive()


async def flat(program):
    """Waits for the end of a transfer; the memory must not grow after its first tenth."""
    await wait_for_line(program, "open")
    samples = []

    def has_ended():
        if "received" in program.output:
            return True
        assert program.process.poll() in (None, 0), program.output[-2000:]
        # A program that has just ended has no memory.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, TypeError):
            samples.append(resident(program)[0])
        return False

    await until(has_ended, lambda: program.output[-2000:])
    first, *rest = samples[len(samples) // 10 :]
    assert max(rest, default=first) - first < GROWTH, (first, samples)


def assert_equal(sender, receiver, count):
    sent, received = counts(sender)["sent"], counts(receiver)["received"]
    assert sent == received and sent[0] == count


@pytest.mark.early
@pytest.mark.parametrize(
    ("options", "size"),
    [
        pytest.param((), 10 * MEGABYTE, id="streams"),
        pytest.param(("--sequence",), MEGABYTE, id="sequence"),
        pytest.param(("--sequence",), 10 * MEGABYTE, id="sequence-long", marks=pytest.mark.slow),
    ],
)
async def test_a_file_in_both_directions_between_two_processes(radio, tmp_path, options, size):
    both = ("--send", size, "--receive", size)
    with transfer(radio, tmp_path, "serve", *both) as server:
        server.wait_for("READY")
        with transfer(radio, tmp_path, "connect", *both, *options) as client:
            await asyncio.gather(flat(server), flat(client))
            assert client.wait_for_end() == 0, client.output
        assert_equal(server, client, size)
        assert_equal(client, server, size)


@pytest.mark.parametrize("name", parameters("bumble", "bumble-small", "virtual-small", "virtual-paced"))
async def test_octets_pass_on_each_radio(tmp_path, name):
    """Controllers with one buffer of 27 octets, a stream in shreds, the timing of a real radio."""
    both = ("--send", 50_000, "--receive", 50_000)
    with RADIOS[name](tmp_path) as radio, transfer(radio, tmp_path, "serve", *both) as server:
        server.wait_for("READY")
        with transfer(radio, tmp_path, "connect", *both, "--sequence") as client:
            await wait_for_line(client, "done")
            await wait_for_line(server, "done")
        assert_equal(server, client, 50_000)
        assert_equal(client, server, 50_000)


@pytest.mark.parametrize("stalled", ["serve", "connect"])
async def test_a_reader_that_stalls_stops_the_writer(radio, tmp_path, stalled):
    size = 2 * MEGABYTE
    options = {"serve": ("--receive", size), "connect": ("--send", size)}
    if stalled == "connect":
        options = {"serve": ("--send", size), "connect": ("--receive", size)}
    options[stalled] += ("--stall",)
    with transfer(radio, tmp_path, "serve", *options["serve"]) as server:
        server.wait_for("READY")
        with transfer(radio, tmp_path, "connect", *options["connect"]) as client:
            programs = {"serve": server, "connect": client}
            reader = programs.pop(stalled)
            writer = programs.popitem()[1]
            await wait_for_line(reader, "stalled")
            at_begin = resident(writer)[0], resident(reader)[0]
            # The writer has filled every queue, and nothing is under way. (The radio always has an advertisement to send.)
            await quiet(writer, reader)
            assert "reading again" not in reader.output and "sent" not in writer.output
            for program, begin in zip((writer, reader), at_begin, strict=True):
                assert resident(program)[0] - begin < GROWTH
            reader.tell("go on")
            await wait_for_line(reader, "done")
            await wait_for_line(writer, "done")
        assert_equal(writer, reader, size)


async def exchange(channel, received, size):
    """Sends octets from Bumble and waits for as many of our program."""
    sent = Octets()
    source = random.Random(7)
    while sent.count < size:
        assert channel.state == LeCreditBasedChannel.State.CONNECTED, (sent.count, received.count)
        block = source.randbytes(min(16_384, size - sent.count))
        channel.write(block)
        sent.add(block)
        await channel.drain()
    await until(lambda: received.count >= size, lambda: f"{received.count} of {size} octets received")
    return sent


def assert_exchanged(program, sent, received):
    assert counts(program) == {"sent": received.result, "received": sent.result}


@sizes
async def test_a_file_in_both_directions_with_bumble_as_the_central(radio, tmp_path, size):
    both = ("--send", size, "--receive", size)
    with transfer(radio, tmp_path, "serve", *both) as server:
        server.wait_for("READY")
        async with ChannelHost(radio) as host:
            link = await host.connect()
            channel, received = await host.open(link, PSM, mtu=4096, mps=247)
            flatness = asyncio.create_task(flat(server))
            sent = await exchange(channel, received, size)
            await wait_for_line(server, "done")
            await flatness
        assert_exchanged(server, sent, received)


@sizes
@pytest.mark.parametrize("options", [(), ("--sequence",)], ids=["streams", "sequence"])
async def test_a_file_in_both_directions_with_bumble_as_the_peripheral(radio, tmp_path, options, size):
    both = ("--send", size, "--receive", size)
    async with ChannelHost(radio) as host:
        opened = await host.listen(PSM, mtu=4096, mps=247)
        with transfer(radio, tmp_path, "connect", *both, *options, "--psm", PSM) as client:
            channel, received = await asyncio.wait_for(opened, LIMIT)
            flatness = asyncio.create_task(flat(client))
            sent = await exchange(channel, received, size)
            await channel.disconnect()
            await wait_for_line(client, "done")
            await flatness
        assert_exchanged(client, sent, received)


async def test_a_peer_that_gives_one_credit_at_a_time(radio, tmp_path):
    both = ("--send", MEGABYTE // 4, "--receive", MEGABYTE // 4)
    with transfer(radio, tmp_path, "serve", *both) as server:
        server.wait_for("READY")
        async with ChannelHost(radio) as host:
            link = await host.connect()
            channel, received = await host.open(link, PSM, mtu=512, mps=64, max_credits=1)
            sent = await exchange(channel, received, MEGABYTE // 4)
            await wait_for_line(server, "done")
        assert_exchanged(server, sent, received)


async def test_a_peer_that_sends_without_credits_is_disconnected(radio, tmp_path):
    """Vol 3, Part A, 10.1: the device that receives a frame without a credit disconnects the channel."""
    with transfer(radio, tmp_path, "serve", "--receive", 100, "--stall") as server:
        server.wait_for("READY")
        async with ChannelHost(radio) as host:
            link = await host.connect()
            channel, _ = await host.open(link, PSM)
            closed = asyncio.Event()
            channel.on(LeCreditBasedChannel.EVENT_CLOSE, closed.set)
            channel.write(bytes(50))
            await channel.drain()
            await wait_for_line(server, "stalled")
            credits = channel.credits
            assert 0 < credits <= 128
            for _ in range(credits + 1):
                channel.send_pdu(b"\x01\x00\x07")
            await asyncio.wait_for(closed.wait(), LIMIT)
            await wait_for_line(server, "error")
            assert re.search(r"^error .*a frame without a credit", server.output, re.MULTILINE), server.output
            assert len(host.device.connections) == 1


async def test_a_peer_may_use_all_of_its_credits(radio, tmp_path):
    with transfer(radio, tmp_path, "serve", "--receive", 100, "--stall") as server:
        server.wait_for("READY")
        async with ChannelHost(radio) as host:
            link = await host.connect()
            channel, _ = await host.open(link, PSM)
            channel.write(bytes(50))
            await channel.drain()
            await wait_for_line(server, "stalled")
            for _ in range(channel.credits):
                channel.send_pdu(b"\x01\x00\x07")
            channel.credits = 0
            channel.write(bytes(50))
            server.tell("go on")
            await wait_for_line(server, "done")
            assert counts(server)["received"][0] >= 100


async def test_an_unknown_psm_is_an_error(radio, tmp_path):
    with transfer(radio, tmp_path, "serve") as server:
        server.wait_for("READY")
        with transfer(radio, tmp_path, "connect", "--psm", 0x99) as client:
            await asyncio.to_thread(client.wait_for, "not open")
            assert "SPSM not supported" in client.output and client.wait_for_end() == 1


@pytest.mark.parametrize("options", [(), ("--sequence",)], ids=["streams", "sequence"])
async def test_an_encrypted_psm_pairs_on_demand(radio, tmp_path, options):
    both = ("--send", 10_000, "--receive", 10_000)
    with transfer(radio, tmp_path, "serve", "--encrypted", *both) as server:
        server.wait_for("READY")
        psm = re.search(r"PSM (\d+)", server.output)[1]
        with transfer(radio, tmp_path, "connect", "--psm", psm, *both, *options) as client:
            await wait_for_line(client, "done")
        assert_equal(server, client, 10_000)
