import BLECrypto
import BLEHost
import BLEJSON
import BLESMP
import BLEWire

/// The form of ``BondRecord`` in a file: JSON, octets as hexadecimal digits, keys most significant octet first.
extension BondRecord: Codable {
  /// Files of another version are not read.
  static let version = 1

  private enum Keys: String, CodingKey { case version, program, identityResolvingKey, bonds }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    let version = try container.decode(Int.self, forKey: .version)
    guard version == Self.version else {
      throw DecodingError.dataCorruptedError(
        forKey: .version, in: container,
        debugDescription: "it has version \(version), this program reads version \(Self.version)")
    }
    identityResolvingKey = try container.decodeIfPresent(HexadecimalKey.self, forKey: .identityResolvingKey)?.key
    bonds = try container.decode([Bond].self, forKey: .bonds)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(Self.version, forKey: .version)
    try container.encode(NewerVersion.writer, forKey: .program)
    try container.encodeIfPresent(identityResolvingKey.map(HexadecimalKey.init), forKey: .identityResolvingKey)
    try container.encode(bonds, forKey: .bonds)
  }
}

/// Octets that are not a record of bonds.
struct CorruptRecord: Error, CustomStringConvertible {
  /// The reason, without the octets themselves: they may be a key.
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
  ///
  /// - Throws: ``NewerVersion``, or ``CorruptRecord``.
  init(decoding octets: [UInt8]) throws {
    do {
      let json = try JSON(decoding: octets)
      try NewerVersion.check(json, reads: Self.version)
      self = try json.decode(BondRecord.self)
    } catch let error as NewerVersion {
      throw error
    } catch {
      throw CorruptRecord(error)
    }
  }

  /// The content of a file.
  func encoded() throws -> [UInt8] { try JSON(encoding: self).encoded }
}

/// 32 hexadecimal digits.
struct HexadecimalKey: Codable {
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
