import BLECrypto
import BLESMP
import BLEWire
import TestVectors

/// One side of a pairing vector: a machine with the random numbers of the vector.
struct PairingPlay {
  /// The machine has not done what the vector has; the other steps are not compared.
  struct Departure: Error, CustomStringConvertible { var description: String }

  var machine: PairingMachine
  var effects: [PairingEffect] = []
  let role: PairingMachine.Role
  private let vector: PairingVectors.Case
  private var hasStarted = false

  static func side(_ role: PairingMachine.Role) -> String { role == .initiator ? "initiator" : "responder" }

  init(_ vector: PairingVectors.Case, role: PairingMachine.Role) throws {
    (self.vector, self.role) = (vector, role)
    let initiator = vector.initiatorAddress?.value ?? DeviceAddress(octets: BD_ADDR(), kind: .public)
    let responder = vector.responderAddress?.value ?? DeviceAddress(octets: BD_ADDR(), kind: .public)
    var settings = PairingSettings()
    let drawn = Self.script(vector, role, &settings)
    machine = PairingMachine(
      role: role, own: role == .initiator ? initiator : responder,
      peer: role == .initiator ? responder : initiator, settings: settings, cryptography: LibCrypto(),
      random: .listed(drawn))
  }

  /// Sets the settings of the machine to those of the vector.
  ///
  /// - Returns: the random octets of the vector, in the order in which the machine uses them.
  private static func script(
    _ vector: PairingVectors.Case, _ role: PairingMachine.Role, _ settings: inout PairingSettings
  ) -> [UInt8] {
    let side = side(role)
    if let features = vector.features(role == .initiator ? .pairingRequest : .pairingResponse) {
      settings.ioCapability = features.ioCapability
      settings.take(features.authReq)
      settings.maximumKeySize = features.maximumEncryptionKeySize
      settings.initiatorKeys = features.initiatorKeyDistribution
      settings.responderKeys = features.responderKeyDistribution
    }
    settings.fixedPasskey = vector.passkey.flatMap(Passkey.init)
    if vector.association == "oob", let tk = vector.tk.flatMap({ [UInt8](hexadecimal: $0) }) {
      settings.outOfBand.temporaryKey = UInt128(bigEndian: tk).map(SecretKey.init)
    }
    var drawn: [UInt8] = []
    if let scalar = vector.privateKey.flatMap({ [UInt8](hexadecimal: $0) }), vector.privateKeyOf == side {
      let halves: [ArraySlice<UInt8>] = [scalar.prefix(16), scalar.suffix(16)]
      for half in halves { drawn += half.reversed() }
    }
    let ours = (vector.steps ?? []).filter { $0.dir == side }
    let randoms = ours.filter { $0.code == .pairingRandom }.map(\.octets)
    for octets in randoms { drawn += octets.dropFirst() }
    if randoms.isEmpty { drawn += [UInt8](hexadecimal: vector.responderRandom ?? "") ?? [] }
    for step in vector.keyDistribution ?? [] where step.dir == side {
      switch try? SMPPDU(decoding: step.octets[...]).packet {
      case is EncryptionInformation, is CentralIdentification, is SigningInformation:
        drawn += step.octets.dropFirst()
      case let packet as IdentityInformation:
        settings.identityResolvingKey = UInt128(littleEndian: packet.identityResolvingKey).map(SecretKey.init)
      case let packet as IdentityAddressInformation: settings.identityAddress = packet.deviceAddress
      default: break
      }
    }
    return drawn
  }

  /// Passes a PDU of the peer to the machine, or compares the machine's own; answers questions.
  mutating func perform(_ step: PairingVectors.Case.Step, _ checks: inout VectorChecks) throws {
    try answerQuestions(&checks)
    if step.dir == Self.side(role) {
      begin(step)
      guard case .send(let pdu) = effects.first else {
        throw Departure(description: "nothing sent where \(step.hex) was: \(effects)")
      }
      effects.removeFirst()
      checks.equal(pdu.encoded.hexadecimal, step.hex, "what is sent")
    } else {
      machine.receive(step.octets[...], now: .start, into: &effects)
      // The next step of the vector has the effect.
      effects.removeAll { if case .securityRequested = $0 { true } else { false } }
    }
    try answerQuestions(&checks)
  }

  /// Sends the first PDU of an exchange: a Security Request of the responder, or the Pairing Request.
  private mutating func begin(_ step: PairingVectors.Case.Step) {
    switch (step.code, role) {
    case (.securityRequest?, .responder):
      let settings = machine.settings
      machine.settings.take(AuthenticationRequirements(rawValue: step.octets.dropFirst().first ?? 0))
      machine.requestSecurity(into: &effects)
      machine.settings = settings
    case (.pairingRequest?, .initiator) where !hasStarted:
      hasStarted = true
      machine.start(isConsented: true, now: .start, into: &effects)
    default: break
    }
  }

  private mutating func answerQuestions(_ checks: inout VectorChecks) throws {
    // A passkey that is shown is withdrawn with its pairing; nothing is sent for it.
    defer { effects.removeAll { if case .withdraw = $0 { true } else { false } } }
    while let index = effects.firstIndex(where: { if case .ask = $0 { true } else { false } }) {
      guard case .ask(let id, let question) = effects.remove(at: index) else { return }
      switch question {
      case .consent, .replaceBond: machine.answer(id, .accept, now: .start, into: &effects)
      case .display(let passkey): checks.equal(passkey.value, vector.passkey, "the passkey")
      case .enterPasskey:
        guard let passkey = vector.passkey.flatMap(Passkey.init) else {
          throw Departure(description: "a passkey is asked for and the vector has none")
        }
        machine.answer(id, .passkey(passkey), now: .start, into: &effects)
      case .compare(let number):
        if let digits = vector.numericComparison { checks.equal(number.digits, digits, "the number") }
        machine.answer(id, .accept, now: .start, into: &effects)
      }
    }
  }

  /// The key for the encryption of the link; nil where the machine has not made it.
  mutating func takeKey() -> LongTermKey? {
    guard role == .initiator else { return machine.longTermKey(ediv: 0, rand: 0) }
    guard case .encrypt(let key) = effects.first else { return nil }
    effects.removeFirst()
    return key
  }
}

extension PairingSettings {
  /// Sets the requirements of these bits.
  fileprivate mutating func take(_ authReq: AuthenticationRequirements) {
    isBonding = authReq.contains(.bonding)
    requestsMITM = authReq.contains(.mitm)
    allowsSecureConnections = authReq.contains(.secureConnections)
    keypress = authReq.contains(.keypress)
    ct2 = authReq.contains(.ct2)
  }
}
