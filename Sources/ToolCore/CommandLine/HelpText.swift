/// The text of `--help`, at most 80 columns wide. Command lines, which are copied, are not wrapped.
public enum HelpText {
  package static let width = 80
  /// In fewer columns, the text of a list is below the names.
  package static let narrowest = 60

  /// The help of a program: its commands, or the options of its only one.
  ///
  /// - Parameter width: the columns of the terminal.
  public static func text(of program: ProgramDeclaration, width: Int = 80) -> String {
    switch program.form {
    case .command(let command): return text(of: command, width: width)
    case .commands(let commands):
      let sections =
        ["usage: \(program.name) COMMAND [OPTIONS] [OPERANDS]"] + program.details.map { wrapped($0, width: width) }
        + [
          list(commands.map { ($0.name, $0.summary) }, width: width),
          wrapped(
            "Help of a command: \(program.name) COMMAND --help. Exit statuses: \(program.name) man", width: width),
        ]
      return sections.joined(separator: "\n\n")
    }
  }

  /// The help of one command.
  ///
  /// - Parameter width: the columns of the terminal.
  public static func text(of command: CommandDeclaration, width: Int = 80) -> String {
    var sections = ["usage: \(command.usage)", wrapped("\(command.summary).", width: width)]
    sections += command.details.map { wrapped($0, width: width) }
    if !command.operands.isEmpty { sections.append(list(command.operands.map { ($0.name, $0.help) }, width: width)) }
    let options = command.options.map { (synopsis($0), $0.help) }
    sections.append(list(options + [("--help", "prints this text")], width: width))
    if !command.examples.isEmpty {
      sections.append(
        command.examples.map { "  \($0.commandLine)\n\(wrapped($0.effect, indent: 6, width: width))" }.joined(
          separator: "\n"))
    }
    return sections.joined(separator: "\n\n")
  }

  /// `--name` or `--name VALUE`.
  static func synopsis(_ option: CommandDeclaration.Option) -> String {
    option.value.map { "--\(option.name) \($0)" } ?? "--\(option.name)"
  }

  /// Two columns; the second one is wrapped.
  static func list(_ rows: [(String, String)], width: Int) -> String {
    let column = width < narrowest ? 6 : min(24, (rows.map(\.0.count).max() ?? 0) + 4)
    return rows.map { name, text in
      let body = wrapped(text, indent: column, width: width)
      let head = "  \(name)"
      if head.count + 2 > column { return "\(head)\n\(body)" }
      return head + body.dropFirst(head.count)
    }.joined(separator: "\n")
  }

  /// `text` in lines of at most `width` columns, each after `indent` spaces. A longer word has a line of its own.
  package static func wrapped(_ text: String, indent: Int = 0, width: Int) -> String {
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
