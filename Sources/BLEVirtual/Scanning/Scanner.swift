internal import BLEHCI
internal import BLEWire

/// The scanning state of a controller.
struct Scanner: Sendable {
  /// An entry of the duplicate filter (Vol 6, Part B, 4.3.3).
  struct ReceivedPDU: Hashable, Sendable {
    var address: DeviceAddress?
    var isScanResponse: Bool
    var isLegacyPDU: Bool
    var sid: UInt8
    var dataIdentifier: UInt16
  }

  /// The number of entries of the duplicate filter. When it is full it is cleared, and a PDU may be reported twice.
  static let duplicateFilterSize = 512

  var type = HCI.ScanType.passive
  var ownAddressType = HCI.OwnAddressType.public
  var filterPolicy = HCI.ScanningFilterPolicy.all
  /// The scan windows, with airtime.
  var schedule = ScanSchedule()
  var isExtended = false
  var isOn = false
  var filtersDuplicates = HCI.DuplicateFiltering.disabled
  /// The end of the scan, or of its part in this period.
  var endsAt: Instant?
  /// The beginning of the next period.
  var beginsAt: Instant?
  var duration = Duration.zero
  var period = Duration.zero
  private var duplicates: Set<ReceivedPDU> = []

  var deadline: Instant? { isOn ? .nearer(endsAt, beginsAt) : nil }

  /// Whether it receives now: it is on, and not between two periods.
  var isListening: Bool { isOn && beginsAt == nil }

  /// Adds `pdu` to the duplicate filter.
  ///
  /// - Returns: false if duplicates are filtered and the PDU is one.
  mutating func isNew(_ pdu: ReceivedPDU) -> Bool {
    guard filtersDuplicates != .disabled else { return true }
    if duplicates.count >= Self.duplicateFilterSize { duplicates.removeAll(keepingCapacity: true) }
    return duplicates.insert(pdu).inserted
  }

  /// Whether the duplicate filter contains `pdu`.
  func isDuplicate(_ pdu: ReceivedPDU) -> Bool { filtersDuplicates != .disabled && duplicates.contains(pdu) }

  mutating func clearDuplicates() { duplicates.removeAll(keepingCapacity: true) }
}

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

    /// - Parameters: in units of 0.625 ms.
    init(interval: UInt16, window: UInt16) {
      self.interval = .microseconds(625 * Int64(interval))
      self.window = .microseconds(625 * Int64(window))
    }
  }

  /// The primary advertising channels.
  static let channels = [37, 38, 39]

  /// The windows on each PHY; the default of the commands is 10 ms of 10 ms on LE 1M.
  private var windows: [HCI.PHY: Windows] = [.le1M: Windows(interval: 0x0010, window: 0x0010)]
  var start = Instant.start

  init() {}

  init(_ windows: [HCI.PHY: Windows]) { self.windows = windows }

  /// Whether there are windows on a PHY.
  func includes(_ phy: HCI.PHY) -> Bool { windows[phy] != nil }

  /// Whether a packet on `channel` is received: one window on that channel contains it.
  func receives(on phy: HCI.PHY, channel: Int, from begin: Instant, to end: Instant) -> Bool {
    guard let windows = windows[phy], begin >= start else { return false }
    let number = (begin - start).wholeMultiples(of: windows.interval)
    let opening = start + windows.interval * number
    return Self.channels[number % Self.channels.count] == channel && end <= opening + windows.window
  }
}
