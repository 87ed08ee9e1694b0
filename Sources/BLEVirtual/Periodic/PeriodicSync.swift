internal import BLEHCI
internal import BLEWire

/// How a controller receives a periodic advertising train: the parameters that LE Periodic Advertising Create Sync and
/// the commands of the sync transfer share (Vol 4, Part E, 7.8.67, 7.8.91 and 7.8.92).
struct PeriodicSyncParameters: Sendable {
  /// The number of events that may be skipped after a received one.
  let skip: UInt16
  /// In units of 10 ms.
  let timeout: UInt16
  /// The kinds of Constant Tone Extension to reject: bit 4 rejects packets without one.
  let cteType: UInt8

  /// The bits of Sync_CTE_Type.
  static let allCTETypes: UInt8 = 0x1F

  var isValid: Bool {
    skip <= LinkLayerLimits.periodicSyncSkip && LinkLayerLimits.periodicSyncTimeout.contains(timeout)
      && cteType <= Self.allCTETypes
  }

  /// Whether the trains of this radio are rejected, whose packets have no Constant Tone Extension.
  var rejectsPlainPackets: Bool { cteType & 0x10 != 0 }
}

/// A periodic advertising train that a controller receives, or is about to receive (Vol 6, Part B, 4.4.3.4).
///
/// ```
///  establishing ──AUX_SYNC_IND──► established ──no packet for the sync timeout──► lost
///       └──six events without a packet──► failed
/// ```
struct PeriodicSync: Sendable {
  /// The request that a new synchronization answers.
  enum Request: Sendable {
    /// LE Periodic Advertising Create Sync.
    case command
    /// LL_PERIODIC_SYNC_IND on a link.
    case transfer(ConnectionHandle, serviceData: UInt16)
  }

  enum State: Sendable {
    /// - Parameter attempts: the number of events that remain.
    case establishing(Request, attempts: Int)
    /// - Parameter lossAt: the time at which the synchronization is lost unless a packet is received.
    case established(lossAt: Instant)
  }

  /// The number of events in which the first packet must be received (Vol 6, Part B, 4.4.3.4).
  static let attempts = 6
  /// The number of data octets in one LE Periodic Advertising Report.
  private static let dataPerReport = 247

  let handle: UInt16
  let info: SyncInfo
  /// The advertiser's address as reported to the host.
  let address: DeviceAddress
  let timeout: Duration
  /// The number of events that are skipped after a received one.
  private let skip: Int
  private(set) var state: State
  private(set) var reports: PeriodicReports
  /// The counter and the anchor point of the next event to receive.
  private var nextEvent: Int
  private(set) var nextAnchor: Instant
  /// The packets that are being received, and the time at which they end, with airtime.
  private(set) var incoming: (pdu: PeriodicPDU, end: Instant)?

  init(
    handle: UInt16, _ info: SyncInfo, from address: DeviceAddress, _ parameters: PeriodicSyncParameters,
    reports: PeriodicReports, for request: Request, now: Instant
  ) {
    self.handle = handle
    self.info = info
    self.address = address
    timeout = .milliseconds(10 * Int64(parameters.timeout))
    // Six events before the timeout are not skipped.
    let events = timeout.wholeMultiples(of: info.intervalDuration)
    skip = min(Int(parameters.skip), max(0, events - Self.attempts))
    state = .establishing(request, attempts: Self.attempts)
    self.reports = reports
    nextEvent = info.nextEvent(after: now)
    nextAnchor = info.anchor(of: nextEvent)
  }

  var isEstablished: Bool { if case .established = state { true } else { false } }

  /// The time of the next step or of the loss.
  var deadline: Instant {
    if let incoming { return incoming.end }
    if case .established(let lossAt) = state { return min(lossAt, nextAnchor) }
    return nextAnchor
  }

  /// Whether an event begins or ends. It takes place before a loss at the same time.
  func isEventDue(at now: Instant) -> Bool { (incoming?.end ?? nextAnchor) <= now }

  func isLost(at now: Instant) -> Bool {
    guard incoming == nil, case .established(let lossAt) = state else { return false }
    return lossAt <= now
  }

  mutating func setReports(_ reports: PeriodicReports) { self.reports = reports }

  // MARK: Events

  /// Begins to receive the packets of an event, with airtime.
  mutating func begin(_ pdu: PeriodicPDU) { incoming = (pdu, nextAnchor + pdu.airtime) }

  /// Receives the packets of an event, and schedules the next event.
  ///
  /// - Returns: the request that is answered now.
  mutating func receive() -> Request? {
    incoming = nil
    var answered: Request?
    if case .establishing(let request, _) = state { answered = request }
    state = .established(lossAt: nextAnchor + timeout)
    schedule(nextEvent + 1 + skip)
    return answered
  }

  /// Misses an event, and schedules the next one.
  ///
  /// - Returns: the request that has failed.
  mutating func miss() -> Request? {
    incoming = nil
    schedule(nextEvent + 1)
    guard case .establishing(let request, let attempts) = state else { return nil }
    guard attempts > 1 else { return request }
    state = .establishing(request, attempts: attempts - 1)
    return nil
  }

  private mutating func schedule(_ event: Int) {
    nextEvent = event
    nextAnchor = info.anchor(of: event)
  }

  // MARK: Reports

  /// Reports the packets of an event, in several reports if the data is too long for one (Vol 4, Part E, 7.7.65.15).
  ///
  /// - Parameter lengthOfChains: the number of octets after which the data is truncated; nil if it is complete.
  mutating func report(
    _ pdu: PeriodicPDU, lengthOfChains: Int?, _ host: HostInterface, _ context: inout VirtualRadioContext
  ) {
    var rest = pdu.data
    if let lengthOfChains { rest = rest.prefix(lengthOfChains) }
    let isTruncated = rest.count < pdu.data.count
    guard reports.admits(pdu.dataIdentifier, isComplete: !isTruncated) else { return }
    repeat {
      let piece = rest.prefix(Self.dataPerReport)
      rest = rest.dropFirst(Self.dataPerReport)
      host.send(
        HCI.LEPeriodicAdvertisingReport {
          $0.syncHandle = handle
          $0.txPower = pdu.txPower
          $0.rssi = pdu.rssi
          $0.dataStatus = rest.isEmpty ? (isTruncated ? 0x02 : 0x00) : 0x01
          $0.data = piece
        }, &context)
    } while !rest.isEmpty
  }
}

/// Whether a controller reports the packets of a periodic advertising train, and its duplicate filter (Vol 4, Part E,
/// 7.8.88).
enum PeriodicReports: Sendable {
  case disabled
  case all
  /// Data with a new Advertising DID, and data without the ADI field.
  ///
  /// - Parameter reported: Advertising DID of the latest complete data.
  case changes(reported: UInt16?)

  init(isEnabled: Bool, filtersDuplicates: Bool) {
    self = !isEnabled ? .disabled : filtersDuplicates ? .changes(reported: nil) : .all
  }

  /// Whether data is reported. Truncated data does not enter the filter.
  mutating func admits(_ identifier: UInt16?, isComplete: Bool) -> Bool {
    switch self {
    case .disabled: return false
    case .all: return true
    case .changes(let reported):
      guard let identifier else { return true }
      if identifier == reported { return false }
      if isComplete { self = .changes(reported: identifier) }
      return true
    }
  }
}
