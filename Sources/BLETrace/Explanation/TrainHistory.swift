import BLEHCI
import BLEWire

/// What a trace shows of periodic advertising trains that the host receives: those that were not found, that were lost,
/// and whose data did not arrive whole.
struct TrainHistory {
  /// The trains of which findings are kept.
  static let limit = 64

  private struct Train {
    var advertiser: DeviceAddress
    var set: UInt8
    /// The fault of each kind, the first and the last packet that shows it, and how many do.
    var faults: [Fault: (first: TraceEntry, last: TraceEntry, count: Int)] = [:]
  }

  private enum Fault: CaseIterable {
    case notFound, lost, truncated, missed

    var headline: String {
      switch self {
      case .notFound: "was announced and not received: six of its events were missed"
      case .lost: "was lost: nothing was received for the timeout of the synchronization"
      case .truncated: "did not arrive whole: the end of its data is missing"
      case .missed: "was not received in an event"
      }
    }

    var remedy: String {
      switch self {
      case .notFound, .lost:
        "The advertiser is too far away, or has stopped. A longer timeout of the synchronization bridges a pause."
      case .truncated, .missed:
        "Packets of a chain were lost: shorter data takes fewer packets, and LE 2M takes half of the time of LE 1M."
      }
    }
  }

  private var trains: [Train] = []
  /// The place of the train of each sync handle.
  private var places: [UInt16: Int] = [:]

  mutating func event(_ event: HCIEvent, _ entry: TraceEntry) {
    switch event {
    case .lePeriodicAdvertisingSyncEstablished(let sync): established(sync, entry)
    case .lePeriodicAdvertisingSyncEstablishedV2(let event): established(event.sync, entry)
    case .lePeriodicAdvertisingSyncTransferReceived(let transfer): received(transfer, entry)
    case .lePeriodicAdvertisingSyncTransferReceivedV2(let event): received(event.transfer, entry)
    case .lePeriodicAdvertisingSyncLost(let loss):
      if let place = places.removeValue(forKey: loss.syncHandle) { note(.lost, place, entry) }
    case .lePeriodicAdvertisingReport(let report): reported(report.syncHandle, report.dataStatus, entry)
    case .lePeriodicAdvertisingReportV2(let report): reported(report.syncHandle, report.dataStatus, entry)
    default: break
    }
  }

  private mutating func established(_ sync: HCI.LEPeriodicAdvertisingSyncEstablished, _ entry: TraceEntry) {
    // A host that cancels its search is told so with the address that it has searched for, or without one.
    guard sync.status != .operationCancelledByHost else { return }
    found(sync.status, sync.syncHandle, sync.advertiserAddress, set: sync.advertisingSID, entry)
  }

  private mutating func received(_ transfer: HCI.LEPeriodicAdvertisingSyncTransferReceived, _ entry: TraceEntry) {
    found(transfer.status, transfer.syncHandle, transfer.advertiserAddress, set: transfer.advertisingSID, entry)
  }

  private mutating func found(
    _ status: HCIErrorCode, _ handle: UInt16, _ advertiser: DeviceAddress, set: UInt8, _ entry: TraceEntry
  ) {
    var place = trains.firstIndex { $0.advertiser == advertiser && $0.set == set }
    if place == nil, trains.count < Self.limit {
      place = trains.count
      trains.append(Train(advertiser: advertiser, set: set))
    }
    guard let place else { return }
    if status == .success { places[handle] = place } else { note(.notFound, place, entry) }
  }

  private mutating func reported(_ handle: UInt16, _ status: UInt8, _ entry: TraceEntry) {
    guard status > 1, let place = places[handle] else { return }
    note(status == 2 ? .truncated : .missed, place, entry)
  }

  private mutating func note(_ fault: Fault, _ place: Int, _ entry: TraceEntry) {
    let kept = entry.withoutContent
    let before = trains[place].faults[fault]
    trains[place].faults[fault] = (before?.first ?? kept, kept, (before?.count ?? 0) + 1)
  }

  /// A reset ends all synchronizations without an event.
  mutating func reset() { places = [:] }

  /// What is to be said at the end of the trace.
  func findings() -> [TraceFinding] {
    trains.flatMap { train in
      Fault.allCases.compactMap { fault -> TraceFinding? in
        guard let (first, last, count) = train.faults[fault] else { return nil }
        let times = count == 1 ? "" : ", \(count) times"
        return TraceFinding(
          kind: .periodicAdvertising, peer: train.advertiser, time: first.time,
          headline: "The periodic advertising of set \(train.set) of \(train.advertiser) \(fault.headline)\(times)",
          evidence: count == 1 ? [.init(first)] : [.init(first), .init(last)], remedy: fault.remedy)
      }
    }
  }
}
