internal import BLEHCI
internal import BLEWire

/// The commands of scanning (Vol 4, Part E, 7.8.10, 7.8.11, 7.8.64 and 7.8.65), and its timer.
extension VirtualController {
  mutating func performLegacyScanCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    if packet.opcode == .leSetScanParameters {
      answer(packet, as: HCI.LESetScanParameters.self, &context) { me, command, _ in
        guard !me.scanner.isOn else { return .init { $0.status = .commandDisallowed } }
        let range = LinkLayerLimits.scanInterval
        guard range.contains(command.scanInterval), range.contains(command.scanWindow),
          command.scanWindow <= command.scanInterval, command.scanType.rawValue <= 1,
          command.ownAddressType.rawValue <= 3, command.scanningFilterPolicy.rawValue <= 3
        else { return .init { $0.status = .invalidCommandParameters } }
        me.scanner.type = command.scanType
        me.scanner.ownAddressType = command.ownAddressType
        me.scanner.filterPolicy = command.scanningFilterPolicy
        me.scanner.schedule = ScanSchedule([
          .le1M: .init(interval: command.scanInterval, window: command.scanWindow)
        ])
        return .init()
      }
    } else {
      answer(packet, as: HCI.LESetScanEnable.self, &context) { me, command, context in
        guard command.scanEnable else {
          me.scanner.isOn = false
          return .init()
        }
        guard me.hasAddressForScanning else { return .init { $0.status = .invalidCommandParameters } }
        me.scanner.isExtended = false
        me.scanner.filtersDuplicates = command.filterDuplicates ? .enabled : .disabled
        me.startScanning(context)
        return .init()
      }
    }
  }

  mutating func performExtendedScanCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    if packet.opcode == .leSetExtendedScanParameters {
      answer(packet, as: HCI.LESetExtendedScanParameters.self, &context) { me, command, _ in
        .init { $0.status = me.setExtendedScanParameters(command) }
      }
    } else {
      answer(packet, as: HCI.LESetExtendedScanEnable.self, &context) { me, command, context in
        .init { $0.status = me.setExtendedScanEnable(command, context) }
      }
    }
  }

  /// Performs LE Set Extended Scan Parameters (Vol 4, Part E, 7.8.64).
  private mutating func setExtendedScanParameters(_ command: HCI.LESetExtendedScanParameters) -> HCIErrorCode {
    guard !scanner.isOn else { return .commandDisallowed }
    guard !command.scanningPHYs.isEmpty, command.ownAddressType.rawValue <= 3,
      command.scanningFilterPolicy.rawValue <= 3, let first = command.scans.first
    else { return .invalidCommandParameters }
    guard command.scanningPHYs.isSubset(of: [.le1M, .leCoded]),
      !command.scanningPHYs.contains(.leCoded) || features.contains(.leCodedPHY)
    else { return .unsupportedFeatureOrParameterValue }
    for scan in command.scans {
      guard scan.scanType.rawValue <= 1, scan.scanInterval >= 4, scan.scanWindow >= 4,
        scan.scanWindow <= scan.scanInterval
      else { return .invalidCommandParameters }
    }
    scanner.type = first.scanType
    scanner.ownAddressType = command.ownAddressType
    scanner.filterPolicy = command.scanningFilterPolicy
    let windows = command.scans.map { ScanSchedule.Windows(interval: $0.scanInterval, window: $0.scanWindow) }
    scanner.schedule = ScanSchedule(
      Dictionary(zip(command.scanningPHYs.phys, windows), uniquingKeysWith: { first, _ in first }))
    return .success
  }

  /// Performs LE Set Extended Scan Enable (Vol 4, Part E, 7.8.65).
  private mutating func setExtendedScanEnable(_ command: HCI.LESetExtendedScanEnable, _ context: RadioContext)
    -> HCIErrorCode
  {
    guard command.enable else {
      scanner.isOn = false
      return .success
    }
    let duration = Duration.milliseconds(10 * Int64(command.duration))
    let period = Duration.milliseconds(1280 * Int64(command.period))
    let isPeriodic = command.duration > 0 && command.period > 0
    guard command.filterDuplicates.rawValue <= 2, !isPeriodic || duration < period,
      command.filterDuplicates != .resetEachPeriod || isPeriodic, hasAddressForScanning
    else { return .invalidCommandParameters }
    scanner.isExtended = true
    scanner.filtersDuplicates = command.filterDuplicates
    scanner.duration = duration
    scanner.period = isPeriodic ? period : .zero
    startScanning(context)
    scanner.endsAt = command.duration > 0 ? context.now + duration : nil
    return .success
  }

  private mutating func startScanning(_ context: RadioContext) {
    scanner.isOn = true
    scanner.schedule.start = context.now
    scanner.endsAt = nil
    scanner.beginsAt = nil
    scanner.clearDuplicates()
  }

  private var hasAddressForScanning: Bool {
    scanner.ownAddressType == .public || scanner.ownAddressType == .resolvableElsePublic || addresses.random != nil
  }

  /// Ends a scan or its part in one period, and begins the next period.
  mutating func tickScanner(_ context: inout RadioContext) {
    guard scanner.isOn else { return }
    if let end = scanner.endsAt, end <= context.now {
      scanner.endsAt = nil
      if scanner.period == .zero {
        scanner.isOn = false
        host.send(HCI.LEScanTimeout(), &context)
      } else {
        scanner.beginsAt = end + (scanner.period - scanner.duration)
      }
    } else if let begin = scanner.beginsAt, begin <= context.now {
      scanner.beginsAt = nil
      scanner.endsAt = begin + scanner.duration
      scanner.schedule.start = begin
      if scanner.filtersDuplicates == .resetEachPeriod { scanner.clearDuplicates() }
    }
  }
}
