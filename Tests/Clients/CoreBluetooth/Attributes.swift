// Every symbol of CoreBluetooth's peers, attributes and UUIDs, with its type and whether it can be nil.
import CoreBluetooth

class OwnPeer: CBPeer, @unchecked Sendable {}
class OwnCentral: CBCentral, @unchecked Sendable {}
class OwnPeripheral: CBPeripheral, @unchecked Sendable {}
class OwnAttribute: CBAttribute, @unchecked Sendable {}
class OwnService: CBService, @unchecked Sendable {}
class OwnMutableService: CBMutableService, @unchecked Sendable {}
class OwnCharacteristic: CBCharacteristic, @unchecked Sendable {}
class OwnMutableCharacteristic: CBMutableCharacteristic, @unchecked Sendable {}
class OwnDescriptor: CBDescriptor, @unchecked Sendable {}
class OwnMutableDescriptor: CBMutableDescriptor, @unchecked Sendable {}
class OwnRequest: CBATTRequest, @unchecked Sendable {}
class OwnChannel: CBL2CAPChannel, @unchecked Sendable {}
class OwnUUID: CBUUID, @unchecked Sendable {}

func classes() {
  let _: [NSObject.Type] = [CBPeer.self, CBAttribute.self, CBATTRequest.self, CBL2CAPChannel.self, CBUUID.self]
  let _: [any NSCopying.Type] = [CBPeer.self, CBUUID.self]
  let _: [CBPeer.Type] = [CBCentral.self, CBPeripheral.self]
  let _: [CBAttribute.Type] = [CBService.self, CBCharacteristic.self, CBDescriptor.self]
  let _: CBService.Type = CBMutableService.self
  let _: CBCharacteristic.Type = CBMutableCharacteristic.self
  let _: CBDescriptor.Type = CBMutableDescriptor.self
}

func peers(_ peer: CBPeer, _ central: CBCentral, _ peripheral: CBPeripheral) {
  let _: UUID = peer.identifier
  let _: Bool = peer == central && peer.isEqual(peripheral) && Set([peer]).contains(central)
  _ = peer.value(forKey: "identifier") as? NSUUID
  let _: Int = central.maximumUpdateValueLength
  let _: (any CBPeripheralDelegate)? = peripheral.delegate
  peripheral.delegate = nil
  let _: String? = peripheral.name
  let _: NSNumber? = peripheral.rssi
  let _: CBPeripheralState = peripheral.state
  let _: [CBService]? = peripheral.services
  let _: Bool = peripheral.canSendWriteWithoutResponse
  let _: Bool = peripheral.ancsAuthorized
  _ = \CBPeripheral.state
}

func peripheral(
  _ peripheral: CBPeripheral, _ service: CBService, _ characteristic: CBCharacteristic, _ descriptor: CBDescriptor
) {
  peripheral.readRSSI()
  peripheral.discoverServices(nil)
  peripheral.discoverServices([CBUUID(string: "180D")])
  peripheral.discoverIncludedServices(nil, for: service)
  peripheral.discoverCharacteristics([CBUUID(string: "2A37")], for: service)
  peripheral.discoverDescriptors(for: characteristic)
  peripheral.readValue(for: characteristic)
  peripheral.readValue(for: descriptor)
  let _: Int = peripheral.maximumWriteValueLength(for: .withResponse)
  peripheral.writeValue(Data(), for: characteristic, type: .withoutResponse)
  peripheral.writeValue(Data(), for: descriptor)
  peripheral.setNotifyValue(true, for: characteristic)
  peripheral.openL2CAPChannel(CBL2CAPPSM(0x80))
  let _: [CBPeripheralState] = [.disconnected, .connecting, .connected, .disconnecting]
  let _: Int = CBPeripheralState.connected.rawValue
  let _: Int = CBCharacteristicWriteType.withResponse.rawValue
}

/// The references to the parent compile with and without an unwrapping, as before and after Xcode 13.
func parents(_ service: CBService, _ characteristic: CBCharacteristic, _ descriptor: CBDescriptor) {
  let _: CBPeripheral? = service.peripheral
  let _: CBPeripheral = service.peripheral
  let _: CBService? = characteristic.service
  let _: String = characteristic.service.uuid.uuidString
  let _: CBCharacteristic? = descriptor.characteristic
  _ = descriptor.characteristic?.service?.peripheral?.identifier
}

func attributes(_ service: CBService, _ characteristic: CBCharacteristic, _ descriptor: CBDescriptor) {
  let _: [CBUUID] = [service.uuid, characteristic.uuid, descriptor.uuid]
  let _: Bool = service.isPrimary
  let _: [CBService]? = service.includedServices
  let _: [CBCharacteristic]? = service.characteristics
  let _: CBCharacteristicProperties = characteristic.properties
  let _: Data? = characteristic.value
  let _: [CBDescriptor]? = characteristic.descriptors
  let _: Bool = characteristic.isBroadcasted || characteristic.isNotifying
  let _: Any? = descriptor.value
}

