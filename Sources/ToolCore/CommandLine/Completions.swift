/// The completions of the shells: commands, options, files and fixed words.
public enum Completions {
  public static let shells = ["bash", "zsh", "fish"]

  /// The completions of a program.
  ///
  /// - Parameter shell: one of ``shells``.
  public static func script(for shell: String, _ program: ProgramDeclaration) -> String {
    switch shell {
    case "bash": bash(program)
    case "zsh": zsh(program)
    default: fish(program)
    }
  }

  // MARK: - bash

  private static func bash(_ program: ProgramDeclaration) -> String {
    let body: [String]
    switch program.form {
    case .command(let command): body = bash(command, [])
    case .commands(let commands):
      let names = commands.map(\.name).joined(separator: " ")
      let cases = commands.flatMap { ["\($0.name))"] + bash($0, commands).map { "  \($0)" } + ["  ;;"] }
      body =
        [
          "if [ \"$COMP_CWORD\" -eq 1 ]; then",
          "  COMPREPLY=($(compgen -W '\(names) --help --version' -- \"$word\"))", "  return", "fi",
          "case ${COMP_WORDS[1]} in",
        ] + cases.map { "  \($0)" } + ["esac"]
    }
    let function = "_" + program.name.replacing("-", with: "_")
    let lines =
      [
        "# bash completion of \(program.name)", "\(function)() {",
        "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}", "  COMPREPLY=()",
      ] + body.map { "  \($0)" } + ["}", "complete -o filenames -F \(function) \(program.name)", ""]
    return lines.joined(separator: "\n")
  }

  private static func bash(_ command: CommandDeclaration, _ commands: [CommandDeclaration]) -> [String] {
    let files = command.options.filter(\.isFile).map { "--\($0.name)" }
    let operands = command.operands.flatMap { self.words(of: $0, commands) }
    let words = command.options.map { "--\($0.name)" } + ["--help"] + operands
    var lines: [String] = []
    if !files.isEmpty {
      lines.append(
        "case $previous in \(files.joined(separator: "|"))) COMPREPLY=($(compgen -f -- \"$word\")); return ;; esac")
    }
    for option in command.options {
      guard let values = option.values?.joined(separator: " ") else { continue }
      lines.append(
        "case $previous in --\(option.name)) COMPREPLY=($(compgen -W '\(values)' -- \"$word\")); return ;; esac")
    }
    lines.append("COMPREPLY=($(compgen -W '\(words.joined(separator: " "))' -- \"$word\"))")
    if command.operands.contains(where: \.isFile) {
      lines.append("[[ $word == -* ]] || COMPREPLY+=($(compgen -f -- \"$word\"))")
    }
    return lines
  }

  // MARK: - zsh

  private static func zsh(_ program: ProgramDeclaration) -> String {
    switch program.form {
    case .command(let command):
      return "#compdef \(program.name)\n_arguments \\\n\(zsh(command, []))\n"
    case .commands(let commands):
      let names = commands.map { "    '\($0.name):\(quoted($0.summary))'" }
      let cases = commands.map { "  \($0.name))\n    _arguments \\\n\(zsh($0, commands))\n    ;;" }
      return """
        #compdef \(program.name)
        local -a commands
        commands=(
        \(names.joined(separator: "\n"))
        )
        if (( CURRENT == 2 )); then
          _describe command commands
          return
        fi
        shift words
        (( CURRENT-- ))
        case $words[1] in
        \(cases.joined(separator: "\n"))
        esac

        """
    }
  }

  private static func zsh(_ command: CommandDeclaration, _ commands: [CommandDeclaration]) -> String {
    let options = command.options.map { option in
      let repeats = option.isRepeatable ? "*" : ""
      let action = option.values.map { "(\($0.joined(separator: " ")))" } ?? (option.isFile ? "_files" : "")
      let value = option.value.map { ":\($0):\(action)" } ?? ""
      return "      '\(repeats)--\(option.name)[\(quoted(option.help))]\(value)'"
    }
    let operands = command.operands.map { operand in
      let words = words(of: operand, commands)
      let action = words.isEmpty ? (operand.isFile ? "_files" : "") : "(\(words.joined(separator: " ")))"
      return "      ':\(operand.name):\(action)'"
    }
    return (options + ["      '--help[prints the help]'"] + operands).joined(separator: " \\\n")
  }

  // MARK: - fish

  private static func fish(_ program: ProgramDeclaration) -> String {
    let name = program.name
    var lines = ["# fish completion of \(name)", "complete -c \(name) -f"]
    switch program.form {
    case .command(let command): lines += fish(command, [], "complete -c \(name)")
    case .commands(let commands):
      for command in commands {
        lines.append("complete -c \(name) -n __fish_use_subcommand -a \(command.name) -d '\(quoted(command.summary))'")
        lines += fish(command, commands, "complete -c \(name) -n '__fish_seen_subcommand_from \(command.name)'")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func fish(
    _ command: CommandDeclaration, _ commands: [CommandDeclaration], _ condition: String
  ) -> [String] {
    var lines = command.options.map { option in
      let words = option.values.map { " -a '\($0.joined(separator: " "))'" } ?? ""
      let value = option.value == nil ? "" : option.isFile ? " -r -F" : " -x\(words)"
      return "\(condition) -l \(option.name)\(value) -d '\(quoted(option.help))'"
    }
    for operand in command.operands {
      let words = words(of: operand, commands)
      if !words.isEmpty { lines.append("\(condition) -a '\(words.joined(separator: " "))'") }
      if operand.isFile { lines.append("\(condition) -F") }
    }
    return lines
  }

  /// The words that an operand accepts; empty if it accepts any.
  private static func words(of operand: CommandDeclaration.Operand, _ commands: [CommandDeclaration]) -> [String] {
    operand.isCommand ? commands.map(\.name) : operand.values ?? []
  }

  /// Text in single quotes and in the brackets and colons of zsh.
  private static func quoted(_ text: String) -> String {
    text.map { $0 == "'" ? "’" : $0 == "[" || $0 == "]" || $0 == ":" ? " " : String($0) }.joined()
  }
}
