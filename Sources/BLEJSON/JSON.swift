import BLEWire

/// A JSON value (RFC 8259), for the files of bonds and of devices, and for those that people write for the programs of
/// this package.
///
/// FoundationEssentials has an encoder of its own, but takes 2 MB in each program that is linked with it
/// (Docs/Decisions/wire-and-codecs.md#json). The octets that are written are those of its `JSONEncoder` with the
/// options `prettyPrinted` and `sortedKeys`.
///
/// ```
///   octets ──JSONParser──► JSON ──JSONDecoding──► Decodable          Encodable ──JSONEncoding──► JSON ──encoded──► octets
/// ```
package enum JSON: Equatable, Sendable {
  case null
  case boolean(Bool)
  /// The characters of a number: a 64-bit integer does not fit into a `Double`.
  case number(String)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  /// One step from a value to a value inside it.
  package enum Step: Equatable, Sendable {
    case member(String)
    case element(Int)
  }

  /// The maximum depth of nested arrays and objects, including the outermost one. A deeper file is rejected.
  static let maximumDepth = 32

  /// Parses a whole file, UTF-8 with or without a byte order mark.
  ///
  /// - Throws: `DecodingError.dataCorrupted` with an empty path.
  package init(decoding octets: [UInt8]) throws {
    var parser = JSONParser(octets)
    do throws(JSONParser.Failure) {
      self = try parser.file()
    } catch {
      throw DecodingError.dataCorrupted(
        .init(codingPath: [], debugDescription: "not JSON at octet \(error.position): \(error.reason)"))
    }
  }

  /// The JSON of a value.
  ///
  /// - Throws: `EncodingError` for a number that is not finite.
  package init(encoding value: some Encodable) throws { self = try JSONEncoding.json(of: value) }

  /// Decodes the value.
  ///
  /// - Throws: `DecodingError`.
  package func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try JSONDecoding.value(type, of: self)
  }

  /// The content of a file: each element on a line, the keys of an object in order.
  package var encoded: [UInt8] {
    var octets: [UInt8] = []
    write(to: &octets, indentation: 0)
    return octets
  }

  /// One line without spaces and without its end, the keys of an object in order: Foundation's options `sortedKeys` and
  /// `withoutEscapingSlashes`.
  package var line: String {
    var octets: [UInt8] = []
    write(to: &octets, indentation: nil)
    return String(decoding: octets, as: UTF8.self)
  }

  /// - Parameter indentation: the arrays and objects around the value; nil writes it in one line.
  private func write(to octets: inout [UInt8], indentation: Int?) {
    switch self {
    case .null: octets += "null".utf8
    case .boolean(let value): octets += (value ? "true" : "false").utf8
    case .number(let text): octets += text.utf8
    case .string(let text): Self.write(text, to: &octets, escapesSlashes: indentation != nil)
    case .array(let elements):
      Self.write(elements, "[", "]", to: &octets, indentation) { $0.write(to: &$1, indentation: $2) }
    case .object(let members):
      Self.write(members.sorted { $0.key < $1.key }, "{", "}", to: &octets, indentation) { member, octets, inside in
        Self.write(member.key, to: &octets, escapesSlashes: inside != nil)
        octets += (inside == nil ? ":" : " : ").utf8
        member.value.write(to: &octets, indentation: inside)
      }
    }
  }

  private static func write<Element>(
    _ elements: [Element], _ opening: Unicode.Scalar, _ closing: Unicode.Scalar, to octets: inout [UInt8],
    _ indentation: Int?, _ body: (Element, inout [UInt8], Int?) -> Void
  ) {
    func beginLine(_ indentation: Int?) {
      guard let indentation else { return }
      octets.append(UInt8(ascii: "\n"))
      for _ in 0..<2 * indentation { octets.append(UInt8(ascii: " ")) }
    }
    let inside = indentation.map { $0 + 1 }
    octets.append(UInt8(ascii: opening))
    for (index, element) in elements.enumerated() {
      if index > 0 { octets += ",".utf8 }
      beginLine(inside)
      body(element, &octets, inside)
    }
    if elements.isEmpty, indentation != nil { octets += "\n".utf8 }
    beginLine(indentation)
    octets.append(UInt8(ascii: closing))
  }

  private static func write(_ text: String, to octets: inout [UInt8], escapesSlashes: Bool) {
    octets.append(UInt8(ascii: "\""))
    for octet in text.utf8 {
      switch octet {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): octets += [UInt8(ascii: "\\"), octet]
      case UInt8(ascii: "/") where escapesSlashes: octets += [UInt8(ascii: "\\"), octet]
      case 0x08: octets += "\\b".utf8
      case 0x09: octets += "\\t".utf8
      case 0x0A: octets += "\\n".utf8
      case 0x0C: octets += "\\f".utf8
      case 0x0D: octets += "\\r".utf8
      case 0..<0x20: octets += "\\u00\([octet].hexadecimal)".utf8
      default: octets.append(octet)
      }
    }
    octets.append(UInt8(ascii: "\""))
  }
}
