import BLEGATT
import BLESMP
import BLEWire

/// The end of a pairing that succeeded: the bond it makes, and the one it replaces.
extension HostCore {
  mutating func paired(
    _ index: Int, _ outcome: PairingOutcome, now: Instant, into output: inout HostOutput
  ) {
    links[index].pairings.succeeded(
      lacksAuthentication: policy.settings?.requestsMITM == true && !outcome.strength.isAuthenticated)
    let link = links[index]
    policy.succeeded(link.identity)
    let identity = (outcome.peerIdentity ?? link.identity).identity
    let old = bonds[identity]
    // The pairing machine sees to it; the bond may have been made meanwhile, on another link.
    if outcome.isBonded, let refusal = old.flatMap({ outcome.strength.error(replacing: $0.strength) }) {
      output.append(.pairingFailed(link.peer, PairingFailure(refusal, .local)))
      return output.append(.bondLost(link.peer, identity, .forgottenByPeer))
    }
    // Nor does a device without authentication take the place of one that is there and has proven its bond.
    let isInUse = links.contains { $0.peer != link.peer && $0.identity == identity && $0.security.isBondProven }
    if outcome.isBonded, isInUse, !outcome.strength.isAuthenticated {
      output.append(.pairingFailed(link.peer, PairingFailure(.keyRejected, .local)))
      return
    }
    // A device that hides behind private addresses and tells no identity cannot be known again.
    let makesBond = outcome.isBonded && identity.randomKind != .resolvablePrivate
    let isBonded = makesBond && admit(bond(identity, outcome, of: link), hasConsent: outcome.hasConsent, into: &output)
    var index = index
    if isBonded {
      links[index].identity = identity
      (links[index].security.isBonded, links[index].security.isBondProven) = (true, true)
      index = confirmIdentity(index, now: now, into: &output)
      if let old { replaced(old, on: link, outcome.strength, into: &output) }
      // The table learns by which private address it is heard now.
      _ = bonds.identity(of: link.address, toolbox)
      setSigningKey(index)
      links[index].client.startCaching(nil)
    } else if makesBond {
      withKernel(now: now, into: &output) { $0?.bondRemoved(identity, into: &$2) }
    }
    if outcome.isBondDeclined || makesBond && !isBonded {
      let limit = policy.unconfirmedBonds
      withBonds(into: &output) { $0.declined(limit, peer: link.peer, into: &$1) }
    }
    let device = PairedDevice(identity: identity, isBonded: isBonded, strength: outcome.strength)
    output.append(.paired(link.peer, device))
    if isBonded { output.append(.security(link.peer, links[index].security)) }
  }

  /// The bond of a pairing on this link.
  private func bond(_ identity: DeviceAddress, _ outcome: PairingOutcome, of link: Link) -> Bond {
    var bond = Bond(identity: identity, outcome)
    let isFixed = link.address.randomKind == nil || link.address.randomKind == .static
    bond.addressOnAir = isFixed && link.address.identity != bond.identity ? link.address.identity : nil
    bond.client = link.server.record(services.database)
    return bond
  }

  /// A bond was replaced. If the link had not proven it, that is reported: it may be another device.
  private mutating func replaced(
    _ old: Bond, on link: Link, _ strength: KeyStrength, into output: inout HostOutput
  ) {
    // The bond that other links have proven is not the device's bond any more.
    for index in links.indices where links[index].identity == old.identity && links[index].peer != link.peer {
      links[index].client.forgetBond()
      guard links[index].security.isBondProven else { continue }
      links[index].security.isBondProven = false
      output.append(.security(links[index].peer, links[index].security))
    }
    guard !(link.security.isBondProven && link.identity == old.identity) else { return }
    output.append(.bondReplaced(link.peer, old.identity))
    guard !strength.isAuthenticated else { return }
    report(
      .peer, "the bond of \(old.identity) was replaced by an unauthenticated pairing", peer: link.peer, into: &output)
  }
}
