import BLECrypto
import BLESMP
import BLEWire
import TestVectors
import Testing

/// Pairings of other stacks: with the same random numbers, the machine must send the same octets. Each pairing is run
/// from both sides where the secrets of both are in the vector.
@Suite(.enabled(if: TestVectors.areHere, Comment(rawValue: TestVectors.whereToPutThem)))
struct PairingVectors {
  struct Case: Decodable, Sendable {
    struct Address: Decodable, Sendable {
      var type: UInt8
      var address: String
      var value: DeviceAddress? { DeviceAddress(address, kind: .init(rawValue: type)) }
    }
    struct Step: Decodable, Sendable {
      var dir, hex: String
      var octets: [UInt8] { [UInt8](hexadecimal: hex) ?? [] }
      var code: SMPCode? { octets.first.map(SMPCode.init) }
    }
    var kind: String
    var policy: [String]?
    var method, stackUnderTest, privateKeyOf, privateKey, tk, stk, ltk, numericComparison, responderRandom: String?
    var initiatorAddress, responderAddress: Address?
    var authenticated, expectSuccess: Bool?
    var passkey: UInt32?
    var reason: UInt8?
    var association: String?
    var steps: [Step]?
    var keyDistribution: [Step]?

    /// The features that one side sent; nil where they are not among the steps, or are no features.
    func features(_ code: SMPCode) -> PairingFeatures? {
      guard let step = steps?.first(where: { $0.code == code }) else { return nil }
      switch try? SMPPDU(decoding: step.octets[...]).packet {
      case let request as PairingRequest: return request.features
      case let response as PairingResponse: return response.features
      default: return nil
      }
    }
  }

  @Test func pairingsEqualTheVectors() {
    let report = Self.run(in: TestVectors.folderOrNone)
    report.tell("SMP pairings")
    #expect(report.failures == [])
  }

  static func run(in folder: VectorFolder) -> VectorReport {
    var report = VectorReport()
    let file = folder.file("smp", cases: Case.self, into: &report)
    for (name, vector) in file.cases(of: SMPVectorKinds.pairings, into: &report) {
      guard vector.kind == "pairing" else {
        report.check(name, policy: vector.policy) { checks in try refuse(vector, &checks) }
        continue
      }
      // A side without its private key is skipped.
      let roles = [PairingMachine.Role.initiator, .responder].filter {
        vector.method == "legacy" || vector.privateKeyOf == PairingPlay.side($0)
      }
      if roles.isEmpty { report.note("\(name): passed over: the private key of neither side is in it") }
      for role in roles {
        report.check("\(name) as the \(PairingPlay.side(role))", policy: vector.policy) { checks in
          if vector.association == "oob", vector.method != "legacy" {
            throw NotApplicable("the out-of-band data of Secure Connections has no place in the format")
          }
          if vector.expectSuccess == false {
            try fail(vector, role, &checks)
          } else {
            try pair(vector, role, &checks)
          }
        }
      }
    }
    return report
  }

  private static func pair(_ vector: Case, _ role: PairingMachine.Role, _ checks: inout VectorChecks) throws {
    var play = try PairingPlay(vector, role: role)
    for step in try checks.need(vector.steps, "steps") { try play.perform(step, &checks) }
    let made = play.takeKey()
    let key = try checks.need(made, "key of ours")
    if let expected = vector.expectedKey {
      let size = Int(vector.keySize ?? 16)
      let octets = key.value.value.bigEndianOctets
      checks.equal(octets.suffix(size).hexadecimal, expected.suffix(size).hexadecimal, "the key")
    }
    checks.equal(key.strength.isSecureConnections, vector.method == "secure-connections", "Secure Connections")
    checks.equal(key.strength.isAuthenticated, ifGiven: vector.authenticated, "whether it is authenticated")
    play.machine.encryptionChanged(isEnabled: true, now: .start, into: &play.effects)
    // A capture can lack a part of the last phase: keys that it does not have are random.
    guard vector.hasWholeKeyDistribution else {
      return checks.note("its key distribution is not whole, and was not played")
    }
    for step in vector.keyDistribution ?? [] { try play.perform(step, &checks) }
    guard case .completed(let outcome) = play.effects.first, play.effects.count == 1 else {
      return checks.fail("not completed: \(play.effects)")
    }
    checks.equal(outcome.isBonded, vector.isBonding, "whether keys are kept")
    checks.expect(!play.machine.isPairing, "still pairing")
  }

