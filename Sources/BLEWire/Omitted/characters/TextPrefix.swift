extension String {
  /// The octets of UTF-8 of the leading Unicode scalars that fit in `limit` octets. Combining
  /// them to characters would need Unicode's tables.
  package func octetsOfCharacters(upTo limit: Int) -> Int { unicodeScalars.octets(upTo: limit) { UTF8.width($0) } }
}
