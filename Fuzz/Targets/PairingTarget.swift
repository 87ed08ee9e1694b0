import BLECrypto
import BLESMP
import BLEWire

/// Both roles of a pairing, with a peer in between that drops, repeats, changes and invents PDUs.
func fuzzPairing(_ input: inout FuzzInput) {
  var run = PairingRun(&input)
  while !input.isEmpty, run.steps < PairingRun.stepLimit { run.step(&input) }
  run.finish()
}

private struct PairingRun {
  static let stepLimit = 120

  struct Device {
    var machine: PairingMachine
    /// The PDUs for this device.
    var inbox: [[UInt8]] = []
    var question: (id: PairingQuestionID, question: PairingQuestion)?
    var outcome: PairingOutcome?
  }

  var devices: [Device]
  var now = Instant.start
  var steps = 0
  /// Whether a PDU was changed or invented.
  var isTampered = false
  var shown: Passkey?
  var key: LongTermKey?

  init(_ input: inout FuzzInput) {
    let addresses = [
      DeviceAddress(octets: BD_ADDR(0xC0_11_22_33_44_55), kind: .random),
      DeviceAddress(octets: BD_ADDR(0x00_A0_50_01_02_03), kind: .public),
    ]
    devices = []
    for (index, role) in [PairingMachine.Role.initiator, .responder].enumerated() {
      var settings = PairingSettings()
      settings.ioCapability = IOCapability(rawValue: input.octet() % 6)
      let bits = input.octet()
      (settings.requestsMITM, settings.requiresMITM) = (bits & 1 != 0, bits & 6 == 6)
      (settings.allowsSecureConnections, settings.allowsLegacy) = (bits & 8 == 0, bits & 48 != 48)
      (settings.isBonding, settings.asksConsent) = (bits & 64 == 0, bits & 128 != 0)
      settings.maximumKeySize = 7 + input.octet() % 10
      settings.identityResolvingKey = SecretKey(UInt128(index + 1))
      settings.identityAddress = addresses[index]
      devices.append(
        Device(
          machine: PairingMachine(
            role: role, own: addresses[index], peer: addresses[1 - index], settings: settings,
            cryptography: LibCrypto(),
            random: .seeded(UInt64(index)))))
    }
  }

  mutating func step(_ input: inout FuzzInput) {
    steps += 1
    let side = input.index(2)
    switch input.index(12) {
    case 0: perform(0) { $0.start(isConsented: true, now: $1, into: &$2) }
    case 1: perform(1) { machine, _, effects in machine.requestSecurity(into: &effects) }
    case 2: tamper(side, &input)
    case 3:
      isTampered = true
      let pdu = input.flag() ? packet(&input) : input.counted()
      perform(side) { $0.receive(pdu[...], now: $1, into: &$2) }
    case 4: answer(side, isRight: false, &input)
    case 5:
      now = now + .seconds(Int64(input.index(32)))
      for side in 0...1 { perform(side) { $0.tick(now: $1, into: &$2) } }
    case 6: perform(side) { [flag = input.flag()] in $0.encryptionChanged(isEnabled: flag, now: $1, into: &$2) }
    case 7: answer(side, isRight: true, &input)
    default: for _ in 0...input.index(30) { deliver() }
    }
    plantedFault(
      devices.contains { $0.outcome?.strength.size == 11 && $0.outcome?.strength.isAuthenticated == true },
      "an authenticated key of eleven octets")
  }

  /// A well-formed PDU of a random kind.
  private func packet(_ input: inout FuzzInput) -> [UInt8] {
    let types = SMP.packets
    let type = types[input.index(types.count)]
    func encoded<Packet: SMPPacket>(_ type: Packet.Type) -> [UInt8] { Packet.random(from: &input).encodedPDU }
    return encoded(type)
  }

  private mutating func tamper(_ side: Int, _ input: inout FuzzInput) {
    guard !devices[side].inbox.isEmpty else { return }
    isTampered = true
    switch input.index(4) {
    case 0: devices[side].inbox.removeFirst()
    case 1: devices[side].inbox.insert(devices[side].inbox[0], at: 0)
    case 2: devices[side].inbox.swapAt(0, devices[side].inbox.count - 1)
    default:
      let place = input.index(devices[side].inbox[0].count)
      if place < devices[side].inbox[0].count { devices[side].inbox[0][place] ^= input.octet() }
    }
  }

  /// Delivers one PDU to each device, and lets its user answer.
  private mutating func deliver() {
    var none = FuzzInput([])
    for side in 0...1 {
      if !devices[side].inbox.isEmpty {
        let pdu = devices[side].inbox.removeFirst()
        perform(side) { $0.receive(pdu[...], now: $1, into: &$2) }
      }
      if case .display = devices[side].question?.question { continue }
      // The number must be shown before it is entered.
      if case .enterPasskey = devices[side].question?.question, shown == nil, devices[1 - side].inbox.count > 0 {
        continue
      }
      answer(side, isRight: true, &none)
    }
  }

