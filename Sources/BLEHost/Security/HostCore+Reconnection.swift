import BLEATT
import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// Whether our client waits with everything on a link that we made to a bonded peripheral (Docs/Decisions/0075).
///
/// ```
///   none ── link up, the bond has a key for us ──► pending ── encrypted ──► none
///                                                    │ refused, no answer     ▲
///                                                    └──► bondLost ── encrypted by a new pairing
/// ```
enum ClientHold: Equatable, Sendable {
  case none
  /// The link is being encrypted with the key of the bond; it has until then.
  case pending(until: Instant)
  /// It could not be. Nothing is asked of this device in the clear.
  case bondLost

  var isPending: Bool { if case .pending = self { true } else { false } }
  var deadline: Instant? { if case .pending(let until) = self { until } else { nil } }
}

/// Our central encrypts the link to a bonded peripheral before its client sends or accepts anything: who reads first and
/// encrypts later believes whoever has the peripheral's address (BLESA, CVE-2020-9770; Vol 3, Part C, 10.3.2).
extension HostCore {
  /// Starts the client of a link that we made. The exchange of the MTU is its first request, and waits as all others do.
  mutating func startClient(_ index: Int, now: Instant, into output: inout HostOutput) {
    guard let key = bonds[links[index].identity]?.centralKey else {
      return exchangeMTU(index, now: now, into: &output)
    }
    links[index].hold = .pending(until: now + configuration.encryptionTimeout)
    links[index].client.setHeld(true, now: now, into: &scratch.client)
    exchangeMTU(index, now: now, into: &output)
    if isSecuredBySystem {
      secureBySystem(index, isAuthenticated: key.strength.isAuthenticated, isConsented: false, now: now, into: &output)
    } else {
      encrypt(index, with: key, .bond, now: now, into: &output)
    }
  }

  /// The link is encrypted: the client begins.
  mutating func releaseClient(_ index: Int, now: Instant, into output: inout HostOutput) {
    guard links[index].hold != .none else { return }
    links[index].hold = .none
    links[index].client.setHeld(false, now: now, into: &scratch.client)
    drainClient(index, now: now, into: &output)
  }

  /// Whether an operation fails at once, because its link has lost its bond.
  func refusesOperations(_ link: Link) -> Bool {
    link.hold == .bondLost && pairingSettings?.holdsOperationsAfterBondLoss != true
  }

  /// A link could not be encrypted with the key of its device's bond, and is still up.
  mutating func bondKeyFailed(_ index: Int, _ loss: BondLoss, now: Instant, into output: inout HostOutput) {
    output.events.append(.bondLost(links[index].peer, links[index].identity, loss))
    releaseParked(index, into: &output)
    guard links[index].hold.isPending else { return }
    links[index].hold = .bondLost
    guard refusesOperations(links[index]) else { return }
    links[index].client.failWaiting(.notEncrypted, into: &scratch.client)
    drainClient(index, now: now, into: &output)
    // It was among them, and is the first request again if a new pairing encrypts the link.
    exchangeMTU(index, now: now, into: &output)
  }

  /// Ends a link whose encryption neither succeeds nor fails: its controller would have ended it by now (Vol 6, Part B,
  /// 5.2).
  mutating func tickHold(_ index: Int, now: Instant, into output: inout HostOutput) {
    guard let deadline = links[index].hold.deadline, deadline <= now else { return }
    links[index].cipher.start = nil
    bondKeyFailed(index, .notEncrypted(.linkLayerResponseTimeout), now: now, into: &output)
    close(index, .authenticationFailure, now: now, into: &output)
  }

  /// A notification or indication that came in the clear before the peripheral has proven its key is not passed on. An
  /// indication is confirmed all the same, or the server would end the link (Vol 3, Part F, 3.3.3).
  mutating func reportDroppedUpdate(_ index: Int, into output: inout HostOutput) {
    report(
      .peer, "a value that was sent before the link was encrypted is dropped: the device has not proven its bond",
      peer: links[index].peer, into: &output)
  }
}

extension BondLoss {
  /// What a failure to encrypt says of the bond; nil where the link has ended, which says nothing of it.
  init?(encryptionFailed status: HCIErrorCode) {
    switch status {
    case .pinOrKeyMissing: self = .forgottenByPeer
    case .terminatedMICFailure, .authenticationFailure: self = .keysDiffer
    case .unknownConnectionIdentifier, .connectionTimeout, .remoteUserTerminatedConnection,
      .remoteDeviceTerminatedLowResources, .remoteDeviceTerminatedPowerOff, .terminatedByLocalHost,
      .connectionFailedToBeEstablished:
      return nil
    default: self = .notEncrypted(status)
    }
  }

  /// What the end of a link says of the bond, whose key the link was being encrypted with: with different keys the
  /// controllers notice at the first message (Vol 6, Part B, 5.1.3.1).
  init?(linkEnded reason: HCIErrorCode, of link: Link) {
    guard link.cipher.start?.origin == .bond || link.hold.isPending else { return nil }
    switch reason {
    case .terminatedMICFailure, .authenticationFailure: self = .keysDiffer
    case .pinOrKeyMissing: self = .forgottenByPeer
    case .linkLayerResponseTimeout: self = .notEncrypted(reason)
    // The system's security manager ends a link that it could not encrypt.
    case .terminatedByLocalHost where link.system.isUnderWay && !link.hasAskedToEnd: self = .notEncrypted(reason)
    default: return nil
    }
  }
}
