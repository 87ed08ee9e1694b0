public import BLEWire

/// Joins the fragments in which a controller reports extended advertisements (Vol 4, Part E, 7.7.65.13).
///
/// One HCI event carries at most 229 octets of data; an advertisement has up to 1650. The controller splits it into
/// several reports with the same address, advertising set and kind (advertisement or scan response); all but the last
/// have the data status `moreToCome`. An AD structure can begin in one fragment and end in the next, so a single
/// fragment cannot be parsed.
///
/// ```
///             moreToCome                   complete: delivered
///   unknown ─────────────► collecting ──────────────────────► unknown      an advertisement of one report
///                           │      │       truncated: marked                stays in "unknown"
///                           │      └─ deadline: dropped ────► unknown
///                           ▼ above the limit of advertisements
///                          discarding ── last fragment, or deadline ─► unknown
/// ```
///
/// When there are more incomplete advertisements than ``Limits/advertisements``, one of them is discarded, and so are
/// its later fragments, because they lack the beginning of the data.
///
/// ```swift
/// var assembler = ExtendedReportAssembler()
/// var report = HCI.ExtendedAdvertisingReport()
/// report.eventType.dataStatus = .moreToCome
/// report.data = [0x05, 0x09, 0x4C, 0x61]
/// assert(assembler.receive(report, now: .start) == nil)
/// report.eventType.dataStatus = .complete
/// report.data = [0x6D, 0x70]
/// let advertisement = assembler.receive(report, now: .start)
/// assert(advertisement?.report.data == [0x05, 0x09, 0x4C, 0x61, 0x6D, 0x70])
/// ```
public struct ExtendedReportAssembler: Sendable {
  /// The limits of incomplete advertisements.
  public struct Limits: Hashable, Sendable {
    /// The maximum length of the data of one advertisement, in octets. Octets beyond it are dropped, and the
    /// advertisement is marked as truncated. The default, 1650, is the maximum of an advertising set
    /// (Vol 6, Part B, 2.3.4.9).
    public var octets: Int
    /// The maximum number of incomplete advertisements. When it is exceeded, the one that has waited longest for its
    /// next fragment is discarded.
    public var advertisements: Int
    /// The maximum number of discarded advertisements whose later fragments are still recognised and ignored. When it
    /// is exceeded, the oldest is removed; a later fragment of it is then treated as the first of an advertisement.
    public var discarded: Int
    /// The maximum time between two fragments, after which the advertisement is dropped. The default, 3 s, is longer
    /// than the greatest distance between two PDUs of a chain, 2.4576 s (Vol 6, Part B, 2.3.4.5).
    public var timeout: Duration

    /// Limits. A number below the smallest useful one is raised to that one.
    public init(
      octets: Int = LinkLayerLimits.extendedAdvertisingData, advertisements: Int = 32, discarded: Int = 64,
      timeout: Duration = .seconds(3)
    ) {
      self.octets = max(0, octets)
      self.advertisements = max(1, advertisements)
      self.discarded = max(0, discarded)
      self.timeout = timeout
    }
  }

  /// An advertisement or scan response with the data of all its fragments.
  public struct Advertisement: Sendable {
    /// The first report, with the data of all reports. RSSI and transmit power are from the last report that has them
    /// (not 127, "not available"). The data status is ``HCI/ExtendedAdvertisingReportType/DataStatus/complete``, or
    /// `truncated` if ``isTruncated``.
    public var report: HCI.ExtendedAdvertisingReport
    /// Whether the data is incomplete: the controller reported it as truncated, or it exceeds ``Limits/octets``.
    public var isTruncated: Bool
  }

  /// The properties that fragments of one advertisement have in common.
  private struct Key: Hashable, Sendable {
    var address: DeviceAddress
    var set: UInt8
    /// Scan response, directed or legacy; the other bits can differ between fragments.
    var kind: HCI.ExtendedAdvertisingReportType

