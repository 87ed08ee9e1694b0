internal import BLEHCI
internal import BLEWire

/// The periodic advertising of a controller: the trains of its advertising sets, at most one each (Vol 4, Part E,
/// 7.8.61 to 7.8.63).
struct PeriodicTrains: Sendable {
  private var trains: [PeriodicTrain] = []

  private func index(of handle: UInt8) -> Int? { trains.firstIndex { $0.handle == handle } }

  // MARK: Commands

  /// - Parameter set: the set of the command; nil if there is no such set.
  mutating func setParameters(
    _ command: HCI.LESetPeriodicAdvertisingParameters, of set: AdvertisingSetFacts?
  ) -> HCIErrorCode {
    guard let set else { return .unknownAdvertisingIdentifier }
    if let index = index(of: command.advertisingHandle) { return trains[index].setParameters(command, of: set) }
    var train = PeriodicTrain(command)
    let status = train.setParameters(command, of: set)
    if status.isSuccess { trains.append(train) }
    return status
  }

  /// - Parameters:
  ///   - set: the set of the command; nil if there is no such set.
  ///   - maximum: the longest data of the controller, in octets.
  mutating func setData(
    _ command: HCI.LESetPeriodicAdvertisingData, of set: AdvertisingSetFacts?, maximum: Int
  ) -> HCIErrorCode {
    guard let set else { return .unknownAdvertisingIdentifier }
    guard let index = index(of: command.advertisingHandle) else { return .commandDisallowed }
    return trains[index].setData(command, of: set, maximum: maximum)
  }

  /// - Parameters:
  ///   - set: the set of the command; nil if there is no such set.
  ///   - supportsADI: whether the controller has the feature Periodic Advertising ADI Support.
  mutating func setEnable(
    _ command: HCI.LESetPeriodicAdvertisingEnable, of set: AdvertisingSetFacts?, supportsADI: Bool,
    _ context: inout VirtualRadioContext
  ) -> HCIErrorCode {
    guard let set else { return .unknownAdvertisingIdentifier }
    guard let index = index(of: command.advertisingHandle) else { return .commandDisallowed }
    return trains[index].setEnable(command.enable, of: set, supportsADI: supportsADI, &context)
  }

  // MARK: The sets

  /// The error for parameters of a set that its periodic advertising excludes; nil if there is none.
  func refusal(of command: HCI.LESetExtendedAdvertisingParameters) -> HCIErrorCode? {
    index(of: command.advertisingHandle).flatMap { trains[$0].refusal(of: command) }
  }

  /// Whether the periodic advertising of a set is enabled.
  func isEnabled(_ handle: UInt8) -> Bool { index(of: handle).map { trains[$0].isEnabled } ?? false }

  /// Whether the periodic advertising of any set is enabled.
  var isAnyEnabled: Bool { trains.contains(where: \.isEnabled) }

  /// Begins the train of a set that has been enabled.
  mutating func setEnabled(_ handle: UInt8, _ set: AdvertisingSetFacts?, _ context: inout VirtualRadioContext) {
    guard let index = index(of: handle), let set, let address = set.address else { return }
    trains[index].setEnabled(from: address, on: set.secondaryPHY, &context)
  }

  /// Removes the train of a set that has been removed.
  mutating func remove(_ handle: UInt8) { trains.removeAll { $0.handle == handle } }

  mutating func removeAll() { trains = [] }

  // MARK: Packets

  /// The SyncInfo of a set; nil if its train is not transmitting.
  func syncInfo(of handle: UInt8, from sender: ControllerID, _ set: AdvertisingSetFacts) -> SyncInfo? {
    index(of: handle).flatMap { trains[$0].syncInfo(from: sender, sid: set.sid) }
  }

  /// An advertisement with the SyncInfo of its set. The train has the same advertiser's address.
  mutating func complete(_ advertisement: AdvertisingPDU, from sender: ControllerID) -> AdvertisingPDU {
    guard let handle = advertisement.handle, let index = index(of: handle), let address = advertisement.address
    else { return advertisement }
    trains[index].setAddress(address)
    var completed = advertisement
    completed.syncInfo = trains[index].syncInfo(from: sender, sid: advertisement.parameters.advertisingSID)
    return completed
  }

  /// The packets of an event of a train; nil if there is no such train.
  func packet(of train: UInt64, txPower: Int8, rssi: Int8) -> PeriodicPDU? {
    for candidate in trains {
      if let packet = candidate.packet(of: train, txPower: txPower, rssi: rssi) { return packet }
    }
    return nil
  }
}
