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
      bondReports = BondReports()
      for index in links.indices {
        if links[index].security.isBondProven, bonds[links[index].identity] != nil { continue }
        links[index].security.isBondProven = false
        links[index].identity = bonds.identity(of: links[index].address, toolbox)
        links[index].security.isBonded = bonds[links[index].identity] != nil
      }
      loadSystemKeys(into: &output)
    case .removeBond(let identity):
      guard let bond = bonds.remove(identity) else { return }
      bondRemoved(bond, into: &output)
    case .authorize(let peer, let isAuthorized):
      guard let index = index(of: peer), links[index].security.isAuthorized != isAuthorized else { return }
      links[index].security.isAuthorized = isAuthorized
      output.events.append(.security(peer, links[index].security))
      reportSubscriptions(index, into: &output)
    case .answerPairing(let peer, let question, let answer):
      guard let index = index(of: peer) else { return ignore(.notOpen, peer: peer, into: &output) }
      answerPairing(index, question, answer, now: now, into: &output)
    default: break
    }
  }

  /// Gives a link's client what it signs with.
  mutating func setSigningKey(_ index: Int) {
    guard let bond = bonds[links[index].identity], let key = bond.ownCSRK else { return }
    let toolbox = toolbox
    links[index].client.signing = GATTClient.Signing(counter: bond.ownSignCounter) { message, counter in
      let signature = (try? toolbox.signature(of: message[...], csrk: key.value, signCounter: counter)) ?? []
      return signature.dropFirst(4).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
  }

  /// A counter that was used is never used again, not by a later run either.
  mutating func keepSignCounter(_ index: Int, into output: inout HostOutput) {
    guard let counter = links[index].client.signing?.counter, var bond = bonds[links[index].identity],
      bond.ownSignCounter != counter
    else { return }
    bond.ownSignCounter = counter
    change(bond, into: &output)
  }

  /// A Signed Write Command (Vol 3, Part F, 3.4.5.3): with a right signature by a bonded client, and on a link in the
  /// clear, it is a Write Command; otherwise it is passed over, as every command that may not be.
  mutating func receiveSignedWrite(
    _ index: Int, _ pdu: Span<UInt8>, now: Instant, into output: inout HostOutput
  ) {
    let link = links[index]
    guard link.security.level == .none, var bond = bonds[link.identity], let key = bond.peerCSRK else { return }
    let octets = [UInt8](copying: pdu)[...]
    guard let counter = (try? toolbox.verifiedSignCounter(of: octets, csrk: key.value)) ?? nil else {
      return report(.peer, "a signed write whose signature is wrong", peer: link.peer, into: &output)
    }
    guard counter >= bond.peerSignCounter, counter < .max else {
      return report(.peer, "a signed write that was sent before: a replay", peer: link.peer, into: &output)
    }
    bond.peerSignCounter = counter + 1
    change(bond, into: &output)
    var command = [UInt8](octets.dropLast(SecurityToolbox.signatureLength))
    guard command.count >= 3 else { return }
    command[0] = ATTOpcode.writeCommand.rawValue
    links[index].server.receive(
      command.span, security: links[index].security, database: &database, now: now, into: &scratch.server)
    drainServer(index, now: now, into: &output)
  }
}
