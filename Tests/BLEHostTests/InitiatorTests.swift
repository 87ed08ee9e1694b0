import BLEHCI
import BLEWire
import Testing

@testable import BLEHost

/// The initiator without a host: effects are compared, and the controller's answers are made up.
@Suite("The initiator, alone") struct InitiatorTests {
  private let owner = OwnerID(rawValue: 1)
  private let other = OwnerID(rawValue: 2)
  private var initiator = Initiator(maximumRequests: 3)
  private var radio = RadioContext(isPoweredOn: true)
  private var effects: [Effect<InitiatorEffect>] = []

  init() { radio.controller.acceptListSize = 8 }

  private func device(_ number: UInt64) -> DeviceAddress { DeviceAddress(octets: BD_ADDR(number), kind: .public) }

  private func request(_ id: UInt32, to number: UInt64, of owner: OwnerID? = nil) -> PendingConnection {
    PendingConnection(
      id: ConnectID(rawValue: id), owner: owner ?? self.owner, device: device(number),
      parameters: ConnectionParameters())
  }

  /// Applies the effects as the host does, with the identities as addresses.
  ///
  /// - Returns: the steps whose commands were sent.
  private mutating func takeSteps() -> [Initiator.Step] {
    var steps: [Initiator.Step] = []
    while !effects.isEmpty {
      switch effects.removeFirst() {
      case .command(_, for: .radio(.initiating(let step))): steps.append(step)
      case .own(.changed): initiator.reconcile(radio, addresses: initiator.devices.map(\.device), into: &effects)
      default: break
      }
    }
    return steps
  }

  private mutating func complete(_ status: HCIErrorCode = .success) -> [Initiator.Step] {
    var all: [Initiator.Step] = []
    while true {
      let steps = takeSteps()
      guard !steps.isEmpty else { return all }
      all += steps
      for step in steps { initiator.stepCompleted(step, .leCreateConnection, status, radio, into: &effects) }
    }
  }

  private var failures: [ConnectID] {
    effects.compactMap { if case .event(.connectionFailed(let id, _), to: _) = $0 { id } else { nil } }
  }

  @Test mutating func oneDeviceGoesByAddressAndSeveralByTheList() {
    initiator.connect(request(1, to: 1), radio, into: &effects)
    #expect(complete() == [.create] && initiator.isWaiting)
    initiator.connect(request(2, to: 2), radio, into: &effects)
    #expect(complete() == [.cancel])
    initiator.ended(.unknownConnectionIdentifier, now: radio.now, into: &effects)
    #expect(complete() == [.clear, .add(0), .add(1), .create])
  }

  @Test mutating func aLinkFulfilsTheRequestsOfAllOwners() {
    initiator.connect(request(1, to: 1), radio, into: &effects)
    initiator.connect(request(2, to: 1, of: other), radio, into: &effects)
    #expect(complete() == [.create] && initiator.devices.count == 1)
    let fulfilled = initiator.connected(to: device(1), into: &effects)
    #expect(fulfilled.map(\.owner) == [owner, other] && initiator.isOff && initiator.requests.isEmpty)
  }

  @Test mutating func anotherRequestForTheSameDeviceChangesNothingAtTheController() {
    initiator.connect(request(1, to: 1), radio, into: &effects)
    _ = complete()
    initiator.connect(request(2, to: 1, of: other), radio, into: &effects)
    #expect(complete().isEmpty)
  }

  @Test mutating func aFailureFailsTheRequestsOfAllOwnersForTheDevice() {
    initiator.connect(request(1, to: 1), radio, into: &effects)
    initiator.connect(request(2, to: 1, of: other), radio, into: &effects)
    _ = complete()
    initiator.ended(.connectionFailedToBeEstablished, now: radio.now, into: &effects)
    #expect(failures == [ConnectID(rawValue: 1), ConnectID(rawValue: 2)] && initiator.requests.isEmpty)
  }

  @Test mutating func requestsAreBounded() {
    for number in 1...3 as ClosedRange<UInt32> {
      initiator.connect(request(number, to: UInt64(number)), radio, into: &effects)
    }
    #expect(failures.isEmpty)
    initiator.connect(request(4, to: 4), radio, into: &effects)
    #expect(failures == [ConnectID(rawValue: 4)])
    radio.controller.acceptListSize = 0
    var single = Initiator(maximumRequests: 3)
    single.connect(request(5, to: 5), radio, into: &effects)
    single.connect(request(6, to: 6), radio, into: &effects)
    #expect(failures == [ConnectID(rawValue: 4), ConnectID(rawValue: 6)], "without a list one device at a time")
  }

  @Test mutating func anOwnersSecondRequestForADeviceIsRejected() {
    initiator.connect(request(1, to: 1), radio, into: &effects)
    #expect(initiator.rejection(of: request(2, to: 1), radio) != nil)
    #expect(initiator.rejection(of: request(2, to: 1, of: other), radio) == nil)
    #expect(initiator.rejection(of: request(1, to: 2), radio) != nil, "the identifier is in use")
    radio.isShuttingDown = true
    #expect(initiator.rejection(of: request(3, to: 3), radio) == .notPoweredOn)
  }

