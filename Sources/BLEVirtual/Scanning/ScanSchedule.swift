internal import BLEHCI
internal import BLEWire

/// The scan windows of a scanner or an initiator, and their primary advertising channels (Vol 6, Part B, 4.4.3 and
/// 4.4.4).
///
/// ```
///  start      interval     interval     interval
///    ├─window─┐   ├─window─┐   ├─window─┐   ├─window─┐
///      ch 37        ch 38        ch 39        ch 37
/// ```
struct ScanSchedule: Sendable {
  struct Windows: Sendable {
    var interval: Duration
    var window: Duration

    /// - Parameters: the interval and the window in units of 0.625 ms.
    init(interval: UInt16, window: UInt16) {
      self.interval = .microseconds(625 * Int64(interval))
      self.window = .microseconds(625 * Int64(window))
    }
  }

  /// The primary advertising channels.
  static let channels = [37, 38, 39]

  /// The windows on each PHY. The default of the commands is 10 ms of 10 ms on LE 1M.
  private var windows: [HCI.PHY: Windows] = [.le1M: Windows(interval: 0x0010, window: 0x0010)]
  var start = Instant.start

  init() {}

  init(_ windows: [HCI.PHY: Windows]) { self.windows = windows }

  /// Whether there are windows on a PHY.
  func includes(_ phy: HCI.PHY) -> Bool { windows[phy] != nil }

  /// Whether a packet on `channel` is received: a window on that channel contains it.
  func receives(on phy: HCI.PHY, channel: Int, from begin: Instant, to end: Instant) -> Bool {
    guard let windows = windows[phy], begin >= start else { return false }
    let number = (begin - start).wholeMultiples(of: windows.interval)
    let opening = start + windows.interval * number
    return Self.channels[number % Self.channels.count] == channel && end <= opening + windows.window
  }
}
