import BLEGATT
import BLESMP
import BLEWire

/// Bonds that are made, changed and removed, and their reports to the application.
extension HostCore {
  /// What a pairing on this link may make and replace.
  func bondRules(for link: Link, replacement: BondRules.Replacement) -> BondRules {
    var rules = BondRules()
    (rules.strengths, rules.replacement) = (bonds.strengths, replacement)
    rules.inUse = Set(links.lazy.filter { $0.peer != link.peer && $0.security.isBondProven }.map(\.identity))
    // A bond that is replaced takes no room.
    guard bonds[link.identity] == nil else { return rules }
    if !bonds.hasRoom(limit: configuration.maximumBonds) {
      rules.admission = .none
    } else if !unconfirmedBonds.admits(unconfirmedBondLimit, now: time) {
      rules.admission = .confirmed
    }
    return rules
  }

  /// What may become of the bond of this device when an unauthenticated pairing names it; nil where there is no such bond,
  /// where a key must be authenticated to replace it, and where the link has proven it.
  func replacementPolicy(for identity: DeviceAddress, on link: Link?) -> BondRules.Replacement? {
    guard let bond = bonds[identity], !bond.strength.isAuthenticated else { return nil }
    if let link, link.security.isBondProven, link.identity == bond.identity { return nil }
    return pairingSettings?.bondRules.replacement
  }

  private var unconfirmedBondLimit: UnconfirmedBondLimit { pairingSettings?.unconfirmedBonds ?? UnconfirmedBondLimit() }

  /// Keeps the bond that a pairing has made, where there is room and, for one that nobody confirmed, where not too many
  /// were made lately.
  ///
  /// - Returns: whether it is kept.
  mutating func admit(_ bond: Bond, hasConsent: Bool, into output: inout HostOutput) -> Bool {
    let isUnconfirmed = bonds[bond.identity] == nil && !bond.strength.isAuthenticated && !hasConsent
    if isUnconfirmed, !unconfirmedBonds.admits(unconfirmedBondLimit, now: time) { return false }
    var bond = bond
    bond.lastUse = bonds[bond.identity]?.lastUse ?? 0
    let inUse = Set(links.filter(\.security.isBondProven).map(\.identity))
    switch bonds.update(bond, limit: configuration.maximumBonds, inUse: inUse) {
    case .refused: return false
    case .added, .replaced: break
    case .addedInPlace(let removed): bondRemoved(removed, into: &output)
    }
    if isUnconfirmed { unconfirmedBonds.add(unconfirmedBondLimit, now: time) }
    _ = bonds.use(bond.identity)
    signCounters.make(bond)
    reportBond(bond.identity, into: &output)
    return true
  }

  /// Says why a pairing made no bond.
  mutating func reportDeclinedBond(_ peer: PeerID, into output: inout HostOutput) {
    if bonds.hasRoom(limit: configuration.maximumBonds) {
      let limit = unconfirmedBondLimit
      report(
        .peer,
        "paired without a bond: \(limit.count) unconfirmed bonds were made within \(limit.period). Enable asksConsent or authenticated pairing, or pair again later",
        peer: peer, into: &output)
    } else {
      report(
        .peer, "paired without a bond: all \(configuration.maximumBonds) bonds are authenticated. Remove one",
        peer: peer, into: &output)
    }
  }

  /// Changes a bond that is there already, and reports it at once.
  mutating func change(_ bond: Bond, into output: inout HostOutput) {
    guard bonds[bond.identity] != nil else { return }
    _ = bonds.update(bond, limit: configuration.maximumBonds)
    reportBond(bond.identity, into: &output)
  }

  /// Notes what a client has configured, where it changed and the link has proven its bond. Of changes that follow closely
  /// the last one is reported.
  mutating func keepRecord(of link: Link, into output: inout HostOutput) {
    guard link.security.isBondProven, var bond = bonds[link.identity] else { return }
    let record = link.server.record(database: database)
    guard record != bond.client else { return }
    bond.client = record
    _ = bonds.update(bond, limit: configuration.maximumBonds)
    reportBondSoon(bond.identity, into: &output)
  }

  /// A link has proven the bond of the device that it claims to be.
  ///
  /// - Returns: whether that is news; false also where there is no bond.
  mutating func proveBond(_ index: Int, into output: inout HostOutput) -> Bool {
    let identity = links[index].identity
    guard !links[index].security.isBondProven, bonds[identity] != nil else { return false }
    (links[index].security.isBonded, links[index].security.isBondProven) = (true, true)
    if bonds.use(identity) { reportBondSoon(identity, into: &output) }
    return true
  }

  /// A bond was removed: by the application, or for a newer one.
  mutating func bondRemoved(_ bond: Bond, into output: inout HostOutput) {
    bondReports.forget(bond.identity)
    signCounters.forget(bond.identity)
    for index in links.indices where links[index].identity == bond.identity {
      (links[index].security.isBonded, links[index].security.isBondProven) = (false, false)
      forgetSigningKey(index)
    }
    if isSecuredBySystem { output.directives.append(.forget(bond.identity)) }
    output.append(.bondRemoved(bond.identity))
  }

  private mutating func reportBond(_ identity: DeviceAddress, into output: inout HostOutput) {
    guard let bond = bonds[identity] else { return }
    bondReports.wasReported(bond.identity)
    output.append(.bondChanged(bond))
  }

  private mutating func reportBondSoon(_ identity: DeviceAddress, into output: inout HostOutput) {
    let isEnding = session.isEnding
    let interval = isEnding ? .zero : configuration.bondReportInterval
    guard bondReports.changed(identity.identity, now: time, interval: interval) else { return }
    reportBond(identity, into: &output)
  }

  mutating func reportDueBonds(into output: inout HostOutput) {
    for identity in bondReports.takeDue(now: time, interval: configuration.bondReportInterval) {
      reportBond(identity, into: &output)
    }
  }

  /// Reports what is not reported of one bond: its link has ended.
  mutating func reportPendingBond(_ identity: DeviceAddress, into output: inout HostOutput) {
    if bondReports.isPending(identity) { reportBond(identity, into: &output) }
  }

  /// Reports what is not reported of any bond: the host is shutting down.
  mutating func reportAllBonds(into output: inout HostOutput) {
    for identity in bondReports.takeAll() { reportBond(identity, into: &output) }
  }
}
