import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEWire
import BluetoothLE
import EngineFixtures
import Testing

@testable import CoreBluetoothTypes

/// What CoreBluetooth does not tell: who is connected, why a link ended, its timing and strength.
@Suite struct LinkTests {
  private let stage = Stage()

  @Test func centralsComeAndGoWithTheReason() {
    let first = stage.connect(1)
    let second = stage.connect(2)
    #expect(stage.manager.connectedCentrals == [first, second])
    #expect(first.isConnected && first.maximumUpdateValueLength == 20 && !first.isEncrypted)
    stage.say(.disconnected(first.peer, .connectionTimeout))
    #expect(!first.isConnected && stage.manager.connectedCentrals == [second])
    #expect(stage.heard() == ["didConnect 1", "didConnect 2", "didDisconnect 1 0x8"])
  }

  private func address(_ number: UInt64) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + number), kind: .random)
  }

  /// A second link with the address of the first, which the host has given no name of its own.
  private func claim(_ number: UInt64, as peer: UInt32) throws -> Central {
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    let name = PeerID(rawValue: peer)
    stage.say(.connected(Connection(peer: name, address: address(number), role: .peripheral, timing: timing)))
    return try #require(stage.manager.connectedCentrals.first { $0.peer == name })
  }

  /// Somebody with the address of a connected central is another central: nothing for the one goes to the other.
  @Test func aValueForOneCentralGoesToItsLinkAlone() throws {
    let characteristic = dynamic("2A37")
    stage.publish(characteristic)
    let victim = stage.connect(7)
    let stranger = try claim(7, as: 66)
    #expect(victim != stranger && victim.hash != stranger.hash && victim.identifier != stranger.identifier)
    #expect(stage.manager.connectedCentrals.count == 2)
    for central in [victim, stranger] { stage.subscribe(central, characteristic) }
    #expect(characteristic.subscribedCentrals?.count == 2)
    _ = stage.host.takeCommands()
    for (central, name) in [(victim, 7), (stranger, 66)] {
      _ = stage.manager.updateValue(Data([1]), for: characteristic, onSubscribedCentrals: [central])
      #expect(stage.host.takeCommands() == ["update 01 to [\(name)]"])
    }
    // What the first leaves behind is not the second's.
    stage.say(.disconnected(victim.peer, .connectionTimeout))
    #expect(stranger.isConnected && stage.manager.connectedCentrals == [stranger])
    #expect(stage.connect(7).identifier == victim.identifier)
  }

  /// The second one proves that it is the device: its link is the device's from then on, with what it had subscribed to.
  @Test func aCentralThatHasProvenItsIdentityIsTheDevice() throws {
    let characteristic = dynamic("2A37")
    stage.publish(characteristic)
    let before = stage.connect(7)
    let unknown = try claim(7, as: 66)
    stage.subscribe(unknown, characteristic)
    let token = stage.host.token()
    stage.recorder.answer(nil)
    stage.say(.read(unknown.peer, token, stage.attribute(characteristic), offset: 0))
    _ = stage.heard()
    stage.say(.disconnected(before.peer, .terminatedByLocalHost))
    stage.say(.identified(unknown.peer, address(7)))
    #expect(
      stage.heard() == [
        "didDisconnect 7 0x16", "didUnsubscribe 66 2A37", "didIdentify 66 as another", "didSubscribe 66 2A37",
      ])
    let device = try #require(stage.manager.connectedCentrals.first)
    #expect(device == before && device != unknown && device.isConnected && !unknown.isConnected)
    #expect(stage.manager.connectedCentrals.count == 1 && characteristic.subscribedCentrals == [device])
    // A request that it made before is its own still; the object that is void gets no more values.
    _ = stage.host.takeCommands()
    let request = try #require(stage.recorder.requests.last)
    request.value = Data([5])
    stage.manager.respond(to: request, withResult: .success)
    #expect(stage.host.takeCommands() == ["respond 66 success 05"])
    _ = stage.manager.updateValue(Data([1]), for: characteristic, onSubscribedCentrals: [unknown])
    #expect(stage.host.takeCommands() == [])
    stage.say(.identified(device.peer, address(7)))
    #expect(stage.heard() == [])
  }

  @Test func aLinkWeMadeIsNoCentralButItsRequestsAreServed() {
    let characteristic = dynamic("2A37")
    stage.publish(characteristic)
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    let address = DeviceAddress(octets: BD_ADDR(1), kind: .public)
    stage.say(.connected(Connection(peer: PeerID(rawValue: 3), address: address, role: .central, timing: timing)))
    #expect(stage.manager.connectedCentrals == [])
    stage.say(.read(PeerID(rawValue: 3), stage.host.token(), stage.attribute(characteristic), offset: 0))
    stage.say(.disconnected(PeerID(rawValue: 3), .terminatedByLocalHost))
    #expect(stage.heard() == ["didReceiveRead 2A37 0"])
    #expect(stage.host.takeCommands() == ["respond 3 success "])
  }

  @Test func commandsAboutALinkGoToIt() {
    let central = stage.connect(9)
    stage.manager.cancelConnection(of: central)
    stage.manager.readRSSI(of: central)
    stage.manager.requestSecurity(of: central)
    stage.manager.setAuthorized(true, for: central)
    stage.manager.setDesiredConnectionLatency(.low, for: central)
    stage.manager.setDesiredConnectionLatency(.high, for: central)
    stage.manager.requestConnectionParameters(
      ConnectionParameterRequest(
        interval: .microseconds(7_500)...Duration.seconds(4), latency: 1, supervisionTimeout: .seconds(32)),
      for: central)
    #expect(
      stage.host.takeCommands() == [
        "disconnect 9 13", "rssi 9", "security 9", "authorize 9 true", "timing 9 9...12 0 500",
        "timing 9 80...100 0 500",
        "timing 9 6...3200 1 3200",
      ])
    stage.say(.disconnected(central.peer, .connectionTimeout))
    stage.manager.cancelConnection(of: central)
    stage.manager.readRSSI(of: central)
    #expect(stage.host.takeCommands() == [])
    #expect(stage.logged().count == 2)
  }

  @Test func theirAnswersArrive() {
    let central = stage.connect(9)
    stage.say(.rssi(central.peer, .success(-60)))
    stage.say(.rssi(central.peer, .failure(.notConnected)))
    stage.say(.connectionUpdated(central.peer, LinkTiming(interval: 12, latency: 0, supervisionTimeout: 500)))
    stage.say(.connectionUpdateRefused(central.peer, .peerRefused("no")))
    #expect(
      stage.heard() == [
        "didConnect 9", "rssi 9 -60", "rssi 9 - notConnected", "timing 9 0.015 seconds", "timing 9 - unknown",
      ])
  }

  @Test(arguments: [
    ConnectionParameterRequest(interval: .milliseconds(5)...Duration.milliseconds(10)),
    ConnectionParameterRequest(latency: 500), ConnectionParameterRequest(latency: -1),
    ConnectionParameterRequest(supervisionTimeout: .milliseconds(50)),
    ConnectionParameterRequest(interval: .seconds(2)...Duration.seconds(4), supervisionTimeout: .seconds(8)),
    ConnectionParameterRequest(interval: .seconds(2)...Duration.seconds(4_000_000)),
  ])
  func timingOutsideOfTheLimitsIsRefused(request: ConnectionParameterRequest) {
    stage.manager.requestConnectionParameters(request, for: stage.connect(9))
    #expect(stage.heard() == ["didConnect 9", "timing 9 - invalidParameters"])
    #expect(stage.host.takeCommands() == [])
  }

  @Test func encryptionIsSeen() {
    let central = stage.connect(9)
    stage.say(.security(central.peer, SecurityState(level: .encrypted, keySize: 16)))
    #expect(central.isEncrypted)
  }

  @Test func theDeviceNameIsTheHosts() {
    stage.manager.setDeviceName("Clock", appearance: 0x0100)
    stage.manager.setDeviceName(nil)
    #expect(stage.host.takeCommands() == ["identity Clock 256", "identity - -"])
  }

  @Test func channelsAreSaidToBeMissing() {
    stage.manager.publishL2CAPChannel(withEncryption: true)
    stage.manager.unpublishL2CAPChannel(0x81)
    #expect(stage.heard() == ["didPublish 0 operationNotSupported", "didUnpublish 129 operationNotSupported"])
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
