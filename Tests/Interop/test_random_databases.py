"""Our client against random databases of Bumble's server: it finds, reads and writes exactly what is published.

DATABASE_SEED sets the first seed, DATABASES their number. ClientDifferenceTests has our own server instead of Bumble's.
"""

import os

import pytest
from programs import Program, product, until
from radios import RADIOS
from random_databases import ADVERTISED, NAME, Found, RandomPeripheral

FIRST = int(os.environ.get("DATABASE_SEED", "1"))
COUNT = int(os.environ.get("DATABASES", "20"))


class Client:
    """The program `managers`, whose lines are read one after the other."""

    def __init__(self, program):
        self.program, self.position = program, 0

    def tell(self, line):
        self.program.process.stdin.write(f"{line}\n".encode())
        self.program.process.stdin.flush()

    async def until(self, prefix):
        """The lines up to the next one that begins so."""

        def find():
            self.program.check_alive()
            lines = self.program.output.split("\n")[:-1]
            for index in range(self.position, len(lines)):
                assert not lines[index].startswith("k failed"), lines[index]
                if lines[index].startswith(prefix):
                    found, self.position = lines[self.position : index + 1], index + 1
                    return found
            return None

        return await until(find, lambda: f"no {prefix!r}:\n{self.program.output[-3000:]}")


def tree(lines):
    """What the program has printed, in the form of RandomDatabase.tree()."""
    services, written = [], {}
    for line in lines:
        kind, *words = line.removeprefix("k ").split(" ")
        if kind == "service":
            services.append((words[2], int(words[0], 16), int(words[1], 16), []))
        elif kind == "characteristic":
            services[-1][3].append(Found(int(words[0], 16), words[2], value(words[3:]), int(words[1])))
        elif kind == "written":
            written[int(words[0], 16)] = value(words[1:])
            services[-1][3][-1].is_written = True
        elif kind == "descriptor":
            services[-1][3].append(Found(int(words[0], 16), words[1], value(words[2:])))
    return services, written


def value(words):
    return None if words and words[0] == "error" else bytes.fromhex(words[0] if words else "")


def complement(octets):
    return bytes(octet ^ 0xFF for octet in octets)


@pytest.fixture(scope="module", params=["virtual"])
def radio(request, tmp_path_factory):
    with RADIOS[request.param](tmp_path_factory.mktemp(request.param)) as radio:
        yield radio
        radio.program.check_alive()


@pytest.fixture(scope="module")
def client(radio, tmp_path_factory):
    folder = tmp_path_factory.mktemp("client")
    command = ["env", f"BLE_BONDS={folder / 'bonds.json'}", *product("managers"), "--transport", radio.transport]
    with Program(command, folder / "managers.log") as program:
        yield Client(program)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
async def test_a_client_finds_exactly_the_published_services(radio, client, seed):
    async with RandomPeripheral(radio.transport, seed) as peripheral:
        expected = peripheral.database.tree()
        await connect(client)
        client.tell(f"k connect {peripheral.address}")
        await client.until("k connected")
        client.tell("k database")
        lines = await client.until("k database")
        found, written = tree(lines)
        why = f"DATABASE_SEED={seed}, MTU {peripheral.database.mtu}"
        assert found == expected, why
        assert lines[-1] == f"k database {len(expected)} {peripheral.database.mtu}", why
        values = {one.handle: one.value for *_, attributes in expected for one in attributes if one.is_written}
        assert written == {handle: complement(octets) for handle, octets in values.items()}, why
        for handle, octets in values.items():
            assert peripheral.device.gatt_server.get_attribute(handle).value == complement(octets), why
        await find_includes(client, peripheral.database, why)
        client.tell("k disconnect")
        await client.until("k disconnected")
        # The next peripheral has the same address on this radio, and no bond.
        client.tell("k forget")
        await client.until("k forgotten")


async def connect(client):
    """A central manager, whose link BLEKit uses, too."""
    client.tell(f"c1 scan {ADVERTISED}")
    await client.until(f"c1 discovered {NAME}")
    client.tell("c1 stop")
    client.tell(f"c1 connect {NAME}")
    await client.until(f"c1 connected {NAME}")


async def find_includes(client, database, why):
    """The central manager finds the included services, which BLEKit does not discover."""
    client.tell(f"c1 discover {NAME}")
    await client.until(f"c1 found on {NAME}")
    client.tell(f"c1 includes {NAME}")
    await client.until("c1 asked")
    for (uuid, _), included in database.includes().items():
        lines = await client.until("c1 includes")
        assert lines[-1] == f"c1 includes {uuid}: {', '.join(included)}", why
    client.tell(f"c1 disconnect {NAME}")
    await client.until(f"c1 disconnected {NAME}")
