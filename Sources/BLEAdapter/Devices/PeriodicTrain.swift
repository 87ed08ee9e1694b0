public import BLEWire

/// A periodic advertising train: data that a device sends at fixed times without a connection (Vol 6, Part B,
/// 4.4.2.12).
///
/// An extended advertisement announces it (``AdvertisingReport/periodicTrain``); its advertiser and its advertising set
/// identify it.
///
/// ```swift
/// let train = PeriodicTrain(advertiser: DeviceAddress("C0:11:22:33:44:55", kind: .random)!, advertisingSet: 0)
/// ```
public struct PeriodicTrain: Hashable, Sendable, CustomStringConvertible {
  /// The address of the advertiser: its identity address if the controller or a bond resolved a private one.
  public let advertiser: DeviceAddress
  /// The number of the advertising set (Advertising SID), 0 to 15.
  public let advertisingSet: Int

  /// Names a train.
  ///
  /// - Parameters:
  ///   - advertiser: the address of the device that sends it.
  ///   - advertisingSet: the number of its advertising set, 0 to 15.
  public init(advertiser: DeviceAddress, advertisingSet: Int) {
    (self.advertiser, self.advertisingSet) = (advertiser, advertisingSet)
  }

  /// The address and the set, as in `C0:11:22:33:44:55 set 0`.
  public var description: String { "\(advertiser) set \(advertisingSet)" }
}

extension AdvertisingReport {
  /// The train that the advertisement announces; nil where it announces none.
  public var periodicTrain: PeriodicTrain? {
    guard periodicInterval != nil, let advertisingSet else { return nil }
    return PeriodicTrain(advertiser: address, advertisingSet: advertisingSet)
  }
}
