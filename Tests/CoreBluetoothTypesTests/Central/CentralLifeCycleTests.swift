import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BluetoothLE
import EngineFixtures
import Testing

@testable import BLEEngine
@testable import CoreBluetoothTypes

/// Section 1 of CoreBluetooth's rules, for the central role.
@Suite struct CentralLifeCycleTests {
  @Test func rule1_1_eachChangeOfStateIsToldOnce() {
    let stage = CentralStage(.unknown)
    #expect(stage.manager.state == .unknown)
    stage.say(.state(.resetting, nil))
    stage.say(.state(.poweredOn, nil))
    stage.say(.state(.poweredOn, nil))
    #expect(stage.heard() == ["state resetting", "state poweredOn"])
  }

  @Test func rule1_2_noQueueIsTheMainQueue() async {
    let manager = CentralManager(delegate: nil, queue: nil, link: ScriptedHost().link(), log: { _, _ in })
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    let isMain = await withCheckedContinuation { continuation in
      manager.client.queue.async { continuation.resume(returning: DispatchQueue.getSpecific(key: key)) }
    }
    #expect(isMain == true)
  }

  @Test func rule1_2_everyCallComesOnTheQueue() throws {
    let stage = CentralStage(.unknown)
    let key = DispatchSpecificKey<Bool>()
    stage.queue.setSpecific(key: key, value: true)
    let elsewhere = Lines()
    stage.recorder.react { if DispatchQueue.getSpecific(key: key) != true { elsewhere.append($0) } }
    stage.say(.state(.poweredOn, nil))
    let peripheral = try stage.connect(1)
    let characteristic = try #require(stage.discover(peripheral, [("2A37", [.read, .notify])]).first)
    peripheral.readValue(for: characteristic)
    stage.answer(.success(.value([1])))
    stage.manager.connect(peripheral)
    stage.manager.cancelPeripheralConnection(peripheral)
    stage.say(.disconnected(PeerID(rawValue: 1), .terminatedByLocalHost))
    #expect(elsewhere.take() == [])
  }

