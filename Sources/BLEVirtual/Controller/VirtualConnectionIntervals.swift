public import BLEHCI

/// The connection intervals of a virtual controller with Shorter Connection Intervals (Vol 4, Part E, 7.8.156).
/// Intervals from 7.5 ms on that are multiples of 1.25 ms are always supported.
///
/// ```swift
/// var fast = VirtualControllerConfiguration()
/// fast.version = 16  // Bluetooth 6.2
/// fast.connectionIntervals = VirtualConnectionIntervals(minimum: 8)
/// ```
public struct VirtualConnectionIntervals: Sendable {
  /// The greatest number of ``groups``: their event has 255 octets. Later ones are not supported.
  public static let maximumGroups = 41

  /// Minimum_Supported_Connection_Interval in units of 125 us, from 3, which is 375 us.
  public var minimum: UInt8
  /// The groups of intervals, in units of 125 us.
  public var groups: [HCI.ConnectionIntervalGroup]

  /// Every multiple of 125 us from a minimum to 4 s.
  ///
  /// - Parameter minimum: in units of 125 us. The empty packets of both ends take 460 us on LE 1M.
  public init(minimum: UInt8 = 8) {
    self.minimum = minimum
    groups = [HCI.ConnectionIntervalGroup { ($0.groupMin, $0.groupMax, $0.groupStride) = (UInt16(minimum), 32_000, 1) }]
  }

  /// The intervals of groups.
  public init(minimum: UInt8, groups: [HCI.ConnectionIntervalGroup]) {
    (self.minimum, self.groups) = (minimum, groups)
  }

  var supported: SupportedConnectionIntervals {
    SupportedConnectionIntervals {
      $0.minimumSupportedConnectionInterval = max(3, minimum)
      $0.groups = Array(groups.prefix(Self.maximumGroups))
    }
  }
}
