import BLEATT
import BLEAssignedNumbers
import BLEKit
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
    ],
    examples: [.init(commandLine: "ble inspect Thermometer", effect: "shows the device that advertises this name")],
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
  }

  private struct Device: Encodable {
    var address: String
    var mtu: Int
    var services: [Service]
  }

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    let readsValues = !arguments.has("no-values")
    let isJSON = arguments.has("json")
    try await AdapterUse.withDevice(arguments.operand(0) ?? "", arguments) { device in
      var services: [Service] = []
      // The first value that the device has refused for want of a pairing.
      var refusal: BLEError?
      for service in try await device.services() {
        services.append(try await describe(service, of: device, readsValues: readsValues, &refusal))
      }
      if let command = refusal.flatMap({
        AdapterUse.command(for: $0, of: device.address, with: nil, arguments)
      }) {
        Output.error("ble: some values need a pairing. Run: \(command)")
      }
      if isJSON {
        return Output.json(Device(address: device.address.octets.description, mtu: device.mtu, services: services))
      }
      Output.line("\(device.address), ATT_MTU \(device.mtu)")
      for (index, service) in services.enumerated() {
        for line in lines(service, isLast: index == services.count - 1) { Output.line(line) }
      }
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
      return Value(error: error.description)
    }
  }

  static func names(of properties: GATTCharacteristicProperties) -> [String] {
    let all: [(GATTCharacteristicProperties, String)] = [
      (.broadcast, "broadcast"), (.read, "read"), (.writeWithoutResponse, "write without response"), (.write, "write"),
      (.notify, "notify"), (.indicate, "indicate"), (.authenticatedSignedWrites, "signed write"),
      (.extendedProperties, "extended"),
    ]
    return all.filter { properties.contains($0.0) }.map(\.1)
  }

  /// The branch of a service.
  static func lines(_ service: Service, isLast: Bool) -> [String] {
    var lines = ["\(isLast ? "└" : "├")─ \(Style.bold(title(service.name, service.uuid)))"]
    let margin = isLast ? "   " : "│  "
    for (index, characteristic) in service.characteristics.enumerated() {
      let isLast = index == service.characteristics.count - 1
      let properties = characteristic.properties.joined(separator: ", ")
      lines.append(
        "\(margin)\(isLast ? "└" : "├")─ \(title(characteristic.name, characteristic.uuid))  "
          + Style.faint("[\(properties)]  \(AttributeHandle(rawValue: characteristic.handle))")
      )
      let inner = margin + (isLast ? "   " : "│  ")
      if let value = characteristic.value { lines.append("\(inner)  \(text(value))") }
      for descriptor in characteristic.descriptors {
        let value = descriptor.value.map { ": \(text($0))" } ?? ""
        lines.append("\(inner)· \(title(descriptor.name, descriptor.uuid))\(value)")
      }
    }
    return lines
  }

  private static func title(_ name: String?, _ uuid: String) -> String {
    guard let name else { return uuid }
    return uuid.count > 8 ? "\(name) \(uuid)" : "\(name) (\(uuid))"
  }

  private static func text(_ value: Value) -> String {
    value.error.map { Style.red($0) } ?? Style.cyan(value.text ?? value.hex ?? "")
  }
}
