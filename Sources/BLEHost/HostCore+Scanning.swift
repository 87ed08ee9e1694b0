import BLEHCI
import BLEWire

/// What the application wants scanned, and how far the controller is with it.
struct Scanner: Sendable {
  enum Step: Equatable, Sendable { case parameters, enable, disable }
  enum Phase: Equatable, Sendable { case off, working(Step), on }

  var phase = Phase.off
  /// The scan of each owner, in the order in which they began.
  var requests: [ScanRequest] = []
  /// The controller is to forget which devices it has reported, for an owner that has begun.
  var restarts = false
  /// What the controller was last told.
  var applied: ScanParameters?

  /// What serves every owner; nil where none scans.
  var wanted: ScanParameters? { ScanParameters(serving: requests.map(\.parameters)) }
  /// The scan that is on is not the application's.
  var isForItself: Bool { requests.isEmpty && applied != nil }
  /// The controller does not listen while it waits to connect.
  var cannotSeek = false
  /// Extended advertisements of which the controller has reported only a part.
  var assembler = ExtendedReportAssembler()

  /// The controller lost its state; the intent stays.
  mutating func suspend() {
    phase = .off
    applied = nil
    cannotSeek = false
    restarts = false
    assembler.removeAll()
  }

  /// Adds the scan of an owner, or changes it.
  ///
  /// The controller reports each device once to a scan that wants no duplicates. For an owner that comes later it begins
  /// anew, so that the owner receives the devices that the others have received.
  mutating func begin(_ request: ScanRequest) {
    if let index = requests.firstIndex(where: { $0.owner == request.owner }) {
      requests[index].parameters = request.parameters
    } else {
      restarts = !requests.isEmpty && wanted?.allowsDuplicates == false
      requests.append(request)
    }
  }

  /// The owners that receive a discovery; nil where it is a duplicate for all of them.
  mutating func recipient(of discovery: Discovery) -> Recipient? {
    var owners: [OwnerID] = []
    for index in requests.indices {
      // With one scan the controller filters.
      if requests[index].admits(discovery) || requests.count == 1 { owners.append(requests[index].owner) }
    }
    if owners.contains(.process) { return .everyone }
    return owners.isEmpty ? nil : owners.count == 1 ? .owner(owners[0]) : .owners(owners)
  }
}

/// The scan of one owner.
struct ScanRequest: Sendable {
  let owner: OwnerID
  var parameters: ScanParameters
  /// The devices that were reported to an owner that wants each once.
  private var reported: Set<Report> = []
  /// Devices remembered; with one more all are forgotten, and reported again.
  static let maximumReported = 1024

  /// What a controller takes for a duplicate (Vol 6, Part B, 4.4.3.5): the same device, whatever the data.
  private struct Report: Hashable, Sendable {
    var address: DeviceAddress
    var isScanResponse: Bool
  }

  init(owner: OwnerID, parameters: ScanParameters) {
    self.owner = owner
    self.parameters = parameters
  }

  mutating func admits(_ discovery: Discovery) -> Bool {
    if parameters.allowsDuplicates { return true }
    let report = Report(address: discovery.address, isScanResponse: discovery.isScanResponse)
    if reported.contains(report) { return false }
    if reported.count >= Self.maximumReported { reported = [] }
    reported.insert(report)
    return true
  }
}

extension ScanParameters {
  /// The parameters of one scan that serves several: active and with duplicates where one of them is, and with the largest
  /// share of time. Nil where there is none.
  init?(serving all: [ScanParameters]) {
    guard var union = all.first else { return nil }
    for other in all.dropFirst() {
      union.isActive = union.isActive || other.isActive
      union.allowsDuplicates = union.allowsDuplicates || other.allowsDuplicates
      if UInt32(other.window) * UInt32(union.interval) > UInt32(union.window) * UInt32(other.interval) {
        (union.interval, union.window) = (other.interval, other.window)
      }
    }
    self = union
  }
}

extension HostCore {
  mutating func startScanning(
    _ parameters: ScanParameters, for owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    guard state == .poweredOn, shutdownDeadline == nil else {
      return output.append(.scanStopped(.notPoweredOn), to: owner.recipient)
    }
    let range: ClosedRange<UInt16> = 4...0x4000
    guard range ~= parameters.interval, range ~= parameters.window, parameters.window <= parameters.interval else {
      return output.append(
        .scanStopped(.invalidParameters("scan interval and window lie in 4 to 0x4000, the window within the interval")),
        to: owner.recipient)
    }
    scanner.begin(ScanRequest(owner: owner, parameters: parameters))
    reconcileScanner(now: now, into: &output)
  }

  mutating func stopScanning(for owner: OwnerID, now: Instant, into output: inout HostOutput) {
    scanner.requests.removeAll { $0.owner == owner }
    reconcileScanner(now: now, into: &output)
  }

  mutating func stopAllScanning(now: Instant, into output: inout HostOutput) {
    scanner.requests = []
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
    case .on where wanted != scanner.applied || scanner.restarts: takeScan(.disable, now: now, into: &output)
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
      if scanner.requests.isEmpty { return scanner.cannotSeek = true }
      let owners = scanner.requests.map(\.owner)
      scanner.requests = []
      for owner in owners { output.append(.scanStopped(.controller(opcode, status)), to: owner.recipient) }
      return
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
    if step == .parameters { (scanner.applied, scanner.restarts) = (wantedScan, false) }
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
      discovered(
        Discovery(
          address: address,
          isConnectable: report.eventType == .connectable || report.eventType == .directed,
          isScanResponse: report.eventType == .scanResponse, data: Array(report.data), rssi: report.rssi),
        into: &output)
    }
  }

  /// Every report of the event, in order; an advertisement in several reports is one discovery, at its last report
  /// (Vol 4, Part E, 7.7.65.13).
  mutating func discovered(_ event: HCI.LEExtendedAdvertisingReport, now: Instant, into output: inout HostOutput) {
    for report in event.reports {
      let address = heard(report.address, now: now, into: &output)
      guard !scanner.isForItself, let advertisement = scanner.assembler.receive(report, now: now) else { continue }
      let whole = advertisement.report
      discovered(
        Discovery(
          address: address, isConnectable: whole.eventType.contains(.connectable),
          isScanResponse: whole.eventType.contains(.scanResponse), data: Array(whole.data),
          isTruncated: advertisement.isTruncated, rssi: whole.rssi),
        into: &output)
    }
  }

  private mutating func discovered(_ discovery: Discovery, into output: inout HostOutput) {
    guard let recipient = scanner.recipient(of: discovery) else { return }
    output.append(.discovered(discovery), to: recipient)
  }
}
