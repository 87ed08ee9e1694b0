/// The manual page of a program, in section 1, in the macros of man(7).
public enum ManualPage {
  public static func text(of program: ProgramDeclaration) -> String {
    let name = escaped(program.name)
    var lines = [
      ".TH \(name.uppercased()) 1 \"\" \"BluetoothLE\" \"User Commands\"",
      ".SH NAME", "\(name) \\- \(escaped(program.summary))",
      ".SH SYNOPSIS", ".B \(name)",
    ]
    switch program.form {
    case .commands(let commands):
      lines += ["\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIOPERANDS\\fR]"]
      lines += description(program.details) + [".SH COMMANDS"]
      for command in commands {
        lines += [".SS \(escaped(command.usage))", escaped("\(command.summary).")]
        for paragraph in command.details { lines += [".PP", escaped(paragraph)] }
        lines += words(of: command) + examples(of: command)
      }
    case .command(let command):
      lines += ["[\\fIOPTIONS\\fR]"]
      lines += description(program.details + command.details) + [".SH OPTIONS"] + words(of: command)
      lines += [".SH EXAMPLES"] + examples(of: command)
    }
    lines += [".SH EXIT STATUS", escaped(program.exitStatus), ".SH ENVIRONMENT"]
    for variable in program.environment { lines += [".TP", ".B \(escaped(variable.name))", escaped(variable.help)] }
    lines += [".SH SEE ALSO"]
    for (number, page) in program.seeAlso.enumerated() {
      let parts = page.split(separator: "(")
      let end = number == program.seeAlso.count - 1 ? "" : ","
      lines += [".BR \(escaped(String(parts[0]))) (\(parts.dropFirst().joined())\(end)"]
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func description(_ paragraphs: [String]) -> [String] {
    [".SH DESCRIPTION"] + paragraphs.enumerated().flatMap { ($0.offset == 0 ? [] : [".PP"]) + [escaped($0.element)] }
  }

  /// The operands and options.
  private static func words(of command: CommandDeclaration) -> [String] {
    command.operands.flatMap { [".TP", ".I \(escaped($0.name))", escaped($0.help)] }
      + command.options.flatMap { [".TP", ".B \(escaped(HelpText.synopsis($0)))", escaped($0.help)] }
  }

  private static func examples(of command: CommandDeclaration) -> [String] {
    command.examples.flatMap { [".TP", ".B \(escaped($0.commandLine))", escaped($0.effect)] }
  }

  /// Hyphens that are copied as hyphens, other characters than ASCII as groff's names for them; a point or an
  /// apostrophe at the beginning of a line is not a request.
  private static func escaped(_ text: String) -> String {
    let characters = text.unicodeScalars.map { scalar in
      switch scalar {
      case "-": "\\-"
      case "\\": "\\e"
      case _ where !scalar.isASCII: "\\[u\(Self.digits(scalar.value))]"
      default: String(scalar)
      }
    }.joined()
    return characters.hasPrefix(".") || characters.hasPrefix("'") ? "\\&" + characters : characters
  }

  /// At least four hexadecimal digits.
  private static func digits(_ number: UInt32) -> String {
    let digits = String(number, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
