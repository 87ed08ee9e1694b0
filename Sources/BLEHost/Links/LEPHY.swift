package import BLEHCI

/// A physical layer of Bluetooth LE (Vol 1, Part A, 3.2.2).
///
/// The numbers in packets are `HCI.PHY`, which also has unassigned values and `none`.
public enum LEPHY: Hashable, Sendable, CaseIterable, CustomStringConvertible {
  /// LE 1M: 1 Mbit/s; each device has it.
  case le1M
  /// LE 2M: 2 Mbit/s, with less range.
  case le2M
  /// LE Coded: 500 or 125 kbit/s, with up to four times the range.
  case leCoded

  package init?(_ phy: HCI.PHY) {
    switch phy {
    case .le1M: self = .le1M
    case .le2M: self = .le2M
    case .leCoded: self = .leCoded
    default: return nil
    }
  }

  package var phy: HCI.PHY {
    switch self {
    case .le1M: .le1M
    case .le2M: .le2M
    case .leCoded: .leCoded
    }
  }

  /// The name in the specification: `LE 2M`.
  public var description: String {
    switch self {
    case .le1M: "LE 1M"
    case .le2M: "LE 2M"
    case .leCoded: "LE Coded"
    }
  }
}

extension Set<LEPHY> {
  /// The set as commands contain it.
  package var phys: HCI.PHYs { HCI.PHYs(of: map { $0.phy }) }
}

/// The coding of packets on ``LEPHY/leCoded`` (Vol 4, Part E, 7.8.49).
public enum LECoding: Hashable, Sendable {
  /// The controller chooses.
  case any
  /// Two symbols a bit, 500 kbit/s.
  case s2
  /// Eight symbols a bit, 125 kbit/s, with the most range.
  case s8

  /// The value in LE Set PHY.
  var phyOptions: UInt16 {
    switch self {
    case .any: 0
    case .s2: 1
    case .s8: 2
    }
  }
}

/// The PHYs of a link, as this device sees it.
public struct ConnectionPHY: Hashable, Sendable {
  /// The PHY that this device transmits on.
  public var transmit: LEPHY
  /// The PHY that this device receives on.
  public var receive: LEPHY

  /// Creates a pair of PHYs.
  public init(transmit: LEPHY, receive: LEPHY) { (self.transmit, self.receive) = (transmit, receive) }

  /// The PHYs that a controller reports. One with a number that is not assigned counts as LE 1M.
  package init(reported transmit: HCI.PHY, _ receive: HCI.PHY) {
    self.init(transmit: LEPHY(transmit) ?? .le1M, receive: LEPHY(receive) ?? .le1M)
  }
}

extension PHYPreference {
  /// A preference in the types of the APIs; an empty set means no preference.
  package init(transmit: Set<LEPHY>, receive: Set<LEPHY>, coding: LECoding) {
    self.init(transmit: transmit.phys, receive: receive.phys, coding: coding)
  }
}
