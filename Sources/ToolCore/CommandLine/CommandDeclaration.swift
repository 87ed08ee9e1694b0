/// A program of the command line, declared once: its help, its manual page and its completions derive from it.
public struct ProgramDeclaration: Sendable {
  /// The word that starts it.
  public let name: String
  /// One line without a full stop.
  public let summary: String
  /// Paragraphs of the manual page and of the help.
  public let details: [String]
  public let form: Form
  /// A paragraph of the manual page: the exit statuses.
  public let exitStatus: String
  /// The environment variables and their meanings.
  public let environment: [(name: String, help: String)]
  /// Other manual pages, such as `btmon(1)`.
  public let seeAlso: [String]

  public enum Form: Sendable {
    /// The first word is the name of a command.
    case commands([CommandDeclaration])
    /// All words are options and operands of one command.
    case command(CommandDeclaration)
  }

  public init(
    name: String, summary: String, details: [String], form: Form, exitStatus: String,
    environment: [(name: String, help: String)], seeAlso: [String]
  ) {
    self.name = name
    self.summary = summary
    self.details = details
    self.form = form
    self.exitStatus = exitStatus
    self.environment = environment
    self.seeAlso = seeAlso
  }
}

/// A command: its name, its operands and its options, declared once.
///
/// Parsing, `--help`, the manual page and the completions of the shells derive from the declaration.
public struct CommandDeclaration: Sendable {
  /// The word after the name of the program, or the name of the program.
  public let name: String
  /// The words that start it: `ble scan`.
  public let invocation: String
  /// One line without a full stop.
  public let summary: String
  /// Paragraphs of the manual page and of `--help`.
  public let details: [String]
  public let operands: [Operand]
  public let options: [Option]
  public let examples: [Example]
  /// Runs the command.
  public let run: @Sendable (ParsedArguments) async throws -> Void

  /// - Parameter invocation: the words that start it; nil for a command of `ble`.
  public init(
    name: String, invocation: String? = nil, summary: String, details: [String] = [], operands: [Operand] = [],
    options: [Option] = [], examples: [Example] = [], run: @escaping @Sendable (ParsedArguments) async throws -> Void
  ) {
    self.name = name
    self.invocation = invocation ?? "ble \(name)"
    self.summary = summary
    self.details = details
    self.operands = operands
    self.options = options
    self.examples = examples
    self.run = run
  }

  /// A word that is not an option.
  public struct Operand: Sendable {
    /// The name in the usage line, in capitals.
    public let name: String
    public let help: String
    public let isRequired: Bool
    /// Whether shells complete the names of files.
    public let isFile: Bool
    /// The words that are accepted; nil for any word.
    public let values: [String]?
    /// Whether shells complete the names of commands.
    public let isCommand: Bool

    public init(
      name: String, help: String, isRequired: Bool = true, isFile: Bool = false, values: [String]? = nil,
      isCommand: Bool = false
    ) {
      self.name = name
      self.help = help
      self.isRequired = isRequired
      self.isFile = isFile
      self.values = values
      self.isCommand = isCommand
    }
  }

  /// An option: `--name`, or `--name VALUE` and `--name=VALUE`.
  public struct Option: Sendable {
    /// The name without hyphens.
    public let name: String
    /// The placeholder of the value, in capitals; nil for a flag.
    public let value: String?
    public let help: String
    public let isFile: Bool
    /// Whether the option can be given several times.
    public let isRepeatable: Bool
    /// The words that are accepted; nil for any word.
    public let values: [String]?

    public static func flag(_ name: String, _ help: String) -> Self {
      Self(name: name, value: nil, help: help, isFile: false, isRepeatable: false, values: nil)
    }

    public static func value(
      _ name: String, _ value: String, _ help: String, isFile: Bool = false, isRepeatable: Bool = false,
      values: [String]? = nil
    ) -> Self {
      Self(name: name, value: value, help: help, isFile: isFile, isRepeatable: isRepeatable, values: values)
    }
  }

  /// A command line and its effect.
  public struct Example: Sendable {
    public let commandLine: String
    public let effect: String

    public init(commandLine: String, effect: String) {
      self.commandLine = commandLine
      self.effect = effect
    }
  }

  /// The line after `usage:`.
  public var usage: String {
    let words = operands.map { $0.isRequired ? $0.name : "[\($0.name)]" }
    return ([invocation] + (options.isEmpty ? [] : ["[OPTIONS]"]) + words).joined(separator: " ")
  }
}
