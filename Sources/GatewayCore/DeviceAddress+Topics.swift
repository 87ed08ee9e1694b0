public import BLEWire

/// An address in topics and in the configuration: with its kind, because a public and a random address of the same 48
/// bits are two devices.
extension DeviceAddress {
  /// `C0:11:22:33:44:55` for a public address, `C0:11:22:33:44:55-random` for a random one.
  public var topicLevel: String { isRandom ? "\(octets)-random" : "\(octets)" }

  /// Reads the form of ``topicLevel``, with `-public` allowed, and the form that `ble scan` prints:
  /// `C0:11:22:33:44:55 (random)`.
  ///
  /// - Returns: nil for text in any other form.
  public init?(topicLevel text: some StringProtocol) {
    let (address, kind) = (text.prefix(17), text.dropFirst(17))
    switch kind {
    case "", "-public", " (public)": self.init(address, kind: .public)
    case "-random", " (random)": self.init(address, kind: .random)
    default: return nil
    }
  }

  private var isRandom: Bool { kind == .random || kind == .randomIdentity }

  /// The order of published lists.
  func isOrdered(before other: Self) -> Bool {
    (octets.value, kind.rawValue) < (other.octets.value, other.kind.rawValue)
  }
}
