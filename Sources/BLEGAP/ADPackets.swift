public import BLEWire

/// Connection intervals that a peripheral would like (Core Specification Supplement, Part A, 1.9).
public struct ConnectionIntervalRange: Packet, Hashable {
  /// In units of 1.25 ms, 6 to 3200; 0xFFFF: no preference.
  public var minimum: UInt16 = 0xFFFF
  /// In units of 1.25 ms, 6 to 3200; 0xFFFF: no preference.
  public var maximum: UInt16 = 0xFFFF

  public init() {}
  public init(minimum: UInt16, maximum: UInt16) {
    self.minimum = minimum
    self.maximum = maximum
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("connIntervalMin", &minimum)
    try field.integer("connIntervalMax", &maximum)
  }
}

/// Data that belongs to a service (Core Specification Supplement, Part A, 1.11).
public struct ServiceData: Packet, Hashable {
  /// Its size says which of the three AD types it travels in.
  public var uuid = BluetoothUUID(0)
  public var data: Bytes = []

  public init() {}
  public init(uuid: BluetoothUUID, data: Bytes) {
    self.uuid = uuid
    self.data = data
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uuid("Service UUID", size: uuid.size, &uuid)
    try field.rest("Service Data", &data)
  }
}

/// Data of which a company alone knows the meaning (Core Specification Supplement, Part A, 1.4).
public struct ManufacturerData: Packet, Hashable {
  public var company = CompanyIdentifier(rawValue: 0)
  public var data: Bytes = []

  public init() {}
  public init(company: CompanyIdentifier, data: Bytes) {
    self.company = company
    self.data = data
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Company Identifier", &company)
    try field.rest("Manufacturer Specific Data", &data)
  }
}

/// An address handed over out of band or in an advertisement (Core Specification Supplement, Part A, 1.16).
public struct AdvertisedDeviceAddress: Packet, Hashable {
  public var address = BD_ADDR()
  /// 0: public, 1: random.
  public var kind = DeviceAddress.Kind.public

  public init() {}
  public init(_ address: DeviceAddress) {
    self.address = address.octets
    kind = address.identity.kind
  }

  public var deviceAddress: DeviceAddress { DeviceAddress(octets: address, kind: kind) }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try address.layout(&field)
    try field.value("Address Type", &kind)
  }
}

/// The channel map that periodic advertising changes to (Core Specification Supplement, Part A, 1.20).
public struct ChannelMapUpdate: Packet, Hashable {
  /// 37 bits in five octets: a set bit is a channel in use.
  public var channelMap = Bytes(repeating: 0, count: 5)
  /// The event counter at which it takes effect.
  public var instant: UInt16 = 0

  public init() {}
  public init(channelMap: Bytes, instant: UInt16) {
    self.channelMap = channelMap
    self.instant = instant
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("ChM", count: 5, &channelMap)
    try field.integer("Instant", &instant)
  }
}

/// AD structures under encryption (Core Specification Supplement, Part A, 1.23).
public struct EncryptedAdvertisingData: Packet, Hashable {
  public var randomizer = Bytes(repeating: 0, count: 5)
  public var payload: Bytes = []
  public var mic = Bytes(repeating: 0, count: 4)

  public init() {}
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

/// When the responses to periodic advertising may be sent (Core Specification Supplement, Part A, 1.24).
public struct PeriodicAdvertisingResponseTiming: Packet, Hashable {
  public var responseAccessAddress: UInt32 = 0
  public var subevents: UInt8 = 0
  /// In units of 1.25 ms.
  public var subeventInterval: UInt8 = 0
  /// In units of 1.25 ms.
  public var responseSlotDelay: UInt8 = 0
  /// In units of 0.125 ms.
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

/// A hash and the random number it was made with, least significant octet first
/// (Core Specification Supplement, Part A, 1.22).
public struct ResolvableSetIdentifier: Packet, Hashable {
  public var hash = Bytes(repeating: 0, count: 3)
  public var prand = Bytes(repeating: 0, count: 3)

  public init() {}
  public init(hash: Bytes, prand: Bytes) {
    self.hash = hash
    self.prand = prand
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("hash", count: 3, &hash)
    try field.octets("prand", count: 3, &prand)
  }
}
