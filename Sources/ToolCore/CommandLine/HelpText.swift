/// The text of `--help`, at most 80 columns wide.
public enum HelpText {
  package static let width = 80

  /// The help of a program: its commands, or the options of its only one.
  public static func text(of program: ProgramDeclaration) -> String {
    switch program.form {
    case .command(let command): return text(of: command)
    case .commands(let commands):
      let sections =
        ["usage: \(program.name) COMMAND [OPTIONS] [OPERANDS]"] + program.details.map { wrapped($0) }
        + [list(commands.map { ($0.name, $0.summary) }), "Help of a command: \(program.name) COMMAND --help"]
      return sections.joined(separator: "\n\n")
    }
  }

  /// The help of one command.
  public static func text(of command: CommandDeclaration) -> String {
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

  /// `text` in lines of at most ``width`` columns, each after `indent` spaces.
  package static func wrapped(_ text: String, indent: Int = 0) -> String {
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
