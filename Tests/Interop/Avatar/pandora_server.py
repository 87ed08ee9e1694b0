"""A Pandora server (gRPC: Host and Security) that drives our stack: the device under test of Avatar.

    python pandora_server.py TRANSPORT FOLDER AGENT...

Its first line is READY and its port. AGENT is the command of the Swift program avatar-agent. It is started anew for each reset, and in
another address mode when a call asks for another own address type: the address is an option of an adapter. What a test of Avatar's LE
cases does not call is not implemented, and gRPC says so.
"""

import asyncio
import contextlib
import itertools
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import grpc  # noqa: E402
from google.protobuf import any_pb2, empty_pb2  # noqa: E402
from pandora import host_pb2, security_pb2  # noqa: E402
from pandora.host_grpc_aio import HostServicer, add_HostServicer_to_server  # noqa: E402
from pandora.security_grpc_aio import SecurityServicer, add_SecurityServicer_to_server  # noqa: E402
from programs import LIMIT, until  # noqa: E402

EMPTY = empty_pb2.Empty()
# The file that worker.py makes in FOLDER when the other device waits for security.
WAITS_FOR_SECURITY = "waits-for-security"
PRIMARY_CODED, CODED = host_pb2.PRIMARY_CODED, 3


class Agent:
    """The running Swift program: commands with answers, and its events for those who listen."""

    def __init__(self, transport, folder, command):
        self.transport, self.folder, self.command = transport, folder, command
        self.process, self.mode, self.listeners, self.starts = None, None, set(), itertools.count()

    async def start(self, mode):
        await self.stop()
        self.mode, self.numbers, self.answers = mode, itertools.count(1), {}
        self.seen, self.ends, self.levels, self.centrals = {}, {}, {}, set()
        self.ready = asyncio.get_running_loop().create_future()
        trace = self.folder / f"agent-{next(self.starts)}.btsnoop"
        words = ["--transport", self.transport, "--address", mode, "--snoop", str(trace)]
        self.process = await asyncio.create_subprocess_exec(
            *self.command, *words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 20
        )
        self.reader = asyncio.create_task(self.read(self.process))
        self.address = await asyncio.wait_for(self.ready, LIMIT)

    async def use(self, own_address_type):
        """Starts the program anew where it has another kind of own address, and no link."""
        mode = "random" if own_address_type in (host_pb2.RANDOM, host_pb2.RESOLVABLE_OR_RANDOM) else "public"
        if mode != self.mode and all(end.is_set() for end in self.ends.values()):
            await self.start(mode)

    async def stop(self):
        if self.process and self.process.returncode is None:
            self.process.stdin.close()
            try:
                await asyncio.wait_for(self.process.wait(), LIMIT)
            except asyncio.TimeoutError:
                print("the agent did not end with its input", flush=True)
                self.process.kill()
                await self.process.wait()

    async def read(self, process):
        async for line in process.stdout:
            message = json.loads(line)
            kind, peer = message["kind"], message.get("peer")
            if kind != "sighting":
                print(line.decode().strip(), flush=True)
            if kind == "answer":
                answer = self.answers.pop(message["id"])
                # A call that its client has cancelled waits no more.
                if not answer.done():
                    answer.set_result(message)
                continue
            if kind == "ready":
                self.ready.set_result(octets(message["address"]))
            elif kind == "connected":
                self.ends[peer] = asyncio.Event()
                if message["isCentral"]:
                    self.centrals.add(peer)
            elif kind == "disconnected":
                self.levels.pop(peer, None)
                if peer in self.ends:
                    self.ends[peer].set()
            elif kind == "security":
                self.levels[peer] = message["level"]
            for listener in list(self.listeners):
                listener.put_nowait(message)
        for answer in self.answers.values():
            answer.cancel()

    async def ask(self, operation, **arguments):
        number = next(self.numbers)
        answer = self.answers[number] = asyncio.get_running_loop().create_future()
        command = json.dumps({"id": number, "operation": operation, **arguments})
        print(f"> {command}", flush=True)
        self.process.stdin.write(command.encode() + b"\n")
        return await answer

    @contextlib.contextmanager
    def events(self):
        queue = asyncio.Queue()
        self.listeners.add(queue)
        try:
            yield queue
        finally:
            self.listeners.discard(queue)


def octets(address):
    """An address as Pandora has it: most significant octet first."""
    return bytes.fromhex(address.replace(":", ""))


def connection(peer):
    return host_pb2.Connection(cookie=any_pb2.Any(value=peer.encode()))


def peer_of(connection):
    return connection.cookie.value.decode()


