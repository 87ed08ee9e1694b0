/// The manual page `ble(1)`, in the macros of man(7).
enum ManualPage {
  static func text(_ commands: [CommandDeclaration]) -> String {
    var lines = [
      ".TH BLE 1 \"\" \"BluetoothLE\" \"User Commands\"",
      ".SH NAME", "ble \\- Bluetooth Low Energy from the command line",
      ".SH SYNOPSIS", ".B ble", "\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIOPERANDS\\fR]",
      ".SH DESCRIPTION",
      escaped(
        "ble uses the Bluetooth adapters of this machine, any HCI controller on a serial line or socket, and a simulated radio."
      ),
      ".SH COMMANDS",
    ]
    for command in commands { lines += section(command) }
    lines += [
      ".SH EXIT STATUS",
      "0 for success, else a status of sysexits.h: 64 for a wrong command line, 65 for malformed data, 66 for a file that",
      "cannot be read, 68 for a device that was not found, 69 without a usable adapter, 73 for a file that cannot be written,",
      "74 for an adapter that does not answer or output that cannot be written, such as on a full disk,",
      "75 for an adapter that another program uses, 76 for a request that the device rejected, 77 without permission.",
      "141 where the reader of standard output has closed it.",
      "SIGINT (Control\\-C) and SIGTERM end the command, its links and its advertisement; the status is 130 or 143: 128 and the number of",
      "the signal.",
      ".SH ENVIRONMENT", ".TP", ".B BLE_TRANSPORT", "The controller of commands without \\-\\-transport.",
      ".TP", ".B BLE_SNOOP", "The packet trace of commands without \\-\\-snoop.",
      ".TP", ".B BLE_BONDS", "The file of the bonds.",
      ".TP", ".B NO_COLOR", "Output without colours.",
      ".SH SEE ALSO", ".BR btmon (1),", ".BR bluetoothctl (1),", ".BR wireshark (1)",
    ]
    return lines.joined(separator: "\n") + "\n"
  }

  private static func section(_ command: CommandDeclaration) -> [String] {
    var lines = [".SS \(escaped(command.usage))", escaped("\(command.summary).")]
    for paragraph in command.details { lines += [".PP", escaped(paragraph)] }
    for operand in command.operands { lines += [".TP", ".I \(escaped(operand.name))", escaped(operand.help)] }
    for option in command.options {
      lines += [".TP", ".B \(escaped(HelpText.synopsis(option)))", escaped(option.help)]
    }
    for example in command.examples { lines += [".TP", ".B \(escaped(example.commandLine))", escaped(example.effect)] }
    return lines
  }

  /// Hyphens that are copied as hyphens, other characters than ASCII as groff's names for them; a point or an apostrophe at the
  /// beginning of a line is not a request.
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
