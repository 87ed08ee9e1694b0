import AdapterFixtures
import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEWire
import BluetoothLE
import Synchronization
import Testing

@testable import CoreBluetoothTypes

/// What an application may do wrong: an answer, an error or a line in the log, and the rest goes on.
@Suite struct MisuseTests {
  private let fixture = PeripheralFixture()

  @Test(arguments: ["add", "state", "read", "subscribe"])
  func aManagerMayBeReleasedInsideACallback(moment: String) {
    let host = ScriptedHost()
    let queue = DispatchQueue(label: "delegate")
    let recorder = Recorder()
    let holder = Holder()
    recorder.react { _, line in
      if line.lowercased().contains(moment) { holder.release() }
    }
    let work = holder.hold(over: host.link()) {
      PeripheralManager(delegate: recorder, queue: queue, link: $0, log: { _ in })
    }
    host.say(.state(.poweredOn, nil))
    work.finish()
    let characteristic = dynamic("2A37")
    let service = MutableService(type: "180D", primary: true)
    service.characteristics = [characteristic]
    holder.manager?.add(service)
    work.finish()
    let attribute = holder.manager?.run { state, _ in state.attributeIDs[ObjectIdentifier(characteristic)] }
    let peer = LinkID(rawValue: 1)
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    host.say(
      .connected(
        ConnectedLink(peer: peer, address: .init(octets: .init(1), kind: .public), role: .peripheral, timing: timing)))
    if let attribute {
      // One batch: what comes after the release is for nobody.
      host.say(
        .server(peer, .read(host.token(), attribute, offset: 0)), .server(peer, .subscription(attribute, .notify)),
        .link(peer, .disconnected(.connectionTimeout)))
    }
    work.finish()
    #expect(holder.manager == nil)
    #expect(host.listeners == 0)
    let released = recorder.take()
    #expect(released.last?.lowercased().contains(moment) == true)
  }

  private final class Holder: Sendable {
    private let held = Mutex<PeripheralManager?>(nil)
    var manager: PeripheralManager? { held.withLock { $0 } }
    func hold(over link: ScriptedConnection, _ make: (ScriptedConnection) -> PeripheralManager) -> ManagerWork {
      let manager = make(link)
      held.withLock { $0 = manager }
      return ManagerWork(manager, over: link)
    }
    func release() {
      let manager = held.withLock { held in
        defer { held = nil }
        return held
      }
      withExtendedLifetime(manager) {}
    }
  }

  @Test func aNotificationOf513OctetsIsCutAndAValueOf513IsRefused() throws {
    let characteristic = dynamic("2A37", [.notify])
    fixture.publish(characteristic)
    fixture.subscribe(fixture.connect(1, mtu: 517), characteristic)
    #expect(fixture.manager.updateValue(Data(count: 513), for: characteristic, onSubscribedCentrals: nil))
    #expect(fixture.host.takeCommands().last?.count == "update  to all".count + 1024)
    let stored = MutableCharacteristic(
      type: "2A38", properties: [.read], storedValue: Data(count: 513), permissions: [.readable])
    let service = MutableService(type: "180F", primary: true)
    service.characteristics = [stored]
    fixture.manager.add(service)
    #expect(fixture.takeCalls().last == "didAdd 180F invalidParameters")
  }

  @Test func lengthsThatNoAttributeHasAreRefused() {
    for length in [0...513, -1...5, 3...4] {
      let service = MutableService(type: "180F", primary: true)
      service.characteristics = [
        MutableCharacteristic(
          type: "2A38", properties: [.read], storedValue: Data([1]), length: length, permissions: [.readable])
      ]
      fixture.manager.add(service)
      #expect(fixture.takeCalls() == ["didAdd 180F invalidParameters"], "\(length)")
    }
  }

  @Test func removingWhatWasNeverAddedIsLogged() {
    fixture.manager.remove(MutableService(type: "180D", primary: true))
    #expect(fixture.logged().first?.contains("is not published") == true)
    #expect(fixture.host.takeCommands() == [])
  }

