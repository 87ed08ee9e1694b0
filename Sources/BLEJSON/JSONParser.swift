/// Parses the octets of a JSON file (RFC 8259, 2 to 8).
///
/// It rejects octets after the value, numbers and escapes outside the grammar, and strings that are not UTF-8. In a
/// file of a program it accepts a comma before a closing bracket, and of two members of an object with the same name
/// the first one counts, as for Foundation's decoder, so that a file that was edited by hand stays valid. A strict
/// parser, for files that people write, rejects both: of two values only one could be used.
package struct JSONParser {
  /// A fault, and its place.
  package struct Failure: Error {
    package enum Reason: Equatable, CustomStringConvertible {
      /// The element that was not found.
      case expected(String)
      /// The name of a member that the object has already.
      case repeated(String)

      package var description: String {
        switch self {
        case .expected(let element): "\(element) is expected"
        case .repeated(let name): "\"\(name)\" is given twice"
        }
      }
    }

    /// The number of octets before it.
    package var position: Int
    package var reason: Reason
  }

  private let octets: [UInt8]
  private let isStrict: Bool
  private var position = 0

  package init(_ octets: [UInt8], isStrict: Bool = false) { (self.octets, self.isStrict) = (octets, isStrict) }

  /// The value that is the whole file.
  package mutating func file() throws(Failure) -> JSON {
    if octets.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    let value = try value(depth: 0)
    guard next == nil else { throw failure("the end") }
    return value
  }

  /// The place of a value in a file that ``file()`` accepts: the number of octets before it; for a member, before its
  /// name. Nil if there is no such value.
  package static func position(of path: [JSON.Step], in octets: [UInt8]) -> Int? {
    var parser = JSONParser(octets)
    if octets.starts(with: [0xEF, 0xBB, 0xBF]) { parser.position = 3 }
    return try? parser.position(of: path[...], depth: 0)
  }

  /// Parses a value, and finds one inside it.
  ///
  /// - Parameter depth: the arrays and objects around the value.
  private mutating func position(of path: ArraySlice<JSON.Step>, depth: Int) throws(Failure) -> Int? {
    let (opening, start) = (next, position)
    var found = path.isEmpty ? start : nil
    switch (path.first, opening) {
    case (.member(let name)?, UInt8(ascii: "{")):
      try members(depth: depth + 1) { (parser, member, place) throws(Failure) in
        // Of two members with the same name the first one counts.
        guard member == name, found == nil else { return _ = try parser.value(depth: depth + 1) }
        let inside = try parser.position(of: path.dropFirst(), depth: depth + 1)
        found = path.count == 1 ? place : inside
      }
    case (.element(let index)?, UInt8(ascii: "[")):
      var number = 0
      try elements("]", depth: depth + 1) { (parser) throws(Failure) in
        defer { number += 1 }
        guard number == index else { return _ = try parser.value(depth: depth + 1) }
        found = try parser.position(of: path.dropFirst(), depth: depth + 1)
      }
    default: _ = try value(depth: depth)
    }
    return found
  }

  private func failure(_ expected: String) -> Failure {
    Failure(position: position, reason: .expected(expected))
  }

  private var current: UInt8? { position < octets.count ? octets[position] : nil }

  /// The next octet that is not white space.
  private var next: UInt8? {
    mutating get {
      // A search in an array literal would take most of the time of a debug build.
      while let octet = current {
        switch octet {
        case 0x20, 0x09, 0x0A, 0x0D: position += 1
        default: return octet
        }
      }
      return nil
    }
  }

  private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard current == UInt8(ascii: scalar) else { return false }
    position += 1
    return true
  }

  /// - Parameter depth: the arrays and objects around the value.
  private mutating func value(depth: Int) throws(Failure) -> JSON {
    switch next {
    case UInt8(ascii: "{"): return try object(depth: depth + 1)
    case UInt8(ascii: "["): return try array(depth: depth + 1)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try literal("true", .boolean(true))
    case UInt8(ascii: "f"): return try literal("false", .boolean(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    case let octet? where octet == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet):
      return .number(try number())
    default: throw failure("a value")
    }
  }

  private mutating func literal(_ text: String, _ value: JSON) throws(Failure) -> JSON {
    guard octets[position...].starts(with: text.utf8) else { throw failure(text) }
    position += text.utf8.count
    return value
  }

  private mutating func object(depth: Int) throws(Failure) -> JSON {
    var members: [String: JSON] = [:]
    try self.members(depth: depth) { (parser, name, place) throws(Failure) in
      if parser.isStrict, members[name] != nil { throw Failure(position: place, reason: .repeated(name)) }
      let value = try parser.value(depth: depth)
      if members[name] == nil { members[name] = value }
    }
    return .object(members)
  }

  /// Parses the members of an object; `value` parses each value, and gets the name with its place.
  private mutating func members(
    depth: Int, _ value: (inout JSONParser, String, Int) throws(Failure) -> Void
  ) throws(Failure) {
    try elements("}", depth: depth) { (parser) throws(Failure) in
      guard parser.next == UInt8(ascii: "\"") else { throw parser.failure("a name") }
      let place = parser.position
      let name = try parser.string()
      guard parser.next == UInt8(ascii: ":"), parser.take(":") else { throw parser.failure("a colon") }
      try value(&parser, name, place)
    }
  }

  private mutating func array(depth: Int) throws(Failure) -> JSON {
    var values: [JSON] = []
    try elements("]", depth: depth) { (parser) throws(Failure) in values.append(try parser.value(depth: depth)) }
    return .array(values)
  }

  /// Parses elements with commas between them, from the opening bracket to the closing one.
  private mutating func elements(
    _ closing: Unicode.Scalar, depth: Int, _ element: (inout JSONParser) throws(Failure) -> Void
  ) throws(Failure) {
    guard depth <= JSON.maximumDepth else { throw failure("at most \(JSON.maximumDepth) arrays and objects") }
    position += 1
    var followsComma = false
    while followsComma && isStrict || next != UInt8(ascii: closing) {
      try element(&self)
      guard next == UInt8(ascii: ",") || next == UInt8(ascii: closing) else { throw failure("a comma or \(closing)") }
      followsComma = take(",")
    }
    position += 1
  }

  private mutating func number() throws(Failure) -> String {
    let start = position
    _ = take("-")
    if !take("0") { try digits() }
    if take(".") { try digits() }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      try digits()
    }
    return String(decoding: octets[start..<position], as: UTF8.self)
  }

  private mutating func digits() throws(Failure) {
    let start = position
    while let octet = current, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet) { position += 1 }
    guard position > start else { throw failure("a digit") }
  }

  private mutating func string() throws(Failure) -> String {
    position += 1
    var text: [UInt8] = []
    while let octet = current, octet != UInt8(ascii: "\"") {
      guard octet >= 0x20 else { throw failure("no control character") }
      if octet == UInt8(ascii: "\\") {
        position += 1
        text += String(try escaped()).utf8
      } else {
        text.append(octet)
        position += 1
      }
    }
    guard take("\"") else { throw failure("a quotation mark") }
    guard let string = String(validating: text, as: UTF8.self) else { throw failure("UTF-8") }
    return string
  }

  private mutating func escaped() throws(Failure) -> Unicode.Scalar {
    defer { position += 1 }
    switch current {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{08}"
    case UInt8(ascii: "f"): return "\u{0C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return try escapedScalar()
    default: throw failure("an escape sequence")
    }
  }

  /// Four hexadecimal digits, or two times four for a scalar outside the basic plane. Ends at the last digit.
  private mutating func escapedScalar() throws(Failure) -> Unicode.Scalar {
    let first = try codeUnit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    position += 1
    guard UTF16.isLeadSurrogate(first), take("\\"), current == UInt8(ascii: "u") else {
      throw failure("a low surrogate")
    }
    let second = try codeUnit()
    guard UTF16.isTrailSurrogate(second) else { throw failure("a low surrogate") }
    let value = 0x10000 + (UInt32(first) & 0x3FF) << 10 + UInt32(second) & 0x3FF
    guard let scalar = Unicode.Scalar(value) else { throw failure("a Unicode scalar") }
    return scalar
  }

  private mutating func codeUnit() throws(Failure) -> UInt16 {
    var value: UInt16 = 0
    for _ in 0..<4 {
      position += 1
      guard let digit = current.flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }) else {
        throw failure("a hexadecimal digit")
      }
      value = value << 4 | UInt16(digit)
    }
    return value
  }
}
