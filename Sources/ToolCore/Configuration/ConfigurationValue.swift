import BLEJSON
import BLELinux
import BLEWire
import Glibc

/// A value of a JSON file that a person has written, with its place in the file.
///
/// Errors name the file, the line, the place and what the field takes. An object has the fields that the program names,
/// each once, and no others: otherwise a misspelt field would be ignored, and `"secruity": "encrypted"` would give an
/// open characteristic.
///
/// ```swift
/// let name = try ConfigurationValue.read(file: "lamp.json") { value throws(ConfigurationFault) in
///   try value.fields(["name"]).required("name").text()
/// }
/// ```
public struct ConfigurationValue: Sendable {
  private let json: JSON
  private let path: [JSON.Step]

  fileprivate init(_ json: JSON, at path: [JSON.Step]) { (self.json, self.path) = (json, path) }

  /// The maximum length of a file, in octets.
  public static let maximumFileLength = 1 << 20

  /// Reads a file.
  ///
  /// - Throws: ``ConfigurationError``.
  public static func read<Value>(
    file: String, _ body: (ConfigurationValue) throws(ConfigurationFault) -> Value
  ) throws(ConfigurationError) -> Value {
    try read(try octets(of: file), of: file, body)
  }

  /// Reads the content of a file.
  ///
  /// - Throws: ``ConfigurationError``.
  public static func read<Value>(
    _ octets: [UInt8], of file: String, _ body: (ConfigurationValue) throws(ConfigurationFault) -> Value
  ) throws(ConfigurationError) -> Value {
    func line(_ position: Int) -> Int { 1 + octets[..<min(position, octets.count)].count { $0 == UInt8(ascii: "\n") } }
    var parser = JSONParser(octets, isStrict: true)
    let json: JSON
    do throws(JSONParser.Failure) { json = try parser.file() } catch {
      let fault =
        switch error.reason {
        case .expected(let element): "this is not JSON: \(element) is expected here"
        case .repeated(let name): "\"\(String(printable: name.prefix(40)))\" is given twice in this object"
        }
      throw ConfigurationError(.malformed, "\(file):\(line(error.position)): \(fault)")
    }
    do throws(ConfigurationFault) { return try body(ConfigurationValue(json, at: [])) } catch {
      let place = JSONParser.position(of: error.path, in: octets).map { ":\(line($0))" } ?? ""
      throw ConfigurationError(.malformed, "\(file)\(place): \(error)")
    }
  }

  private static func octets(of file: String) throws(ConfigurationError) -> [UInt8] {
    do throws(SystemError) { return try Files.octets(of: file, atMost: maximumFileLength) } catch {
      let reason =
        error.number == EFBIG
        ? "it has more than \(maximumFileLength) octets" : ToolError.text(ofError: error.number)
      throw ConfigurationError(.unreadable, "\(file) cannot be read: \(reason)")
    }
  }

  /// An error about this value.
  public func fault(_ text: String) -> ConfigurationFault { ConfigurationFault(path: path, text: text) }

  private func expected(_ what: String) -> ConfigurationFault {
    let found =
      switch json {
      case .null: "null"
      case .boolean(let value): "\(value)"
      case .number(let text): text
      case .string(let text): "\"\(String(printable: text.prefix(40)))\(text.count > 40 ? "…" : "")\""
      case .array: "a list"
      case .object: "an object"
      }
    return fault("\(what) is expected, not \(found)")
  }

  // MARK: - Values

  public func text() throws(ConfigurationFault) -> String {
    guard case .string(let text) = json else { throw expected("text in quotation marks") }
    return text
  }

  public func flag() throws(ConfigurationFault) -> Bool {
    guard case .boolean(let value) = json else { throw expected("true or false") }
    return value
  }

