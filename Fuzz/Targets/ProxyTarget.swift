import BLECrypto
import BLEWire

@testable import ESPHomeAPI

/// The server's end of ESPHome's native API: a client that sends any octets, with the key and without it, and messages
/// of its own.
///
/// It requires that
/// - a client without the key gets the server's hello, one half of a handshake and one rejection at most, and opens
///   nothing;
/// - the answers are whole frames, however the octets of the client are divided;
/// - a connection opens once and ends once, and is silent and without a deadline afterwards;
/// - what is decoded can be encoded and decoded to the same value.
func fuzzProxy(_ input: inout FuzzInput) {
  switch input.index(4) {
  case 0: decodeMessage(&input)
  case 1: sendWithoutKey(&input)
  default:
    var run = ProxyRun(isEncrypted: input.flag())
    while !input.isEmpty, run.steps < ProxyRun.stepLimit { run.step(&input) }
    run.finish()
  }
}

// MARK: Messages

private let messages: [any APIMessage.Type] = [
  HelloRequest.self, HelloResponse.self, DeviceInfoResponse.self, ListEntitiesSensorResponse.self,
  SensorStateResponse.self, BluetoothLERawAdvertisementsResponse.self, BluetoothConnectionsFreeResponse.self,
  BluetoothGATTGetServicesResponse.self, BluetoothGATTWriteRequest.self, BluetoothDeviceRequest.self,
  BluetoothScannerStateResponse.self, BluetoothSetConnectionParamsRequest.self, BluetoothGATTNotifyRequest.self,
  BluetoothDeviceConnectionResponse.self,
]

private func decodeMessage(_ input: inout FuzzInput) {
  let type = input.element(of: messages)
  checkRoundTrip(type, input.rest())
}

private func checkRoundTrip<Message: APIMessage>(_: Message.Type, _ octets: [UInt8]) {
  guard let message = try? Message(decoding: octets[...]) else { return }
  let encoded = message.encoded
  guard let again = try? Message(decoding: encoded[...]) else {
    return require(false, "an encoded message is rejected")
  }
  // Not the values: a float need not equal itself.
  require(again.encoded == encoded, "another message is decoded than encoded")
  // A value of one octet is written as one, and each message around it adds a tag and a length.
  require(encoded.count <= 16 * octets.count + 16, "\(octets.count) octets became \(encoded.count)")
}

// MARK: A client without the key

private let key = NoiseKey(UInt256(high: 1, low: 2))
private let serverKey = X25519PrivateKey(UInt256(high: 3, low: 4))
private let clientKey = X25519PrivateKey(UInt256(high: 5, low: 6))

private func server(isEncrypted: Bool) -> APIConnection {
  APIConnection(
    .init(name: "fuzz", macAddress: 0x1122_3344_5566, serverInfo: "fuzz", key: isEncrypted ? key : nil),
    ephemeralKey: serverKey, now: .start)
}

private func sendWithoutKey(_ input: inout FuzzInput) {
  let octets = input.rest()
  var whole = server(isEncrypted: true)
  var output = APIConnection.Output()
  whole.receive(octets.span)
  while whole.proceed(now: .start, into: &output) {}
  check(output, of: octets)

  var divided = server(isEncrypted: true)
  var other = APIConnection.Output()
  for octet in octets {
    let part = [octet]
    divided.receive(part.span)
    while divided.proceed(now: .start, into: &other) {}
  }
  require(other.octets == output.octets, "another answer to divided octets")
  require(other.events == output.events, "other events for divided octets")
}

private func check(_ output: APIConnection.Output, of octets: [UInt8]) {
  let frames = frames(output.octets)
  require(frames.count <= 2, "\(frames.count) answers without the key")
  require(output.events.count <= 1, "\(output.events.count) events without the key")
  if case .ended? = output.events.first {} else { require(output.events.isEmpty, "an event without the key") }
  if frames.count == 2 {
    // The hello, then a rejection: 32 octets are not guessed.
    require(frames[1].first == 1, "a handshake without the key")
  }
}

/// The contents of whole frames.
private func frames(_ octets: [UInt8]) -> [ArraySlice<UInt8>] {
  var frames: [ArraySlice<UInt8>] = []
  var rest = octets[...]
  while !rest.isEmpty {
    guard rest.count >= 3, rest.removeFirst() == 1 else {
      require(false, "not a frame")
      return frames
    }
    let size = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
    require(rest.count >= size, "a frame is cut")
    frames.append(rest.prefix(size))
    rest = rest.dropFirst(size)
  }
  return frames
}

// MARK: A client with the key, or in plain text

/// A connection with a client that keeps the rules as it likes.
private struct ProxyRun {
  static let stepLimit = 60

  private var connection: APIConnection
  private var session: NoiseSession?
  private var now = Instant.start
  private var opened = 0
  private var ended = 0
  private var pings = 0
  private(set) var steps = 0

