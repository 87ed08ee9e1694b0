import BLEATT
import BLEGATT
import BLESMP
import BLEWire

/// Signed writes of ours (Vol 3, Part F, 3.4.5.4; Part H, 2.4.5).
extension LinkClient {
  /// Whether the next operation is a signed write that waits for ``take(_:until:now:into:)``.
  var needsCounters: Bool { state.ifUsed { $0.gatt.awaitsSignCounter } ?? false }

  /// The client signs with this key; counters come when it needs some.
  mutating func setSigningKey(_ key: SecretKey, _ toolbox: SecurityToolbox) {
    guard used.signingKey != key else { return }
    used.signingKey = key
    gatt.signing = GATTClient.Signing(counter: 0, limit: 0) { message, counter in
      let signature = (try? toolbox.signature(of: message[...], csrk: key.value, signCounter: counter)) ?? []
      return signature.dropFirst(4).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
  }

  /// The bond was removed or replaced: the client can sign no more, and caches nothing.
  mutating func forgetBond() {
    guard !isUnused else { return }
    used.signingKey = nil
    gatt.signing = nil
    gatt.stopCaching()
  }

  /// The counters that were not used, and their key.
  var unusedCounters: (Range<UInt32>, key: SecretKey?)? {
    guard !isUnused, let signing = used.gatt.signing, signing.counter < signing.limit else { return nil }
    return (signing.counter..<signing.limit, used.signingKey)
  }

  /// Ends an input: takes the counters that it needs, and turns what it found into effects.
  mutating func finish(
    _ identity: DeviceAddress, _ bonds: inout BondTable, until: Instant, _ turn: inout LinkTurn
  ) {
    while needsCounters {
      // The bond is reported before the effects of the client.
      let grant = bonds.takeCounters(of: identity, into: &turn.server.effects)
      take(grant, until: until, now: turn.now, into: &turn.client)
      if grant == .awaited { break }
    }
    translate(now: turn.now, into: &turn.client)
  }

  /// Takes the answer to its need of counters.
  ///
  /// - Parameter until: the time at which signed writes without a counter fail.
  mutating func take(
    _ grant: BondTable.CounterGrant, until: Instant, now: Instant, into output: inout Output
  ) {
    switch grant {
    case .counters(let counters): gatt.allowSigning(counters, now: now, into: &output.gatt)
    // The key cannot sign any longer.
    case .usedUp: gatt.allowSigning(.max..<(.max), now: now, into: &output.gatt)
    case .refused: gatt.rejectSignedWrites(now: now, into: &output.gatt)
    case .awaited: return used.counterDeadline = used.counterDeadline ?? until
    }
    if !needsCounters { used.counterDeadline = nil }
  }

  /// The link is encrypted now, where a signed write is a Write Command and needs no counter (Vol 3, Part C, 10.4.1).
  mutating func stopAwaitingCounters(now: Instant, into output: inout Output) {
    setEncrypted(true)
    guard !isUnused, used.counterDeadline != nil else { return }
    used.counterDeadline = nil
    gatt.setCongested(gatt.isCongested, now: now, into: &output.gatt)
  }

  /// The store has not answered in time.
  mutating func counterTimedOut(now: Instant, into output: inout Output) {
    guard isStorageLate(now: now) else { return }
    used.counterDeadline = nil
    gatt.rejectSignedWrites(now: now, into: &output.gatt)
  }
}
