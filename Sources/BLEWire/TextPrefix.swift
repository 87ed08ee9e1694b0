extension String {
  /// The octets of UTF-8 of the leading characters that fit in `limit` octets. A letter and the accents that combine
  /// with it are one character.
  package func octetsOfCharacters(upTo limit: Int) -> Int { octets(upTo: limit) { $0.utf8.count } }
}
