import BLEAssignedNumbers
package import BLEKit
package import BLETrace
import BLEWire
import Glibc
package import ToolCore

/// The file of a description.
extension ServiceDescription {
  /// Reads a file.
  ///
  /// - Throws: ``ToolError``, which names the line and the place in the file.
  package init(file: String) throws(ToolError) {
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
  package init(_ octets: [UInt8], of file: String) throws(ToolError) {
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
    advertising = try fields["advertising"].map { value throws(ConfigurationFault) in try Advertising(value) }
    periodic = try fields["periodic"].map { value throws(ConfigurationFault) in try Periodic(value) }
    address = try fields["address"].map { value throws(ConfigurationFault) in try Address(value) }
    mtu = try fields["mtu"]?.number(in: 23...517)
    connection = try fields["connection"].map { value throws(ConfigurationFault) in try Connection(value) }
    pairing = try fields["pairing"].map { value throws(ConfigurationFault) in try Pairing(value) }
    try checkHandles(try fields.required("services"))
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
  package static let maximumNameLength = 248

  /// Refuses a file with commands that another user can change: they run with the rights of this one.
  private static func checkCommands(_ file: String) throws(ToolError) {
    let slash = file.lastIndex(of: "/")
    let folder = slash.map { $0 == file.startIndex ? "/" : String(file[..<$0]) } ?? "."
    for path in [file, folder] {
      var status = stat()
      guard unsafe stat(path, &status) == 0 else {
        throw .input("\(path) cannot be read: \(ToolError.text(ofError: errno))")
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
    guard let passkey = PasskeyText.number(try value.text()) else {
      throw value.fault("a passkey has six digits, such as \"012345\"")
    }
    return passkey
  }
}

extension SeenDevice.Security {
  package var required: RequiredSecurity {
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
    uuid = try type.uuid(of: .service, isAny: fields.has("handle"))
    if let first = try fields["handle"]?.handle() {
      handles = first...(try fields.required("end").number(in: first...UInt16.max))
      includes =
        try fields["includes"]?.list { value throws(ConfigurationFault) in
          let fields = try value.fields(ServiceDescription.Include.fields)
          return ServiceDescription.Include(
            handle: try fields.required("handle").handle(), value: try fields.required("value").octets(of: nil))
        } ?? []
    } else if let extra = fields["end"] ?? fields["includes"] {
      throw extra.fault("this is part of a service with a handle: \"handle\" is missing")
    } else if uuid == "1800" || uuid == "1801" {
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
    let uuid = try fields.required("uuid").uuid(of: .characteristic, isAny: fields.has("handle"))
    self.uuid = uuid
    var found: [ServiceDescription.Property] = []
    (properties, self.value, security) = ([], [], .none)
    let list = try fields.required("properties")
    _ = try list.list { value throws(ConfigurationFault) in
      let property = try value.choice(of: ServiceDescription.Property.self)
      guard !found.contains(property) else { throw value.fault("'\(property.rawValue)' is in the list twice") }
      found.append(property)
    }
    try readTwin(fields)
    guard !found.isEmpty || handle != nil else {
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

  /// An attribute handle.
  fileprivate func handle() throws(ConfigurationFault) -> UInt16 { try number(in: 1...UInt16.max) }

  /// A number of milliseconds.
  fileprivate func milliseconds() throws(ConfigurationFault) -> UInt32 {
    try number(in: 0...ServiceDescription.maximumDelay)
  }

  /// A UUID, or the name of a service or characteristic.
  ///
  /// - Parameter isAny: whether a copy of a device has it, which may use any UUID.
  fileprivate func uuid(
    of kind: UUIDName.Kind, isAny: Bool = false
  ) throws(ConfigurationFault) -> BluetoothUUID {
    let text = try text()
    let uuid: BluetoothUUID
    do throws(UUIDName.Failure) { uuid = try UUIDName.uuid(text, of: kind) } catch { throw fault(error.description) }
    guard isAny || !kind.excludes(uuid) else {
      let name = AssignedNames.uuid(uuid).map { " (\($0))" } ?? ""
      throw fault(
        "\(uuid.uuidString)\(name) is not the type of a \(kind.rawValue)"
          + (uuid.shortValue.map { (0x2800..<0x2A00).contains($0) } == true
            ? ": the adapter adds it where it belongs" : ""))
    }
    return uuid
  }

  /// The octets of a value of a characteristic.
  fileprivate func octets(of uuid: BluetoothUUID?) throws(ConfigurationFault) -> [UInt8] {
    let text = try text()
    do throws(ToolError) { return try TypedValue.octets(text, of: uuid) } catch { throw fault(error.description) }
  }
}

// MARK: - Copies of devices

extension ServiceDescription {
  /// The time between two things that happen at most, in milliseconds: an hour.
  package static let maximumDelay: UInt32 = 3_600_000

  /// Checks the handles of a description that has any: all attributes have one, in ascending order, and each place that
  /// names a value names one that exists.
  private func checkHandles(_ list: ConfigurationValue) throws(ConfigurationFault) {
    guard hasHandles else {
      for service in services {
        for characteristic in service.characteristics where characteristic.usesHandles {
          throw list.fault(
            "\(characteristic.uuid.uuidString) has fields of a copy of a device, which need the handles of all "
              + "services and characteristics")
        }
      }
      return
    }
    var last: UInt16 = 0
    func check(_ handle: UInt16?, _ uuid: BluetoothUUID, upTo end: UInt16) throws(ConfigurationFault) {
      guard let handle else {
        throw list.fault("\(uuid.uuidString) has no handle: all services and characteristics have one, or none")
      }
      guard handle > last, handle <= end else {
        throw list.fault(
          "the handle \(handle) of \(uuid.uuidString) is not above the one before it (\(last)), or is past the end of "
            + "its service (\(end))")
      }
      last = handle
    }
    var values: Set<UInt16> = []
    for service in services {
      let end = service.handles?.upperBound ?? .max
      try check(service.handles?.lowerBound, service.uuid, upTo: end)
      for include in service.includes { try check(include.handle, "2802", upTo: end) }
      for characteristic in service.characteristics {
        try check(characteristic.handle, characteristic.uuid, upTo: end)
        try check(characteristic.placeOfValue, characteristic.uuid, upTo: end)
        values.insert(characteristic.placeOfValue ?? 0)
        for descriptor in characteristic.descriptors { try check(descriptor.handle, descriptor.uuid, upTo: end) }
      }
      last = end
    }
    for handle in services.flatMap(\.characteristics).flatMap(\.usedHandles) where !values.contains(handle) {
      throw list.fault("no characteristic has a value with the handle \(handle)")
    }
  }
}

extension ServiceDescription.Advertising {
  fileprivate init(_ value: ConfigurationValue) throws(ConfigurationFault) {
    let fields = try value.fields(Self.fields)
    isExtended = try fields["extended"]?.flag() ?? false
    isConnectable = try fields["connectable"]?.flag() ?? true
    data = try fields["data"]?.advertisement(isExtended) ?? []
    scanResponse = try fields["scan_response"]?.advertisement(isExtended) ?? []
    interval = try fields["interval"]?.number(in: 20...10_240)
  }
}

extension ServiceDescription.Periodic {
  fileprivate init(_ value: ConfigurationValue) throws(ConfigurationFault) {
    let fields = try value.fields(Self.fields)
    data = try fields.required("data").advertisement(true)
    interval = try fields["interval"]?.number(in: 8...81_920) ?? 100
  }
}

extension ServiceDescription.Address {
  fileprivate init(_ value: ConfigurationValue) throws(ConfigurationFault) {
    switch try value.text() {
    case "public": self = .publicAddress
    case "static": self = .staticRandom
    case "resolvable": self = .resolvable
    case let text:
      guard let octets = [UInt8](hexadecimal: text.filter { $0 != ":" }), octets.count == 6, octets[0] >> 6 == 0b11
      else {
        throw value.fault(
          "\"public\", \"static\", \"resolvable\" or a static random address, whose first digit is C to F, is expected")
      }
      self = .given(BD_ADDR(octets.reduce(0) { $0 << 8 | UInt64($1) }))
    }
  }
}

extension ServiceDescription.Connection {
  fileprivate init(_ value: ConfigurationValue) throws(ConfigurationFault) {
    let fields = try value.fields(Self.fields)
    delay = try fields["after"]?.milliseconds() ?? 0
    let list = try fields.required("interval")
    let limits = try list.list { value throws(ConfigurationFault) in try value.number(in: 6...3_200) as UInt16 }
    guard limits.count == 2, limits[0] <= limits[1] else {
      throw list.fault("the shortest and the longest interval are expected, in units of 1.25 ms: [24, 40]")
    }
    interval = limits[0]...limits[1]
    latency = try fields["latency"]?.number(in: 0...499) ?? 0
    timeout = try fields["timeout"]?.number(in: 10...3_200) ?? 600
  }
}

extension ServiceDescription.Pairing {
  fileprivate init(_ value: ConfigurationValue) throws(ConfigurationFault) {
    let fields = try value.fields(Self.fields)
    isEnabled = try fields["enabled"]?.flag() ?? true
    capability = try fields["capability"]?.choice()
    isBonding = try fields["bonding"]?.flag() ?? true
    hasSecureConnections = try fields["secure_connections"]?.flag() ?? true
    requestDelay = try fields["request_after"]?.milliseconds()
  }
}

extension ServiceDescription.Characteristic {
  /// The handle of the value.
  package var placeOfValue: UInt16? { valueHandle ?? handle.map { $0 == .max ? $0 : $0 + 1 } }

  /// Whether it has fields that need handles.
  fileprivate var usesHandles: Bool {
    handle != nil || valueHandle != nil || !otherProperties.isEmpty || !descriptors.isEmpty || refusal != nil
      || secures.count < ServiceDescription.Access.allCases.count || !reads.isEmpty || !subscriptions.isEmpty
      || !writes.isEmpty
  }

  /// The handles of other values that it names.
  fileprivate var usedHandles: [UInt16] {
    let updates = subscriptions.flatMap(\.self) + writes.flatMap(\.updates)
    return updates.compactMap(\.handle) + writes.flatMap(\.reads).map(\.handle)
  }

  /// Reads the fields of a copy of a device.
  private mutating func readTwin(_ fields: ConfigurationFields) throws(ConfigurationFault) {
    let uuid = uuid
    handle = try fields["handle"]?.handle()
    valueHandle = try fields["value_handle"]?.handle()
    otherProperties =
      try fields["more_properties"]?.list { value throws(ConfigurationFault) in
        try value.choice(of: ServiceDescription.OtherProperty.self)
      } ?? []
    descriptors =
      try fields["descriptors"]?.list { value throws(ConfigurationFault) in
        try ServiceDescription.Descriptor(value)
      } ?? []
    if let list = fields["secures"] {
      secures = Set(
        try list.list { value throws(ConfigurationFault) in try value.choice(of: ServiceDescription.Access.self) })
    }
    refusal = try fields["refusal"]?.number(in: 1...15)
    reads = try fields["reads"]?.answers(of: uuid) ?? []
    if let list = fields["reads"], fields["value"] != nil || fields["exec"] != nil {
      throw list.fault("a characteristic has \"reads\", or \"value\" or \"exec\", not both")
    }
    subscriptions =
      try fields["subscriptions"]?.list { value throws(ConfigurationFault) in
        try value.list { value throws(ConfigurationFault) in try ServiceDescription.Update(value, of: uuid) }
      } ?? []
    writes =
      try fields["writes"]?.list { value throws(ConfigurationFault) in
        try ServiceDescription.Write(value, of: uuid)
      } ?? []
    if handle != nil, let extra = fields["description"] {
      throw extra.fault("a characteristic with a handle has its description in \"descriptors\", as 2901")
    }
  }
}

extension ServiceDescription.Descriptor {
  fileprivate init(_ value: ConfigurationValue) throws(ConfigurationFault) {
    let fields = try value.fields(Self.fields)
    let uuid = try fields.required("uuid").uuid(of: .characteristic, isAny: true)
    self.uuid = uuid
    handle = try fields.required("handle").handle()
    self.value = try fields["value"].map { value throws(ConfigurationFault) in try value.octets(of: uuid) } ?? []
  }
}

extension ServiceDescription.Update {
  fileprivate init(_ value: ConfigurationValue, of uuid: BluetoothUUID) throws(ConfigurationFault) {
    let fields = try value.fields(Self.fields)
    delay = try fields["after"]?.milliseconds() ?? 0
    handle = try fields["handle"]?.handle()
    disconnects = try fields["disconnect"]?.flag() ?? false
    requestsSecurity = try fields["security_request"]?.flag() ?? false
    connection = try fields["connection"].map { value throws(ConfigurationFault) in
      var connection = try ServiceDescription.Connection(value)
      connection.delay = 0
      return connection
    }
    isBeforeAnswer = try fields["before_answer"]?.flag() ?? false
    // The type of the value at another handle is not looked up: its octets are written with their form.
    let isOther = handle != nil
    self.value =
      try fields["value"].map { value throws(ConfigurationFault) in try value.octets(of: isOther ? nil : uuid) } ?? []
  }
}

extension ServiceDescription.Write {
  fileprivate init(_ value: ConfigurationValue, of uuid: BluetoothUUID) throws(ConfigurationFault) {
    let fields = try value.fields(Self.fields)
    self.value = try fields.required("value").octets(of: uuid)
    error = try fields["error"]?.number(in: 1...255)
    delay = try fields["delay"]?.milliseconds() ?? 0
    updates =
      try fields["then"]?.list { value throws(ConfigurationFault) in
        try ServiceDescription.Update(value, of: uuid)
      } ?? []
    reads =
      try fields["reads"]?.list { value throws(ConfigurationFault) in
        let fields = try value.fields(Values.fields)
        return Values(
          handle: try fields.required("handle").handle(), values: try fields.required("values").answers(of: nil))
      } ?? []
  }
}

extension ConfigurationValue {
  /// The answers to successive reads: values, or objects with an error.
  fileprivate func answers(of uuid: BluetoothUUID?) throws(ConfigurationFault) -> [ServiceDescription.ReadAnswer] {
    try list { value throws(ConfigurationFault) in
      guard (try? value.text()) == nil else { return .value(try value.octets(of: uuid)) }
      return .error(try value.fields(["error"]).required("error").number(in: 1...255))
    }
  }

  /// The octets of advertising data.
  fileprivate func advertisement(_ isExtended: Bool) throws(ConfigurationFault) -> [UInt8] {
    let limit = isExtended ? LinkLayerLimits.extendedAdvertisingData : LinkLayerLimits.legacyAdvertisingData
    let text = try text()
    guard let octets = [UInt8](hexadecimal: text), octets.count <= limit else {
      throw fault("pairs of hexadecimal digits are expected, at most \(limit) octets")
    }
    return octets
  }
}
