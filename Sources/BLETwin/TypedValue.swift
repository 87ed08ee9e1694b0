import BLEAssignedNumbers
import BLEProfiles
import BLETrace
package import BLEWire
package import ToolCore

/// A value as people type it: on a command line, in a file of `ble serve` and in `ble shell`.
///
/// | text | octets |
/// |---|---|
/// | `6608`, `66 08`, `66:08`, `hex:6608` | pairs of hexadecimal digits, in the order in which they are sent |
/// | `text:on`, `utf8:on` | text in UTF-8 |
/// | `int16:2150`, `uint8:1,2,3`, `uint16:0x0866`, `float32:21.5` | numbers, the least significant octet first |
/// | `uint16be:2150` | the most significant octet first |
/// | `21.5 °C`, `72 bpm`, `chest`, `"kitchen"` | as `ble read` prints the value of the characteristic |
///
/// Digits without a unit are octets in any characteristic: `64` is one octet, 0x64. If the values of the characteristic
/// have a fixed length, another number of octets is an error, because a number was meant: `23` of a temperature.
package enum TypedValue {
  /// The octets of an attribute value at most (Vol 3, Part F, 3.2.9).
  package static let maximumLength = 512

  /// The octets of a text.
  ///
  /// - Parameter uuid: the type of the characteristic; nil if it is not known, which excludes the forms of `ble read`
  ///   that depend on it.
  /// - Throws: ``ToolError`` that says what the characteristic takes.
  package static func octets(_ text: String, of uuid: BluetoothUUID?) throws(ToolError) -> [UInt8] {
    if let octets = try prefixed(text) { return try checked(octets) }
    if let octets = hexadecimal(text) {
      try checkLength(octets, text, uuid)
      return try checked(octets)
    }
    if let octets = try printed(text, of: uuid) { return try checked(octets) }
    throw fault(text, uuid)
  }

  /// The octets, unless they are too many for a value.
  package static func checked(_ octets: [UInt8]) throws(ToolError) -> [UInt8] {
    guard octets.count <= maximumLength else {
      throw .data("a value has at most \(maximumLength) octets, not \(octets.count) or more")
    }
    return octets
  }

  private static func shown(_ text: String) -> String {
    "'\(String(printable: text.prefix(64)))\(text.count > 64 ? "…" : "")'"
  }

  /// Checks digits without a word that says what they are.
  ///
  /// - Throws: ``ToolError`` with the value that was probably meant, if the characteristic never has as many octets.
  private static func checkLength(_ octets: [UInt8], _ text: String, _ uuid: BluetoothUUID?) throws(ToolError) {
    guard let uuid, !octets.isEmpty, let length = FixedLength.octets(of: uuid), length != octets.count else { return }
    let name = AssignedNames.uuid(uuid) ?? uuid.uuidString
    let advice =
      if let number = number(text, of: uuid) { "For a number write \(number)" } else if let example = example(of: uuid)
      {
        "Write it as ble read prints it, such as \(example)"
      } else { "Write \(FixedLength.text(length))" }
    throw .data(
      "\(shown(text)) is \(FixedLength.text(octets.count)), and \(name) has \(FixedLength.text(length)). \(advice); "
        + "octets of any length are hex:…")
  }

  /// A number as a value of the characteristic: with its unit, otherwise with its type; nil for text that is no number,
  /// and for a number that the characteristic cannot have.
  private static func number(_ text: String, of uuid: BluetoothUUID) -> String? {
    guard let number = decimal(text[...]) else { return nil }
    if let unit = Quantity.of(uuid)?.unit {
      let measured = "\(text) \(unit)"
      return ((try? printed(measured, of: uuid)) ?? nil) == nil ? nil : "'\(measured)'"
    }
    guard let length = FixedLength.octets(of: uuid), length <= 4, number >= 0, number < 4_294_967_296 else {
      return nil
    }
    let typed = "uint\(8 * length):\(UInt32(number))"
    return ((try? prefixed(typed)) ?? nil) == nil ? nil : typed
  }

  private static func fault(_ text: String, _ uuid: BluetoothUUID?) -> ToolError {
    let shown = shown(text)
    let isWord = text.first?.isLetter == true && text.count <= 32 && text.allSatisfy { $0.isLetter || $0.isNumber }
    let isNumber = decimal(text[...]) != nil
    let typed = uuid.flatMap { number(text, of: $0) }.flatMap { $0.hasPrefix("'") ? nil : $0 }
    let others =
      "pairs of hexadecimal digits, text:\(isWord ? text : "…") or a number with its type, such as "
      + (typed ?? (isNumber ? text.contains(".") ? "float32:\(text)" : "int16:\(text)" : "int16:2150"))
    let words = NumberType.all.map(\.name) + ["text", "utf8", "hex"]
    if let colon = text.firstIndex(of: ":"), let word = nearest(to: String(text[..<colon]), in: words) {
      return .data("\(shown) is no value. Did you mean \(word):…?")
    }
    guard let uuid, let example = number(text, of: uuid).flatMap({ $0.hasPrefix("'") ? $0 : nil }) ?? example(of: uuid)
    else { return .data("\(shown) is no value. Write \(others)") }
    let name = AssignedNames.uuid(uuid) ?? uuid.uuidString
    return .data("\(shown) is no value of \(name). Write it as ble read prints it, such as \(example), or as \(others)")
  }
}

