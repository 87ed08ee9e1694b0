internal import BLEHCI
internal import BLEWire

/// The periodic advertising sync transfer of a controller: for each link, how the trains that the peer transfers are
/// received (Vol 6, Part B, 5.1.13; Vol 4, Part E, 7.8.91 and 7.8.92).
struct PeriodicSyncTransfers: Sendable {
  /// How a transferred train is received.
  struct Reception: Sendable {
    let parameters: PeriodicSyncParameters
    let reports: PeriodicReports
  }

  /// For links that begin later; nil if transfers are ignored.
  private var standard: Reception?
  /// For each link with a choice. A transfer on another link is ignored.
  private var links: [ConnectionHandle: Reception] = [:]

  /// How a train that the peer of a link transfers is received; nil if it is ignored.
  func reception(on link: ConnectionHandle) -> Reception? { links[link] }

  mutating func linkBegan(_ link: ConnectionHandle) { links[link] = standard }

  mutating func linkEnded(_ link: ConnectionHandle) { links[link] = nil }

  /// Performs LE Set Periodic Advertising Sync Transfer Parameters for a link that exists.
  mutating func set(
    _ command: HCI.LESetPeriodicAdvertisingSyncTransferParameters, supportsADI: Bool
  ) -> HCIErrorCode {
    let parameters = PeriodicSyncParameters(
      skip: command.skip, timeout: command.syncTimeout, cteType: command.cteType)
    return Self.set(&links[command.connectionHandle], mode: command.mode, parameters, supportsADI: supportsADI)
  }

  /// Performs LE Set Default Periodic Advertising Sync Transfer Parameters.
  mutating func setDefault(
    _ command: HCI.LESetDefaultPeriodicAdvertisingSyncTransferParameters, supportsADI: Bool
  ) -> HCIErrorCode {
    let parameters = PeriodicSyncParameters(
      skip: command.skip, timeout: command.syncTimeout, cteType: command.cteType)
    return Self.set(&standard, mode: command.mode, parameters, supportsADI: supportsADI)
  }

  /// - Parameters:
  ///   - mode: 0 ignores transfers, 1 disables reports, 2 enables them, 3 filters duplicates. With 0 the other
  ///     parameters have no effect, and are not checked.
  ///   - supportsADI: whether the controller has the feature Periodic Advertising ADI Support.
  private static func set(
    _ reception: inout Reception?, mode: UInt8, _ parameters: PeriodicSyncParameters, supportsADI: Bool
  ) -> HCIErrorCode {
    guard mode <= 3, mode == 0 || parameters.isValid else { return .invalidCommandParameters }
    guard mode != 3 || supportsADI else { return .unsupportedFeatureOrParameterValue }
    reception =
      mode == 0
      ? nil
      : Reception(
        parameters: parameters, reports: PeriodicReports(isEnabled: mode >= 2, filtersDuplicates: mode == 3))
    return .success
  }
}