  /// `expectSuccess: false`: the pairing must not complete.
  private static func fail(_ vector: Case, _ role: PairingMachine.Role, _ checks: inout VectorChecks) throws {
    var play = try PairingPlay(vector, role: role)
    var ignored = VectorChecks()
    func perform(_ steps: [Case.Step], _ play: inout PairingPlay) {
      for step in steps {
        guard (try? play.perform(step, &ignored)) != nil else { return }
      }
    }
    perform(try checks.need(vector.steps, "steps"), &play)
    let size = Int(vector.keySize ?? 16)
    if let key = play.takeKey(), let expected = vector.expectedKey,
      key.value.value.bigEndianOctets.suffix(size) == expected.suffix(size)
    {
      play.machine.encryptionChanged(isEnabled: true, now: .start, into: &play.effects)
      perform(vector.keyDistribution ?? [], &play)
    }
    let hasCompleted = play.effects.contains { if case .completed = $0 { true } else { false } }
    checks.expect(!hasCompleted, "completed, although it must not")
  }

  private static func refuse(_ vector: Case, _ checks: inout VectorChecks) throws {
    let steps = try checks.need(vector.steps, "steps")
    let last = try checks.need(steps.last, "last step")
    let role: PairingMachine.Role = vector.stackUnderTest ?? last.dir == "initiator" ? .initiator : .responder
    var play = try PairingPlay(vector, role: role)
    for step in steps { try play.perform(step, &checks) }
    let reason = try checks.need(vector.reason ?? last.octets.dropFirst().first, "reason")
    let origin: PairingFailure.Origin = last.dir == PairingPlay.side(role) ? .local : .peer
    checks.equal(
      play.effects.map(\.withoutCause), [.failed(PairingFailure(.init(rawValue: reason), origin))], "what comes of it")
  }
}

extension PairingVectors.Case {
  /// The key that both sides make, most significant octet first.
  fileprivate var expectedKey: [UInt8]? { (stk ?? ltk).flatMap { [UInt8](hexadecimal: $0) } }

  fileprivate var keySize: UInt8? {
    guard let request = features(.pairingRequest), let response = features(.pairingResponse) else { return nil }
    return min(16, request.maximumEncryptionKeySize, response.maximumEncryptionKeySize)
  }

  fileprivate var isBonding: Bool {
    guard let request = features(.pairingRequest), let response = features(.pairingResponse) else { return false }
    return request.authReq.contains(.bonding) && response.authReq.contains(.bonding)
  }

  /// Whether the vector has each key of the agreement (Vol 3, Part H, 3.6.1).
  fileprivate var hasWholeKeyDistribution: Bool {
    guard let request = features(.pairingRequest), let response = features(.pairingResponse) else { return false }
    func count(_ keys: KeyDistribution) -> Int {
      guard isBonding else { return 0 }
      return (keys.contains(.encKey) && method == "legacy" ? 2 : 0) + (keys.contains(.idKey) ? 2 : 0)
        + (keys.contains(.signKey) ? 1 : 0)
    }
    let steps = keyDistribution ?? []
    let initiator = request.initiatorKeyDistribution.intersection(response.initiatorKeyDistribution)
    let responder = request.responderKeyDistribution.intersection(response.responderKeyDistribution)
    return steps.count { $0.dir == "initiator" } == count(initiator)
      && steps.count { $0.dir == "responder" } == count(responder)
  }
}
