package import BLECrypto
package import BLEWire

/// The server's end of one connection of ESPHome's native API: octets of the client become messages, messages become
/// octets.
///
/// ```
///   with a key                                           without a key
///   client hello ──► server hello                        HelloRequest ──► HelloResponse     .opened
///   handshake (psk, e) ──► handshake (e, ee)             messages of both ends              .received
///   HelloRequest, encrypted: proves the key              DisconnectRequest ──► DisconnectResponse
///     ──► HelloResponse               .opened                                               .ended
///   messages of both ends             .received
/// ```
///
/// A recorded handshake that is sent again gets the server's half of a handshake, and nothing else: its next frame
/// cannot be encrypted with the new key. Before ``Event/opened(_:)`` there is no answer that depends on anything but
/// the configuration.
///
/// The program writes ``Output/octets`` to the socket. It closes the socket after ``Event/ended(_:)`` and the last
/// octet, and it should not call ``receive(_:)`` while many octets wait for a slow client: answers are longer than
/// requests.
package struct APIConnection: Sendable {
  package struct Configuration: Sendable {
    /// The name on the network, at most 31 octets.
    package var name: String
    /// The address that identifies the server.
    package var macAddress: UInt64
    /// The name and version of the software.
    package var serverInfo: String
    /// The key of the encryption; nil for plain text.
    package var key: NoiseKey?
    /// The time from the start to the first valid HelloRequest.
    package var openingTimeout: Duration = .seconds(30)
    /// The silence of a client after which it gets a PingRequest. After three times this silence the connection ends.
    package var keepAlive: Duration = .seconds(30)
    /// The time for the answer to a DisconnectRequest.
    package var disconnectTimeout: Duration = .seconds(5)

    package init(name: String, macAddress: UInt64, serverInfo: String, key: NoiseKey?) {
      self.name = name
      self.macAddress = macAddress
      self.serverInfo = serverInfo
      self.key = key
    }
  }

  /// The client, from its HelloRequest.
  package struct Client: Equatable, Sendable {
    /// Its name and version, as the client has written them: for a log, use `String(printable:)`.
    package var info: String
    /// The lower of its version and ours.
    package var version: APIVersion
  }

  package enum Event: Equatable, Sendable {
    /// The client has the key, and has sent HelloRequest.
    case opened(Client)
    case received(ClientMessage)
    /// A message with a number that this server does not know. It is reported once for each connection.
    case ignored(type: UInt16)
    /// The connection is over; the error is nil if either end has asked for that.
    case ended(APIConnectionError?)
  }

  package struct Output: Sendable {
    /// To be written to the socket.
    package var octets: [UInt8] = []
    package var events: [Event] = []
    package init() {}
  }

  /// The sizes of frames, without their header.
  package enum Limits {
    /// A frame before the key is proven: the hello of a client has none, its handshake 49 octets.
    package static let handshakeFrameSize = 128
    /// The first frame that proves the key, and in plain text all frames up to HelloRequest.
    package static let greetingFrameSize = 1024
    /// A later frame of a client. A write of the longest value has about 530 octets.
    package static let clientFrameSize = 32_768
    /// A frame of the server: its length has 16 bits.
    package static let serverFrameSize = 65_535
    /// The octets of the server's name.
    package static let nameSize = 31
  }

  private enum State: Sendable {
    /// Up to HelloRequest.
    case opening(until: Instant)
    /// The silence of the client since the last message; whether it has got a PingRequest.
    case open(lastMessage: Instant, isPinged: Bool)
    /// After our DisconnectRequest.
    case closing(until: Instant)
    case ended
  }

  private let configuration: Configuration
  private var framing: APIFraming
  private var state: State
  private var hasIgnoredMessage = false

  /// - Parameter ephemeralKey: random for each connection, or the encryption protects nothing.
  package init(_ configuration: Configuration, ephemeralKey: X25519PrivateKey, now: Instant) {
    self.configuration = configuration
    framing = APIFraming(configuration, ephemeralKey: ephemeralKey)
    state = .opening(until: now + configuration.openingTimeout)
  }

  /// Octets of the client. ``proceed(now:into:)`` handles them.
  package mutating func receive(_ octets: Span<UInt8>) {
    if !hasEnded { framing.receive(octets) }
  }

  /// Handles the next message of the client.
  ///
  /// - Returns: whether another one may follow; false at the end of the octets.
  package mutating func proceed(now: Instant, into output: inout Output) -> Bool {
    guard !hasEnded else { return false }
    do throws(APIConnectionError) {
      guard let message = try framing.next(limit: frameLimit, answers: &output.octets) else { return false }
      try handle(message, now: now, into: &output)
    } catch {
      end(error, into: &output)
    }
    return !hasEnded
  }

  /// Whether messages of both ends are exchanged.
  package var isOpen: Bool {
    if case .open = state { true } else { false }
  }

  /// The program has not received octets for a time: the client was not silent.
  package mutating func restartKeepAlive(now: Instant) {
    if isOpen { state = .open(lastMessage: now, isPinged: false) }
  }

  /// Sends a message.
  ///
  /// - Returns: false if nothing is sent: the connection is not open, or the message is longer than a frame.
  @discardableResult
  package mutating func send(_ message: some APIMessage, into output: inout Output) -> Bool {
    guard case .open = state else { return false }
    do throws(APIConnectionError) {
      return try append(message, into: &output)
    } catch {
      end(error, into: &output)
      return false
    }
  }

  /// Sends DisconnectRequest. ``Event/ended(_:)`` follows the answer, or its timeout; at once, if the connection is not
  /// open.
  package mutating func close(now: Instant, into output: inout Output) {
    switch state {
    case .opening: end(nil, into: &output)
    case .open:
      guard send(DisconnectRequest(), into: &output) else { return }
      state = .closing(until: now + configuration.disconnectTimeout)
    case .closing, .ended: return
    }
  }

  /// The time at which ``tick(now:into:)`` has to be called.
  package var deadline: Instant? {
    switch state {
    case .opening(let until), .closing(let until): until
    case .open(let lastMessage, false): lastMessage + configuration.keepAlive
    case .open(let lastMessage, true): lastMessage + configuration.keepAlive * 3
    case .ended: nil
    }
  }

  package mutating func tick(now: Instant, into output: inout Output) {
    guard let deadline, now >= deadline else { return }
    switch state {
    case .opening: end(.openingTimeout, into: &output)
    case .open(let lastMessage, false):
      state = .open(lastMessage: lastMessage, isPinged: true)
      send(PingRequest(), into: &output)
    case .open(_, true): end(.silent, into: &output)
    case .closing: end(.disconnectTimeout, into: &output)
    case .ended: return
    }
  }

  private var hasEnded: Bool {
    if case .ended = state { true } else { false }
  }

  private var frameLimit: Int {
    if case .opening = state { Limits.greetingFrameSize } else { Limits.clientFrameSize }
  }

  /// For tests: the keys have encrypted all frames that they may.
  mutating func exhaustNonces() { framing.exhaustNonces() }

  private mutating func end(_ error: APIConnectionError?, into output: inout Output) {
    state = .ended
    output.events.append(.ended(error))
  }

  // MARK: Messages

  private mutating func handle(
    _ message: APIFraming.Message, now: Instant, into output: inout Output
  ) throws(APIConnectionError) {
    if case .open = state { state = .open(lastMessage: now, isPinged: false) }
    switch (state, message.type) {
    case (.ended, _): return
    case (_, DisconnectRequest.type):
      _ = try decoded(DisconnectRequest.self, message)
      try append(DisconnectResponse(), into: &output)
      end(nil, into: &output)
    case (.closing, DisconnectResponse.type): end(nil, into: &output)
    case (.closing, _): return
    case (.opening, HelloRequest.type):
      let client = try answer(try decoded(HelloRequest.self, message), into: &output)
      state = .open(lastMessage: now, isPinged: false)
      output.events.append(.opened(client))
    case (.opening, _): throw .notOpened(type: message.type)
    case (.open, HelloRequest.type): _ = try answer(try decoded(HelloRequest.self, message), into: &output)
    case (.open, AuthenticationRequest.type):
      _ = try decoded(AuthenticationRequest.self, message)
      try append(AuthenticationResponse(), into: &output)
    case (.open, PingRequest.type): try append(PingResponse(), into: &output)
    case (.open, PingResponse.type), (.open, DisconnectResponse.type): return
    case (.open, let type):
      if let message = try decoding(
        message, { octets throws(ProtobufError) in try ClientMessage(type: type, decoding: octets) })
      {
        output.events.append(.received(message))
      } else if !ClientMessage.withoutEffect.contains(type), !hasIgnoredMessage {
        hasIgnoredMessage = true
        output.events.append(.ignored(type: type))
      }
    }
  }

  private func decoded<Message: APIMessage>(
    _: Message.Type, _ message: APIFraming.Message
  ) throws(APIConnectionError) -> Message {
    try decoding(message) { octets throws(ProtobufError) in try Message(decoding: octets) }
  }

  private func decoding<Value>(
    _ message: APIFraming.Message, _ decode: (Bytes) throws(ProtobufError) -> Value
  ) throws(APIConnectionError) -> Value {
    do throws(ProtobufError) { return try decode(message.octets) } catch { throw .malformed(type: message.type, error) }
  }

  private mutating func answer(
    _ hello: HelloRequest, into output: inout Output
  ) throws(APIConnectionError) -> Client {
    var response = HelloResponse()
    let version = min(APIVersion.latest, APIVersion(hello.apiVersionMajor, hello.apiVersionMinor))
    // A server of version 1 has no other answer to an older client, whose version may be 0.
    response.apiVersionMajor = APIVersion.latest.major
    response.apiVersionMinor = version.major == APIVersion.latest.major ? version.minor : 0
    response.serverInfo = configuration.serverInfo
    response.name = configuration.name
    try append(response, into: &output)
    return Client(info: hello.clientInfo, version: version)
  }

  @discardableResult
  private mutating func append(
    _ message: some APIMessage, into output: inout Output
  ) throws(APIConnectionError) -> Bool {
    do throws(NoiseError) { return try framing.append(message, to: &output.octets) } catch { throw .init(error) }
  }
}

