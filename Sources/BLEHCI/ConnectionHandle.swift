/// The 12 bits that name a link between host and controller (Vol 4, Part E, 5.3).
///
/// The four bits above travel with it in the same two octets: flags in data packets, reserved elsewhere. A receiver
/// ignores reserved bits, so they are masked here instead of being refused: a Connection Complete event that reports a
/// failure often carries 0xFFFF.
public struct ConnectionHandle: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt16

  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue & 0x0FFF }

  /// The greatest handle that a controller may give out.
  public static let greatest = Self(rawValue: 0x0EFF)
}

extension ConnectionHandle: Comparable {
  @inlinable public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

extension ConnectionHandle: CustomStringConvertible {
  public var description: String {
    let digits = String(rawValue, radix: 16, uppercase: true)
    return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