/// The forms that do not depend on the characteristic.
extension TypedValue {
  /// The octets after a word and a colon; nil without such a word.
  private static func prefixed(_ text: String) throws(ToolError) -> [UInt8]? {
    guard let colon = text.firstIndex(of: ":") else { return nil }
    let rest = String(text[text.index(after: colon)...])
    switch text[..<colon] {
    case "text", "utf8": return Array(rest.utf8)
    case "hex":
      guard let octets = hexadecimal(rest) else {
        throw .data("'\(String(printable: rest.prefix(64)))' is not pairs of hexadecimal digits")
      }
      return octets
    case let name:
      guard let type = NumberType.all.first(where: { $0.name == name }) else { return nil }
      var octets: [UInt8] = []
      for word in rest.split(separator: ",", omittingEmptySubsequences: false) {
        octets += try type.octets(String(word.trimmingSpaces))
      }
      return octets
    }
  }

  /// Pairs of digits, which spaces and colons may separate.
  private static func hexadecimal(_ text: String) -> [UInt8]? {
    [UInt8](hexadecimal: text.filter { $0 != " " && $0 != ":" })
  }

  /// A number of a fixed width: `int16`, `uint24`, `float32`, each also with `be`.
  private struct NumberType: Sendable {
    enum Kind: Sendable { case unsigned, signed, float }

    let kind: Kind
    let bits: Int
    let isBigEndian: Bool

    var name: String {
      let word = kind == .unsigned ? "uint" : kind == .signed ? "int" : "float"
      return "\(word)\(bits)\(isBigEndian ? "be" : "")"
    }

    static let all: [Self] = [false, true].flatMap { isBigEndian in
      stride(from: 8, through: 64, by: 8).flatMap { bits in
        [Kind.unsigned, .signed].map { Self(kind: $0, bits: bits, isBigEndian: isBigEndian) }
      } + [32, 64].map { Self(kind: .float, bits: $0, isBigEndian: isBigEndian) }
    }

    func octets(_ text: String) throws(ToolError) -> [UInt8] {
      guard let pattern = pattern(text) else {
        let range =
          switch kind {
          case .unsigned: "0 to \(UInt64.max >> (64 - UInt64(bits)))"
          case .signed: "\(Int64.min >> (64 - Int64(bits))) to \(Int64.max >> (64 - Int64(bits)))"
          case .float: "a number with or without a fraction"
          }
        throw .data("'\(String(printable: text.prefix(64)))' is no \(name): it takes \(range)")
      }
      let octets = (0..<bits / 8).map { UInt8(truncatingIfNeeded: pattern >> (8 * UInt64($0))) }
      return isBigEndian ? octets.reversed() : octets
    }

    /// The bits of a number in decimal, or of an integer in hexadecimal digits after 0x.
    private func pattern(_ text: String) -> UInt64? {
      switch kind {
      case .float:
        // The initializers read hexadecimal fractions, "nan" and "inf", which are numbers of the format.
        return bits == 32 ? Float(text).map { UInt64($0.bitPattern) } : Double(text)?.bitPattern
      case .unsigned:
        let number =
          text.lowercased().hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : UInt64(text)
        return number.flatMap { $0 <= UInt64.max >> (64 - UInt64(bits)) ? $0 : nil }
      case .signed:
        let shift = 64 - Int64(bits)
        return Int64(text).flatMap { ($0 << shift) >> shift == $0 ? UInt64(bitPattern: $0) : nil }
      }
    }
  }
}

