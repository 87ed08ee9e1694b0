package import BLEWire

// Messages of a Bluetooth proxy. Their names are those of ESPHome. An address is a number whose most significant octets
// are those that are written first: 11:22:33:44:55:66 is 0x1122_3344_5566.

// MARK: Scanning

package struct SubscribeBluetoothLEAdvertisementsRequest: APIMessage {
  package static let type: UInt16 = 66
  /// Bit 0: ``BluetoothLERawAdvertisementsResponse``. ESPHome has sent no other message since 2025, whatever the flag.
  package var flags: UInt32 = 0
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint32(1, &flags)
  }
}

package struct UnsubscribeBluetoothLEAdvertisementsRequest: APIMessage {
  package static let type: UInt16 = 87
  package init() {}
  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {}
}

/// One advertisement of ``BluetoothLERawAdvertisementsResponse``.
package struct BluetoothLERawAdvertisement: ProtobufMessage {
  package var address: UInt64 = 0
  /// dBm.
  package var rssi: Int32 = 0
  /// 0: public, 1: random.
  package var addressType: UInt32 = 0
  /// AD structures: those of the advertisement, then those of the scan response.
  package var data: Bytes = []
  package init() {}

  package init(address: UInt64, rssi: Int32, addressType: UInt32, data: Bytes) {
    self.address = address
    self.rssi = rssi
    self.addressType = addressType
    self.data = data
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.sint32(2, &rssi)
    try field.uint32(3, &addressType)
    try field.bytes(4, &data)
  }
}

/// Advertisements since the last message.
package struct BluetoothLERawAdvertisementsResponse: APIMessage {
  package static let type: UInt16 = 93
  package var advertisements: [BluetoothLERawAdvertisement] = []
  package init() {}

  package init(_ advertisements: [BluetoothLERawAdvertisement]) { self.advertisements = advertisements }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.messages(1, &advertisements)
  }
}

package struct BluetoothScannerState: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let idle = Self(rawValue: 0)
  package static let starting = Self(rawValue: 1)
  package static let running = Self(rawValue: 2)
  package static let failed = Self(rawValue: 3)
  package static let stopping = Self(rawValue: 4)
  package static let stopped = Self(rawValue: 5)
}

package struct BluetoothScannerMode: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let passive = Self(rawValue: 0)
  package static let active = Self(rawValue: 1)
}

/// Answers a subscription to advertisements, and reports each change.
package struct BluetoothScannerStateResponse: APIMessage {
  package static let type: UInt16 = 126
  package var state = BluetoothScannerState.idle
  package var mode = BluetoothScannerMode.passive
  /// The mode that the server has without a request of a client.
  package var configuredMode = BluetoothScannerMode.passive
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.enumeration(1, &state)
    try field.enumeration(2, &mode)
    try field.enumeration(3, &configuredMode)
  }
}

package struct BluetoothScannerSetModeRequest: APIMessage {
  package static let type: UInt16 = 127
  package var mode = BluetoothScannerMode.passive
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.enumeration(1, &mode)
  }
}

// MARK: Connections

package struct BluetoothDeviceRequestType: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let connect = Self(rawValue: 0)
  package static let disconnect = Self(rawValue: 1)
  package static let pair = Self(rawValue: 2)
  package static let unpair = Self(rawValue: 3)
  /// The client has the attributes of the device.
  package static let connectWithCache = Self(rawValue: 4)
  package static let connectWithoutCache = Self(rawValue: 5)
  package static let clearCache = Self(rawValue: 6)
}

package struct BluetoothDeviceRequest: APIMessage {
  package static let type: UInt16 = 68
  package var address: UInt64 = 0
  package var requestType = BluetoothDeviceRequestType.connect
  package var hasAddressType = false
  /// 0: public, 1: random.
  package var addressType: UInt32 = 0
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.enumeration(2, &requestType)
    try field.bool(3, &hasAddressType)
    try field.uint32(4, &addressType)
  }
}

/// Answers a request to connect or to disconnect, and reports a lost connection.
package struct BluetoothDeviceConnectionResponse: APIMessage {
  package static let type: UInt16 = 69
  package var address: UInt64 = 0
  package var connected = false
  package var mtu: UInt32 = 0
  /// A code of HCI, or one of ESP-IDF's.
  package var error: Int32 = 0
  package init() {}

  package init(address: UInt64, connected: Bool, mtu: UInt32 = 0, error: Int32 = 0) {
    self.address = address
    self.connected = connected
    self.mtu = mtu
    self.error = error
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.bool(2, &connected)
    try field.uint32(3, &mtu)
    try field.int32(4, &error)
  }
}

package struct SubscribeBluetoothConnectionsFreeRequest: APIMessage {
  package static let type: UInt16 = 80
  package init() {}
  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {}
}

