import BLECrypto
import BLESMP
import BLEWire
import Foundation
import TestVectors
import Testing

/// Whole pairings of other stacks, replayed: what our side sends must be what was sent there, octet for octet, when it
/// draws the same random numbers. Each is played from both sides where both sides' secrets are known.
@Suite(.enabled(if: TestVectors.areHere, Comment(rawValue: TestVectors.whereToPutThem)))
struct PairingVectors {
  struct Case: Decodable, CustomTestStringConvertible, Sendable {
    struct Address: Decodable, Sendable {
      var type: UInt8
      var address: String
      var value: DeviceAddress? { DeviceAddress(address, kind: .init(rawValue: type)) }
    }
    struct Step: Decodable, Sendable {
      var dir, hex: String
      var octets: [UInt8] { [UInt8](hexadecimal: hex) ?? [] }
    }
    struct Identities: Decodable, Sendable { var initiator, responder: Address }
    var name, kind: String
    var method, stackUnderTest, privateKeyOf, privateKey, tk, stk, ltk, numericComparison, responderRandom: String?
    var initiatorAddress, responderAddress: Address?
    var identityAddresses: Identities?
    var authenticated, expectSuccess: Bool?
    var passkey: UInt32?
    var reason: UInt8?
    var association: String?
    var steps: [Step]?
    var keyDistribution: [Step]?
    var testDescription: String { name }
  }

  static let cases: [Case] = (try? TestVectors.load("smp", as: Case.self).cases) ?? []
  static let pairings = cases.filter { $0.kind == "pairing" }
  static let refusals = cases.filter { $0.kind == "pairing-refused" }