/// Why a connection ended, from the octets of the client or from its silence.
package enum APIConnectionError: Error, Equatable, Sendable {
  /// The client uses plain text, and the server has a key. The client gets the rejection `Bad indicator byte`.
  case notEncrypted
  /// The client uses encryption, and the server has no key. The client gets `Bad indicator byte`.
  case encrypted
  /// The first octet of a frame is none of this protocol.
  case invalidIndicator(UInt8)
  /// The handshake is not authentic: the client has another key. It gets the rejection `Handshake MAC failure`.
  case wrongKey
  /// The handshake has another form. The client gets a rejection with the reason.
  case invalidHandshake
  /// A frame is longer than ``APIConnection/Limits`` allows.
  case frameTooLong(size: Int, limit: Int)
  /// A number in the header of a frame has more than four octets.
  case invalidHeader
  /// The first frame after the handshake is not authentic: the handshake was a recorded one, or a faulty client's.
  case keyNotProven
  /// A frame is not authentic: it was changed, repeated or lost.
  case notAuthentic
  /// An encrypted frame has less than a header, or another length than the header says.
  case invalidLength
  /// The octets of a message are not its fields.
  case malformed(type: UInt16, ProtobufError)
  /// A message came before HelloRequest.
  case notOpened(type: UInt16)
  /// HelloRequest did not come in time.
  case openingTimeout
  /// The client has been silent for too long.
  case silent
  /// The client did not answer DisconnectRequest in time.
  case disconnectTimeout
  /// A key has encrypted 2^64 - 1 frames.
  case nonceExhausted
  /// The cryptographic library failed.
  case cryptography(CryptographyError)
}
