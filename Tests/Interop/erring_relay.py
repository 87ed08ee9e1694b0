"""Passes the packets between hosts and a radio (H4), except for what a controller that errs does not send or perform.

    python erring_relay.py RADIO_PORT [--lose EVENT]... [--accept OPCODE]...

--lose: an event that no host gets, such as 05 or 3e0a (the code, and of LE Meta the subevent). --accept: a command that is answered with
Command Status and not performed. SIGUSR1 ends all answers: nothing passes any longer, and the connections stay.
"""

import argparse
import asyncio
import signal
import struct

HEADERS = {1: (3, "<B", 2), 2: (4, "<H", 2), 4: (2, "<B", 1)}  # type: length of the header, form and place of the length


async def packet(reader):
    kind = (await reader.readexactly(1))[0]
    length, form, place = HEADERS[kind]
    header = await reader.readexactly(length)
    return bytes([kind]) + header + await reader.readexactly(struct.unpack_from(form, header, place)[0])


class Relay:
    def __init__(self, arguments):
        self.port, self.is_silent = arguments.port, False
        self.lost = [bytes.fromhex(event) for event in arguments.lose]
        self.accepted = [int(opcode, 16) for opcode in arguments.accept]

    def is_lost(self, it):
        kind = it[1:2] + (it[3:4] if it[1] == 0x3E else b"")
        return it[0] == 4 and kind in self.lost

    async def pass_on(self, reader, writer, back):
        try:
            while True:
                it = await packet(reader)
                if self.is_silent or self.is_lost(it):
                    continue
                if it[0] == 1 and struct.unpack_from("<H", it, 1)[0] in self.accepted:
                    back.write(b"\x04\x0f\x04\x00\x01" + it[1:3])
                    print(f"accepted {struct.unpack_from('<H', it, 1)[0]:04x}", flush=True)
                    continue
                writer.write(it)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def serve(self, reader, writer):
        radio_reader, radio_writer = await asyncio.open_connection("127.0.0.1", self.port)
        await asyncio.gather(
            self.pass_on(reader, radio_writer, writer), self.pass_on(radio_reader, writer, radio_writer)
        )

    def silence(self):
        self.is_silent = True
        print("SILENT", flush=True)

    async def run(self):
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self.silence)
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        print(f"READY {server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()


parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("--lose", action="append", default=[])
parser.add_argument("--accept", action="append", default=[])
asyncio.run(Relay(parser.parse_args()).run())
