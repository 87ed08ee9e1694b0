/// The text of `--help`, at most 80 columns wide.
enum HelpText {
  static let width = 80

  /// The help of the tool: its commands.
  static func tool(_ commands: [CommandDeclaration]) -> String {
    let rows = commands.map { ($0.name, $0.summary) }
    return """
      usage: ble COMMAND [OPTIONS] [OPERANDS]

      Bluetooth Low Energy from the command line: this machine's adapters, any HCI
      controller, and a simulated radio.

      \(list(rows))

      Help of a command: ble COMMAND --help
      """
  }

  /// The help of one command.
  static func command(_ command: CommandDeclaration) -> String {
    var sections = ["usage: \(command.usage)", wrapped("\(command.summary).")]
    sections += command.details.map { wrapped($0) }
    if !command.operands.isEmpty { sections.append(list(command.operands.map { ($0.name, $0.help) })) }
    let options = command.options.map { (synopsis($0), $0.help) }
    sections.append(list(options + [("--help", "prints this text")]))
    if !command.examples.isEmpty {
      sections.append(
        command.examples.map { "  \($0.commandLine)\n\(wrapped($0.effect, indent: 6))" }.joined(separator: "\n"))
    }
    return sections.joined(separator: "\n\n")
  }

  /// `--name` or `--name VALUE`.
  static func synopsis(_ option: CommandDeclaration.Option) -> String {
    option.value.map { "--\(option.name) \($0)" } ?? "--\(option.name)"
  }

  /// Two columns; the second one is wrapped.
  static func list(_ rows: [(String, String)]) -> String {
    let column = min(24, (rows.map(\.0.count).max() ?? 0) + 4)
    return rows.map { name, text in
      let body = wrapped(text, indent: column)
      let head = "  \(name)"
      if head.count + 2 > column { return "\(head)\n\(body)" }
      return head + body.dropFirst(head.count)
    }.joined(separator: "\n")
  }

  /// `text` in lines of at most ``width`` columns, each behind `indent` spaces.
  static func wrapped(_ text: String, indent: Int = 0) -> String {
    let margin = String(repeating: " ", count: indent)
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, indent + line.count + 1 + word.count > width {
        lines.append(margin + line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    return (lines + [margin + line]).joined(separator: "\n")
  }
}
