import BLEHCI
import BLEWire

/// The scan of one owner.
struct ScanRequest: Sendable {
  let owner: OwnerID
  var parameters: ScanParameters
  /// The devices that were reported to an owner that wants each once.
  private var reported: Set<Report> = []
  /// The number of devices in the filter. One more empties the filter, and all are reported again.
  static let maximumReported = 1024

  /// What a controller takes for a duplicate (Vol 6, Part B, 4.4.3.5): the same device, whatever the data.
  private struct Report: Hashable, Sendable {
    var address: DeviceAddress
    var isScanResponse: Bool
  }

  init(owner: OwnerID, parameters: ScanParameters) {
    self.owner = owner
    self.parameters = parameters
  }

  /// Whether the owner wants this report.
  mutating func admits(_ discovery: Discovery) -> Bool {
    if parameters.allowsDuplicates { return true }
    let report = Report(address: discovery.address, isScanResponse: discovery.isScanResponse)
    if reported.contains(report) { return false }
    if reported.count >= Self.maximumReported { reported = [] }
    reported.insert(report)
    return true
  }
}

extension ScanParameters {
  /// The parameters of one scan that serves several: active and with duplicates where one of them is, and with the largest
  /// share of time. Nil where there is none.
  package init?(serving all: [ScanParameters]) {
    guard var union = all.first else { return nil }
    for other in all.dropFirst() {
      union.isActive = union.isActive || other.isActive
      union.allowsDuplicates = union.allowsDuplicates || other.allowsDuplicates
      if UInt32(other.window) * UInt32(union.interval) > UInt32(union.window) * UInt32(other.interval) {
        (union.interval, union.window) = (other.interval, other.window)
      }
    }
    self = union
  }

  /// Whether the values are ones that Vol 4, Part E, 7.8.10 allows.
  var isValid: Bool {
    let range: ClosedRange<UInt16> = 4...0x4000
    return range ~= interval && range ~= window && window <= interval
  }

  /// The parameters as the controller takes them.
  func command(extended: Bool, from own: HCI.OwnAddressType) -> any HCICommand {
    guard extended else {
      return HCI.LESetScanParameters {
        $0.scanType = isActive ? .active : .passive
        $0.scanInterval = interval
        $0.scanWindow = window
        $0.ownAddressType = own
      }
    }
    return HCI.LESetExtendedScanParameters {
      $0.ownAddressType = own
      $0.scanningPHYs = .le1M
      $0.scans = [
        HCI.ScanParameters {
          $0.scanType = isActive ? .active : .passive
          $0.scanInterval = interval
          $0.scanWindow = window
        }
      ]
    }
  }

  /// The command that switches a scan with these parameters on or off.
  func switchCommand(extended: Bool, on isOn: Bool) -> any HCICommand {
    guard extended else {
      return HCI.LESetScanEnable {
        $0.scanEnable = isOn
        $0.filterDuplicates = !allowsDuplicates
      }
    }
    return HCI.LESetExtendedScanEnable {
      $0.enable = isOn
      $0.filterDuplicates = allowsDuplicates ? .disabled : .enabled
    }
  }
}
