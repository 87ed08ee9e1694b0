import BLEWire

/// A command of a host to the L2CAP layer of the operating system's kernel, if the kernel runs the controller. No
/// signalling passes between the two: the driver translates it.
package enum ChannelDirective: Hashable, Sendable {
  /// Accepts channels to a service from now on. These settings replace earlier ones.
  ///
  /// - Parameters:
  ///   - level: the security that the kernel demands of a link before it accepts a channel.
  ///   - mtu: the largest SDU that the host accepts, in octets.
  case listen(SPSM, level: SecurityLevel, mtu: UInt16)
  /// Accepts no more channels to a service.
  case stopListening(SPSM)

  /// The levels of LE security mode 1 (Vol 3, Part C, 10.2.1).
  package enum SecurityLevel: UInt8, Comparable, Sendable {
    /// No security.
    case none = 1
    /// Encrypted with the key of an unauthenticated pairing.
    case encrypted
    /// Encrypted with the key of an authenticated pairing.
    case authenticated
    /// Encrypted with a 128-bit key of an authenticated LE Secure Connections pairing.
    case secureConnections

    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }
}
