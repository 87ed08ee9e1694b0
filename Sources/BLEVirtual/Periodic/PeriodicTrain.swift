internal import BLEHCI
internal import BLEWire

/// The facts about an advertising set that its periodic advertising depends on.
struct AdvertisingSetFacts: Sendable {
  let properties: HCI.AdvertisingEventProperties
  /// The PHY of the auxiliary packets, on which the train is sent.
  let secondaryPHY: HCI.PHY
  let sid: UInt8
  /// The advertiser's address; nil if the set is disabled.
  let address: DeviceAddress?

  /// The properties that a set with periodic advertising cannot have (Vol 4, Part E, 7.8.61).
  static let excluded: HCI.AdvertisingEventProperties = [.legacy, .connectable, .scannable, .anonymous]
}

/// The periodic advertising of one advertising set (Vol 6, Part B, 4.4.2.12).
///
/// ```
///  disabled ──enable──► waiting ──the set is enabled──► transmitting (also after the set is disabled)
///     ◄─────disable─────────────────────────────────────────┘
/// ```
///
/// A transmitting train has no deadline. A controller that is synchronized computes the anchor points and takes the
/// packet of each event that it receives, so that a train without listeners costs nothing.
struct PeriodicTrain: Sendable {
  private struct Transmission: Sendable {
    let train: UInt64
    let start: Instant
    /// In units of 1.25 ms.
    let interval: UInt16
    let phy: HCI.PHY
    var address: DeviceAddress
    var includesADI: Bool
  }

  private enum State: Sendable {
    case disabled
    /// Enabled, but its set has not been enabled since.
    case waiting(includesADI: Bool)
    case transmitting(Transmission)
  }

  /// Periodic_Advertising_Properties: include the transmit power.
  private static let includeTxPower: UInt16 = 0x0040

  let handle: UInt8
  private var parameters: HCI.LESetPeriodicAdvertisingParameters
  private var data = AdvertisingPayload()
  private var state = State.disabled

  init(_ parameters: HCI.LESetPeriodicAdvertisingParameters) {
    handle = parameters.advertisingHandle
    self.parameters = parameters
  }

  var isEnabled: Bool { if case .disabled = state { false } else { true } }

  private var transmission: Transmission? {
    if case .transmitting(let transmission) = state { transmission } else { nil }
  }

  private var includesTxPower: Bool { parameters.periodicAdvertisingProperties & Self.includeTxPower != 0 }

  // MARK: Commands

  /// Performs LE Set Periodic Advertising Parameters for a new or an existing train (Vol 4, Part E, 7.8.61).
  mutating func setParameters(
    _ command: HCI.LESetPeriodicAdvertisingParameters, of set: AdvertisingSetFacts
  ) -> HCIErrorCode {
    guard LinkLayerLimits.periodicAdvertisingInterval.contains(command.periodicAdvertisingIntervalMin),
      command.periodicAdvertisingIntervalMin <= command.periodicAdvertisingIntervalMax,
      command.periodicAdvertisingProperties & ~Self.includeTxPower == 0,
      set.properties.isDisjoint(with: AdvertisingSetFacts.excluded)
    else { return .invalidCommandParameters }
    guard !isEnabled else { return .commandDisallowed }
    var changed = self
    changed.parameters = command
    guard changed.fits(data.octets.count, command.periodicAdvertisingIntervalMax, on: set.secondaryPHY) else {
      return .packetTooLong
    }
    self = changed
    return .success
  }

  /// Performs LE Set Periodic Advertising Data (Vol 4, Part E, 7.8.62).
  ///
  /// - Parameter maximum: the longest data of the controller, in octets.
  mutating func setData(
    _ command: HCI.LESetPeriodicAdvertisingData, of set: AdvertisingSetFacts, maximum: Int
  ) -> HCIErrorCode {
    guard command.operation.rawValue <= 4 else { return .invalidCommandParameters }
    if isEnabled, command.operation != .complete, command.operation != .unchanged { return .commandDisallowed }
    var changed = data
    if command.operation == .unchanged {
      guard isEnabled, command.advertisingData.isEmpty, !data.octets.isEmpty else { return .invalidCommandParameters }
    }
    let status = changed.receive(command.operation, command.advertisingData, maximum: maximum)
    let limit = transmission?.interval ?? parameters.periodicAdvertisingIntervalMax
    let phy = transmission?.phy ?? set.secondaryPHY
    guard fits(changed.octets.count, limit, on: phy) else { return .packetTooLong }
    data = changed
    return status
  }

