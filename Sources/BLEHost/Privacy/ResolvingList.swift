import BLEHCI
import BLESMP
import BLEWire

/// The bonded peers whose private addresses the controller resolves for us (Vol 4, Part E, 7.8.38 to 7.8.44).
///
/// What it does not resolve, the host does: a controller without a list, peers beyond its size, a controller that has the
/// commands and resolves nothing. Only with the list can a peer be called whose private address of the hour nobody has
/// heard yet.
struct ResolvingList: Sendable {
  struct Entry: Equatable, Sendable {
    var identity: DeviceAddress
    var peerKey: SecretKey
    /// Ours, to find who is meant by an advertisement directed at a private address of ours; 0 where we use none.
    var localKey: SecretKey
  }

  /// What the controller was given.
  var entries: [Entry] = []
  var isEnabled = false
  /// The bonds and our key for which `entries` were chosen; nil: not chosen yet.
  var chosenFor: Basis?
  /// The controller was caught not resolving.
  var isUnreliable = false

  struct Basis: Equatable, Sendable {
    var bonds: Int
    var localKey: SecretKey?
    var isUnreliable: Bool
  }

  /// Whether the controller knows the device by its identity, whatever private address it uses.
  func resolves(_ identity: DeviceAddress) -> Bool {
    isEnabled && !isUnreliable && entries.contains { $0.identity == identity }
  }
}

extension ControllerCapabilities {
  /// How many peers the controller resolves in the way this host wants it: 0 where it lacks one of the commands. Without
  /// LE Set Privacy Mode a bonded peer that shows its identity address would not be heard any more (Vol 6, Part B, 4.7).
  var resolvedPeers: Int {
    let needed: [HCIOpcode] = [
      .leAddDeviceToResolvingList, .leRemoveDeviceFromResolvingList, .leSetAddressResolutionEnable, .leSetPrivacyMode,
    ]
    return leFeatures.contains(.llPrivacy) && needed.allSatisfy(commands.contains) ? resolvingListSize : 0
  }
}

extension HostCore {
  /// Notes what the list has come to lack since it was last looked at; ``settle(now:into:)`` brings it up to date.
  mutating func reviewResolvingList() {
    guard configuration.ownership == .exclusive, state == .poweredOn, controller.resolvedPeers > 0 else { return }
    let basis = ResolvingList.Basis(
      bonds: bonds.revision, localKey: privacy.settings?.identityResolvingKey, isUnreliable: resolving.isUnreliable)
    guard basis != resolving.chosenFor else { return }
    resolving.chosenFor = basis
    // Once everything is being switched off, it takes a last step to switch it on again, even with nothing left to change.
    if !resolvingSteps().isEmpty { stillness.needsList = true }
  }

  /// The newest bonds that have a key, as many as there is room for.
  private var wantedEntries: [ResolvingList.Entry] {
    guard !resolving.isUnreliable else { return [] }
    let local = privacy.settings?.identityResolvingKey ?? SecretKey(0)
    var entries: [ResolvingList.Entry] = []
    for bond in bonds.bonds.reversed() where entries.count < controller.resolvedPeers {
      // The list takes each key once.
      guard let key = bond.identityResolvingKey, !entries.contains(where: { $0.peerKey == key }) else { continue }
      entries.append(ResolvingList.Entry(identity: bond.identity, peerKey: key, localKey: local))
    }
    return entries
  }

  func resolvingSteps() -> [Stillness.Step] {
    let wanted = wantedEntries
    let gone = resolving.entries.filter { !wanted.contains($0) }
    let new = wanted.filter { !resolving.entries.contains($0) }
    var steps = gone.map { Stillness.Step.forget($0) } + new.flatMap { [.know($0), .admitIdentity($0)] }
    if resolving.isEnabled == wanted.isEmpty { steps.append(.resolution(!wanted.isEmpty)) }
    return steps
  }

  mutating func resolvingStepCompleted(_ step: Stillness.Step, _ status: HCIErrorCode) {
    switch (step, status) {
    case (.forget(let entry), _): resolving.entries.removeAll { $0 == entry }
    case (.know(let entry), .success): resolving.entries.append(entry)
    // What is not in the list has no privacy mode.
    case (.know(let entry), _): stillness.steps.removeAll { $0 == .admitIdentity(entry) }
    case (.resolution(let isOn), .success): resolving.isEnabled = isOn
    case (.resolution, _), (.admitIdentity, _), (.address, _): break
    }
  }

  /// The identity behind an address that was heard.
  mutating func heard(_ address: DeviceAddress, now: Instant, into output: inout HostOutput) -> DeviceAddress {
    let identity = bonds.identity(of: address, toolbox)
    guard identity != address.identity else { return identity }
    if address.randomKind == .resolvablePrivate, resolving.resolves(identity) {
      report(.controller, "it resolves no addresses although it says it does: the host does it", into: &output)
      resolving.isUnreliable = true
    }
    // A device we want to connect to may have another address than the one it is being called by. The kernel sees to that
    // itself.
    if configuration.ownership == .exclusive, initiator.wants(identity) {
      reconcileInitiator(now: now, into: &output)
    }
    return identity
  }
}
