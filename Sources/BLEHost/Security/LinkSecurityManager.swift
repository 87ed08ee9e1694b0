import BLECrypto
import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// The security manager of one link: it pairs, has the link encrypted, and decides which level the encryption gives it.
///
/// ``OwnSecurityManager`` speaks SMP and gives the controller the keys. ``KernelSecurityManager`` sends commands to the
/// kernel and receives its reports. ``SecurityPolicy/makeManager(peer:handle:isCentral:own:other:procedureTimeout:)``
/// creates one of them.
protocol LinkSecurityManager: Sendable {
  /// When ``SecurityInput/tick`` is due.
  var deadline: Instant? { get }
  /// Whether the link is being secured.
  var isUnderWay: Bool { get }
  /// Whether our controller was given a key and has not reported on it.
  var isStarting: Bool { get }

  /// Takes one input. Each of the two managers has inputs that only the other one gets, and ignores them by name.
  mutating func perform(
    _ input: SecurityInput, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>])

  /// Cancels the current encryption.
  mutating func stopEncryption()

  /// The link has ended, and with it its pairing. Only effects that need no link follow.
  ///
  /// - Parameter isRequested: we asked for the end.
  mutating func linkEnded(
    _ reason: HCIErrorCode, isRequested: Bool, _ context: SecurityContext,
    into effects: inout [Effect<SecurityEffect>])

  /// The facts about the link that a report of the kernel may concern; nil where the controller is ours alone.
  func kernelLink(of device: PeerIdentity) -> KernelLinkFacts?
}

/// An effect of the security manager of a link.
enum SecurityEffect: Sendable {
  /// Sends a PDU on the channel of the security manager.
  case send(SMPPDU)
  /// A pairing has succeeded.
  case paired(PairingOutcome)
  /// A pairing has failed in a way that may count as an attempt to guess a secret (Vol 3, Part H, 2.3.6).
  case failed(PairingFailure)
  /// An answer of the application changed nothing.
  case answerIgnored(PairingAnswerError)
  /// The link is encrypted with this key, which gives it its level.
  case encrypted(KeyStart)
  /// The link counts as unencrypted.
  case levelLost
  /// The key in use is that of a pairing that has failed: the link counts as unencrypted
  /// (Docs/Decisions/pairing-and-bonds.md#a-failed-pairing-gives-no-level).
  case keyRevoked
  /// The link could not be encrypted with the key of the bond.
  case bondKeyFailed(BondLoss)
  /// A pairing failed: requests that wait for it are refused.
  case pairingFailed
  /// The link was not secured: requests that wait for security are refused.
  case notSecured
  /// The link is to be ended: Authentication Failure.
  case close
  /// A report of the kernel that waited for the application counts now.
  case released(KernelReport)
  /// The first key of a pairing of the kernel with this device counts.
  case kernelKeyAccepted(DeviceAddress)
  /// The kernel is to remove the keys of a pairing with this device.
  case kernelKeysRefused(DeviceAddress)
}

/// A key that the controller was given, and its origin.
struct KeyStart: Equatable, Sendable {
  enum Origin: Equatable, Sendable { case pairing, bond }
  var strength: KeyStrength
  var origin: Origin
  /// When the controller should have reported the outcome.
  var deadline: Instant?
}

/// The facts that the security manager of a link needs from other parts, at the time of one input.
struct SecurityContext: Sendable {
  /// The settings of pairings; nil if pairing is disabled. A running pairing keeps its own.
  var settings: PairingSettings?
  /// The device has to wait before it pairs again.
  var isBlocked = false
  /// The device that the peer is taken for.
  var identity: DeviceAddress
  var bonds: [Bond] = []
  /// Whether the link has proven the bond of ``identity``.
  var isBondProven = false
  /// The level that the link has.
  var level = SecurityLevel.none
  /// The state of the encryption of a link that our central made to a bonded peripheral.
  var reconnection = Reconnection.none
  /// Our identity address, and whether it is withheld from a device that pairs without authentication.
  var ownIdentity = DeviceAddress(octets: BD_ADDR(), kind: .public)
  var withholdsIdentity = false
  /// The bonds that a pairing may make and replace.
  var rules = BondRules()
  /// How the pairings on the link have ended.
  var pairings = LinkPairings()
  let cryptography: AnyCryptography
  /// Drawn from by a new machine.
  var random: RandomSource
  /// The last identifier given to a question of a pairing, on any link.
  var lastQuestion: UInt64 = 0
  /// The demand of the owner that requests security; the settings follow it.
  var demand: SecurityDemand? {
    didSet { if let demand { settings?.meet(demand) } }
  }

  /// The bond of the device that the peer is taken for.
  var bond: Bond? { bond(of: identity) }
  func bond(of device: DeviceAddress) -> Bond? { bonds.first { $0.identity == device.identity } }
  var hasBond: Bool { hasBond(of: identity) }
  func hasBond(of device: DeviceAddress) -> Bool { bonds.contains { $0.identity == device.identity } }

  /// The loss of the bond, with what the address of this host explains.
  func explained(_ loss: BondLoss) -> BondLoss { loss.explained(by: bond, ownIdentity) }

  /// Whether the link has proven that its peer is this device.
  func isProven(_ device: DeviceAddress) -> Bool { isBondProven && identity == device.identity }

