import BLEGATT
import BLEHCI
import BLEHost
import BluetoothLE
import EngineFixtures
import Testing

@testable import CoreBluetoothTypes

/// Section 4 of CoreBluetooth's rules: subscriptions, updates, the queue.
@Suite struct UpdateTests {
  private let stage = Stage()
  private let characteristic = dynamic("2A37", [.notify, .indicate])
  private let other = dynamic("2A38", [.notify])

  init() { stage.publish(characteristic, other) }

  private func update(_ octets: [UInt8], to centrals: [Central]? = nil) -> Bool {
    stage.manager.updateValue(Data(octets), for: characteristic, onSubscribedCentrals: centrals)
  }

  /// The tokens of the updates posted so far.
  private var tokens: [UpdateToken] {
    stage.host.commands.compactMap { if case .update(let token, _, _, _) = $0 { token } else { nil } }
  }

  @Test func rule4_1_subscriptionsFollowTheConfigurationAndEndWithTheLink() {
    let first = stage.connect(1)
    let second = stage.connect(2)
    _ = stage.heard()
    stage.subscribe(first, characteristic)
    stage.subscribe(second, characteristic, .indicate)
    stage.subscribe(second, other)
    #expect(characteristic.subscribedCentrals == [first, second])
    stage.subscribe(first, characteristic, [])
    #expect(characteristic.subscribedCentrals == [second])
    stage.say(.disconnected(second.peer, .remoteUserTerminatedConnection))
    #expect(characteristic.subscribedCentrals == [] && other.subscribedCentrals == [])
    #expect(
      stage.heard() == [
        "didSubscribe 1 2A37", "didSubscribe 2 2A37", "didSubscribe 2 2A38", "didUnsubscribe 1 2A37",
        "didUnsubscribe 2 2A37", "didUnsubscribe 2 2A38", "didDisconnect 2 0x13",
      ])
  }

  @Test func rule4_1_theListIsUpToDateInsideTheCallback() {
    let counts = Lines()
    let characteristic = characteristic
    stage.recorder.react { _, line in counts.append("\(line): \(characteristic.subscribedCentrals?.count ?? -1)") }
    let central = stage.connect(1)
    stage.subscribe(central, characteristic)
    stage.subscribe(central, characteristic, [])
    #expect(counts.take() == ["didConnect 1: 0", "didSubscribe 1 2A37: 1", "didUnsubscribe 1 2A37: 0"])
  }

  @Test func rule4_2_nilIsEveryoneAndStrangersArePassedOver() {
    let first = stage.connect(1)
    let second = stage.connect(2)
    #expect(update([1]))
    #expect(stage.host.takeCommands() == [])
    stage.subscribe(first, characteristic)
    #expect(update([2]))
    #expect(update([3], to: [second]))
    #expect(update([4], to: [second, first]))
    #expect(update([5], to: []))
    #expect(stage.host.takeCommands() == ["update 02 to all", "update 04 to [1]"])
  }

  @Test func rule4_3_falseWhenTheQueueIsFullThenReadyOnce() {
    stage.subscribe(stage.connect(1), characteristic)
    _ = stage.heard()
    for number in 0..<32 { #expect(update([UInt8(number)]), "update \(number)") }
    #expect(!update([32]))
    #expect(!update([32]))
    #expect(stage.host.takeCommands().count == 32)
    #expect(stage.heard() == [])
  }

  @Test func rule4_3_readyComesOnceAndOnlyAfterFalse() {
    stage.subscribe(stage.connect(1), characteristic)
    _ = stage.heard()
    for _ in 0..<32 { #expect(update([1])) }
    stage.say(.updateFinished(tokens[0]))
    #expect(stage.heard() == [])
    #expect(update([2]))
    #expect(!update([3]))
    #expect(!update([3]))
    for token in tokens[1...8] { stage.host.say(.updateFinished(token)) }
    #expect(stage.heard() == ["isReady"])
    #expect(update([3]))
    for token in tokens[9...] { stage.host.say(.updateFinished(token)) }
    #expect(stage.heard() == [])
  }

  @Test func rule4_3_theQueueIsTheManagersOwnAndItsLimitIsNamed() {
    #expect(PeripheralLimits().pendingUpdates == 32)
    let stage = Stage(
      limits: {
        var limits = PeripheralLimits(); limits.pendingUpdates = 2; return limits
      }())
    let characteristic = dynamic("2A37", [.notify])
    stage.publish(characteristic)
    stage.subscribe(stage.connect(1), characteristic)
    let results = (0..<3).map { _ in
      stage.manager.updateValue(Data([1]), for: characteristic, onSubscribedCentrals: nil)
    }
    #expect(results == [true, true, false])
  }

  @Test(arguments: [(23, 20), (185, 182), (517, 512)])
  func rule4_4_longValuesAreCutToWhatTheCentralHolds(mtu: Int, length: Int) {
    let central = stage.connect(1, mtu: mtu)
    #expect(central.maximumUpdateValueLength == length)
    stage.subscribe(central, characteristic)
    _ = stage.host.takeCommands()
    #expect(update(Array(repeating: 0xAB, count: 513)))
    let octets = String(repeating: "ab", count: length)
    #expect(stage.host.takeCommands() == ["update \(octets) to all"])
  }

  @Test func rule4_5_fromNotificationsToIndicationsIsNoNewSubscription() {
    let central = stage.connect(1)
    stage.subscribe(central, characteristic, .notify)
    stage.subscribe(central, characteristic, .indicate)
    stage.subscribe(central, characteristic, [.notify, .indicate])
    #expect(stage.heard() == ["didConnect 1", "didSubscribe 1 2A37"])
    #expect(characteristic.subscribedCentrals == [central])
  }

  @Test func rule4_6_whoIsGoneIsPassedOver() {
    let central = stage.connect(1)
    stage.subscribe(central, characteristic)
    stage.say(.disconnected(central.peer, .connectionTimeout))
    #expect(update([1], to: [central]))
    #expect(stage.host.takeCommands() == [])
  }

  @Test func rule4_7_identifiersAreStableAndObjectsAreOnePerLink() {
    let first = stage.connect(1)
    let second = stage.connect(2)
    #expect(first.identifier != second.identifier && first != second)
    stage.say(.disconnected(first.peer, .remoteUserTerminatedConnection))
    let again = stage.connect(1)
    #expect(again !== first && again == first && again.identifier == first.identifier)
    #expect(again.copy() as? Central === again)
  }

  @Test func anUnpublishedCharacteristicIsLogged() {
    #expect(stage.manager.updateValue(Data([1]), for: dynamic("2A39"), onSubscribedCentrals: nil))
    #expect(stage.logged().first?.contains("is not published") == true)
  }
}
