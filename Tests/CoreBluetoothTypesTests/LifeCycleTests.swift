import BLEHCI
import BLEHost
import BluetoothLE
import EngineFixtures
import Testing

@testable import BLEEngine
@testable import CoreBluetoothTypes

/// Section 1 of CoreBluetooth's rules: states, queues, what happens below powered on.
@Suite struct LifeCycleTests {
  @Test func rule1_1_theFirstStateComesAsynchronouslyAfterInit() {
    let host = ScriptedHost()
    host.say(.state(.poweredOn, nil))
    let stage = Stage(.unknown, host: host)
    // The host said "powered on" while init ran; whoever made the manager has not heard of it before init returned.
    #expect(stage.heard() == ["state poweredOn"])
    #expect(stage.manager.state == .poweredOn)
  }

  @Test func rule1_1_stateStartsUnknownAndEachChangeIsToldOnce() {
    let stage = Stage(.unknown)
    #expect(stage.manager.state == .unknown)
    #expect(stage.heard() == [])
    stage.say(.state(.resetting, nil))
    stage.say(.state(.poweredOn, nil))
    stage.say(.state(.poweredOn, nil))
    stage.say(.state(.poweredOff, nil))
    #expect(stage.heard() == ["state resetting", "state poweredOn", "state poweredOff"])
  }

  @Test func rule1_1_theReasonOfAStateIsAtHandInTheCallback() {
    let stage = Stage(.unknown)
    stage.say(.state(.unsupported, .transport("no adapter: plug one in")))
    #expect(stage.heard() == ["state unsupported"])
    #expect(stage.manager.stateReason?.localizedDescription == "no adapter: plug one in")
    stage.say(.state(.poweredOn, nil))
    #expect(stage.manager.stateReason == nil)
  }

  @Test func authorizationFollowsTheState() {
    #expect(PeripheralManager.authorization == .allowedAlways)
    let stage = Stage(.unauthorized)
    #expect(stage.manager.authorization == .denied)
  }

  @Test func rule1_2_noQueueIsTheMainQueue() async {
    let manager = PeripheralManager(delegate: nil, queue: nil, link: ScriptedHost().link(), log: { _, _ in })
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    let isMain = await withCheckedContinuation { continuation in
      manager.client.queue.async { continuation.resume(returning: DispatchQueue.getSpecific(key: key)) }
    }
    #expect(isMain == true)
  }

  @Test func rule1_2_everyCallComesOnTheQueue() {
    let stage = Stage(.unknown)
    let key = DispatchSpecificKey<Bool>()
    stage.queue.setSpecific(key: key, value: true)
    let elsewhere = Lines()
    stage.recorder.react { _, line in
      if DispatchQueue.getSpecific(key: key) != true { elsewhere.append(line) }
    }
    stage.say(.state(.poweredOn, nil))
    let characteristic = dynamic("2A37")
    stage.publish(characteristic)
    stage.manager.startAdvertising(nil)
    let central = stage.connect(1)
    stage.subscribe(central, characteristic)
    stage.read(central, characteristic)
    stage.settle()
    #expect(elsewhere.take() == [])
  }

  @Test(arguments: [AdapterState.unknown, .resetting, .unsupported, .unauthorized, .poweredOff])
  func rule1_3_commandsBelowPoweredOnAreLoggedAndDropped(state: AdapterState) {
    let stage = Stage(state)
    let service = MutableService(type: "180D", primary: true)
    stage.manager.add(service)
    stage.manager.remove(service)
    stage.manager.removeAllServices()
    stage.manager.startAdvertising(nil)
    stage.manager.stopAdvertising()
    #expect(!stage.manager.updateValue(Data([1]), for: dynamic("2A37"), onSubscribedCentrals: nil))
    stage.manager.publishL2CAPChannel(withEncryption: false)
    stage.manager.unpublishL2CAPChannel(0x80)
    #expect(throws: BluetoothError.self) { try stage.manager.startAdvertising(Advertisement()) }
    #expect(stage.heard() == [])
    #expect(stage.host.takeCommands() == [])
    let lines = stage.logged()
    #expect(lines.count == 9)
    #expect(lines.allSatisfy { $0.hasPrefix("API MISUSE: CBPeripheralManager: ") })
    #expect(lines.allSatisfy { $0.contains("can only accept this command while in the powered on state") })
  }

  @Test func rule1_3_droppedCommandsAreNotDoneLater() {
    let stage = Stage(.poweredOff)
    stage.manager.add(MutableService(type: "180D", primary: true))
    stage.say(.state(.poweredOn, nil))
    #expect(stage.heard() == ["state poweredOn"])
    #expect(stage.host.takeCommands() == [])
  }

