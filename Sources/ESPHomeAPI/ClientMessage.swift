internal import BLEWire

/// A message of a client that concerns the program, with the connection itself left to ``APIConnection``.
package enum ClientMessage: Equatable, Sendable {
  case deviceInfo
  case listEntities
  case subscribeStates
  case subscribeAdvertisements(SubscribeBluetoothLEAdvertisementsRequest)
  case unsubscribeAdvertisements
  case subscribeConnectionsFree
  case setScannerMode(BluetoothScannerSetModeRequest)
  case device(BluetoothDeviceRequest)
  case getServices(BluetoothGATTGetServicesRequest)
  case read(BluetoothGATTReadRequest)
  case write(BluetoothGATTWriteRequest)
  case readDescriptor(BluetoothGATTReadDescriptorRequest)
  case writeDescriptor(BluetoothGATTWriteDescriptorRequest)
  case notify(BluetoothGATTNotifyRequest)
  case setConnectionParameters(BluetoothSetConnectionParamsRequest)

  /// The message with a number; nil for a message that is none of these.
  init?(type: UInt16, decoding octets: Bytes) throws(ProtobufError) {
    switch type {
    case DeviceInfoRequest.type: self = .deviceInfo
    case ListEntitiesRequest.type: self = .listEntities
    case SubscribeStatesRequest.type: self = .subscribeStates
    case SubscribeBluetoothLEAdvertisementsRequest.type:
      self = .subscribeAdvertisements(try .init(decoding: octets))
    case UnsubscribeBluetoothLEAdvertisementsRequest.type: self = .unsubscribeAdvertisements
    case SubscribeBluetoothConnectionsFreeRequest.type: self = .subscribeConnectionsFree
    case BluetoothScannerSetModeRequest.type: self = .setScannerMode(try .init(decoding: octets))
    case BluetoothDeviceRequest.type: self = .device(try .init(decoding: octets))
    case BluetoothGATTGetServicesRequest.type: self = .getServices(try .init(decoding: octets))
    case BluetoothGATTReadRequest.type: self = .read(try .init(decoding: octets))
    case BluetoothGATTWriteRequest.type: self = .write(try .init(decoding: octets))
    case BluetoothGATTReadDescriptorRequest.type: self = .readDescriptor(try .init(decoding: octets))
    case BluetoothGATTWriteDescriptorRequest.type: self = .writeDescriptor(try .init(decoding: octets))
    case BluetoothGATTNotifyRequest.type: self = .notify(try .init(decoding: octets))
    case BluetoothSetConnectionParamsRequest.type: self = .setConnectionParameters(try .init(decoding: octets))
    default: return nil
    }
  }

  /// The numbers of messages that every client may send and that need no answer here: logs (28), Home Assistant's
  /// services (34), actions (35), time (37) and states (38, 40).
  static let withoutEffect: Set<UInt16> = [28, 34, 35, 37, 38, 40]
}
