import BLEHCI
import BLEWire
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
    return effects.compactMap { if case .command(_, for: .scanning(let step)) = $0 { step } else { nil } }
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
      guard case .event(.scanStopped(.notPoweredOn), to: .owner(owner)) = effects.last else {
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
    scanner.stepCompleted(.parameters, .leSetScanParameters, .commandDisallowed, radio, into: &effects)
    let recipients = effects.compactMap { effect -> Recipient? in
      if case .event(.scanStopped, to: let recipient) = effect { recipient } else { nil }
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
    scanner.receive(report, by: report.address, into: &effects)
    #expect(effects.allSatisfy { if case .event = $0 { false } else { true } }, "for no owner")
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
}
