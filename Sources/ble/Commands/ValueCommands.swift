import BLEKit
import BLEWire
import ToolCore

/// `ble read`, `ble write` and `ble subscribe`: one characteristic of a device.
enum ValueCommands {
  private static let operands: [CommandDeclaration.Operand] = [
    .device,
    .init(name: "CHARACTERISTIC", help: "its UUID or its assigned name, such as 2A19 or 'Battery Level'"),
  ]
  private static let options =
    CommandDeclaration.Option.adapter + [
      CommandDeclaration.Option.timeout,
      .value("service", "UUID", "the service, by its UUID or name, where the device has several such characteristics"),
      .value("handle", "HANDLE", "the handle, such as 0x0021, where a service has several: ble inspect shows it"),
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
    details: [
      "VALUE is pairs of hexadecimal digits, text:… for UTF-8, or - for the octets of standard input, which are written as they are."
    ],
    operands: operands + [.init(name: "VALUE", help: "for example 01ff, text:hello or -, at most 512 octets")],
    options: options + [.flag("no-response", "sends a Write Command: the device does not answer")],
    examples: [
      .init(commandLine: "ble write Lamp FFE1 text:on", effect: "writes two octets"),
      .init(commandLine: "ble write Lamp FFE1 - < scene.bin", effect: "writes the content of a file"),
    ],
    run: { arguments in
      let text = arguments.operand(2) ?? ""
      let value = text == "-" ? try await standardInput() : try octets(text)
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
    var handle: UInt16
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
          characteristic: characteristic.uuid.uuidString, handle: characteristic.handle.rawValue,
          hex: octets[...].hexadecimal, text: text, value: measured?.value, unit: measured?.unit))
    } else {
      Output.line(arguments.has("hex") ? octets[...].hexadecimal : text)
    }
  }

  private static func use(
    _ arguments: ParsedArguments, _ body: @escaping @Sendable (RemoteDevice, RemoteCharacteristic) async throws -> Void
  ) async throws {
    let (target, name) = (arguments.operand(0) ?? "", arguments.operand(1) ?? "")
    let (service, handle) = (arguments.value("service"), try arguments.handle("handle"))
    try await AdapterUse.withDevice(target, arguments) { device in
      try await body(
        device, try await AdapterUse.characteristic(name, service: service, handle: handle, of: device))
    }
  }

  /// The octets of standard input until its end. A signal ends the process while it is read.
  private static func standardInput() async throws -> [UInt8] {
    let octets = try await BLETool.endingAtOnce { () throws(ToolError) in
      // One more than a value may have, to detect that there are too many.
      try StandardInput.octets(atMost: maximumLength + 1)
    }
    return try checked(octets)
  }

  /// The octets of an attribute value at most (Vol 3, Part F, 3.2.9).
  private static let maximumLength = 512

  private static func checked(_ octets: [UInt8]) throws(ToolError) -> [UInt8] {
    guard octets.count <= maximumLength else {
      throw .data("a value has at most \(maximumLength) octets, not \(octets.count) or more")
    }
    return octets
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
    return try checked(octets)
  }
}