  @Test func aServiceRemovedBeforeItsAnswerIsAnsweredAndGone() {
    fixture.host.answerNothing()
    let service = MutableService(type: "180D", primary: true)
    fixture.manager.add(service)
    guard case .services(.add(let definition))? = fixture.host.commands.first else { return #expect(Bool(false)) }
    fixture.manager.remove(service)
    #expect(fixture.host.takeCommands() == ["add 180D", "remove"])
    fixture.say(.services(.added(definition.id, .failure(.duplicateService(definition.id)))))
    fixture.say(.services(.removed(definition.id, .failure(.unknownService(definition.id)))))
    #expect(fixture.takeCalls() == ["didAdd 180D invalidParameters"])
    #expect(fixture.logged() == [])
  }

  @Test func aManyLinkedProgramMayUseTheManagerFromManyThreads() {
    let characteristic = dynamic("2A37")
    fixture.publish(characteristic)
    let centrals = (1...8).map { fixture.connect(UInt32($0)) }
    for central in centrals { fixture.subscribe(central, characteristic) }
    fixture.recorder.answer(nil)
    for central in centrals { fixture.read(central, characteristic) }
    let requests = fixture.recorder.requests
    let manager = fixture.manager
    _ = fixture.host.takeCommands()
    DispatchQueue.concurrentPerform(iterations: 512) { number in
      manager.respond(to: requests[number % 8], withResult: .success)
      manager.updateValue(Data([1]), for: characteristic, onSubscribedCentrals: [centrals[number % 8]])
      characteristic.value = Data([UInt8(truncatingIfNeeded: number)])
      _ = manager.isAdvertising
    }
    let commands = fixture.host.takeCommands()
    #expect(commands.count { $0.hasPrefix("respond") } == 8)
    #expect(commands.count { $0.hasPrefix("update") } == 8 * 32)
    #expect(fixture.logged().count == 504)
  }

  @Test func eventsForUnknownLinksAndAttributesAreNobodysBusiness() {
    let stranger = LinkID(rawValue: 99)
    fixture.host.say(
      .link(stranger, .mtu(100)), .link(stranger, .disconnected(.connectionTimeout)),
      .link(stranger, .rssi(.success(1))),
      .server(stranger, .read(fixture.host.token(), .init(rawValue: 5), offset: 0)),
      .server(stranger, .write(fixture.host.token(), [])),
      .server(stranger, .subscription(.init(rawValue: 5), .notify)),
      .server(stranger, .updateFinished(UpdateToken(rawValue: 5))),
      .server(stranger, .requestTimedOut(fixture.host.token())), .server(stranger, .stored(.init(rawValue: 5), [])),
      .advertising(.init(rawValue: 5), .started(.success(()))),
      .services(.removed(.init(rawValue: 5), .failure(.unknownService(.init(rawValue: 5))))))
    #expect(fixture.takeCalls() == [])
    #expect(fixture.host.takeCommands() == [])
    #expect(fixture.logged() == [])
  }

  /// Otherwise its delegate would wait for an answer that nobody gives.
  @Test func aCommandThatTheHostDoesNotTakeIsTheErrorOfItsCall() {
    fixture.host.makeRoom(0)
    fixture.manager.startAdvertising([AdvertisementDataLocalNameKey: "Hi"])
    fixture.manager.publishL2CAPChannel(withEncryption: false)
    let calls = fixture.takeCalls()
    #expect(calls.count == 2 && calls[0].hasPrefix("didStart ") && calls[1].hasPrefix("didPublish "), "\(calls)")
    #expect(fixture.recorder.lastText.contains("more than 4096 commands waiting for the host at once"))
    fixture.host.makeRoom(nil)
    fixture.manager.startAdvertising([AdvertisementDataLocalNameKey: "Hi"])
    #expect(fixture.takeCalls() == ["didStart"])
  }

  @Test func diagnosticsAndRefusalsGoToTheLog() {
    fixture.say(.diagnostic(Diagnostic(.controller, "sent garbage")))
    fixture.say(.refused(.tooMany("commands", limit: 3)))
    #expect(fixture.logged() == ["controller: sent garbage", "more than 3 commands at once"])
  }
}