  @Test mutating func nothingIsConnectedWhileAnAddressIsChanged() {
    initiator.connect(request(1, to: 1), radio, into: &effects)
    _ = complete()
    radio.isHeld = true
    initiator.reconcile(radio, addresses: [device(1)], into: &effects)
    #expect(complete() == [.cancel])
    initiator.ended(.unknownConnectionIdentifier, now: radio.now, into: &effects)
    #expect(complete().isEmpty && initiator.isOff && initiator.requests.count == 1)
    radio.isHeld = false
    initiator.reconcile(radio, addresses: [device(1)], into: &effects)
    #expect(complete() == [.create])
  }

  @Test mutating func anotherAddressOfTheDeviceIsTakenUp() {
    initiator.connect(request(1, to: 1), radio, into: &effects)
    _ = complete()
    initiator.reconcile(radio, addresses: [device(9)], into: &effects)
    #expect(takeSteps() == [.cancel])
  }

  /// Answers the commands with one status each, and then with success.
  ///
  /// - Parameter refusal: the status of every create and cancel command instead.
  private mutating func complete(
    with statuses: [HCIErrorCode] = [], refusing refusal: HCIErrorCode? = nil
  ) -> [Initiator.Step] {
    var (all, statuses): ([Initiator.Step], [HCIErrorCode]) = ([], statuses)
    while true {
      let steps = takeSteps()
      guard !steps.isEmpty else { return all }
      all += steps
      for step in steps {
        let status = refusal ?? (statuses.isEmpty ? .success : statuses.removeFirst())
        initiator.stepCompleted(step, .leCreateConnection, status, radio, into: &effects)
      }
    }
  }

  private mutating func tick() {
    radio.now = initiator.deadline ?? radio.now
    initiator.tick(now: radio.now, into: &effects)
  }

  @Test(arguments: [HCIErrorCode.commandDisallowed, .controllerBusy, .unspecifiedError, .connectionAlreadyExists])
  mutating func whatTheControllerRefusesForNowIsSentAgain(status: HCIErrorCode) {
    initiator.connect(request(1, to: 1), radio, into: &effects)
    #expect(complete(with: [status]) == [.create] && initiator.isOff && failures.isEmpty)
    tick()
    #expect(complete() == [.create] && initiator.isWaiting && radio.now == .start + .seconds(1))
  }

  @Test mutating func aRequestThatTheControllerKeepsRefusingFails() {
    initiator.connect(request(1, to: 1), radio, into: &effects)
    var steps: [Initiator.Step] = []
    for _ in 0..<10 where !initiator.requests.isEmpty {
      steps += complete(refusing: .commandDisallowed)
      if !initiator.requests.isEmpty { tick() }
    }
    // It may be connecting to a device that the host does not know: that is cancelled once.
    #expect(steps == [.create, .create, .cancel, .create, .create, .create] && initiator.deadline == nil)
    #expect(radio.now == .start + .seconds(1 + 2 + 4 + 8) && initiator.requests.isEmpty)
  }

  @Test mutating func aCancellationEndsByOurClock() {
    initiator.connect(request(1, to: 1), radio, into: &effects)
    _ = complete()
    initiator.cancel(ConnectID(rawValue: 1), of: owner, into: &effects)
    #expect(complete() == [.cancel] && !initiator.isOff)
    initiator.connect(request(2, to: 2), radio, into: &effects)
    #expect(complete().isEmpty)
    tick()
    #expect(complete() == [.create] && radio.now == .start + Initiator.cancelTime)
  }

  @Test mutating func anAttemptThatEndsForNoDeviceBeginsAgain() {
    initiator.connect(request(1, to: 1), radio, into: &effects)
    initiator.connect(request(2, to: 2), radio, into: &effects)
    _ = complete()
    initiator.ended(.connectionFailedToBeEstablished, now: radio.now, into: &effects)
    #expect(complete().isEmpty && failures.isEmpty && initiator.requests.count == 2)
    tick()
    #expect(complete() == [.clear, .add(0), .add(1), .create])
  }

  @Test mutating func aListWithLessRoomThanReportedIsUsed() {
    for number in 1...3 as ClosedRange<UInt32> {
      initiator.connect(request(number, to: UInt64(number)), radio, into: &effects)
    }
    #expect(
      complete(with: [.success, .success, .success, .memoryCapacityExceeded]) == [
        .clear, .add(0), .add(1), .add(2), .clear, .add(0), .add(1), .create,
      ])
    #expect(failures.isEmpty && initiator.requests.count == 3)
  }

  @Test mutating func aRefusalBesideAScanIsNoFailure() {
    radio.areOthersActive = true
    initiator.connect(request(1, to: 1), radio, into: &effects)
    radio.isInitiatingHeld = false
    let step = takeSteps()
    initiator.stepCompleted(.create, .leCreateConnection, .commandDisallowed, radio, into: &effects)
    radio.isInitiatingHeld = true
    let isTold = effects.contains { if case .own(.cannotCombine) = $0 { true } else { false } }
    #expect(step == [.create] && isTold && complete().isEmpty && failures.isEmpty)
    radio.isInitiatingHeld = false
    initiator.reconcile(radio, addresses: [device(1)], into: &effects)
    #expect(complete() == [.create])
  }
}
