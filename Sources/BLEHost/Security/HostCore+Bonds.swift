import BLEATT
import BLECrypto
import BLEGATT
import BLESMP
import BLEWire

/// The bonds a host was given, and how they change.
extension HostCore {
  var toolbox: SecurityToolbox { SecurityToolbox(cryptography) }

  mutating func performSecurity(_ command: HostCommand, now: Instant, into output: inout HostOutput) {
    switch command {
    case .setPairing(let settings):
      pairingSettings = settings
      if isSecuredBySystem, state == .poweredOn { output.directives.append(.setPolicy(settings)) }
    case .setBonds(let new):
      bonds.replaceAll(with: new, limit: configuration.maximumBonds)
      signCounters.load(bonds.bonds)
      bondReports = BondReports()
      for index in links.indices {
        if links[index].security.isBondProven, bonds[links[index].identity] != nil { continue }
        links[index].security.isBondProven = false
        links[index].identity = bonds.identity(of: links[index].address, toolbox)
        links[index].security.isBonded = bonds[links[index].identity] != nil
      }
      loadSystemKeys(into: &output)
    case .bondsStored(let stored): bondsStored(stored, now: now, into: &output)
    case .removeBond(let identity):
      guard let bond = bonds.remove(identity) else { return }
      bondRemoved(bond, into: &output)
    case .authorize(let peer, let isAuthorized):
      guard let index = index(of: peer), links[index].security.isAuthorized != isAuthorized else { return }
      links[index].security.isAuthorized = isAuthorized
      output.append(.security(peer, links[index].security))
      reportSubscriptions(index, into: &output)
    case .answerPairing(let peer, let question, let answer):
      guard let index = index(of: peer) else { return ignore(.notOpen, peer: peer, into: &output) }
      answerPairing(index, question, answer, now: now, into: &output)
    default: break
    }
  }
}
