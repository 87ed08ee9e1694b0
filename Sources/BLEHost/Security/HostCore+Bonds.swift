import BLEATT
import BLECrypto
import BLEGATT
import BLESMP
import BLEWire

/// The bond table, and what its effects cause on links.
extension HostCore {
  var toolbox: SecurityToolbox { SecurityToolbox(cryptography) }

  /// Lets the bond table do something and applies what it causes.
  mutating func withBonds<Result>(
    into output: inout HostOutput, _ body: (inout BondTable, inout [Effect<BondEffect>]) -> Result
  ) -> Result {
    var effects: [Effect<BondEffect>] = []
    let result = body(&bonds, &effects)
    apply(effects, now: time, into: &output) { core, effect, output in
      switch effect {
      case .removed(let identity): core.bondRemoved(identity, into: &output)
      }
    }
    return result
  }

  private mutating func bondRemoved(_ identity: DeviceAddress, into output: inout HostOutput) {
    for index in links.indices where links[index].identity == identity {
      (links[index].security.isBonded, links[index].security.isBondProven) = (false, false)
      links[index].client.forgetBond()
    }
    withKernel(now: time, into: &output) { $0?.bondRemoved(identity, into: &$2) }
  }

  mutating func performSecurity(_ command: HostCommand, now: Instant, into output: inout HostOutput) {
    switch command {
    case .setPairing(let settings):
      policy.settings = settings
      withKernel(now: now, into: &output) { $0?.settingsChanged($1, into: &$2) }
    case .setBonds(let new):
      bonds.replaceAll(with: new)
      for index in links.indices {
        if links[index].security.isBondProven, bonds[links[index].identity] != nil { continue }
        links[index].security.isBondProven = false
        links[index].identity = bonds.identity(of: links[index].address, toolbox)
        links[index].security.isBonded = bonds[links[index].identity] != nil
      }
      withKernel(now: now, into: &output) { $0?.loadKeys($1, into: &$2) }
    case .bondsStored(let stored): bondsStored(stored, now: now, into: &output)
    case .removeBond(let identity): withBonds(into: &output) { $0.remove(identity, into: &$1) }
    case .authorize(let peer, let isAuthorized):
      guard let index = index(of: peer), links[index].security.isAuthorized != isAuthorized else { return }
      links[index].security.isAuthorized = isAuthorized
      output.append(.security(peer, links[index].security))
      reportSubscriptions(index, into: &output)
    case .answerPairing(let peer, let question, let answer):
      guard let index = index(of: peer) else { return ignore(.notOpen, peer: peer, into: &output) }
      withSecurity(index, now: now, into: &output) { $0.answer(question, answer, &$1, now: now, into: &$2) }
    default: break
    }
  }

  /// What a pairing on this link may make and replace.
  func bondRules(for link: Link) -> BondRules {
    let inUse = Set(links.lazy.filter { $0.peer != link.peer && $0.security.isBondProven }.map(\.identity))
    return bonds.rules(
      for: link.identity,
      replacement: policy.settings?.bondRules.replacement ?? PairingSettings().bondRules.replacement,
      inUse: inUse, policy.unconfirmedBonds, now: time)
  }

  /// Keeps the bond that a pairing has made.
  ///
  /// - Returns: whether it is kept.
  mutating func admit(_ bond: Bond, hasConsent: Bool, into output: inout HostOutput) -> Bool {
    let inUse = Set(links.filter(\.security.isBondProven).map(\.identity))
    let (limit, now) = (policy.unconfirmedBonds, time)
    return withBonds(into: &output) {
      $0.admit(bond, hasConsent: hasConsent, inUse: inUse, limit, now: now, into: &$1)
    }
  }

  /// A link has proven the bond of the device that it claims to be.
  ///
  /// - Returns: whether that is news; false also where there is no bond.
  mutating func proveBond(_ index: Int, into output: inout HostOutput) -> Bool {
    let (identity, now) = (links[index].identity, time)
    guard !links[index].security.isBondProven, bonds[identity] != nil else { return false }
    (links[index].security.isBonded, links[index].security.isBondProven) = (true, true)
    withBonds(into: &output) { $0.use(identity, now: now, into: &$1) }
    return true
  }
}