def data_types(data):
    """The content of an advertisement in Pandora's words."""
    types = host_pb2.DataTypes()
    for one in data["uuids"]:
        completeness = "complete" if one["isComplete"] else "incomplete"
        getattr(types, f"{completeness}_service_class_uuids{8 * one['octets']}").extend(one["uuids"])
    for one in data["solicitedUUIDs"]:
        getattr(types, f"service_solicitation_uuids{8 * one['octets']}").extend(one["uuids"])
    for uuid, octets in data["serviceData"].items():
        size = {4: 16, 8: 32}.get(len(uuid), 128)
        getattr(types, f"service_data_uuid{size}")[uuid] = bytes.fromhex(octets)
    names = {
        "shortenedName": "shortened_local_name",
        "completeName": "complete_local_name",
        "txPower": "tx_power_level",
        "classOfDevice": "class_of_device",
        "appearance": "appearance",
        "advertisingInterval": "advertising_interval",
        "uri": "uri",
    }
    for ours, theirs in names.items():
        if ours in data:
            setattr(types, theirs, data[ours])
    if "connectionInterval" in data:
        interval = data["connectionInterval"]
        types.peripheral_connection_interval_min, types.peripheral_connection_interval_max = interval
    types.le_supported_features = bytes.fromhex(data.get("supportedFeatures", ""))
    types.manufacturer_specific_data = bytes.fromhex(data.get("manufacturerData", ""))
    return types


def scanning_response(sighting):
    response = host_pb2.ScanningResponse(
        legacy=sighting["isLegacy"],
        connectable=sighting["isConnectable"],
        scannable=sighting["isScannable"],
        truncated=sighting["isTruncated"],
        primary_phy=PRIMARY_CODED if sighting["primaryPHY"] == CODED else host_pb2.PRIMARY_1M,
        rssi=sighting["rssi"],
        data=data_types(sighting["data"]),
    )
    kind = ("public", "random", "public_identity", "random_static_identity")[sighting["addressKind"]]
    setattr(response, kind, octets(sighting["address"]))
    return response


class Host(HostServicer):
    def __init__(self, agent):
        self.agent = agent

    async def FactoryReset(self, request, context):
        (self.agent.folder / WAITS_FOR_SECURITY).unlink(missing_ok=True)
        await self.agent.start("public")
        return EMPTY

    async def Reset(self, request, context):
        await self.agent.start("public")
        return EMPTY

    async def ReadLocalAddress(self, request, context):
        return host_pb2.ReadLocalAddressResponse(address=self.agent.address)

    async def Scan(self, request, context):
        await self.agent.use(request.own_address_type)
        phys = [CODED if phy == PRIMARY_CODED else 1 for phy in request.phys] or [1]
        with self.agent.events() as events:
            await self.agent.ask("scan", phys=phys, isPassive=request.passive)
            try:
                while True:
                    message = await events.get()
                    if message["kind"] == "sighting":
                        sighting = message["sighting"]
                        self.agent.seen[octets(sighting["address"])] = message["peer"]
                        yield scanning_response(sighting)
            finally:
                await asyncio.shield(self.agent.ask("stopScan"))

    async def ConnectLE(self, request, context):
        await self.agent.use(request.own_address_type)
        peer = self.agent.seen.get(getattr(request, request.WhichOneof("address")))
        if peer is None:
            return host_pb2.ConnectLEResponse(peer_not_found=EMPTY)
        answer = await self.agent.ask("connect", peer=peer)
        if answer.get("error") == "already connected":
            return host_pb2.ConnectLEResponse(connection_already_exists=EMPTY)
        if "error" in answer:
            return host_pb2.ConnectLEResponse(peer_not_found=EMPTY)
        return host_pb2.ConnectLEResponse(connection=connection(answer["peer"]))

    async def Disconnect(self, request, context):
        await self.agent.ask("disconnect", peer=peer_of(request.connection))
        return EMPTY

    async def WaitDisconnection(self, request, context):
        end = self.agent.ends.get(peer_of(request.connection))
        if end:
            await end.wait()
        return EMPTY

    async def Advertise(self, request, context):
        if not request.legacy or request.WhichOneof("target") or request.scan_response_data.ByteSize():
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "directed and extended advertising, scan responses")
        await self.agent.use(request.own_address_type)
        arguments = {
            "manufacturerData": request.data.manufacturer_specific_data.hex(),
            "isConnectable": request.connectable,
        }
        with self.agent.events() as events:
            try:
                while True:
                    answer = await self.agent.ask("advertise", **arguments)
                    if "error" in answer:
                        await context.abort(grpc.StatusCode.INTERNAL, answer["error"])
                    message = await events.get()
                    while not (message["kind"] == "connected" and message["isCentral"]):
                        message = await events.get()
                    yield host_pb2.AdvertiseResponse(connection=connection(message["peer"]))
            finally:
                await asyncio.shield(self.agent.ask("stopAdvertising"))


