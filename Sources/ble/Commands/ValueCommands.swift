import BLEKit
import BLETrace
import BLETwin
import BLEWire
import ToolCore

/// `ble read`, `ble write` and `ble subscribe`: one characteristic of a device.
enum ValueCommands {
  /// The characteristic of a command, here and in ``ShellCommand``.
  static let characteristic = CommandDeclaration.Operand(
    name: "CHARACTERISTIC", help: "its UUID, its assigned name, such as 2A19 or 'Battery Level', or its description")
  /// The options that choose one of several characteristics.
  static let choices: [CommandDeclaration.Option] = [
    .value("service", "UUID", "the service, by its UUID or name, where the device has several such characteristics"),
    .value("handle", "HANDLE", "the handle, such as 0x0021, where a service has several: ble inspect shows it"),
  ]
  static let withoutResponse = CommandDeclaration.Option.flag(
    "no-response", "sends a Write Command: the device does not answer")

  private static let operands: [CommandDeclaration.Operand] = [.device, characteristic]
  private static let options = CommandDeclaration.Option.adapter + [CommandDeclaration.Option.timeout] + choices

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
      "VALUE is pairs of hexadecimal digits, text:… for UTF-8, a number with its type (uint8 to uint64, int8 to "
        + "int64, float32, float64, "
        + "each with be for the most significant octet first), such as int16:2150 or uint8:1,2,3, a value as "
        + "ble read prints it, such as "
        + "'21.5 °C' or chest, or - for the octets of standard input, which are written as they are.",
      "Digits without a unit or a type are octets: 64 is one octet, 0x64. Where values have a fixed length, another "
        + "number of octets needs hex: before it: a temperature is '23 °C', not 23.",
    ],
    operands: operands + [
      .init(name: "VALUE", help: "for example 01ff, int16:2150, text:hello or -, at most 512 octets")
    ],
    options: options + [withoutResponse],
    examples: [
      .init(commandLine: "ble write Lamp FFE1 text:on", effect: "writes two octets"),
      .init(commandLine: "ble write Sensor 'Measurement Interval' 'every 60 s'", effect: "writes 60 as 16 bits"),
      .init(commandLine: "ble write Lamp FFE1 - < scene.bin", effect: "writes the content of a file"),
    ],
    run: { arguments in
      let text = arguments.operand(2) ?? ""
      let input = text == "-" ? try await standardInput() : nil
      // A fault is reported before the search where the type of the characteristic is on the command line.
      let uuids = UUIDName.uuids(arguments.operand(1) ?? "")
      if input == nil, let uuid = uuids.first, uuids.count == 1 { _ = try TypedValue.octets(text, of: uuid) }
      try await use(arguments) { device, characteristic in
        let value = try input ?? TypedValue.octets(text, of: characteristic.uuid)
        try await send(value, to: characteristic, of: device, arguments)
      }
    })

  /// Writes a value as the options say.
  static func send(
    _ value: [UInt8], to characteristic: RemoteCharacteristic, of device: RemoteDevice, _ arguments: ParsedArguments
  ) async throws {
    if arguments.has(withoutResponse.name) {
      try await device.writeWithoutResponse(value, to: characteristic)
    } else {
      try await device.write(value, to: characteristic)
    }
  }

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
        var values = try await device.values(of: characteristic).subscribed()
        PairingFailures.ofTool.operationWaits()
        while let value = try await values.next() {
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

  /// Prints a value in the form that the options `--json` and `--hex` say.
  ///
  /// - Parameter label: the text before a value in plain words.
  @Sendable static func show(
    _ octets: [UInt8], of characteristic: RemoteCharacteristic, _ arguments: ParsedArguments, label: String = ""
  ) {
    let text = ValueText.text(octets[...], of: characteristic.uuid)
    if arguments.has("json") {
      let measured = Quantity.measured(octets, of: characteristic.uuid)
      Output.json(
        Line(
          characteristic: characteristic.uuid.uuidString, handle: characteristic.handle.rawValue,
          hex: octets[...].hexadecimal, text: text, value: measured?.value, unit: measured?.unit))
    } else {
      Output.line(label + (arguments.has("hex") ? octets[...].hexadecimal : text))
    }
  }

  private static func use(
    _ arguments: ParsedArguments, _ body: @escaping @Sendable (RemoteDevice, RemoteCharacteristic) async throws -> Void
  ) async throws {
    // A malformed option is an error before the device is searched for.
    _ = try arguments.handle("handle")
    try await AdapterUse.withDevice(arguments.operand(0) ?? "", arguments) { device in
      try await body(device, try await find(arguments.operand(1) ?? "", of: device, arguments))
    }
  }

  /// The characteristic that an operand and the options name.
  static func find(
    _ name: String, of device: RemoteDevice, _ arguments: ParsedArguments
  ) async throws -> RemoteCharacteristic {
    try await AdapterUse.characteristic(
      name, service: arguments.value("service"), handle: try arguments.handle("handle"), of: device)
  }

  /// The octets of standard input until its end. A signal ends the process while it is read.
  private static func standardInput() async throws -> [UInt8] {
    let octets = try await BLETool.endingAtOnce { () throws(ToolError) in
      // One more than a value may have, to detect that there are too many.
      try StandardInput.octets(atMost: TypedValue.maximumLength + 1)
    }
    return try TypedValue.checked(octets)
  }
}
