/// A message of ESPHome's native API with its number in the header of a frame.
package protocol APIMessage: ProtobufMessage {
  /// The number of the message.
  static var type: UInt16 { get }
}

/// A version of the API. A server of 1.9 or later sends the features of its Bluetooth proxy as flags; a client of 1.12
/// or later accepts short UUIDs.
package struct APIVersion: Comparable, Hashable, Sendable, CustomStringConvertible {
  package var major: UInt32
  package var minor: UInt32

  package init(_ major: UInt32, _ minor: UInt32) { (self.major, self.minor) = (major, minor) }

  /// The latest version that this library serves.
  package static let latest = Self(1, 19)

  /// Whether a client of this version accepts ``GATTUUID`` in its short form.
  package var hasShortUUIDs: Bool { self >= Self(1, 12) }

  package static func < (a: Self, b: Self) -> Bool { (a.major, a.minor) < (b.major, b.minor) }
  package var description: String { "\(major).\(minor)" }
}
