package import BLEHCI

/// The PHYs that a link should use (Vol 4, Part E, 7.8.49).
package struct PHYPreference: Equatable, Sendable {
  /// The PHYs to transmit on; empty for no preference.
  package var transmit: HCI.PHYs
  /// The PHYs to receive on; empty for no preference.
  package var receive: HCI.PHYs
  /// The coding to transmit with on LE Coded.
  package var coding: LECoding

  package init(transmit: HCI.PHYs = [], receive: HCI.PHYs = [], coding: LECoding = .any) {
    (self.transmit, self.receive, self.coding) = (transmit, receive, coding)
  }
}
