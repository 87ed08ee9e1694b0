import AdapterFixtures
import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// Section 1 of CoreBluetooth's rules, for the central role.
@Suite struct CentralLifeCycleTests {
  @Test("1.1 Each change of the state is one call, for a central manager")
  func eachChangeOfStateIsToldOnce() {
    let fixture = CentralFixture(.unknown)
    #expect(fixture.manager.state == .unknown)
    fixture.say(.state(.resetting, nil))
    fixture.say(.state(.poweredOn, nil))
    fixture.say(.state(.poweredOn, nil))
    #expect(fixture.takeCalls() == ["state resetting", "state poweredOn"])
  }

  @Test("1.2 Without a queue the calls come on the main queue")
  func noQueueIsTheMainQueue() async {
    let manager = CentralManager(delegate: nil, queue: nil, link: ScriptedHost().link(), log: { _ in })
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    let isMain = await withCheckedContinuation { continuation in
      manager.client.queue.async { continuation.resume(returning: DispatchQueue.getSpecific(key: key)) }
    }
    #expect(isMain == true)
  }

  @Test("1.2 Every call comes on the queue of the manager")
  func everyCallComesOnTheQueue() throws {
    let fixture = CentralFixture(.unknown)
    let key = DispatchSpecificKey<Bool>()
    fixture.queue.setSpecific(key: key, value: true)
    let elsewhere = Lines()
    fixture.recorder.react { if DispatchQueue.getSpecific(key: key) != true { elsewhere.append($0) } }
    fixture.say(.state(.poweredOn, nil))
    let peripheral = try fixture.connect(1)
    let characteristic = try #require(fixture.discover(peripheral, [("2A37", [.read, .notify])]).first)
    peripheral.readValue(for: characteristic)
    fixture.answer(.success(.value([1])))
    fixture.manager.connect(peripheral)
    fixture.manager.cancelPeripheralConnection(peripheral)
    fixture.say(.link(LinkID(rawValue: 1), .disconnected(.terminatedByLocalHost)))
    #expect(elsewhere.take() == [])
  }

