import BLEATT
import BLECrypto
import BLEGATT
public import BLEHost
import BLESMP
import BLEWire

/// A field of a bond in the file: its form, and how it is merged when two programs have changed the bond.
///
/// A new stored field of ``Bond`` is one row of ``all``. The identity and the strength are not rows: without them there
/// is no bond.
struct BondField: Sendable {
  typealias Reader = KeyedDecodingContainer<Name>
  typealias Writer = KeyedEncodingContainer<Name>
  /// Merges a field of a bond with the field of the other program's bond of the same device.
  typealias Merge = @Sendable (inout Bond, _ other: Bond) -> Void

  /// The name of a member of the JSON object.
  struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// The fields; octets as hexadecimal digits, keys most significant octet first. Fields without a merge are taken from
  /// the program that counts as the newer one (``BondRecord/merged(with:since:)``).
  static let all: [Self] = [
    .address("addressOnAir", \.addressOnAir, isRandom: "addressOnAirIsRandom"),
    .address("ownAddress", \.ownIdentity, isRandom: "ownAddressIsRandom"),
    .key("identityResolvingKey", \.identityResolvingKey),
    .longTermKey("peripheralKey", \.peripheralKey),
    .longTermKey("centralKey", \.centralKey),
    .key("peerSignatureKey", \.peerCSRK),
    .counter("peerSignCounter", \.peerSignCounter, of: \.peerCSRK),
    .key("ownSignatureKey", \.ownCSRK),
    .counter("ownSignCounter", \.ownSignCounter, of: \.ownCSRK),
    Self(\.client.configurations) {
      try $0.decode([ConfigurationForm].self, forKey: "configurations").map(\.configuration)
    } write: {
      try $1.encode($0.map(ConfigurationForm.init), forKey: "configurations")
    },
    Self(\.client.supportedFeatures) {
      ClientSupportedFeatures(rawValue: try $0.decode(UInt8.self, forKey: "supportedFeatures"))
    } write: {
      try $1.encode($0.rawValue, forKey: "supportedFeatures")
    },
    Self(\.client.databaseHash) {
      guard let hash = [UInt8](hexadecimal: try $0.decode(String.self, forKey: "databaseHash")) else {
        throw $0.corrupted("databaseHash is not hexadecimal")
      }
      return hash
    } write: {
      try $1.encode($0.hexadecimal, forKey: "databaseHash")
    },
    // Files of older versions have none. The latest use is that of either program.
    Self(\.lastUse, merge: { $0.lastUse = max($0.lastUse, $1.lastUse) }) {
      try $0.decodeIfPresent(UInt32.self, forKey: "lastUse") ?? 0
    } write: {
      try $1.encode($0, forKey: "lastUse")
    },
    // Files of older versions have none. One that only the other program knows is kept.
    Self(\.nameOctets, merge: { $0.nameOctets = $0.nameOctets ?? $1.nameOctets }) {
      let name = try $0.decodeIfPresent(String.self, forKey: "name").map { Array($0.utf8) }
      return name.flatMap { $0.count <= Bond.nameLimit ? $0 : nil }
    } write: {
      try $1.encodeIfPresent($0.map { String(decoding: $0, as: UTF8.self) }, forKey: "name")
    },
    // Without it everything is discovered again.
    Self(\.attributeCache) {
      try $0.decodeIfPresent(AttributeCacheForm.self, forKey: "attributes")?.cache
    } write: {
      try $1.encodeIfPresent($0.map(AttributeCacheForm.init), forKey: "attributes")
    },
  ]

  /// The octets of a client configuration in a file at most.
  static let configurationOctets = 80

  /// Whether the field is a key: another value is another pairing. Other fields are notes, which change while a pairing
  /// lasts.
  let isKey: Bool
  let isEqual: @Sendable (Bond, Bond) -> Bool
  let read: @Sendable (Reader, inout Bond) throws -> Void
  let write: @Sendable (Bond, inout Writer) throws -> Void
  let merge: Merge?

  private init<Value: Equatable & SendableMetatype>(
    _ path: any WritableKeyPath<Bond, Value> & Sendable, isKey: Bool = false, merge: Merge? = nil,
    read: @escaping @Sendable (Reader) throws -> Value,
    write: @escaping @Sendable (Value, inout Writer) throws -> Void
  ) {
    (self.isKey, self.merge) = (isKey, merge)
    isEqual = { $0[keyPath: path] == $1[keyPath: path] }
    self.read = { $1[keyPath: path] = try read($0) }
    self.write = { try write($0[keyPath: path], &$1) }
  }

  private static func key(_ name: Name, _ path: any WritableKeyPath<Bond, SecretKey?> & Sendable) -> Self {
    Self(path, isKey: true) {
      try $0.decodeIfPresent(HexadecimalKey.self, forKey: name)?.key
    } write: {
      try $1.encodeIfPresent($0.map(HexadecimalKey.init), forKey: name)
    }
  }