  @Test func rule1_5_poweredOffPausesAdvertisingAndDisconnectsAndKeepsTheDatabase() {
    let stage = Stage()
    let characteristic = dynamic("2A37")
    let service = stage.publish(characteristic)
    stage.manager.startAdvertising(nil)
    let central = stage.connect(1)
    stage.subscribe(central, characteristic)
    _ = stage.heard()
    _ = stage.host.takeCommands()

    stage.say(.state(.poweredOff, nil))
    #expect(stage.heard() == ["didUnsubscribe 1 2A37", "didDisconnect 1 0x16", "state poweredOff"])
    #expect(stage.host.takeCommands() == [])
    #expect(!stage.manager.isAdvertising)
    #expect(stage.manager.connectedCentrals == [])
    #expect(characteristic.subscribedCentrals == [])

    stage.say(.state(.poweredOn, nil))
    #expect(stage.manager.isAdvertising)
    stage.manager.add(service)
    #expect(stage.heard() == ["state poweredOn", "didAdd 180D invalidParameters"])
  }

  @Test(arguments: [AdapterState.resetting, .unsupported, .unauthorized, .unknown])
  func rule1_5_belowPoweredOffStopsAdvertisingAndClearsTheDatabase(state: AdapterState) {
    let stage = Stage()
    let service = stage.publish(dynamic("2A37"))
    stage.manager.startAdvertising(nil)
    _ = stage.heard()
    _ = stage.host.takeCommands()

    stage.say(.state(state, nil))
    #expect(stage.host.takeCommands() == ["stop advertising", "remove"])
    stage.say(.state(.poweredOn, nil))
    #expect(!stage.manager.isAdvertising)
    _ = stage.heard()
    stage.manager.add(service)
    stage.manager.startAdvertising(nil)
    #expect(stage.heard() == ["didAdd 180D", "didStart"])
  }

  @Test func rule1_5_whatWaitedForAnAnswerIsAnsweredWhenTheAdapterIsLost() {
    let stage = Stage()
    stage.host.answerNothing()
    stage.manager.add(MutableService(type: "180D", primary: true))
    stage.manager.startAdvertising(nil)
    stage.say(.state(.resetting, nil))
    #expect(stage.heard() == ["didAdd 180D operationCancelled", "didStart operationCancelled", "state resetting"])
  }

  @Test func rule1_6_theDelegateIsNotKept() {
    let host = ScriptedHost()
    host.say(.state(.poweredOn, nil))
    let queue = DispatchQueue(label: "delegate")
    var recorder: Recorder? = Recorder()
    let manager = PeripheralManager(delegate: recorder, queue: queue, link: host.link(), log: { _, _ in })
    queue.sync {}
    #expect(manager.delegate === recorder)
    weak let kept = recorder
    recorder = nil
    #expect(kept == nil)
    #expect(manager.delegate == nil)
  }

  @Test func rule1_7_severalManagersShareOneHostAndCoexist() {
    let host = ScriptedHost()
    let first = Stage(host: host)
    let second = Stage(host: host)
    let mine = dynamic("2A37")
    let theirs = dynamic("2A38")
    first.publish(mine)
    second.publish(theirs)
    _ = first.connect(1)
    second.settle()
    #expect(first.heard() == ["didConnect 1"])
    #expect(second.heard() == ["didConnect 1"])

    let token = host.token()
    first.say(.read(PeerID(rawValue: 1), token, second.attribute(theirs), offset: 0))
    #expect(first.heard() == [])
    #expect(second.heard() == ["didReceiveRead 2A38 0"])
    #expect(host.takeCommands() == ["respond 1 success "])

    first.releaseManager()
    #expect(host.listeners == 1)
    #expect(host.takeCommands() == [], "the host withdraws what the manager declared")
    second.say(.state(.poweredOff, nil))
    #expect(second.heard() == ["didDisconnect 1 0x16", "state poweredOff"])
  }

  @Test func eventsAreCountedAsConsumedWhenTheDelegateHasTakenThem() {
    let stage = Stage(.unknown)
    stage.settle()
    let before = stage.host.consumed
    stage.queue.suspend()
    stage.host.say(.state(.poweredOn, nil), .state(.poweredOff, nil))
    #expect(stage.host.consumed == before)
    stage.queue.resume()
    stage.settle()
    #expect(stage.host.consumed == before + 2)
  }
}
