import BLEAssignedNumbers
import BLEKit
import BLETrace
import BLEWire
import Glibc
import ToolCore

/// The peripheral that a file describes: its name, its advertisement, its services with their values.
///
/// ```json
/// {"name": "Thermometer", "appearance": 768,
///  "services": [{"uuid": "181A", "characteristics": [
///    {"uuid": "2A6E", "properties": ["read", "notify"], "value": "21.5 °C"},
///    {"uuid": "String", "properties": ["read", "write"], "value": "text:on", "security": "encrypted"}]}]}
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
    static let fields = ["uuid", "properties", "value", "exec", "every", "security", "description"]
    var uuid: BluetoothUUID
    var properties: [Property]
    /// In the file: the forms of ``TypedValue``.
    var value: [UInt8]
    /// The command that prints the value, instead of a value in the file.
    var command: String?
    /// How often it runs while a client is subscribed, in seconds.
    var period: UInt32 = Self.standardPeriod
    static let standardPeriod: UInt32 = 10
    /// The security that reads, writes and subscriptions need.
    var security: Security
    /// The text of the Characteristic User Description.
    var description: String?
  }

  enum Property: String, CaseIterable, Sendable {
    case read, write, notify, indicate
    case writeWithoutResponse = "write_without_response"
  }

  typealias Security = SeenDevice.Security

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
    if services.contains(where: { $0.characteristics.contains { $0.command != nil } }) {
      try Self.checkCommands(file)
    }
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
    name = try fields.required("name").text(atMost: Self.maximumNameLength)
    appearance = try fields["appearance"].map(Self.appearance)
    passkey = try fields["passkey"].map(Self.passkey)
    let services = try fields.required("services").list { service throws(ConfigurationFault) in try Service(service) }
    self.services = services
    advertise = try fields["advertise"]?.list { value throws(ConfigurationFault) in
      let uuid = try value.uuid(of: .service)
      guard services.contains(where: { $0.uuid == uuid }) else {
        let others = services.map { AssignedNames.uuid($0.uuid) ?? $0.uuid.uuidString }
        throw value.fault(
          "no service of this file is \(uuid.uuidString). "
            + (others.isEmpty ? "It has no services" : "The services are \(others.joined(separator: ", "))"))
      }
      return uuid
    }
  }

  /// The octets of the Device Name at most (Vol 3, Part C, 12.1).
  static let maximumNameLength = 248

  /// Refuses a file with commands that another user can change: they run with the rights of this one.
  private static func checkCommands(_ file: String) throws(ToolError) {
    let slash = file.lastIndex(of: "/")
    let folder = slash.map { $0 == file.startIndex ? "/" : String(file[..<$0]) } ?? "."
    for path in [file, folder] {
      var status = stat()
      guard unsafe stat(path, &status) == 0 else {
        throw .input("\(path) cannot be read: \(Output.text(ofError: errno))")
      }
      guard status.st_uid == geteuid() || status.st_uid == 0 else {
        throw .input("the description \(file) has commands (\"exec\"), and \(path) belongs to another user")
      }
      // In a folder with the sticky bit, another user cannot exchange the file.
      let isSticky = status.st_mode & mode_t(S_ISVTX) != 0 && path == folder
      guard isSticky || status.st_mode & 0o022 == 0 else {
        throw .input(
          "the description \(file) has commands (\"exec\"), and other users can change \(path). Run: chmod go-w "
            + "'\(path)'"
        )
      }
    }
  }

  /// A number, or the name that the Bluetooth SIG has given it.
  private static func appearance(_ value: ConfigurationValue) throws(ConfigurationFault) -> UInt16 {
    guard let text = try? value.text() else { return try value.number(in: 0...UInt16.max) }
    if let number = AssignedNames.appearances(named: text).first { return number }
    let hint = nearest(to: text, in: AssignedNames.appearanceNames).map { "Did you mean \"\($0)\"?" }
    throw value.fault(
      "'\(String(printable: text.prefix(64)))' is not the name of an appearance. "
        + (hint ?? "Write its number, such as 768, or its name, such as \"Generic Thermometer\""))
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
            {
              "uuid": "2A6E", "properties": ["read", "notify"], "value": "21.50 °C",
              "description": "Room temperature"
            },
            {"uuid": "2A3D", "properties": ["read", "write"], "value": "text:kitchen"}
          ]
        },
        {
          "uuid": "180F",
          "characteristics": [{"uuid": "2A19", "properties": ["read", "notify"], "value": "100 %"}]
        }
      ]
    }
    """
}

extension SeenDevice.Security {
  var required: RequiredSecurity {
    switch self {
    case .none: .none
    case .encrypted: .encrypted
    case .authenticated: .authenticated
    }
  }
}

extension ServiceDescription.Service {
  fileprivate init(_ value: ConfigurationValue) throws(ConfigurationFault) {
    let fields = try value.fields(Self.fields)
    let type = try fields.required("uuid")
    uuid = try type.uuid(of: .service)
    if uuid == "1800" || uuid == "1801" {
      throw type.fault(
        "the adapter has the service \(AssignedNames.uuid(uuid) ?? uuid.uuidString) already, with the name and the "
          + "appearance of this file")
    }
    isPrimary = try fields["primary"]?.flag() ?? true
    characteristics = try fields.required("characteristics").list { value throws(ConfigurationFault) in
      try ServiceDescription.Characteristic(value)
    }
  }
}

extension ServiceDescription.Characteristic {
  private static let maximumCommandLength = 4_096

  fileprivate init(_ value: ConfigurationValue) throws(ConfigurationFault) {
    let fields = try value.fields(Self.fields)
    let uuid = try fields.required("uuid").uuid(of: .characteristic)
    self.uuid = uuid
    var found: [ServiceDescription.Property] = []
    let list = try fields.required("properties")
    _ = try list.list { value throws(ConfigurationFault) in
      let property = try value.choice(of: ServiceDescription.Property.self)
      guard !found.contains(property) else { throw value.fault("'\(property.rawValue)' is in the list twice") }
      found.append(property)
    }
    guard !found.isEmpty else {
      let words = ServiceDescription.Property.allCases.map(\.rawValue)
      throw list.fault("a characteristic has at least one of \(words.joined(separator: ", "))")
    }
    properties = found
    self.value = try fields["value"].map { value throws(ConfigurationFault) in try value.octets(of: uuid) } ?? []
    command = try fields["exec"]?.text(atMost: Self.maximumCommandLength)
    period = try fields["every"]?.number(in: 1...86_400) ?? Self.standardPeriod
    if let exec = fields["exec"] {
      if fields["value"] != nil { throw exec.fault("a characteristic has \"value\" or \"exec\", not both") }
      if found.contains(.write) || found.contains(.writeWithoutResponse) {
        throw exec.fault("the value of a command cannot be written: leave write and write_without_response out")
      }
    } else if let every = fields["every"] {
      throw every.fault("this is the period of a command: \"exec\" is missing")
    }
    security = try fields["security"]?.choice() ?? .none
    description = try fields["description"]?.text(atMost: TypedValue.maximumLength)
  }
}

extension ConfigurationValue {
  /// Text of 1 to `limit` octets.
  fileprivate func text(atMost limit: Int) throws(ConfigurationFault) -> String {
    let text = try text()
    guard (1...limit).contains(text.utf8.count) else {
      throw fault("a text of 1 to \(limit) octets is expected, not of \(text.utf8.count)")
    }
    return text
  }

  /// A UUID, or the name of a service or characteristic.
  fileprivate func uuid(of kind: UUIDName.Kind) throws(ConfigurationFault) -> BluetoothUUID {
    let text = try text()
    let uuid: BluetoothUUID
    do throws(UUIDName.Failure) { uuid = try UUIDName.uuid(text, of: kind) } catch { throw fault(error.description) }
    guard !kind.excludes(uuid) else {
      let name = AssignedNames.uuid(uuid).map { " (\($0))" } ?? ""
      throw fault(
        "\(uuid.uuidString)\(name) is not the type of a \(kind.rawValue)"
          + (uuid.shortValue.map { (0x2800..<0x2A00).contains($0) } == true
            ? ": the adapter adds it where it belongs" : ""))
    }
    return uuid
  }

  /// The octets of a value of a characteristic.
  fileprivate func octets(of uuid: BluetoothUUID) throws(ConfigurationFault) -> [UInt8] {
    let text = try text()
    do throws(ToolError) { return try TypedValue.octets(text, of: uuid) } catch { throw fault(error.description) }
  }
}