    init(_ report: HCI.ExtendedAdvertisingReport) {
      address = report.address
      set = report.advertisingSID
      kind = report.eventType.intersection([.scanResponse, .directed, .legacy])
    }
  }

  private enum State: Sendable {
    /// The first report with all data so far; whether octets were dropped.
    case collecting(HCI.ExtendedAdvertisingReport, isOverlong: Bool)
    /// The advertisement was dropped, and its last fragment has not been received.
    case discarding
  }

  private struct Entry: Sendable {
    let key: Key
    var state: State
    var deadline: Instant

    var isCollecting: Bool { if case .collecting = state { true } else { false } }
  }

  /// The limits.
  public let limits: Limits
  /// In the order of their last fragments, and therefore of their deadlines.
  private var entries: [Entry] = []

  /// An assembler without fragments.
  public init(limits: Limits = Limits()) { self.limits = limits }

  /// The number of incomplete advertisements.
  public var incompleteCount: Int { entries.count(where: { $0.isCollecting }) }

  /// The time at which ``tick(now:)`` must be called; nil while nothing is incomplete.
  public var deadline: Instant? { entries.first?.deadline }

  /// Receives one report of an HCI_LE_Extended_Advertising_Report event.
  ///
  /// - Returns: the advertisement that the report completes or ends; nil while more is to come, and for a dropped
  ///   advertisement.
  public mutating func receive(_ report: HCI.ExtendedAdvertisingReport, now: Instant) -> Advertisement? {
    tick(now: now)
    let key = Key(report)
    let known = entries.firstIndex { $0.key == key }.map { entries.remove(at: $0).state }
    let state = append(report, to: known)
    guard report.eventType.dataStatus == .moreToCome else { return end(state, report.eventType.dataStatus) }
    entries.append(Entry(key: key, state: state, deadline: now + limits.timeout))
    applyLimits()
    return nil
  }

  /// Drops the advertisements whose next fragment is overdue.
  public mutating func tick(now: Instant) {
    let due = entries.prefix { $0.deadline <= now }.count
    if due > 0 { entries.removeFirst(due) }
  }

  /// Drops all incomplete advertisements, after the end of a scan: no further fragments follow.
  public mutating func removeAll() { entries.removeAll() }

  private func append(_ report: HCI.ExtendedAdvertisingReport, to known: State?) -> State {
    var whole = report
    var isOverlong = false
    switch known {
    case nil: break
    case .discarding: return .discarding
    case .collecting(let first, let wasOverlong):
      (whole, isOverlong) = (first, wasOverlong)
      if report.rssi != 127 { whole.rssi = report.rssi }
      if report.txPower != 127 { whole.txPower = report.txPower }
      whole.data += report.data.prefix(max(0, limits.octets - whole.data.count))
      if whole.data.count < first.data.count + report.data.count { isOverlong = true }
    }
    if whole.data.count > limits.octets {
      whole.data = whole.data.prefix(limits.octets)
      isOverlong = true
    }
    return .collecting(whole, isOverlong: isOverlong)
  }

  /// A reserved data status is treated as truncated.
  private func end(
    _ state: State, _ status: HCI.ExtendedAdvertisingReportType.DataStatus
  ) -> Advertisement? {
    guard case .collecting(var whole, let isOverlong) = state else { return nil }
    let isTruncated = isOverlong || status != .complete
    whole.eventType.dataStatus = isTruncated ? .truncated : .complete
    return Advertisement(report: whole, isTruncated: isTruncated)
  }

  /// Applies the limits after a fragment was added.
  private mutating func applyLimits() {
    if incompleteCount > limits.advertisements, let oldest = entries.firstIndex(where: { $0.isCollecting }) {
      entries[oldest].state = .discarding
    }
    if entries.count - incompleteCount > limits.discarded, let oldest = entries.firstIndex(where: { !$0.isCollecting })
    {
      entries.remove(at: oldest)
    }
  }
}
