import BLEGATT
import BLESMP
import BLEWire

/// An effect of the bond table.
enum BondEffect: Equatable, Sendable {
  /// A bond was removed, by the application or for a newer one: no link has it any longer.
  case removed(DeviceAddress)
  /// The bond of a pairing is not kept: its keys are of no use.
  case notKept(DeviceAddress)
  /// A pairing on this link has made a bond.
  case made(Bond, LinkID)
  /// The bond of this link's pairing has replaced another one of this device.
  case replaced(DeviceAddress, LinkID)
  /// The security of a link has changed with its bond.
  case securityChanged(LinkID)
  /// The identity resolving key of a pairing was refused, or taken from another bond: the keys of the system
  /// host differ from those of the bonds.
  case identityKeysChanged
}

/// Facts about the link of a pairing that succeeded.
struct PairedLink: Sendable {
  var peer: LinkID
  /// The address that the peer uses on the link.
  var address: DeviceAddress
  /// The device that the peer is taken for, and whether the link has proven its bond.
  var identity: DeviceAddress
  var isBondProven: Bool
  /// The identity address of this host.
  var ownIdentity: DeviceAddress?
  /// What the peer has configured as the client of our server.
  var client = ClientRecord()
  /// The devices that have proven their bonds on other links.
  var inUse: Set<DeviceAddress> = []
}

/// The bonds of a host: which are admitted, which are removed for them, when their changes are reported, and which sign
/// counters of peers are stored.
///
/// ```
///   admit, change, keep, prove ──► bonds ──► HostEvent.Bonds.changed: at once, or at the end of an interval
///   remove, or no room         ──►       ──► BondEffect.removed, HostEvent.Bonds.removed
/// ```
struct BondTable: Sendable {
  private let maximum: Int
  private let reportInterval: Duration
  /// Whether the application reports which bonds are stored. Otherwise a bond counts as stored when it is reported.
  private let awaitsStorage: Bool
  private var list: BondList
  private var reports = BondReports()
  private var unconfirmed = UnconfirmedBonds()
  /// Changes are no longer delayed, because the host is shutting down.
  private var isEnding = false
  private var counters = SignCounters()
  /// When ``tick(now:into:)`` has a bond to report.
  private(set) var deadline: Instant?

  init(_ configuration: HostConfiguration) {
    maximum = configuration.maximumBonds
    reportInterval = configuration.bondReportInterval
    awaitsStorage = configuration.awaitsBondStorage
    list = configuration.reservesMemory ? BondList(reserving: max(1, maximum)) : BondList()
    replaceAll(with: configuration.bonds)
  }

  /// In the order in which they were made.
  var bonds: [Bond] { list.bonds }
  /// Counts the changes of the devices that can be resolved.
  var revision: Int { list.revision }
  subscript(identity: DeviceAddress) -> Bond? { list[identity] }
  func contains(_ identity: DeviceAddress) -> Bool { list.contains(identity) }

  /// The identity of a device by the address it uses: that of a bond which names the address or whose key resolves it,
  /// otherwise the address itself.
  mutating func identity(of address: DeviceAddress, _ toolbox: SecurityToolbox) -> DeviceAddress {
    list.identity(of: address, toolbox)
  }

  /// The bonds as the radio needs them.
  var devices: BondedDevices {
    BondedDevices(revision: list.revision, bonds: list.bonds, lastAddresses: list.latest)
  }

  /// Replaces all bonds with those of an earlier run. No change of a bond is reported.
  ///
  /// - Returns: the devices that lose their identity resolving keys, because the keys are not theirs alone.
  @discardableResult
  mutating func replaceAll(with bonds: [Bond]) -> [DeviceAddress] {
    let keyless = list.replaceAll(with: bonds, limit: maximum)
    counters.load(list.bonds)
    reports = BondReports()
    review()
    return keyless
  }

  /// Sets the identity resolving key that this host distributes. No bond has it.
  ///
  /// - Returns: the devices that lose this key.
  mutating func setOwnKey(_ key: SecretKey?) -> [DeviceAddress] { list.setOwnKey(key) }

