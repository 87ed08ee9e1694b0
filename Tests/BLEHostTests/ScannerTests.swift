import BLEHCI
import BLEWire
import FoundationEssentials
import Testing

@testable import BLEHost

/// The scanner without a host: effects are compared, and the controller's answers are made up.
@Suite("The scanner, alone") struct ScannerTests {
  private let owner = OwnerID(rawValue: 1)
  private let other = OwnerID(rawValue: 2)
  private var scanner = Scanner()
  private var radio = RadioContext(isPoweredOn: true)
  private var effects: [Effect<ScannerEffect>] = []

  /// The steps whose commands were sent since the last call.
  private mutating func takeSteps() -> [Scanner.Step] {
    defer { effects = [] }
    return effects.compactMap { if case .command(_, for: .radio(.scanning(let step))) = $0 { step } else { nil } }
  }

  /// Answers the commands until there are no more.
  private mutating func complete(_ status: HCIErrorCode = .success) -> [Scanner.Step] {
    var all: [Scanner.Step] = []
    while true {
      let steps = takeSteps()
      guard !steps.isEmpty else { return all }
      all += steps
      for step in steps { scanner.stepCompleted(step, .leSetScanEnable, status, radio, into: &effects) }
    }
  }

  private mutating func tick(at time: Instant) {
    radio.now = time
    scanner.tick(radio, into: &effects)
  }

  @Test mutating func aScanIsConfiguredThenEnabled() {
    scanner.start(ScanParameters(), for: owner, radio, into: &effects)
    #expect(complete() == [.parameters, .enable] && !scanner.isOff)
    scanner.stop(for: owner, radio, into: &effects)
    #expect(complete() == [.disable] && scanner.isOff)
  }

  @Test mutating func nothingBeginsWhileTheAdapterIsOffOrEnds() {
    for change: (inout RadioContext) -> Void in [{ $0.isPoweredOn = false }, { $0.isShuttingDown = true }] {
      var radio = radio
      change(&radio)
      scanner.start(ScanParameters(), for: owner, radio, into: &effects)
      guard case .event(.scanning(.stopped(.notPoweredOn)), to: .owner(owner)) = effects.last else {
        Issue.record("\(effects)")
        return
      }
    }
  }

  @Test mutating func aHeldScanGoesOffAndComesBack() {
    scanner.start(ScanParameters(), for: owner, radio, into: &effects)
    _ = complete()
    radio.isHeld = true
    scanner.reconcile(radio, into: &effects)
    #expect(complete() == [.disable] && scanner.isOff)
    radio.isHeld = false
    scanner.reconcile(radio, into: &effects)
    #expect(complete() == [.parameters, .enable])
  }

  @Test mutating func everyAnswerSaysThatTheActivityMayHaveChanged() {
    scanner.start(ScanParameters(), for: owner, radio, into: &effects)
    effects = []
    scanner.stepCompleted(.parameters, .leSetScanParameters, .success, radio, into: &effects)
    guard case .own(.activityChanged) = effects.first else { Issue.record("\(effects)"); return }
  }

  @Test mutating func aRefusalEndsTheScansOfAllOwners() {
    scanner.start(ScanParameters(), for: owner, radio, into: &effects)
    scanner.start(ScanParameters(), for: other, radio, into: &effects)
    effects = []
    scanner.stepCompleted(.parameters, .leSetScanParameters, .invalidCommandParameters, radio, into: &effects)
    let recipients = effects.compactMap { effect -> Recipient? in
      if case .event(.scanning(.stopped), to: let recipient) = effect { recipient } else { nil }
    }
    #expect(recipients == [.owner(owner), .owner(other)] && scanner.isOff)
  }

  @Test mutating func aSearchThatIsRefusedIsNotTriedAgainUntilAReset() {
    radio.isSearchWanted = true
    scanner.reconcile(radio, into: &effects)
    #expect(complete(.commandDisallowed) == [.parameters])
    scanner.reconcile(radio, into: &effects)
    #expect(effects.isEmpty)
    scanner.suspend()
    scanner.reconcile(radio, into: &effects)
    #expect(complete() == [.parameters, .enable])
    let report = HCI.AdvertisingReport { $0.address = DeviceAddress(octets: BD_ADDR(1), kind: .public) }
    scanner.receive(report, by: report.address, now: .start, into: &effects)
    #expect(effects.allSatisfy { if case .event = $0 { false } else { true } }, "for no owner")
  }

