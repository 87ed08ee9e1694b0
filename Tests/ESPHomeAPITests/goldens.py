"""Writes Goldens.swift: octets of messages as aioesphomeapi's protocol buffers write them, and a conversation as its Noise handshake
encrypts it.

  .cache/python-proxy/bin/python Tests/ESPHomeAPITests/goldens.py > Tests/ESPHomeAPITests/Goldens.swift

The value of a field follows from its number and its type alone, by the rules of `value`, which GoldenFiller of GoldenTests.swift repeats.
"""

from aioesphomeapi import api_pb2
from aioesphomeapi.core import MESSAGE_TYPE_TO_PROTO
from aioesphomeapi.noise import NoiseHandshake
from google.protobuf.descriptor import FieldDescriptor as Field
from noise.connection import Keypair, NoiseConnection

MESSAGES = """
    HelloRequest HelloResponse AuthenticationRequest AuthenticationResponse DisconnectRequest DisconnectResponse PingRequest PingResponse
    DeviceInfoRequest DeviceInfoResponse ListEntitiesRequest ListEntitiesSensorResponse ListEntitiesDoneResponse SubscribeStatesRequest
    SensorStateResponse SubscribeBluetoothLEAdvertisementsRequest UnsubscribeBluetoothLEAdvertisementsRequest
    BluetoothLERawAdvertisementsResponse BluetoothScannerStateResponse BluetoothScannerSetModeRequest BluetoothDeviceRequest
    BluetoothDeviceConnectionResponse SubscribeBluetoothConnectionsFreeRequest BluetoothConnectionsFreeResponse
    BluetoothDevicePairingResponse BluetoothDeviceUnpairingResponse BluetoothDeviceClearCacheResponse BluetoothSetConnectionParamsRequest
    BluetoothSetConnectionParamsResponse BluetoothGATTGetServicesRequest BluetoothGATTGetServicesResponse
    BluetoothGATTGetServicesDoneResponse BluetoothGATTReadRequest BluetoothGATTReadResponse BluetoothGATTWriteRequest
    BluetoothGATTReadDescriptorRequest BluetoothGATTWriteDescriptorRequest BluetoothGATTNotifyRequest BluetoothGATTNotifyDataResponse
    BluetoothGATTWriteResponse BluetoothGATTNotifyResponse BluetoothGATTErrorResponse
""".split()

# The fields that ESPHomeAPI does not have: its decoder skips them.
UNKNOWN = {
    "HelloRequest": {4},
    "DeviceInfoResponse": {7, 10, 14, 17, 20, 21, 22, 23, 24, 25, 26, 27},
    "ListEntitiesSensorResponse": {11, 14},
    "SensorStateResponse": {4},
}

# A usual value and an extreme one for each type.
VALUES = {
    Field.TYPE_UINT32: (lambda number: 1000 * number + 7, lambda number: 2**32 - 1),
    Field.TYPE_UINT64: (lambda number: 0x1122_3344_5500 + number, lambda number: 2**64 - 1),
    Field.TYPE_INT32: (lambda number: -number, lambda number: -2**31),
    Field.TYPE_SINT32: (lambda number: -10 * number, lambda number: -2**31),
    Field.TYPE_BOOL: (lambda number: True, lambda number: True),
    Field.TYPE_FIXED32: (lambda number: 0x0102_0300 + number, lambda number: 2**32 - 1),
    Field.TYPE_FLOAT: (lambda number: number + 0.5, lambda number: -0.0),
    Field.TYPE_STRING: (lambda number: f"field {number} é", lambda number: "x" * 200),
    Field.TYPE_BYTES: (lambda number: bytes([number, 0, 0xFF]), lambda number: b"\xAA" * 300),
    Field.TYPE_ENUM: (lambda number: 1, lambda number: 2**31 - 1),
}


def fill(message, extreme, unknown):
    for field in message.DESCRIPTOR.fields:
        if field.number in UNKNOWN.get(message.DESCRIPTOR.name, ()) and not unknown:
            continue
        if field.type == Field.TYPE_MESSAGE and field.is_repeated:
            for _ in range(1 if extreme else 2):
                fill(getattr(message, field.name).add(), extreme, unknown)
        elif field.type == Field.TYPE_MESSAGE:
            fill(getattr(message, field.name), extreme, unknown)
        else:
            value = VALUES[field.type][extreme](field.number)
            if field.is_repeated:
                getattr(message, field.name).extend([value] * (20 if extreme else 2))
            else:
                setattr(message, field.name, value)


def octets(name, extreme=False, unknown=False):
    message = getattr(api_pb2, name)()
    fill(message, extreme, unknown)
    return message.SerializeToString()


