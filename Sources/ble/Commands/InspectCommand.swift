import BLEATT
import BLEAssignedNumbers
import BLEKit
import BLETrace
import BLETwin
import BLEWire
import ToolCore

/// `ble inspect`: all services of a device with their values.
enum InspectCommand {
  static let declaration = CommandDeclaration(
    name: "inspect", summary: "shows the services, characteristics and values of a device",
    details: [
      "The handle of a characteristic follows its properties.",
      "Every readable characteristic and descriptor is read. A value that needs encryption makes the adapter pair, where the device "
        + "pairs without a question.",
    ],
    operands: [.device],
    options: CommandDeclaration.Option.adapter + [
      .json, CommandDeclaration.Option.timeout, .flag("no-values", "reads no values"),
      .flag("describe", "prints the description of the device, for ble serve"),
    ],
    examples: [
      .init(commandLine: "ble inspect Thermometer", effect: "shows the device that advertises this name"),
      .init(
        commandLine: "ble inspect Thermometer --describe > copy.json",
        effect: "writes a description; ble serve copy.json is a device with the same services and values"),
    ],
    run: run)

  struct Service: Encodable, Sendable {
    var uuid: String
    var name: String?
    var start: UInt16
    var end: UInt16
    var characteristics: [Characteristic] = []
  }

  struct Characteristic: Encodable, Sendable {
    var uuid: String
    var name: String?
    var handle: UInt16
    var properties: [String]
    var value: Value?
    var descriptors: [Descriptor] = []
  }

  struct Descriptor: Encodable, Sendable {
    var uuid: String
    var name: String?
    var handle: UInt16
    var value: Value?
  }

  /// The octets and the text of a value, or the reason why there is none.
  struct Value: Encodable, Sendable {
    var hex: String?
    var text: String?
    /// The number, if the value is one, and its unit.
    var value: Double?
    var unit: String?
    var error: String?
    /// What the device demands for the value, if that is the error.
    var security = ServiceDescription.Security.none

    private enum CodingKeys: CodingKey { case hex, text, value, unit, error }
  }

