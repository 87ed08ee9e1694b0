import Testing
import ToolCore

@testable import ble

struct CommandLineTests {
  private static let command = CommandDeclaration(
    name: "take", summary: "takes",
    operands: [
      .init(name: "FIRST", help: "one"), .init(name: "SECOND", help: "two", isRequired: false, values: ["a", "b"]),
    ],
    options: [
      .flag("quick", "is quick"), .value("count", "N", "a number"), .value("id", "X", "any", isRepeatable: true),
      .value("kind", "KIND", "one of two", values: ["round", "square"]),
    ],
    run: { _ in })

  @Test func takesOptionsBeforeBetweenAndAfterOperands() throws {
    let arguments = try ParsedArguments(Self.command, ["--quick", "x", "--count=3", "a", "--id", "1", "--id=2"])
    #expect(arguments.operands == ["x", "a"] && arguments.has("quick"))
    #expect(try arguments.number("count", in: 1...10) == 3)
    #expect(arguments.allValues("id") == ["1", "2"])
  }

  @Test func takesEachWordAfterTwoHyphensAsAnOperand() throws {
    let arguments = try ParsedArguments(Self.command, ["--", "--quick"])
    #expect(arguments.operands == ["--quick"] && !arguments.has("quick"))
  }

  /// `ble write Sensor Temperature '-3.5 °C'`.
  @Test func aNegativeNumberIsAnOperand() throws {
    let arguments = try ParsedArguments(Self.command, ["-3.5 °C", "--quick"])
    #expect(arguments.operands == ["-3.5 °C"] && arguments.has("quick"))
    #expect(throws: ToolError.self) { try ParsedArguments(Self.command, ["-x"]) }
  }

  @Test(arguments: [
    (["--slow", "x"], "unknown option --slow"), (["x", "--count"], "--count needs a value"),
    (["x", "--count="], "--count needs a value"), (["x", "--quick=1"], "--quick takes no value"),
    (["x", "--count", "1", "--count", "2"], "--count is given twice"), ([], "FIRST is missing"),
    (["x", "c"], "'c' is not one of a, b"), (["x", "a", "y"], "unexpected operand 'y'"),
    (["x", "--qiuck"], "unknown option --qiuck. Did you mean --quick?"),
    (["x", "--kind", "rond"], "--kind: 'rond' is not one of round, square. Did you mean round?"),
  ])
  func rejectsAWrongCommandLineWithItsWordAndTheUsage(words: [String], reason: String) {
    let error = #expect(throws: ToolError.self) { try ParsedArguments(Self.command, words) }
    #expect(error?.status == 64)
    #expect(error?.description.hasPrefix(reason) == true)
    #expect(error?.description.contains("usage: ble take [OPTIONS] FIRST [SECOND]") == true)
  }

  @Test(arguments: ["0", "11", "x", "-1", "99999999999999999999"])
  func rejectsANumberOutsideItsRange(text: String) throws {
    let arguments = try ParsedArguments(Self.command, ["x", "--count", text])
    #expect(throws: ToolError.self) { try arguments.number("count", in: 1...10) }
  }

  @Test(arguments: [("0x0021", 0x21), ("0XFFFF", 0xFFFF), ("33", 33), ("0001", 1)])
  func takesAHandleInEitherForm(text: String, handle: UInt16) throws {
    #expect(try ParsedArguments(Self.command, ["x", "--count", text]).handle("count") == handle)
  }

  @Test(arguments: ["0", "0x0", "0x10000", "65536", "21h", "-1", "+1", "0x+1", "0x"])
  func rejectsWhatIsNoHandle(text: String) throws {
    let arguments = try ParsedArguments(Self.command, ["x", "--count=\(text)"])
    #expect(throws: ToolError.self) { try arguments.handle("count") }
  }

  @Test func quotesTheWordsOfACommandLine() throws {
    let command = CommandDeclaration(
      name: "take", summary: "takes", options: CommandDeclaration.Option.adapter, run: { _ in })
    let arguments = try ParsedArguments(
      command, ["--transport", "unix-client:/tmp/my radio", "--address", "C0:11:22:33:44:55"])
    #expect(
      arguments.commandLine("pair", "Bob's lamp")
        == #"ble pair 'Bob'\''s lamp' --transport 'unix-client:/tmp/my radio' --address C0:11:22:33:44:55"#)
  }

