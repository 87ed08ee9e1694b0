import AdapterFixtures
import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEWire
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// What CoreBluetooth does not tell: who is connected, why a link ended, its timing and strength.
@Suite struct LinkTests {
  private let fixture = PeripheralFixture()

  @Test func centralsComeAndGoWithTheReason() {
    let first = fixture.connect(1)
    let second = fixture.connect(2)
    #expect(fixture.manager.connectedCentrals == [first, second])
    #expect(first.isConnected && first.maximumUpdateValueLength == 20 && !first.isEncrypted)
    fixture.say(.link(first.peer, .disconnected(.connectionTimeout)))
    #expect(!first.isConnected && fixture.manager.connectedCentrals == [second])
    #expect(fixture.takeCalls() == ["didConnect 1", "didConnect 2", "didDisconnect 1 0x8"])
  }

  private func address(_ number: UInt64) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + number), kind: .random)
  }

  /// A second link with the address of the first, which the host has given no name of its own.
  private func claim(_ number: UInt64, as peer: UInt32) throws -> Central {
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    let name = LinkID(rawValue: peer)
    fixture.say(.connected(ConnectedLink(peer: name, address: address(number), role: .peripheral, timing: timing)))
    return try #require(fixture.manager.connectedCentrals.first { $0.peer == name })
  }

  /// Somebody with the address of a connected central is another central: nothing for the one goes to the other.
  @Test func aValueForOneCentralGoesToItsLinkAlone() throws {
    let characteristic = dynamic("2A37")
    fixture.publish(characteristic)
    let victim = fixture.connect(7)
    let stranger = try claim(7, as: 66)
    #expect(victim != stranger && victim.hash != stranger.hash && victim.identifier != stranger.identifier)
    #expect(fixture.manager.connectedCentrals.count == 2)
    for central in [victim, stranger] { fixture.subscribe(central, characteristic) }
    #expect(characteristic.subscribedCentrals?.count == 2)
    _ = fixture.host.takeCommands()
    for (central, name) in [(victim, 7), (stranger, 66)] {
      _ = fixture.manager.updateValue(Data([1]), for: characteristic, onSubscribedCentrals: [central])
      #expect(fixture.host.takeCommands() == ["update 01 to [\(name)]"])
    }
    // What the first leaves behind is not the second's.
    fixture.say(.link(victim.peer, .disconnected(.connectionTimeout)))
    #expect(stranger.isConnected && fixture.manager.connectedCentrals == [stranger])
    #expect(fixture.connect(7).identifier == victim.identifier)
  }

  /// The second one proves that it is the device: its link is the device's from then on, with what it had subscribed
  /// to.
  @Test func aCentralThatHasProvenItsIdentityIsTheDevice() throws {
    let characteristic = dynamic("2A37")
    fixture.publish(characteristic)
    let before = fixture.connect(7)
    let unknown = try claim(7, as: 66)
    fixture.subscribe(unknown, characteristic)
    let token = fixture.host.token()
    fixture.recorder.answer(nil)
    fixture.say(.server(unknown.peer, .read(token, fixture.attribute(characteristic), offset: 0)))
    _ = fixture.takeCalls()
    fixture.say(.link(before.peer, .disconnected(.terminatedByLocalHost)))
    fixture.say(.link(unknown.peer, .identified(address(7))))
    #expect(
      fixture.takeCalls() == [
        "didDisconnect 7 0x16", "didUnsubscribe 66 2A37", "didIdentify 66 as another", "didSubscribe 66 2A37",
      ])
    let device = try #require(fixture.manager.connectedCentrals.first)
    #expect(device == before && device != unknown && device.isConnected && !unknown.isConnected)
    #expect(fixture.manager.connectedCentrals.count == 1 && characteristic.subscribedCentrals == [device])
    // A request that it made before is its own still; the object that is void gets no more values.
    _ = fixture.host.takeCommands()
    let request = try #require(fixture.recorder.requests.last)
    request.value = Data([5])
    fixture.manager.respond(to: request, withResult: .success)
    #expect(fixture.host.takeCommands() == ["respond 66 success 05"])
    _ = fixture.manager.updateValue(Data([1]), for: characteristic, onSubscribedCentrals: [unknown])
    #expect(fixture.host.takeCommands() == [])
    fixture.say(.link(device.peer, .identified(address(7))))
    #expect(fixture.takeCalls() == [])
  }

  @Test func aLinkWeMadeIsNoCentralButItsRequestsAreServed() {
    let characteristic = dynamic("2A37")
    fixture.publish(characteristic)
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    let address = DeviceAddress(octets: BD_ADDR(1), kind: .public)
    fixture.say(.connected(ConnectedLink(peer: LinkID(rawValue: 3), address: address, role: .central, timing: timing)))
    #expect(fixture.manager.connectedCentrals == [])
    fixture.say(.server(LinkID(rawValue: 3), .read(fixture.host.token(), fixture.attribute(characteristic), offset: 0)))
    fixture.say(.link(LinkID(rawValue: 3), .disconnected(.terminatedByLocalHost)))
    #expect(fixture.takeCalls() == ["didReceiveRead 2A37 0"])
    #expect(fixture.host.takeCommands() == ["respond 3 success "])
  }

  @Test func commandsAboutALinkGoToIt() {
    let central = fixture.connect(9)
    fixture.manager.cancelConnection(of: central)
    fixture.manager.readRSSI(of: central)
    fixture.manager.requestSecurity(of: central)
    fixture.manager.setAuthorized(true, for: central)
    fixture.manager.setDesiredConnectionLatency(.low, for: central)
    fixture.manager.setDesiredConnectionLatency(.high, for: central)
    fixture.manager.requestConnectionParameters(
      ConnectionParameterRequest(
        interval: .microseconds(7_500)...Duration.seconds(4), latency: 1, supervisionTimeout: .seconds(32)),
      for: central)
    #expect(
      fixture.host.takeCommands() == [
        "disconnect 9 13", "rssi 9", "security 9", "authorize 9 true", "timing 9 12...12 0 600",
        "timing 9 84...100 0 600",
        "timing 9 6...3200 1 3200",
      ])
    fixture.say(.link(central.peer, .disconnected(.connectionTimeout)))
    fixture.manager.cancelConnection(of: central)
    fixture.manager.readRSSI(of: central)
    #expect(fixture.host.takeCommands() == [])
    #expect(fixture.logged().count == 2)
  }

  @Test func theirAnswersArrive() {
    let central = fixture.connect(9)
    fixture.say(.link(central.peer, .rssi(.success(-60))))
    fixture.say(.link(central.peer, .rssi(.failure(.notConnected))))
    fixture.say(.link(central.peer, .connectionUpdated(LinkTiming(interval: 12, latency: 0, supervisionTimeout: 500))))
    fixture.say(.link(central.peer, .connectionUpdateRefused(.peerRefused("no"))))
    #expect(
      fixture.takeCalls() == [
        "didConnect 9", "rssi 9 -60", "rssi 9 - notConnected", "timing 9 0.015 seconds", "timing 9 - unknown",
      ])
  }

  @Test func aConnectionRateIsRequestedAndReported() {
    let central = fixture.connect(9)
    fixture.manager.requestConnectionRate(
      ConnectionRateRequest(interval: .milliseconds(1)...Duration.milliseconds(2), subrateFactor: 1...4), for: central)
    fixture.manager.requestConnectionRate(
      ConnectionRateRequest(interval: .microseconds(250)...Duration.milliseconds(2)), for: central)
    #expect(fixture.host.takeCommands() == ["rate 9 8...16 1...4"])
    let subrating = LinkSubrating(factor: 4, latency: 0, continuation: 0, supervisionTimeout: 600)
    fixture.say(.link(central.peer, .connectionRate(.success(LinkRate(interval: 9, subrating: subrating)))))
    fixture.say(.link(central.peer, .connectionRate(.failure(.unsupportedByPeer("Shorter Connection Intervals")))))
    #expect(
      fixture.takeCalls() == [
        "didConnect 9", "timing 9 - invalidParameters", "timing 9 0.001125 seconds", "timing 9 - operationNotSupported",
      ])
    fixture.say(.link(central.peer, .disconnected(.connectionTimeout)))
    fixture.manager.requestConnectionRate(
      ConnectionRateRequest(interval: .milliseconds(1)...Duration.milliseconds(2)), for: central)
    #expect(fixture.host.takeCommands() == [] && fixture.logged().count == 1)
  }

  @Test(arguments: [
    ConnectionParameterRequest(interval: .milliseconds(5)...Duration.milliseconds(10)),
    ConnectionParameterRequest(latency: 500), ConnectionParameterRequest(latency: -1),
    ConnectionParameterRequest(supervisionTimeout: .milliseconds(50)),
    ConnectionParameterRequest(interval: .seconds(2)...Duration.seconds(4), supervisionTimeout: .seconds(8)),
    ConnectionParameterRequest(interval: .seconds(2)...Duration.seconds(4_000_000)),
  ])
  func timingOutsideOfTheLimitsIsRefused(request: ConnectionParameterRequest) {
    fixture.manager.requestConnectionParameters(request, for: fixture.connect(9))
    #expect(fixture.takeCalls() == ["didConnect 9", "timing 9 - invalidParameters"])
    #expect(fixture.host.takeCommands() == [])
  }

  @Test func encryptionIsSeen() {
    let central = fixture.connect(9)
    fixture.say(.link(central.peer, .security(SecurityState(level: .encrypted, keySize: 16))))
    #expect(central.isEncrypted)
  }

  @Test func theDeviceNameIsTheHosts() {
    fixture.manager.setDeviceName("Clock", appearance: 0x0100)
    fixture.manager.setDeviceName(nil)
    #expect(fixture.host.takeCommands() == ["identity Clock 256", "identity - -"])
  }

  @Test(
    arguments: [
      (0x0000_C011_2233_4455, DeviceAddress.Kind.random, DeviceAddress.Kind.randomIdentity),
      (0x0000_0011_2233_4455, .public, .publicIdentity),
    ] as [(UInt64, DeviceAddress.Kind, DeviceAddress.Kind)])
  func identifiersComeFromTheIdentityAddress(number: UInt64, kind: DeviceAddress.Kind, resolved: DeviceAddress.Kind) {
    let plain = UUID(DeviceAddress(octets: BD_ADDR(number), kind: kind))
    #expect(plain == UUID(DeviceAddress(octets: BD_ADDR(number), kind: resolved)))
    #expect(plain != UUID(DeviceAddress(octets: BD_ADDR(number ^ 1), kind: kind)))
    // Version 8, variant 10.
    let text = Array(plain.uuidString)
    #expect(text[14] == "8" && "89AB".contains(text[19]))
  }

  @Test func anIdentifierIsTheSameOnEveryMachine() {
    let address = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)
    #expect(UUID(address).uuidString == "B856C9F5-123D-8E7D-9D89-D3041E6C48FF")
  }
}