# MARK: Noise. The keys, the prologue and the payloads are those of cacophony's vectors.

INITIATOR = bytes.fromhex("893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a")
RESPONDER = bytes.fromhex("bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b")
PSK = bytes.fromhex("54686973206973206d7920417573747269616e20706572737065637469766521")
PSK_BASE64 = "VGhpcyBpcyBteSBBdXN0cmlhbiBwZXJzcGVjdGl2ZSE="
PROLOGUE = b"John Galt"
PAYLOADS = [b"Ludwig von Mises", b"Murray Rothbard", b"F. A. Hayek", b"Carl Menger", b"Jean-Baptiste Say", b"Eugen B\xc3\xb6hm von Bawerk"]


def connection(initiator, prologue):
    noise = NoiseConnection.from_name(b"Noise_NNpsk0_25519_ChaChaPoly_SHA256")
    noise.set_as_initiator() if initiator else noise.set_as_responder()
    noise.set_psks(PSK)
    noise.set_prologue(prologue)
    noise.set_keypair_from_private_bytes(Keypair.EPHEMERAL, INITIATOR if initiator else RESPONDER)
    noise.start_handshake()
    return noise


def vector():
    initiator, responder = connection(True, PROLOGUE), connection(False, PROLOGUE)
    messages = []
    for index, payload in enumerate(PAYLOADS):
        sender, receiver = (initiator, responder) if index % 2 == 0 else (responder, initiator)
        send = sender.write_message if index < 2 else sender.encrypt
        receive = receiver.read_message if index < 2 else receiver.decrypt
        messages.append(bytes(send(payload)))
        assert bytes(receive(messages[-1])) == payload
    return messages


def frame(data):
    return b"\x01" + len(data).to_bytes(2, "big") + data


def packet(message):
    number = next(number for number, kind in MESSAGE_TYPE_TO_PROTO.items() if kind is type(message))
    data = message.SerializeToString()
    return number.to_bytes(2, "big") + len(data).to_bytes(2, "big") + data


def conversation():
    """What aioesphomeapi sends to a server with the name `proxy`, and what the server has to answer."""
    client = NoiseHandshake(PSK_BASE64, b"NoiseAPIInit\x00\x00")
    client._proto.noise_protocol.handshake_state.e = connection(True, b"").noise_protocol.handshake_state.e
    server = connection(False, b"NoiseAPIInit\x00\x00")
    handshake = client.write_message()
    server.read_message(handshake)
    answer = bytes(server.write_message())
    client.read_message(answer)
    encrypt, decrypt = client.get_ciphers()
    hello = api_pb2.HelloRequest(client_info="aioesphomeapi", api_version_major=1, api_version_minor=10)
    response = api_pb2.HelloResponse(api_version_major=1, api_version_minor=10, server_info="ble 1.0", name="proxy")
    sealed = bytes(server.encrypt(packet(response)))
    assert decrypt.decrypt(sealed) == packet(response)
    return [
        frame(b"") + frame(b"\0" + handshake),
        frame(b"\x01proxy\x00" + b"112233445566\x00") + frame(b"\0" + answer),
        frame(encrypt.encrypt(packet(hello))),
        frame(sealed),
        frame(encrypt.encrypt(packet(api_pb2.PingRequest()))),
        frame(bytes(server.encrypt(packet(api_pb2.PingResponse())))),
    ]


def lines(values):
    return "\n".join(f'    "{value.hex()}",' for value in values)


def main():
    numbers = {kind.DESCRIPTOR.name: number for number, kind in MESSAGE_TYPE_TO_PROTO.items()}
    print("// swift-format-ignore-file")
    print("// Written by goldens.py with aioesphomeapi and noiseprotocol.\n")
    print("enum Goldens {")
    print("  struct Message {\n    var name: String\n    var type: UInt16\n    var usual: String\n    var extreme: String")
    print("    /// With fields that ESPHomeAPI does not have.\n    var unknown: String\n  }\n")
    print("  static let messages: [Message] = [")
    for name in MESSAGES:
        texts = octets(name), octets(name, extreme=True), octets(name, unknown=True)
        print(f'    Message(name: "{name}", type: {numbers[name]},')
        print(",\n".join(f'      {label}: "{text.hex()}"' for label, text in zip(("usual", "extreme", "unknown"), texts)) + "),")
    print("  ]\n")
    print("  /// The messages of both ends in turn, with payloads.")
    print(f"  static let noise = [\n{lines(vector())}\n  ]")
    print(f"  static let noisePayloads = [\n{lines(PAYLOADS)}\n  ]\n")
    print("  /// Octets of a client and of the server in turn.")
    print(f"  static let conversation = [\n{lines(conversation())}\n  ]")
    print("}")


main()