  /// An address; nil in files of older versions, which have none.
  private static func address(
    _ name: Name, _ path: any WritableKeyPath<Bond, DeviceAddress?> & Sendable, isRandom: Name
  ) -> Self {
    Self(path) {
      guard let text = try $0.decodeIfPresent(String.self, forKey: name) else { return nil }
      return try $0.address(text, isRandom: $0.decodeIfPresent(Bool.self, forKey: isRandom) == true)
    } write: {
      try $1.encodeIfPresent($0?.octets.description, forKey: name)
      try $1.encodeIfPresent($0.map { $0.kind == .random }, forKey: isRandom)
    }
  }

  private static func longTermKey(_ name: Name, _ path: any WritableKeyPath<Bond, LongTermKey?> & Sendable) -> Self {
    Self(path, isKey: true) { reader in
      try reader.decodeIfPresent(LongTermKeyForm.self, forKey: name).map { try $0.key(in: reader) }
    } write: {
      try $1.encodeIfPresent($0.map(LongTermKeyForm.init), forKey: name)
    }
  }

  /// A counter of the uses of a key. One that was used is never used again (Vol 3, Part H, 2.4.5): while both programs
  /// have the same key, the higher one counts.
  private static func counter(
    _ name: Name, _ path: any WritableKeyPath<Bond, UInt32> & Sendable, of key: any KeyPath<Bond, SecretKey?> & Sendable
  ) -> Self {
    Self(
      path,
      merge: { bond, other in
        if bond[keyPath: key] == other[keyPath: key] {
          bond[keyPath: path] = max(bond[keyPath: path], other[keyPath: path])
        }
      }
    ) {
      try $0.decode(UInt32.self, forKey: name)
    } write: {
      try $1.encode($0, forKey: name)
    }
  }
}

extension BondField.Name: ExpressibleByStringLiteral {
  init(stringLiteral: String) { self.init(stringValue: stringLiteral) }
}

extension Bond: Codable {
  public init(from decoder: any Decoder) throws {
    let reader = try decoder.container(keyedBy: BondField.Name.self)
    let identity = try reader.address(
      reader.decode(String.self, forKey: "address"), isRandom: reader.decode(Bool.self, forKey: "addressIsRandom"))
    let strength = try reader.decode(KeyStrengthForm.self, forKey: "strength").strength(in: reader)
    self.init(identity: identity, strength: strength)
    for field in BondField.all { try field.read(reader, &self) }
  }

  public func encode(to encoder: any Encoder) throws {
    var writer = encoder.container(keyedBy: BondField.Name.self)
    try writer.encode(address, forKey: "address")
    try writer.encode(identity.kind == .random, forKey: "addressIsRandom")
    try writer.encode(KeyStrengthForm(strength), forKey: "strength")
    for field in BondField.all { try field.write(self, &writer) }
  }
}

extension KeyedDecodingContainer<BondField.Name> {
  fileprivate func corrupted(_ what: String) -> DecodingError {
    DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: what))
  }

  fileprivate func address(_ text: String, isRandom: Bool) throws -> DeviceAddress {
    guard let address = DeviceAddress(text, kind: isRandom ? .random : .public) else {
      throw corrupted("\"\(text)\" is not an address")
    }
    return address
  }
}

private struct KeyStrengthForm: Codable {
  var size: UInt8
  var authenticated, secureConnections: Bool

  init(_ strength: KeyStrength) {
    (size, authenticated) = (strength.size, strength.isAuthenticated)
    secureConnections = strength.isSecureConnections
  }

  func strength(in reader: BondField.Reader) throws -> KeyStrength {
    guard (7...16).contains(size) else { throw reader.corrupted("a key of \(size) octets") }
    return KeyStrength(size: size, isAuthenticated: authenticated, isSecureConnections: secureConnections)
  }
}

private struct LongTermKeyForm: Codable {
  var key: HexadecimalKey
  var ediv: UInt16
  var rand: UInt64
  var strength: KeyStrengthForm

  init(_ key: LongTermKey) {
    (self.key, ediv, rand) = (HexadecimalKey(key: key.value), key.ediv, key.rand)
    strength = KeyStrengthForm(key.strength)
  }

  func key(in reader: BondField.Reader) throws -> LongTermKey {
    LongTermKey(value: key.key, ediv: ediv, rand: rand, strength: try strength.strength(in: reader))
  }
}

private struct ConfigurationForm: Codable {
  var descriptor: UInt16
  var value: UInt16

  init(_ configuration: ClientRecord.Configuration) {
    (descriptor, value) = (configuration.descriptor.rawValue, configuration.value.rawValue)
  }

  var configuration: ClientRecord.Configuration {
    .init(descriptor: AttributeHandle(rawValue: descriptor), value: Subscription(rawValue: value))
  }
}
