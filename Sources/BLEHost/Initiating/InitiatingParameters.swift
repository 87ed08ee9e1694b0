package import BLEHCI

/// How a controller looks for the advertisements of a device that it connects to (Vol 4, Part E, 7.8.66), and how the
/// link begins.
package struct InitiatingParameters: Equatable, Sendable {
  /// LE 1M and LE Coded: PHYs of the primary channels. LE 2M: the link may begin on that PHY, too.
  package var phys: HCI.PHYs
  /// In units of 0.625 ms, 4…0x4000; the window is at most the interval.
  package var interval: UInt16
  package var window: UInt16
  /// Whether the host sends nothing on the link that its owner has not requested: it neither exchanges the MTU, nor
  /// encrypts the link with the key of a bond, reads a Database Hash or opens enhanced bearers. It has no effect on a
  /// link that is up already.
  package var isBare = false

  package init(phys: HCI.PHYs = .le1M, interval: UInt16 = 0x0060, window: UInt16 = 0x0060) {
    (self.phys, self.interval, self.window) = (phys, interval, window)
  }
}
