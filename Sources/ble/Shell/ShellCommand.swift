import BLEKit
import BLEWire
import ToolCore

/// A command of `ble shell`, declared as those of the tool are: its words are parsed and explained in the same way.
struct ShellCommand: Sendable {
  let declaration: CommandDeclaration
  let run: @Sendable (ShellSession, ParsedArguments) async throws -> Void

  private init(
    _ name: String, _ summary: String, details: [String] = [], operands: [CommandDeclaration.Operand] = [],
    options: [CommandDeclaration.Option] = [],
    run: @escaping @Sendable (ShellSession, ParsedArguments) async throws -> Void
  ) {
    // `run` of the declaration is for commands of the tool, without a session.
    declaration = CommandDeclaration(
      name: name, invocation: name, summary: summary, details: details, operands: operands, options: options,
      run: { _ in })
    self.run = run
  }

  /// In the order of the help.
  static let all: [ShellCommand] = [
    ShellCommand(
      "services", "shows the services, characteristics and values", options: [.flag("no-values", "reads no values")]
    ) {
      try await $0.showServices($1)
    },
    ShellCommand("read", "reads a characteristic", operands: [characteristic], options: choices) {
      try await $0.read($1)
    },
    ShellCommand(
      "write", "writes a characteristic",
      operands: [characteristic, .init(name: "VALUE", help: "as of ble write, for example 01ff or 'text:two words'")],
      options: choices + [ValueCommands.withoutResponse]
    ) { try await $0.write($1) },
    ShellCommand(
      "subscribe", "prints each value of a characteristic, while other commands run",
      operands: [characteristic], options: choices
    ) { try await $0.subscribe($1) },
    ShellCommand("unsubscribe", "ends a subscription", operands: [characteristic], options: choices) {
      try await $0.unsubscribe($1)
    },
    ShellCommand(
      "wait", "waits for a value of a characteristic",
      details: [
        "It takes the values since subscribe, or since the last wait: one that has arrived already counts. "
          + "Without a subscription it "
          + "subscribes until the value arrives. On a terminal, Control-C ends the wait."
      ],
      operands: [
        characteristic,
        .init(name: "VALUE", help: "the value, as of ble write; any value without it", isRequired: false),
      ],
      options: choices + [.value("timeout", "SECONDS", "fails after this time (30)")]
    ) { try await $0.wait($1) },
    ShellCommand("pair", "pairs and bonds", options: [PairCommand.authenticated]) { try await $0.pair($1) },
    ShellCommand("forget", "removes the bond with the device; the device has to remove its own, too") {
      try await $0.forget($1)
    },
    ShellCommand("info", "shows the address, the ATT_MTU, the security and the timing of the link") { session, _ in
      try await session.showLink()
    },
    ShellCommand("disconnect", "ends the link, and its subscriptions") { session, _ in await session.disconnect() },
    ShellCommand(
      "connect", "connects again", options: [.value("timeout", "SECONDS", "fails after this time (that of ble shell)")]
    ) { try await $0.connect($1) },
    ShellCommand("sleep", "waits", operands: [.init(name: "SECONDS", help: "from 0.1 to 86400")]) { _, arguments in
      guard let seconds = Double(arguments.operand(0) ?? ""), (0.1...86_400).contains(seconds) else {
        throw ToolError.usage("SECONDS is a number from 0.1 to 86400", of: arguments.command)
      }
      PairingFailures.ofTool.operationWaits()
      try await Task.sleep(for: .seconds(seconds))
    },
    ShellCommand(
      "help", "prints the commands, or the help of one",
      operands: [.init(name: "COMMAND", help: "such as wait", isRequired: false)]
    ) { _, arguments in Output.line(try help(arguments.operand(0))) },
    ShellCommand("exit", "ends the link and the shell, as the end of the input does") { session, _ in
      await session.exit()
    },
  ]

  private static let characteristic = ValueCommands.characteristic
  private static let choices = ValueCommands.choices

  /// The words that end other programs.
  private static let ends: Set<String> = ["quit", "q", "bye", "logout", ":q", "end", "close"]

  /// The command with this name.
  static func named(_ name: String) throws(ToolError) -> ShellCommand {
    if let command = all.first(where: { $0.declaration.name == name }) { return command }
    let meant = ends.contains(name.lowercased()) ? "exit" : nearest(to: name, in: all.map(\.declaration.name))
    let hint = meant.map { ". Did you mean '\($0)'?" } ?? "."
    throw ToolError(description: "unknown command '\(String(printable: name))'\(hint) The commands: help", status: 64)
  }

  /// The help of a command; without a name that of all.
  static func help(_ name: String?) throws(ToolError) -> String {
    if let name { return HelpText.text(of: try named(name).declaration) }
    let usages = all.map(\.declaration.usage)
    let column = (usages.map(\.count).max() ?? 0) + 2
    return zip(usages, all).map { usage, command in usage.padded(to: column) + command.declaration.summary }
      .joined(separator: "\n")
  }
}