  init(isEncrypted: Bool) {
    connection = server(isEncrypted: isEncrypted)
    guard isEncrypted else { return }
    var output = APIConnection.Output()
    do {
      var client = try NoiseClient()
      let octets = [1, 0, 0, 1, 0, 49, 0] + (try client.message())
      connection.receive(octets.span)
      while connection.proceed(now: now, into: &output) {}
      let frames = frames(output.octets)
      require(frames.count == 2 && output.events.isEmpty, "a valid handshake is rejected")
      session = try client.finish(frames[1].dropFirst())
    } catch {
      require(false, "\(error)")
    }
  }

  mutating func step(_ input: inout FuzzInput) {
    steps += 1
    var output = APIConnection.Output()
    switch input.index(8) {
    case 0: receive(input.counted(), into: &output)
    case 1: send(HelloRequest(), into: &output)
    case 2:
      now = now + .seconds(Int(input.octet()))
      connection.tick(now: now, into: &output)
    case 3: connection.send(BluetoothGATTReadResponse(address: 1, handle: 2, data: input.counted()[...]), into: &output)
    case 4: connection.close(now: now, into: &output)
    case 5: send(DisconnectResponse(), into: &output)
    default: receive(frame(UInt16(input.octet()), input.counted()), into: &output)
    }
    take(output)
  }

  /// The end of any run: a client that says nothing more.
  mutating func finish() {
    for _ in 0..<4 {
      guard let deadline = connection.deadline else { break }
      var output = APIConnection.Output()
      connection.tick(now: deadline, into: &output)
      take(output)
    }
    require(connection.deadline == nil && ended == 1, "a silent client is kept")
  }

  private mutating func take(_ output: APIConnection.Output) {
    require(ended == 0 || output.octets.isEmpty && output.events.isEmpty, "something after the end")
    for event in output.events {
      switch event {
      case .opened: opened += 1
      case .received, .ignored: require(opened == 1, "a message before hello")
      case .ended(let error):
        ended += 1
        plantedFault(error == .silent && pings >= 2, "a client that was pinged twice before it was silent")
      }
    }
    require(opened <= 1 && ended <= 1, "opened \(opened) times, ended \(ended) times")
    guard session != nil else { return }
    for frame in frames(output.octets) {
      guard let octets = try? session?.receiving.open(frame.span), octets.count >= 4 else {
        return require(false, "a frame of the server is not authentic")
      }
      if octets[0] == 0, octets[1] == UInt8(PingRequest.type) { pings += 1 }
      require(octets.count == 4 + Int(octets[2]) << 8 + Int(octets[3]), "another length than the header says")
    }
  }

  private mutating func send(_ message: some APIMessage, into output: inout APIConnection.Output) {
    receive(frame(type(of: message).type, message.encoded), into: &output)
  }

  private mutating func receive(_ octets: [UInt8], into output: inout APIConnection.Output) {
    connection.receive(octets.span)
    while connection.proceed(now: now, into: &output) {}
  }

  private mutating func frame(_ type: UInt16, _ octets: [UInt8]) -> [UInt8] {
    guard session != nil else {
      var frame: [UInt8] = [0]
      frame.append(varint: UInt64(octets.count))
      frame.append(varint: UInt64(type))
      return frame + octets
    }
    let content = [UInt8(type >> 8), UInt8(type & 0xFF), UInt8(octets.count >> 8), UInt8(octets.count & 0xFF)] + octets
    var sealed: [UInt8] = []
    try? session?.sending.seal(content.span, to: &sealed)
    return [1, UInt8(sealed.count >> 8), UInt8(sealed.count & 0xFF)] + sealed
  }
}

/// The client's end of a handshake.
private struct NoiseClient {
  private var symmetric: NoiseSymmetricState
  private let publicKey: UInt256

  init() throws {
    symmetric = try NoiseSymmetricState(prologue: Array("NoiseAPIInit".utf8) + [0, 0])
    publicKey = try LibCrypto().publicKey(of: clientKey)
  }

  mutating func message() throws -> [UInt8] {
    try symmetric.mixKeyAndHash(key.octets)
    try symmetric.mixPublicKey(publicKey)
    return publicKey.bigEndianOctets + (try symmetric.sealAndHash([]))
  }

  mutating func finish(_ answer: ArraySlice<UInt8>) throws -> NoiseSession? {
    guard let peer = UInt256(bigEndian: answer.prefix(32)) else { return nil }
    try symmetric.mixPublicKey(peer)
    guard let secret = try LibCrypto().sharedSecret(clientKey, with: peer) else { return nil }
    try symmetric.mixKey(secret)
    _ = try symmetric.openAndHash(Array(answer.dropFirst(32)))
    let ciphers = try symmetric.split()
    return NoiseSession(receiving: ciphers.responder, sending: ciphers.initiator)
  }
}