  /// A number without a fraction.
  public func number<Number: FixedWidthInteger & Sendable>(
    in range: ClosedRange<Number>
  ) throws(ConfigurationFault) -> Number {
    guard case .number(let text) = json,
      let number = Number(text) ?? Double(text).flatMap({ Number(exactly: $0) }), range.contains(number)
    else { throw expected("a number from \(range.lowerBound) to \(range.upperBound)") }
    return number
  }

  /// One of the raw values of a type.
  public func choice<Choice: RawRepresentable<String> & CaseIterable>(
    of type: Choice.Type = Choice.self
  ) throws(ConfigurationFault) -> Choice {
    let words = type.allCases.map(\.rawValue)
    guard case .string(let text) = json else { throw expected("one of \(words.joined(separator: ", "))") }
    if let choice = Choice(rawValue: text) { return choice }
    let hint = nearest(to: text, in: words).map { ". Did you mean \"\($0)\"?" } ?? ""
    throw fault("'\(String(printable: text.prefix(40)))' is not one of \(words.joined(separator: ", "))\(hint)")
  }

  /// The elements of a list.
  public func list<Element>(
    _ element: (ConfigurationValue) throws(ConfigurationFault) -> Element
  ) throws(ConfigurationFault) -> [Element] {
    guard case .array(let values) = json else { throw expected("a list in [ ]") }
    var elements: [Element] = []
    for (index, value) in values.enumerated() {
      elements.append(try element(ConfigurationValue(value, at: path + [.element(index)])))
    }
    return elements
  }

  /// The fields of an object.
  ///
  /// - Parameter names: the fields that it can have; another one is an error, with the name that is most like it.
  public func fields(_ names: [String]) throws(ConfigurationFault) -> ConfigurationFields {
    guard case .object(let members) = json else { throw expected("an object in { }") }
    if let unknown = members.keys.filter({ !names.contains($0) }).min() {
      let hint =
        nearest(to: unknown, in: names).map { "Did you mean \"\($0)\"?" }
        ?? "The fields are \(names.joined(separator: ", "))."
      throw ConfigurationFault(path: path + [.member(unknown)], text: "unknown field. \(hint)")
    }
    return ConfigurationFields(members: members, path: path)
  }
}

/// The fields of an object in a file.
public struct ConfigurationFields: Sendable {
  fileprivate let members: [String: JSON]
  fileprivate let path: [JSON.Step]

  /// The value of a field; nil if it is missing or null.
  public subscript(_ name: String) -> ConfigurationValue? {
    guard let json = members[name], json != .null else { return nil }
    return ConfigurationValue(json, at: path + [.member(name)])
  }

  /// Whether the field is present, null or not.
  public func has(_ name: String) -> Bool { members[name] != nil }

  /// The value of a field that has to be there.
  public func required(_ name: String) throws(ConfigurationFault) -> ConfigurationValue {
    guard let value = self[name] else { throw ConfigurationFault(path: path, text: nil, missing: name) }
    return value
  }
}

/// The fault of a value, and its place in the file.
public struct ConfigurationFault: Error, CustomStringConvertible {
  fileprivate let path: [JSON.Step]
  private let text: String?
  private let missing: String?

  fileprivate init(path: [JSON.Step], text: String?, missing: String? = nil) {
    (self.path, self.text, self.missing) = (path, text, missing)
  }

  /// `services[0].uuid: …`.
  public var description: String {
    let steps = path.map { step in
      switch step {
      case .member(let name): ".\(String(printable: name))"
      case .element(let index): "[\(index)]"
      }
    }
    let place = path.isEmpty ? "the top level" : String(steps.joined().drop { $0 == "." })
    return missing.map { "\(place) has no \"\($0)\"" } ?? "\(place): \(text ?? "")"
  }
}

/// Why a file cannot be used: one line with the file, the line, the place and what the field takes.
public struct ConfigurationError: Error, Equatable, CustomStringConvertible {
  public enum Kind: Sendable {
    /// There is no such file, or it may not be read.
    case unreadable
    /// Its content is wrong.
    case malformed
  }

  public let kind: Kind
  public let description: String

  init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }
}
