import AdapterFixtures
import BLEHCI
import BLEHost
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// Section 1 of CoreBluetooth's rules: states, queues, what happens below powered on.
@Suite struct LifeCycleTests {
  @Test("1.1 The first state comes after init, on the queue")
  func theFirstStateComesAsynchronouslyAfterInit() {
    let host = ScriptedHost()
    host.say(.state(.poweredOn, nil))
    let fixture = PeripheralFixture(.unknown, host: host)
    // The host said "powered on" while init ran; whoever made the manager has not heard of it before init returned.
    #expect(fixture.takeCalls() == ["state poweredOn"])
    #expect(fixture.manager.state == .poweredOn)
  }

  @Test("1.1 The state starts as unknown, and each change is one call")
  func stateStartsUnknownAndEachChangeIsToldOnce() {
    let fixture = PeripheralFixture(.unknown)
    #expect(fixture.manager.state == .unknown)
    #expect(fixture.takeCalls() == [])
    fixture.say(.state(.resetting, nil))
    fixture.say(.state(.poweredOn, nil))
    fixture.say(.state(.poweredOn, nil))
    fixture.say(.state(.poweredOff, nil))
    #expect(fixture.takeCalls() == ["state resetting", "state poweredOn", "state poweredOff"])
  }

  @Test func theReasonOfAStateIsAtHandInTheCallback() {
    let fixture = PeripheralFixture(.unknown)
    fixture.say(.state(.unsupported, .transport("no adapter: plug one in")))
    #expect(fixture.takeCalls() == ["state unsupported"])
    #expect(fixture.manager.stateReason?.localizedDescription == "no adapter: plug one in")
    fixture.say(.state(.poweredOn, nil))
    #expect(fixture.manager.stateReason == nil)
  }

  @Test func authorizationFollowsTheState() {
    #expect(PeripheralManager.authorization == .allowedAlways)
    let fixture = PeripheralFixture(.unauthorized)
    #expect(fixture.manager.authorization == .denied)
  }

  @Test("1.2 Without a queue the calls come on the main queue")
  func noQueueIsTheMainQueue() async {
    let manager = PeripheralManager(delegate: nil, queue: nil, link: ScriptedHost().link(), log: { _ in })
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    let isMain = await withCheckedContinuation { continuation in
      manager.client.queue.async { continuation.resume(returning: DispatchQueue.getSpecific(key: key)) }
    }
    #expect(isMain == true)
  }

  @Test("1.2 Every call comes on the queue of the manager")
  func everyCallComesOnTheQueue() {
    let fixture = PeripheralFixture(.unknown)
    let key = DispatchSpecificKey<Bool>()
    fixture.queue.setSpecific(key: key, value: true)
    let elsewhere = Lines()
    fixture.recorder.react { _, line in
      if DispatchQueue.getSpecific(key: key) != true { elsewhere.append(line) }
    }
    fixture.say(.state(.poweredOn, nil))
    let characteristic = dynamic("2A37")
    fixture.publish(characteristic)
    fixture.manager.startAdvertising(nil)
    let central = fixture.connect(1)
    fixture.subscribe(central, characteristic)
    fixture.read(central, characteristic)
    fixture.settle()
    #expect(elsewhere.take() == [])
  }

  @Test(
    "1.3 Commands below powered on are logged and dropped",
    arguments: [AdapterState.unknown, .resetting, .unsupported, .unauthorized, .poweredOff])
  func commandsBelowPoweredOnAreLoggedAndDropped(state: AdapterState) {
    let fixture = PeripheralFixture(state)
    let service = MutableService(type: "180D", primary: true)
    fixture.manager.add(service)
    fixture.manager.remove(service)
    fixture.manager.removeAllServices()
    fixture.manager.startAdvertising(nil)
    fixture.manager.stopAdvertising()
    #expect(!fixture.manager.updateValue(Data([1]), for: dynamic("2A37"), onSubscribedCentrals: nil))
    fixture.manager.publishL2CAPChannel(withEncryption: false)
    fixture.manager.unpublishL2CAPChannel(0x80)
    #expect(throws: BluetoothError.self) { try fixture.manager.startAdvertising(Advertisement()) }
    #expect(fixture.takeCalls() == [])
    #expect(fixture.host.takeCommands() == [])
    let lines = fixture.logged()
    #expect(lines.count == 9)
    #expect(lines.allSatisfy { $0.hasPrefix("API MISUSE: CBPeripheralManager: ") })
    #expect(lines.allSatisfy { $0.contains("can only accept this command while in the powered on state") })
  }

  @Test("1.3 Dropped commands are not performed later")
  func droppedCommandsAreNotDoneLater() {
    let fixture = PeripheralFixture(.poweredOff)
    fixture.manager.add(MutableService(type: "180D", primary: true))
    fixture.say(.state(.poweredOn, nil))
    #expect(fixture.takeCalls() == ["state poweredOn"])
    #expect(fixture.host.takeCommands() == [])
  }

