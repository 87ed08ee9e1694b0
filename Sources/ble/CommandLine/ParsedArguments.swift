import BLEEngine
import BLEKit
import BLELinux
import BLERuntime
import BLEWire

/// The operands and options of one command line.
struct ParsedArguments: Sendable {
  let command: CommandDeclaration
  private(set) var operands: [String] = []
  private var flags: Set<String> = []
  private var values: [String: [String]] = [:]
  private(set) var wantsHelp = false

  /// Reads the words after the name of the command. Options and operands may be mixed; all words after `--` are operands.
  ///
  /// - Throws: ``ToolError`` with status 64 (EX_USAGE), which names the word at fault.
  init(_ command: CommandDeclaration, _ words: some Sequence<String>) throws(ToolError) {
    self.command = command
    if command.forwardsOptions {
      operands = Array(words)
      return
    }
    var rest = Array(words)[...]
    var onlyOperands = false
    while let word = rest.popFirst() {
      if onlyOperands || !word.hasPrefix("-") || word == "-" {
        operands.append(word)
      } else if word == "--" {
        onlyOperands = true
      } else if word == "--help" || word == "-h" {
        wantsHelp = true
      } else {
        try take(word, &rest)
      }
    }
    if !wantsHelp { try checkOperands() }
  }

  private mutating func take(_ word: String, _ rest: inout ArraySlice<String>) throws(ToolError) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let name = parts.first ?? word
    guard let option = command.options.first(where: { "--\($0.name)" == name }) else {
      let hint = nearest(to: name, in: command.options.map { "--\($0.name)" } + ["--help"])
      throw .usage("unknown option \(name)\(hint.map { ". Did you mean \($0)?" } ?? "")", of: command)
    }
    guard let placeholder = option.value else {
      guard parts.count == 1 else { throw .usage("\(name) takes no value", of: command) }
      flags.insert(option.name)
      return
    }
    guard let value = parts.count == 2 ? parts.last : rest.popFirst(), !value.isEmpty else {
      throw .usage("\(name) needs a value: \(name) \(placeholder)", of: command)
    }
    guard option.isRepeatable || values[option.name] == nil else {
      throw .usage("\(name) is given twice", of: command)
    }
    try check(value, option.values, at: "\(name): ")
    values[option.name, default: []].append(value)
  }

  private func checkOperands() throws(ToolError) {
    if let extra = operands.dropFirst(command.operands.count).first {
      throw .usage("unexpected operand '\(extra)'", of: command)
    }
    for (index, operand) in command.operands.enumerated() {
      guard index < operands.count else {
        if operand.isRequired { throw .usage("\(operand.name) is missing", of: command) }
        continue
      }
      try check(operands[index], operand.values, at: "")
    }
  }

  private func check(_ word: String, _ accepted: [String]?, at place: String) throws(ToolError) {
    guard let accepted, !accepted.contains(word) else { return }
    let hint = nearest(to: word, in: accepted).map { ". Did you mean \($0)?" } ?? ""
    throw .usage("\(place)'\(word)' is not one of \(accepted.joined(separator: ", "))\(hint)", of: command)
  }

  /// Whether the flag `--name` is given.
  func has(_ name: String) -> Bool { flags.contains(name) }

  /// The value of `--name`; nil where it is not given.
  func value(_ name: String) -> String? { values[name]?.last }

  /// Each value of `--name`.
  func allValues(_ name: String) -> [String] { values[name] ?? [] }

  /// The operand at `index`; nil where it is not given.
  func operand(_ index: Int) -> String? { operands.indices.contains(index) ? operands[index] : nil }

  /// The number of `--name`.
  ///
  /// - Throws: ``ToolError`` where the value is not a number of the range.
  func number<Number: FixedWidthInteger & Sendable>(
    _ name: String, in range: ClosedRange<Number>
  ) throws(ToolError) -> Number? {
    guard let text = value(name) else { return nil }
    guard let number = Number(text), range.contains(number) else {
      throw .usage(
        "--\(name) takes a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'", of: command)
    }
    return number
  }

  /// The transport of the adapter: `--transport`, else `BLE_TRANSPORT`, else that of the machine.
  var transport: String { value("transport") ?? Environment.value("BLE_TRANSPORT") ?? "linux" }

  /// The transport in the form that the names of files have.
  ///
  /// - Throws: ``ToolError`` where it is malformed.
  func canonicalTransport() throws(ToolError) -> String {
    do throws(TransportError) { return "\(try TransportSpec(parsing: transport))" } catch {
      throw ToolError(description: "\(error)", status: AdapterError(error).exitStatus)
    }
  }

  /// The options of the adapter that the command line names.
  func adapterOptions(deviceName: String? = nil, appearance: UInt16? = nil) throws(ToolError) -> AdapterOptions {
    var options = AdapterOptions(
      transport: value("transport"), snoop: value("snoop"), deviceName: deviceName, appearance: appearance)
    guard let text = value("address") else { return options }
    guard let address = DeviceAddress(text, kind: .random), address.isIdentityAddress else {
      throw .usage(
        "--address takes a static random address, such as C0:11:22:33:44:55, not '\(text)'", of: command)
    }
    options.address = .staticRandom(address.octets.value)
    return options
  }

  /// A command line for the adapter of this one: `ble pair Lamp --transport linux:hci1`.
  func commandLine(_ words: String...) -> String {
    let adapter = ["transport", "address"].flatMap { name in value(name).map { ["--\(name)", $0] } ?? [] }
    return (["ble"] + words + adapter).map(Self.quoted).joined(separator: " ")
  }

  /// A word as a shell takes it.
  private static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { octet in
      switch octet {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"): true
      default: "-_.,:/@%+=".utf8.contains(octet)
      }
    }
    return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
  }

  /// The handle of `--name`: hexadecimal digits behind 0x, as the tool prints it, or a decimal number.
  func handle(_ name: String) throws(ToolError) -> UInt16? {
    guard let text = value(name) else { return nil }
    let isHexadecimal = text.lowercased().hasPrefix("0x")
    let digits = isHexadecimal ? text.dropFirst(2) : text[...]
    guard digits.allSatisfy(\.isHexDigit), let number = UInt16(digits, radix: isHexadecimal ? 16 : 10), number != 0
    else {
      throw .usage("--\(name) takes a handle from 0x0001 to 0xFFFF, not '\(text)'", of: command)
    }
    return number
  }

  /// The duration of `--name` in seconds, with a fraction: 0.1 to 86,400.
  func seconds(_ name: String) throws(ToolError) -> Duration? {
    guard let text = value(name) else { return nil }
    guard let seconds = Double(text), (0.1...86_400).contains(seconds) else {
      throw .usage("--\(name) takes a number of seconds from 0.1 to 86400, not '\(text)'", of: command)
    }
    return .seconds(seconds)
  }
}

