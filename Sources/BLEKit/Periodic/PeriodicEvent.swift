public import BLEHost
import BLEWire

/// What becomes of a train that is received, from a ``PeriodicSync``.
public enum PeriodicEvent: Hashable, Sendable {
  /// The train is received, for the first time or again.
  case synchronized(PeriodicSync.Train)
  /// The data of one event of the train.
  case report(PeriodicReport)
  /// Nothing was received for the timeout, or the adapter was reset. The adapter searches for the train again.
  case lost
}

/// The data of one event of a train (Vol 4, Part E, 7.7.65.15).
public struct PeriodicReport: Hashable, Sendable {
  /// At most 1,650 octets, as AD structures (Vol 3, Part C, 11) or in a format of the advertiser's own.
  public let data: [UInt8]
  /// Whether the end of the data is missing, because a packet was lost.
  public let isTruncated: Bool
  /// Whether nothing of the event was received. Few controllers report that.
  public let isMissed: Bool
  /// In dBm; nil where the controller does not report it.
  public let rssi: Int?
  /// The transmit power in dBm, where the advertiser sends it.
  public let txPower: Int?
  /// The number of events of the sequence before this one that were dropped, because more than 1024 have waited for the
  /// reader.
  public internal(set) var droppedBefore = 0

  init(_ report: TrainReport) {
    (data, isTruncated, isMissed) = (report.data, report.completeness == .truncated, report.completeness == .missed)
    (rssi, txPower) = (report.rssi == 127 ? nil : Int(report.rssi), report.txPower == 127 ? nil : Int(report.txPower))
  }
}

/// An event that waits for the reader.
struct WaitingPeriodicEvent: ScanElement {
  var event: PeriodicEvent
  var droppedBefore: Int {
    get { if case .report(let report) = event { report.droppedBefore } else { 0 } }
    set {
      guard case .report(var report) = event else { return }
      report.droppedBefore = newValue
      event = .report(report)
    }
  }
  var allocatedOctets: Int { if case .report(let report) = event { report.data.allocatedOctets } else { 0 } }
}

/// How a train is received.
public struct PeriodicSyncOptions: Hashable, Sendable {
  /// How many events of the train the adapter may leave out after one that it has received, to save energy: 0 to 499.
  public var skip = 0
  /// How long nothing may be received until the train is lost: 100 ms to 163.84 s, in steps of 10 ms. It has to be
  /// longer than the time from one event that is not skipped to the next.
  public var timeout = Duration.seconds(1)
  /// Whether a report with the same data as the one before is left out. The controller leaves it out where it can and
  /// the train numbers its data.
  public var filtersDuplicates = false
  /// The PHYs of the primary channels on which the announcing advertisement is searched for: LE 1M, LE Coded, or both.
  public var phys: Set<LEPHY> = [.le1M]

  /// Each event of the train, and a loss after a second.
  public init() {}

  func parameters() throws(BLEError) -> SyncParameters {
    let units = (timeout / .milliseconds(10)).rounded()
    guard let skip = UInt16(exactly: skip), let timeout = UInt16(exactly: units),
      skip <= LinkLayerLimits.periodicSyncSkip, LinkLayerLimits.periodicSyncTimeout.contains(timeout)
    else {
      throw BLEError(
        .invalidArgument,
        "a synchronization with a skip of \(self.skip) and a timeout of \(self.timeout) is not allowed: "
          + "0 to 499 events, 100 ms to 163.84 s"
      )
    }
    var parameters = SyncParameters()
    (parameters.skip, parameters.timeout, parameters.phys) = (skip, timeout, phys.phys)
    parameters.filtersDuplicates = filtersDuplicates
    return parameters
  }
}