  /// The bonds that a pairing may make and replace.
  ///
  /// - Parameters:
  ///   - identity: the identity that the device of the pairing is assumed to have.
  ///   - inUse: devices that have proven their bonds on other links.
  func rules(
    for identity: DeviceAddress, _ settings: PairingSettings?, inUse: Set<DeviceAddress>, now: Instant
  ) -> BondRules {
    let settings = settings ?? PairingSettings()
    var rules = BondRules()
    (rules.strengths, rules.replacement, rules.inUse) = (list.strengths, settings.bondRules.replacement, inUse)
    rules.identityKeys = list.identityKeys
    // A bond that is replaced takes no room.
    guard !list.contains(identity) else { return rules }
    if !list.hasRoom(limit: maximum) {
      rules.admission = .none
    } else if !unconfirmed.admits(settings.unconfirmedBonds, now: now) {
      rules.admission = .confirmed
    }
    return rules
  }

  /// Keeps the bond that a pairing has made, if there is room and, for an unconfirmed one, if not too many were made
  /// lately.
  ///
  /// - Parameter inUse: devices that have proven their bonds, which are removed last.
  /// - Returns: whether it is kept.
  mutating func admit(
    _ bond: Bond, hasConsent: Bool, inUse: Set<DeviceAddress>, _ limit: UnconfirmedBondLimit, now: Instant,
    into effects: inout [Effect<BondEffect>]
  ) -> Bool {
    let isUnconfirmed = !list.contains(bond.identity) && !bond.strength.isAuthenticated && !hasConsent
    if isUnconfirmed, !unconfirmed.admits(limit, now: now) { return false }
    var bond = bond
    bond.lastUse = list[bond.identity]?.lastUse ?? 0
    let isKeyRefused = list.isKeyRefused(of: bond)
    if isKeyRefused { bond.identityResolvingKey = nil }
    let losers = list.devices(losingTheirKeyTo: bond)
    switch list.update(bond, limit: maximum, inUse: inUse) {
    case .refused: return false
    case .added, .replaced: break
    case .addedInPlace(let removed): forget(removed, into: &effects)
    }
    if isUnconfirmed { unconfirmed.add(limit, now: now) }
    _ = list.use(bond.identity)
    counters.make(bond)
    for loser in losers { removeKey(of: loser, for: bond.identity, into: &effects) }
    report(bond.identity, into: &effects)
    if isKeyRefused { keyRefused(bond.identity, into: &effects) }
    if isKeyRefused || !losers.isEmpty { effects.append(.own(.identityKeysChanged)) }
    return true
  }

  /// An unauthenticated bond has the identity resolving key of a device that has now authenticated.
  private mutating func removeKey(
    of loser: DeviceAddress, for owner: DeviceAddress, into effects: inout [Effect<BondEffect>]
  ) {
    guard var bond = list[loser] else { return }
    bond.identityResolvingKey = nil
    change(bond, into: &effects)
    let text = "the bond of \(loser) loses its identity resolving key: \(owner) has it, too, and has authenticated"
    effects.append(.report(.peer, text, peer: nil))
  }

  private func keyRefused(_ identity: DeviceAddress, into effects: inout [Effect<BondEffect>]) {
    effects.append(.report(.peer, Self.keyRefusal(of: identity), peer: nil))
  }

  /// The line of the log about a device whose key is not used.
  static func keyRefusal(of identity: DeviceAddress) -> String {
    "the identity resolving key of \(identity) is not used: it is all zeros, or that of this device or of another bonded one. Private addresses of \(identity) are not recognized"
  }

