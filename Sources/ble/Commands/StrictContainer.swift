import ToolCore

/// A field that a description does not have.
struct UnknownField: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

extension Decoder {
  /// The fields of an object, which has no others: a misspelt one would be ignored, and `"secruity": "encrypted"` give an open characteristic.
  ///
  /// - Throws: `DecodingError` with an ``UnknownField`` at the end of its path, and the known field that is most like it.
  func strictContainer<Keys: CodingKey & CaseIterable>(keyedBy keys: Keys.Type) throws -> KeyedDecodingContainer<Keys> {
    let names = Keys.allCases.map(\.stringValue)
    let found = try container(keyedBy: UnknownField.self)
    for key in found.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) where !names.contains(key.stringValue) {
      let hint =
        nearest(to: key.stringValue, in: names).map { "Did you mean \"\($0)\"?" }
        ?? "The fields are \(names.joined(separator: ", "))."
      throw DecodingError.dataCorruptedError(forKey: key, in: found, debugDescription: "unknown field. \(hint)")
    }
    return try container(keyedBy: keys)
  }
}
