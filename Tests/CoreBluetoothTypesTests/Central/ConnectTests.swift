import AdapterFixtures
import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BluetoothLE
import TestSupport
import Testing

@testable import CoreBluetoothTypes

/// Rules 6.4 to 6.7 and 6.18: links as the central makes them.
@Suite struct ConnectTests {
  private let peer = LinkID(rawValue: 1)

  @Test("6.4 connect has no timeout")
  func connectAnswersWhenTheLinkIsUp() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    fixture.manager.connect(peripheral)
    #expect(fixture.posted() == ["connect 1"])
    #expect(peripheral.state == .connecting)
    fixture.manager.connect(peripheral)
    #expect(fixture.posted() == [], "one command is enough")
    fixture.linkUp(1)
    #expect(fixture.takeCalls() == ["connected"])
    #expect(peripheral.state == .connected)
    fixture.manager.connect(peripheral)
    #expect(fixture.takeCalls() == ["connected"], "it is connected already, which is an answer too")
  }

  /// Otherwise the peripheral would be connecting for ever.
  @Test func aCommandThatTheHostDoesNotTakeIsTheErrorOfItsCall() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    fixture.host.makeRoom(0)
    fixture.manager.connect(peripheral)
    #expect(fixture.takeCalls() == ["failed connectionLimitReached"])
    #expect(peripheral.state == .disconnected && fixture.posted().isEmpty)
    fixture.manager.scanForPeripherals(withServices: nil)
    #expect(!fixture.manager.isScanning)
    fixture.host.makeRoom(nil)
    fixture.manager.connect(peripheral)
    #expect(fixture.posted() == ["connect 1"])
    fixture.linkUp(1)
    _ = fixture.takeCalls()
    fixture.host.makeRoom(0)
    peripheral.readRSSI()
    #expect(fixture.takeCalls().count == 1)
  }

  @Test(arguments: [
    (HostError.controller(.leCreateConnection, .invalidCommandParameters), "connectionFailed"),
    (.controller(.leCreateConnection, .connectionLimitExceeded), "connectionLimitReached"),
    (.tooMany("pending connections", limit: 16), "connectionLimitReached"),
    (.invalidParameters("connected already"), "invalidParameters"),
  ])
  func orItFails(error: HostError, code: String) throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    fixture.manager.connect(peripheral)
    fixture.say(.connectionFailed(try #require(fixture.lastConnectRequest()), error))
    #expect(fixture.takeCalls() == ["failed \(code)"])
    #expect(peripheral.state == .disconnected)
    fixture.manager.connect(peripheral)
    #expect(fixture.posted() == ["connect 1", "connect 1"])
  }

  @Test("6.4 An attempt that fails is not the end of a pending connection")
  func anAttemptThatFailsIsRepeated() async throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    fixture.manager.connect(peripheral)
    let first = try #require(fixture.lastConnectRequest())
    fixture.say(.connectionFailed(first, .controller(.leCreateConnection, .connectionFailedToBeEstablished)))
    #expect(fixture.takeCalls().isEmpty && peripheral.state == .connecting)
    #expect(fixture.posted() == ["connect 1"], "the second attempt is after a second")
    var again: [String] = []
    try await until {
      again = fixture.posted()
      return !again.isEmpty
    }
    #expect(again == ["connect 1"])
    fixture.linkUp(1)
    #expect(fixture.takeCalls() == ["connected"])
  }

  @Test("6.4 Cancelling a pending connection is a disconnection without an error")
  func givingUpAPendingConnectionIsADisconnectionWithoutError() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    fixture.manager.connect(peripheral)
    fixture.manager.cancelPeripheralConnection(peripheral)
    #expect(fixture.posted() == ["connect 1", "cancel connect"])
    fixture.say(.connectionFailed(try #require(fixture.lastConnectRequest()), .cancelled))
    #expect(fixture.takeCalls() == ["disconnected"])
    #expect(peripheral.state == .disconnected)
    fixture.manager.cancelPeripheralConnection(peripheral)
    #expect(fixture.posted() == [])
  }

  @Test func aLinkThatComesUpWhileItIsGivenUpIsEnded() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    fixture.manager.connect(peripheral)
    fixture.manager.cancelPeripheralConnection(peripheral)
    fixture.linkUp(1)
    #expect(fixture.takeCalls() == [])
    #expect(fixture.posted() == ["connect 1", "cancel connect", "release 1"])
    fixture.say(.link(peer, .disconnected(.terminatedByLocalHost)))
    #expect(fixture.takeCalls() == ["disconnected"])
  }

  @Test("6.5 The end that the program requested has no error")
  func ourOwnEndHasNoError() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    fixture.manager.cancelPeripheralConnection(peripheral)
    #expect(peripheral.state == .disconnecting)
    #expect(fixture.posted() == ["release 1"])
    fixture.say(.link(peer, .disconnected(.terminatedByLocalHost)))
    #expect(fixture.takeCalls() == ["disconnected"])
    #expect(peripheral.state == .disconnected)
  }

  @Test func connectingWhileItEndsFollowsTheEnd() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    fixture.manager.cancelPeripheralConnection(peripheral)
    fixture.manager.connect(peripheral)
    #expect(fixture.posted() == ["release 1"])
    fixture.say(.link(peer, .disconnected(.terminatedByLocalHost)))
    #expect(fixture.takeCalls() == ["disconnected"])
    #expect(fixture.posted() == ["connect 1"])
    #expect(peripheral.state == .connecting)
  }

  @Test(
    "6.5, 6.7 Other ends have the error of their cause",
    arguments: [
      (HCIErrorCode.connectionTimeout, "connectionTimeout"), (.linkLayerResponseTimeout, "connectionTimeout"),
      (.remoteUserTerminatedConnection, "peripheralDisconnected"),
      (.remoteDeviceTerminatedPowerOff, "peripheralDisconnected"),
      (.connectionFailedToBeEstablished, "connectionFailed"), (.pinOrKeyMissing, "peerRemovedPairingInformation"),
      (.terminatedMICFailure, "encryptionTimedOut"), (.unspecifiedError, "unknown"),
      (.terminatedByLocalHost, "unknown"),
    ])
  func otherEndsHaveTheirCause(reason: HCIErrorCode, code: String) throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    fixture.say(.link(peer, .disconnected(reason)))
    #expect(fixture.takeCalls() == ["disconnected \(code)"])
    #expect(peripheral.state == .disconnected)
  }

  @Test("6.5 Operations that wait fail before the disconnection, and nothing follows it")
  func whatWaitsFailsBeforeAndNothingComesAfter() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    let characteristic = try #require(fixture.discover(peripheral, [("2A37", [.read, .write, .notify])]).first)
    peripheral.readValue(for: characteristic)
    peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
    peripheral.readRSSI()
    let operations = fixture.commands()
    fixture.say(.link(peer, .disconnected(.connectionTimeout)))
    #expect(
      fixture.takeCalls() == [
        "value 2A37 - connectionTimeout", "wrote 2A37 connectionTimeout", "rssi 127 connectionTimeout",
        "disconnected connectionTimeout",
      ])
    for case .link(let peer, .client(let operation)) in operations {
      fixture.say(.client(peer, .finished(operation.id, .success(.value([1])))))
    }
    fixture.say(.client(peer, .notification(3, [1])), .link(peer, .rssi(.success(-3))), .link(peer, .mtu(100)))
    #expect(fixture.takeCalls() == [])
  }

  @Test func theHostEndsOperationsFirstAndTheReasonIsStillTold() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    peripheral.discoverServices(nil)
    fixture.answer(.failure(.linkEnded))
    #expect(fixture.takeCalls() == [])
    fixture.say(.link(peer, .disconnected(.remoteUserTerminatedConnection)))
    #expect(fixture.takeCalls() == ["services  peripheralDisconnected", "disconnected peripheralDisconnected"])
  }

  @Test("6.5 What was found is void on the next connection")
  func everythingFoundIsVoidOnTheNextConnection() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    let characteristic = try #require(fixture.discover(peripheral, [("2A37", [.notify])]).first)
    let service = try #require(peripheral.services?.first)
    characteristic.isNotifying = true
    fixture.say(.link(peer, .disconnected(.connectionTimeout)))
    #expect(!characteristic.isNotifying)
    #expect(peripheral.services == [service] && service.characteristics == [characteristic], "until the next link")
    peripheral.readValue(for: characteristic)
    #expect(fixture.posted() == [] && fixture.logged().count == 1)
    fixture.manager.connect(peripheral)
    #expect(peripheral.services == [service])
    fixture.linkUp(1, peer: 2)
    #expect(peripheral.services == nil)
    _ = fixture.posted()
    peripheral.readValue(for: characteristic)
    peripheral.discoverCharacteristics(nil, for: service)
    #expect(fixture.posted() == [])
    #expect(fixture.logged().count { $0.contains("discover it again") } == 2)
  }

  @Test("6.6 The connection is made again where the option says so")
  func itReconnectsByItselfWhenRequested() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1, options: [ConnectPeripheralOptionEnableAutoReconnect: true])
    fixture.say(.link(peer, .disconnected(.connectionTimeout)))
    #expect(fixture.takeCalls() == ["disconnected connectionTimeout"])
    #expect(fixture.posted() == ["connect 1"])
    #expect(peripheral.state == .connecting)
    fixture.linkUp(1, peer: 2)
    #expect(fixture.takeCalls() == ["connected"])
    fixture.manager.cancelPeripheralConnection(peripheral)
    fixture.say(.link(LinkID(rawValue: 2), .disconnected(.terminatedByLocalHost)))
    #expect(fixture.takeCalls() == ["disconnected"])
    #expect(peripheral.state == .disconnected, "what the application ended stays ended")
  }

  @Test("6.6 The form with the timestamp is called instead of the short one")
  func theLongFormIsCalledInsteadOfTheShortOne() throws {
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
    let fixture = CentralFixture()
    let delegate = Long()
    let peripheral = try fixture.connect(1, options: [ConnectPeripheralOptionEnableAutoReconnect: true])
    fixture.manager.delegate = delegate
    fixture.say(.link(peer, .disconnected(.connectionTimeout)))
    #expect(delegate.lines.take() == ["long true true"])
    #expect(peripheral.state == .connecting)
  }

  @Test(arguments: [1.5, -1, 100_000] as [Double])
  func aStartDelayIsAWholeNumberOfSeconds(delay: Double) throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    fixture.manager.connect(peripheral, options: [ConnectPeripheralOptionStartDelayKey: NSNumber(value: delay)])
    #expect(fixture.takeCalls() == ["failed invalidParameters"])
    #expect(fixture.posted() == [])
  }

  @Test func aStartDelayIsKept() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    fixture.manager.connect(peripheral, options: [ConnectPeripheralOptionStartDelayKey: 3600])
    #expect(fixture.posted() == [])
    #expect(peripheral.state == .connecting)
    // The hour passes at once.
    let request = try #require(fixture.manager.run { state, _ in state.pendingConnections.keys.first })
    fixture.manager.run { $0.start(request, into: &$1) }
    #expect(fixture.posted() == ["connect 1"])
    fixture.manager.cancelPeripheralConnection(peripheral)
    fixture.say(.connectionFailed(request, .cancelled))
    _ = fixture.posted()

    fixture.manager.connect(peripheral, options: [ConnectPeripheralOptionStartDelayKey: 3600])
    fixture.manager.cancelPeripheralConnection(peripheral)
    #expect(fixture.takeCalls() == ["disconnected", "disconnected"])
    #expect(fixture.posted() == [])
  }

  @Test func aPeripheralOfAnotherManagerIsNone() throws {
    let fixture = CentralFixture()
    let foreign = try CentralFixture().find(1)
    fixture.manager.connect(foreign)
    fixture.manager.cancelPeripheralConnection(foreign)
    #expect(fixture.posted() == [])
    #expect(fixture.logged().count { $0.contains("is not a valid peripheral") } == 2)
  }

  @Test("6.17 Connected devices are retrieved by service, and need their own connect")
  func connectedDevicesAreRetrievedByService() throws {
    let fixture = CentralFixture()
    let mine = try fixture.connect(1)
    _ = try fixture.discover(mine, [])
    // Another manager of the process made this link; the device said that it has a battery.
    let other = try fixture.find(2, "03030f18")
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    fixture.say(
      .connected(
        ConnectedLink(peer: LinkID(rawValue: 9), address: CentralFixture.address(2), role: .central, timing: timing)))
    #expect(fixture.manager.retrieveConnectedPeripherals(withServices: ["180D"]) == [mine])
    #expect(fixture.manager.retrieveConnectedPeripherals(withServices: ["180F"]) == [other])
    #expect(fixture.manager.retrieveConnectedPeripherals(withServices: ["180A"]) == [])
    #expect(other.state == .disconnected, "it needs a connect of its own")
    fixture.say(.link(LinkID(rawValue: 9), .disconnected(.connectionTimeout)))
    #expect(fixture.manager.retrieveConnectedPeripherals(withServices: ["180F"]) == [])
    #expect(fixture.takeCalls() == [])
  }

  @Test("6.18 Connection events come for four services at most")
  func connectionEventsWhenRequested() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1, "03030f18")
    fixture.manager.registerForConnectionEvents(options: [.serviceUUIDs: [BluetoothUUID("180F")]])
    fixture.manager.connect(peripheral)
    fixture.linkUp(1)
    fixture.say(.link(peer, .disconnected(.connectionTimeout)))
    #expect(
      fixture.takeCalls() == [
        "connected", "event peerConnected", "disconnected connectionTimeout", "event peerDisconnected",
      ])
    fixture.manager.registerForConnectionEvents(options: [.peripheralUUIDs: [UUID()]])
    fixture.manager.connect(peripheral)
    fixture.linkUp(1, peer: 2)
    #expect(fixture.takeCalls() == ["connected"])
    fixture.manager.registerForConnectionEvents(options: [.serviceUUIDs: (0..<4).map { BluetoothUUID($0) }])
    #expect(fixture.logged() == [])
    fixture.manager.registerForConnectionEvents(options: [.serviceUUIDs: (0..<5).map { BluetoothUUID($0) }])
    #expect(fixture.logged().contains { $0.contains("four at most") })
  }

  @Test func whatIsNoOptionOfConnectionEventsIsLogged() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1, "03030f18")
    fixture.manager.registerForConnectionEvents(options: [
      .serviceUUIDs: "180F", .peripheralUUIDs: [peripheral.identifier.uuidString], .init(rawValue: "mine"): 1,
    ])
    #expect(
      fixture.logged() == [
        "API MISUSE: CBCentralManager: registerForConnectionEvents: the option kCBConnectionEventMatchingOptionPeripheralUUIDs takes an array of UUID, not Array<String>, and is ignored",
        "API MISUSE: CBCentralManager: registerForConnectionEvents: the option kCBConnectionEventMatchingOptionServiceUUIDs takes an array of CBUUID, not String, and is ignored",
        "API MISUSE: CBCentralManager: registerForConnectionEvents: the option mine is not known, and is ignored",
      ])
    fixture.manager.connect(peripheral)
    fixture.linkUp(1)
    #expect(fixture.takeCalls() == ["connected"])
  }

  /// What another manager has learned of a device counts, too.
  @Test func connectionEventsGoByTheServicesThatTheAdapterKnows() throws {
    let fixture = CentralFixture()
    fixture.host.hub.devices.note(.seen(CentralFixture.address(1), name: nil, services: ["180F"]))
    fixture.manager.registerForConnectionEvents(options: [.serviceUUIDs: [CBUUID(string: "180F")]])
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    fixture.say(
      .connected(ConnectedLink(peer: peer, address: CentralFixture.address(1), role: .central, timing: timing)))
    fixture.say(.link(peer, .disconnected(.connectionTimeout)))
    #expect(fixture.takeCalls() == ["event peerConnected", "event peerDisconnected"])
  }

  @Test("6.17 Devices of other programs are retrieved, and need their own connect")
  func aDeviceOfAnotherProgramIsRetrieved() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1, "03030f18")
    fixture.manager.registerForConnectionEvents(options: [.serviceUUIDs: [CBUUID(string: "180F")]])
    fixture.say(.foreignLink(CentralFixture.address(1), isUp: true))
    #expect(fixture.manager.retrieveConnectedPeripherals(withServices: ["180F"]) == [peripheral])
    #expect(peripheral.state == .disconnected)
    fixture.manager.connect(peripheral)
    #expect(fixture.posted() == ["connect 1"])
    fixture.say(.foreignLink(CentralFixture.address(1), isUp: false))
    #expect(fixture.manager.retrieveConnectedPeripherals(withServices: ["180F"]) == [])
    #expect(fixture.takeCalls() == ["event peerConnected", "event peerDisconnected"])
  }

  /// Linux has no Apple Notification Center Service.
  @Test func aConnectionThatRequiresANCSFailsAndIsLoggedOnce() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    for _ in 0..<2 {
      fixture.manager.connect(peripheral, options: [CBConnectPeripheralOptionRequiresANCS: true])
      #expect(fixture.takeCalls() == ["failed operationNotSupported"])
    }
    #expect(fixture.posted() == [] && !peripheral.ancsAuthorized)
    #expect(fixture.logged().count { $0.contains("no Apple Notification Center Service") } == 1)
    fixture.manager.connect(peripheral, options: [CBConnectPeripheralOptionRequiresANCS: false])
    #expect(fixture.posted() == ["connect 1"])
  }

  /// The host shares a link that another manager made: this one has its MTU, and one event for it.
  @Test func sharesTheLinkOfAnotherManager() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1, "03030f18")
    fixture.manager.registerForConnectionEvents(options: [.serviceUUIDs: [BluetoothUUID("180F")]])
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    let theirs = ConnectedLink(
      peer: peer, address: CentralFixture.address(1), role: .central, timing: timing,
      request: ConnectID(rawValue: 0xFFFF_FFFE))
    fixture.say(.connected(theirs), .link(peer, .mtu(185)))
    fixture.manager.connect(peripheral)
    fixture.linkUp(1, peer: peer.rawValue)
    #expect(fixture.takeCalls() == ["event peerConnected", "connected"])
    #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) == 182)
    _ = fixture.posted()
    fixture.manager.cancelPeripheralConnection(peripheral)
    #expect(fixture.posted() == ["release \(peer.rawValue)"])
    fixture.say(.link(peer, .disconnected(.terminatedByLocalHost)))
    #expect(fixture.takeCalls() == ["disconnected", "event peerDisconnected"])
  }

  @Test func aCentralThatConnectsToUsIsNoPeripheral() {
    let fixture = CentralFixture()
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    fixture.say(
      .connected(ConnectedLink(peer: peer, address: CentralFixture.address(1), role: .peripheral, timing: timing)),
      .link(peer, .disconnected(.connectionTimeout)))
    #expect(fixture.takeCalls() == [])
  }
}