class Security(SecurityServicer):
    """Pairing. Our stack asks for consent to Just Works before it sends its features; the specification names no time (Vol 3, Part
    H, 2.3.5.1). Avatar waits for the question of the other device, which comes later, before it answers ours. So consent is
    given at once, and a refusal that follows ends the link.
    """

    def __init__(self, agent):
        self.agent = agent

    async def OnPairing(self, request, context):
        answers = asyncio.create_task(self.answer_questions(request))
        try:
            with self.agent.events() as events:
                while True:
                    message = await events.get()
                    if message["kind"] == "question":
                        if message["question"]["kind"] == "justWorks":
                            await self.agent.ask("answer", question=message["question"]["id"], isAccepted=True)
                        yield self.event(message["peer"], message["question"])
        finally:
            answers.cancel()

    @staticmethod
    def event(peer, question):
        event = security_pb2.PairingEvent(connection=connection(f"{peer}/{question['id']}"))
        if question["kind"] == "justWorks":
            event.just_works.CopyFrom(EMPTY)
        elif question["kind"] == "comparison":
            event.numeric_comparison = int(question["number"])
        elif question["kind"] == "displayedPasskey":
            event.passkey_entry_notification = int(question["number"])
        else:
            event.passkey_entry_request.CopyFrom(EMPTY)
        return event

    async def answer_questions(self, requests):
        async for answer in requests:
            peer, question = peer_of(answer.event.connection).split("/")
            question = int(question)
            if answer.event.WhichOneof("method") == "just_works":
                if not answer.confirm:
                    await self.agent.ask("disconnect", peer=peer)
            elif answer.WhichOneof("answer") == "passkey":
                await self.agent.ask("answer", question=question, passkey=answer.passkey)
            else:
                await self.agent.ask("answer", question=question, isAccepted=answer.confirm)

    async def Secure(self, request, context):
        peer = peer_of(request.connection)
        with self.agent.events() as events:
            if peer in self.agent.centrals:
                # A test calls Secure here and WaitSecurity of the other device at the same time. Bumble does not see a Security Request
                # before that call, and nobody repeats the request (Vol 3, Part H, 2.4.6).
                await until((self.agent.folder / WAITS_FOR_SECURITY).exists, "the other device does not wait for security")
            await self.agent.ask("pair", peer=peer, level=self.level(request))
            return await self.outcome(peer, self.level(request), security_pb2.SecureResponse, events)

    async def WaitSecurity(self, request, context):
        with self.agent.events() as events:
            response = security_pb2.WaitSecurityResponse
            return await self.outcome(peer_of(request.connection), self.level(request), response, events)

    @staticmethod
    def level(request):
        levels = {
            security_pb2.LE_LEVEL1: 1,
            security_pb2.LE_LEVEL2: 2,
            security_pb2.LE_LEVEL3: 3,
            security_pb2.LE_LEVEL4: 4,
        }
        return levels[request.le]

    async def outcome(self, peer, level, response, events):
        """The end of a pairing: the level that the link has then, not the one that a side claims."""
        while self.agent.levels.get(peer, 1) < level:
            if self.agent.ends[peer].is_set():
                return response(connection_died=EMPTY)
            message = await events.get()
            if message.get("peer") != peer:
                continue
            if message["kind"] == "pairingFailed":
                return response(pairing_failure=EMPTY)
            if message["kind"] == "paired" and self.agent.levels.get(peer, 1) < level:
                # Pandora has "not reached" for the side that began alone.
                failure = "not_reached" if response is security_pb2.SecureResponse else "pairing_failure"
                return response(**{failure: EMPTY})
        return response(success=EMPTY)


async def main():
    transport, folder, *command = sys.argv[1:]
    agent = Agent(transport, Path(folder), command)
    await agent.start("public")
    server = grpc.aio.server()
    add_HostServicer_to_server(Host(agent), server)
    add_SecurityServicer_to_server(Security(agent), server)
    port = server.add_insecure_port("localhost:0")
    await server.start()
    print(f"READY {port}", flush=True)
    # It ends with its standard input, as the program that started it does.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
    await agent.stop()
    await server.stop(None)


asyncio.run(main())