/// The reason why the tool ends, with an exit status of sysexits.h.
struct ToolError: Error, CustomStringConvertible {
  let description: String
  let status: Int32

  /// 64, EX_USAGE: the command line is wrong.
  static func usage(_ text: String, of command: CommandDeclaration? = nil) -> Self {
    let help = command.map { "usage: \($0.usage)\nMore: ble \($0.name) --help" } ?? "The commands: ble --help"
    return Self(description: "\(text)\n\(help)", status: 64)
  }

  /// 65, EX_DATAERR: the content of a file or an operand is malformed.
  static func data(_ text: String) -> Self { Self(description: text, status: 65) }

  /// 66, EX_NOINPUT: a file cannot be read.
  static func input(_ text: String) -> Self { Self(description: text, status: 66) }

  /// 68, EX_NOHOST: the device was not found.
  static func notFound(_ text: String) -> Self { Self(description: text, status: 68) }

  /// 69, EX_UNAVAILABLE: a part that the command needs does not work.
  static func unavailable(_ text: String) -> Self { Self(description: text, status: 69) }

  /// 73, EX_CANTCREAT: a file cannot be written.
  static func output(_ text: String) -> Self { Self(description: text, status: 73) }

  /// 76, EX_PROTOCOL: the device rejected a request, or its answer is malformed.
  static func device(_ text: String) -> Self { Self(description: text, status: 76) }
}
