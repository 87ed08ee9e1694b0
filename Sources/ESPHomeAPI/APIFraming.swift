internal import BLECrypto
internal import BLEWire

/// The frames of a connection, from the first octet of the client: the handshake, messages with their numbers, and the
/// octets of messages.
///
/// ```
///   plain text    0x00  size (varint)  type (varint)  message
///   encrypted     0x01  size (16 bits) { type (16 bits)  size (16 bits)  message } tag
/// ```
///
/// The numbers of encrypted frames have their most significant octet first. Frames of the handshake are encrypted ones
/// without a key: the client's hello, which is empty; that of the server, with a name and an address; then both halves
/// of the Noise handshake after an octet, which is zero, or is one before the text of a rejection.
struct APIFraming: Sendable {
  struct Message: Equatable {
    var type: UInt16
    var octets: Bytes
  }

  private enum State: Sendable {
    case plainText
    case clientHello(NoiseKey, X25519PrivateKey)
    case handshake(NoiseResponder)
    case encrypted(NoiseSession, keyIsProven: Bool)
  }

  private var state: State
  private var received: [UInt8] = []
  /// The place of the first frame in ``received`` that has not been read.
  private var start = 0
  /// A message before it becomes a frame.
  private var scratch: [UInt8] = []
  /// The name and the address of the server's hello.
  private let serverHello: [UInt8]

  init(_ configuration: APIConnection.Configuration, ephemeralKey: X25519PrivateKey) {
    state = configuration.key.map { .clientHello($0, ephemeralKey) } ?? .plainText
    let name = configuration.name.utf8.prefix(APIConnection.Limits.nameSize).filter { $0 != 0 }
    let address = Array(configuration.macAddress.hexadecimalAddress.utf8)
    serverHello = [0x01] + name + [0] + address + [0]
  }

  mutating func receive(_ octets: Span<UInt8>) {
    received.removeSubrange(..<start)
    start = 0
    received.append(copying: octets)
  }

  /// The next message of the received octets. It answers the frames of a handshake.
  ///
  /// - Parameter limit: the size of a frame that is accepted, once the key is proven.
  /// - Returns: nil if the octets end inside a frame.
  mutating func next(limit: Int, answers: inout [UInt8]) throws(APIConnectionError) -> Message? {
    while true {
      switch state {
      case .plainText:
        guard let frame = try plainFrame(limit: limit, answers: &answers) else { return nil }
        start = frame.end
        return Message(type: frame.type, octets: frame.octets)
      case .clientHello(let key, let ephemeralKey):
        guard let frame = try encryptedFrame(limit: limit, answers: &answers) else { return nil }
        start = frame.end
        let prologue = Array("NoiseAPIInit".utf8) + UInt16(frame.octets.count).bigEndianOctets + frame.octets
        do throws(NoiseError) {
          state = .handshake(try NoiseResponder(key: key, prologue: prologue, ephemeralKey: ephemeralKey))
        } catch {
          throw .init(error)
        }
        Self.appendFrame(serverHello, to: &answers)
      case .handshake(let responder):
        guard let frame = try encryptedFrame(limit: limit, answers: &answers) else { return nil }
        start = frame.end
        try answer(Array(frame.octets), with: responder, to: &answers)
      case .encrypted(let session, let keyIsProven):
        guard let frame = try encryptedFrame(limit: limit, answers: &answers) else { return nil }
        start = frame.end
        return try message(in: frame.octets, of: session, keyIsProven: keyIsProven)
      }
    }
  }

  /// Appends the frame of a message.
  ///
  /// - Returns: false if the message is too long.
  mutating func append(_ message: some APIMessage, to octets: inout [UInt8]) throws(NoiseError) -> Bool {
    scratch.removeAll(keepingCapacity: true)
    switch state {
    case .plainText:
      message.encode(to: &scratch)
      guard scratch.count <= APIConnection.Limits.serverFrameSize else { return false }
      octets.append(0x00)
      octets.append(varint: UInt64(scratch.count))
      octets.append(varint: UInt64(type(of: message).type))
      octets += scratch
    case .encrypted(var session, let keyIsProven):
      scratch += type(of: message).type.bigEndianOctets + [0, 0]
      message.encode(to: &scratch)
      let size = scratch.count - 4
      guard scratch.count + LibCrypto.chaChaPolyTagLength <= APIConnection.Limits.serverFrameSize else { return false }
      scratch[2] = UInt8(truncatingIfNeeded: size >> 8)
      scratch[3] = UInt8(truncatingIfNeeded: size)
      let start = octets.count
      octets.append(0x01)
      octets += UInt16(scratch.count + LibCrypto.chaChaPolyTagLength).bigEndianOctets
      do throws(NoiseError) {
        try session.sending.seal(scratch.span, to: &octets)
      } catch {
        octets.removeSubrange(start...)
        throw error
      }
      state = .encrypted(session, keyIsProven: keyIsProven)
    case .clientHello, .handshake: return false
    }
    return true
  }

  /// For tests: the keys have encrypted all frames that they may.
  mutating func exhaustNonces() {
    guard case .encrypted(var session, let keyIsProven) = state else { return }
    (session.receiving.nonce, session.sending.nonce) = (.max, .max)
    state = .encrypted(session, keyIsProven: keyIsProven)
  }

  // MARK: The handshake

