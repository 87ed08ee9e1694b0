internal import BLEHCI
internal import BLEWire

/// The sender of an advertisement, as the lists of the receiving controller have it.
struct AdvertiserIdentity: Sendable {
  /// The identity address if the sender's address is resolved, otherwise the sender's address; nil for an anonymous
  /// advertisement.
  var address: DeviceAddress?
  /// Whether network privacy mode rejects the sender.
  var isRejected: Bool
  var isInAcceptList: Bool
  /// Whether the advertisement is directed to another device, or to a private address that is not resolved.
  var isForAnother: Bool
}

/// The scanning state of a controller (Vol 6, Part B, 4.4.3; Vol 4, Part E, 7.8.10, 7.8.11, 7.8.64 and 7.8.65).
struct LinkLayerScanner: Sendable {
  private var type = HCI.ScanType.passive
  private(set) var ownAddressType = HCI.OwnAddressType.public
  private var filterPolicy = HCI.ScanningFilterPolicy.all
  /// The scan windows, with airtime.
  private var schedule = ScanSchedule()
  private var isExtended = false
  private(set) var isOn = false
  private var duplicateFiltering = HCI.DuplicateFiltering.disabled
  private var duplicates = DuplicateFilter(isEnabled: false)
  /// The end of the scan, or of its part in this period.
  private var endsAt: Instant?
  /// The beginning of the next period.
  private var beginsAt: Instant?
  private var duration = Duration.zero
  private var period = Duration.zero

  /// Whether the scanner is receiving: it is on, and not between two periods.
  var isListening: Bool { isOn && beginsAt == nil }

  var isUsingAcceptList: Bool { isOn && filterPolicy.rawValue & 1 == 1 }

  /// Whether the scanner currently receives on a PHY at any time.
  func receives(on phy: HCI.PHY) -> Bool { isListening && schedule.includes(phy) }

  /// Whether the scanner receives a packet, with airtime.
  func receives(on phy: HCI.PHY, channel: Int, from begin: Instant, to end: Instant) -> Bool {
    isListening && schedule.receives(on: phy, channel: channel, from: begin, to: end)
  }

  // MARK: Commands

  /// Performs LE Set Scan Parameters.
  mutating func setParameters(_ command: HCI.LESetScanParameters) -> HCIErrorCode {
    guard !isOn else { return .commandDisallowed }
    let range = LinkLayerLimits.scanInterval
    guard range.contains(command.scanInterval), range.contains(command.scanWindow),
      command.scanWindow <= command.scanInterval, command.scanType.rawValue <= 1,
      command.ownAddressType.rawValue <= 3, command.scanningFilterPolicy.rawValue <= 3
    else { return .invalidCommandParameters }
    type = command.scanType
    ownAddressType = command.ownAddressType
    filterPolicy = command.scanningFilterPolicy
    schedule = ScanSchedule([.le1M: .init(interval: command.scanInterval, window: command.scanWindow)])
    return .success
  }

  /// Performs LE Set Extended Scan Parameters.
  mutating func setParameters(_ command: HCI.LESetExtendedScanParameters, phys: HCI.PHYs) -> HCIErrorCode {
    guard !isOn else { return .commandDisallowed }
    guard !command.scanningPHYs.isEmpty, command.ownAddressType.rawValue <= 3,
      command.scanningFilterPolicy.rawValue <= 3, let first = command.scans.first
    else { return .invalidCommandParameters }
    guard command.scanningPHYs.isSubset(of: [.le1M, .leCoded]),
      !command.scanningPHYs.contains(.leCoded) || phys.contains(.leCoded)
    else { return .unsupportedFeatureOrParameterValue }
    for scan in command.scans {
      guard scan.scanType.rawValue <= 1, scan.scanInterval >= 4, scan.scanWindow >= 4,
        scan.scanWindow <= scan.scanInterval
      else { return .invalidCommandParameters }
    }
    type = first.scanType
    ownAddressType = command.ownAddressType
    filterPolicy = command.scanningFilterPolicy
    let windows = command.scans.map { ScanSchedule.Windows(interval: $0.scanInterval, window: $0.scanWindow) }
    schedule = ScanSchedule(
      Dictionary(zip(command.scanningPHYs.phys, windows), uniquingKeysWith: { first, _ in first }))
    return .success
  }

