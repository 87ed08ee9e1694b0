import BLEATT
import BLECrypto
import BLEGATT
import BLEHost
import BLEJSON
import BLESMP
import BLEWire

/// The form of ``BondRecord`` in a file: JSON, octets as hexadecimal digits, keys most significant octet first.
extension BondRecord: Codable {
  /// Files of another version are not read.
  static let version = 1

  private enum Keys: String, CodingKey { case version, identityResolvingKey, bonds }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    let version = try container.decode(Int.self, forKey: .version)
    guard version == Self.version else {
      throw DecodingError.dataCorruptedError(
        forKey: .version, in: container, debugDescription: "version \(version), and \(Self.version) is known")
    }
    identityResolvingKey = try container.decodeIfPresent(HexadecimalKey.self, forKey: .identityResolvingKey)?.key
    bonds = try container.decode([Bond].self, forKey: .bonds)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(Self.version, forKey: .version)
    try container.encodeIfPresent(identityResolvingKey.map(HexadecimalKey.init), forKey: .identityResolvingKey)
    try container.encode(bonds, forKey: .bonds)
  }
}

/// Octets that are no record of bonds.
struct CorruptRecord: Error, CustomStringConvertible {
  /// Why, without the octets themselves: they may be a key.
  let description: String

  fileprivate init(_ error: any Error) {
    let place: String? =
      switch error {
      case DecodingError.keyNotFound(let key, _): "\"\(key.stringValue)\" is missing"
      case DecodingError.dataCorrupted(let context) where !context.codingPath.isEmpty:
        context.codingPath.map(\.stringValue).joined(separator: ".")
      default: nil
      }
    description = "it is not a file of bonds" + (place.map { ": \($0)" } ?? "")
  }
}

extension BondRecord {
  /// Reads the whole content of a file.
  init(decoding octets: [UInt8]) throws(CorruptRecord) {
    do {
      self = try JSON(decoding: octets).decode(BondRecord.self)
    } catch {
      throw CorruptRecord(error)
    }
  }

  /// The content of a file.
  func encoded() throws -> [UInt8] { try JSON(encoding: self).encoded }
}

extension Bond: Codable {
  private struct Form: Codable {
    struct Strength: Codable { var size: UInt8, authenticated, secureConnections: Bool }
    struct LongTermKey: Codable { var key: HexadecimalKey, ediv: UInt16, rand: UInt64, strength: Strength }
    struct Configuration: Codable { var descriptor: UInt16, value: UInt16 }

    var address: String
    var addressIsRandom: Bool
    /// The fixed address it uses instead; files of older versions have none.
    var addressOnAir: String?
    var addressOnAirIsRandom: Bool?
    var strength: Strength
    var identityResolvingKey: HexadecimalKey?
    var peripheralKey: LongTermKey?
    var centralKey: LongTermKey?
    var peerSignatureKey: HexadecimalKey?
    var peerSignCounter: UInt32
    var ownSignatureKey: HexadecimalKey?
    var ownSignCounter: UInt32
    var configurations: [Configuration]
    var supportedFeatures: UInt8
    var databaseHash: String
    /// Files of older versions have none.
    var lastUse: UInt32?
    /// What is known of the device's own database.
    var attributes: AttributeCacheForm?
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let form = try container.decode(Form.self)
    func corrupted(_ what: String) -> DecodingError {
      DecodingError.dataCorruptedError(in: container, debugDescription: what)
    }
    guard let identity = DeviceAddress(form.address, kind: form.addressIsRandom ? .random : .public) else {
      throw corrupted("\"\(form.address)\" is no address")
    }
    guard let hash = [UInt8](hexadecimal: form.databaseHash) else { throw corrupted("databaseHash is not hexadecimal") }
    func strength(_ form: Form.Strength) throws -> KeyStrength {
      guard (7...16).contains(form.size) else { throw corrupted("a key of \(form.size) octets") }
      return KeyStrength(
        size: form.size, isAuthenticated: form.authenticated, isSecureConnections: form.secureConnections)
    }
    func key(_ form: Form.LongTermKey) throws -> BLESMP.LongTermKey {
      BLESMP.LongTermKey(
        value: form.key.key, ediv: form.ediv, rand: form.rand, strength: try strength(form.strength))
    }
    var record = BLEHost.Bond(identity: identity, strength: try strength(form.strength))
    record.addressOnAir = try form.addressOnAir.map { text in
      guard let address = DeviceAddress(text, kind: form.addressOnAirIsRandom == true ? .random : .public) else {
        throw corrupted("\"\(text)\" is no address")
      }
      return address
    }
    record.identityResolvingKey = form.identityResolvingKey?.key
    record.peripheralKey = try form.peripheralKey.map(key)
    record.centralKey = try form.centralKey.map(key)
    record.peerCSRK = form.peerSignatureKey?.key
    record.peerSignCounter = form.peerSignCounter
    record.ownCSRK = form.ownSignatureKey?.key
    record.ownSignCounter = form.ownSignCounter
    record.lastUse = form.lastUse ?? 0
    record.client = ClientRecord(
      configurations: form.configurations.map {
        .init(descriptor: AttributeHandle(rawValue: $0.descriptor), value: Subscription(rawValue: $0.value))
      },
      supportedFeatures: ClientSupportedFeatures(rawValue: form.supportedFeatures), databaseHash: hash)
    // Without it everything is discovered again.
    record.attributeCache = form.attributes?.cache
    self.init(record)
  }

  public func encode(to encoder: any Encoder) throws {
    func strength(_ strength: KeyStrength) -> Form.Strength {
      Form.Strength(
        size: strength.size, authenticated: strength.isAuthenticated, secureConnections: strength.isSecureConnections)
    }
    func key(_ key: BLESMP.LongTermKey) -> Form.LongTermKey {
      Form.LongTermKey(
        key: HexadecimalKey(key: key.value), ediv: key.ediv, rand: key.rand, strength: strength(key.strength))
    }
    var container = encoder.singleValueContainer()
    try container.encode(
      Form(
        address: address, addressIsRandom: record.identity.kind == .random,
        addressOnAir: record.addressOnAir?.octets.description,
        addressOnAirIsRandom: record.addressOnAir.map { $0.kind == .random }, strength: strength(record.strength),
        identityResolvingKey: record.identityResolvingKey.map(HexadecimalKey.init),
        peripheralKey: record.peripheralKey.map(key), centralKey: record.centralKey.map(key),
        peerSignatureKey: record.peerCSRK.map(HexadecimalKey.init), peerSignCounter: record.peerSignCounter,
        ownSignatureKey: record.ownCSRK.map(HexadecimalKey.init), ownSignCounter: record.ownSignCounter,
        configurations: record.client.configurations.map {
          .init(descriptor: $0.descriptor.rawValue, value: $0.value.rawValue)
        },
        supportedFeatures: record.client.supportedFeatures.rawValue,
        databaseHash: record.client.databaseHash.hexadecimal, lastUse: record.lastUse,
        attributes: record.attributeCache.map(AttributeCacheForm.init)))
  }
}

/// 32 hexadecimal digits.
private struct HexadecimalKey: Codable {
  var key: SecretKey

  init(key: SecretKey) { self.key = key }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let octets = [UInt8](hexadecimal: text), let value = UInt128(bigEndian: octets) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "a key is not 32 hexadecimal digits")
    }
    key = SecretKey(value)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(key.value.bigEndianOctets.hexadecimal)
  }
}