  @Test(arguments: pairings, [PairingMachine.Role.initiator, .responder])
  func pairing(vector: Case, role: PairingMachine.Role) throws {
    // Without the private key of a side nobody can play it.
    let side = role == .initiator ? "initiator" : "responder"
    guard vector.method == "legacy" || vector.privateKeyOf == side else { return }
    let steps = try #require(vector.steps)
    var play = try Play(vector, role: role)
    for step in steps { play.perform(step) }
    let made = play.key(of: vector)
    let key = try #require(made)
    let expected = try #require([UInt8](hexadecimal: vector.stk ?? vector.ltk ?? ""))
    let size = Int(min(steps[0].octets[4], steps[1].octets[4]))
    #expect(key.value.value.bigEndianOctets.suffix(size) == expected.suffix(size))
    #expect(key.strength.isSecureConnections == (vector.method == "secure-connections"))
    if let authenticated = vector.authenticated { #expect(key.strength.isAuthenticated == authenticated) }
    play.machine.encryptionChanged(isEnabled: true, now: .start, into: &play.effects)
    // The capture misses most of the last phase: only its first key is compared, and ours is random.
    guard vector.name.hasPrefix("nimble") else { return }
    for step in vector.keyDistribution ?? [] { play.perform(step) }
    guard case .completed(let outcome) = play.effects.first else {
      Issue.record("not completed: \(play.effects)")
      return
    }
    #expect(play.effects.count == 1)
    #expect(outcome.isBonded)
    #expect(!play.machine.isPairing)
  }

  @Test(arguments: refusals) func refusal(vector: Case) throws {
    let role: PairingMachine.Role = vector.stackUnderTest == "initiator" ? .initiator : .responder
    var play = try Play(vector, role: role)
    for step in try #require(vector.steps) { play.perform(step) }
    #expect(
      play.effects == [.failed(PairingFailure(.init(rawValue: try #require(vector.reason)), .local))])
  }

  /// One side of a vector: our machine, set up to draw what was drawn there.
  struct Play {
    var machine: PairingMachine
    var effects: [PairingEffect] = []
    let role: PairingMachine.Role
    let vector: Case

    init(_ vector: Case, role: PairingMachine.Role) throws {
      (self.vector, self.role) = (vector, role)
      let side = role == .initiator ? "initiator" : "responder"
      let steps = try #require(vector.steps)
      let ours = steps.filter { $0.dir == side }.map(\.octets)
      let keys = (vector.keyDistribution ?? []).filter { $0.dir == side }.map(\.octets)
      var settings = PairingSettings()
      if let features = ours.first(where: { $0[0] == 1 || $0[0] == 2 }) {
        settings.ioCapability = .init(rawValue: features[1])
        let authReq = AuthenticationRequirements(rawValue: features[3])
        settings.isBonding = authReq.contains(.bonding)
        settings.asksForMITM = authReq.contains(.mitm)
        settings.allowsSecureConnections = authReq.contains(.secureConnections)
        settings.maximumKeySize = features[4]
        settings.initiatorKeys = .init(rawValue: features[5])
        settings.responderKeys = .init(rawValue: features[6])
      }
      settings.fixedPasskey = vector.passkey.flatMap(Passkey.init)
      if vector.association == "oob", let tk = vector.tk.flatMap({ [UInt8](hexadecimal: $0) }) {
        settings.outOfBand.temporaryKey = UInt128(bigEndian: tk).map(SecretKey.init)
      }
      var drawn: [UInt8] = []
      if let scalar = vector.privateKey.flatMap({ [UInt8](hexadecimal: $0) }), vector.privateKeyOf == side {
        drawn += scalar.prefix(16).reversed() + scalar.suffix(16).reversed()
      }
      for octets in ours where octets[0] == 4 { drawn += octets.dropFirst() }
      if ours.allSatisfy({ $0[0] != 4 }) { drawn += [UInt8](hexadecimal: vector.responderRandom ?? "") ?? [] }
      for octets in keys {
        switch octets[0] {
        case 6, 7, 10: drawn += octets.dropFirst()
        case 8: settings.identityResolvingKey = UInt128(littleEndian: octets.dropFirst()).map(SecretKey.init)
        case 9:
          let address = octets.dropFirst(2).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
          settings.identityAddress = DeviceAddress(octets: BD_ADDR(address), kind: .init(rawValue: octets[1]))
        default: break
        }
      }
      let nobody = DeviceAddress(octets: BD_ADDR(), kind: .public)
      let initiator = vector.initiatorAddress?.value ?? nobody
      let responder = vector.responderAddress?.value ?? nobody
      machine = PairingMachine(
        role: role, own: role == .initiator ? initiator : responder,
        peer: role == .initiator ? responder : initiator, settings: settings, cryptography: LibCrypto(),
        random: .listed(drawn))
      if role == .initiator { machine.start(now: .start, into: &effects) }
    }

    /// Feeds what the peer sent, or checks what we send; questions are answered as they come.
    mutating func perform(_ step: Case.Step) {
      if (step.dir == "initiator") == (role == .initiator) {
        answerQuestions()
        guard case .send(let pdu) = effects.first else {
          Issue.record("nothing sent where \(step.hex) was: \(effects)")
          return
        }
        effects.removeFirst()
        #expect(pdu.encoded.hexadecimal == step.hex)
      } else {
        answerQuestions()
        machine.receive(step.octets[...], now: .start, into: &effects)
      }
      answerQuestions()
    }

    mutating func answerQuestions() {
      // A passkey that is displayed ends with its pairing; nothing is sent for that.
      defer { effects.removeAll { if case .withdraw = $0 { true } else { false } } }
      while let index = effects.firstIndex(where: { if case .ask = $0 { true } else { false } }) {
        guard case .ask(let id, let question) = effects.remove(at: index) else { return }
        switch question {
        case .consent: machine.answer(id, .accept, now: .start, into: &effects)
        case .display(let passkey): #expect(passkey.value == vector.passkey)
        case .enterPasskey:
          guard let passkey = vector.passkey.flatMap(Passkey.init) else {
            Issue.record("a passkey is asked for and the vector has none")
            return
          }
          machine.answer(id, .passkey(passkey), now: .start, into: &effects)
        case .compare(let number):
          #expect(number.digits == vector.numericComparison)
          machine.answer(id, .accept, now: .start, into: &effects)
        }
      }
    }

    mutating func key(of vector: Case) -> LongTermKey? {
      guard role == .initiator else { return machine.longTermKey(ediv: 0, rand: 0) }
      guard case .encrypt(let key) = effects.first else { return nil }
      effects.removeFirst()
      return key
    }
  }
}