  private mutating func answer(
    _ frame: [UInt8], with responder: NoiseResponder, to answers: inout [UInt8]
  ) throws(APIConnectionError) {
    var responder = responder
    guard frame.first == 0, frame.count == 1 + NoiseResponder.messageLength else {
      Self.appendRejection(frame.isEmpty ? "Empty handshake message" : "Bad handshake error byte", to: &answers)
      throw .invalidHandshake
    }
    do throws(NoiseError) {
      let (_, answer, session) = try responder.respond(to: Array(frame.dropFirst()))
      Self.appendFrame([0] + answer, to: &answers)
      state = .encrypted(session, keyIsProven: false)
    } catch {
      switch error {
      case .notAuthentic:
        // Clients compare this text.
        Self.appendRejection("Handshake MAC failure", to: &answers)
        throw .wrongKey
      case .malformed:
        Self.appendRejection("Handshake error", to: &answers)
        throw .invalidHandshake
      case .nonceExhausted, .cryptography: throw .init(error)
      }
    }
  }

  private static func appendRejection(_ reason: String, to answers: inout [UInt8]) {
    appendFrame([1] + reason.utf8, to: &answers)
  }

  private static func appendFrame(_ octets: [UInt8], to answers: inout [UInt8]) {
    answers.append(0x01)
    answers += UInt16(octets.count).bigEndianOctets
    answers += octets
  }

  // MARK: Received frames

  private mutating func message(
    in frame: ArraySlice<UInt8>, of session: NoiseSession, keyIsProven: Bool
  ) throws(APIConnectionError) -> Message {
    var session = session
    let opened: [UInt8]
    do throws(NoiseError) {
      opened = try session.receiving.open(frame.span)
    } catch {
      throw error == .notAuthentic && !keyIsProven ? .keyNotProven : .init(error)
    }
    state = .encrypted(session, keyIsProven: true)
    guard opened.count >= 4 else { throw .invalidLength }
    let type = UInt16(opened[0]) << 8 | UInt16(opened[1])
    let size = Int(opened[2]) << 8 | Int(opened[3])
    guard size <= opened.count - 4 else { throw .invalidLength }
    return Message(type: type, octets: opened[4..<4 + size])
  }

  private func encryptedFrame(
    limit: Int, answers: inout [UInt8]
  ) throws(APIConnectionError) -> (octets: ArraySlice<UInt8>, end: Int)? {
    let available = received[start...]
    guard let indicator = available.first else { return nil }
    guard indicator == 0x01 else {
      // Behind the handshake nobody could read it.
      if case .clientHello = state { Self.appendRejection("Bad indicator byte", to: &answers) }
      throw indicator == 0x00 ? .notEncrypted : .invalidIndicator(indicator)
    }
    guard available.count >= 3 else { return nil }
    let size = Int(available[start + 1]) << 8 | Int(available[start + 2])
    let limit = sizeLimit(limit)
    guard size <= limit else {
      switch state {
      case .clientHello, .handshake: Self.appendRejection("Bad handshake packet len", to: &answers)
      case .plainText, .encrypted: break
      }
      throw .frameTooLong(size: size, limit: limit)
    }
    guard available.count >= 3 + size else { return nil }
    return (received[start + 3..<start + 3 + size], start + 3 + size)
  }

  private func sizeLimit(_ limit: Int) -> Int {
    switch state {
    case .clientHello, .handshake: APIConnection.Limits.handshakeFrameSize
    case .plainText, .encrypted: limit
    }
  }

  private func plainFrame(
    limit: Int, answers: inout [UInt8]
  ) throws(APIConnectionError) -> (type: UInt16, octets: Bytes, end: Int)? {
    guard start < received.count else { return nil }
    guard received[start] == 0x00 else {
      // The first octet says that it is plain text; an old client shows the rest.
      answers += [0x00] + Array("Bad indicator byte".utf8)
      throw received[start] == 0x01 ? .encrypted : .invalidIndicator(received[start])
    }
    guard let size = try headerNumber(at: start + 1) else { return nil }
    guard size.value <= limit else { throw .frameTooLong(size: size.value, limit: limit) }
    guard let type = try headerNumber(at: size.end) else { return nil }
    guard let type16 = UInt16(exactly: type.value) else { throw .invalidHeader }
    guard received.count - type.end >= size.value else { return nil }
    // A copy: a slice would keep the buffer, which the next octets would have to copy then.
    return (type16, Array(received[type.end..<type.end + size.value])[...], type.end + size.value)
  }

  /// A number of variable length in the header of a frame, at most four octets; nil if the octets end inside it.
  private func headerNumber(at start: Int) throws(APIConnectionError) -> (value: Int, end: Int)? {
    var value = 0
    for index in 0..<4 {
      guard start + index < received.count else { return nil }
      let octet = received[start + index]
      value |= Int(octet & 0x7F) << (7 * index)
      if octet & 0x80 == 0 { return (value, start + index + 1) }
    }
    throw .invalidHeader
  }
}

extension APIConnectionError {
  init(_ error: NoiseError) {
    switch error {
    case .malformed: self = .invalidHandshake
    case .notAuthentic: self = .notAuthentic
    case .nonceExhausted: self = .nonceExhausted
    case .cryptography(let error): self = .cryptography(error)
    }
  }
}

extension UInt16 {
  /// The most significant octet, then the other one.
  fileprivate var bigEndianOctets: [UInt8] { [UInt8(self >> 8), UInt8(truncatingIfNeeded: self)] }
}

extension UInt64 {
  /// The lowest 48 bits as 12 lower-case digits.
  var hexadecimalAddress: String {
    (0..<6).map { UInt8(truncatingIfNeeded: self >> UInt64(40 - 8 * $0)) }.hexadecimal
  }
}
