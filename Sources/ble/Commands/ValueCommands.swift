import BLEKit
import BLEWire
import ToolCore

/// `ble read`, `ble write` and `ble subscribe`: one characteristic of a device.
enum ValueCommands {
  private static let operands: [CommandDeclaration.Operand] = [
    .init(name: "DEVICE", help: "the address or the name of the device"),
    .init(name: "CHARACTERISTIC", help: "its UUID or its assigned name, such as 2A19 or 'Battery Level'"),
  ]
  private static let options =
    CommandDeclaration.Option.adapter + [
      CommandDeclaration.Option.timeout,
      .value("service", "UUID", "the service, where the device has several such characteristics"),
    ]

  static let read = CommandDeclaration(
    name: "read", summary: "reads a characteristic",
    operands: operands, options: options + [.json, .flag("hex", "prints the octets only")],
    examples: [.init(commandLine: "ble read Thermometer 2A19", effect: "prints the battery level")],
    run: { arguments in
      try await use(arguments) { device, characteristic in
        show(try await device.read(characteristic), of: characteristic, arguments)
      }
    })

  static let write = CommandDeclaration(
    name: "write", summary: "writes a characteristic",
    details: ["VALUE is pairs of hexadecimal digits, or text:… for UTF-8."],
    operands: operands + [.init(name: "VALUE", help: "for example 01ff or text:hello, at most 512 octets")],
    options: options + [.flag("no-response", "sends a Write Command: the device does not answer")],
    examples: [.init(commandLine: "ble write Lamp FFE1 text:on", effect: "writes two octets")],
    run: { arguments in
      let value = try octets(arguments.operand(2) ?? "")
      try await use(arguments) { device, characteristic in
        if arguments.has("no-response") {
          try await device.writeWithoutResponse(value, to: characteristic)
        } else {
          try await device.write(value, to: characteristic)
        }
      }
    })

  static let subscribe = CommandDeclaration(
    name: "subscribe", summary: "prints each value that a characteristic notifies or indicates",
    details: ["It ends with Control-C, with --count, or with the link."],
    operands: operands,
    options: options + [
      .json, .flag("hex", "prints the octets only"), .value("count", "N", "ends after this number of values"),
    ],
    examples: [.init(commandLine: "ble subscribe 'Polar H10' 2A37", effect: "prints the heart rate")],
    run: { arguments in
      let count = try arguments.number("count", in: 1...Int.max) ?? .max
      try await use(arguments) { device, characteristic in
        var received = 0
        for try await value in device.values(of: characteristic) {
          show(value, of: characteristic, arguments)
          received += 1
          if received == count || Output.isClosed { return }
        }
      }
    })

  /// A value as JSON.
  private struct Line: Encodable {
    var characteristic: String
    var hex: String
    var text: String
    var value: Double?
    var unit: String?
  }

  @Sendable private static func show(
    _ octets: [UInt8], of characteristic: RemoteCharacteristic, _ arguments: ParsedArguments
  ) {
    let text = ValueText.text(octets[...], of: characteristic.uuid)
    if arguments.has("json") {
      let measured = Quantity.measured(octets, of: characteristic.uuid)
      Output.json(
        Line(
          characteristic: characteristic.uuid.uuidString, hex: octets[...].hexadecimal, text: text,
          value: measured?.value, unit: measured?.unit))
    } else {
      Output.line(arguments.has("hex") ? octets[...].hexadecimal : text)
    }
  }

  private static func use(
    _ arguments: ParsedArguments, _ body: @escaping @Sendable (RemoteDevice, RemoteCharacteristic) async throws -> Void
  ) async throws {
    let (target, name) = (arguments.operand(0) ?? "", arguments.operand(1) ?? "")
    let service = arguments.value("service")
    try await AdapterUse.withDevice(target, arguments) { device in
      try await body(device, try await AdapterUse.characteristic(name, service: service, of: device))
    }
  }

  /// The octets of an operand: `text:…`, or pairs of hexadecimal digits, which spaces and colons may separate.
  static func octets(_ text: String) throws(ToolError) -> [UInt8] {
    let octets: [UInt8]?
    if text.hasPrefix("text:") {
      octets = Array(text.dropFirst(5).utf8)
    } else {
      octets = [UInt8](hexadecimal: text.filter { $0 != " " && $0 != ":" })
    }
    guard let octets else {
      throw .data("'\(text)' is neither pairs of hexadecimal digits nor text:…")
    }
    guard octets.count <= 512 else { throw .data("a value has at most 512 octets, not \(octets.count)") }
    return octets
  }
}
