/// A command of the tool: its name, its operands and its options, declared once.
///
/// Parsing, `--help`, the manual page and the completions of the shells derive from the declaration.
struct CommandDeclaration: Sendable {
  /// The word after `ble`.
  let name: String
  /// One line without a full stop.
  let summary: String
  /// Paragraphs of the manual page and of `--help`.
  var details: [String] = []
  var operands: [Operand] = []
  var options: [Option] = []
  var examples: [Example] = []
  /// Whether another program reads the options: every word is an operand.
  var forwardsOptions = false
  /// Runs the command.
  let run: @Sendable (ParsedArguments) async throws -> Void

  /// A word that is not an option.
  struct Operand: Sendable {
    /// The name in the usage line, in capitals.
    let name: String
    let help: String
    var isRequired = true
    /// Whether shells complete the names of files.
    var isFile = false
    /// The words that are accepted; nil for any word.
    var values: [String]?
    /// Whether shells complete the names of commands.
    var isCommand = false
  }

  /// An option: `--name`, or `--name VALUE` and `--name=VALUE`.
  struct Option: Sendable {
    /// The name without hyphens.
    let name: String
    /// The placeholder of the value, in capitals; nil for a flag.
    var value: String?
    let help: String
    var isFile = false
    /// Whether the option can be given several times.
    var isRepeatable = false
    /// The words that are accepted; nil for any word.
    var values: [String]?

    static func flag(_ name: String, _ help: String) -> Self { Self(name: name, help: help) }

    static func value(
      _ name: String, _ value: String, _ help: String, isFile: Bool = false, isRepeatable: Bool = false,
      values: [String]? = nil
    ) -> Self {
      Self(name: name, value: value, help: help, isFile: isFile, isRepeatable: isRepeatable, values: values)
    }
  }

  /// A command line and its effect.
  struct Example: Sendable {
    let commandLine: String
    let effect: String
  }

  /// The line after `usage:`.
  var usage: String {
    let words = operands.map { $0.isRequired ? $0.name : "[\($0.name)]" }
    return (["ble", name] + (options.isEmpty ? [] : ["[OPTIONS]"]) + words).joined(separator: " ")
  }
}

extension CommandDeclaration.Option {
  static let json = flag("json", "prints JSON, one object a line")
  static let transport = value(
    "transport", "SPEC",
    "the controller, for example linux:hci1 or tcp-client:127.0.0.1:6402 (BLE_TRANSPORT, else linux)")
  static let snoop = value(
    "snoop", "FILE", "writes the HCI packets to FILE in the btsnoop format (BLE_SNOOP, else none)", isFile: true)
  static let address = value(
    "address", "ADDRESS",
    "the static random address of this host, such as C0:11:22:33:44:55, instead of the address of the controller")
  static let timeout = value("timeout", "SECONDS", "seconds until a device is found and connected (30)")

  /// The options of every command that uses an adapter.
  static let adapter = [transport, snoop, address]
}
