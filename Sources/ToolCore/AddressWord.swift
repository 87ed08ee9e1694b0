public import BLEWire

/// An address as one word of a command line, a file or a topic: `C0:11:22:33:44:55-random`, `F0:F1:F2:F3:F4:F5-public`,
/// or without its kind, `C0:11:22:33:44:55`.
///
/// A public address and a random one with the same octets are two devices (Vol 6, Part B, 1.3).
public struct AddressWord: Hashable, Sendable {
  public let octets: BD_ADDR
  /// Public or random; nil if the word does not say it.
  public let kind: DeviceAddress.Kind?

  /// Reads a word, or an address as it is in messages: `C0:11:22:33:44:55 (random)`. The case does not matter.
  ///
  /// - Returns: nil for text in any other form.
  public init?(_ text: some StringProtocol) {
    guard let address = DeviceAddress(text.prefix(17), kind: .public) else { return nil }
    switch text.dropFirst(17).lowercased() {
    case "": kind = nil
    case "-public", " (public)": kind = .public
    case "-random", " (random)": kind = .random
    default: return nil
    }
    octets = address.octets
  }

  /// What is wrong with text that is meant as an address; nil for an address, and for text that may be a name.
  ///
  /// An address is meant by octets in another number or another spelling (`C0:11:22:33:44`, `C0-11-22-33-44-55`,
  /// `c01122334455`), with a wrong digit, or with another kind. Twelve decimal digits are a serial number.
  public static func misspelling(in text: String) -> String? {
    guard AddressWord(text) == nil else { return nil }
    let shown = "'\(String(printable: text.prefix(64)))'"
    if text.count > 17, AddressWord(text.prefix(17)) != nil, text.dropFirst(17).first != ":" {
      return "\(shown) is not an address: after its six octets is -public, -random or nothing"
    }
    var digits = text[...]
    if let kind = ["-public", "-random"].first(where: { text.lowercased().hasSuffix($0) }) {
      digits = digits.dropLast(kind.count)
    }
    if digits.lowercased().hasPrefix("0x") { digits = digits.dropFirst(2) }
    let groups = digits.split(omittingEmptySubsequences: false) { ":-_. ".contains($0) }
    let isHexadecimal = groups.allSatisfy { $0.utf8.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit } }
    let areOctets = groups.allSatisfy { (1...2).contains($0.utf8.count) }
    if isHexadecimal, let address = respelt(groups) { return "\(shown) is not the form of an address: \(address)" }
    let isColonised = digits.split(separator: ":", omittingEmptySubsequences: false).count == groups.count
    guard areOctets, isHexadecimal ? groups.count >= (isColonised ? 4 : 5) : isColonised && groups.count >= 5 else {
      return nil
    }
    return "\(shown) is not an address, which has six octets of two hexadecimal digits, such as C0:11:22:33:44:55"
  }

  /// The address with colons of hexadecimal digits: six octets, or twelve digits in groups of one length.
  private static func respelt(_ groups: [Substring]) -> String? {
    let all = groups.joined()
    let digits =
      groups.count == 6 && groups.allSatisfy { $0.count == 1 } ? groups.map { "0\($0)" }.joined() : all
    let isEven = Set(groups.map { $0.count }).count == 1
    guard digits.utf8.count == 12, isEven, groups.count > 1 || !all.allSatisfy({ $0.isNumber }),
      let octets = UInt64(digits, radix: 16)
    else { return nil }
    return "\(BD_ADDR(octets))"
  }

  /// Whether it is the address of a device. A word without a kind is that of both kinds.
  public func names(_ device: DeviceAddress) -> Bool {
    device.octets == octets && (kind == nil || device.identity.kind == kind)
  }
}

extension DeviceAddress {
  /// The address with its kind as one word, which ``AddressWord`` reads. The kind of a resolved identity is that of its
  /// address.
  public var word: String { "\(octets)\(isRandom ? "-random" : "-public")" }

  /// Whether the address is a random one, or a random identity.
  public var isRandom: Bool { kind == .random || kind == .randomIdentity }
}
