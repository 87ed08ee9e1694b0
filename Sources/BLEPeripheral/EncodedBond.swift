import BLEATT
import BLEGATT
public import BLEHost
import BLESMP
public import BLEWire

/// The reason why octets are no bond.
public enum BondDecodingError: Error, Equatable, Sendable {
  /// The octets are those of erased memory, or of another version of this package.
  case unknownVersion(UInt8)
  /// The octets end too early, or their checksum is wrong: they were not written completely.
  case damaged
  /// The checksum is right, and a field is not.
  case malformed(CodecError)
}

/// A bond as octets, for a store of the program such as a page of flash.
///
/// | octets | |
/// |---|---|
/// | 1 | the version, 1 |
/// | 2 | the number of octets of the fields, least significant octet first |
/// | n | the fields |
/// | 4 | the CRC-32 (IEEE 802.3) of all octets before, least significant octet first |
///
/// The fields are secret: they contain the keys.
extension Bond {
  private static let version: UInt8 = 1
  private static let headerOctets = 3, checksumOctets = 4

  /// The octets of an encoded bond at most.
  ///
  /// - Parameter subscriptions: the number of characteristics that a client can subscribe to.
  public static func maximumEncodedOctets(subscriptions: Int) -> Int {
    headerOctets + checksumOctets + BondFields.maximumOctets + 4 * min(max(0, subscriptions), 255)
  }

  /// The octets of the bond.
  public var encoded: [UInt8] {
    var octets = [Self.version, 0, 0]
    BondFields(self).encode(to: &octets)
    let count = UInt16(clamping: octets.count - Self.headerOctets)
    (octets[1], octets[2]) = (UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8))
    octets.append(littleEndian: checksum(octets.span))
    return octets
  }

  /// The bond of ``encoded`` octets. Further octets behind them are ignored, such as the rest of a page.
  ///
  /// - Throws: ``BondDecodingError``
  public init(encoded octets: Span<UInt8>) throws(BondDecodingError) {
    guard !octets.isEmpty else { throw .damaged }
    guard octets[0] == Self.version else { throw .unknownVersion(octets[0]) }
    guard let count = octets.uint16(at: 1).map({ Int($0) + Self.headerOctets }),
      octets.count >= count + Self.checksumOctets, let low = octets.uint16(at: count),
      let high = octets.uint16(at: count + 2),
      checksum(octets.extracting(0..<count)) == UInt32(high) << 16 | UInt32(low)
    else { throw .damaged }
    do throws(CodecError) {
      let fields = [UInt8](copying: octets.extracting(Self.headerOctets..<count))
      try self.init(BondFields(decoding: fields[...]))
    } catch { throw .malformed(error) }
  }
}

private func checksum(_ octets: Span<UInt8>) -> UInt32 {
  var remainder = UInt32.max
  for index in octets.indices {
    remainder ^= UInt32(octets[index])
    for _ in 0..<8 { remainder = remainder >> 1 ^ (remainder & 1 == 0 ? 0 : 0xEDB8_8320) }
  }
  return ~remainder
}

/// The fields of an encoded bond. The names of devices and what a client has discovered are not among them: a
/// peripheral has neither.
struct BondFields: Packet {
  /// The fields that are present.
  struct Presence: OptionSet, Hashable, Sendable {
    var rawValue: UInt8
    static let addressOnAir = Self(rawValue: 0x01)
    static let ownIdentity = Self(rawValue: 0x02)
    static let identityResolvingKey = Self(rawValue: 0x04)
    static let peripheralKey = Self(rawValue: 0x08)
    static let centralKey = Self(rawValue: 0x10)
    static let peerCSRK = Self(rawValue: 0x20)
    static let ownCSRK = Self(rawValue: 0x40)
  }

  struct Address: FieldGroup {
    var kind = DeviceAddress.Kind.public
    var octets = BD_ADDR()

    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Address Type", &kind)
      try octets.layout(&field)
    }
  }

  struct Strength: FieldGroup {
    struct Flags: OptionSet, Hashable, Sendable {
      var rawValue: UInt8
      static let isAuthenticated = Self(rawValue: 0x01)
      static let isSecureConnections = Self(rawValue: 0x02)
    }

    var size: UInt8 = 16
    var flags: Flags = []

    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Key Size", &size)
      try field.value("Flags", &flags)
    }
  }

  struct Key: FieldGroup {
    var number: UnalignedUInt128 = .init(0)
    var ediv: UInt16 = 0
    var rand: UInt64 = 0
    var strength = Strength()

    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.key("Long Term Key", &number)
      try field.integer("EDIV", &ediv)
      try field.integer("Rand", &rand)
      try strength.layout(&field)
    }
  }

  struct SigningKey: FieldGroup {
    var number: UnalignedUInt128 = .init(0)
    var counter: UInt32 = 0

    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.key("Signature Key", &number)
      try field.integer("Sign Counter", &counter)
    }
  }

  struct Configuration: FieldGroup {
    var descriptor: UInt16 = 0
    var value = Subscription()

    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Descriptor", &descriptor)
      try field.value("Value", &value)
    }
  }

  /// With all fields and without configurations.
  static let maximumOctets = 1 + 7 + 2 + 2 * 7 + 16 + 2 * 28 + 2 * 20 + 4 + 1 + 1 + 16 + 1

  var presence: Presence = []
  var identity = Address()
  var strength = Strength()
  var addressOnAir = Address()
  var ownIdentity = Address()
  var identityResolvingKey: UnalignedUInt128 = .init(0)
  var peripheralKey = Key()
  var centralKey = Key()
  var peerCSRK = SigningKey()
  var ownCSRK = SigningKey()
  var lastUse: UInt32 = 0
  var supportedFeatures = ClientSupportedFeatures()
  var databaseHash: Bytes = []
  var configurations: [Configuration] = []

  init() {}

  mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Presence", &presence)
    try identity.layout(&field)
    try strength.layout(&field)
    if presence.contains(.addressOnAir) { try addressOnAir.layout(&field) }
    if presence.contains(.ownIdentity) { try ownIdentity.layout(&field) }
    if presence.contains(.identityResolvingKey) { try field.key("Identity Resolving Key", &identityResolvingKey) }
    if presence.contains(.peripheralKey) { try peripheralKey.layout(&field) }
    if presence.contains(.centralKey) { try centralKey.layout(&field) }
    if presence.contains(.peerCSRK) { try peerCSRK.layout(&field) }
    if presence.contains(.ownCSRK) { try ownCSRK.layout(&field) }
    try field.integer("Last Use", &lastUse)
    try field.value("Client Supported Features", &supportedFeatures)
    try field.counted("Database Hash", &databaseHash)
    try field.counted("Configurations", &configurations)
  }
}

