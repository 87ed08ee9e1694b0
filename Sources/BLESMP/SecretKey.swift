/// A key of 128 bits that must not leave the stack by accident: its descriptions never show it.
public struct SecretKey: Hashable, Sendable {
  /// The key as a number; on the air and in HCI it travels least significant octet first.
  public var value: UInt128

  public init(_ value: UInt128) { self.value = value }
}

extension SecretKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "(secret)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The six digits that users read and type (Vol 3, Part H, 2.3.5.3): 000000 to 999999. Its descriptions never show them.
public struct Passkey: Hashable, Sendable {
  public let value: UInt32

  /// - Returns: nil for a number of more than six digits.
  public init?(_ value: UInt32) {
    guard value <= 999_999 else { return nil }
    self.value = value
  }

  /// The six lowest digits of `number`, which is how the numbers of a comparison are shown.
  public init(lowestDigitsOf number: UInt32) { value = number % 1_000_000 }

  /// What to show to the user: six digits, leading zeros included.
  public var digits: String {
    let text = String(value)
    return String(repeating: "0", count: 6 - text.count) + text
  }
}

extension Passkey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "(passkey)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
