import BLEATT
import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// The state of a link that our central made to a bonded peripheral (Docs/Decisions/0049). Our client sends nothing except in
/// `none`.
///
/// ```
///   none ── link up, the bond has a key for us ──► pending ── encrypted ──► none
///                                                    │ refused, no answer     ▲
///                                                    └──► bondLost ── encrypted by a new pairing
/// ```
enum Reconnection: Equatable, Sendable {
  case none
  /// The link is being encrypted with the key of the bond, at the latest until this time.
  case pending(until: Instant)
  /// The encryption has failed. Nothing is sent in the clear on this link.
  case bondLost

  var isPending: Bool { if case .pending = self { true } else { false } }
  var deadline: Instant? { if case .pending(let until) = self { until } else { nil } }
}

/// Our central encrypts the link to a bonded peripheral before its client sends or accepts anything. A central that reads first
/// accepts the values of any device with the peripheral's address (BLESA, CVE-2020-9770; Vol 3, Part C, 10.3.2).
extension HostCore {
  /// Starts the client of a link that our central made. Exchange MTU is the first request; it waits as all others do.
  mutating func startClient(_ index: Int, now: Instant, into output: inout HostOutput) {
    guard let key = bonds[links[index].identity]?.centralKey else {
      return exchangeMTU(index, now: now, into: &output)
    }
    links[index].reconnection = .pending(until: now + configuration.encryptionTimeout)
    links[index].client.setSuspended(true, now: now, into: &scratch.client)
    exchangeMTU(index, now: now, into: &output)
    if isSecuredBySystem {
      secureBySystem(index, isAuthenticated: key.strength.isAuthenticated, isConsented: false, now: now, into: &output)
    } else {
      encrypt(index, with: key, .bond, now: now, into: &output)
    }
  }

  /// Lets the client send: the link is encrypted.
  mutating func resumeClient(_ index: Int, now: Instant, into output: inout HostOutput) {
    guard links[index].reconnection != .none else { return }
    links[index].reconnection = .none
    links[index].client.setSuspended(false, now: now, into: &scratch.client)
    drainClient(index, now: now, into: &output)
  }

  /// Whether an operation fails at once, because the bond of its link is lost.
  func refusesOperations(_ link: Link) -> Bool {
    link.reconnection == .bondLost && !policy.queuesOperationsAfterBondLoss
  }

  /// Reports a bond loss on a link that is still up, and ends or keeps the operations that wait.
  mutating func bondKeyFailed(_ index: Int, _ loss: BondLoss, now: Instant, into output: inout HostOutput) {
    output.append(.bondLost(links[index].peer, links[index].identity, loss))
    releaseParked(index, into: &output)
    guard links[index].reconnection.isPending else { return }
    links[index].reconnection = .bondLost
    guard refusesOperations(links[index]) else { return }
    links[index].client.failWaiting(.notEncrypted, into: &scratch.client)
    drainClient(index, now: now, into: &output)
    // The Exchange MTU Request failed with them. It is the first request again if a new pairing encrypts the link.
    exchangeMTU(index, now: now, into: &output)
  }

  /// Ends a link whose encryption neither succeeds nor fails, although the controller should have ended it (Vol 6, Part B,
  /// 5.2).
  mutating func tickReconnection(_ index: Int, now: Instant, into output: inout HostOutput) {
    guard let deadline = links[index].reconnection.deadline, deadline <= now else { return }
    links[index].cipher.start = nil
    bondKeyFailed(index, .notEncrypted(.linkLayerResponseTimeout), now: now, into: &output)
    close(index, .authenticationFailure, now: now, into: &output)
  }

  /// Reports a notification or indication that is dropped because it arrived in the clear. An indication has been confirmed,
  /// because the server would end the link otherwise (Vol 3, Part F, 3.3.3).
  mutating func reportDroppedUpdate(_ index: Int, into output: inout HostOutput) {
    report(
      .peer, "a value that was sent before the link was encrypted is dropped: the device has not proven its bond",
      peer: links[index].peer, into: &output)
  }
}

extension BondLoss {
  /// The bond loss that a failed encryption means; nil where the link has ended, which means none.
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

  /// The bond loss that the end of a link means while it was being encrypted; nil where it means none. With different keys the
  /// controllers end the link at the first encrypted PDU (Vol 6, Part B, 5.1.3.1).
  init?(linkEnded reason: HCIErrorCode, of link: Link) {
    guard link.cipher.start?.origin == .bond || link.reconnection.isPending else { return nil }
    switch reason {
    case .terminatedMICFailure, .authenticationFailure: self = .keysDiffer
    case .pinOrKeyMissing: self = .forgottenByPeer
    case .linkLayerResponseTimeout: self = .notEncrypted(reason)
    // The kernel ends a link that it could not encrypt.
    case .terminatedByLocalHost where link.system.isUnderWay && !link.hasAskedToEnd: self = .notEncrypted(reason)
    default: return nil
    }
  }
}