/// The forms of `ble read`.
extension TypedValue {
  private static func printed(_ text: String, of uuid: BluetoothUUID?) throws(ToolError) -> [UInt8]? {
    if text == "empty" { return [] }
    if let quoted = quoted(text) { return Array(quoted.utf8) }
    // Octets that are text, too: `61 62 63 64 "abcd"`.
    if let quotation = text.firstIndex(of: "\""), let octets = hexadecimal(String(text[..<quotation])),
      ValueText.plain(octets[...]) == text
    {
      return octets
    }
    guard let number = uuid?.number else { return nil }
    if let form = forms[number] { return try form(text) }
    return value(printedAs: text, number)
  }

  /// Appearance, Measurement Interval, Characteristic Extended Properties, Client Characteristic Configuration, Report
  /// Reference.
  private static let twoOctets: Set<UInt16> = [0x2A01, 0x2A21, 0x2900, 0x2902, 0x2908]

  private static func quoted(_ text: String) -> Substring? {
    guard text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return nil }
    return text.dropFirst().dropLast()
  }

  /// The least value of one or two octets that has this text; nil if there is none.
  private static func value(printedAs text: String, _ number: UInt16) -> [UInt8]? {
    func key(_ text: String) -> String { text.lowercased().filter { $0 != " " } }
    let wanted = key(text)
    func isFound(_ octets: [UInt8]) -> Bool { ValueText.decoded(octets[...], of: number).map(key) == wanted }
    if let octet = (UInt8.min...UInt8.max).first(where: { isFound([$0]) }) { return [octet] }
    return twoOctets.contains(number) ? (UInt16.min...UInt16.max).lazy.map(\.littleEndian).first(where: isFound) : nil
  }

  /// How a value of the characteristic is printed.
  private static func example(of uuid: BluetoothUUID) -> String? {
    if uuid.isTextType { return "\"text\"" }
    guard let number = uuid.number else { return nil }
    if let example = examples[number] { return example }
    let texts = (1...4).lazy.compactMap { ValueText.decoded([UInt8](repeating: 0, count: $0)[...], of: number) }
    return texts.first { text in ((try? printed(text, of: uuid)) ?? nil) != nil }
  }

  /// Reads a text; nil if it does not have the form.
  private typealias Form = @Sendable (String) throws(ToolError) -> [UInt8]?

  private static let examples: [UInt16: String] = [
    0x2A08: "2026-01-31 12:00:00", 0x2A2B: "2026-01-31 12:00:00", 0x2A1C: "36.5 °C", 0x2A1E: "36.5 °C",
    0x2A37: "72 bpm",
  ]

  private static let forms = others.merging(
    EnvironmentalSensing.quantities.compactMap { quantity in
      quantity.format.uuid.number.map { ($0, environmental(quantity)) }
    }, uniquingKeysWith: { other, _ in other })

  private static let others: [UInt16: Form] = [
    0x2A08: { (text) throws(ToolError) in dateTime(text)?.octets },
    0x2A2B: { (text) throws(ToolError) in dateTime(text).map { CurrentTimeValue(ExactTime($0)).octets } },
    0x2A1C: temperatureMeasurement, 0x2A1E: temperatureMeasurement, 0x2A37: heartRate,
  ]

  /// A number with its unit, which is rounded to the resolution of the quantity. The numbers of a quantity without a
  /// unit need their type, because digits are octets: `uint8:11`.
  private static func environmental<Quantity: EnvironmentalQuantity>(_ quantity: Quantity.Type) -> Form {
    { (text) throws(ToolError) in
      let format = Quantity.format
      if text == "unknown", format.unknown != nil { return EnvironmentalValue<Quantity>(rawValue: nil).octets }
      guard !format.unit.isEmpty, let number = number(in: text, unit: format.unit) else { return nil }
      let value = EnvironmentalValue<Quantity>(number)
      // A number outside the range is limited to it.
      let step = abs(EnvironmentalValue<Quantity>(rawValue: 1).value ?? 1)
      guard let stored = value.value, abs(stored - number) <= step else {
        let limits = [format.range.lowerBound, format.range.upperBound].map { limit in
          EnvironmentalValue<Quantity>(rawValue: limit).description
        }
        throw .data(
          "\(String(printable: text)) is not in the range of the characteristic: \(limits.joined(separator: " to "))")
      }
      return value.octets
    }
  }

  /// The number before a unit, which a space may separate.
  private static func number(in text: String, unit: String) -> Double? {
    guard text.hasSuffix(unit) else { return nil }
    return decimal(text.dropLast(unit.count).trimmingSpaces)
  }

  /// A number in decimal, without an exponent.
  private static func decimal(_ text: Substring) -> Double? {
    guard text.utf8.allSatisfy({ "+-.0123456789".utf8.contains($0) }) else { return nil }
    return Double(text)
  }

  private static func temperatureMeasurement(_ text: String) throws(ToolError) -> [UInt8]? {
    guard let unit = ["°C", "°F"].first(where: text.hasSuffix), let number = number(in: text, unit: unit) else {
      return nil
    }
    let decimals = text.split(separator: ".").dropFirst().first?.prefix { $0.isNumber }.count ?? 0
    let float = MedicalFloat(number, decimals: decimals)
    guard float.special == nil else { throw .data("\(String(printable: text)) is too large for the characteristic") }
    return TemperatureMeasurement(unit == "°C" ? .celsius(float) : .fahrenheit(float)).octets
  }

  /// `72 bpm`, `72 bpm, skin contact`, `72 bpm, no skin contact, 10 kJ, RR 1000 992 ms`.
  private static func heartRate(_ text: String) throws(ToolError) -> [UInt8]? {
    var parts = text.split(separator: ",").map(\.trimmingSpaces)[...]
    guard let rate = parts.popFirst(), rate.hasSuffix("bpm"), let beats = UInt16(rate.dropLast(3).trimmingSpaces) else {
      return nil
    }
    var value = HeartRateMeasurement(beatsPerMinute: beats)
    for part in parts {
      if part == "skin contact" || part == "no skin contact" {
        value.contact = part == "skin contact" ? .detected : .notDetected
      } else if part.hasSuffix("kJ"), let energy = UInt16(part.dropLast(2).trimmingSpaces) {
        value.energyExpended = energy
      } else if part.hasPrefix("RR "), part.hasSuffix(" ms") {
        for word in part.dropFirst(3).dropLast(3).split(separator: " ") {
          // In units of 1/1024 s, rounded up: milliseconds are rounded down where they are printed.
          guard let time = UInt32(word), time <= 63_999 else { return nil }
          value.rrIntervals.append(UInt16((time * 1024 + 999) / 1000))
        }
      } else {
        return nil
      }
    }
    return value.octets
  }

  /// `2026-01-31 12:00:00`, or with a T between the date and the time.
  private static func dateTime(_ text: String) -> DateTime? {
    let parts = text.split(separator: text.contains("T") ? "T" : " ")
    guard parts.count == 2 else { return nil }
    let (date, time) = (parts[0].split(separator: "-"), parts[1].split(separator: ":"))
    guard date.count == 3, time.count == 3, let year = UInt16(date[0]), let month = UInt8(date[1]),
      let day = UInt8(date[2]), let hours = UInt8(time[0]), let minutes = UInt8(time[1]), let seconds = UInt8(time[2])
    else { return nil }
    let value = DateTime(year: year, month: month, day: day, hours: hours, minutes: minutes, seconds: seconds)
    // Another value than the text is one outside the limits.
    return DateTime(octets: value.octets) == value ? value : nil
  }
}

extension UInt16 {
  fileprivate var littleEndian: [UInt8] { [UInt8(truncatingIfNeeded: self), UInt8(truncatingIfNeeded: self >> 8)] }
}

extension StringProtocol {
  /// The text without spaces at its ends.
  fileprivate var trimmingSpaces: Substring {
    var text = Substring(self)
    while text.first == " " { text.removeFirst() }
    while text.last == " " { text.removeLast() }
    return text
  }
}
