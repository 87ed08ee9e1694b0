package import BLEHCI

/// How to listen for advertisements.
package struct ScanParameters: Equatable, Sendable {
  package var isActive = true
  /// Reports each advertisement, instead of each advertiser once.
  package var allowsDuplicates = false
  /// If duplicates are not reported, reports a device again when its data has changed. The host compares the data, and
  /// the controller filters nothing.
  package var reportsChanges = false
  /// In units of 0.625 ms, 4…0x4000 (Vol 4, Part E, 7.8.10); the window is at most the interval.
  package var interval: UInt16 = 0x0060
  package var window: UInt16 = 0x0030
  /// The PHYs of the primary channels: LE 1M, LE Coded, or both (Vol 4, Part E, 7.8.64). LE Coded needs a controller
  /// that has it.
  package var phys: HCI.PHYs = .le1M
  /// Whether the owner waits for the scan response of a device before it uses the advertisement. The scan is active
  /// then. Both are reported as they are received; an advertisement whose scan response has not come in time is
  /// reported once more (``ScanReport/isOverdue``).
  package var waitsForScanResponse = false

  package init() {}
}
