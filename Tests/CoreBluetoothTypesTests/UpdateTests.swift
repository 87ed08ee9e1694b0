import AdapterFixtures
import BLEGATT
import BLEHCI
import BLEHost
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// Section 4 of CoreBluetooth's rules: subscriptions, updates, the queue.
@Suite struct UpdateTests {
  private let fixture = PeripheralFixture()
  private let characteristic = dynamic("2A37", [.notify, .indicate])
  private let other = dynamic("2A38", [.notify])

  init() { fixture.publish(characteristic, other) }

  private func update(_ octets: [UInt8], to centrals: [Central]? = nil) -> Bool {
    fixture.manager.updateValue(Data(octets), for: characteristic, onSubscribedCentrals: centrals)
  }

  /// The tokens of the updates posted so far.
  private var tokens: [UpdateToken] {
    fixture.host.commands.compactMap { if case .update(let token, _, _, _) = $0 { token } else { nil } }
  }

  @Test("4.1 Subscriptions follow the configuration and end with the link")
  func subscriptionsFollowTheConfigurationAndEndWithTheLink() {
    let first = fixture.connect(1)
    let second = fixture.connect(2)
    _ = fixture.takeCalls()
    fixture.subscribe(first, characteristic)
    fixture.subscribe(second, characteristic, .indicate)
    fixture.subscribe(second, other)
    #expect(characteristic.subscribedCentrals == [first, second])
    fixture.subscribe(first, characteristic, [])
    #expect(characteristic.subscribedCentrals == [second])
    fixture.say(.link(second.peer, .disconnected(.remoteUserTerminatedConnection)))
    #expect(characteristic.subscribedCentrals == [] && other.subscribedCentrals == [])
    #expect(
      fixture.takeCalls() == [
        "didSubscribe 1 2A37", "didSubscribe 2 2A37", "didSubscribe 2 2A38", "didUnsubscribe 1 2A37",
        "didUnsubscribe 2 2A37", "didUnsubscribe 2 2A38", "didDisconnect 2 0x13",
      ])
  }

  @Test("4.1 The list of subscribers is changed before the call")
  func theListIsUpToDateInsideTheCallback() {
    let counts = Lines()
    let characteristic = characteristic
    fixture.recorder.react { _, line in counts.append("\(line): \(characteristic.subscribedCentrals?.count ?? -1)") }
    let central = fixture.connect(1)
    fixture.subscribe(central, characteristic)
    fixture.subscribe(central, characteristic, [])
    #expect(counts.take() == ["didConnect 1: 0", "didSubscribe 1 2A37: 1", "didUnsubscribe 1 2A37: 0"])
  }

  @Test("4.2 nil is every subscriber, others are ignored")
  func nilIsEveryoneAndStrangersArePassedOver() {
    let first = fixture.connect(1)
    let second = fixture.connect(2)
    #expect(update([1]))
    #expect(fixture.host.takeCommands() == [])
    fixture.subscribe(first, characteristic)
    #expect(update([2]))
    #expect(update([3], to: [second]))
    #expect(update([4], to: [second, first]))
    #expect(update([5], to: []))
    #expect(fixture.host.takeCommands() == ["update 02 to [1]", "update 04 to [1]"])
  }

  @Test("4.3 False when the queue is full, then one call")
  func falseWhenTheQueueIsFullThenReadyOnce() {
    fixture.subscribe(fixture.connect(1), characteristic)
    _ = fixture.takeCalls()
    for number in 0..<32 { #expect(update([UInt8(number)]), "update \(number)") }
    #expect(!update([32]))
    #expect(!update([32]))
    #expect(fixture.host.takeCommands().count == 32)
    #expect(fixture.takeCalls() == [])
  }

  @Test("4.3 The call comes after false only")
  func readyComesOnceAndOnlyAfterFalse() {
    let central = fixture.connect(1)
    fixture.subscribe(central, characteristic)
    _ = fixture.takeCalls()
    for _ in 0..<32 { #expect(update([1])) }
    fixture.say(.server(central.peer, .updateFinished(tokens[0])))
    #expect(fixture.takeCalls() == [])
    #expect(update([2]))
    #expect(!update([3]))
    #expect(!update([3]))
    for token in tokens[1...8] { fixture.host.say(.server(central.peer, .updateFinished(token))) }
    #expect(fixture.takeCalls() == ["isReady"])
    #expect(update([3]))
    for token in tokens[9...] { fixture.host.say(.server(central.peer, .updateFinished(token))) }
    #expect(fixture.takeCalls() == [])
  }

  @Test("4.3 A central that confirms nothing holds up no other")
  func aCentralThatConfirmsNothingHoldsUpNoOther() {
    let (slow, fast) = (fixture.connect(1), fixture.connect(2))
    for central in [slow, fast] { fixture.subscribe(central, characteristic, .indicate) }
    _ = fixture.takeCalls()
    for number in 0..<32 as Range<UInt8> { #expect(update([number]), "update \(number)") }
    #expect(!update([32]))
    let sent = tokens
    for token in sent[0..<31] { fixture.host.say(.server(fast.peer, .updateFinished(token))) }
    #expect(fixture.takeCalls() == [], "the slow one may have taken them a moment later")
    fixture.host.say(.server(fast.peer, .updateFinished(sent[31])))
    #expect(fixture.takeCalls() == ["isReady"])
    _ = fixture.host.takeCommands()
    for number in 0..<100 as Range<UInt8> {
      #expect(update([number]))
      fixture.host.say(.server(fast.peer, .updatesFinished(1)))
    }
    #expect(fixture.host.takeCommands().allSatisfy { $0.hasSuffix("to [2]") })
    // By itself it has no room.
    #expect(!update([100], to: [slow]))
    fixture.host.say(.server(slow.peer, .updatesFinished(8)))
    #expect(fixture.takeCalls() == ["isReady"])
    #expect(update([0x66]))
    #expect(fixture.host.takeCommands() == ["update 66 to [1, 2]"])
  }

  @Test("4.3 An idle central does not wait for one that confirms nothing")
  func anIdleCentralDoesNotWaitForOneThatConfirmsNothing() {
    let (slow, fast) = (fixture.connect(1), fixture.connect(2))
    for central in [slow, fast] { fixture.subscribe(central, characteristic, .indicate) }
    for _ in 0..<32 { #expect(update([1], to: [slow])) }
    _ = fixture.host.takeCommands()
    #expect(update([2]))
    #expect(fixture.host.takeCommands() == ["update 02 to [2]"])
  }

  @Test("4.3 The application tries again when there is a new subscriber")
  func aNewSubscriberDoesNotWaitForOneThatConfirmsNothing() {
    let (slow, fast) = (fixture.connect(1), fixture.connect(2))
    fixture.subscribe(slow, characteristic, .indicate)
    for _ in 0..<32 { #expect(update([1])) }
    #expect(!update([2]))
    _ = (fixture.takeCalls(), fixture.host.takeCommands())
    fixture.subscribe(fast, characteristic, .indicate)
    #expect(fixture.takeCalls() == ["didSubscribe 2 2A37", "isReady"])
    #expect(update([2]))
    #expect(fixture.host.takeCommands() == ["update 02 to [2]"])
  }

  @Test("4.3 Centrals of about the same speed miss nothing")
  func centralsOfAboutTheSameSpeedMissNothing() {
    let (first, second) = (fixture.connect(1), fixture.connect(2))
    for central in [first, second] { fixture.subscribe(central, characteristic) }
    _ = fixture.takeCalls()
    for _ in 0..<32 { #expect(update([1])) }
    #expect(!update([2]))
    fixture.host.say(.server(first.peer, .updatesFinished(20)))
    #expect(fixture.takeCalls() == [])
    #expect(!update([2]))
    fixture.host.say(.server(second.peer, .updatesFinished(8)))
    #expect(fixture.takeCalls() == ["isReady"])
    _ = fixture.host.takeCommands()
    #expect(update([2]))
    #expect(fixture.host.takeCommands() == ["update 02 to [1, 2]"])
  }

  @Test("4.3 The end of a central that is waited for is followed by the call")
  func theEndOfACentralThatIsWaitedForIsFollowedByTheCall() {
    let central = fixture.connect(1)
    fixture.subscribe(central, characteristic)
    _ = fixture.takeCalls()
    for _ in 0..<32 { #expect(update([1])) }
    #expect(!update([2]))
    fixture.say(.link(central.peer, .disconnected(.connectionTimeout)))
    #expect(fixture.takeCalls() == ["didUnsubscribe 1 2A37", "didDisconnect 1 0x8", "isReady"])
  }

  @Test func theQueueIsTheManagersOwnAndItsLimitIsNamed() {
    #expect(PeripheralLimits().pendingUpdates == 32)
    let fixture = PeripheralFixture(
      limits: {
        var limits = PeripheralLimits(); limits.pendingUpdates = 2; return limits
      }())
    let characteristic = dynamic("2A37", [.notify])
    fixture.publish(characteristic)
    fixture.subscribe(fixture.connect(1), characteristic)
    let results = (0..<3).map { _ in
      fixture.manager.updateValue(Data([1]), for: characteristic, onSubscribedCentrals: nil)
    }
    #expect(results == [true, true, false])
  }

  @Test("4.4 A long value is cut for each central", arguments: [(23, 20), (185, 182), (517, 512)])
  func longValuesAreCutToWhatTheCentralHolds(mtu: Int, length: Int) {
    let central = fixture.connect(1, mtu: mtu)
    #expect(central.maximumUpdateValueLength == length)
    fixture.subscribe(central, characteristic)
    _ = fixture.host.takeCommands()
    #expect(update(Array(repeating: 0xAB, count: 513)))
    let octets = String(repeating: "ab", count: length)
    #expect(fixture.host.takeCommands() == ["update \(octets) to [1]"])
  }

  @Test("4.5 The configuration of the central chooses between notifications and indications")
  func fromNotificationsToIndicationsIsNoNewSubscription() {
    let central = fixture.connect(1)
    fixture.subscribe(central, characteristic, .notify)
    fixture.subscribe(central, characteristic, .indicate)
    fixture.subscribe(central, characteristic, [.notify, .indicate])
    #expect(fixture.takeCalls() == ["didConnect 1", "didSubscribe 1 2A37"])
    #expect(characteristic.subscribedCentrals == [central])
  }

  @Test("4.6 A central that is not connected is ignored")
  func whoIsGoneIsPassedOver() {
    let central = fixture.connect(1)
    fixture.subscribe(central, characteristic)
    fixture.say(.link(central.peer, .disconnected(.connectionTimeout)))
    #expect(update([1], to: [central]))
    #expect(fixture.host.takeCommands() == [])
  }

  @Test("4.7 A central has one object a link, equal by its identifier")
  func identifiersAreStableAndObjectsAreOnePerLink() {
    let first = fixture.connect(1)
    let second = fixture.connect(2)
    #expect(first.identifier != second.identifier && first != second)
    fixture.say(.link(first.peer, .disconnected(.remoteUserTerminatedConnection)))
    let again = fixture.connect(1)
    #expect(again !== first && again == first && again.identifier == first.identifier)
    #expect(again.copy() as? Central === again)
  }

  @Test func anUnpublishedCharacteristicIsLogged() {
    #expect(fixture.manager.updateValue(Data([1]), for: dynamic("2A39"), onSubscribedCentrals: nil))
    #expect(fixture.logged().first?.contains("is not published") == true)
  }
}
