import BLEHost
import BLEWire

extension BondRecord {
  /// This record, merged with what others have written since both came from `base`.
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
      let (old, other) = (before[bond.identity], others[bond.identity])
      guard let old else { return other.map(bond.merged(with:)) ?? bond }
      if bond == old { return other }
      let isPairedAnew = !bond.isSamePairing(as: old)
      guard let other else { return isPairedAnew ? bond : nil }
      if !isPairedAnew, !other.isSamePairing(as: old) { return other }
      return bond.merged(with: other)
    }
    // Bonds that are missing here because we have removed them were in the base, and have not been paired anew since.
    merged.bonds += theirs.bonds.filter { bond in
      ours[bond.identity] == nil && before[bond.identity].map(bond.isSamePairing(as:)) != true
    }
    if base.identityResolvingKey == nil || identityResolvingKey == base.identityResolvingKey {
      merged.identityResolvingKey = theirs.identityResolvingKey ?? identityResolvingKey
    }
    return merged
  }

  private var byIdentity: [DeviceAddress: Bond] {
    Dictionary(bonds.map { ($0.identity, $0) }, uniquingKeysWith: { $1 })
  }
}

extension Bond {
  /// Whether both come from one pairing: every key is the same, whatever notes changed since.
  func isSamePairing(as other: Self) -> Bool {
    identity == other.identity && strength == other.strength
      && BondField.all.allSatisfy { !$0.isKey || $0.isEqual(self, other) }
  }

  /// This bond, merged with the fields of `other`, such as higher counters (``BondField/merge``).
  fileprivate func merged(with other: Self) -> Self {
    var bond = self
    for field in BondField.all { field.merge?(&bond, other) }
    return bond
  }
}
