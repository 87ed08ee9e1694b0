import BLEHCI
import BLEWire

/// The scan of one owner.
struct ScanRequest: Sendable {
  let owner: OwnerID
  var parameters: ScanParameters
  /// The numbers of the contents in ``ReportTable`` that were reported to an owner that wants each device once, or once
  /// for each change, by slot; 0 for none. It has as many entries as the table has at most.
  private var reported: ContiguousArray<UInt64> = []

  /// The numbers of the contents whose devices have answered a scan request, or have not in time, by slot; 0 for none.
  private var settled: ContiguousArray<UInt64> = []

  /// An advertisement whose scan response has not come.
  private struct Waiting {
    var scanReport: ScanReport
    /// Its place in ``ReportTable``, and the number of its content there when it was first received.
    let slot: Int
    let number: UInt64
    let deadline: Instant
  }

  /// The oldest first (``ScanParameters/waitsForScanResponse``).
  private var waiting: [Waiting] = []
  /// Advertisements that wait; with one more the oldest is overdue.
  static let maximumWaiting = 256
  /// How long an advertisement waits. An active scanner sends its request at the latest in the next event of the
  /// advertiser, but may skip some (Vol 6, Part B, 4.4.3.2).
  static let scanResponseTimeout = Duration.seconds(2)

  init(owner: OwnerID, parameters: ScanParameters) {
    self.owner = owner
    self.parameters = parameters
  }

  /// Whether the owner wants this report: it has not had one of the device, or not with this content.
  mutating func admits(_ report: ReportTable.Entry, at slot: Int) -> Bool {
    if parameters.allowsDuplicates { return true }
    while reported.count <= slot { reported.append(0) }
    let last = reported[slot]
    reported[slot] = report.number
    // A lower number is that of another device, which was in this slot before.
    return parameters.reportsChanges ? last != report.number : last < report.firstNumber
  }
}

/// Advertisements whose scan responses the owner waits for.
extension ScanRequest {
  /// When an advertisement has waited long enough.
  var deadline: Instant? { waiting.first?.deadline }

  /// An advertisement or a scan response was received.
  ///
  /// - Returns: an advertisement that is overdue, because too many wait.
  mutating func wait(
    for scanReport: ScanReport, _ report: ReportTable.Entry, at slot: Int, now: Instant
  ) -> ScanReport? {
    guard parameters.waitsForScanResponse else { return nil }
    if scanReport.content.isScanResponse {
      if let index = index(of: scanReport) { settle(waiting.remove(at: index)) }
      return nil
    }
    guard scanReport.content.isScannable, !isSettled(report, at: slot) else { return nil }
    if let index = index(of: scanReport) {
      waiting[index].scanReport = scanReport
      return nil
    }
    waiting.append(
      Waiting(scanReport: scanReport, slot: slot, number: report.number, deadline: now + Self.scanResponseTimeout))
    return waiting.count > Self.maximumWaiting ? overdue(waiting.removeFirst()) : nil
  }

  /// The advertisements that have waited long enough.
  mutating func due(now: Instant) -> [ScanReport] {
    let due = Array(waiting.prefix { $0.deadline <= now })
    waiting.removeFirst(due.count)
    return due.map { overdue($0) }
  }

  /// The advertisement that a scan response belongs to, or the same advertisement.
  private func index(of scanReport: ScanReport) -> Int? {
    let content = scanReport.content
    return waiting.firstIndex {
      let other = $0.scanReport.content
      return other.reportedAddress == content.reportedAddress && other.isLegacy == content.isLegacy
        && other.advertisingSet == content.advertisingSet
    }
  }

  private mutating func overdue(_ waiting: Waiting) -> ScanReport {
    settle(waiting)
    var scanReport = waiting.scanReport
    scanReport.isOverdue = true
    return scanReport
  }

  private mutating func settle(_ waiting: Waiting) {
    while settled.count <= waiting.slot { settled.append(0) }
    settled[waiting.slot] = waiting.number
  }

  private func isSettled(_ report: ReportTable.Entry, at slot: Int) -> Bool {
    // A lower number is that of another device, which was in this slot before.
    settled.indices.contains(slot) && settled[slot] >= report.firstNumber
  }
}

extension ScanParameters {
  /// The parameters of one scan that serves several: active and with duplicates if one of them is, on the PHYs of all,
  /// and with the largest share of time. Nil if there is none.
  package init?(serving all: [ScanParameters]) {
    guard var union = all.first else { return nil }
    for other in all.dropFirst() {
      union.isActive = union.isActive || other.isActive
      union.allowsDuplicates = union.allowsDuplicates || other.allowsDuplicates
      union.waitsForScanResponse = union.waitsForScanResponse || other.waitsForScanResponse
      union.phys.formUnion(other.phys)
      union.reportsChanges = union.reportsChanges || other.reportsChanges
      if UInt32(other.window) * UInt32(union.interval) > UInt32(union.window) * UInt32(other.interval) {
        (union.interval, union.window) = (other.interval, other.window)
      }
    }
    self = union
  }

  /// Whether the controller reports each device once (Vol 4, Part E, 7.8.11).
  var filtersDuplicates: Bool { !allowsDuplicates && !reportsChanges }

  /// Why such a scan is not possible with this controller; nil if it is.
  func rejection(_ controller: ControllerCapabilities) -> HostError? {
    let range = LinkLayerLimits.scanInterval
    guard range ~= interval, range ~= window, window <= interval else {
      return .invalidParameters(
        "the scan interval or window is not allowed: 4 to 0x4000 units of 0.625 ms, the window at most the interval")
    }
    guard !phys.isEmpty, phys.isSubset(of: [.le1M, .leCoded]) else {
      return .invalidParameters("a scan is on LE 1M, LE Coded or both (Vol 4, Part E, 7.8.64): not on \(phys)")
    }
    guard phys == .le1M || controller.scansByExtendedCommands else { return .unsupported("extended scanning") }
    return controller.lacking(phys)
  }

  /// The parameters as the controller takes them.
  func command(extended: Bool, from own: HCI.OwnAddressType) -> EncodedCommand {
    let type: HCI.ScanType = isActive || waitsForScanResponse ? .active : .passive
    guard extended else {
      return .init(
        HCI.LESetScanParameters {
          $0.scanType = type
          $0.scanInterval = interval
          $0.scanWindow = window
          $0.ownAddressType = own
        })
    }
    return .init(
      HCI.LESetExtendedScanParameters {
        $0.ownAddressType = own
        $0.scanningPHYs = phys
        $0.scans = phys.phys.map { _ in
          HCI.ScanParameters {
            $0.scanType = type
            $0.scanInterval = interval
            $0.scanWindow = window
          }
        }
      })
  }

  /// The command that enables or disables a scan with these parameters.
  func switchCommand(extended: Bool, on isOn: Bool) -> EncodedCommand {
    guard extended else {
      return .init(
        HCI.LESetScanEnable {
          $0.scanEnable = isOn
          $0.filterDuplicates = filtersDuplicates
        })
    }
    return .init(
      HCI.LESetExtendedScanEnable {
        $0.enable = isOn
        $0.filterDuplicates = filtersDuplicates ? .enabled : .disabled
      })
  }
}