extension FieldVisitor {
  fileprivate mutating func key(_ name: FieldName, _ key: inout UnalignedUInt128) throws(Failure) {
    var number = key.value
    try integer(name, &number)
    key = UnalignedUInt128(number)
  }
}

extension BondFields {
  init(_ bond: Bond) {
    identity = Address(bond.identity)
    strength = Strength(bond.strength)
    if let address = bond.addressOnAir { (addressOnAir, _) = (Address(address), presence.insert(.addressOnAir)) }
    if let address = bond.ownIdentity { (ownIdentity, _) = (Address(address), presence.insert(.ownIdentity)) }
    if let key = bond.identityResolvingKey {
      (identityResolvingKey, _) = (UnalignedUInt128(key.value), presence.insert(.identityResolvingKey))
    }
    if let key = bond.peripheralKey { (peripheralKey, _) = (Key(key), presence.insert(.peripheralKey)) }
    if let key = bond.centralKey { (centralKey, _) = (Key(key), presence.insert(.centralKey)) }
    if let key = bond.peerCSRK {
      peerCSRK = SigningKey(number: UnalignedUInt128(key.value), counter: bond.peerSignCounter)
      presence.insert(.peerCSRK)
    }
    if let key = bond.ownCSRK {
      ownCSRK = SigningKey(number: UnalignedUInt128(key.value), counter: bond.ownSignCounter)
      presence.insert(.ownCSRK)
    }
    lastUse = bond.lastUse
    supportedFeatures = bond.client.supportedFeatures
    databaseHash = bond.client.databaseHash[...]
    configurations = bond.client.configurations.map {
      Configuration(descriptor: $0.descriptor.rawValue, value: $0.value)
    }
  }
}

extension Bond {
  init(_ fields: BondFields) throws(CodecError) {
    self.init(identity: try fields.identity.address("Address Type"), strength: try fields.strength.strength)
    let presence = fields.presence
    if presence.contains(.addressOnAir) { addressOnAir = try fields.addressOnAir.address("Address on Air") }
    if presence.contains(.ownIdentity) { ownIdentity = try fields.ownIdentity.address("Own Identity") }
    if presence.contains(.identityResolvingKey) {
      identityResolvingKey = SecretKey(fields.identityResolvingKey.value)
    }
    if presence.contains(.peripheralKey) { peripheralKey = try fields.peripheralKey.key }
    if presence.contains(.centralKey) { centralKey = try fields.centralKey.key }
    if presence.contains(.peerCSRK) {
      (peerCSRK, peerSignCounter) = (SecretKey(fields.peerCSRK.number.value), fields.peerCSRK.counter)
    }
    if presence.contains(.ownCSRK) {
      (ownCSRK, ownSignCounter) = (SecretKey(fields.ownCSRK.number.value), fields.ownCSRK.counter)
    }
    lastUse = fields.lastUse
    guard [0, 16].contains(fields.databaseHash.count) else { throw .invalid(field: "Database Hash") }
    client = ClientRecord(
      configurations: fields.configurations.map {
        .init(descriptor: AttributeHandle(rawValue: $0.descriptor), value: $0.value)
      }, supportedFeatures: fields.supportedFeatures, databaseHash: [UInt8](fields.databaseHash))
  }
}

extension BondFields.Address {
  fileprivate init(_ address: DeviceAddress) { (kind, octets) = (address.kind, address.octets) }

  fileprivate func address(_ name: FieldName) throws(CodecError) -> DeviceAddress {
    guard kind == .public || kind == .random else { throw .invalid(field: name) }
    return DeviceAddress(octets: octets, kind: kind)
  }
}

extension BondFields.Strength {
  fileprivate init(_ strength: KeyStrength) {
    size = strength.size
    if strength.isAuthenticated { flags.insert(.isAuthenticated) }
    if strength.isSecureConnections { flags.insert(.isSecureConnections) }
  }

  fileprivate var strength: KeyStrength {
    get throws(CodecError) {
      guard (7...16).contains(size) else { throw .invalid(field: "Key Size") }
      return KeyStrength(
        size: size, isAuthenticated: flags.contains(.isAuthenticated),
        isSecureConnections: flags.contains(.isSecureConnections))
    }
  }
}

extension BondFields.Key {
  fileprivate init(_ key: LongTermKey) {
    (number, ediv, rand) = (UnalignedUInt128(key.value.value), key.ediv, key.rand)
    strength = .init(key.strength)
  }

  fileprivate var key: LongTermKey {
    get throws(CodecError) {
      LongTermKey(value: SecretKey(number.value), ediv: ediv, rand: rand, strength: try strength.strength)
    }
  }
}
