package import BLEHCI

/// How a controller looks for the advertisements of a device that it connects to (Vol 4, Part E, 7.8.66).
package struct InitiatingParameters: Equatable, Sendable {
  /// LE 1M and LE Coded: PHYs of the primary channels. LE 2M: the link may begin on that PHY, too.
  package var phys: HCI.PHYs
  /// In units of 0.625 ms, 4…0x4000; the window is at most the interval.
  package var interval: UInt16
  package var window: UInt16

  package init(phys: HCI.PHYs = .le1M, interval: UInt16 = 0x0060, window: UInt16 = 0x0060) {
    (self.phys, self.interval, self.window) = (phys, interval, window)
  }
}
