package import BLEWire

/// Limits how many lines of one kind about one peer the log has, so that a peer cannot fill it.
///
/// Of each kind, ``lineLimit`` lines pass in a ``period``; the number of the others follows in one line at its end. Two
/// lines are of one kind if they differ in numbers and in quoted text only. Addresses, and the numbers of links, are no
/// numbers: they name the peer.
/// Beyond ``kindLimit`` kinds in a period, all further ones count as one.
package struct LogLimiter: Sendable {
  package static let lineLimit = 8
  package static let kindLimit = 128
  package static let period = Duration.seconds(10)

  private struct Kind: Hashable {
    var level: BluetoothLog.Level
    var text: String
  }

  private struct Period {
    let end: Instant
    var passed = 0
    var omitted = 0
    /// The last line that was left out.
    var last: BluetoothLog.Line?
  }

  private var periods: [Kind: Period] = [:]
  /// When a summary is due; nil if no line was left out.
  package private(set) var deadline: Instant?

  package init() {}

  /// Whether a line passes.
  package mutating func admits(_ line: BluetoothLog.Line, now: Instant) -> Bool {
    if periods.count >= Self.kindLimit { periods = periods.filter { $0.value.end > now || $0.value.omitted > 0 } }
    var kind = Kind(level: line.level, text: Self.kind(of: line.text))
    if periods[kind] == nil, periods.count >= Self.kindLimit { kind = Kind(level: line.level, text: "") }
    var period = periods[kind] ?? Period(end: now + Self.period)
    // What was left out in an earlier period is still to be reported.
    if period.end <= now, period.omitted == 0 { period = Period(end: now + Self.period) }
    let isAdmitted = period.passed < Self.lineLimit && period.omitted == 0
    if isAdmitted {
      period.passed += 1
    } else {
      period.omitted += 1
      period.last = line
      deadline = .nearer(deadline, period.end)
    }
    periods[kind] = period
    return isAdmitted
  }

  /// The lines about those that were left out in periods that have ended.
  package mutating func takeSummaries(now: Instant) -> [BluetoothLog.Line] {
    var summaries: [BluetoothLog.Line] = []
    deadline = nil
    for (kind, period) in periods.sorted(by: { ($0.value.end, $0.key.text) < ($1.value.end, $1.key.text) }) {
      guard period.omitted > 0, var line = period.last else { continue }
      guard period.end <= now else {
        deadline = .nearer(deadline, period.end)
        continue
      }
      let others = period.omitted == 1 ? "1 more line" : "\(period.omitted) more lines"
      let text = kind.text.isEmpty ? "of several kinds" : "like this one"
      line.text += " (\(others) \(text) in \(Self.period.components.seconds) s)"
      summaries.append(line)
      periods[kind] = nil
    }
    return summaries
  }

  /// The text without its numbers and quoted parts. Addresses and numbers of links stay.
  static func kind(of text: String) -> String {
    var kind: [UInt8] = []
    var word: [UInt8] = []
    var quote: UInt8?
    var isAfterLink = false
    func isPartOfWord(_ octet: UInt8) -> Bool {
      switch octet {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "-"):
        true
      default: false
      }
    }
    func endWord() {
      guard !word.isEmpty else { return }
      let isNumber = word.contains { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      kind += isNumber && !isAddress(word) && !isAfterLink ? [UInt8(ascii: "#")] : word
      isAfterLink = word == Array("link".utf8)
      word = []
    }
    for octet in text.replacing("“", with: "\"").replacing("”", with: "\"").utf8 {
      if let end = quote {
        guard octet == end else { continue }
        quote = nil
        kind.append(octet)
      } else if isPartOfWord(octet) {
        word.append(octet)
      } else {
        endWord()
        if octet == UInt8(ascii: "\"") { quote = octet }
        kind.append(octet)
      }
    }
    endWord()
    return String(decoding: kind, as: UTF8.self)
  }

  /// Whether a word begins with an address: `C0:11:22:33:44:55`, `C0:11:22:33:44:55-random:`.
  private static func isAddress(_ word: [UInt8]) -> Bool {
    guard word.count >= 17 else { return false }
    let isAddress = word[..<17].enumerated().allSatisfy { index, octet in
      index % 3 == 2 ? octet == UInt8(ascii: ":") : Character(Unicode.Scalar(octet)).isHexDigit
    }
    return isAddress && (word.count == 17 || word[17] == UInt8(ascii: ":") || word[17] == UInt8(ascii: "-"))
  }
}
