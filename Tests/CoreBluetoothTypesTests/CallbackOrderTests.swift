import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// Section 7 of CoreBluetooth's rules: the order in which a peripheral's delegate is called in a normal life.
@Suite struct CallbackOrderTests {
  @Test func rule7_aPeripheralsLifeInOrder() {
    let stage = Stage(.unknown)
    let characteristic = dynamic("2A37")
    let service = MutableService(type: "180D", primary: true)
    service.characteristics = [characteristic]
    let second = MutableService(type: "180F", primary: true)
    stage.recorder.react { manager, line in
      guard line == "state poweredOn" else { return }
      manager.add(service)
      manager.add(second)
      manager.startAdvertising([AdvertisementDataServiceUUIDsKey: [service.uuid]])
    }
    stage.say(.state(.poweredOn, nil))
    let central = stage.connect(1)
    stage.subscribe(central, characteristic)
    stage.read(central, characteristic)
    stage.write(central, (characteristic, 0, [1]))
    stage.subscribe(central, characteristic, [])
    stage.say(.disconnected(central.peer, .remoteUserTerminatedConnection))
    #expect(
      stage.heard() == [
        "state poweredOn", "didAdd 180D", "didAdd 180F", "didStart", "didConnect 1", "didSubscribe 1 2A37",
        "didReceiveRead 2A37 0", "didReceiveWrite 2A37@0=[1]", "didUnsubscribe 1 2A37", "didDisconnect 1 0x13",
      ])
  }

  @Test func rule7_nothingIsCalledTwiceForOneBatch() {
    let stage = Stage()
    let characteristic = dynamic("2A37", [.notify])
    stage.publish(characteristic)
    let central = stage.connect(1)
    stage.subscribe(central, characteristic)
    for _ in 0..<33 { stage.manager.updateValue(Data([1]), for: characteristic, onSubscribedCentrals: nil) }
    let finished: [HostEvent] = stage.host.commands.compactMap {
      if case .update(let token, _, _, _) = $0 { .updateFinished(token) } else { nil }
    }
    _ = stage.heard()
    // All in one batch, as the host's loop hands them out: one isReady.
    stage.host.say(finished)
    #expect(stage.heard() == ["isReady"])
  }

  /// A refusal that the application causes while the end of the link waits comes before it.
  @Test func nothingOfAPeripheralFollowsItsDisconnection() throws {
    var limits = CentralLimits()
    limits.pendingOperations = 1
    let stage = CentralStage(limits: limits)
    let peripheral = try stage.connect(1)
    peripheral.readRSSI()
    stage.recorder.react { [weak peripheral] line in
      guard line == "rssi -40" else { return }
      for _ in 0..<2 { peripheral?.discoverServices(nil) }
    }
    let peer = PeerID(rawValue: 1)
    stage.say(.rssi(peer, .success(-40)), .disconnected(peer, .connectionTimeout))
    #expect(
      stage.heard() == [
        "rssi -40", "services  outOfSpace", "services  connectionTimeout", "disconnected connectionTimeout",
      ])
    peripheral.openL2CAPChannel(0x80)
    #expect(stage.heard().isEmpty && stage.logged().count == 1)
  }

  @Test func nothingOfACentralFollowsItsDisconnection() {
    let stage = Stage()
    let central = stage.connect(1)
    stage.say(.disconnected(central.peer, .remoteUserTerminatedConnection))
    _ = stage.heard()
    stage.manager.requestConnectionParameters(ConnectionParameterRequest(latency: 500), for: central)
    #expect(stage.heard().isEmpty && stage.logged().count == 1)
  }

  /// The calls come one at a time, in the host's order, on whatever queue.
  @Test func theOrderHoldsOnAConcurrentQueue() {
    let host = ScriptedHost()
    let recorder = CentralRecorder()
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let manager = CentralManager(delegate: recorder, queue: queue, link: host.link(), log: { _, _ in })
    let states: [AdapterState] = [.poweredOn, .resetting, .poweredOff, .unsupported]
    for round in 0..<100 { host.say(.state(states[round % 4], nil)) }
    manager.client.queue.sync {}
    let expected = (0..<100).map { "state \(["poweredOn", "resetting", "poweredOff", "unsupported"][$0 % 4])" }
    #expect(recorder.take() == expected)
  }

  @Test func rule7_willRestoreStateIsNeverCalled() {
    let stage = Stage(.unknown)
    stage.say(.state(.poweredOn, nil))
    #expect(!stage.heard().contains("willRestore"))
  }
}