  private func report(_ number: UInt64, _ data: [UInt8]) -> HCI.AdvertisingReport {
    HCI.AdvertisingReport {
      $0.address = DeviceAddress(octets: BD_ADDR(number), kind: .public)
      $0.data = data[...]
    }
  }

  /// The numbers of the devices that are reported, with the number of their recipients.
  private mutating func reported(_ reports: [HCI.AdvertisingReport]) -> [[UInt64]] {
    effects = []
    for report in reports { scanner.receive(report, by: report.address, now: .start, into: &effects) }
    return effects.compactMap { effect in
      guard case .event(.scanning(.discovered(let found)), let recipient) = effect, let scanReport = found.first else {
        return nil
      }
      let count = [owner, other].count { recipient.includes($0) }
      return [scanReport.address.octets.value, UInt64(count)]
    }
  }

  @Test mutating func aDeviceIsReportedAgainWhenItsDataChanges() {
    var changes = ScanParameters()
    changes.reportsChanges = true
    scanner.start(changes, for: owner, radio, into: &effects)
    _ = complete()
    let (a, b) = ([UInt8](arrayLiteral: 2, 1, 6), [UInt8](arrayLiteral: 2, 1, 4))
    #expect(
      reported([report(1, a), report(1, a), report(2, a), report(1, b), report(1, b)]) == [[1, 1], [2, 1], [1, 1]])
    // A new scan of its owner receives all devices again.
    scanner.start(changes, for: owner, radio, into: &effects)
    #expect(reported([report(1, b), report(1, b)]) == [[1, 1]])
    // Another owner wants all.
    var all = ScanParameters()
    all.allowsDuplicates = true
    scanner.start(all, for: other, radio, into: &effects)
    _ = complete()
    #expect(reported([report(1, b), report(1, a)]) == [[1, 1], [1, 2]])
  }

  @Test func theControllerFiltersOnlyWhereTheDataOfDuplicatesDoesNotCount() {
    var parameters = ScanParameters()
    #expect(parameters.filtersDuplicates)
    parameters.reportsChanges = true
    #expect(!parameters.filtersDuplicates)
    #expect(ScanParameters(serving: [ScanParameters(), parameters])?.filtersDuplicates == false)
  }

  /// A million advertisements of 100,000 addresses with changing data. The process has no other test, so its memory is
  /// the scanner's.
  @Test func aMillionReportsLeaveTheMemoryAsItIs() async {
    await #expect(processExitsWith: .success) {
      var scanner = Scanner()
      var effects: [Effect<ScannerEffect>] = []
      var changes = ScanParameters()
      changes.reportsChanges = true
      scanner.start(changes, for: OwnerID(rawValue: 1), RadioContext(isPoweredOn: true), into: &effects)
      var before = 0
      for number in 0..<1_000_000 as Range<UInt64> {
        if number == 100_000 { before = try residentPages() }
        let address = DeviceAddress(octets: BD_ADDR(number % 100_000), kind: .public)
        let report = HCI.AdvertisingReport {
          $0.address = address
          $0.data = [2, 1, UInt8(truncatingIfNeeded: number)]
        }
        scanner.receive(report, by: address, now: .start, into: &effects)
        effects.removeAll(keepingCapacity: true)
      }
      try #require(try residentPages() - before < 256)
    }
  }

  @Test func theUnionIsActiveWithDuplicatesAndTheLargestShareOfTime() {
    var (passive, active, all) = (ScanParameters(), ScanParameters(), ScanParameters())
    (passive.isActive, passive.interval, passive.window) = (false, 100, 90)
    (active.interval, active.window) = (1000, 500)
    (all.isActive, all.allowsDuplicates, all.interval, all.window) = (false, true, 1000, 100)
    let union = ScanParameters(serving: [passive, active, all])
    #expect(union?.isActive == true && union?.allowsDuplicates == true && union?.interval == 100 && union?.window == 90)
    #expect(ScanParameters(serving: []) == nil)
  }

  // MARK: Scan responses

  private func report(_ number: UInt64, _ type: HCI.AdvertisingReportType, _ data: [UInt8]) -> HCI.AdvertisingReport {
    HCI.AdvertisingReport {
      $0.address = DeviceAddress(octets: BD_ADDR(number), kind: .public)
      ($0.eventType, $0.data, $0.rssi) = (type, data[...], -40)
    }
  }

  private mutating func receive(_ report: HCI.AdvertisingReport, at now: Instant = .start) {
    scanner.receive(report, by: report.address, now: now, into: &effects)
  }

  private mutating func takeDiscoveries(of owner: OwnerID) -> [ScanReport] {
    let recipient = Recipient.owner(owner)
    let found = effects.flatMap { effect -> [ScanReport] in
      if case .event(.scanning(.discovered(let found)), to: recipient) = effect { found } else { [] }
    }
    effects.removeAll { if case .event(.scanning(.discovered), to: recipient) = $0 { true } else { false } }
    return found
  }

  private mutating func startWaiting() {
    var parameters = ScanParameters()
    (parameters.waitsForScanResponse, parameters.allowsDuplicates, parameters.isActive) = (true, true, false)
    scanner.start(parameters, for: owner, radio, into: &effects)
    guard case .command(let encoded, for: _)? = effects.first,
      let command = encoded.decoded(HCI.LESetScanParameters.self)
    else {
      Issue.record("\(effects)"); return
    }
    #expect(command.scanType == .active)
    _ = complete()
  }

  @Test mutating func anAdvertisementIsReportedAtOnceAndAgainWithoutItsScanResponse() {
    startWaiting()
    receive(report(1, .connectable, [2, 1, 6]))
    receive(report(2, .scannable, [1]))
    receive(report(3, .nonConnectable, [3]))
    #expect(takeDiscoveries(of: owner).map(\.data) == [[2, 1, 6], [1], [3]])
    receive(report(1, .scanResponse, [2, 9, 65]))
    #expect(takeDiscoveries(of: owner).map(\.data) == [[2, 9, 65]])
    receive(report(2, .scannable, [2]))
    #expect(takeDiscoveries(of: owner).map(\.data) == [[2]])
    #expect(scanner.deadline == .start + ScanRequest.scanResponseTimeout)
    tick(at: .start + (ScanRequest.scanResponseTimeout - .microseconds(1)))
    #expect(takeDiscoveries(of: owner).isEmpty)
    tick(at: .start + ScanRequest.scanResponseTimeout)
    let late = takeDiscoveries(of: owner)
    #expect(late.map(\.data) == [[2]] && late.map(\.isOverdue) == [true] && scanner.deadline == nil)
  }

  /// The owner has its answer: the device does not have to send a scan response for each advertisement.
  @Test mutating func aDeviceIsWaitedForOnce() {
    startWaiting()
    receive(report(1, .connectable, [1]))
    tick(at: .start + ScanRequest.scanResponseTimeout)
    receive(report(2, .connectable, [1]))
    receive(report(2, .scanResponse, [2]))
    for number in 1...2 as ClosedRange<UInt64> { receive(report(number, .connectable, [3])) }
    #expect(scanner.deadline == nil)
    // Another scan of the owner has not had it.
    var parameters = ScanParameters()
    (parameters.waitsForScanResponse, parameters.reportsChanges) = (true, true)
    scanner.start(parameters, for: owner, radio, into: &effects)
    receive(report(1, .connectable, [3]), at: .start + .seconds(60))
    #expect(scanner.deadline == .start + .seconds(60) + ScanRequest.scanResponseTimeout)
  }

  @Test mutating func aScanThatDoesNotWaitHasNoOverdueReports() {
    startWaiting()
    var parameters = ScanParameters()
    parameters.allowsDuplicates = true
    scanner.start(parameters, for: other, radio, into: &effects)
    _ = complete()
    receive(report(1, .connectable, [2, 1, 6]))
    receive(report(1, .scanResponse, [2, 9, 65]))
    receive(report(2, .connectable, [2, 1, 6]))
    tick(at: .start + ScanRequest.scanResponseTimeout)
    let both = effects.compactMap { effect -> [ScanReport]? in
      if case .event(.scanning(.discovered(let found)), to: Recipient.owner(owner).joined(by: other)) = effect {
        found
      } else {
        nil
      }
    }
    #expect(both.flatMap { $0 }.map(\.isScanResponse) == [false, true, false])
    #expect(takeDiscoveries(of: owner).map(\.isOverdue) == [true] && takeDiscoveries(of: other).isEmpty)
  }

  @Test mutating func waitingAdvertisementsAreBounded() {
    startWaiting()
    for number in 0..<UInt64(ScanRequest.maximumWaiting) { receive(report(number, .connectable, [1])) }
    #expect(takeDiscoveries(of: owner).allSatisfy { !$0.isOverdue })
    receive(report(UInt64(ScanRequest.maximumWaiting), .connectable, [1]))
    let found = takeDiscoveries(of: owner)
    #expect(found.map(\.isOverdue) == [true, false] && found.first?.address.octets == BD_ADDR(0))
  }

  @Test mutating func nothingWaitsAfterTheEndOfAScan() {
    startWaiting()
    receive(report(1, .connectable, [1]))
    #expect(takeDiscoveries(of: owner).map(\.data) == [[1]], "nothing is lost with it")
    scanner.stop(for: owner, radio, into: &effects)
    #expect(scanner.deadline == nil)
  }

  @Test func theUnionIsOnThePHYsOfAll() {
    var (near, far) = (ScanParameters(), ScanParameters())
    (near.phys, far.phys) = (.le1M, .leCoded)
    let union = ScanParameters(serving: [near, far])
    #expect(union?.phys == [.le1M, .leCoded])
    let encoded = union?.command(extended: true, from: .public)
    guard let command = encoded?.decoded(HCI.LESetExtendedScanParameters.self) else {
      Issue.record("no command"); return
    }
    #expect(command.scanningPHYs == [.le1M, .leCoded] && command.scans.count == 2)
  }

  // MARK: What a report says

  @Test func aDiscoveryContainsWhatTheControllerReported() {
    let address = DeviceAddress(octets: BD_ADDR(0x4000_0000_0001), kind: .random)
    let identity = DeviceAddress(octets: BD_ADDR(7), kind: .public)
    var report = HCI.ExtendedAdvertisingReport()
    (report.eventType, report.address) = ([.connectable, .directed], address)
    (report.primaryPHY, report.secondaryPHY, report.advertisingSID) = (.leCoded, .le2M, 9)
    (report.txPower, report.rssi, report.periodicAdvertisingInterval) = (-4, -70, 80)
    (report.directAddress, report.data) = (identity, [2, 1, 6])
    var assembler = ExtendedReportAssembler()
    guard let whole = assembler.receive(report, now: .start) else { Issue.record("not whole"); return }
    let scanReport = ScanReport(whole, by: identity)
    #expect(scanReport.address == identity && scanReport.reportedAddress == address)
    #expect(scanReport.isConnectable && scanReport.isDirected && !scanReport.isScannable && !scanReport.isLegacy)
    #expect(scanReport.target == identity && scanReport.primaryPHY == .leCoded && scanReport.secondaryPHY == .le2M)
    #expect(scanReport.advertisingSet == 9 && scanReport.txPower == -4 && scanReport.periodicInterval == 80)
    #expect(scanReport.data == [2, 1, 6] && scanReport.rssi == -70)
  }

  @Test func aLegacyReportHasNeitherSetNorPower() {
    for (type, isConnectable, isScannable, isDirected) in [
      (HCI.AdvertisingReportType.connectable, true, true, false), (.directed, true, false, true),
      (.scannable, false, true, false), (.nonConnectable, false, false, false), (.scanResponse, false, true, false),
    ] {
      let report = report(1, type, [])
      let scanReport = ScanReport(report, by: report.address)
      #expect(
        (scanReport.isConnectable, scanReport.isScannable, scanReport.isDirected)
          == (isConnectable, isScannable, isDirected))
      #expect(scanReport.isLegacy && scanReport.advertisingSet == nil && scanReport.txPower == nil)
      #expect(scanReport.primaryPHY == .le1M && scanReport.secondaryPHY == .none && scanReport.periodicInterval == nil)
    }
  }
}

/// The memory of the process that is in use, in pages.
private func residentPages() throws -> Int {
  let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
  return try #require(fields.dropFirst().first.flatMap { Int($0) })
}