  /// Takes the outcome of a pairing: keeps its bond, and reports the result.
  mutating func paired(
    _ outcome: PairingOutcome, on link: PairedLink, _ limit: UnconfirmedBondLimit, _ toolbox: SecurityToolbox,
    now: Instant, into effects: inout [Effect<BondEffect>]
  ) {
    let identity = (outcome.peerIdentity ?? link.identity).identity
    let old = list[identity]
    // The pairing machine checks that, but the bond may have been made in the meantime, on another link.
    if outcome.isBonded, let refusal = old.flatMap({ outcome.strength.error(replacing: $0.strength) }) {
      effects.appendFailure(PairingFailure(.weakerThanBond(refusal), at: .keyDistribution), of: link.peer)
      return effects.append(.event(.bonds(.lost(link.peer, identity, .forgottenByPeer)), to: .everyone))
    }
    // Nor does an unauthenticated device replace one that is connected and has proven its bond.
    if outcome.isBonded, link.inUse.contains(identity), !outcome.strength.isAuthenticated {
      return effects.appendFailure(PairingFailure(.identityInUse, at: .keyDistribution), of: link.peer)
    }
    // A device that uses private addresses and distributes no identity cannot be recognized.
    let makesBond = outcome.isBonded && identity.randomKind != .resolvablePrivate
    let bond = Bond(identity: identity, outcome, link)
    let inUse = link.inUse.union(link.isBondProven ? [link.identity] : [])
    let isBonded =
      makesBond && admit(bond, hasConsent: outcome.hasConsent, inUse: inUse, limit, now: now, into: &effects)
    if isBonded {
      if outcome.isIdentityKeyRefused { keyRefused(identity, into: &effects) }
      effects.append(.own(.made(bond, link.peer)))
      if let old { replaced(old, on: link, outcome.strength, into: &effects) }
      // The table stores the private address that the device uses now.
      _ = self.identity(of: link.address, toolbox)
    } else if makesBond {
      effects.append(.own(.notKept(identity)))
    }
    if outcome.isBondDeclined || makesBond && !isBonded { declined(limit, peer: link.peer, into: &effects) }
    let device = PairedDevice(identity: identity, isBonded: isBonded, strength: outcome.strength)
    effects.append(.event(.pairing(link.peer, .succeeded(device)), to: .everyone))
    if isBonded { effects.append(.own(.securityChanged(link.peer))) }
  }

  /// A bond was replaced. If the link had not proven it, that is reported: it may be another device.
  private func replaced(
    _ old: Bond, on link: PairedLink, _ strength: KeyStrength, into effects: inout [Effect<BondEffect>]
  ) {
    effects.append(.own(.replaced(old.identity, link.peer)))
    guard !(link.isBondProven && link.identity == old.identity) else { return }
    effects.append(.event(.bonds(.replaced(link.peer, old.identity)), to: .everyone))
    guard !strength.isAuthenticated else { return }
    let text = "the bond of \(old.identity) was replaced by an unauthenticated pairing"
    effects.append(.report(.peer, text, peer: link.peer))
  }

  /// Says why a pairing made no bond.
  private func declined(_ limit: UnconfirmedBondLimit, peer: LinkID, into effects: inout [Effect<BondEffect>]) {
    let reason =
      list.hasRoom(limit: maximum)
      ? "\(limit.count) unconfirmed bonds were made within \(limit.period). Enable asksConsent or authenticated pairing, or pair again later"
      : "all \(maximum) bonds are authenticated. Remove one"
    effects.append(.report(.peer, "paired without a bond: \(reason)", peer: peer))
  }

  /// Changes an existing bond, and reports it immediately.
  mutating func change<Own>(_ bond: Bond, into effects: inout [Effect<Own>]) {
    guard list.contains(bond.identity) else { return }
    _ = list.update(bond, limit: maximum)
    report(bond.identity, into: &effects)
  }

  /// Records the configuration of a client, if it has changed. Of changes in quick succession, the last one is
  /// reported.
  mutating func keep<Own>(
    _ record: ClientRecord, of identity: DeviceAddress, now: Instant, into effects: inout [Effect<Own>]
  ) {
    guard var bond = list[identity], record != bond.client else { return }
    bond.client = record
    _ = list.update(bond, limit: maximum)
    reportSoon(bond.identity, now: now, into: &effects)
  }

  /// Records what was discovered of a device's database, if it is more than before or different; nil for nothing.
  mutating func keep<Own>(
    _ cache: AttributeCache?, of identity: DeviceAddress, now: Instant, into effects: inout [Effect<Own>]
  ) {
    guard var bond = list[identity], cache != bond.attributeCache else { return }
    bond.attributeCache = cache
    _ = list.update(bond, limit: maximum)
    reportSoon(bond.identity, now: now, into: &effects)
  }

