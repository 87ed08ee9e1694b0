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
      let nearest = names.min { editDistance($0, key.stringValue) < editDistance($1, key.stringValue) }
      let hint =
        nearest.flatMap { editDistance($0, key.stringValue) <= 3 ? "Did you mean \"\($0)\"?" : nil }
        ?? "The fields are \(names.joined(separator: ", "))."
      throw DecodingError.dataCorruptedError(forKey: key, in: found, debugDescription: "unknown field. \(hint)")
    }
    return try container(keyedBy: keys)
  }
}

/// The least number of characters to insert, remove or replace that makes one text of the other (Levenshtein).
func editDistance(_ one: String, _ other: String) -> Int {
  let columns = Array(other)
  var row = Array(0...columns.count)
  for (index, character) in one.enumerated() {
    var diagonal = row[0]
    row[0] = index + 1
    for column in columns.indices {
      let replaced = diagonal + (columns[column] == character ? 0 : 1)
      diagonal = row[column + 1]
      row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
    }
  }
  return row[columns.count]
}
