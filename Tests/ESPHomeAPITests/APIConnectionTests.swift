import BLECrypto
import BLEWire
import Testing

@testable import ESPHomeAPI

/// A client of one connection, with the octets of both ends in memory.
private struct Client {
  var connection: APIConnection
  var output = APIConnection.Output()
  var now = Instant.start
  var session: NoiseSession?

  static func configuration(key: NoiseKey? = NoiseTests.key) -> APIConnection.Configuration {
    APIConnection.Configuration(name: "proxy", macAddress: 0x1122_3344_5566, serverInfo: "ble 1.0", key: key)
  }

  init(key: NoiseKey? = NoiseTests.key) {
    connection = APIConnection(
      Self.configuration(key: key), ephemeralKey: NoiseTests.responderKey, now: .start)
  }

  /// A client after its hello.
  static func opened(encrypted: Bool = true) throws -> Self {
    var client = Self(key: encrypted ? NoiseTests.key : nil)
    if encrypted { try client.shakeHands() }
    try client.send(hello())
    #expect(client.takeEvents() == [.opened(.init(info: "test", version: APIVersion(1, 14)))])
    #expect(try client.received().map(\.type) == [HelloResponse.type])
    return client
  }

  static func hello() -> HelloRequest {
    var hello = HelloRequest()
    hello.clientInfo = "test"
    hello.apiVersionMajor = 1
    hello.apiVersionMinor = 14
    return hello
  }

