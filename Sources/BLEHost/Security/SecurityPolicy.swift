import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// How we pair, which devices have to wait because they failed too often, and which security manager a link has: our
/// own, or one for the kernel.
struct SecurityPolicy: Sendable {
  /// Nil refuses every attempt.
  var settings: PairingSettings? { didSet { noteSettings() } }
  /// Whether our central secures a link whose peer refuses an operation because the link lacks security. Stored,
  /// because each packet reads it.
  private(set) var pairsOnDemand = false
  /// Whether operations wait on a link whose bond is lost; else they fail at once. Stored, because each packet reads
  /// it.
  private(set) var queuesOperationsAfterBondLoss = false
  private var attempts = RepeatedAttempts()
  /// The last identifier given to a question of a pairing.
  var lastQuestion: UInt64 = 0
  /// The pairings of the kernel; nil where the controller is ours alone.
  var kernel: KernelPairings?

  init(_ settings: PairingSettings?, kernel: KernelPairings? = nil) {
    (self.settings, self.kernel) = (settings, kernel)
    noteSettings()
  }

  private mutating func noteSettings() {
    pairsOnDemand = settings?.pairsOnDemand == true
    queuesOperationsAfterBondLoss = settings?.queuesOperationsAfterBondLoss == true
  }

  /// The security manager of a new link.
  ///
  /// - Parameters:
  ///   - own: our address on this link.
  ///   - other: the peer's address as it is on the radio.
  func makeManager(
    peer: LinkID, handle: ConnectionHandle, isCentral: Bool, own: DeviceAddress, other: DeviceAddress,
    procedureTimeout: Duration
  ) -> AnyLinkSecurityManager {
    guard kernel == nil else {
      return .init(KernelSecurityManager(peer: peer, handle: handle, isCentral: isCentral, address: other))
    }
    return .init(
      OwnSecurityManager(
        peer: peer, handle: handle, isCentral: isCentral, own: own, other: other.identity,
        procedureTimeout: procedureTimeout))
  }

  /// The controller requests a key for an unknown link. The kernel answers for the links of its controller.
  func keyRequested(onUnknownLink handle: ConnectionHandle, into effects: inout [Effect<Never>]) {
    guard kernel == nil else { return }
    effects.append(.command(HCI.LELongTermKeyRequestNegativeReply { $0.connectionHandle = handle }, for: .reply))
  }

  /// Whether a device has to wait before it pairs again (Vol 3, Part H, 2.3.6).
  func isBlocked(_ identity: DeviceAddress, now: Instant) -> Bool { attempts.isBlocked(identity, now: now) }

  mutating func succeeded(_ identity: DeviceAddress) { attempts.succeeded(identity) }

  mutating func failed(_ identity: DeviceAddress, _ failure: PairingFailure, now: Instant) {
    attempts.failed(identity, failure, now: now)
  }

  /// How many bonds may be made without authentication and without consent.
  var unconfirmedBonds: UnconfirmedBondLimit { settings?.unconfirmedBonds ?? UnconfirmedBondLimit() }
}

extension PairingSettings {
  /// Whether a key of this strength is as good as one that is asked for.
  func isEnough(_ strength: KeyStrength, for wanted: AuthenticationRequirements) -> Bool {
    !wanted.contains(.mitm) || strength.isAuthenticated || !requestsMITM
  }

  /// Requires of the next pairing what an owner demands.
  mutating func meet(_ demand: SecurityDemand) {
    if demand.level >= .authenticated { (requestsMITM, requiresMITM) = (true, true) }
    if demand.level >= .secureConnections { isSecureConnectionsOnly = true }
    if demand.asksConsent { asksConsent = true }
  }

  /// How this bond may be replaced if an unauthenticated pairing names its device; nil if there is none, if a key must
  /// be authenticated to replace it, and if the link has proven it.
  func replacement(of bond: Bond?, isProven: Bool) -> BondRules.Replacement? {
    guard let bond, !bond.strength.isAuthenticated, !isProven else { return nil }
    return bondRules.replacement
  }

  /// The settings of one link's next pairing.
  func applied(to facts: PairingFacts) -> PairingSettings {
    var settings = self
    settings.identityAddress = facts.ownIdentity
    settings.withholdsIdentity = facts.withholdsIdentity
    settings.bondRules = facts.rules
    if let bond = facts.bond {
      settings.applyBond(of: bond.identity, bond.strength, isProven: facts.isBondProven)
    }
    return settings
  }
}

/// How the pairings on one link have ended, as far as it decides whether another one is useful.
struct LinkPairings: Equatable, Sendable {
  private var failures = 0
  private var waitsUntil: Instant?
  /// The last pairing was to authenticate, and the inputs and outputs of the devices permitted Just Works only (Vol 3,
  /// Part H, 2.3.5.1): another one has the same result.
  private(set) var lacksAuthentication = false

  /// The waiting time after the first failure. It doubles with each failure.
  static let firstWait = Duration.seconds(2)
  static let longestWait = Duration.seconds(512)

  /// Whether requests of the peer for security start no pairing, because one has failed (Vol 3, Part H, 2.3.6).
  func isWaiting(now: Instant) -> Bool { waitsUntil.map { now < $0 } ?? false }

  mutating func failed(now: Instant) {
    var wait = Self.firstWait
    for _ in 0..<failures where wait < Self.longestWait { wait += wait }
    waitsUntil = now + min(wait, Self.longestWait)
    failures = min(failures + 1, 16)
  }

  mutating func succeeded(lacksAuthentication: Bool) { self = Self(lacksAuthentication: lacksAuthentication) }

  init(lacksAuthentication: Bool = false) { self.lacksAuthentication = lacksAuthentication }
}

extension SecurityDemand {
  /// Whether the encryption with a key meets the demand (Vol 3, Part C, 10.2.1).
  func admits(_ strength: KeyStrength) -> Bool {
    switch level {
    case .none, .encrypted: true
    case .authenticated: strength.isAuthenticated
    case .secureConnections: strength.isAuthenticated && strength.isSecureConnections && strength.size == 16
    }
  }
}

/// The facts that the settings of a pairing depend on.
struct PairingFacts: Sendable {
  var ownIdentity: DeviceAddress
  /// Whether our identity is withheld from a device that pairs without authentication.
  var withholdsIdentity: Bool
  var rules: BondRules
  /// The bond of the device that the peer is taken for, and whether the link has proven it.
  var bond: Bond?
  var isBondProven: Bool
}
