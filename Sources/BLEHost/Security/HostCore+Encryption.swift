import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// What the controller says of encryption: the only thing that a link's security level is believed from.
extension HostCore {
  /// The central encrypts and names the key; the pairing under way has it, or the device's bond (Vol 4, Part E, 7.7.65.5).
  mutating func longTermKeyRequested(
    _ request: HCI.LELongTermKeyRequest, now: Instant, into output: inout HostOutput
  ) {
    // The kernel answers for the links of its controller.
    guard configuration.ownership == .exclusive else { return }
    let handle = request.connectionHandle
    guard let index = index(of: handle), links[index].role == .peripheral else {
      return refuseKey(handle, now: now, into: &output)
    }
    let (ediv, rand) = (request.encryptedDiversifier, request.randomNumber)
    if let key = links[index].pairing?.longTermKey(ediv: ediv, rand: rand) {
      return giveKey(key, .pairing, on: index, now: now, into: &output)
    }
    let bond = bonds[links[index].identity]
    if let key = bond?.peripheralKey, key.ediv == ediv, key.rand == rand {
      return giveKey(key, .bond, on: index, now: now, into: &output)
    }
    links[index].cipher.hasMissedKey = true
    refuseKey(handle, now: now, into: &output)
    let loss: BondLoss = bond == nil ? .missingHere : .keysDiffer
    output.append(.bondLost(links[index].peer, links[index].identity, loss))
  }

  private mutating func giveKey(
    _ key: LongTermKey, _ origin: LinkCipher.Origin, on index: Int, now: Instant, into output: inout HostOutput
  ) {
    links[index].cipher.start = LinkCipher.Start(strength: key.strength, origin: origin)
    let handle = links[index].handle
    let reply = HCI.LELongTermKeyRequestReply {
      $0.connectionHandle = handle
      $0.longTermKey = key.value.value
    }
    send(reply, for: .reply, now: now, into: &output)
  }

  private mutating func refuseKey(_ handle: ConnectionHandle, now: Instant, into output: inout HostOutput) {
    send(
      HCI.LELongTermKeyRequestNegativeReply { $0.connectionHandle = handle }, for: .reply, now: now, into: &output)
  }

  /// We are the central: encrypts the link (Vol 4, Part E, 7.8.24).
  mutating func encrypt(
    _ index: Int, with key: LongTermKey, _ origin: LinkCipher.Origin, now: Instant, into output: inout HostOutput
  ) {
    links[index].cipher.start = LinkCipher.Start(strength: key.strength, origin: origin)
    let (handle, peer) = (links[index].handle, links[index].peer)
    let command = HCI.LEEnableEncryption {
      $0.connectionHandle = handle
      $0.randomNumber = key.rand
      $0.encryptedDiversifier = key.ediv
      $0.longTermKey = key.value.value
    }
    send(command, for: .encryption(peer), now: now, into: &output)
  }

  /// The controller took the command to encrypt, or did not.
  mutating func encryptionCommandEnded(
    _ peer: PeerID, _ status: HCIErrorCode, now: Instant, into output: inout HostOutput
  ) {
    guard status != .success, let index = index(of: peer) else { return }
    encryptionFailed(index, status, now: now, into: &output)
  }

  /// Encryption Change and Encryption Key Refresh Complete (Vol 4, Part E, 7.7.8 and 7.7.39).
  mutating func encryptionChanged(
    _ handle: ConnectionHandle, _ status: HCIErrorCode, isOn: Bool, now: Instant, into output: inout HostOutput
  ) {
    guard let index = index(of: handle) else { return }
    guard status == .success else {
      if isSecuredBySystem { return systemEncryptionFailed(index, status, now: now, into: &output) }
      return encryptionFailed(index, status, now: now, into: &output)
    }
    links[index].cipher.isOn = isOn
    guard isOn else {
      links[index].cipher.start = nil
      links[index].client.setEncrypted(false)
      (links[index].security.level, links[index].security.keySize) = (.none, 0)
      links[index].security.isBondProven = false
      output.append(.security(links[index].peer, links[index].security))
      return reportSubscriptions(index, into: &output)
    }
    // The system knows the key and tells what it is worth.
    guard !isSecuredBySystem else { return }
    guard let start = links[index].cipher.start else {
      // No key of ours stands behind it, so it proves nothing.
      if links[index].security.level == .none {
        report(
          .controller, "a link is said to be encrypted with a key that it was not given: it counts as plain",
          peer: links[index].peer, into: &output)
      }
      return
    }
    links[index].cipher.start = nil
    links[index].client.setEncrypted(true)
    withClient(index, now: now, into: &output) { $0.stopAwaitingCounters(now: now, into: &$1) }
    links[index].security.level = start.strength.level
    links[index].security.keySize = start.strength.size
    let isNewProof = start.origin == .bond && proveBond(index, into: &output)
    let place = isNewProof ? confirmIdentity(index, now: now, into: &output) : index
    output.append(.security(links[place].peer, links[place].security))
    reportSubscriptions(place, into: &output)
    switch start.origin {
    case .bond: if isNewProof { recognised(place, now: now, into: &output) }
    case .pairing:
      withPairing(place, now: now, into: &output) { machine, effects in
        machine.encryptionChanged(isEnabled: true, now: now, into: &effects)
      }
    }
    guard let still = self.index(of: handle) else { return }
    resumeClient(still, now: now, into: &output)
  }

  private mutating func encryptionFailed(
    _ index: Int, _ status: HCIErrorCode, now: Instant, into output: inout HostOutput
  ) {
    guard let start = links[index].cipher.start else { return }
    links[index].cipher.start = nil
    switch start.origin {
    case .pairing:
      withPairing(index, now: now, into: &output) { machine, effects in
        machine.encryptionChanged(isEnabled: false, now: now, into: &effects)
      }
    case .bond:
      guard let loss = BondLoss(encryptionFailed: status) else { return }
      bondKeyFailed(index, loss, now: now, into: &output)
    }
  }

  /// A link ended while it was being encrypted.
  mutating func cipherEnded(_ link: Link, _ reason: HCIErrorCode, into output: inout HostOutput) {
    guard let loss = BondLoss(linkEnded: reason, of: link) else { return }
    output.append(.bondLost(link.peer, link.identity, loss))
  }
}