  struct Device: Encodable, Sendable {
    var address: String
    var mtu: Int
    var services: [Service]
  }

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    let isJSON = arguments.has("json")
    try await AdapterUse.withDevice(arguments.operand(0) ?? "", arguments) { device in
      let (found, refusal) = try await inspect(device, readsValues: !arguments.has("no-values"))
      if let command = refusal.flatMap({
        AdapterUse.command(for: $0, of: device.address, with: nil, arguments)
      }) {
        Output.error("ble: some values need a pairing. Run: \(command)")
      }
      if arguments.has("describe") { return seen(found).printDescription(orNamed: device.address.word) }
      show(found, of: device, isJSON: isJSON)
    }
  }

  /// The device for a description.
  private static func seen(_ found: Device) -> SeenDevice {
    func octets(_ value: Value?) -> [UInt8]? { value?.hex.flatMap { [UInt8](hexadecimal: $0) } }
    var device = SeenDevice()
    device.services = found.services.compactMap { service in
      guard let uuid = BluetoothUUID(service.uuid) else { return nil }
      let characteristics = service.characteristics.compactMap { found -> SeenDevice.Characteristic? in
        guard let uuid = BluetoothUUID(found.uuid) else { return nil }
        let properties = properties.filter { found.properties.contains($0.1) }.map(\.0)
        return SeenDevice.Characteristic(
          uuid: uuid, properties: GATTCharacteristicProperties(properties), value: octets(found.value),
          security: found.value?.security ?? .none,
          descriptors: found.descriptors.compactMap { descriptor in
            BluetoothUUID(descriptor.uuid).map { ($0, octets(descriptor.value)) }
          })
      }
      return SeenDevice.Service(uuid: uuid, characteristics: characteristics)
    }
    return device
  }

  private static func security(demandedBy error: BLEError) -> ServiceDescription.Security {
    switch error.kind {
    // The adapter pairs on demand, without authentication: the device demands more, or pairing has failed.
    case .att(.insufficientAuthentication), .security: .authenticated
    case .att(.insufficientEncryption), .att(.insufficientEncryptionKeySize): .encrypted
    default: .none  // The others are not about security.
    }
  }

  /// The services of a device, and the first value that it has refused for want of a pairing.
  static func inspect(_ device: RemoteDevice, readsValues: Bool) async throws -> (Device, refusal: BLEError?) {
    var services: [Service] = []
    var refusal: BLEError?
    for service in try await device.services() {
      services.append(try await describe(service, of: device, readsValues: readsValues, &refusal))
    }
    return (Device(address: device.address.octets.description, mtu: device.mtu, services: services), refusal)
  }

  /// Prints the tree, or JSON.
  static func show(_ found: Device, of device: RemoteDevice, isJSON: Bool) {
    if isJSON { return Output.json(found) }
    Output.line("\(device.address), ATT_MTU \(found.mtu)")
    for (index, service) in found.services.enumerated() {
      let lines = lines(service, isLast: index == found.services.count - 1, width: Style.textWidth)
      for line in lines { Output.line(line) }
    }
  }

  private static func describe(
    _ service: RemoteService, of device: RemoteDevice, readsValues: Bool, _ refusal: inout BLEError?
  ) async throws -> Service {
    var result = Service(
      uuid: service.uuid.uuidString, name: AssignedNames.uuid(service.uuid), start: service.handles.lowerBound.rawValue,
      end: service.handles.upperBound.rawValue)
    for characteristic in service.characteristics {
      var entry = Characteristic(
        uuid: characteristic.uuid.uuidString, name: AssignedNames.uuid(characteristic.uuid),
        handle: characteristic.handle.rawValue, properties: names(of: characteristic.properties))
      if readsValues, characteristic.properties.contains(.read) {
        entry.value = try await value(of: characteristic.uuid, on: device, &refusal) { () async throws(BLEError) in
          try await device.read(characteristic)
        }
      }
      for descriptor in try await device.descriptors(of: characteristic) {
        var found = Descriptor(
          uuid: descriptor.uuid.uuidString, name: AssignedNames.uuid(descriptor.uuid),
          handle: descriptor.handle.rawValue)
        if readsValues {
          found.value = try await value(of: descriptor.uuid, on: device, &refusal) { () async throws(BLEError) in
            try await device.read(descriptor)
          }
        }
        entry.descriptors.append(found)
      }
      result.characteristics.append(entry)
    }
    return result
  }

  /// The value; a rejection by the device is a value without octets.
  private static func value(
    of uuid: BluetoothUUID, on device: RemoteDevice, _ refusal: inout BLEError?,
    _ read: () async throws(BLEError) -> [UInt8]
  ) async throws -> Value {
    do throws(BLEError) {
      let octets = try await read()
      let measured = Quantity.measured(octets, of: uuid)
      return Value(
        hex: octets[...].hexadecimal, text: ValueText.text(octets[...], of: uuid), value: measured?.value,
        unit: measured?.unit)
    } catch {
      guard device.isConnected, error.kind != .cancelled else { throw error }
      refusal = refusal ?? (error.isAboutSecurity ? error : nil)
      return Value(error: error.description, security: security(demandedBy: error))
    }
  }

  private static let properties: [(GATTCharacteristicProperties, String)] = [
    (.broadcast, "broadcast"), (.read, "read"), (.writeWithoutResponse, "write without response"), (.write, "write"),
    (.notify, "notify"), (.indicate, "indicate"), (.authenticatedSignedWrites, "signed write"),
    (.extendedProperties, "extended"),
  ]

  static func names(of properties: GATTCharacteristicProperties) -> [String] {
    self.properties.filter { properties.contains($0.0) }.map(\.1)
  }

  /// The branch of a service, in lines of at most `width` columns where its lowest level has a few of them.
  static func lines(_ service: Service, isLast: Bool, width: Int) -> [String] {
    var lines: [String] = []
    /// Adds a text behind `first`; the parts that do not fit are behind `rest`, which is not narrower.
    func add(_ text: String, _ first: String, _ rest: String, _ style: (String) -> String = { $0 }) {
      let parts = text.wrapped(to: max(24, width) - first.columns, indent: rest.columns - first.columns)
      for (index, part) in parts.enumerated() { lines.append((index == 0 ? first : rest) + style(part)) }
    }
    func branch(_ isLast: Bool) -> (first: String, rest: String) { isLast ? ("└─ ", "   ") : ("├─ ", "│  ") }

    let (first, margin) = branch(isLast)
    add(title(service.name, service.uuid), first, margin, Style.bold.callAsFunction)
    for (index, characteristic) in service.characteristics.enumerated() {
      let (first, rest) = branch(index == service.characteristics.count - 1)
      let inner = margin + rest
      let title = title(characteristic.name, characteristic.uuid)
      let properties =
        "[\(characteristic.properties.joined(separator: ", "))]  \(AttributeHandle(rawValue: characteristic.handle))"
      if (margin + first + title + "  " + properties).columns <= width {
        lines.append(margin + first + title + "  " + Style.faint(properties))
      } else {
        add(title, margin + first, inner)
        add(properties, inner + "  ", inner + "  ", Style.faint.callAsFunction)
      }
      if let value = characteristic.value { add(text(value), inner + "  ", inner + "  ", style(of: value)) }
      for descriptor in characteristic.descriptors {
        let title = "· " + self.title(descriptor.name, descriptor.uuid)
        guard let value = descriptor.value else {
          add(title, inner, inner + "  ")
          continue
        }
        if "\(inner)\(title): \(text(value))".columns <= width {
          lines.append("\(inner)\(title): \(style(of: value)(text(value)))")
        } else {
          add(title + ":", inner, inner + "  ")
          add(text(value), inner + "  ", inner + "  ", style(of: value))
        }
      }
    }
    return lines
  }

  private static func title(_ name: String?, _ uuid: String) -> String {
    guard let name else { return uuid }
    return uuid.count > 8 ? "\(name) \(uuid)" : "\(name) (\(uuid))"
  }

  private static func text(_ value: Value) -> String { value.error ?? value.text ?? value.hex ?? "" }

  private static func style(of value: Value) -> (String) -> String {
    (value.error == nil ? Style.cyan : Style.red).callAsFunction
  }
}