/// The connections that are free and in use, after a subscription and after each change.
package struct BluetoothConnectionsFreeResponse: APIMessage {
  package static let type: UInt16 = 81
  package var free: UInt32 = 0
  package var limit: UInt32 = 0
  /// The addresses of devices that are connected or being connected: `limit` minus `free` of them, or clients ignore
  /// the list.
  package var allocated: [UInt64] = []
  package init() {}

  package init(free: UInt32, limit: UInt32, allocated: [UInt64]) {
    self.free = free
    self.limit = limit
    self.allocated = allocated
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint32(1, &free)
    try field.uint32(2, &limit)
    try field.uint64s(3, &allocated)
  }
}

package struct BluetoothDevicePairingResponse: APIMessage {
  package static let type: UInt16 = 85
  package var address: UInt64 = 0
  package var paired = false
  package var error: Int32 = 0
  package init() {}

  package init(address: UInt64, paired: Bool, error: Int32 = 0) {
    self.address = address
    self.paired = paired
    self.error = error
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.bool(2, &paired)
    try field.int32(3, &error)
  }
}

package struct BluetoothDeviceUnpairingResponse: APIMessage {
  package static let type: UInt16 = 86
  package var address: UInt64 = 0
  package var success = false
  package var error: Int32 = 0
  package init() {}

  package init(address: UInt64, success: Bool, error: Int32 = 0) {
    self.address = address
    self.success = success
    self.error = error
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.bool(2, &success)
    try field.int32(3, &error)
  }
}

package struct BluetoothDeviceClearCacheResponse: APIMessage {
  package static let type: UInt16 = 88
  package var address: UInt64 = 0
  package var success = false
  package var error: Int32 = 0
  package init() {}

  package init(address: UInt64, success: Bool, error: Int32 = 0) {
    self.address = address
    self.success = success
    self.error = error
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.bool(2, &success)
    try field.int32(3, &error)
  }
}

package struct BluetoothSetConnectionParamsRequest: APIMessage {
  package static let type: UInt16 = 145
  package var address: UInt64 = 0
  /// Units of 1.25 ms.
  package var minInterval: UInt32 = 0
  /// Units of 1.25 ms.
  package var maxInterval: UInt32 = 0
  /// Connection events.
  package var latency: UInt32 = 0
  /// Units of 10 ms.
  package var timeout: UInt32 = 0
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.uint32(2, &minInterval)
    try field.uint32(3, &maxInterval)
    try field.uint32(4, &latency)
    try field.uint32(5, &timeout)
  }
}

package struct BluetoothSetConnectionParamsResponse: APIMessage {
  package static let type: UInt16 = 146
  package var address: UInt64 = 0
  package var error: Int32 = 0
  package init() {}

  package init(address: UInt64, error: Int32 = 0) {
    self.address = address
    self.error = error
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.int32(2, &error)
  }
}

// MARK: Attributes

package struct BluetoothGATTGetServicesRequest: APIMessage {
  package static let type: UInt16 = 70
  package var address: UInt64 = 0
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
  }
}

/// The UUID of an attribute: a 16-bit or 32-bit number, or two halves of 64 bits, the more significant one first.
package struct GATTUUID: Hashable, Sendable {
  package var halves: [UInt64] = []
  package var short: UInt32 = 0
  package init() {}

  /// - Parameter version: that of the client, which decides whether a short form is sent.
  package init(_ uuid: BluetoothUUID, for version: APIVersion) {
    if version.hasShortUUIDs, let number = uuid.shortValue, number != 0 {
      short = number
    } else {
      halves = [UInt64(truncatingIfNeeded: uuid.value >> 64), UInt64(truncatingIfNeeded: uuid.value)]
    }
  }
}

package struct BluetoothGATTDescriptor: ProtobufMessage {
  package var uuid = GATTUUID()
  package var handle: UInt32 = 0
  package init() {}

  package init(uuid: GATTUUID, handle: UInt32) {
    self.uuid = uuid
    self.handle = handle
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64s(1, &uuid.halves)
    try field.uint32(2, &handle)
    try field.uint32(3, &uuid.short)
  }
}

package struct BluetoothGATTCharacteristic: ProtobufMessage {
  package var uuid = GATTUUID()
  /// The handle of the value.
  package var handle: UInt32 = 0
  /// Characteristic Properties (Vol 3, Part G, 3.3.1.1).
  package var properties: UInt32 = 0
  package var descriptors: [BluetoothGATTDescriptor] = []
  package init() {}

  package init(uuid: GATTUUID, handle: UInt32, properties: UInt32, descriptors: [BluetoothGATTDescriptor]) {
    self.uuid = uuid
    self.handle = handle
    self.properties = properties
    self.descriptors = descriptors
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64s(1, &uuid.halves)
    try field.uint32(2, &handle)
    try field.uint32(3, &properties)
    try field.messages(4, &descriptors)
    try field.uint32(5, &uuid.short)
  }
}

