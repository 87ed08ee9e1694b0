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

/// The word that is most like `text`, for a question such as "Did you mean …?"; nil where none is.
func nearest(to text: String, in words: [String]) -> String? {
  // A long text cannot be a slip of a word, and the distance takes time in proportion to both lengths.
  guard text.count <= 64 else { return nil }
  let distances = words.map { (word: $0, distance: editDistance($0.lowercased(), text.lowercased())) }
  guard let best = distances.min(by: { $0.distance < $1.distance }) else { return nil }
  // Half of a short word, three characters of a long one.
  return best.distance <= min(3, max(1, text.count / 2)) ? best.word : nil
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