  @Test(
    "1.3 Commands below powered on are logged and dropped",
    arguments: [AdapterState.unknown, .resetting, .unsupported, .unauthorized, .poweredOff])
  func commandsBelowPoweredOnAreLoggedAndDropped(state: AdapterState) throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    fixture.say(.state(state, nil))
    _ = fixture.takeCalls()
    _ = fixture.logged()
    _ = fixture.posted()
    fixture.manager.scanForPeripherals(withServices: nil)
    fixture.manager.stopScan()
    fixture.manager.connect(peripheral)
    fixture.manager.cancelPeripheralConnection(peripheral)
    #expect(fixture.manager.retrievePeripherals(withIdentifiers: [peripheral.identifier]) == [])
    #expect(fixture.manager.retrieveConnectedPeripherals(withServices: ["180D"]) == [])
    #expect(fixture.manager.retrievePeripheral(withAddress: "C0:00:00:00:00:01", isRandom: true) == nil)
    fixture.manager.registerForConnectionEvents(options: nil)
    peripheral.discoverServices(nil)
    peripheral.readRSSI()
    peripheral.openL2CAPChannel(0x80)
    #expect(fixture.posted() == [])
    #expect(fixture.takeCalls() == [])
    let lines = fixture.logged()
    #expect(lines.count == 11)
    #expect(lines.allSatisfy { $0.contains("can only accept this command while in the powered on state") })
  }

  @Test("1.4 Below powered on scans and links have ended")
  func belowPoweredOnScansAndLinksHaveEnded() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    let pending = try fixture.find(2)
    fixture.manager.connect(pending)
    fixture.manager.scanForPeripherals(withServices: nil)
    _ = fixture.posted()
    fixture.say(.state(.poweredOff, nil))
    #expect(fixture.takeCalls() == ["state poweredOff", "disconnected notConnected", "failed operationCancelled"])
    #expect(fixture.posted() == ["stop scanning", "cancel connect"])
    #expect(!fixture.manager.isScanning)
    #expect(peripheral.state == .disconnected)
    #expect(pending.state == .disconnected)
    // They are the same devices when it is on again.
    fixture.say(.state(.poweredOn, nil))
    fixture.manager.connect(peripheral)
    #expect(fixture.posted() == ["connect 1"])
  }

  /// The operations that wait, the link and the connection request fail with the cause, after the state.
  @Test("1.4 A lost controller is reported before the links that end with it, which carry the cause")
  func aLostControllerIsReportedBeforeTheLinksThatEndWithIt() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1, options: [CBConnectPeripheralOptionEnableAutoReconnect: true])
    let pending = try fixture.find(2)
    fixture.manager.connect(pending)
    peripheral.readRSSI()
    peripheral.discoverServices(nil)
    fixture.recorder.writeTexts()
    fixture.say(
      .state(.resetting, .transport("tcp-client:x:1: closed")),
      .link(LinkID(rawValue: 1), .disconnected(.hardwareFailure)))
    let cause = "the adapter is resetting (\(fixture.manager.stateReason.map { "\($0)" } ?? "none"))"
    #expect(cause.contains("tcp-client:x:1: closed"))
    #expect(
      fixture.takeCalls() == [
        "state resetting", "services  notConnected: the link has ended: \(cause)",
        "rssi 127 notConnected: the link has ended: \(cause)",
        "disconnected notConnected: the link has ended: \(cause)",
        "failed operationCancelled: \(cause); connect again when it is powered on",
      ])
  }

  @Test("1.4 Links of others that end with the controller are connection events")
  func linksOfOthersThatEndWithTheControllerAreConnectionEvents() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    fixture.manager.registerForConnectionEvents(options: [.peripheralUUIDs: [peripheral.identifier]])
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    let peer = LinkID(rawValue: 1)
    fixture.say(
      .connected(ConnectedLink(peer: peer, address: CentralFixture.address(1), role: .central, timing: timing)))
    fixture.say(.state(.resetting, nil), .link(peer, .disconnected(.hardwareFailure)))
    #expect(fixture.takeCalls() == ["event peerConnected", "state resetting", "event peerDisconnected"])
  }

  @Test(
    "1.4 Below powered off peripherals are invalid",
    arguments: [AdapterState.resetting, .unsupported, .unauthorized, .unknown])
  func belowPoweredOffPeripheralsAreInvalid(state: AdapterState) throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    fixture.say(.state(state, nil))
    fixture.say(.state(.poweredOn, nil))
    _ = fixture.takeCalls()
    fixture.manager.connect(peripheral)
    #expect(fixture.posted() == [])
    #expect(fixture.logged().contains { $0.contains("is not a valid peripheral") })
    let again = try #require(fixture.manager.retrievePeripherals(withIdentifiers: [peripheral.identifier]).first)
    #expect(again !== peripheral)
    #expect(again == peripheral)
    fixture.manager.connect(again)
    #expect(fixture.posted() == ["connect 1"])
  }

  @Test("1.6 A central manager and its peripherals do not retain delegates")
  func theDelegatesAreNotKept() throws {
    let fixture = CentralFixture()
    var recorder: CentralRecorder? = CentralRecorder()
    let peripheral = try fixture.find(1)
    fixture.manager.delegate = recorder
    peripheral.delegate = recorder
    #expect(fixture.manager.delegate === recorder)
    recorder = nil
    #expect(fixture.manager.delegate == nil)
    #expect(peripheral.delegate == nil)
  }

  @Test("1.6 A pending connection ends with its peripheral")
  func aPendingConnectionEndsWithItsPeripheral() throws {
    let fixture = CentralFixture()
    var peripheral: Peripheral? = try fixture.find(1)
    fixture.manager.connect(try #require(peripheral))
    #expect(fixture.posted() == ["connect 1"])
    peripheral = nil
    #expect(fixture.posted() == ["cancel connect"])
    #expect(fixture.logged().contains { $0.contains("holds no reference") })
    #expect(fixture.takeCalls() == [])
  }

  @Test("1.6 A link ends with its peripheral")
  func aLinkEndsWithItsPeripheral() throws {
    let fixture = CentralFixture()
    var peripheral: Peripheral? = try fixture.connect(1)
    #expect(peripheral?.state == .connected)
    peripheral = nil
    #expect(fixture.posted() == ["release 1"])
    fixture.say(.link(LinkID(rawValue: 1), .disconnected(.terminatedByLocalHost)))
    #expect(fixture.takeCalls() == [])
  }

  @Test func aReleasedManagerLeavesItsPeripheralsDisconnected() throws {
    let fixture = CentralFixture()
    let connected = try fixture.connect(1)
    let connecting = try fixture.find(2)
    fixture.manager.connect(connecting)
    let characteristic = try fixture.discover(connected, [("2A37", .notify)])[0]
    connected.setNotifyValue(true, for: characteristic)
    fixture.answer(.success(.configured(4)))
    #expect(connected.state == .connected && connecting.state == .connecting && characteristic.isNotifying)
    fixture.releaseManager()
    fixture.settle()
    #expect(connected.state == .disconnected && connecting.state == .disconnected && !characteristic.isNotifying)
    #expect(!connected.canSendWriteWithoutResponse && connected.maximumWriteValueLength(for: .withoutResponse) == 20)
  }

  /// Each once for a manager; an option that is false has nothing to do.
  @Test func optionsWithoutEffectAreReportedOnce() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    let options: [String: Any] = [
      CBConnectPeripheralOptionNotifyOnConnectionKey: NSNumber(value: true),
      CBConnectPeripheralOptionNotifyOnDisconnectionKey: NSNumber(value: false),
      CBConnectPeripheralOptionStartDelayKey: NSNumber(value: 0), "mine": "yes",
    ]
    for _ in 0..<2 { fixture.manager.connect(peripheral, options: options) }
    #expect(
      fixture.logged() == [
        "CBCentralManager: connect: the option kCBConnectOptionNotifyOnConnection has no effect on Linux",
        "CBCentralManager: connect: the option mine has no effect on Linux",
      ])
  }

  @Test func descriptionsHaveThePublicNames() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    let characteristic = try fixture.discover(peripheral, [("2A37", .notify)])[0]
    #expect("\(characteristic)" == "<CBCharacteristic 2A37>")
    #expect("\(try #require(peripheral.services?.first))" == "<CBService 180D>")
    #expect("\(peripheral)" == "<CBPeripheral \(peripheral.identifier.uuidString)>")
  }

  @Test func theManagerDetachesWithItsEnd() throws {
    let fixture = CentralFixture()
    let first = try fixture.connect(1)
    let second = try fixture.find(2)
    fixture.manager.connect(second)
    fixture.manager.scanForPeripherals(withServices: nil)
    _ = fixture.posted()
    fixture.releaseManager()
    #expect(fixture.host.listeners == 0 && fixture.posted() == [], "the host withdraws what the manager declared")
    // What is left of it does no harm.
    first.readRSSI()
    #expect(!first.canSendWriteWithoutResponse)
    #expect(first.maximumWriteValueLength(for: .withoutResponse) == 20)
  }
}
