import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// Section 7 of CoreBluetooth's rules: the order in which a peripheral's delegate is called in a normal life.
@Suite struct CallbackOrderTests {
  @Test("7.1 The calls of a peripheral manager in order")
  func aPeripheralsLifeInOrder() {
    let fixture = PeripheralFixture(.unknown)
    let characteristic = dynamic("2A37")
    let service = MutableService(type: "180D", primary: true)
    service.characteristics = [characteristic]
    let second = MutableService(type: "180F", primary: true)
    fixture.recorder.react { manager, line in
      guard line == "state poweredOn" else { return }
      manager.add(service)
      manager.add(second)
      manager.startAdvertising([AdvertisementDataServiceUUIDsKey: [service.uuid]])
    }
    fixture.say(.state(.poweredOn, nil))
    let central = fixture.connect(1)
    fixture.subscribe(central, characteristic)
    fixture.read(central, characteristic)
    fixture.write(central, (characteristic, 0, [1]))
    fixture.subscribe(central, characteristic, [])
    fixture.say(.link(central.peer, .disconnected(.remoteUserTerminatedConnection)))
    #expect(
      fixture.takeCalls() == [
        "state poweredOn", "didAdd 180D", "didAdd 180F", "didStart", "didConnect 1", "didSubscribe 1 2A37",
        "didReceiveRead 2A37 0", "didReceiveWrite 2A37@0=[1]", "didUnsubscribe 1 2A37", "didDisconnect 1 0x13",
      ])
  }

  @Test func nothingIsCalledTwiceForOneBatch() {
    let fixture = PeripheralFixture()
    let characteristic = dynamic("2A37", [.notify])
    fixture.publish(characteristic)
    let central = fixture.connect(1)
    fixture.subscribe(central, characteristic)
    for _ in 0..<33 { fixture.manager.updateValue(Data([1]), for: characteristic, onSubscribedCentrals: nil) }
    let finished: [HostEvent] = fixture.host.commands.compactMap {
      if case .update(let token, _, _, let peers) = $0 { .server(peers[0], .updateFinished(token)) } else { nil }
    }
    _ = fixture.takeCalls()
    // All in one batch, as the host's loop hands them out: one isReady.
    fixture.host.say(finished)
    #expect(fixture.takeCalls() == ["isReady"])
  }

  /// A refusal that the application causes while the end of the link waits comes before it.
  @Test func nothingOfAPeripheralFollowsItsDisconnection() throws {
    var limits = CentralLimits()
    limits.pendingOctets = 64
    let fixture = CentralFixture(limits: limits)
    let peripheral = try fixture.connect(1)
    peripheral.readRSSI()
    fixture.recorder.react { [weak peripheral] line in
      guard line == "rssi -40" else { return }
      for _ in 0..<2 { peripheral?.discoverServices(nil) }
    }
    let peer = LinkID(rawValue: 1)
    fixture.say(.link(peer, .rssi(.success(-40))), .link(peer, .disconnected(.connectionTimeout)))
    #expect(
      fixture.takeCalls() == [
        "rssi -40", "services  outOfSpace", "services  connectionTimeout", "disconnected connectionTimeout",
      ])
    peripheral.openL2CAPChannel(0x80)
    #expect(fixture.takeCalls().isEmpty && fixture.logged().count == 1)
  }

  @Test func nothingOfACentralFollowsItsDisconnection() {
    let fixture = PeripheralFixture()
    let central = fixture.connect(1)
    fixture.say(.link(central.peer, .disconnected(.remoteUserTerminatedConnection)))
    _ = fixture.takeCalls()
    fixture.manager.requestConnectionParameters(ConnectionParameterRequest(latency: 500), for: central)
    #expect(fixture.takeCalls().isEmpty && fixture.logged().count == 1)
  }

  /// The calls come one at a time, in the host's order, on whatever queue.
  @Test func theOrderHoldsOnAConcurrentQueue() {
    let host = ScriptedHost()
    let recorder = CentralRecorder()
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let manager = CentralManager(delegate: recorder, queue: queue, link: host.link(), log: { _ in })
    let states: [AdapterState] = [.poweredOn, .resetting, .poweredOff, .unsupported]
    for round in 0..<100 { host.say(.state(states[round % 4], nil)) }
    manager.client.queue.sync {}
    let expected = (0..<100).map { "state \(["poweredOn", "resetting", "poweredOff", "unsupported"][$0 % 4])" }
    #expect(recorder.take() == expected)
  }

  @Test func withoutAnIdentifierNothingIsRestored() {
    let fixture = PeripheralFixture(.unknown)
    fixture.say(.state(.poweredOn, nil))
    #expect(fixture.takeCalls() == ["state poweredOn"])
  }
}