func ownAttributes(_ service: CBMutableService, _ characteristic: CBMutableCharacteristic) {
  let descriptor = CBMutableDescriptor(
    type: CBUUID(string: CBUUIDCharacteristicUserDescriptionString), value: "Temperature")
  let other = CBMutableCharacteristic(
    type: CBUUID(string: "2A6E"), properties: [.read, .notify], value: nil, permissions: .readable)
  other.descriptors = [descriptor]
  other.value = Data()
  other.properties = .read
  other.permissions = [.readable, .writeable, .readEncryptionRequired, .writeEncryptionRequired]
  let _: [CBCentral]? = other.subscribedCentrals
  let _: UInt = CBAttributePermissions.readable.rawValue
  let outer = CBMutableService(type: CBUUID(string: "181A"), primary: true)
  outer.characteristics = [other, characteristic]
  outer.includedServices = [service]
  let _: CBCharacteristicProperties = [
    .broadcast, .read, .writeWithoutResponse, .write, .notify, .indicate, .authenticatedSignedWrites,
    .extendedProperties, .notifyEncryptionRequired, .indicateEncryptionRequired,
  ]
  let _: UInt = CBCharacteristicProperties.indicateEncryptionRequired.rawValue
}

func requests(_ request: CBATTRequest, _ channel: CBL2CAPChannel) {
  let _: CBCentral = request.central
  let _: CBCharacteristic = request.characteristic
  let _: Int = request.offset
  let _: Data? = request.value
  request.value = Data()
  let _: CBPeer = channel.peer
  let _: InputStream? = channel.inputStream
  let _: OutputStream = channel.outputStream
  let _: UInt16 = channel.psm
  _ = CBL2CAPChannel()
}

/// The streams of a channel, scheduled on a run loop and on a queue.
final class Streams: NSObject, StreamDelegate {
  func open(_ channel: CBL2CAPChannel) {
    guard let input = channel.inputStream, let output = channel.outputStream else { return }
    input.delegate = self
    input.schedule(in: .current, forMode: .default)
    input.schedule(in: RunLoop.main, forMode: .common)
    input.remove(from: .main, forMode: .common)
    input.open()
    CFReadStreamSetDispatchQueue(input, DispatchQueue.main)
    CFReadStreamSetDispatchQueue(input, nil)
    CFWriteStreamSetDispatchQueue(channel.outputStream, DispatchQueue(label: "streams"))
    output.delegate = self
    output.open()
    let _: Bool = input.hasBytesAvailable && output.hasSpaceAvailable
    let _: Stream.Status = input.streamStatus
    let _: Error? = output.streamError
  }

  func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
    switch eventCode {
    case .openCompleted, .hasBytesAvailable, .hasSpaceAvailable, .endEncountered, .errorOccurred: aStream.close()
    default: break
    }
  }
}

func uuids(_ uuid: CBUUID) {
  _ = CBUUID()
  _ = [CBUUID(string: "180D"), CBUUID(data: Data([0x18, 0x0D])), CBUUID(nsuuid: UUID())]
  let _: Data = uuid.data
  let _: String = uuid.uuidString
  let _: String = uuid.description + uuid.debugDescription
  let _: Bool = uuid == CBUUID(string: "180D") && uuid.isEqual(uuid) && uuid.hash == uuid.hashValue
  let _: [CBUUID: Data] = [uuid: Data()]
  let _: Any = uuid.copy()
}

@available(*, deprecated)
func deprecatedUUIDs() {
  _ = CBUUID(cfuuid: CFUUIDCreate(nil))
  let _: [String] = [
    CBUUIDGenericAccessProfileString, CBUUIDGenericAttributeProfileString, CBUUIDDeviceNameString,
    CBUUIDAppearanceString,
    CBUUIDPeripheralPrivacyFlagString, CBUUIDReconnectionAddressString,
    CBUUIDPeripheralPreferredConnectionParametersString, CBUUIDServiceChangedString,
  ]
}

func wellKnownUUIDs() {
  let _: [String] = [
    CBUUIDCharacteristicExtendedPropertiesString, CBUUIDCharacteristicUserDescriptionString,
    CBUUIDClientCharacteristicConfigurationString, CBUUIDServerCharacteristicConfigurationString,
    CBUUIDCharacteristicFormatString, CBUUIDCharacteristicAggregateFormatString, CBUUIDCharacteristicValidRangeString,
    CBUUIDCharacteristicObservationScheduleString, CBUUIDL2CAPPSMCharacteristicString,
  ]
}
