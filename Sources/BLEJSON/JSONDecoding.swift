/// Decodes a value from ``JSON``, by the protocols of the standard library.
struct JSONDecoding: Decoder {
  private let json: JSON
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  private init(_ json: JSON, _ codingPath: [any CodingKey]) { (self.json, self.codingPath) = (json, codingPath) }

  /// Decodes the value of a JSON value.
  ///
  /// - Throws: `DecodingError`.
  static func value<Value: Decodable>(_ type: Value.Type, of json: JSON) throws -> Value {
    try Value(from: JSONDecoding(json, []))
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let members) = json else { throw mismatch([String: JSON].self) }
    return KeyedDecodingContainer(Members(members: members, codingPath: codingPath))
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = json else { throw mismatch([JSON].self) }
    return Elements(elements: elements, codingPath: codingPath)
  }
  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  private func mismatch(_ type: Any.Type) -> DecodingError {
    if json == .null {
      return .valueNotFound(type, .init(codingPath: codingPath, debugDescription: "null"))
    }
    return .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "a value of another type"))
  }
}

extension JSONDecoding: SingleValueDecodingContainer {
  func decodeNil() -> Bool { json == .null }
  func decode(_ type: Bool.Type) throws -> Bool {
    guard case .boolean(let value) = json else { throw mismatch(type) }
    return value
  }
  func decode(_ type: String.Type) throws -> String {
    guard case .string(let value) = json else { throw mismatch(type) }
    return value
  }
  func decode(_ type: Double.Type) throws -> Double { try fraction() }
  func decode(_ type: Float.Type) throws -> Float { try fraction() }
  func decode(_ type: Int.Type) throws -> Int { try integer() }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
  func decode(_ type: UInt.Type) throws -> UInt { try integer() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }

  /// A number without a fraction, as `12`, `12.0` or `1.2e1`.
  private func integer<Value: FixedWidthInteger>() throws -> Value {
    guard case .number(let text) = json else { throw mismatch(Value.self) }
    guard let value = Value(text) ?? Double(text).flatMap({ Value(exactly: $0) }) else {
      throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: "\(text) is no \(Value.self)"))
    }
    return value
  }

  private func fraction<Value: LosslessStringConvertible>() throws -> Value {
    guard case .number(let text) = json, let value = Value(text) else { throw mismatch(Value.self) }
    return value
  }
}

extension JSONDecoding {
  private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [String: JSON]
    let codingPath: [any CodingKey]
    var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

    private func member(_ key: any CodingKey) throws -> JSONDecoding {
      guard let json = members[key.stringValue] else {
        throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "no such member"))
      }
      return JSONDecoding(json, codingPath + [key])
    }
    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try member(key).decodeNil() }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
      try Value(from: try member(key))
    }
    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { try member(key).container(keyedBy: type) }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      try member(key).unkeyedContainer()
    }
    func superDecoder() throws -> any Decoder { try member(JSONIndex.parent) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }
  }

  private struct Elements: UnkeyedDecodingContainer {
    let elements: [JSON]
    let codingPath: [any CodingKey]
    private(set) var currentIndex = 0
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    init(elements: [JSON], codingPath: [any CodingKey]) { (self.elements, self.codingPath) = (elements, codingPath) }

    /// The element at the index. The index advances if `body` does not throw.
    private mutating func next<Value>(_ type: Any.Type, _ body: (JSONDecoding) throws -> Value) throws -> Value {
      let path = codingPath + [JSONIndex(index: currentIndex)]
      guard currentIndex < elements.count else {
        throw DecodingError.valueNotFound(type, .init(codingPath: path, debugDescription: "the array has ended"))
      }
      let value = try body(JSONDecoding(elements[currentIndex], path))
      currentIndex += 1
      return value
    }
    mutating func decodeNil() throws -> Bool {
      guard !isAtEnd, elements[currentIndex] == .null else { return false }
      currentIndex += 1
      return true
    }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
      try next(type) { try Value(from: $0) }
    }
    mutating func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> { try next(type) { try $0.container(keyedBy: type) } }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
      try next([JSON].self) { try $0.unkeyedContainer() }
    }
    mutating func superDecoder() throws -> any Decoder { try next((any Decoder).self) { $0 } }
  }
}