  /// Another shell may not have the variables, and without them the command is for another adapter or another file.
  @Test func aCommandLineHasTheAdapterAndTheBondsOfTheEnvironment() throws {
    let command = CommandDeclaration(
      name: "take", summary: "takes", options: CommandDeclaration.Option.adapter, run: { _ in })
    let environment = ["BLE_BONDS": "/tmp/my bonds.json", "BLE_TRANSPORT": "linux:hci1"]
    let words = ["bonds", "--remove", "C0:11:22:33:44:55"]
    #expect(
      try ParsedArguments(command, []).commandLine(words) { environment[$0] }
        == "BLE_BONDS='/tmp/my bonds.json' ble bonds --remove C0:11:22:33:44:55 --transport linux:hci1")
    #expect(
      try ParsedArguments(command, ["--transport", "linux:hci0"]).commandLine(words) { environment[$0] }
        == "BLE_BONDS='/tmp/my bonds.json' ble bonds --remove C0:11:22:33:44:55 --transport linux:hci0")
  }

  @Test(arguments: [
    ("scna", "scan"), ("sacn", "scan"), ("gatway", "gateway"), ("bond", "bonds"), ("fly", nil), ("x", nil), ("", nil),
    (String(repeating: "scan", count: 20), nil),
  ])
  func asksWhetherTheNearestCommandIsMeant(word: String, command: String?) {
    #expect(nearest(to: word, in: BLETool.commands.map(\.name)) == command)
  }

  @Test(arguments: ["0", "0.05", "nan", "inf", "86401", "x"])
  func rejectsADurationOutsideItsRange(text: String) throws {
    let arguments = try ParsedArguments(Self.command, ["x", "--count", text])
    #expect(throws: ToolError.self) { try arguments.seconds("count") }
  }

  @Test func needsNoOperandsForHelp() throws { #expect(try ParsedArguments(Self.command, ["--help"]).wantsHelp) }

  @Test(arguments: BLETool.commands.map(\.name))
  func eachHelpFitsEightyColumns(name: String) throws {
    let command = try #require(BLETool.commands.first { $0.name == name })
    for line in HelpText.text(of: command).split(separator: "\n") where !line.hasPrefix("  ble ") {
      #expect(line.count <= 80, "\(line)")
    }
  }

  @Test func theHelpOfTheToolHasEachCommand() {
    let help = HelpText.text(of: BLETool.program)
    for command in BLETool.commands { #expect(help.contains("  \(command.name) ")) }
    #expect(help.split(separator: "\n").allSatisfy { $0.count <= 80 })
    #expect(Set(BLETool.commands.map(\.name)).count == BLETool.commands.count)
  }

  @Test func theManualPageHasEachCommandAndOptionAndNoBareHyphenOrRequest() {
    let page = ManualPage.text(of: BLETool.program)
    for command in BLETool.commands {
      #expect(page.contains(".SS ble \(command.name)"))
      for option in command.options { #expect(page.contains("\\-\\-\(option.name.replacing("-", with: "\\-"))")) }
    }
    let requests: Set<Substring> = [".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".I", ".BR"]
    for line in page.split(separator: "\n") where line.hasPrefix(".") {
      #expect(requests.contains(line.prefix { $0 != " " }), "\(line)")
    }
  }

  @Test func theManualPageOfTheGatewayHasEachOption() {
    let program = GatewayDeclaration.program { _ in }
    let page = ManualPage.text(of: program)
    #expect(page.hasPrefix(".TH BLE\\-GATEWAY 1 ") && page.contains("\nble\\-gateway \\- gateway from"))
    for option in BLETool.commands.first(where: { $0.name == "gateway" })?.options ?? [] {
      #expect(page.contains("\\-\\-\(option.name.replacing("-", with: "\\-"))"))
      for shell in Completions.shells { #expect(Completions.script(for: shell, program).contains(option.name)) }
    }
    #expect(page.contains(".BR ble (1),\n.BR mosquitto (8)\n"))
  }

  @Test(arguments: Completions.shells)
  func theCompletionsHaveEachCommandAndOption(shell: String) {
    let script = Completions.script(for: shell, BLETool.program)
    for command in BLETool.commands {
      #expect(script.contains(command.name))
      for option in command.options {
        #expect(script.contains(option.name))
        if let values = option.values { #expect(script.contains(values.joined(separator: " "))) }
      }
    }
  }
}
