import BLECrypto
import BLEWire
import Foundation
import Testing

@testable import ESPHomeAPI

struct NoiseTests {
  /// The keys of cacophony's vectors.
  static let initiatorKey = X25519PrivateKey(number("893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a"))
  static let responderKey = X25519PrivateKey(number("bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b"))
  static let key = NoiseKey(number("54686973206973206d7920417573747269616e20706572737065637469766521"))

  private func octets(_ text: String) throws -> [UInt8] { try #require([UInt8](hexadecimal: text)) }

  @Test func descriptionsOfKeysHaveNoDigits() {
    let numbers = [Self.key.octets, Self.initiatorKey.octets]
    var text =
      "\(Self.key) \(Self.initiatorKey) \(String(reflecting: Self.key)) \(String(reflecting: Self.initiatorKey))"
    dump([Self.key], to: &text)
    dump([Self.initiatorKey], to: &text)
    for number in numbers {
      for half in [number.high, number.low] {
        #expect(!text.contains("\(half)") && !text.lowercased().contains(String(half, radix: 16)))
      }
    }
    #expect(text.contains("secret"))
  }

  @Test func answersTheHandshakeOfTheVector() throws {
    let messages = try Goldens.noise.map(octets)
    let payloads = try Goldens.noisePayloads.map(octets)
    var responder = try NoiseResponder(
      key: Self.key, prologue: Array("John Galt".utf8), ephemeralKey: Self.responderKey)
    var (payload, answer, session) = try responder.respond(to: messages[0], payload: payloads[1])
    #expect(payload == payloads[0])
    #expect(answer == messages[1])
    for index in 2..<messages.count {
      if index % 2 == 0 {
        #expect(try session.receiving.opened(messages[index]) == payloads[index])
      } else {
        #expect(try session.sending.sealed(payloads[index]) == messages[index])
      }
    }
  }

  @Test func rejectsAnotherKeyAndAnotherPrologue() throws {
    let message = try octets(Goldens.noise[0])
    for (key, prologue) in [(Self.key, "John"), (NoiseKey(UInt256(high: 3, low: 3)), "John Galt")] {
      var responder = try NoiseResponder(key: key, prologue: Array(prologue.utf8), ephemeralKey: Self.responderKey)
      #expect(throws: NoiseError.notAuthentic) { try responder.respond(to: message) }
    }
  }

  @Test func rejectsEveryChangedOctetOfAHandshake() throws {
    let message = try octets(Goldens.noise[0])
    for index in message.indices {
      var responder = try NoiseResponder(
        key: Self.key, prologue: Array("John Galt".utf8), ephemeralKey: Self.responderKey)
      var changed = message
      changed[index] ^= 0x80
      #expect(throws: NoiseError.notAuthentic) { try responder.respond(to: changed) }
      var other = try NoiseResponder(
        key: Self.key, prologue: Array("John Galt".utf8), ephemeralKey: Self.responderKey)
      #expect(throws: index < 48 ? NoiseError.malformed : .notAuthentic) {
        try other.respond(to: Array(message.prefix(index)))
      }
    }
  }

  /// A client that has the key, and sends a public key of low order: everybody would know the secret.
  @Test func rejectsAPublicKeyOfLowOrder() throws {
    var initiator = try NoiseInitiator(
      key: Self.key, prologue: [], ephemeralKey: Self.initiatorKey, publicKey: UInt256(high: 0, low: 0))
    var responder = try NoiseResponder(key: Self.key, prologue: [], ephemeralKey: Self.responderKey)
    let message = try initiator.message()
    #expect(throws: NoiseError.malformed) { try responder.respond(to: message) }
  }

  @Test func refusesTheReservedNonce() throws {
    var cipher = NoiseCipher(key: UInt256(high: 1, low: 2))
    cipher.nonce = .max - 1
    let sealed = try cipher.sealed([1])
    #expect(cipher.nonce == .max)
    #expect(throws: NoiseError.nonceExhausted) { try cipher.sealed([1]) }
    #expect(throws: NoiseError.nonceExhausted) { try cipher.opened(sealed) }
  }