  mutating func shakeHands() throws {
    var initiator = try NoiseInitiator(key: NoiseTests.key, prologue: Array("NoiseAPIInit".utf8) + [0, 0])
    write([1, 0, 0, 1, 0, 49, 0] + (try initiator.message()))
    let frames = takeFrames()
    #expect(frames.count == 2)
    session = try initiator.finish(Array(try #require(frames.last).dropFirst()))
  }

  mutating func write(_ octets: [UInt8]) {
    connection.receive(octets.span)
    while connection.proceed(now: now, into: &output) {}
  }

  mutating func send(_ message: some APIMessage) throws { try send(type(of: message).type, message.encoded) }

  mutating func send(_ type: UInt16, _ octets: [UInt8], size: Int? = nil) throws {
    write(try frame(type, octets, size: size))
  }

  mutating func frame(_ type: UInt16, _ octets: [UInt8], size: Int? = nil) throws -> [UInt8] {
    let size = size ?? octets.count
    guard session != nil else {
      var frame: [UInt8] = [0]
      frame.append(varint: UInt64(size))
      frame.append(varint: UInt64(type))
      return frame + octets
    }
    return try encrypted([UInt8(type >> 8), UInt8(type & 0xFF), UInt8(size >> 8), UInt8(size & 0xFF)] + octets)
  }

  mutating func encrypted(_ octets: [UInt8]) throws -> [UInt8] {
    let sealed = try session?.sending.sealed(octets) ?? []
    return [1, UInt8(sealed.count >> 8), UInt8(sealed.count & 0xFF)] + sealed
  }

  /// The messages of the server since the last call.
  mutating func received() throws -> [APIFraming.Message] {
    if session != nil {
      return try takeFrames().map { frame in
        let opened = try #require(try session?.receiving.opened(frame))
        return .init(type: UInt16(opened[0]) << 8 | UInt16(opened[1]), octets: opened[4...])
      }
    }
    var framing = APIFraming(Self.configuration(key: nil), ephemeralKey: NoiseTests.responderKey)
    framing.receive(output.octets.span)
    output.octets = []
    var messages: [APIFraming.Message] = []
    var answers: [UInt8] = []
    while let message = try framing.next(limit: 65_535, answers: &answers) { messages.append(message) }
    return messages
  }

  /// The contents of encrypted frames since the last call.
  mutating func takeFrames() -> [[UInt8]] {
    var frames: [[UInt8]] = []
    var rest = output.octets[...]
    output.octets = []
    while rest.count >= 3 {
      #expect(rest.popFirst() == 1)
      let size = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
      frames.append(Array(rest.prefix(size)))
      rest = rest.dropFirst(size)
    }
    return frames
  }

  mutating func takeEvents() -> [APIConnection.Event] {
    defer { output.events = [] }
    return output.events
  }

  mutating func tick(at instant: Instant) {
    now = instant
    connection.tick(now: now, into: &output)
  }
}

struct APIConnectionTests {
  private func rejection(_ reason: String) -> [UInt8] { [1] + Array(reason.utf8) }

  // MARK: The opening

  /// The octets of aioesphomeapi and noiseprotocol, all at once and one by one.
  @Test(arguments: [1, 7, 1000]) func holdsTheConversationOfAioesphomeapi(size: Int) throws {
    let octets = try Goldens.conversation.map { try #require([UInt8](hexadecimal: $0)) }
    var client = Client()
    for turn in stride(from: 0, to: octets.count, by: 2) {
      for start in stride(from: 0, to: octets[turn].count, by: size) {
        client.write(Array(octets[turn][start...].prefix(size)))
      }
      #expect(client.output.octets == octets[turn + 1])
      client.output.octets = []
    }
    #expect(client.takeEvents() == [.opened(.init(info: "aioesphomeapi", version: APIVersion(1, 10)))])
  }

  @Test(arguments: [
    (APIVersion(1, 9), APIVersion(1, 9), APIVersion(1, 9)),
    (APIVersion(1, 99), .latest, .latest), (APIVersion(2, 3), .latest, .latest),
    (APIVersion(0, 0), APIVersion(0, 0), APIVersion(1, 0)),
  ])
  func theLowerVersionIsUsed(of client: APIVersion, used: APIVersion, answered: APIVersion) throws {
    var end = Client(key: nil)
    var hello = Client.hello()
    (hello.apiVersionMajor, hello.apiVersionMinor) = (client.major, client.minor)
    try end.send(hello)
    #expect(end.takeEvents() == [.opened(.init(info: "test", version: used))])
    let response = try HelloResponse(decoding: try #require(try end.received().first).octets)
    #expect(APIVersion(response.apiVersionMajor, response.apiVersionMinor) == answered)
    #expect(response.name == "proxy")
  }

  @Test func anotherKeyIsRejectedWithTheTextThatClientsKnow() throws {
    var initiator = try NoiseInitiator(
      key: NoiseKey(UInt256(high: 3, low: 3)), prologue: Array("NoiseAPIInit".utf8) + [0, 0])
    var client = Client()
    client.write([1, 0, 0, 1, 0, 49, 0] + (try initiator.message()))
    let frames = client.takeFrames()
    #expect(frames.count == 2)
    #expect(frames.last == rejection("Handshake MAC failure"))
    #expect(client.takeEvents() == [.ended(.wrongKey)])
  }

  /// A recorded handshake gets the server's half of a handshake; no recorded frame is authentic after it.
  @Test func aRecordedHandshakeProvesNoKey() throws {
    let recorded = try Goldens.conversation.map { try #require([UInt8](hexadecimal: $0)) }
    var random = RandomSource.seeded(5)
    var client = Client()
    client.connection = APIConnection(
      Client.configuration(), ephemeralKey: .random(from: &random), now: .start)
    client.write(recorded[0])
    #expect(client.takeFrames().map(\.count) == [20, 49])
    #expect(client.takeEvents() == [])
    client.write(recorded[2])
    #expect(client.takeEvents() == [.ended(.keyNotProven)])
    #expect(client.output.octets == [])
  }

  @Test func plainTextIsRejectedByAServerWithAKey() {
    var client = Client()
    client.write([0, 0, 1])
    #expect(client.takeFrames() == [rejection("Bad indicator byte")])
    #expect(client.takeEvents() == [.ended(.notEncrypted)])
  }

  @Test func encryptionIsRejectedByAServerWithoutAKey() {
    var client = Client(key: nil)
    client.write([1, 0, 0])
    #expect(client.output.octets == [0] + Array("Bad indicator byte".utf8))
    #expect(client.takeEvents() == [.ended(.encrypted)])
  }

  @Test(arguments: [nil, NoiseTests.key]) func otherProtocolsAreRejected(key: NoiseKey?) {
    var client = Client(key: key)
    client.write(Array("GET / HTTP/1.1\r\n".utf8))
    #expect(client.takeEvents() == [.ended(.invalidIndicator(UInt8(ascii: "G")))])
    client.output.octets = []
    client.write([0, 0, 7])
    #expect(client.output.octets == [] && client.takeEvents() == [])
  }

  @Test(
    arguments: [
      ([1, 0, 0], "Empty handshake message"), ([1, 0, 1, 1], "Bad handshake error byte"),
      ([1, 0, 1, 0], "Bad handshake error byte"),
      ([1, 0, 50, 0] + [UInt8](repeating: 9, count: 49), "Bad handshake error byte"),
    ] as [([UInt8], String)])
  func handshakesOfAnotherFormAreRejected(frame: [UInt8], reason: String) {
    var client = Client()
    client.write([1, 0, 0] + frame)
    #expect(client.takeFrames().last == rejection(reason))
    #expect(client.takeEvents() == [.ended(.invalidHandshake)])
  }

  @Test func aHelloOfTheClientIsAuthenticated() throws {
    var client = Client()
    // The handshake was made for an empty hello.
    var initiator = try NoiseInitiator(key: NoiseTests.key, prologue: Array("NoiseAPIInit".utf8) + [0, 0])
    client.write([1, 0, 2, 7, 7] + [1, 0, 49, 0] + (try initiator.message()))
    #expect(client.takeEvents() == [.ended(.wrongKey)])

    client = Client()
    initiator = try NoiseInitiator(key: NoiseTests.key, prologue: Array("NoiseAPIInit".utf8) + [0, 2, 7, 7])
    client.write([1, 0, 2, 7, 7] + [1, 0, 49, 0] + (try initiator.message()))
    #expect(client.takeFrames().last?.count == 49)
  }

  @Test func aFrameOfTheHandshakeHasALimit() {
    let limit = APIConnection.Limits.handshakeFrameSize
    var client = Client()
    client.write([1, 0, UInt8(limit)] + [UInt8](repeating: 0, count: limit))
    #expect(client.takeFrames().count == 1 && client.takeEvents() == [])

    client = Client()
    client.write([1, 0, UInt8(limit + 1)])
    #expect(client.takeFrames() == [rejection("Bad handshake packet len")])
    #expect(client.takeEvents() == [.ended(.frameTooLong(size: limit + 1, limit: limit))])
  }

  @Test(arguments: [true, false]) func aFrameBeforeHelloHasALimit(encrypted: Bool) throws {
    let limit = APIConnection.Limits.greetingFrameSize
    for (isLonger, size) in [(false, limit), (true, limit + 1)] {
      var client = Client(key: encrypted ? NoiseTests.key : nil)
      if encrypted { try client.shakeHands() }
      var hello = Client.hello()
      hello.clientInfo = ""
      hello.clientInfo = String(repeating: "x", count: size - hello.encoded.count - 3 - (encrypted ? 20 : 0))
      #expect(hello.encoded.count + (encrypted ? 20 : 0) == size)
      try client.send(hello)
      let events = client.takeEvents()
      if isLonger {
        #expect(events == [.ended(.frameTooLong(size: size, limit: limit))])
      } else {
        #expect(events == [.opened(.init(info: hello.clientInfo, version: APIVersion(1, 14)))])
      }
    }
  }

  @Test(arguments: [true, false]) func aFrameOfAClientHasALimit(encrypted: Bool) throws {
    let limit = APIConnection.Limits.clientFrameSize
    var client = try Client.opened(encrypted: encrypted)
    var write = BluetoothGATTWriteRequest()
    write.data = Bytes(repeating: 1, count: limit - 4 - (encrypted ? 20 : 0))
    #expect(write.encoded.count + (encrypted ? 20 : 0) == limit)
    try client.send(write)
    #expect(client.takeEvents() == [.received(.write(write))])
    write.data.append(1)
    try client.send(write)
    #expect(client.takeEvents() == [.ended(.frameTooLong(size: limit + 1, limit: limit))])
  }

  @Test func aFrameOfTheServerHasALimit() throws {
    for encrypted in [true, false] {
      let limit = APIConnection.Limits.serverFrameSize
      var client = try Client.opened(encrypted: encrypted)
      var response = BluetoothGATTReadResponse(address: 0, handle: 0, data: [])
      response.data = Bytes(repeating: 1, count: limit - 4 - (encrypted ? 20 : 0))
      #expect(client.connection.send(response, into: &client.output))
      #expect(try client.received().map(\.octets) == [response.encoded[...]])
      response.data.append(1)
      #expect(!client.connection.send(response, into: &client.output))
      #expect(client.output.octets == [] && client.takeEvents() == [])
    }
  }

  @Test func aLongNameIsCut() throws {
    var configuration = Client.configuration()
    configuration.name = String(repeating: "n", count: APIConnection.Limits.nameSize + 1)
    var client = Client()
    client.connection = APIConnection(configuration, ephemeralKey: NoiseTests.responderKey, now: .start)
    client.write([1, 0, 0])
    let hello = try #require(client.takeFrames().first)
    #expect(hello.count == 1 + APIConnection.Limits.nameSize + 1 + 12 + 1)
  }

  @Test func nothingButHelloIsAnsweredBeforeHello() throws {
    for encrypted in [true, false] {
      for type: UInt16 in [3, 7, 9, 66, 68, 999] {
        var client = Client(key: encrypted ? NoiseTests.key : nil)
        if encrypted { try client.shakeHands() }
        try client.send(type, [])
        #expect(client.output.octets == [])
        #expect(client.takeEvents() == [.ended(.notOpened(type: type))])
      }
    }
  }

  // MARK: Messages

  @Test(arguments: [true, false]) func theConnectionAnswersItsOwnMessages(encrypted: Bool) throws {
    var client = try Client.opened(encrypted: encrypted)
    try client.send(PingRequest())
    try client.send(AuthenticationRequest())
    try client.send(Client.hello())
    try client.send(PingResponse())
    #expect(client.takeEvents() == [])
    #expect(try client.received().map(\.type) == [PingResponse.type, AuthenticationResponse.type, HelloResponse.type])
    try client.send(DisconnectRequest())
    #expect(try client.received().map(\.type) == [DisconnectResponse.type])
    #expect(client.takeEvents() == [.ended(nil)])
    #expect(!client.connection.send(PingRequest(), into: &client.output))
    #expect(client.connection.deadline == nil)
  }

  @Test func otherMessagesAreReported() throws {
    let request = try BluetoothGATTNotifyRequest(decoding: [0x08, 0x05, 0x10, 0x07, 0x18, 0x01])
    var client = try Client.opened()
    try client.send(DeviceInfoRequest())
    try client.send(request)
    #expect(client.takeEvents() == [.received(.deviceInfo), .received(.notify(request))])
  }

  /// Every message of a client that has a meaning for a proxy.
  @Test func everyRequestIsDecoded() throws {
    let own: Set<UInt16> = [
      HelloRequest.type, AuthenticationRequest.type, DisconnectRequest.type, PingRequest.type,
    ]
    for golden in Goldens.messages where golden.name.hasSuffix("Request") && !own.contains(golden.type) {
      var client = try Client.opened()
      try client.send(golden.type, try #require([UInt8](hexadecimal: golden.unknown)))
      let events = client.takeEvents()
      guard case .received? = events.first else {
        Issue.record("\(golden.name): \(events)")
        continue
      }
    }
  }

  @Test func unknownMessagesAreReportedOnce() throws {
    var client = try Client.opened()
    for type in ClientMessage.withoutEffect { try client.send(type, []) }
    #expect(client.takeEvents() == [])
    for type: UInt16 in [500, 501, 500] { try client.send(type, [1, 2, 3]) }
    #expect(client.takeEvents() == [.ignored(type: 500)])
    try client.send(PingRequest())
    #expect(try client.received().map(\.type) == [PingResponse.type])
  }

  @Test(arguments: [true, false]) func aMalformedMessageEndsTheConnection(encrypted: Bool) throws {
    var client = try Client.opened(encrypted: encrypted)
    try client.send(BluetoothGATTReadRequest.type, [0x08])
    #expect(client.takeEvents() == [.ended(.malformed(type: BluetoothGATTReadRequest.type, .truncated))])
    try client.send(PingRequest())
    #expect(client.output.octets == [] && client.takeEvents() == [])
  }

  @Test func anEncryptedFrameNeedsItsHeader() throws {
    for octets: [UInt8] in [[], [0, 7, 0], [0, 7, 0, 1], [0, 7, 0xFF, 0xFF, 1]] {
      var client = try Client.opened()
      client.write(try client.encrypted(octets))
      #expect(client.takeEvents() == [.ended(.invalidLength)])
    }
    // Octets behind the message are padding.
    var client = try Client.opened()
    client.write(try client.encrypted([0, 7, 0, 0, 1, 2, 3]))
    #expect(try client.received().map(\.type) == [PingResponse.type])
  }

  @Test func aRepeatedAChangedAndALostFrameAreNotAuthentic() throws {
    var client = try Client.opened()
    let frame = try client.frame(PingRequest.type, [])
    client.write(frame)
    client.write(frame)
    #expect(client.takeEvents() == [.ended(.notAuthentic)])

    for index in 3..<frame.count {
      client = try Client.opened()
      var frame = try client.frame(PingRequest.type, [])
      frame[index] ^= 1
      client.write(frame)
      #expect(client.takeEvents() == [.ended(.notAuthentic)])
    }

    client = try Client.opened()
    _ = try client.frame(PingRequest.type, [])
    client.write(try client.frame(PingRequest.type, []))
    #expect(client.takeEvents() == [.ended(.notAuthentic)])
  }

  @Test func aSessionStaysEncrypted() throws {
    var client = try Client.opened()
    client.write([0, 0, 7])
    #expect(client.takeEvents() == [.ended(.notEncrypted)])
    #expect(client.output.octets == [])
  }

  @Test(
    arguments: [
      ([0, 0x80, 0x80, 0x80, 0x80, 0x00, 0x07], APIConnectionError.invalidHeader),
      ([0, 0, 0x80, 0x80, 0x80, 0x80], .invalidHeader), ([0, 0, 0x80, 0x80, 0x04], .invalidHeader),
      ([0, 0xFF, 0xFF, 0xFF, 0x7F], .frameTooLong(size: 0xFFF_FFFF, limit: 32_768)),
    ] as [([UInt8], APIConnectionError)])
  func headersOfPlainTextAreLimited(octets: [UInt8], error: APIConnectionError) throws {
    var client = try Client.opened(encrypted: false)
    client.write(octets)
    #expect(client.takeEvents() == [.ended(error)])
  }

  @Test func theLastNonceEndsTheConnection() throws {
    var client = try Client.opened()
    client.connection.exhaustNonces()
    #expect(!client.connection.send(PingRequest(), into: &client.output))
    #expect(client.takeEvents() == [.ended(.nonceExhausted)])
    #expect(client.output.octets == [])
  }

  // MARK: Time

  @Test func theOpeningHasALimitOfTime() throws {
    var client = Client()
    try client.shakeHands()
    #expect(client.connection.deadline == .start + .seconds(30))
    client.tick(at: .start + .seconds(29))
    #expect(client.takeEvents() == [])
    client.tick(at: .start + .seconds(30))
    #expect(client.takeEvents() == [.ended(.openingTimeout)])
  }

  @Test func aSilentClientIsPingedAndThenDisconnected() throws {
    var client = try Client.opened()
    #expect(client.connection.deadline == .start + .seconds(30))
    client.tick(at: .start + .seconds(30))
    #expect(try client.received().map(\.type) == [PingRequest.type])
    client.now = .start + .seconds(50)
    try client.send(PingResponse())
    #expect(client.connection.deadline == .start + .seconds(80))
    client.tick(at: .start + .seconds(80))
    #expect(try client.received().map(\.type) == [PingRequest.type])
    #expect(client.connection.deadline == .start + .seconds(140))
    client.tick(at: .start + .seconds(140))
    #expect(client.takeEvents() == [.ended(.silent)])
    #expect(client.output.octets == [])
  }

  @Test func theServerEndsAConnectionWithTheClient() throws {
    var client = try Client.opened()
    client.connection.close(now: .start, into: &client.output)
    #expect(try client.received().map(\.type) == [DisconnectRequest.type])
    #expect(!client.connection.send(PingRequest(), into: &client.output))
    try client.send(PingRequest())
    #expect(client.output.octets == [] && client.takeEvents() == [])
    try client.send(DisconnectResponse())
    #expect(client.takeEvents() == [.ended(nil)])

    client = try Client.opened()
    client.connection.close(now: .start, into: &client.output)
    client.tick(at: .start + .seconds(5))
    #expect(client.takeEvents() == [.ended(.disconnectTimeout)])

    client = Client()
    client.connection.close(now: .start, into: &client.output)
    #expect(client.takeEvents() == [.ended(nil)])
    #expect(client.output.octets == [])
  }

  @Test func anAddressHasTwelveDigits() {
    #expect(UInt64(0x0A22_3344_55FF).hexadecimalAddress == "0a22334455ff")
  }
}
