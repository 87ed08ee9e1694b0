public import BLEWire
import ToolCore

/// An address in topics and in the configuration: with its kind, because a public and a random address of the same 48
/// bits are two devices.
extension DeviceAddress {
  /// `C0:11:22:33:44:55` for a public address, `C0:11:22:33:44:55-random` for a random one.
  public var topicLevel: String { isRandom ? "\(octets)-random" : "\(octets)" }

  /// Reads the form of ``topicLevel``, with `-public` allowed, as `ble scan` prints it, and the form of messages:
  /// `C0:11:22:33:44:55 (random)`.
  ///
  /// - Returns: nil for text in any other form.
  public init?(topicLevel text: some StringProtocol) {
    guard let word = AddressWord(text) else { return nil }
    self.init(octets: word.octets, kind: word.kind ?? .public)
  }

  /// The order of published lists.
  func isOrdered(before other: Self) -> Bool {
    (octets.value, kind.rawValue) < (other.octets.value, other.kind.rawValue)
  }
}
