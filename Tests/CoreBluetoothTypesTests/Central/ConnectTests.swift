import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BluetoothLE
import EngineFixtures
import Testing

@testable import CoreBluetoothTypes

/// Rules 6.4 to 6.7 and 6.18: links as the central makes them.
@Suite struct ConnectTests {
  private let peer = PeerID(rawValue: 1)

  @Test func rule6_4_connectAnswersWhenTheLinkIsUp() throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    stage.manager.connect(peripheral)
    #expect(stage.posted() == ["connect 1"])
    #expect(peripheral.state == .connecting)
    stage.manager.connect(peripheral)
    #expect(stage.posted() == [], "one command is enough")
    stage.linkUp(1)
    #expect(stage.heard() == ["connected"])
    #expect(peripheral.state == .connected)
    stage.manager.connect(peripheral)
    #expect(stage.heard() == ["connected"], "it is connected already, which is an answer too")
  }

  @Test(arguments: [
    (HostError.controller(.leCreateConnection, .connectionFailedToBeEstablished), "connectionFailed"),
    (.controller(.leCreateConnection, .connectionLimitExceeded), "connectionLimitReached"),
    (.tooMany("pending connections", limit: 16), "connectionLimitReached"),
    (.invalidParameters("connected already"), "invalidParameters"),
  ])
  func rule6_4_orItFails(error: HostError, code: String) throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    stage.manager.connect(peripheral)
    stage.say(.connectionFailed(try #require(stage.lastConnectRequest()), error))
    #expect(stage.heard() == ["failed \(code)"])
    #expect(peripheral.state == .disconnected)
    stage.manager.connect(peripheral)
    #expect(stage.posted() == ["connect 1", "connect 1"])
  }

  @Test func rule6_4_givingUpAPendingConnectionIsADisconnectionWithoutError() throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    stage.manager.connect(peripheral)
    stage.manager.cancelPeripheralConnection(peripheral)
    #expect(stage.posted() == ["connect 1", "cancel connect"])
    stage.say(.connectionFailed(try #require(stage.lastConnectRequest()), .cancelled))
    #expect(stage.heard() == ["disconnected"])
    #expect(peripheral.state == .disconnected)
    stage.manager.cancelPeripheralConnection(peripheral)
    #expect(stage.posted() == [])
  }

  @Test func rule6_4_aLinkThatComesUpWhileItIsGivenUpIsEnded() throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    stage.manager.connect(peripheral)
    stage.manager.cancelPeripheralConnection(peripheral)
    stage.linkUp(1)
    #expect(stage.heard() == [])
    #expect(stage.posted() == ["connect 1", "cancel connect", "release 1"])
    stage.say(.disconnected(peer, .terminatedByLocalHost))
    #expect(stage.heard() == ["disconnected"])
  }

  @Test func rule6_5_ourOwnEndHasNoError() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    stage.manager.cancelPeripheralConnection(peripheral)
    #expect(peripheral.state == .disconnecting)
    #expect(stage.posted() == ["release 1"])
    stage.say(.disconnected(peer, .terminatedByLocalHost))
    #expect(stage.heard() == ["disconnected"])
    #expect(peripheral.state == .disconnected)
  }

  @Test func connectingWhileItEndsFollowsTheEnd() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    stage.manager.cancelPeripheralConnection(peripheral)
    stage.manager.connect(peripheral)
    #expect(stage.posted() == ["release 1"])
    stage.say(.disconnected(peer, .terminatedByLocalHost))
    #expect(stage.heard() == ["disconnected"])
    #expect(stage.posted() == ["connect 1"])
    #expect(peripheral.state == .connecting)
  }

  @Test(arguments: [
    (HCIErrorCode.connectionTimeout, "connectionTimeout"), (.linkLayerResponseTimeout, "connectionTimeout"),
    (.remoteUserTerminatedConnection, "peripheralDisconnected"),
    (.remoteDeviceTerminatedPowerOff, "peripheralDisconnected"),
    (.connectionFailedToBeEstablished, "connectionFailed"), (.pinOrKeyMissing, "peerRemovedPairingInformation"),
    (.terminatedMICFailure, "encryptionTimedOut"), (.unspecifiedError, "unknown"),
    (.terminatedByLocalHost, "unknown"),
  ])
  func rule6_5_otherEndsHaveTheirCause(reason: HCIErrorCode, code: String) throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    stage.say(.disconnected(peer, reason))
    #expect(stage.heard() == ["disconnected \(code)"])
    #expect(peripheral.state == .disconnected)
  }

  @Test func rule6_5_whatWaitsFailsBeforeAndNothingComesAfter() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    let characteristic = try #require(stage.discover(peripheral, [("2A37", [.read, .write, .notify])]).first)
    peripheral.readValue(for: characteristic)
    peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
    peripheral.readRSSI()
    let operations = stage.commands()
    stage.say(.disconnected(peer, .connectionTimeout))
    #expect(
      stage.heard() == [
        "value 2A37 - connectionTimeout", "wrote 2A37 connectionTimeout", "rssi 127 connectionTimeout",
        "disconnected connectionTimeout",
      ])
    for case .client(let peer, let operation) in operations {
      stage.say(.client(peer, .finished(operation.id, .success(.value([1])))))
    }
    stage.say(.client(peer, .notification(3, [1])), .rssi(peer, .success(-3)), .mtu(peer, 100))
    #expect(stage.heard() == [])
  }

  @Test func rule6_5_theHostEndsOperationsFirstAndTheReasonIsStillTold() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    peripheral.discoverServices(nil)
    stage.answer(.failure(.linkEnded))
    #expect(stage.heard() == [])
    stage.say(.disconnected(peer, .remoteUserTerminatedConnection))
    #expect(stage.heard() == ["services  peripheralDisconnected", "disconnected peripheralDisconnected"])
  }

  @Test func rule6_5_everythingFoundIsVoidOnTheNextConnection() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    let characteristic = try #require(stage.discover(peripheral, [("2A37", [.notify])]).first)
    let service = try #require(peripheral.services?.first)
    characteristic.isNotifying = true
    stage.say(.disconnected(peer, .connectionTimeout))
    #expect(!characteristic.isNotifying)
    stage.manager.connect(peripheral)
    stage.linkUp(1, peer: 2)
    #expect(peripheral.services == nil)
    _ = stage.posted()
    peripheral.readValue(for: characteristic)
    peripheral.discoverCharacteristics(nil, for: service)
    #expect(stage.posted() == [])
    #expect(stage.logged().count { $0.contains("discover it again") } == 2)
  }

  @Test func rule6_6_itReconnectsByItselfWhenRequested() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1, options: [ConnectPeripheralOptionEnableAutoReconnect: true])
    stage.say(.disconnected(peer, .connectionTimeout))
    #expect(stage.heard() == ["disconnected connectionTimeout"])
    #expect(stage.posted() == ["connect 1"])
    #expect(peripheral.state == .connecting)
    stage.linkUp(1, peer: 2)
    #expect(stage.heard() == ["connected"])
    stage.manager.cancelPeripheralConnection(peripheral)
    stage.say(.disconnected(PeerID(rawValue: 2), .terminatedByLocalHost))
    #expect(stage.heard() == ["disconnected"])
    #expect(peripheral.state == .disconnected, "what the application ended stays ended")
  }

  @Test func rule6_6_theLongFormIsCalledInsteadOfTheShortOne() throws {
    final class Long: NSObject, CentralManagerDelegate, Sendable {
      let lines = Lines()
      func centralManagerDidUpdateState(_ central: CentralManager) {}
      func centralManager(
        _ central: CentralManager, didDisconnectPeripheral peripheral: Peripheral, timestamp: CFAbsoluteTime,
        isReconnecting: Bool, error: (any Error)?
      ) {
        let age = Date().timeIntervalSinceReferenceDate - timestamp
        lines.append("long \(isReconnecting) \((0..<60).contains(age))")
      }
      func centralManager(
        _ central: CentralManager, didDisconnectPeripheral peripheral: Peripheral, error: (any Error)?
      ) {
        lines.append("short")
      }
    }
    let stage = CentralStage()
    let delegate = Long()
    let peripheral = try stage.connect(1, options: [ConnectPeripheralOptionEnableAutoReconnect: true])
    stage.manager.delegate = delegate
    stage.say(.disconnected(peer, .connectionTimeout))
    #expect(delegate.lines.take() == ["long true true"])
    #expect(peripheral.state == .connecting)
  }

  @Test(arguments: [1.5, -1, 100_000] as [Double])
  func aStartDelayIsAWholeNumberOfSeconds(delay: Double) throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    stage.manager.connect(peripheral, options: [ConnectPeripheralOptionStartDelayKey: NSNumber(value: delay)])
    #expect(stage.heard() == ["failed invalidParameters"])
    #expect(stage.posted() == [])
  }

  @Test func aStartDelayIsKept() throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    stage.manager.connect(peripheral, options: [ConnectPeripheralOptionStartDelayKey: 3600])
    #expect(stage.posted() == [])
    #expect(peripheral.state == .connecting)
    // The hour passes at once.
    let request = try #require(stage.manager.run { state, _ in state.pendingConnections.keys.first })
    stage.manager.run { $0.start(request, into: &$1) }
    #expect(stage.posted() == ["connect 1"])
    stage.manager.cancelPeripheralConnection(peripheral)
    stage.say(.connectionFailed(request, .cancelled))
    _ = stage.posted()

    stage.manager.connect(peripheral, options: [ConnectPeripheralOptionStartDelayKey: 3600])
    stage.manager.cancelPeripheralConnection(peripheral)
    #expect(stage.heard() == ["disconnected", "disconnected"])
    #expect(stage.posted() == [])
  }

  @Test func rule6_9_aPeripheralOfAnotherManagerIsNone() throws {
    let stage = CentralStage()
    let foreign = try CentralStage().find(1)
    stage.manager.connect(foreign)
    stage.manager.cancelPeripheralConnection(foreign)
    #expect(stage.posted() == [])
    #expect(stage.logged().count { $0.contains("is not a valid peripheral") } == 2)
  }

  @Test func rule6_17_connectedDevicesAreRetrievedByService() throws {
    let stage = CentralStage()
    let mine = try stage.connect(1)
    _ = try stage.discover(mine, [])
    // Another manager of the process made this link; the device said that it has a battery.
    let other = try stage.find(2, "03030f18")
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    stage.say(
      .connected(
        Connection(peer: PeerID(rawValue: 9), address: CentralStage.address(2), role: .central, timing: timing)))
    #expect(stage.manager.retrieveConnectedPeripherals(withServices: ["180D"]) == [mine])
    #expect(stage.manager.retrieveConnectedPeripherals(withServices: ["180F"]) == [other])
    #expect(stage.manager.retrieveConnectedPeripherals(withServices: ["180A"]) == [])
    #expect(other.state == .disconnected, "it needs a connect of its own")
    stage.say(.disconnected(PeerID(rawValue: 9), .connectionTimeout))
    #expect(stage.manager.retrieveConnectedPeripherals(withServices: ["180F"]) == [])
    #expect(stage.heard() == [])
  }

  @Test func rule6_18_connectionEventsWhenRequested() throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1, "03030f18")
    stage.manager.registerForConnectionEvents(options: [.serviceUUIDs: [BluetoothUUID("180F")]])
    stage.manager.connect(peripheral)
    stage.linkUp(1)
    stage.say(.disconnected(peer, .connectionTimeout))
    #expect(
      stage.heard() == [
        "connected", "event peerConnected", "disconnected connectionTimeout", "event peerDisconnected",
      ])
    stage.manager.registerForConnectionEvents(options: [.peripheralUUIDs: [UUID()]])
    stage.manager.connect(peripheral)
    stage.linkUp(1, peer: 2)
    #expect(stage.heard() == ["connected"])
    stage.manager.registerForConnectionEvents(options: [.serviceUUIDs: (0..<5).map { BluetoothUUID($0) }])
    #expect(stage.logged().contains { $0.contains("four at most") })
  }

  /// The host shares a link that another manager made: this one has its MTU, and one event for it.
  @Test func sharesTheLinkOfAnotherManager() throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1, "03030f18")
    stage.manager.registerForConnectionEvents(options: [.serviceUUIDs: [BluetoothUUID("180F")]])
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    let theirs = Connection(
      peer: peer, address: CentralStage.address(1), role: .central, timing: timing,
      request: ConnectID(rawValue: 0xFFFF_FFFE))
    stage.say(.connected(theirs), .mtu(peer, 185))
    stage.manager.connect(peripheral)
    stage.linkUp(1, peer: peer.rawValue)
    #expect(stage.heard() == ["event peerConnected", "connected"])
    #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) == 182)
    _ = stage.posted()
    stage.manager.cancelPeripheralConnection(peripheral)
    #expect(stage.posted() == ["release \(peer.rawValue)"])
    stage.say(.disconnected(peer, .terminatedByLocalHost))
    #expect(stage.heard() == ["disconnected", "event peerDisconnected"])
  }

  @Test func aCentralThatConnectsToUsIsNoPeripheral() {
    let stage = CentralStage()
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    stage.say(
      .connected(Connection(peer: peer, address: CentralStage.address(1), role: .peripheral, timing: timing)),
      .disconnected(peer, .connectionTimeout))
    #expect(stage.heard() == [])
  }
}