  @Test("1.5 Powered off pauses advertising, ends links and keeps the database")
  func poweredOffPausesAdvertisingAndDisconnectsAndKeepsTheDatabase() {
    let fixture = PeripheralFixture()
    let characteristic = dynamic("2A37")
    let service = fixture.publish(characteristic)
    fixture.manager.startAdvertising(nil)
    let central = fixture.connect(1)
    fixture.subscribe(central, characteristic)
    _ = fixture.takeCalls()
    _ = fixture.host.takeCommands()

    fixture.say(.state(.poweredOff, nil))
    #expect(fixture.takeCalls() == ["state poweredOff", "didUnsubscribe 1 2A37", "didDisconnect 1 0x16"])
    #expect(fixture.host.takeCommands() == [])
    #expect(!fixture.manager.isAdvertising)
    #expect(fixture.manager.connectedCentrals == [])
    #expect(characteristic.subscribedCentrals == [])

    fixture.say(.state(.poweredOn, nil))
    #expect(fixture.manager.isAdvertising)
    fixture.manager.add(service)
    #expect(fixture.takeCalls() == ["state poweredOn", "didAdd 180D invalidParameters"])
  }

  @Test(
    "1.5 Below powered off advertising stops and the database is cleared",
    arguments: [AdapterState.resetting, .unsupported, .unauthorized, .unknown])
  func belowPoweredOffStopsAdvertisingAndClearsTheDatabase(state: AdapterState) {
    let fixture = PeripheralFixture()
    let service = fixture.publish(dynamic("2A37"))
    fixture.manager.startAdvertising(nil)
    _ = fixture.takeCalls()
    _ = fixture.host.takeCommands()

    fixture.say(.state(state, nil))
    #expect(fixture.host.takeCommands() == ["stop advertising", "remove"])
    fixture.say(.state(.poweredOn, nil))
    #expect(!fixture.manager.isAdvertising)
    _ = fixture.takeCalls()
    fixture.manager.add(service)
    fixture.manager.startAdvertising(nil)
    #expect(fixture.takeCalls() == ["didAdd 180D", "didStart"])
  }

  /// The manager has the state and its reason already when a call for a link comes that ends with it.
  @Test("1.4 A lost controller is reported before the links that end with it")
  func aLostControllerIsReportedBeforeTheLinksThatEndWithIt() {
    let fixture = PeripheralFixture()
    let characteristic = dynamic("2A37")
    fixture.publish(characteristic)
    let central = fixture.connect(1)
    fixture.subscribe(central, characteristic)
    _ = fixture.takeCalls()
    fixture.host.say(
      .state(.resetting, .transport("tcp-client:x:1: closed")), .link(central.peer, .disconnected(.hardwareFailure)))
    #expect(fixture.takeCalls() == ["state resetting", "didUnsubscribe 1 2A37", "didDisconnect 1 0x3"])
    #expect("\(fixture.manager.stateReason.map { "\($0)" } ?? "")".contains("tcp-client:x:1: closed"))
  }

  @Test func whatWaitedForAnAnswerIsAnsweredWhenTheAdapterIsLost() {
    let fixture = PeripheralFixture()
    fixture.host.answerNothing()
    fixture.manager.add(MutableService(type: "180D", primary: true))
    fixture.manager.startAdvertising(nil)
    fixture.say(.state(.resetting, nil))
    #expect(
      fixture.takeCalls() == ["state resetting", "didAdd 180D operationCancelled", "didStart operationCancelled"])
  }

  @Test("1.6 A peripheral manager does not retain its delegate")
  func theDelegateIsNotKept() {
    let host = ScriptedHost()
    host.say(.state(.poweredOn, nil))
    let queue = DispatchQueue(label: "delegate")
    var recorder: Recorder? = Recorder()
    let manager = PeripheralManager(delegate: recorder, queue: queue, link: host.link(), log: { _ in })
    queue.sync {}
    #expect(manager.delegate === recorder)
    weak let kept = recorder
    recorder = nil
    #expect(kept == nil)
    #expect(manager.delegate == nil)
  }

  @Test("1.7 The services and advertisements of several managers coexist")
  func severalManagersShareOneHostAndCoexist() {
    let host = ScriptedHost()
    let first = PeripheralFixture(host: host)
    let second = PeripheralFixture(host: host)
    let mine = dynamic("2A37")
    let theirs = dynamic("2A38")
    first.publish(mine)
    second.publish(theirs)
    _ = first.connect(1)
    second.settle()
    #expect(first.takeCalls() == ["didConnect 1"])
    #expect(second.takeCalls() == ["didConnect 1"])

    let token = host.token()
    first.say(.server(LinkID(rawValue: 1), .read(token, second.attribute(theirs), offset: 0)))
    #expect(first.takeCalls() == [])
    #expect(second.takeCalls() == ["didReceiveRead 2A38 0"])
    #expect(host.takeCommands() == ["respond 1 success "])

    first.releaseManager()
    #expect(host.listeners == 1)
    #expect(host.takeCommands() == [], "the host withdraws what the manager declared")
    second.say(.state(.poweredOff, nil))
    #expect(second.takeCalls() == ["state poweredOff", "didDisconnect 1 0x16"])
  }

  @Test func eventsAreCountedAsConsumedWhenTheDelegateHasTakenThem() {
    let fixture = PeripheralFixture(.unknown)
    fixture.settle()
    let before = fixture.host.consumed
    fixture.queue.suspend()
    fixture.host.say(.state(.poweredOn, nil), .state(.poweredOff, nil))
    #expect(fixture.host.consumed == before)
    fixture.queue.resume()
    fixture.settle()
    #expect(fixture.host.consumed == before + 2)
  }
}
