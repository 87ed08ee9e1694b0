package import BLEHCI

extension HostEvent {
  /// An event of one request to receive a train. ``Synchronizer`` reports it.
  package enum Synchronizing: Sendable {
    /// The host receives the train, for the first time or again.
    indirect case synchronized(SynchronizedTrain)
    case report(TrainReport)
    /// Nothing was received for the timeout, or the controller was reset. The host goes on searching.
    case lost
    /// The request has ended.
    indirect case ended(HostError)
    indirect case transferred(LinkID, Result<Void, HostError>)
  }
}

/// What is known of a train that the host receives (Vol 4, Part E, 7.7.65.14 and 7.7.65.24).
package struct SynchronizedTrain: Equatable, Sendable {
  package var train: TrainID
  package var phy: HCI.PHY
  /// In units of 1.25 ms.
  package var interval: UInt16
  /// What the device that transferred the synchronization has added; nil where it was found by scanning.
  package var serviceData: UInt16?

  package init(train: TrainID, phy: HCI.PHY, interval: UInt16, serviceData: UInt16?) {
    (self.train, self.phy, self.interval, self.serviceData) = (train, phy, interval, serviceData)
  }
}

/// The data of one event of a train.
package struct TrainReport: Equatable, Sendable {
  package enum Completeness: Equatable, Sendable {
    case complete
    /// The end of the data is missing.
    case truncated
    /// The event was not received.
    case missed
  }

  package var data: [UInt8]
  package var completeness: Completeness
  /// In dBm; 127 where the controller has none.
  package var rssi: Int8
  package var txPower: Int8

  package init(_ data: [UInt8], _ completeness: Completeness = .complete, rssi: Int8 = 127, txPower: Int8 = 127) {
    (self.data, self.completeness, self.rssi, self.txPower) = (data, completeness, rssi, txPower)
  }
}