  private mutating func answer(_ side: Int, isRight: Bool, _ input: inout FuzzInput) {
    guard let (id, question) = devices[side].question else { return }
    let answer: PairingAnswer
    if isRight {
      switch question {
      case .consent, .replaceBond, .compare: answer = .accept
      case .display: return
      case .enterPasskey: answer = .passkey(shown ?? Passkey(lowestDigitsOf: 31_415))
      }
    } else {
      switch input.index(3) {
      case 0: answer = .reject
      case 1: answer = .accept
      default: answer = .passkey(Passkey(lowestDigitsOf: UInt32(input.uint16())))
      }
    }
    perform(side) { $0.answer(id, answer, now: $1, into: &$2) }
  }

  private mutating func perform(
    _ side: Int, _ body: (inout PairingMachine, Instant, inout [PairingEffect]) -> Void
  ) {
    var effects: [PairingEffect] = []
    let wasClosed = devices[side].machine.isClosed
    body(&devices[side].machine, now, &effects)
    require(effects.count <= 12, "\(effects.count) effects of one call")
    require(!wasClosed || !effects.contains { if case .send = $0 { true } else { false } }, "a PDU after a timeout")
    for effect in effects { apply(effect, side) }
    let machine = devices[side].machine
    require(machine.isPairing || machine.deadline == nil, "a deadline without a pairing")
  }

  private mutating func apply(_ effect: PairingEffect, _ side: Int) {
    switch effect {
    case .send(let pdu):
      require((try? SMPPDU(decoding: pdu.encoded[...])) == pdu, "not a PDU: \(pdu)")
      if devices[1 - side].inbox.count < 40 { devices[1 - side].inbox.append(pdu.encoded) }
      if pdu.packet is PairingRequest || pdu.packet is PairingResponse { devices[side].outcome = nil }
    case .ask(let id, let question):
      devices[side].question = (id, question)
      if case .display(let passkey) = question { shown = passkey }
    case .withdraw(let id):
      require(devices[side].question?.id == id || devices[side].question == nil, "another question is withdrawn")
      devices[side].question = nil
    case .encrypt(let key):
      require(side == 0, "the peripheral encrypts")
      let answered = devices[1].machine.longTermKey(ediv: key.ediv, rand: key.rand)
      let isEnabled = answered?.value == key.value
      for side in [1, 0] { perform(side) { $0.encryptionChanged(isEnabled: isEnabled, now: $1, into: &$2) } }
    case .completed(let outcome): completed(outcome, side)
    case .failed: devices[side].question = nil
    case .ignoredAnswer, .securityRequested, .keypress: break
    }
  }

  private mutating func completed(_ outcome: PairingOutcome, _ side: Int) {
    let settings = devices[side].machine.settings
    require(!devices[side].machine.isPairing, "a pairing continues after its end")
    require(
      settings.allowsSecureConnections || !outcome.strength.isSecureConnections, "Secure Connections is not allowed")
    require(settings.allowsLegacy || outcome.strength.isSecureConnections, "legacy pairing is not allowed")
    require(!settings.requiresMITM || outcome.strength.isAuthenticated, "a pairing without authentication")
    require((settings.minimumKeySize...16).contains(outcome.strength.size), "a key of \(outcome.strength.size) octets")
    require(
      !outcome.strength.isAuthenticated || settings.ioCapability != .noInputNoOutput,
      "authenticated without input and output")
    (devices[side].outcome, devices[side].question) = (outcome, nil)
    guard let a = devices[0].outcome, let b = devices[1].outcome else { return }
    require(a.strength == b.strength || isTampered, "different strengths")
    // The distribution of keys is not authenticated: of a changed PDU the encryption of the link would have no trace
    // here.
    guard !isTampered else { return }
    require(a.centralKey == b.peripheralKey && a.peripheralKey == b.centralKey, "different keys")
    require(a.ownCSRK == b.peerCSRK && a.peerCSRK == b.ownCSRK, "different signature keys")
  }

  /// A pairing without further PDUs ends.
  mutating func finish() {
    now = now + .seconds(31)
    for side in 0...1 {
      perform(side) { $0.tick(now: $1, into: &$2) }
      require(!devices[side].machine.isPairing || devices[side].machine.deadline == nil, "a pairing without an end")
      perform(side) { machine, _, effects in machine.linkEnded(into: &effects) }
      require(!devices[side].machine.isPairing, "a pairing after the end of the link")
    }
  }
}
