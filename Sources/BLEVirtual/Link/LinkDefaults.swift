internal import BLEHCI

/// The host's settings for all links (Vol 4, Part E, 7.8.19, 7.8.34, 7.8.35, 7.8.48, 7.8.123 and 7.8.155).
struct LinkDefaults: Sendable {
  /// The data length of new links.
  private(set) var dataLength = DataLength.initial
  /// The PHYs that the controller accepts when a peer requests PHYs.
  private(set) var preferredPHYs: (transmit: HCI.PHYs, receive: HCI.PHYs) = (
    [.le1M, .le2M, .leCoded], [.le1M, .le2M, .leCoded]
  )
  /// The channels that the links of a central use, 37 bits.
  private(set) var channels = VirtualLink.allChannels

  /// The subrating that the central of a new link accepts from its peripheral.
  private(set) var subrating = HCI.SubrateParameters()

  /// The connection rate that the central of a new link accepts from its peripheral.
  private(set) var rate = HCI.ConnectionRateParameters()

  mutating func setRate(
    _ parameters: HCI.ConnectionRateParameters, _ intervals: SupportedConnectionIntervals?
  ) -> HCIErrorCode {
    guard parameters.isValid else { return .invalidCommandParameters }
    let range = parameters.connectionIntervalMin...parameters.connectionIntervalMax
    guard intervals?.shortest(in: range) != nil else { return .unsupportedFeatureOrParameterValue }
    rate = parameters
    return .success
  }

  mutating func setSubrating(_ parameters: HCI.SubrateParameters) -> HCIErrorCode {
    guard parameters.isValid else { return .invalidCommandParameters }
    subrating = parameters
    return .success
  }

  mutating func setDataLength(_ command: HCI.LEWriteSuggestedDefaultDataLength) -> HCIErrorCode {
    let length = DataLength(fromHost: command.suggestedMaxTXOctets, time: command.suggestedMaxTXTime)
    guard let length else { return .invalidCommandParameters }
    dataLength = length
    return .success
  }

  /// - Parameter available: the PHYs of the controller.
  mutating func setPHYs(_ command: HCI.LESetDefaultPHY, available: HCI.PHYs) -> HCIErrorCode {
    guard let transmit = command.txPHYs.chosen(isFree: command.allPHYs.contains(.transmitter), of: available),
      let receive = command.rxPHYs.chosen(isFree: command.allPHYs.contains(.receiver), of: available)
    else { return .unsupportedFeatureOrParameterValue }
    preferredPHYs = (transmit, receive)
    return .success
  }

  mutating func setChannels(_ command: HCI.LESetHostChannelClassification) -> HCIErrorCode {
    let map = command.channelMap.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    // At least two channels stay in use, and the three upper bits are reserved (Vol 4, Part E, 7.8.19).
    guard map <= VirtualLink.allChannels, map.nonzeroBitCount >= 2 else { return .invalidCommandParameters }
    channels = map
    return .success
  }
}
