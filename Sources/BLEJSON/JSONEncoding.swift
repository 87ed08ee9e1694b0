/// Encodes a value as ``JSON``, by the protocols of the standard library.
struct JSONEncoding: Encoder {
  /// A value while it is being encoded.
  fileprivate final class Place {
    var value = JSON.null
    /// The elements of an array, the members of an object: nil for other values.
    var elements: [Place]?
    var members: [String: Place]?

    var json: JSON {
      if let members { return .object(members.mapValues(\.json)) }
      return elements.map { .array($0.map(\.json)) } ?? value
    }
    func element() -> Place {
      let place = Place()
      elements?.append(place)
      return place
    }
    func member(_ name: String) -> Place {
      let place = Place()
      members?[name] = place
      return place
    }
  }

  fileprivate let place: Place
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// The JSON of a value.
  static func json(of value: some Encodable) throws -> JSON {
    let place = Place()
    try value.encode(to: JSONEncoding(place: place, codingPath: []))
    return place.json
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    place.members = place.members ?? [:]
    return KeyedEncodingContainer(Members(encoding: self))
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    place.elements = place.elements ?? []
    return Elements(encoding: self)
  }
  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  fileprivate func encoding(_ place: Place, _ key: any CodingKey) -> JSONEncoding {
    JSONEncoding(place: place, codingPath: codingPath + [key])
  }
}

extension JSONEncoding: SingleValueEncodingContainer {
  func encodeNil() { place.value = .null }
  func encode(_ value: Bool) { place.value = .boolean(value) }
  func encode(_ value: String) { place.value = .string(value) }
  func encode(_ value: Double) throws { try number(value) }
  func encode(_ value: Float) throws { try number(value) }
  func encode(_ value: Int) { number(value) }
  func encode(_ value: Int8) { number(value) }
  func encode(_ value: Int16) { number(value) }
  func encode(_ value: Int32) { number(value) }
  func encode(_ value: Int64) { number(value) }
  func encode(_ value: UInt) { number(value) }
  func encode(_ value: UInt8) { number(value) }
  func encode(_ value: UInt16) { number(value) }
  func encode(_ value: UInt32) { number(value) }
  func encode(_ value: UInt64) { number(value) }
  func encode(_ value: some Encodable) throws { try value.encode(to: self) }

  private func number(_ value: some BinaryInteger) { place.value = .number(value.description) }

  /// The shortest text that is read as the same number, without a fraction if it has none.
  private func number(_ value: some BinaryFloatingPoint & LosslessStringConvertible) throws {
    guard value.isFinite else {
      throw EncodingError.invalidValue(value, .init(codingPath: codingPath, debugDescription: "not a finite number"))
    }
    let text = value.description
    place.value = .number(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
  }
}

extension JSONEncoding {
  private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoding: JSONEncoding
    var codingPath: [any CodingKey] { encoding.codingPath }

    private func member(_ key: any CodingKey) -> JSONEncoding {
      encoding.encoding(encoding.place.member(key.stringValue), key)
    }
    func encodeNil(forKey key: Key) { member(key).encodeNil() }
    func encode(_ value: some Encodable, forKey key: Key) throws { try value.encode(to: member(key)) }
    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { member(key).container(keyedBy: type) }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { member(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { member(JSONIndex.parent) }
    func superEncoder(forKey key: Key) -> any Encoder { member(key) }
  }

  private struct Elements: UnkeyedEncodingContainer {
    let encoding: JSONEncoding
    var codingPath: [any CodingKey] { encoding.codingPath }
    var count: Int { encoding.place.elements?.count ?? 0 }

    private func element() -> JSONEncoding {
      let key = JSONIndex(index: count)
      return encoding.encoding(encoding.place.element(), key)
    }
    func encodeNil() { element().encodeNil() }
    func encode(_ value: some Encodable) throws { try value.encode(to: element()) }
    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
      element().container(keyedBy: type)
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }
    func superEncoder() -> any Encoder { element() }
  }
}

/// The place of an element of an array in a coding path, and the key of a superclass.
struct JSONIndex: CodingKey {
  let stringValue: String
  let intValue: Int?

  static var parent: Self { Self(stringValue: "super") }

  init(index: Int) { (stringValue, intValue) = ("Index \(index)", index) }
  init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
  init?(intValue: Int) { self.init(index: intValue) }
}
