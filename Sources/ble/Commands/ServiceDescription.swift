import BLEKit
import BLEWire
import Foundation

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
  /// The UUIDs in the advertisement; nil for those of all primary services.
  var advertise: [String]?
  var services: [Service]

  struct Service: Decodable, Sendable {
    var uuid: String
    var primary: Bool?
    var characteristics: [Characteristic]
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
    do { self = try JSONDecoder().decode(Self.self, from: data) } catch {
      throw .data("\(file): \(Self.reason(error))")
    }
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
