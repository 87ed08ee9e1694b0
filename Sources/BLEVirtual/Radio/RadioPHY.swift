internal import BLEHCI

/// A PHY with its coding. It computes the airtime of packets (Vol 6, Part B, 2.1 and 2.2).
enum RadioPHY: Hashable, Sendable {
  case le1M
  case le2M
  /// LE Coded with two symbols per bit, 500 kbit/s.
  case codedS2
  /// LE Coded with eight symbols per bit, 125 kbit/s.
  case codedS8

  /// T_IFS: the time from the end of a packet to the beginning of the answer (Vol 6, Part B, 4.1.1).
  static let interFrameSpace = Duration.microseconds(150)
  /// T_MAFS: the minimum time between a packet and the auxiliary packet that it points to (Vol 6, Part B, 4.1.2).
  static let minimumAuxiliaryFrameSpace = Duration.microseconds(300)
  /// - Parameter prefersS2: whether LE Coded uses S=2 instead of S=8.
  init(_ phy: HCI.PHY, prefersS2: Bool = false) {
    switch phy {
    case .le2M: self = .le2M
    case .leCoded: self = prefersS2 ? .codedS2 : .codedS8
    default: self = .le1M
    }
  }

  var isCoded: Bool { self == .codedS2 || self == .codedS8 }

  /// The airtime of a packet: preamble, access address, header (2 octets), payload, message integrity check (4 octets)
  /// if `isEncrypted` and the payload is not empty, and CRC (3 octets).
  ///
  /// - Parameter payload: in octets, without header and message integrity check.
  func airtime(payload: Int, isEncrypted: Bool = false) -> Duration {
    let check = isEncrypted && payload > 0 ? Self.integrityCheck : 0
    return .microseconds(fixedMicroseconds + microsecondsPerOctet * Int64(payload + check))
  }

  /// The longest payload, in octets, whose airtime is at most `limit`; 0 if no payload fits.
  func greatestPayload(within limit: Duration, isEncrypted: Bool) -> Int {
    let check = isEncrypted ? Self.integrityCheck : 0
    let available = limit / .microseconds(1) - Double(fixedMicroseconds)
    guard available > 0 else { return 0 }
    return max(0, Int(available) / Int(microsecondsPerOctet) - check)
  }

  private static let integrityCheck = 4

  private var microsecondsPerOctet: Int64 {
    switch self {
    case .le1M: 8
    case .le2M: 4
    case .codedS2: 16
    case .codedS8: 64
    }
  }

  /// The part of a packet that does not depend on the payload.
  ///
  /// LE 1M: preamble 1, access address 4, header 2, CRC 3 octets; LE 2M: a preamble of 2 octets. LE Coded: preamble 80
  /// µs, then access address 256 µs, coding indicator 16 µs and TERM1 24 µs at S=8, and header, CRC and TERM2 (3 bits)
  /// at the coding of the payload.
  private var fixedMicroseconds: Int64 {
    switch self {
    case .le1M: 10 * 8
    case .le2M: 11 * 4
    case .codedS2: 376 + 5 * 16 + 6
    case .codedS8: 376 + 5 * 64 + 24
    }
  }
}

extension Duration {
  /// The number of whole `unit`s in the duration; 0 for a negative one.
  func wholeMultiples(of unit: Duration) -> Int {
    guard self >= .zero, unit > .zero else { return 0 }
    let count = Int(self / unit)
    // The quotient of two durations is rounded, possibly up.
    if unit * count > self { return count - 1 }
    return unit * (count + 1) <= self ? count + 1 : count
  }
}
