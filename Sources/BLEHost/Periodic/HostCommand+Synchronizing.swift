package import BLEHCI
import BLEWire

/// One request to receive a periodic advertising train.
package struct SyncID: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }
}

extension HostCommand {
  /// A command about the periodic advertising of other devices, which is a declared intent: the host synchronizes again
  /// when the train was lost or the controller was reset. ``Synchronizer`` performs it.
  package enum Synchronizing: Sendable {
    /// ``HostEvent/Synchronizing/synchronized(_:)`` follows, or ``HostEvent/Synchronizing/ended(_:)``.
    indirect case start(SyncID, SyncSource, SyncParameters)
    case stop(SyncID)
    /// Sends the device of a link what it needs to receive the train (Vol 4, Part E, 7.8.89).
    /// ``HostEvent/Synchronizing/transferred(_:_:)`` answers.
    indirect case transfer(SyncID, to: LinkID, serviceData: UInt16)
  }
}

/// Where the host learns of a train.
package enum SyncSource: Equatable, Sendable {
  /// By scanning for its advertiser.
  case train(TrainID)
  /// By the device of a link, which transfers its synchronization (Vol 4, Part E, 7.8.91); without a scan.
  case transfer(from: LinkID)
}

/// How to receive a train.
package struct SyncParameters: Equatable, Sendable {
  /// How many events may be skipped after a received one, 0…0x01F3 (Vol 4, Part E, 7.8.67).
  package var skip: UInt16 = 0
  /// How long nothing may be received until the train is lost, in units of 10 ms, 0x000A…0x4000.
  package var timeout: UInt16 = 0x0064
  /// Whether a report with the data of the one before is left out.
  package var filtersDuplicates = false
  /// The PHYs of the primary channels to scan on: LE 1M, LE Coded, or both.
  package var phys: HCI.PHYs = .le1M

  package init() {}

  /// Why a controller does not receive trains in this way; nil if it does.
  func rejection(_ controller: ControllerCapabilities) -> HostError? {
    guard skip <= LinkLayerLimits.periodicSyncSkip else {
      return .invalidParameters("a synchronization skips at most \(LinkLayerLimits.periodicSyncSkip) events")
    }
    guard LinkLayerLimits.periodicSyncTimeout.contains(timeout) else {
      return .invalidParameters("the timeout of a synchronization is outside 100 ms to 163.84 s")
    }
    guard !phys.isEmpty, phys.isSubset(of: [.le1M, .leCoded]) else {
      return .invalidParameters("a scan is on LE 1M, LE Coded or both (Vol 4, Part E, 7.8.64): not on \(phys)")
    }
    return controller.lacking(phys)
  }
}
