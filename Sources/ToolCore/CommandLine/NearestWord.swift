/// The word that is most like `text`, for a question such as "Did you mean …?"; nil if there is none.
package func nearest(to text: String, in words: [String]) -> String? {
  // A long text cannot be a misspelt word, and the distance takes time in proportion to both lengths.
  guard text.count <= 64 else { return nil }
  let distances = words.map { (word: $0, distance: editDistance($0.lowercased(), text.lowercased())) }
  guard let best = distances.min(by: { $0.distance < $1.distance }) else { return nil }
  // Half of a short word, three characters of a long one.
  return best.distance <= min(3, max(1, text.count / 2)) ? best.word : nil
}

/// The least number of characters to insert, remove or replace to turn one text into the other (Levenshtein).
package func editDistance(_ one: String, _ other: String) -> Int {
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
