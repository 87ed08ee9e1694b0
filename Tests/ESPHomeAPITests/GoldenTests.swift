import BLEWire
import Testing

@testable import ESPHomeAPI

/// Every message, compared with the octets of aioesphomeapi's protocol buffers (goldens.py).
struct GoldenTests {
  static let types: [any APIMessage.Type] = [
    HelloRequest.self, HelloResponse.self, AuthenticationRequest.self, AuthenticationResponse.self,
    DisconnectRequest.self, DisconnectResponse.self, PingRequest.self, PingResponse.self, DeviceInfoRequest.self,
    DeviceInfoResponse.self, ListEntitiesRequest.self, ListEntitiesSensorResponse.self, ListEntitiesDoneResponse.self,
    SubscribeStatesRequest.self, SensorStateResponse.self, SubscribeBluetoothLEAdvertisementsRequest.self,
    UnsubscribeBluetoothLEAdvertisementsRequest.self, BluetoothLERawAdvertisementsResponse.self,
    BluetoothScannerStateResponse.self, BluetoothScannerSetModeRequest.self, BluetoothDeviceRequest.self,
    BluetoothDeviceConnectionResponse.self, SubscribeBluetoothConnectionsFreeRequest.self,
    BluetoothConnectionsFreeResponse.self, BluetoothDevicePairingResponse.self, BluetoothDeviceUnpairingResponse.self,
    BluetoothDeviceClearCacheResponse.self, BluetoothSetConnectionParamsRequest.self,
    BluetoothSetConnectionParamsResponse.self, BluetoothGATTGetServicesRequest.self,
    BluetoothGATTGetServicesResponse.self, BluetoothGATTGetServicesDoneResponse.self, BluetoothGATTReadRequest.self,
    BluetoothGATTReadResponse.self, BluetoothGATTWriteRequest.self, BluetoothGATTReadDescriptorRequest.self,
    BluetoothGATTWriteDescriptorRequest.self, BluetoothGATTNotifyRequest.self, BluetoothGATTNotifyDataResponse.self,
    BluetoothGATTWriteResponse.self, BluetoothGATTNotifyResponse.self, BluetoothGATTErrorResponse.self,
  ]

  @Test func everyMessageHasItsGolden() {
    #expect(Self.types.map { "\($0)" } == Goldens.messages.map(\.name))
    #expect(Self.types.map { $0.type } == Goldens.messages.map(\.type))
  }

  @Test(arguments: Goldens.messages.indices) func encodesTheOctetsOfProtocolBuffers(index: Int) {
    let golden = Goldens.messages[index]
    #expect(Self.types[index].filled(isExtreme: false).encoded.hexadecimal == golden.usual)
    #expect(Self.types[index].filled(isExtreme: true).encoded.hexadecimal == golden.extreme)
  }

  @Test(arguments: Goldens.messages.indices) func decodesTheOctetsOfProtocolBuffers(index: Int) throws {
    let golden = Goldens.messages[index]
    try Self.types[index].expect(in: golden.usual, isExtreme: false)
    try Self.types[index].expect(in: golden.extreme, isExtreme: true)
    // The fields that are not declared are skipped.
    try Self.types[index].expect(in: golden.unknown, isExtreme: false)
  }

  /// A message that ends early is rejected, unless it ends between two fields: then the others have their defaults.
  @Test(arguments: Goldens.messages.indices) func rejectsTruncatedMessages(index: Int) throws {
    for text in [Goldens.messages[index].usual, Goldens.messages[index].extreme] {
      let octets = try #require([UInt8](hexadecimal: text))
      for count in octets.indices {
        let prefix = octets.prefix(count)
        do throws(ProtobufError) {
          let message = try Self.types[index].init(decoding: prefix)
          #expect(message.encoded == Array(prefix))
        } catch {
          #expect(error == .truncated)
        }
      }
    }
  }
}

// Static functions: Swift 6.2 does not pass a value of `any APIMessage.Type` to a generic function.
extension APIMessage {
  fileprivate static func expect(in text: String, isExtreme: Bool) throws {
    let octets = try #require([UInt8](hexadecimal: text))
    #expect(try Self(decoding: octets[...]) == filled(isExtreme: isExtreme))
  }
}

extension ProtobufMessage {
  fileprivate static func filled(isExtreme: Bool) -> Self {
    var message = Self()
    var filler = GoldenFiller(isExtreme: isExtreme)
    message.fields(&filler)
    return message
  }
}

/// The values of goldens.py.
private struct GoldenFiller: ProtobufVisitor {
  typealias Failure = Never
  let isExtreme: Bool

  func uint32(_ number: Int, _ value: inout UInt32) { value = isExtreme ? .max : 1000 * UInt32(number) + 7 }
  func uint64(_ number: Int, _ value: inout UInt64) {
    value = isExtreme ? .max : 0x1122_3344_5500 + UInt64(number)
  }
  func int32(_ number: Int, _ value: inout Int32) { value = isExtreme ? .min : -Int32(number) }
  func sint32(_ number: Int, _ value: inout Int32) { value = isExtreme ? .min : -10 * Int32(number) }
  func bool(_ number: Int, _ value: inout Bool) { value = true }
  func fixed32(_ number: Int, _ value: inout UInt32) { value = isExtreme ? .max : 0x0102_0300 + UInt32(number) }
  func float(_ number: Int, _ value: inout Float) { value = isExtreme ? -0.0 : Float(number) + 0.5 }
  func string(_ number: Int, _ value: inout String) {
    value = isExtreme ? String(repeating: "x", count: 200) : "field \(number) é"
  }
  func bytes(_ number: Int, _ value: inout Bytes) {
    value = isExtreme ? Bytes(repeating: 0xAA, count: 300) : [UInt8(number), 0, 0xFF]
  }
  func enumeration<Value: RawRepresentable<UInt32>>(_ number: Int, _ value: inout Value) {
    value = Value(rawValue: isExtreme ? UInt32(Int32.max) : 1) ?? value
  }
  func uint64s(_ number: Int, _ values: inout [UInt64]) {
    var value: UInt64 = 0
    uint64(number, &value)
    values = Array(repeating: value, count: isExtreme ? 20 : 2)
  }
  func messages<Message: ProtobufMessage>(_ number: Int, _ values: inout [Message]) {
    values = Array(repeating: Message.filled(isExtreme: isExtreme), count: isExtreme ? 1 : 2)
  }
}