  /// Performs LE Set Periodic Advertising Enable (Vol 4, Part E, 7.8.63).
  ///
  /// - Parameters:
  ///   - enable: bit 0 enables the train, bit 1 includes the ADI field.
  ///   - supportsADI: whether the controller has the feature Periodic Advertising ADI Support.
  mutating func setEnable(
    _ enable: UInt8, of set: AdvertisingSetFacts, supportsADI: Bool, _ context: inout VirtualRadioContext
  ) -> HCIErrorCode {
    let includesADI = enable & 0x02 != 0
    guard enable <= 0x03 else { return .invalidCommandParameters }
    guard supportsADI || !includesADI else { return .unsupportedFeatureOrParameterValue }
    guard enable & 0x01 != 0 else {
      state = .disabled
      return .success
    }
    guard !data.isPartial, set.properties.isDisjoint(with: AdvertisingSetFacts.excluded) else {
      return .commandDisallowed
    }
    if var transmission {
      transmission.includesADI = includesADI
      state = .transmitting(transmission)
      return .success
    }
    guard fits(data.octets.count, parameters.periodicAdvertisingIntervalMax, on: set.secondaryPHY) else {
      return .packetTooLong
    }
    state = .waiting(includesADI: includesADI)
    if let address = set.address { setEnabled(from: address, on: set.secondaryPHY, &context) }
    return .success
  }

  /// The error for parameters of the set that its periodic advertising excludes; nil if there is none (Vol 4, Part E,
  /// 7.8.53).
  func refusal(of command: HCI.LESetExtendedAdvertisingParameters) -> HCIErrorCode? {
    guard command.advertisingEventProperties.isDisjoint(with: AdvertisingSetFacts.excluded) else {
      return .invalidCommandParameters
    }
    return isEnabled && command.secondaryAdvertisingPHY != (transmission?.phy ?? command.secondaryAdvertisingPHY)
      ? .commandDisallowed : nil
  }

  /// Begins the train if it waits for its set, which has been enabled.
  mutating func setEnabled(from address: DeviceAddress, on phy: HCI.PHY, _ context: inout VirtualRadioContext) {
    guard case .waiting(let includesADI) = state else { return setAddress(address) }
    let range = parameters.periodicAdvertisingIntervalMin...parameters.periodicAdvertisingIntervalMax
    let needed = airtime(of: data.octets.count, on: phy, includesADI: includesADI).wholeMultiples(
      of: .microseconds(1250))
    let interval = max(range.lowerBound, min(range.upperBound, UInt16(clamping: needed + 1)))
    state = .transmitting(
      Transmission(
        train: context.newTrainID(), start: context.now, interval: interval, phy: phy, address: address,
        includesADI: includesADI))
  }

  /// Stores a new address of the advertiser.
  mutating func setAddress(_ address: DeviceAddress) {
    guard var transmission else { return }
    transmission.address = address
    state = .transmitting(transmission)
  }

  // MARK: Packets

  /// SyncInfo; nil if the train is not transmitting.
  func syncInfo(from sender: ControllerID, sid: UInt8) -> SyncInfo? {
    transmission.map {
      SyncInfo(
        sender: sender, train: $0.train, address: $0.address, sid: sid, phy: $0.phy, interval: $0.interval,
        start: $0.start)
    }
  }

  /// The packets of an event; nil if the train is another one.
  func packet(of train: UInt64, txPower: Int8, rssi: Int8) -> PeriodicPDU? {
    guard let transmission, transmission.train == train else { return nil }
    return PeriodicPDU(
      data: data.octets, dataIdentifier: transmission.includesADI ? data.identifier : nil,
      txPower: includesTxPower ? txPower : 127, rssi: rssi,
      airtime: airtime(of: data.octets.count, on: transmission.phy, includesADI: transmission.includesADI))
  }

  /// Whether the packets of an event end before the next event begins, with the longest header.
  private func fits(_ count: Int, _ interval: UInt16, on phy: HCI.PHY) -> Bool {
    airtime(of: count, on: phy, includesADI: true) < .microseconds(1250 * Int64(interval))
  }

  private func airtime(of count: Int, on phy: HCI.PHY, includesADI: Bool) -> Duration {
    // The length and the flags of the extended header, ADI and TxPower.
    let fixed = 2 + (includesADI ? 2 : 0) + (includesTxPower ? 1 : 0)
    return AdvertisingPDU.secondaryAirtime(on: RadioPHY(phy), fixed: fixed, data: count)
  }
}