  /// Notes that a device has proven its bond.
  mutating func use<Own>(_ identity: DeviceAddress, now: Instant, into effects: inout [Effect<Own>]) {
    if list.use(identity) { reportSoon(identity, now: now, into: &effects) }
  }

  /// Removes the bond of a device, for the application.
  mutating func remove(_ identity: DeviceAddress, into effects: inout [Effect<BondEffect>]) {
    if let bond = list.remove(identity) { forget(bond, into: &effects) }
  }

  private mutating func forget(_ bond: Bond, into effects: inout [Effect<BondEffect>]) {
    reports.forget(bond.identity)
    counters.forget(bond.identity)
    review()
    effects.append(.own(.removed(bond.identity)))
    effects.append(.event(.bonds(.removed(bond.identity)), to: .everyone))
  }
}

/// Reports of bonds that changed.
extension BondTable {
  private mutating func report<Own>(_ identity: DeviceAddress, into effects: inout [Effect<Own>]) {
    guard let bond = list[identity] else { return }
    reports.wasReported(bond.identity)
    review()
    effects.append(.event(.bonds(.changed(bond)), to: .everyone))
    if !awaitsStorage { counters.wasStored(bond) }
  }

  private mutating func reportSoon<Own>(
    _ identity: DeviceAddress, now: Instant, into effects: inout [Effect<Own>]
  ) {
    let interval = isEnding ? .zero : reportInterval
    if reports.changed(identity.identity, now: now, interval: interval) {
      report(identity, into: &effects)
    } else {
      review()
    }
  }

  /// Reports the changes that have waited for the end of their interval.
  mutating func tick(now: Instant, into effects: inout [Effect<BondEffect>]) {
    guard let deadline, deadline <= now else { return }
    for identity in reports.takeDue(now: now, interval: reportInterval) { report(identity, into: &effects) }
    review()
  }

  /// Reports the unreported changes of one bond, because its link has ended.
  mutating func linkEnded<Own>(_ identity: DeviceAddress, into effects: inout [Effect<Own>]) {
    if reports.isPending(identity) { report(identity, into: &effects) }
  }

  /// Reports the unreported changes of all bonds, and from now on every change immediately: the host is shutting down.
  mutating func shutdown(into effects: inout [Effect<BondEffect>]) {
    isEnding = true
    for identity in reports.takeAll() { report(identity, into: &effects) }
    review()
  }

  private mutating func review() { deadline = reports.deadline(reportInterval) }
}

/// The sign counters of peers (Vol 3, Part H, 2.4.5).
extension BondTable {
  /// Notes the counter of a signed write of the device as used.
  mutating func usePeerCounter<Own>(_ counter: UInt32, of identity: DeviceAddress, into effects: inout [Effect<Own>]) {
    guard var bond = list[identity], counter >= bond.peerSignCounter, counter < .max else { return }
    bond.peerSignCounter = counter + 1
    change(bond, into: &effects)
  }

  /// How far the store is with the signed writes of one peer.
  func store(of identity: DeviceAddress) -> SignCounters.StoreState { counters.store(of: identity) }

  /// The store has not answered in time.
  mutating func storeFailed() { counters.isFailing = true }

  /// The store has bonds as they were reported.
  mutating func stored(_ bonds: [Bond]) {
    counters.isFailing = false
    for bond in bonds { counters.wasStored(bond) }
  }
}

/// The times at which bonds were made without authentication and without the application's consent.
///
/// They are counted for the host and not for an address: a device can invent an identity for each pairing.
struct UnconfirmedBonds: Sendable {
  private var times: [Instant] = []

  /// Whether one more is within the limit at this time.
  func admits(_ limit: UnconfirmedBondLimit, now: Instant) -> Bool {
    times.count { now < $0 + limit.period } < limit.count
  }

  mutating func add(_ limit: UnconfirmedBondLimit, now: Instant) {
    times.removeAll { $0 + limit.period <= now }
    times.append(now)
  }
}
