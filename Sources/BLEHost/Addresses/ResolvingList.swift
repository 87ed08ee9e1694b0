import BLEHCI
import BLESMP
import BLEWire

/// The bonded peers whose private addresses the controller resolves for us (Vol 4, Part E, 7.8.38 to 7.8.44).
///
/// The host resolves the addresses that the controller does not: if the controller has no list, if the list has no room
/// for a peer, or if the controller has the commands and resolves nothing. Only with the list can the host connect to a
/// peer whose present private address no report has contained yet.
struct ResolvingList: Sendable {
  struct Entry: Equatable, Sendable {
    var identity: DeviceAddress
    var peerKey: SecretKey
    /// Our key, which resolves the target of an advertisement directed at a private address of ours; 0 if we use none.
    var localKey: SecretKey
  }

  /// The bonds and the key for which the entries are chosen.
  struct Basis: Equatable, Sendable {
    var bonds: Int
    var localKey: SecretKey?
    var isUnreliable: Bool
  }

  /// The entries that the controller was given.
  var entries: [Entry] = []
  var isEnabled = false
  /// The bonds and our key for which `entries` were chosen; nil: not chosen yet.
  var chosenFor: Basis?
  /// The controller has reported an address that it should have resolved.
  var isUnreliable = false

  /// Whether the controller knows the device by its identity, whatever private address it uses.
  func resolves(_ identity: DeviceAddress) -> Bool {
    isEnabled && !isUnreliable && entries.contains { $0.identity == identity }
  }

  /// The steps that make the controller's list the one for these bonds.
  func steps(to bonds: [Bond], localKey: SecretKey?, capacity: Int) -> [AddressManager.Step] {
    let wanted = isUnreliable ? [] : Self.entries(for: bonds, localKey: localKey, capacity: capacity)
    let gone = entries.filter { !wanted.contains($0) }
    let new = wanted.filter { !entries.contains($0) }
    var steps = gone.map { AddressManager.Step.remove($0) } + new.flatMap { [.add($0), .setDeviceMode($0)] }
    if isEnabled == wanted.isEmpty { steps.append(.setResolution(!wanted.isEmpty)) }
    return steps
  }

  /// The newest bonds that have a key, as many as there is room for. The list takes each key once (Vol 4, Part E,
  /// 7.8.38); no two bonds have the same one (``BondList/identityKeys``). A peer's key that is ours would make our
  /// addresses the peer's.
  private static func entries(for bonds: [Bond], localKey: SecretKey?, capacity: Int) -> [Entry] {
    var entries: [Entry] = []
    for bond in bonds.reversed() where entries.count < capacity {
      guard let key = bond.identityResolvingKey, key != localKey else { continue }
      entries.append(Entry(identity: bond.identity, peerKey: key, localKey: localKey ?? SecretKey(0)))
    }
    return entries
  }
}

extension ControllerCapabilities {
  /// The number of peers that the controller resolves as this host needs it: 0 if it lacks one of the commands. Without
  /// LE Set Privacy Mode, a bonded peer that uses its identity address would no longer be reported (Vol 6, Part B,
  /// 4.7).
  var resolvedPeers: Int {
    let hasAll =
      leFeatures.contains(.llPrivacy) && commands.contains(HCI.LEAddDeviceToResolvingList.self)
      && commands.contains(HCI.LERemoveDeviceFromResolvingList.self)
      && commands.contains(HCI.LESetAddressResolutionEnable.self) && commands.contains(HCI.LESetPrivacyMode.self)
    return hasAll ? resolvingListSize : 0
  }
}
