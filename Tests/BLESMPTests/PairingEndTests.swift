import BLESMP
import BLEWire
import Testing

/// Pairings that end by a timeout, by the link or by the controller, and the waiting time after them.
@Suite("The end of a pairing") struct PairingEndTests {
  /// After 30 seconds without a PDU no pairing is possible on the link; a nanosecond before, it is (3.4).
  @Test(arguments: [true, false]) func closesAfter30SecondsWithoutAPDU(secure: Bool) {
    let good = PairingPair(.with(secure: secure), .with())
    var count = good
    count.pair()
    for position in 1..<count.air.count {
      var pair = good
      pair.tamper = { _, octets, number in number == position ? [] : [octets] }
      pair.pair()
      for side in PairingPair.Side.allCases {
        var machine = side == .initiator ? pair.initiator : pair.responder
        guard machine.isPairing else { continue }
        var effects: [PairingEffect] = []
        machine.tick(now: .start + (.seconds(30) - .nanoseconds(1)), into: &effects)
        #expect(effects.isEmpty && machine.deadline == .start + .seconds(30))
        machine.tick(now: .start + .seconds(30), into: &effects)
        #expect(effects.map(\.withoutCause) == [.failed(PairingFailure(.unspecifiedReason, .timeout))])
        #expect(machine.isClosed && machine.deadline == nil)
        effects = []
        machine.receive([1, 3, 0, 9, 16, 0, 0], now: .start, into: &effects)
        machine.receive([1], now: .start, into: &effects)
        machine.start(isConsented: true, now: .start, into: &effects)
        machine.requestSecurity(into: &effects)
        #expect(effects.isEmpty)
      }
    }
  }

  /// A PDU that the peer had sent before it received Pairing Failed does not end the next pairing.
  @Test func ignoresLatePDUsOfAPairingThatFailedHere() {
    var pair = PairingPair(.with(), .with())
    pair.tamper = { from, octets, _ in from == .responder && octets[0] == 0x0C ? [] : [octets] }
    pair.pair()
    let keys = pair.air.filter { $0.from == .responder && $0.octets[0] == 0x0C }
    let late = keys.first.map(\.octets) ?? []
    #expect(!late.isEmpty && pair.failures[.initiator]?.origin == .local)
    pair.tamper = { from, octets, _ in from == .responder && octets[0] == 0x02 ? [late, octets] : [octets] }
    pair.pair()
    pair.expectPaired()
  }

  @Test func failsWithTheLink() {
    var pair = PairingPair(.with(), .with())
    var effects: [PairingEffect] = []
    pair.responder.linkEnded(into: &effects)
    #expect(effects.isEmpty)
    pair.responder.receive([1, 3, 0, 9, 16, 0, 0], now: .start, into: &effects)
    effects = []
    pair.responder.linkEnded(into: &effects)
    #expect(effects == [.failed(PairingFailure(.unspecifiedReason, .linkLost, at: .publicKeys))])
  }

  /// Keys before the encryption are rejected, and the key of the pairing has EDIV and Rand of zero.
  @Test func rejectsKeysBeforeEncryption() {
    var pair = PairingPair(.with(), .with())
    pair.tamper = { from, octets, _ in from == .responder && octets[0] == 0x0D ? [] : [octets] }
    pair.pair()
    #expect(pair.responder.longTermKey(ediv: 1, rand: 0) == nil)
    #expect(pair.responder.longTermKey(ediv: 0, rand: 1) == nil)
    var early = pair
    early.inject([8] + [UInt8](repeating: 1, count: 16), to: .responder)
    #expect(early.failures[.responder] == PairingFailure(.unspecifiedReason, .local))
    // An encryption event about another key has no effect.
    pair.on(.responder) { machine, now, effects in machine.encryptionChanged(isEnabled: true, now: now, into: &effects)
    }
    pair.run()
    #expect(pair.outcomes[.responder] == nil && pair.responder.isPairing)
  }

  @Test func failsWhenEncryptionFails() {
    var pair = PairingPair(.with(), .with())
    pair.tamper = { from, octets, _ in from == .responder && octets[0] == 0x0D ? [] : [octets] }
    pair.pair()
    #expect(pair.responder.longTermKey(ediv: 0, rand: 0) != nil)
    pair.on(.responder) { machine, now, effects in machine.encryptionChanged(isEnabled: false, now: now, into: &effects)
    }
    pair.run()
    #expect(pair.failures[.responder] == PairingFailure(.unspecifiedReason, .encryption))
  }

  @Test func doublesTheWaitAfterRepeatedAttempts() {
    let (a, b) = (PairingPair.initiatorAddress, PairingPair.responderAddress)
    let guess = PairingFailure(.confirmValueFailed, .local)
    var attempts = RepeatedAttempts()
    var now = Instant.start
    for _ in 1...4 { attempts.failed(a, guess, now: now) }
    #expect(!attempts.isBlocked(a, now: now))
    for wait in [2, 4, 8, 16, 32, 64, 128, 256, 512, 512] {
      attempts.failed(a, guess, now: now)
      #expect(attempts.isBlocked(a, now: now + (.seconds(wait) - .nanoseconds(1))))
      now = now + .seconds(wait)
      #expect(!attempts.isBlocked(a, now: now))
    }
    #expect(!attempts.isBlocked(b, now: now))
    attempts.failed(a, guess, now: now)
    attempts.succeeded(a)
    #expect(!attempts.isBlocked(a, now: now))
    // Failures without a wrong guess do not count.
    for _ in 1...20 {
      attempts.failed(b, PairingFailure(.invalidParameters, .local), now: now)
      attempts.failed(b, PairingFailure(.confirmValueFailed, .peer), now: now)
    }
    #expect(!attempts.isBlocked(b, now: now))

    var pair = PairingPair(.with(), .with())
    pair.responder.rejectsAttempts = true
    pair.pair()
    #expect(pair.failures[.initiator] == PairingFailure(.repeatedAttempts, .peer))
    pair.forget()
    pair.initiator.rejectsAttempts = true
    pair.pair()
    #expect(pair.failures[.initiator] == PairingFailure(.repeatedAttempts, .local) && pair.air.isEmpty)
  }

  @Test func limitsTheRecordedDevices() {
    var attempts = RepeatedAttempts()
    attempts.maximumPeers = 3
    func device(_ number: UInt64) -> DeviceAddress { DeviceAddress(octets: BD_ADDR(number), kind: .random) }
    for number in 1...4 as ClosedRange<UInt64> {
      for _ in 1...5 { attempts.failed(device(number), PairingFailure(.confirmValueFailed, .local), now: .start) }
    }
    #expect(!attempts.isBlocked(device(1), now: .start))
    for number in 2...4 as ClosedRange<UInt64> { #expect(attempts.isBlocked(device(number), now: .start)) }
  }
}
