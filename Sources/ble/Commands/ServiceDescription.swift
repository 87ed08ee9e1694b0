import BLEKit
import BLEWire
import Foundation
import ToolCore

/// The peripheral that a file describes: its name, its advertisement, its services with their values.
///
/// ```json
/// {"name": "Thermometer", "appearance": 768,
///  "services": [{"uuid": "181A", "characteristics": [
///    {"uuid": "2A6E", "properties": ["read", "notify"], "value": "6608"},
///    {"uuid": "2A00", "properties": ["read", "write"], "value": "text:on", "security": "encrypted"}]}]}
/// ```
struct ServiceDescription: Decodable, Sendable {
  var name: String
  var appearance: UInt16?
  /// Six digits for every pairing; nil for new ones in each.
  var passkey: Passkey?
  /// The UUIDs in the advertisement; nil for those of all primary services.
  var advertise: [String]?
  var services: [Service]

  enum CodingKeys: String, CodingKey, CaseIterable { case name, appearance, passkey, advertise, services }

  init(from decoder: any Decoder) throws {
    let values = try decoder.strictContainer(keyedBy: CodingKeys.self)
    name = try values.decode(String.self, forKey: .name)
    appearance = try values.decodeIfPresent(UInt16.self, forKey: .appearance)
    passkey = try values.decodeIfPresent(Passkey.self, forKey: .passkey)
    advertise = try values.decodeIfPresent([String].self, forKey: .advertise)
    services = try values.decode([Service].self, forKey: .services)
  }

  /// Six digits, as text: the first one may be 0.
  struct Passkey: Decodable, Equatable, Sendable {
    let number: UInt32

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      let text = try value.decode(String.self)
      guard case .value(let number?) = PairingQuestions.passkey(text) else {
        throw DecodingError.dataCorruptedError(
          in: value, debugDescription: "a passkey has six digits, such as \"012345\"")
      }
      self.number = number
    }
  }

  /// Whether a characteristic needs a key that is protected against a device in the middle.
  var needsAuthentication: Bool {
    services.contains { $0.characteristics.contains { $0.security == .authenticated } }
  }

  struct Service: Decodable, Sendable {
    var uuid: String
    var primary: Bool?
    var characteristics: [Characteristic]

    enum CodingKeys: String, CodingKey, CaseIterable { case uuid, primary, characteristics }

    init(from decoder: any Decoder) throws {
      let values = try decoder.strictContainer(keyedBy: CodingKeys.self)
      uuid = try values.decode(String.self, forKey: .uuid)
      primary = try values.decodeIfPresent(Bool.self, forKey: .primary)
      characteristics = try values.decode([Characteristic].self, forKey: .characteristics)
    }
  }

  struct Characteristic: Decodable, Sendable {
    var uuid: String
    var properties: [Property]
    /// Pairs of hexadecimal digits, or `text:…`.
    var value: String?
    /// The security that reads, writes and subscriptions need.
    var security: Security?
    /// The text of the Characteristic User Description.
    var description: String?

    enum CodingKeys: String, CodingKey, CaseIterable { case uuid, properties, value, security, description }

    init(from decoder: any Decoder) throws {
      let values = try decoder.strictContainer(keyedBy: CodingKeys.self)
      uuid = try values.decode(String.self, forKey: .uuid)
      properties = try values.decode([Property].self, forKey: .properties)
      value = try values.decodeIfPresent(String.self, forKey: .value)
      security = try values.decodeIfPresent(Security.self, forKey: .security)
      description = try values.decodeIfPresent(String.self, forKey: .description)
    }
  }

  enum Property: String, Decodable, Sendable {
    case read, write, notify, indicate
    case writeWithoutResponse = "write_without_response"
  }

  enum Security: String, Decodable, Sendable {
    case none, encrypted, authenticated

    var required: RequiredSecurity {
      switch self {
      case .none: .none
      case .encrypted: .encrypted
      case .authenticated: .authenticated
      }
    }
  }

  /// Reads a file.
  ///
  /// - Throws: ``ToolError``, which names the place in the file.
  init(file: String) throws(ToolError) {
    guard let data = FileManager.default.contents(atPath: file) else {
      throw .input("\(file) cannot be read. Name a description in JSON; ble serve --example prints one.")
    }
    try self.init(data, of: file)
  }

  /// Reads the content of a file.
  ///
  /// - Throws: ``ToolError``, which names the place in the file.
  init(_ data: Data, of file: String) throws(ToolError) {
    do { self = try JSONDecoder().decode(Self.self, from: data) } catch {
      throw .data("\(file)\(Self.line(of: error, in: data)): \(Self.reason(error))")
    }
  }

  /// `:LINE` of an unknown field.
  private static func line(of error: any Error, in data: Data) -> String {
    guard case DecodingError.dataCorrupted(let context) = error, let key = context.codingPath.last as? UnknownField
    else { return "" }
    let lines = String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    let text = "\"\(key.stringValue)\""
    let number = lines.firstIndex { line in
      line.ranges(of: text).contains { line[$0.upperBound...].drop(while: \.isWhitespace).first == ":" }
    }
    return number.map { ":\($0 + 1)" } ?? ""
  }

  /// The place in the file and the fault.
  private static func reason(_ error: any Error) -> String {
    func place(_ path: [any CodingKey]) -> String {
      let text = path.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
      return text.isEmpty ? "the top level" : String(text.drop { $0 == "." })
    }
    return switch error {
    case DecodingError.keyNotFound(let key, let context): "\(place(context.codingPath)) has no \"\(key.stringValue)\""
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.dataCorrupted(let context):
      "\(place(context.codingPath)): \(context.debugDescription)"
    default: "\(error)"
    }
  }

  /// An example that works.
  static let example = """
    {
      "name": "Thermometer",
      "appearance": 768,
      "services": [
        {
          "uuid": "181A",
          "characteristics": [
            {"uuid": "2A6E", "properties": ["read", "notify"], "value": "6608", "description": "Room temperature"},
            {"uuid": "2A3D", "properties": ["read", "write"], "value": "text:kitchen"}
          ]
        },
        {
          "uuid": "180F",
          "characteristics": [{"uuid": "2A19", "properties": ["read", "notify"], "value": "64"}]
        }
      ]
    }
    """
}
