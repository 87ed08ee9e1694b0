public import BLEWire

/// Puts extended advertisements together that a controller reports in fragments (Vol 4, Part E, 7.7.65.13).
///
/// One HCI event carries at most 229 octets of data, an advertisement has up to 1650. The controller splits it into
/// several reports with the same address, set and kind; all but the last have the data status `moreToCome`. AD
/// structures begin in one fragment and end in another, so that no fragment can be parsed by itself.
///
/// ```
///             moreToCome                   complete: whole
///   unknown ─────────────► gathering ───────────────────────► unknown      an advertisement of one report
///                           │      │       truncated: marked                never leaves "unknown"
///                           │      └─ deadline: dropped ────► unknown
///                           ▼ another advertiser needs the place
///                          discarding ── last fragment, or deadline ─► unknown
/// ```
///
/// An advertisement whose place is taken is dropped, and its later fragments with it: the beginning is missing from
/// them.
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
  /// The bounds of what is kept of advertisements that are not complete.
  public struct Limits: Hashable, Sendable {
    /// Octets of one advertisement. What exceeds them is dropped, and the advertisement is marked as truncated. The
    /// default is what an advertising set can hold (Vol 6, Part B, 2.3.4.9).
    public var octets: Int
    /// Advertisements that are gathered at once. With one more, the one whose last fragment is the oldest is dropped.
    public var advertisements: Int
    /// Dropped advertisements whose later fragments are recognised. With one more, the one whose last fragment is the
    /// oldest is forgotten.
    public var discarded: Int
    /// How long the next fragment may take; then the advertisement is dropped. The default is longer than the 2.4576 s
    /// that lie between two PDUs of a chain at most (Vol 6, Part B, 2.3.4.5).
    public var timeout: Duration

    /// Limits; a number below the smallest useful one is raised to it.
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

  /// An advertisement or scan response, as far as the controller has received it.
  public struct Advertisement: Sendable {
    /// The first report with the data of all of them. The RSSI and the transmit power are the newest ones that are
    /// known, and the data status is ``HCI/ExtendedAdvertisingReportType/DataStatus/complete`` unless ``isTruncated``.
    public var report: HCI.ExtendedAdvertisingReport
    /// Whether the data ends before its end: the controller lost the rest, or it exceeds ``Limits/octets``.
    public var isTruncated: Bool
  }

  /// What tells one advertisement's fragments from another's.
  private struct Key: Hashable, Sendable {
    var address: DeviceAddress
    var set: UInt8
    /// Scan response, directed or legacy; the other bits say nothing about where a fragment belongs.
    var kind: HCI.ExtendedAdvertisingReportType

    init(_ report: HCI.ExtendedAdvertisingReport) {
      address = report.address
      set = report.advertisingSID
      kind = report.eventType.intersection([.scanResponse, .directed, .legacy])
    }
  }

  private enum State: Sendable {
    /// The first report, with all data so far; whether octets were dropped.
    case gathering(HCI.ExtendedAdvertisingReport, isOverlong: Bool)
    /// The advertisement was dropped, and its last fragment has not been received.
    case discarding
  }

  private struct Entry: Sendable {
    let key: Key
    var state: State
    var deadline: Instant

    var isGathering: Bool { if case .gathering = state { true } else { false } }
  }

  /// The limits.
  public let limits: Limits
  /// In the order of their last fragments, hence of their deadlines.
  private var entries: [Entry] = []

  /// An assembler without fragments.
  public init(limits: Limits = Limits()) { self.limits = limits }

  /// How many advertisements are being gathered.
  public var gathered: Int { entries.count(where: \.isGathering) }

  /// When ``tick(now:)`` has work next; nil while nothing is incomplete.
  public var deadline: Instant? { entries.first?.deadline }

  /// Takes one report of an HCI_LE_Extended_Advertising_Report event.
  ///
  /// - Returns: the advertisement that it completes or ends; nil while more is to come, and for the end of one that was
  ///   dropped.
  public mutating func receive(_ report: HCI.ExtendedAdvertisingReport, now: Instant) -> Advertisement? {
    tick(now: now)
    let key = Key(report)
    let known = entries.firstIndex { $0.key == key }.map { entries.remove(at: $0).state }
    let state = append(report, to: known)
    guard report.eventType.dataStatus == .moreToCome else { return end(state, report.eventType.dataStatus) }
    entries.append(Entry(key: key, state: state, deadline: now + limits.timeout))
    makeRoom()
    return nil
  }

  /// Drops the advertisements whose next fragment has not come in time.
  public mutating func tick(now: Instant) {
    let due = entries.prefix { $0.deadline <= now }.count
    if due > 0 { entries.removeFirst(due) }
  }

  /// Drops everything that is incomplete, for a scan that has ended: the controller reports nothing more of it.
  public mutating func removeAll() { entries.removeAll() }

  private func append(_ report: HCI.ExtendedAdvertisingReport, to known: State?) -> State {
    var whole = report
    var isOverlong = false
    switch known {
    case nil: break
    case .discarding: return .discarding
    case .gathering(let first, let wasOverlong):
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
    return .gathering(whole, isOverlong: isOverlong)
  }

  /// A data status that is reserved says nothing of the rest, so that it counts as lost.
  private func end(
    _ state: State, _ status: HCI.ExtendedAdvertisingReportType.DataStatus
  ) -> Advertisement? {
    guard case .gathering(var whole, let isOverlong) = state else { return nil }
    let isTruncated = isOverlong || status != .complete
    whole.eventType.dataStatus = isTruncated ? .truncated : .complete
    return Advertisement(report: whole, isTruncated: isTruncated)
  }

  /// Brings what is kept back to its limits, behind a fragment that was added.
  private mutating func makeRoom() {
    if gathered > limits.advertisements, let oldest = entries.firstIndex(where: \.isGathering) {
      entries[oldest].state = .discarding
    }
    if entries.count - gathered > limits.discarded, let oldest = entries.firstIndex(where: { !$0.isGathering }) {
      entries.remove(at: oldest)
    }
  }
}
