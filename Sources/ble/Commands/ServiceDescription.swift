import BLEKit
import BLEWire
import ToolCore

/// The peripheral that a file describes: its name, its advertisement, its services with their values.
///
/// ```json
/// {"name": "Thermometer", "appearance": 768,
///  "services": [{"uuid": "181A", "characteristics": [
///    {"uuid": "2A6E", "properties": ["read", "notify"], "value": "6608"},
///    {"uuid": "2A00", "properties": ["read", "write"], "value": "text:on", "security": "encrypted"}]}]}
/// ```
struct ServiceDescription: Equatable, Sendable {
  /// The fields of the file.
  static let fields = ["name", "appearance", "passkey", "advertise", "services"]
  var name: String
  var appearance: UInt16?
  /// Six digits for every pairing; nil for new digits in each pairing.
  var passkey: UInt32?
  /// The UUIDs in the advertisement; nil for those of all primary services.
  var advertise: [BluetoothUUID]?
  var services: [Service]

  struct Service: Equatable, Sendable {
    static let fields = ["uuid", "primary", "characteristics"]
    var uuid: BluetoothUUID
    var isPrimary: Bool
    var characteristics: [Characteristic]
  }

  struct Characteristic: Equatable, Sendable {
    static let fields = ["uuid", "properties", "value", "security", "description"]
    var uuid: BluetoothUUID
    var properties: [Property]
    /// In the file: pairs of hexadecimal digits, or `text:…`.
    var value: [UInt8]
    /// The security that reads, writes and subscriptions need.
    var security: Security
    /// The text of the Characteristic User Description.
    var description: String?
  }

  enum Property: String, CaseIterable, Sendable {
    case read, write, notify, indicate
    case writeWithoutResponse = "write_without_response"
  }

  enum Security: String, CaseIterable, Sendable {
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
  /// - Throws: ``ToolError``, which names the line and the place in the file.
  init(file: String) throws(ToolError) {
    do throws(ConfigurationError) {
      self = try ConfigurationValue.read(file: file) { value throws(ConfigurationFault) in try Self(value) }
    } catch {
      if error.kind == .malformed { throw .data(error.description) }
      throw .input("\(error.description). Name a description in JSON; ble serve --example prints one.")
    }
    if passkey != nil { try SecretFile.check(file, "description with a passkey") }
  }

  /// Reads the content of a file.
  ///
  /// - Throws: ``ToolError``, which names the line and the place in the file.
  init(_ octets: [UInt8], of file: String) throws(ToolError) {
    do throws(ConfigurationError) {
      self = try ConfigurationValue.read(octets, of: file) { value throws(ConfigurationFault) in try Self(value) }
    } catch { throw .data(error.description) }
  }

  private init(_ value: ConfigurationValue) throws(ConfigurationFault) {
    let fields = try value.fields(Self.fields)
    name = try fields.required("name").text()
    appearance = try fields["appearance"]?.number(in: 0...UInt16.max)
    passkey = try fields["passkey"].map(Self.passkey)
    advertise = try fields["advertise"]?.list { uuid throws(ConfigurationFault) in try uuid.uuid() }
    services = try fields.required("services").list { service throws(ConfigurationFault) in try Service(service) }
  }

  /// Six digits, as text: the first one may be 0.
  private static func passkey(_ value: ConfigurationValue) throws(ConfigurationFault) -> UInt32 {
    guard case .value(let passkey?) = PairingQuestions.passkey(try value.text()) else {
      throw value.fault("a passkey has six digits, such as \"012345\"")
    }
    return passkey
  }

  /// Whether a characteristic needs a key that is protected against a device in the middle.
  var needsAuthentication: Bool {
    services.contains { $0.characteristics.contains { $0.security == .authenticated } }
  }

  /// Whether everything except the values is the same.
  func hasStructure(of other: Self) -> Bool { withoutValues == other.withoutValues }

  private var withoutValues: Self {
    var copy = self
    for service in copy.services.indices {
      for characteristic in copy.services[service].characteristics.indices {
        copy.services[service].characteristics[characteristic].value = []
      }
    }
    return copy
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

extension ServiceDescription.Service {
  fileprivate init(_ value: ConfigurationValue) throws(ConfigurationFault) {
    let fields = try value.fields(Self.fields)
    uuid = try fields.required("uuid").uuid()
    isPrimary = try fields["primary"]?.flag() ?? true
    characteristics = try fields.required("characteristics").list { value throws(ConfigurationFault) in
      try ServiceDescription.Characteristic(value)
    }
  }
}

extension ServiceDescription.Characteristic {
  fileprivate init(_ value: ConfigurationValue) throws(ConfigurationFault) {
    let fields = try value.fields(Self.fields)
    uuid = try fields.required("uuid").uuid()
    properties = try fields.required("properties").list { value throws(ConfigurationFault) in
      try value.choice(of: ServiceDescription.Property.self)
    }
    self.value = try fields["value"].map(Self.octets) ?? []
    security = try fields["security"]?.choice() ?? .none
    description = try fields["description"]?.text()
  }

  private static func octets(_ value: ConfigurationValue) throws(ConfigurationFault) -> [UInt8] {
    let text = try value.text()
    do throws(ToolError) { return try ValueCommands.octets(text) } catch { throw value.fault(error.description) }
  }
}
