import BLEHost
import BLEWire

extension BondRecord {
  /// This record, and what others have written since both came from `base`.
  ///
  /// Bond by bond: who changed it has it; where both did, this record, with the higher of each counter, for a counter that
  /// was used is never used again (Vol 3, Part H, 2.4.5). Of two keys of our private addresses that are both new, the one
  /// that was written first stays.
  func merged(with theirs: BondRecord, since base: BondRecord) -> BondRecord {
    func index(_ record: BondRecord) -> [DeviceAddress: BLEHost.Bond] {
      Dictionary(record.bonds.map { ($0.record.identity, $0.record) }, uniquingKeysWith: { $1 })
    }
    let (before, others, ours) = (index(base), index(theirs), index(self))
    var merged = self
    merged.bonds = bonds.compactMap { bond in
      let identity = bond.record.identity
      if bond.record == before[identity] { return others[identity].map(Bond.init) }
      guard let other = others[identity] else { return bond }
      var record = bond.record
      if record.ownCSRK == other.ownCSRK { record.ownSignCounter = max(record.ownSignCounter, other.ownSignCounter) }
      if record.peerCSRK == other.peerCSRK {
        record.peerSignCounter = max(record.peerSignCounter, other.peerSignCounter)
      }
      return Bond(record)
    }
    // Of what is not here, what we have removed was known before, and has not been made anew since.
    merged.bonds += theirs.bonds.filter { bond in
      let identity = bond.record.identity
      return ours[identity] == nil && before[identity] != bond.record
    }
    if base.identityResolvingKey == nil || identityResolvingKey == base.identityResolvingKey {
      merged.identityResolvingKey = theirs.identityResolvingKey ?? identityResolvingKey
    }
    return merged
  }
}