  /// How the bond of this device may be replaced if an unauthenticated pairing on the link names it.
  func replacement(of device: DeviceAddress) -> BondRules.Replacement? {
    settings?.replacement(of: bond(of: device), isProven: isProven(device))
  }

  /// The requirements for securing the link after the peer has refused an operation of our client because the link
  /// lacks security; nil if no pairing makes it more secure.
  var requirementsOnDemand: AuthenticationRequirements? {
    switch level {
    case .none: []
    // An unauthenticated key was not enough: a better one, where the devices can make one.
    case .encrypted: settings?.requestsMITM == true ? .mitm : nil
    case .authenticated, .secureConnections: nil
    }
  }

  /// The settings of the next pairing.
  var pairingSettings: PairingSettings {
    (settings ?? PairingSettings()).applied(
      to: PairingFacts(
        ownIdentity: ownIdentity, withholdsIdentity: withholdsIdentity, rules: rules, bond: bond,
        isBondProven: isBondProven))
  }

  /// Reports that a pairing on the link `peer` failed.
  ///
  /// - Parameter claimed: the identity that the peer named, if any.
  func report(
    _ failure: PairingFailure, claimed: DeviceAddress?, on peer: LinkID, into effects: inout [Effect<SecurityEffect>]
  ) {
    effects.appendFailure(failure, of: peer)
    let device = claimed ?? identity
    if hasBond(of: device),
      let loss = BondLoss(pairingFailed: failure, isProven: isBondProven && identity == device)
    {
      let explained = loss.explained(by: bond(of: device), ownIdentity)
      effects.append(.event(.bonds(.lost(peer, device, explained)), to: .everyone))
    }
    effects.append(.own(.pairingFailed))
  }

  /// Whether an owner may request security. The refusal, which names the remedy, and the end of the pairing that waits
  /// for it are effects.
  func admitsRequest(of owner: OwnerID, on peer: LinkID, into effects: inout [Effect<SecurityEffect>]) -> Bool {
    if settings != nil { return true }
    effects.append(
      .event(.refused(.disabled("pairing is disabled: set PairingOptions.isEnabled")), to: owner.recipient))
    effects.append(
      .event(.pairing(peer, .failed(PairingFailure(.pairingNotSupported, .local))), to: owner.recipient))
    return false
  }

  /// Whether our central secures the link `peer` although the application has not requested it.
  func admitsUnrequestedSecurity(of peer: LinkID, into effects: inout [Effect<SecurityEffect>]) -> Bool {
    // A key that was made without authentication, although it was requested, is the best that the devices can make.
    if pairings.lacksAuthentication, level != .none { return false }
    switch reconnection {
    case .none: return true
    // The encryption that is under way is the answer.
    case .pending: return false
    case .bondLost:
      // A device that cannot encrypt with its bond does not get another one by a Security Request.
      let text =
        "a Security Request is ignored: the device has lost its bond, and the application decides whether to pair"
      effects.append(.report(.peer, text, peer: peer))
      return false
    }
  }
}

extension Array {
  /// Reports a pairing that failed on the link `peer` to all owners and to the log, which has the step and the fault.
  mutating func appendFailure<Own>(_ failure: PairingFailure, of peer: LinkID) where Element == Effect<Own> {
    append(.event(.pairing(peer, .failed(failure)), to: .everyone))
    append(.report(.peer, "the pairing failed, \(failure)", peer: peer))
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

  /// The bond loss that is indicated by the end of a link during its encryption with the key of the bond; nil for none.
  /// With different keys the controllers end the link at the first encrypted PDU (Vol 6, Part B, 5.1.3.1).
  init?(linkEnded reason: HCIErrorCode) {
    switch reason {
    case .terminatedMICFailure, .authenticationFailure: self = .keysDiffer
    case .pinOrKeyMissing: self = .forgottenByPeer
    case .linkLayerResponseTimeout: self = .notEncrypted(reason)
    default: return nil
    }
  }

  /// The bond loss that a failed pairing means: its key would have been weaker than that of the bond, which the device
  /// would have used if it still had it. Nil where it means none.
  ///
  /// - Parameter isProven: the link has proven the bond.
  init?(pairingFailed failure: PairingFailure, isProven: Bool) {
    guard failure.origin == .local, !isProven else { return nil }
    guard failure.reason == .authenticationRequirements || failure.reason == .encryptionKeySize else { return nil }
    self = .forgottenByPeer
  }
}

extension Link {
  /// The facts for the security manager. It is mutating to be called in place (Docs/Decisions/performance.md#in-place).
  ///
  /// - Parameter inUse: the devices that have proven their bonds on other links.
  mutating func securityContext(
    _ policy: SecurityPolicy, _ bonds: BondTable, inUse: Set<DeviceAddress>, _ toolbox: SecurityToolbox,
    _ host: HostContext
  ) -> SecurityContext {
    SecurityContext(
      settings: policy.settings, isBlocked: policy.isBlocked(identity, now: host.now), identity: identity,
      bonds: bonds.bonds, isBondProven: security.isBondProven, level: security.level,
      reconnection: client.reconnection, ownIdentity: host.ownIdentity, withholdsIdentity: host.withholdsIdentity,
      rules: bonds.rules(for: identity, policy.settings, inUse: inUse, now: host.now),
      pairings: device.pairings, cryptography: toolbox.cryptography, random: host.random,
      lastQuestion: policy.lastQuestion)
  }
}