package struct BluetoothGATTService: ProtobufMessage {
  package var uuid = GATTUUID()
  package var handle: UInt32 = 0
  package var characteristics: [BluetoothGATTCharacteristic] = []
  package init() {}

  package init(uuid: GATTUUID, handle: UInt32, characteristics: [BluetoothGATTCharacteristic]) {
    self.uuid = uuid
    self.handle = handle
    self.characteristics = characteristics
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64s(1, &uuid.halves)
    try field.uint32(2, &handle)
    try field.messages(3, &characteristics)
    try field.uint32(4, &uuid.short)
  }
}

/// Some of the services of a device; ``BluetoothGATTGetServicesDoneResponse`` follows the last ones.
package struct BluetoothGATTGetServicesResponse: APIMessage {
  package static let type: UInt16 = 71
  package var address: UInt64 = 0
  package var services: [BluetoothGATTService] = []
  package init() {}

  package init(address: UInt64, services: [BluetoothGATTService]) {
    self.address = address
    self.services = services
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.messages(2, &services)
  }
}

package struct BluetoothGATTGetServicesDoneResponse: APIMessage {
  package static let type: UInt16 = 72
  package var address: UInt64 = 0
  package init() {}

  package init(address: UInt64) { self.address = address }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
  }
}

package struct BluetoothGATTReadRequest: APIMessage {
  package static let type: UInt16 = 73
  package var address: UInt64 = 0
  package var handle: UInt32 = 0
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.uint32(2, &handle)
  }
}

/// Answers a read of a characteristic or of a descriptor.
package struct BluetoothGATTReadResponse: APIMessage {
  package static let type: UInt16 = 74
  package var address: UInt64 = 0
  package var handle: UInt32 = 0
  package var data: Bytes = []
  package init() {}

  package init(address: UInt64, handle: UInt32, data: Bytes) {
    self.address = address
    self.handle = handle
    self.data = data
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.uint32(2, &handle)
    try field.bytes(3, &data)
  }
}

package struct BluetoothGATTWriteRequest: APIMessage {
  package static let type: UInt16 = 75
  package var address: UInt64 = 0
  package var handle: UInt32 = 0
  /// Write Request instead of Write Command.
  package var response = false
  package var data: Bytes = []
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.uint32(2, &handle)
    try field.bool(3, &response)
    try field.bytes(4, &data)
  }
}

package struct BluetoothGATTReadDescriptorRequest: APIMessage {
  package static let type: UInt16 = 76
  package var address: UInt64 = 0
  package var handle: UInt32 = 0
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.uint32(2, &handle)
  }
}

package struct BluetoothGATTWriteDescriptorRequest: APIMessage {
  package static let type: UInt16 = 77
  package var address: UInt64 = 0
  package var handle: UInt32 = 0
  package var data: Bytes = []
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.uint32(2, &handle)
    try field.bytes(3, &data)
  }
}

/// A subscription to the values of a characteristic, or its end. A client that keeps attributes writes the Client
/// Characteristic Configuration itself.
package struct BluetoothGATTNotifyRequest: APIMessage {
  package static let type: UInt16 = 78
  package var address: UInt64 = 0
  package var handle: UInt32 = 0
  package var enable = false
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.uint32(2, &handle)
    try field.bool(3, &enable)
  }
}

package struct BluetoothGATTNotifyDataResponse: APIMessage {
  package static let type: UInt16 = 79
  package var address: UInt64 = 0
  package var handle: UInt32 = 0
  package var data: Bytes = []
  package init() {}

  package init(address: UInt64, handle: UInt32, data: Bytes) {
    self.address = address
    self.handle = handle
    self.data = data
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.uint32(2, &handle)
    try field.bytes(3, &data)
  }
}

package struct BluetoothGATTWriteResponse: APIMessage {
  package static let type: UInt16 = 83
  package var address: UInt64 = 0
  package var handle: UInt32 = 0
  package init() {}

  package init(address: UInt64, handle: UInt32) {
    self.address = address
    self.handle = handle
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.uint32(2, &handle)
  }
}

package struct BluetoothGATTNotifyResponse: APIMessage {
  package static let type: UInt16 = 84
  package var address: UInt64 = 0
  package var handle: UInt32 = 0
  package init() {}

  package init(address: UInt64, handle: UInt32) {
    self.address = address
    self.handle = handle
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.uint32(2, &handle)
  }
}

/// A failed operation on an attribute, instead of its response.
package struct BluetoothGATTErrorResponse: APIMessage {
  package static let type: UInt16 = 82
  package var address: UInt64 = 0
  /// Zero if the operation has no handle.
  package var handle: UInt32 = 0
  /// A code of the Attribute Protocol, or one of ESP-IDF's.
  package var error: Int32 = 0
  package init() {}

  package init(address: UInt64, handle: UInt32, error: Int32) {
    self.address = address
    self.handle = handle
    self.error = error
  }

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint64(1, &address)
    try field.uint32(2, &handle)
    try field.int32(3, &error)
  }
}
