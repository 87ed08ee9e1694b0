/// The operands and options of one command line.
public struct ParsedArguments: Sendable {
  public let command: CommandDeclaration
  /// The words as they were given.
  public let words: [String]
  public private(set) var operands: [String] = []
  private var flags: Set<String> = []
  private var values: [String: [String]] = [:]
  /// Whether only the help is requested.
  public private(set) var wantsHelp = false

  /// Reads the words after the name of the command. Options and operands may be mixed; all words after `--` are
  /// operands, and so is a negative number, such as `-3.5 °C`.
  ///
  /// - Throws: ``ToolError`` with status 64 (EX_USAGE), which names the word at fault.
  public init(_ command: CommandDeclaration, _ words: some Sequence<String>) throws(ToolError) {
    self.command = command
    self.words = Array(words)
    var rest = self.words[...]
    var onlyOperands = false
    while let word = rest.popFirst() {
      if onlyOperands || !word.hasPrefix("-") || word == "-" || Self.isNegativeNumber(word) {
        operands.append(word)
      } else if word == "--" {
        onlyOperands = true
      } else if word == "--help" || word == "-h" {
        wantsHelp = true
      } else {
        try take(word, &rest)
      }
    }
    if !wantsHelp { try checkOperands() }
  }

  private static func isNegativeNumber(_ word: String) -> Bool {
    word.utf8.dropFirst().first.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } == true
  }

  private mutating func take(_ word: String, _ rest: inout ArraySlice<String>) throws(ToolError) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let name = parts.first ?? word
    guard let option = command.options.first(where: { "--\($0.name)" == name }) else {
      let hint = nearest(to: name, in: command.options.map { "--\($0.name)" } + ["--help"])
      throw .usage("unknown option \(name)\(hint.map { ". Did you mean \($0)?" } ?? "")", of: command)
    }
    guard let placeholder = option.value else {
      guard parts.count == 1 else { throw .usage("\(name) takes no value", of: command) }
      flags.insert(option.name)
      return
    }
    guard let value = parts.count == 2 ? parts.last : rest.popFirst(), !value.isEmpty else {
      throw .usage("\(name) needs a value: \(name) \(placeholder)", of: command)
    }
    guard option.isRepeatable || values[option.name] == nil else {
      throw .usage("\(name) is given twice", of: command)
    }
    try check(value, option.values, at: "\(name): ")
    values[option.name, default: []].append(value)
  }

  private func checkOperands() throws(ToolError) {
    if let extra = operands.dropFirst(command.operands.count).first {
      let phrase = Self.phrase(in: operands).map { ". Words that belong together need quotation marks: '\($0)'" } ?? ""
      throw .usage("unexpected operand '\(extra)'\(phrase)", of: command)
    }
    for (index, operand) in command.operands.enumerated() {
      guard index < operands.count else {
        if operand.isRequired { throw .usage("\(operand.name) is missing", of: command) }
        continue
      }
      try check(operands[index], operand.values, at: "")
    }
  }

  /// The last two words that may be one operand: two words of a name, or a number and its unit.
  private static func phrase(in operands: [String]) -> String? {
    func isWord(_ text: String) -> Bool { !text.contains(" ") && text.first?.isNumber == false }
    func isNumber(_ text: String) -> Bool { text.allSatisfy { $0.isNumber || "+-.".contains($0) } }
    let pairs = zip(operands, operands.dropFirst()).filter { first, second in
      isWord(second) && (isWord(first) || isNumber(first))
    }
    return pairs.last.map { "\($0.0) \($0.1)" }
  }

  private func check(_ word: String, _ accepted: [String]?, at place: String) throws(ToolError) {
    guard let accepted, !accepted.contains(word) else { return }
    let hint = nearest(to: word, in: accepted).map { ". Did you mean \($0)?" } ?? ""
    throw .usage("\(place)'\(word)' is not one of \(accepted.joined(separator: ", "))\(hint)", of: command)
  }

  /// Whether the flag `--name` is given.
  public func has(_ name: String) -> Bool { flags.contains(name) }

  /// The value of `--name`; nil if it is not given.
  public func value(_ name: String) -> String? { values[name]?.last }

  /// Each value of `--name`.
  public func allValues(_ name: String) -> [String] { values[name] ?? [] }

  /// The operand at `index`; nil if it is not given.
  public func operand(_ index: Int) -> String? { operands.indices.contains(index) ? operands[index] : nil }

  /// The number of `--name`.
  ///
  /// - Throws: ``ToolError`` if the value is not a number in the range.
  public func number<Number: FixedWidthInteger & Sendable>(
    _ name: String, in range: ClosedRange<Number>
  ) throws(ToolError) -> Number? {
    guard let text = value(name) else { return nil }
    guard let number = Number(text), range.contains(number) else {
      throw .usage(
        "--\(name) takes a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'", of: command)
    }
    return number
  }

  /// The handle of `--name`: hexadecimal digits after 0x, as the tool prints it, or a decimal number.
  public func handle(_ name: String) throws(ToolError) -> UInt16? {
    guard let text = value(name) else { return nil }
    let isHexadecimal = text.lowercased().hasPrefix("0x")
    let digits = isHexadecimal ? text.dropFirst(2) : text[...]
    guard digits.allSatisfy(\.isHexDigit), let number = UInt16(digits, radix: isHexadecimal ? 16 : 10), number != 0
    else {
      throw .usage("--\(name) takes a handle from 0x0001 to 0xFFFF, not '\(text)'", of: command)
    }
    return number
  }

  /// The duration of `--name` in seconds, with a fraction: 0.1 to 86,400.
  public func seconds(_ name: String) throws(ToolError) -> Duration? {
    guard let text = value(name) else { return nil }
    guard let seconds = Double(text), (0.1...86_400).contains(seconds) else {
      throw .usage("--\(name) takes a number of seconds from 0.1 to 86400, not '\(text)'", of: command)
    }
    return .seconds(seconds)
  }
}