  @Test(arguments: [AdapterState.unknown, .resetting, .unsupported, .unauthorized, .poweredOff])
  func rule1_3_commandsBelowPoweredOnAreLoggedAndDropped(state: AdapterState) throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    stage.say(.state(state, nil))
    _ = stage.heard()
    _ = stage.logged()
    _ = stage.posted()
    stage.manager.scanForPeripherals(withServices: nil)
    stage.manager.stopScan()
    stage.manager.connect(peripheral)
    stage.manager.cancelPeripheralConnection(peripheral)
    #expect(stage.manager.retrievePeripherals(withIdentifiers: [peripheral.identifier]) == [])
    #expect(stage.manager.retrieveConnectedPeripherals(withServices: ["180D"]) == [])
    #expect(stage.manager.retrievePeripheral(withAddress: "C0:00:00:00:00:01", isRandom: true) == nil)
    stage.manager.registerForConnectionEvents(options: nil)
    peripheral.discoverServices(nil)
    peripheral.readRSSI()
    peripheral.openL2CAPChannel(0x80)
    #expect(stage.posted() == [])
    #expect(stage.heard() == [])
    let lines = stage.logged()
    #expect(lines.count == 11)
    #expect(lines.allSatisfy { $0.contains("can only accept this command while in the powered on state") })
  }

  @Test func rule1_4_belowPoweredOnScansAndLinksHaveEnded() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    let pending = try stage.find(2)
    stage.manager.connect(pending)
    stage.manager.scanForPeripherals(withServices: nil)
    _ = stage.posted()
    stage.say(.state(.poweredOff, nil))
    #expect(stage.heard() == ["disconnected notConnected", "failed operationCancelled", "state poweredOff"])
    #expect(stage.posted() == ["stop scanning", "cancel connect"])
    #expect(!stage.manager.isScanning)
    #expect(peripheral.state == .disconnected)
    #expect(pending.state == .disconnected)
    // They are the same devices when it is on again.
    stage.say(.state(.poweredOn, nil))
    stage.manager.connect(peripheral)
    #expect(stage.posted() == ["connect 1"])
  }

  @Test(arguments: [AdapterState.resetting, .unsupported, .unauthorized, .unknown])
  func rule1_4_belowPoweredOffPeripheralsAreInvalid(state: AdapterState) throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    stage.say(.state(state, nil))
    stage.say(.state(.poweredOn, nil))
    _ = stage.heard()
    stage.manager.connect(peripheral)
    #expect(stage.posted() == [])
    #expect(stage.logged().contains { $0.contains("is not a valid peripheral") })
    let again = try #require(stage.manager.retrievePeripherals(withIdentifiers: [peripheral.identifier]).first)
    #expect(again !== peripheral)
    #expect(again == peripheral)
    stage.manager.connect(again)
    #expect(stage.posted() == ["connect 1"])
  }

  @Test func rule1_6_theDelegatesAreNotKept() throws {
    let stage = CentralStage()
    var recorder: CentralRecorder? = CentralRecorder()
    let peripheral = try stage.find(1)
    stage.manager.delegate = recorder
    peripheral.delegate = recorder
    #expect(stage.manager.delegate === recorder)
    recorder = nil
    #expect(stage.manager.delegate == nil)
    #expect(peripheral.delegate == nil)
  }

  @Test func rule1_6_aPendingConnectionEndsWithItsPeripheral() throws {
    let stage = CentralStage()
    var peripheral: Peripheral? = try stage.find(1)
    stage.manager.connect(try #require(peripheral))
    #expect(stage.posted() == ["connect 1"])
    peripheral = nil
    #expect(stage.posted() == ["cancel connect"])
    #expect(stage.logged().contains { $0.contains("nobody holds") })
    #expect(stage.heard() == [])
  }

  @Test func rule1_6_aLinkEndsWithItsPeripheral() throws {
    let stage = CentralStage()
    var peripheral: Peripheral? = try stage.connect(1)
    #expect(peripheral?.state == .connected)
    peripheral = nil
    #expect(stage.posted() == ["release 1"])
    stage.say(.disconnected(PeerID(rawValue: 1), .terminatedByLocalHost))
    #expect(stage.heard() == [])
  }

  @Test func aReleasedManagerLeavesItsPeripheralsDisconnected() throws {
    let stage = CentralStage()
    let connected = try stage.connect(1)
    let connecting = try stage.find(2)
    stage.manager.connect(connecting)
    let characteristic = try stage.discover(connected, [("2A37", .notify)])[0]
    connected.setNotifyValue(true, for: characteristic)
    stage.answer(.success(.configured(4)))
    #expect(connected.state == .connected && connecting.state == .connecting && characteristic.isNotifying)
    stage.releaseManager()
    stage.settle()
    #expect(connected.state == .disconnected && connecting.state == .disconnected && !characteristic.isNotifying)
    #expect(!connected.canSendWriteWithoutResponse && connected.maximumWriteValueLength(for: .withoutResponse) == 20)
  }

  /// Each once for a manager; an option that is false has nothing to do.
  @Test func optionsWithoutEffectAreReportedOnce() throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    let options: [String: Any] = [
      CBConnectPeripheralOptionNotifyOnConnectionKey: NSNumber(value: true),
      CBConnectPeripheralOptionNotifyOnDisconnectionKey: NSNumber(value: false),
      CBConnectPeripheralOptionStartDelayKey: NSNumber(value: 0), "mine": "yes",
    ]
    for _ in 0..<2 { stage.manager.connect(peripheral, options: options) }
    #expect(
      stage.logged() == [
        "CBCentralManager: connect: the option kCBConnectOptionNotifyOnConnection has no effect on Linux",
        "CBCentralManager: connect: the option mine has no effect on Linux",
      ])
  }

  @Test func descriptionsHaveThePublicNames() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    let characteristic = try stage.discover(peripheral, [("2A37", .notify)])[0]
    #expect("\(characteristic)" == "<CBCharacteristic 2A37>")
    #expect("\(try #require(peripheral.services?.first))" == "<CBService 180D>")
    #expect("\(peripheral)" == "<CBPeripheral \(peripheral.identifier.uuidString)>")
  }

  @Test func theManagerDetachesWithItsEnd() throws {
    let stage = CentralStage()
    let first = try stage.connect(1)
    let second = try stage.find(2)
    stage.manager.connect(second)
    stage.manager.scanForPeripherals(withServices: nil)
    _ = stage.posted()
    stage.releaseManager()
    #expect(stage.host.listeners == 0 && stage.posted() == [], "the host withdraws what the manager declared")
    // What is left of it does no harm.
    first.readRSSI()
    #expect(!first.canSendWriteWithoutResponse)
    #expect(first.maximumWriteValueLength(for: .withoutResponse) == 20)
  }
}
