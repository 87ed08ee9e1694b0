import BLEAdapter
import BLEWire
import Foundation

/// The state of one manager in its ``RestorationStore``, as JSON.
///
/// `{"version": 1, "program": …, "role": "central", "identifier": "main", "content": …}`. A record of another version,
/// role or identifier is not restored.
struct RestorationRecord<Content: Codable & Equatable & Sendable>: Codable {
  var version = RestorationStore.version
  /// Files of older programs have none.
  var program: String? = RestorationStore.writer
  var role: RestorationStore.Role
  var identifier: String
  var content: Content

  init(_ content: Content, of store: RestorationStore) {
    (role, identifier, self.content) = (store.role, store.identifier, content)
  }
}

extension RestorationStore {
  /// The state of an earlier run; nil where there is none, and, with a line in the log, where it cannot be used.
  func restored<Content: Codable & Equatable & Sendable>(_ type: Content.Type) -> Content? {
    guard let octets = load() else { return nil }
    guard let record = try? JSONDecoder().decode(RestorationRecord<Content>.self, from: Data(octets)),
      record.version == RestorationStore.version, record.role == role, record.identifier == identifier
    else {
      report("cannot be restored (it is damaged, or of another version). The next change replaces it")
      return nil
    }
    return record.content
  }

  /// Saves what `content` returns, soon.
  func schedule<Content: Codable & Equatable & Sendable>(content: @escaping @Sendable () -> Content?) {
    schedule { [weak self] in self?.encode(content()) }
  }

  /// Saves the last state of a manager that ends.
  func settle<Content: Codable & Equatable & Sendable>(content: Content?) { settle { encode(content) } }

  private func encode<Content: Codable & Equatable & Sendable>(_ content: Content?) -> [UInt8]? {
    guard let content else { return nil }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return (try? encoder.encode(RestorationRecord(content, of: self))).map { [UInt8]($0) }
  }
}

/// A UUID in the form in which it was made: 4, 8 or 32 hexadecimal digits.
struct RestoredUUID: Codable, Hashable {
  let uuid: BluetoothUUID

  init(_ uuid: BluetoothUUID) { self.uuid = uuid }

  init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    let octets = stride(from: 0, to: text.utf8.count, by: 2).map { offset in
      UInt8(text.dropFirst(offset).prefix(2), radix: 16)
    }
    guard !octets.contains(nil), let uuid = BluetoothUUID(bigEndian: octets.compactMap(\.self)) else {
      throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no UUID"))
    }
    self.uuid = uuid
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(
      uuid.littleEndian.reversed().map { String(format: "%02x", Int($0)) }.joined())
  }
}
