import BLEHost
import BLEWire

extension BondRecord {
  /// This record, and what others have written since both came from `base`.
  ///
  /// Bond by bond, where nothing, a note or the keys may have changed on each side:
  ///
  /// | here | elsewhere | result |
  /// |---|---|---|
  /// | unchanged | changed or removed | theirs |
  /// | changed or removed | unchanged | ours |
  /// | removed | notes changed | removed |
  /// | notes changed | removed | removed |
  /// | removed, or notes changed | paired anew | theirs |
  /// | paired anew | removed, or notes changed | ours |
  /// | notes changed, or paired anew | the same | ours, with the higher of each counter of a key both have |
  ///
  /// Notes are everything but the keys: what a client configured, its counters, its address. A counter that was used is
  /// never used again (Vol 3, Part H, 2.4.5). Of two keys of our private addresses that are both new, the one that was
  /// written first stays.
  func merged(with theirs: BondRecord, since base: BondRecord) -> BondRecord {
    let (before, others, ours) = (base.byIdentity, theirs.byIdentity, byIdentity)
    var merged = self
    merged.bonds = bonds.compactMap { bond in
      let identity = bond.record.identity
      let (old, other) = (before[identity], others[identity])
      guard let old else { return Bond(other.map(bond.record.withCounters(of:)) ?? bond.record) }
      if bond.record == old { return other.map(Bond.init) }
      let isPairedAnew = !bond.record.isSamePairing(as: old)
      guard let other else { return isPairedAnew ? bond : nil }
      if !isPairedAnew, !other.isSamePairing(as: old) { return Bond(other) }
      return Bond(bond.record.withCounters(of: other))
    }
    // Of what is not here, what we have removed was in the base, and has not been paired anew since.
    merged.bonds += theirs.bonds.filter { bond in
      let identity = bond.record.identity
      return ours[identity] == nil && before[identity].map(bond.record.isSamePairing(as:)) != true
    }
    if base.identityResolvingKey == nil || identityResolvingKey == base.identityResolvingKey {
      merged.identityResolvingKey = theirs.identityResolvingKey ?? identityResolvingKey
    }
    return merged
  }

  private var byIdentity: [DeviceAddress: BLEHost.Bond] {
    Dictionary(bonds.map { ($0.record.identity, $0.record) }, uniquingKeysWith: { $1 })
  }
}

extension BLEHost.Bond {
  /// Whether both come from one pairing: every key is the same, whatever was noted since.
  func isSamePairing(as other: Self) -> Bool {
    identity == other.identity && strength == other.strength
      && peripheralKey == other.peripheralKey && centralKey == other.centralKey
      && identityResolvingKey == other.identityResolvingKey
      && peerCSRK == other.peerCSRK && ownCSRK == other.ownCSRK
  }

  /// This bond with the counters of `other` where those are higher and count uses of the same key, and with the later use.
  fileprivate func withCounters(of other: Self) -> Self {
    var bond = self
    if ownCSRK == other.ownCSRK { bond.ownSignCounter = max(ownSignCounter, other.ownSignCounter) }
    if peerCSRK == other.peerCSRK { bond.peerSignCounter = max(peerSignCounter, other.peerSignCounter) }
    bond.lastUse = max(lastUse, other.lastUse)
    return bond
  }
}