  /// Performs LE Set Scan Enable.
  ///
  /// - Parameter hasRandomAddress: whether the host has set the random address of the controller.
  mutating func setEnable(_ command: HCI.LESetScanEnable, hasRandomAddress: Bool, now: Instant) -> HCIErrorCode {
    guard command.scanEnable else {
      isOn = false
      return .success
    }
    guard hasAddress(hasRandomAddress) else { return .invalidCommandParameters }
    isExtended = false
    start(command.filterDuplicates ? .enabled : .disabled, now: now)
    return .success
  }

  /// Performs LE Set Extended Scan Enable.
  mutating func setEnable(
    _ command: HCI.LESetExtendedScanEnable, hasRandomAddress: Bool, now: Instant
  ) -> HCIErrorCode {
    guard command.enable else {
      isOn = false
      return .success
    }
    let duration = Duration.milliseconds(10 * Int64(command.duration))
    let period = Duration.milliseconds(1280 * Int64(command.period))
    let isPeriodic = command.duration > 0 && command.period > 0
    guard command.filterDuplicates.rawValue <= 2, !isPeriodic || duration < period,
      command.filterDuplicates != .resetEachPeriod || isPeriodic, hasAddress(hasRandomAddress)
    else { return .invalidCommandParameters }
    isExtended = true
    self.duration = duration
    self.period = isPeriodic ? period : .zero
    start(command.filterDuplicates, now: now)
    endsAt = command.duration > 0 ? now + duration : nil
    return .success
  }

  private mutating func start(_ filtering: HCI.DuplicateFiltering, now: Instant) {
    isOn = true
    schedule.start = now
    endsAt = nil
    beginsAt = nil
    duplicateFiltering = filtering
    duplicates = DuplicateFilter(isEnabled: filtering != .disabled)
  }

  private func hasAddress(_ hasRandomAddress: Bool) -> Bool {
    ownAddressType == .public || ownAddressType == .resolvableElsePublic || hasRandomAddress
  }

  // MARK: Time

  var deadline: Instant? { isOn ? .nearer(endsAt, beginsAt) : nil }

  /// Ends a scan, or its part in one period, and begins the next period.
  mutating func tick(_ host: HostInterface, _ context: inout VirtualRadioContext) {
    guard isOn else { return }
    if let end = endsAt, end <= context.now {
      endsAt = nil
      if period == .zero {
        isOn = false
        host.send(HCI.LEScanTimeout(), &context)
      } else {
        beginsAt = end + (period - duration)
      }
    } else if let begin = beginsAt, begin <= context.now {
      beginsAt = nil
      endsAt = begin + duration
      schedule.start = begin
      if duplicateFiltering == .resetEachPeriod { duplicates.clear() }
    }
  }

  // MARK: Advertisements

  /// Whether the scanner receives an advertisement or a scan response with this kind of PDU.
  func receives(_ advertisement: AdvertisingPDU) -> Bool {
    isListening && (advertisement.isLegacyPDU || isExtended)
  }

  /// Receives an advertisement or a scan response, and reports it.
  ///
  /// - Parameters:
  ///   - sender: the sender, as the lists of the controller have it.
  ///   - lengthOfChains: the number of octets after which an extended advertisement is truncated; nil if it is
  ///     complete.
  /// - Returns: whether a scan request follows.
  mutating func receive(
    _ advertisement: AdvertisingPDU, from sender: AdvertiserIdentity, lengthOfChains: Int?, _ host: HostInterface,
    _ context: inout VirtualRadioContext
  ) -> Bool {
    guard !sender.isRejected, sender.isInAcceptList || filterPolicy.rawValue & 1 == 0 else { return false }
    if sender.isForAnother {
      let admitsUnresolved = filterPolicy.rawValue & 2 == 2
      guard admitsUnresolved, advertisement.target.randomKind == .resolvablePrivate else { return false }
    }
    var pdu = DuplicateFilter.ReceivedPDU(
      address: sender.address, isScanResponse: advertisement.isScanResponse, isLegacyPDU: advertisement.isLegacyPDU,
      sid: advertisement.isLegacyPDU ? 0xFF : advertisement.parameters.advertisingSID,
      dataIdentifier: advertisement.isLegacyPDU ? 0 : advertisement.dataIdentifier)
    if duplicates.isNew(pdu) {
      if isExtended {
        advertisement.reportExtended(from: sender.address, lengthOfChains: lengthOfChains, host, &context)
      } else {
        advertisement.reportLegacy(from: sender, host, &context)
      }
    }

    guard !advertisement.isScanResponse, type == .active, advertisement.properties.contains(.scannable) else {
      return false
    }
    guard advertisement.isLegacyPDU else { return true }
    pdu.isScanResponse = true
    return !duplicates.contains(pdu)
  }
}
