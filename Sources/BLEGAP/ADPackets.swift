public import BLEWire

/// The connection intervals that a peripheral prefers (Core Specification Supplement, Part A, 1.9).
public struct ConnectionIntervalRange: Packet, Hashable {
  /// The smallest connection interval in units of 1.25 ms, 6 to 3200; 0xFFFF means no preference.
  public var minimum: UInt16 = 0xFFFF
  /// The largest connection interval in units of 1.25 ms, 6 to 3200; 0xFFFF means no preference.
  public var maximum: UInt16 = 0xFFFF

  public init() {}
  /// A range of connection intervals in units of 1.25 ms.
  public init(minimum: UInt16, maximum: UInt16) {
    self.minimum = minimum
    self.maximum = maximum
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("connIntervalMin", &minimum)
    try field.integer("connIntervalMax", &maximum)
  }
}

/// The data of a service (Core Specification Supplement, Part A, 1.11).
public struct ServiceData: Packet, Hashable {
  /// The UUID of the service. Its size selects one of the three AD types.
  public var uuid = BluetoothUUID(0)
  /// The data, in the format of the service.
  public var data: Bytes = []

  public init() {}
  /// The data of the service `uuid`.
  public init(uuid: BluetoothUUID, data: Bytes) {
    self.uuid = uuid
    self.data = data
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uuid("Service UUID", size: uuid.size, &uuid)
    try field.rest("Service Data", &data)
  }
}

/// Data in a format of a company (Core Specification Supplement, Part A, 1.4).
public struct ManufacturerData: Packet, Hashable {
  /// The company that defines the format.
  public var company = CompanyIdentifier(rawValue: 0)
  /// The data after the company identifier.
  public var data: Bytes = []

  public init() {}
  /// Data in a format of `company`.
  public init(company: CompanyIdentifier, data: Bytes) {
    self.company = company
    self.data = data
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Company Identifier", &company)
    try field.rest("Manufacturer Specific Data", &data)
  }
}

/// The address of the device, in out-of-band data or in an advertisement (Core Specification Supplement, Part A, 1.16).
public struct AdvertisedDeviceAddress: Packet, Hashable {
  /// The 48 bits of the address.
  public var address = BD_ADDR()
  /// Public (0x00) or random (0x01).
  public var kind = DeviceAddress.Kind.public

  public init() {}
  /// An address; the type of an identity address becomes public or random.
  public init(_ address: DeviceAddress) {
    self.address = address.octets
    kind = address.identity.kind
  }

  /// The address with its type.
  public var deviceAddress: DeviceAddress { DeviceAddress(octets: address, kind: kind) }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try address.layout(&field)
    try field.value("Address Type", &kind)
  }
}

/// The next channel map of periodic advertising (Core Specification Supplement, Part A, 1.20).
public struct ChannelMapUpdate: Packet, Hashable {
  /// Five octets with 37 bits, channel 0 in the least significant bit of the first: a set bit is a used channel.
  public var channelMap = Bytes(repeating: 0, count: 5)
  /// The value of the event counter from which the map is used.
  public var instant: UInt16 = 0

  public init() {}
  /// A channel map of five octets and its instant.
  public init(channelMap: Bytes, instant: UInt16) {
    self.channelMap = channelMap
    self.instant = instant
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("ChM", count: 5, &channelMap)
    try field.integer("Instant", &instant)
  }
}

/// Encrypted AD structures (Core Specification Supplement, Part A, 1.23).
public struct EncryptedAdvertisingData: Packet, Hashable {
  /// Five octets.
  public var randomizer = Bytes(repeating: 0, count: 5)
  /// The encrypted AD structures.
  public var payload: Bytes = []
  /// The message integrity check, four octets.
  public var mic = Bytes(repeating: 0, count: 4)

  public init() {}
  /// Encrypted data with a randomizer of five and a MIC of four octets.
  public init(randomizer: Bytes, payload: Bytes, mic: Bytes) {
    self.randomizer = randomizer
    self.payload = payload
    self.mic = mic
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("Randomizer", count: 5, &randomizer)
    try field.rest("Payload", leaving: 4, &payload)
    try field.octets("MIC", count: 4, &mic)
  }
}

/// The time slots for responses to periodic advertising (Core Specification Supplement, Part A, 1.24).
public struct PeriodicAdvertisingResponseTiming: Packet, Hashable {
  /// The access address of the responses.
  public var responseAccessAddress: UInt32 = 0
  /// The number of subevents.
  public var subevents: UInt8 = 0
  /// The time between subevents in units of 1.25 ms.
  public var subeventInterval: UInt8 = 0
  /// The time from the start of a subevent to its first response slot, in units of 1.25 ms.
  public var responseSlotDelay: UInt8 = 0
  /// The time between response slots in units of 0.125 ms.
  public var responseSlotSpacing: UInt8 = 0

  public init() {}

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("RspAA", &responseAccessAddress)
    try field.integer("numSubevents", &subevents)
    try field.integer("subeventInterval", &subeventInterval)
    try field.integer("responseSlotDelay", &responseSlotDelay)
    try field.integer("responseSlotSpacing", &responseSlotSpacing)
  }
}

/// The identifier of a coordinated set: a hash and its random number, least significant octet first
/// (Core Specification Supplement, Part A, 1.22).
public struct ResolvableSetIdentifier: Packet, Hashable {
  /// Three octets.
  public var hash = Bytes(repeating: 0, count: 3)
  /// The random number, three octets.
  public var prand = Bytes(repeating: 0, count: 3)

  public init() {}
  /// A hash and a random number of three octets each.
  public init(hash: Bytes, prand: Bytes) {
    self.hash = hash
    self.prand = prand
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("hash", count: 3, &hash)
    try field.octets("prand", count: 3, &prand)
  }
}
