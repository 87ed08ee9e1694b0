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
