import BLECrypto
import BLEHost
import BLEWire
import ESPHomeAPI
import Testing

@testable import BLEKit
@testable import BLEProxy
@testable import ESPHomeProxy

/// The messages of a client and the events of a proxy without adapters.
@Suite("ESPHome: the session of a client") struct ProxySessionTests {
  private let proxy = Proxy([])

  static let identity = ProxySession.Identity(
    name: "proxy", address: BD_ADDR(0x1122_3344_5566), version: "1", isEncrypted: false)

  private func session() -> ProxySession {
    let configuration = APIConnection.Configuration(
      name: "proxy", macAddress: 0x1122_3344_5566, serverInfo: "test", key: nil)
    let connection = APIConnection(configuration, ephemeralKey: X25519PrivateKey(UInt256(high: 0, low: 1)), now: .start)
    return ProxySession(Self.identity, connection, proxy.makeClient { _ in })
  }

  /// What a session answers to messages.
  private func answers(
    _ session: inout ProxySession, _ octets: [UInt8]
  ) -> [(type: UInt16, octets: [UInt8])] {
    session.receive(octets.span, now: .start)
    session.drain(now: .start)
    var answer: [UInt8] = []
    session.takeOctets(into: &answer)
    var client = PlainClient()
    return client.receive(answer)
  }

  private func opened() -> ProxySession {
    var session = session()
    _ = answers(&session, PlainClient.hello)
    return session
  }

  @Test func aClientLearnsTheFeaturesAndTheEntities() throws {
    var session = session()
    let messages = answers(
      &session, PlainClient.hello + PlainClient.frame(DeviceInfoRequest()) + PlainClient.frame(ListEntitiesRequest()))
    #expect(messages.map(\.type) == [2, 10, 16, 16, 19])
    let info = try DeviceInfoResponse(decoding: messages[1].octets[...])
    #expect(info.bluetoothProxyFeatureFlags == .all && info.macAddress == "11:22:33:44:55:66")
  }

  @Test func aConnectionWithoutASlotIsRefusedSoThatTheClientTriesAgain() throws {
    var session = opened()
    var request = BluetoothDeviceRequest()
    (request.address, request.requestType, request.hasAddressType) = (7, .connectWithoutCache, true)
    let messages = answers(
      &session, PlainClient.frame(SubscribeBluetoothConnectionsFreeRequest()) + PlainClient.frame(request))
    #expect(messages.map(\.type) == [81, 69])
    let refusal = try BluetoothDeviceConnectionResponse(decoding: messages[1].octets[...])
    #expect(refusal == BluetoothDeviceConnectionResponse(address: 7, connected: false, error: 0x100))
  }

  @Test func anOperationWithoutAConnectionIsAnswered() throws {
    var session = opened()
    var read = BluetoothGATTReadRequest()
    (read.address, read.handle) = (7, 3)
    var wrong = read
    wrong.handle = 0x1_0003
    var pair = BluetoothDeviceRequest()
    (pair.address, pair.requestType) = (7, .pair)
    var services = BluetoothGATTGetServicesRequest()
    services.address = 7
    let messages = answers(
      &session,
      PlainClient.frame(read) + PlainClient.frame(wrong) + PlainClient.frame(pair) + PlainClient.frame(services))
    #expect(messages.map(\.type).sorted() == [82, 82, 82, 85])
    let errors = try messages.filter { $0.type == 82 }.map { try BluetoothGATTErrorResponse(decoding: $0.octets[...]) }
    #expect(errors.contains(BluetoothGATTErrorResponse(address: 7, handle: 3, error: -1)))
    #expect(errors.contains(BluetoothGATTErrorResponse(address: 7, handle: 0x1_0003, error: 1)))
    #expect(errors.contains(BluetoothGATTErrorResponse(address: 7, handle: 0, error: -1)))
  }

  @Test func theDevicesOfAClientAreBounded() throws {
    var session = opened()
    var octets: [UInt8] = []
    for number in 0...ProxySession.deviceLimit {
      var request = BluetoothDeviceRequest()
      (request.address, request.requestType, request.hasAddressType) = (UInt64(number), .connectWithCache, true)
      octets += PlainClient.frame(request)
    }
    session.receive(octets.span, now: .start)
    var answer: [UInt8] = []
    session.takeOctets(into: &answer)
    var client = PlainClient()
    let refused = client.receive(answer)
    // Those within the limit have their answers from the proxy.
    #expect(refused.count == 1)
    let refusal = try BluetoothDeviceConnectionResponse(decoding: refused[0].octets[...])
    #expect(refusal.address == UInt64(ProxySession.deviceLimit))
    session.drain(now: .start)
    answer = []
    session.takeOctets(into: &answer)
    #expect(client.receive(answer).count >= ProxySession.deviceLimit)
  }