  @Test func readsKeysInBase64() throws {
    let text = "VGhpcyBpcyBteSBBdXN0cmlhbiBwZXJzcGVjdGl2ZSE="
    #expect(NoiseKey(base64: text) == Self.key)
    #expect(NoiseKey(base64: " \t\(text)\r\n") == Self.key)
    var random = RandomSource.seeded(7)
    for _ in 0..<100 {
      let octets = UInt256(high: random.uint128(), low: random.uint128())
      // Foundation writes what libcrypto reads.
      #expect(NoiseKey(base64: Data(octets.bigEndianOctets).base64EncodedString()) == NoiseKey(octets))
    }
  }

  @Test func noDescriptionShowsAKey() {
    var dumped = ""
    dump(Self.key, to: &dumped)
    #expect("\(Self.key)" == "(secret)" && String(reflecting: Self.key) == "(secret)" && dumped == "- (secret)\n")
  }

  @Test(arguments: [
    "", "=", "VGhpcyBpcyBteSBBdXN0cmlhbiBwZXJzcGVjdGl2ZSE", "VGhpcyBpcyBteSBBdXN0cmlhbiBwZXJzcGVjdGl2ZSF=",
    "VGhpcyBpcyBteSBBdXN0cmlhbiBwZXJzcGVjdGl2ZSFhYQ==", "VGhpcyBpcyBteSBBdXN0cmlhbiBwZXJzcGVjdGl2Z_E=",
    "VGhpcyBpcyBteSBB dXN0cmlhbiBwZXJzcGVjdGl2SE=", "VGhpcyBpcyBteSBBdXN0cmlhbiBwZXJzcGVjdGl2ZSEa",
  ])
  func rejectsTextsThatAreNoKey(text: String) {
    #expect(NoiseKey(base64: text) == nil)
  }
}

private func number(_ text: String) -> UInt256 {
  UInt256(bigEndian: [UInt8](hexadecimal: text) ?? []) ?? UInt256(high: 0, low: 0)
}

/// The client's end of a handshake, for tests.
struct NoiseInitiator {
  private var symmetric: NoiseSymmetricState
  private let key: NoiseKey
  private let ephemeralKey: X25519PrivateKey
  private let publicKey: UInt256

  /// - Parameter publicKey: the one to be sent; nil for that of `ephemeralKey`.
  init(
    key: NoiseKey, prologue: [UInt8], ephemeralKey: X25519PrivateKey = NoiseTests.initiatorKey,
    publicKey: UInt256? = nil
  ) throws {
    symmetric = try NoiseSymmetricState(prologue: prologue)
    self.key = key
    self.ephemeralKey = ephemeralKey
    self.publicKey = try publicKey ?? LibCrypto().publicKey(of: ephemeralKey)
  }

  mutating func message() throws -> [UInt8] {
    try symmetric.mixKeyAndHash(key.octets)
    try symmetric.mixPublicKey(publicKey)
    return publicKey.bigEndianOctets + (try symmetric.sealAndHash([]))
  }

  /// The ciphers, from the answer of the server.
  mutating func finish(_ answer: [UInt8]) throws -> NoiseSession {
    let peer = try #require(UInt256(bigEndian: answer.prefix(32)))
    try symmetric.mixPublicKey(peer)
    try symmetric.mixKey(try #require(try LibCrypto().sharedSecret(ephemeralKey, with: peer)))
    #expect(try symmetric.openAndHash(Array(answer.dropFirst(32))) == [])
    let ciphers = try symmetric.split()
    return NoiseSession(receiving: ciphers.responder, sending: ciphers.initiator)
  }
}

extension NoiseCipher {
  mutating func sealed(_ octets: [UInt8]) throws(NoiseError) -> [UInt8] {
    var sealed: [UInt8] = []
    try seal(octets.span, to: &sealed)
    return sealed
  }

  mutating func opened(_ octets: [UInt8]) throws(NoiseError) -> [UInt8] { try open(octets.span) }
}
