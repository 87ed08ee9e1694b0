/// The completions of the shells: commands, options, files and fixed words.
enum Completions {
  static let shells = ["bash", "zsh", "fish"]

  static func script(for shell: String, _ commands: [CommandDeclaration]) -> String {
    switch shell {
    case "bash": bash(commands)
    case "zsh": zsh(commands)
    default: fish(commands)
    }
  }

  private static func bash(_ commands: [CommandDeclaration]) -> String {
    let cases = commands.map { command in
      let files = command.options.filter(\.isFile).map { "--\($0.name)" }
      let operands = command.operands.flatMap { self.words(of: $0, commands) }
      let words = command.options.map { "--\($0.name)" } + ["--help"] + operands
      var lines = ["    \(command.name))"]
      if !files.isEmpty {
        lines.append(
          "      case $previous in \(files.joined(separator: "|"))) COMPREPLY=($(compgen -f -- \"$word\")); return ;; esac"
        )
      }
      for option in command.options {
        guard let values = option.values else { continue }
        lines.append(
          "      [[ $previous != --\(option.name) ]] || { COMPREPLY=($(compgen -W '\(values.joined(separator: " "))' -- \"$word\")); return; }"
        )
      }
      lines.append("      COMPREPLY=($(compgen -W '\(words.joined(separator: " "))' -- \"$word\"))")
      if command.operands.contains(where: \.isFile) {
        lines.append("      [[ $word == -* ]] || COMPREPLY+=($(compgen -f -- \"$word\"))")
      }
      return (lines + ["      ;;"]).joined(separator: "\n")
    }
    return """
      # bash completion of ble
      _ble() {
        local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
        COMPREPLY=()
        if [ "$COMP_CWORD" -eq 1 ]; then
          COMPREPLY=($(compgen -W '\(commands.map(\.name).joined(separator: " ")) --help --version' -- "$word"))
          return
        fi
        case ${COMP_WORDS[1]} in
      \(cases.joined(separator: "\n"))
        esac
      }
      complete -o filenames -F _ble ble

      """
  }

  private static func zsh(_ commands: [CommandDeclaration]) -> String {
    let names = commands.map { "    '\($0.name):\(quoted($0.summary))'" }
    let cases = commands.map { command in
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
      let lines = (options + ["      '--help[prints the help]'"] + operands).joined(separator: " \\\n")
      return "  \(command.name))\n    _arguments \\\n\(lines)\n    ;;"
    }
    return """
      #compdef ble
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

  private static func fish(_ commands: [CommandDeclaration]) -> String {
    var lines = ["# fish completion of ble", "complete -c ble -f"]
    for command in commands {
      lines.append("complete -c ble -n __fish_use_subcommand -a \(command.name) -d '\(quoted(command.summary))'")
      let condition = "complete -c ble -n '__fish_seen_subcommand_from \(command.name)'"
      for option in command.options {
        let words = option.values.map { " -a '\($0.joined(separator: " "))'" } ?? ""
        let value = option.value == nil ? "" : option.isFile ? " -r -F" : " -x\(words)"
        lines.append("\(condition) -l \(option.name)\(value) -d '\(quoted(option.help))'")
      }
      for operand in command.operands {
        let words = words(of: operand, commands)
        if !words.isEmpty { lines.append("\(condition) -a '\(words.joined(separator: " "))'") }
        if operand.isFile { lines.append("\(condition) -F") }
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The words that an operand accepts; empty where it accepts any.
  private static func words(of operand: CommandDeclaration.Operand, _ commands: [CommandDeclaration]) -> [String] {
    operand.isCommand ? commands.map(\.name) : operand.values ?? []
  }

  /// Text in single quotes and in the brackets and colons of zsh.
  private static func quoted(_ text: String) -> String {
    text.map { $0 == "'" ? "’" : $0 == "[" || $0 == "]" || $0 == ":" ? " " : String($0) }.joined()
  }
}