  @Test func anAddressOfMoreThan48BitsIsRefusedAndNotRemembered() throws {
    var session = opened()
    var octets: [UInt8] = []
    for number in 1...UInt64(ProxySession.deviceLimit) {
      var request = BluetoothDeviceRequest()
      (request.address, request.requestType, request.hasAddressType) = (number << 48 | 7, .connectWithCache, true)
      octets += PlainClient.frame(request)
    }
    var refusals = try answers(&session, octets).map { try BluetoothDeviceConnectionResponse(decoding: $0.octets[...]) }
    #expect(refusals.count == ProxySession.deviceLimit && refusals.allSatisfy { !$0.connected && $0.error == 0x87 })
    // The answer of the proxy, which has no adapter.
    var request = BluetoothDeviceRequest()
    (request.address, request.requestType, request.hasAddressType) = (7, .connectWithCache, true)
    refusals = try answers(&session, PlainClient.frame(request)).map {
      try BluetoothDeviceConnectionResponse(decoding: $0.octets[...])
    }
    #expect(refusals == [BluetoothDeviceConnectionResponse(address: 7, connected: false, error: 0x100)])
    for kind in [BluetoothDeviceRequestType.disconnect, .pair, .unpair, .clearCache] {
      (request.address, request.requestType) = (1 << 48, kind)
      #expect(answers(&session, PlainClient.frame(request)).count == 1)
    }
  }

  @Test func unpairAndClearCacheAreAnsweredWithoutAConnection() throws {
    var session = opened()
    var request = BluetoothDeviceRequest()
    (request.address, request.requestType) = (0xC011_2233_4455, .unpair)
    var messages = answers(&session, PlainClient.frame(request))
    #expect(messages.map(\.type) == [BluetoothDeviceUnpairingResponse.type])
    #expect(
      try BluetoothDeviceUnpairingResponse(decoding: messages[0].octets[...])
        == BluetoothDeviceUnpairingResponse(address: request.address, success: true, error: 0))
    request.requestType = .clearCache
    messages = answers(&session, PlainClient.frame(request))
    #expect(messages.map(\.type) == [BluetoothDeviceClearCacheResponse.type])
    #expect(
      try BluetoothDeviceClearCacheResponse(decoding: messages[0].octets[...])
        == BluetoothDeviceClearCacheResponse(address: request.address, success: true, error: 0))
  }

  @Test func aClientIsNotReadWhileItsDevicesTakeNothing() throws {
    var session = opened()
    session.client.noteFull(true)
    let ping = PlainClient.frame(PingRequest())
    #expect(answers(&session, ping + ping).isEmpty && session.isHeld)
    // It is not silent: nobody reads what it says.
    let later = Instant.start + .seconds(600)
    #expect(session.deadline == nil)
    session.tick(now: later)
    #expect(session.end == nil)
    session.client.noteFull(false)
    session.drain(now: later)
    var answer: [UInt8] = []
    session.takeOctets(into: &answer)
    var client = PlainClient()
    #expect(client.receive(answer).map(\.type) == [8, 8] && !session.isHeld)
    #expect(session.deadline == later + .seconds(30))
  }

  @Test func aClientThatIsNotReadCanBeDisconnected() throws {
    var session = opened()
    session.client.noteFull(true)
    #expect(answers(&session, PlainClient.frame(PingRequest())).isEmpty)
    session.close(now: .start)
    session.receive(PlainClient.frame(DisconnectResponse()).span, now: .start)
    guard case .closed? = session.end else {
      Issue.record("the session goes on")
      return
    }
  }

  @Test func advertisementsShareMessages() throws {
    var session = opened()
    var messages = answers(&session, PlainClient.frame(SubscribeBluetoothLEAdvertisementsRequest()))
    #expect(messages.map(\.type).contains(126))
    let advertisements = (0...2 * ProxySession.messageCount).map { Advertisement.received($0, data: [2, 1, 6]) }
    proxy.receive(advertisements, of: 0)
    messages = answers(&session, [])
    let counts = try messages.map {
      try BluetoothLERawAdvertisementsResponse(decoding: $0.octets[...]).advertisements.count
    }
    #expect(counts == [ProxySession.messageCount, ProxySession.messageCount, 1])
    let last = try BluetoothLERawAdvertisementsResponse(decoding: messages[2].octets[...])
    #expect(
      last.advertisements == [
        BluetoothLERawAdvertisement(
          address: 0xC000_0000_0000 | UInt64(2 * ProxySession.messageCount), rssi: -40, addressType: 1, data: [2, 1, 6])
      ])
  }

  @Test func advertisementsThatAreDroppedBeforeTheEndAreCounted() {
    var session = opened()
    _ = answers(&session, PlainClient.frame(SubscribeBluetoothLEAdvertisementsRequest()))
    let limit = proxy.configuration.advertisementLimit
    proxy.receive((0..<limit + 3).map { Advertisement.received($0, data: [2, 1, 6]) }, of: 0)
    session.leave()
    #expect(session.lostAdvertisements == 3)
  }

  @Test func valuesAndTheirOrder() throws {
    var session = opened()
    let address = DeviceAddress(octets: BD_ADDR(7), kind: .public)
    for number in 0..<3 { session.client.report(.value(address, 5, [UInt8(number)])) }
    let values = try answers(&session, []).map { try BluetoothGATTNotifyDataResponse(decoding: $0.octets[...]) }
    #expect(values.map(\.data) == [[0], [1], [2]])
    #expect(values.allSatisfy { $0.address == 7 && $0.handle == 5 })
  }
}

/// Advertisements for tests.
enum Advertisement {
  static func received(_ number: Int, data: [UInt8]) -> ReceivedAdvertisement {
    let address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 | UInt64(number)), kind: .random)
    return ReceivedAdvertisement(
      ScanReport(address: address, isConnectable: false, isScanResponse: false, data: data, rssi: -40))
  }
}
