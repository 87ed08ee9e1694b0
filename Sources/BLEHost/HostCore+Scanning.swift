import BLEHCI
import BLEWire

/// What the application wants scanned, and how far the controller is with it.
struct Scanner: Sendable {
  enum Step: Equatable, Sendable { case parameters, enable, disable }
  enum Phase: Equatable, Sendable { case off, working(Step), on }

  var phase = Phase.off
  /// The declared intent; nil is none.
  var wanted: ScanParameters?
  /// What the controller was last told.
  var applied: ScanParameters?

  /// The application does not scan: a scan that is on is for an address to connect to, and reports are not for the application.
  var isForItself: Bool { wanted == nil }
  /// The controller does not listen while it waits to connect.
  var cannotSeek = false
  /// Extended advertisements of which the controller has reported only a part.
  var assembler = ExtendedReportAssembler()

  /// The controller lost its state; the intent stays.
  mutating func suspend() {
    phase = .off
    applied = nil
    cannotSeek = false
    assembler.removeAll()
  }
}

extension HostCore {
  mutating func startScanning(_ parameters: ScanParameters, now: Instant, into output: inout HostOutput) {
    guard state == .poweredOn, shutdownDeadline == nil else {
      return output.events.append(.scanStopped(.notPoweredOn))
    }
    let range: ClosedRange<UInt16> = 4...0x4000
    guard range ~= parameters.interval, range ~= parameters.window, parameters.window <= parameters.interval else {
      return output.events.append(
        .scanStopped(.invalidParameters("scan interval and window lie in 4 to 0x4000, the window within the interval")))
    }
    scanner.wanted = parameters
    reconcileScanner(now: now, into: &output)
  }

  mutating func stopScanning(now: Instant, into output: inout HostOutput) {
    scanner.wanted = nil
    reconcileScanner(now: now, into: &output)
  }

  mutating func restoreScanning(now: Instant, into output: inout HostOutput) {
    reconcileScanner(now: now, into: &output)
  }

  /// Takes the next step towards what is wanted; parameters can be set only while scanning is off (Vol 4, Part E, 7.8.10).
  mutating func reconcileScanner(now: Instant, into output: inout HostOutput) {
    guard state == .poweredOn else { return }
    let wanted = wantedScan
    switch scanner.phase {
    case .working: break
    case .on where wanted != scanner.applied: takeScan(.disable, now: now, into: &output)
    case .off where wanted != nil: takeScan(.parameters, now: now, into: &output)
    case .on, .off: break
    }
  }

  /// What is to be listened for now: for the application, or for the address that a bonded device uses which we want to
  /// connect to and whose private addresses the controller does not resolve.
  private var wantedScan: ScanParameters? {
    if stillness.isHolding { return nil }
    if let wanted = scanner.wanted { return wanted }
    let seeks = initiator.wishes.contains {
      bonds[$0.address]?.identityResolvingKey != nil && !resolving.resolves($0.address)
    }
    guard seeks, !scanner.cannotSeek, configuration.ownership == .exclusive else { return nil }
    var parameters = ScanParameters()
    parameters.isActive = false
    return parameters
  }

  mutating func scanningStepCompleted(
    _ step: Scanner.Step, _ opcode: HCIOpcode, _ status: HCIErrorCode, now: Instant, into output: inout HostOutput
  ) {
    guard scanner.phase == .working(step) else { return }
    guard status == .success else {
      scanner.phase = .off
      // Nobody asked for this scan; the devices are called by the addresses that are known.
      if scanner.wanted == nil { return scanner.cannotSeek = true }
      scanner.wanted = nil
      return output.events.append(.scanStopped(.controller(opcode, status)))
    }
    switch step {
    case .parameters:
      scanner.phase = .off
      if wantedScan == scanner.applied { return takeScan(.enable, now: now, into: &output) }
    case .enable: scanner.phase = .on
    case .disable:
      scanner.phase = .off
      scanner.applied = nil
      scanner.assembler.removeAll()
    }
    reconcileScanner(now: now, into: &output)
  }

  private mutating func takeScan(_ step: Scanner.Step, now: Instant, into output: inout HostOutput) {
    if step == .parameters { scanner.applied = wantedScan }
    scanner.phase = .working(step)
    let parameters = scanner.applied ?? ScanParameters()
    let own = ownAddressType
    switch (step, controller.scansByExtendedCommands) {
    case (.parameters, false):
      let command = HCI.LESetScanParameters {
        $0.scanType = parameters.isActive ? .active : .passive
        $0.scanInterval = parameters.interval
        $0.scanWindow = parameters.window
        $0.ownAddressType = own
      }
      send(command, for: .scanning(step), now: now, into: &output)
    case (.parameters, true):
      let command = HCI.LESetExtendedScanParameters {
        $0.ownAddressType = own
        $0.scanningPHYs = .le1M
        $0.scans = [
          HCI.ScanParameters {
            $0.scanType = parameters.isActive ? .active : .passive
            $0.scanInterval = parameters.interval
            $0.scanWindow = parameters.window
          }
        ]
      }
      send(command, for: .scanning(step), now: now, into: &output)
    case (_, false):
      let command = HCI.LESetScanEnable {
        $0.scanEnable = step == .enable
        $0.filterDuplicates = !parameters.allowsDuplicates
      }
      send(command, for: .scanning(step), now: now, into: &output)
    case (_, true):
      let command = HCI.LESetExtendedScanEnable {
        $0.enable = step == .enable
        $0.filterDuplicates = parameters.allowsDuplicates ? .disabled : .enabled
      }
      send(command, for: .scanning(step), now: now, into: &output)
    }
  }

  /// Every report of the event, in order (Vol 4, Part E, 7.7.65.2).
  mutating func discovered(_ event: HCI.LEAdvertisingReport, now: Instant, into output: inout HostOutput) {
    for report in event.reports {
      let address = heard(report.address, now: now, into: &output)
      guard !scanner.isForItself else { continue }
      output.events.append(
        .discovered(
          Discovery(
            address: address,
            isConnectable: report.eventType == .connectable || report.eventType == .directed,
            isScanResponse: report.eventType == .scanResponse, data: Array(report.data), rssi: report.rssi)))
    }
  }

  /// Every report of the event, in order; an advertisement in several reports is one discovery, at its last report
  /// (Vol 4, Part E, 7.7.65.13).
  mutating func discovered(_ event: HCI.LEExtendedAdvertisingReport, now: Instant, into output: inout HostOutput) {
    for report in event.reports {
      let address = heard(report.address, now: now, into: &output)
      guard !scanner.isForItself, let advertisement = scanner.assembler.receive(report, now: now) else { continue }
      let whole = advertisement.report
      output.events.append(
        .discovered(
          Discovery(
            address: address, isConnectable: whole.eventType.contains(.connectable),
            isScanResponse: whole.eventType.contains(.scanResponse), data: Array(whole.data),
            isTruncated: advertisement.isTruncated, rssi: whole.rssi)))
    }
  }
}
