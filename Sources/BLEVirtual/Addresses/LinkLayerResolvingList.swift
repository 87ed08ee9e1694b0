internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// The resolving list. It resolves the private addresses of peers, and generates those of the controller (Vol 6, Part
/// B, 1.3.2, 4.7 and 6; Vol 4, Part E, 7.8.38 to 7.8.45 and 7.8.77).
struct LinkLayerResolvingList: Sendable {
  private struct Entry: Sendable {
    let peerIdentity: DeviceAddress
    let peerIRK: UInt128
    let localIRK: UInt128
    var privacyMode = HCI.PrivacyMode.network
    /// The latest private address of the peer.
    var peerAddress: BD_ADDR?
    /// The private address of the controller towards the peer.
    var localAddress: BD_ADDR?
    var localAddressExpiresAt = Instant.start
  }

  let capacity: UInt8
  private var entries: [Entry] = []
  private var isResolutionEnabled = false
  /// The time for which a private address of the controller is used, in seconds.
  private var timeout: UInt16 = 900

  init(capacity: UInt8) { self.capacity = capacity }

  // MARK: Addresses of peers

  /// The identity address of a resolvable private address, with a kind that marks it as resolved; nil if resolution is
  /// disabled or no entry matches.
  func resolve(_ address: DeviceAddress, _ cryptography: any Cryptography) -> DeviceAddress? {
    guard isResolutionEnabled, address.kind == .random, address.randomKind == .resolvablePrivate else { return nil }
    for entry in entries where entry.peerIRK != 0 {
      guard Self.matches(address.octets, entry.peerIRK, cryptography) else { continue }
      let kind: DeviceAddress.Kind = entry.peerIdentity.kind == .public ? .publicIdentity : .randomIdentity
      return DeviceAddress(octets: entry.peerIdentity.octets, kind: kind)
    }
    return nil
  }

  /// Whether network privacy mode rejects `address`, because it is the identity address of a peer with an IRK (Vol 6,
  /// Part B, 4.7).
  func rejects(_ address: DeviceAddress) -> Bool {
    isResolutionEnabled
      && entries.contains { $0.peerIdentity == address && $0.peerIRK != 0 && $0.privacyMode == .network }
  }

  /// Stores the private address with which a peer has connected, for LE Read Peer Resolvable Address.
  mutating func record(_ address: BD_ADDR, of peer: DeviceAddress) {
    if let index = index(of: peer) { entries[index].peerAddress = address }
  }

  func peerAddress(of peer: DeviceAddress) -> BD_ADDR? { index(of: peer).flatMap { entries[$0].peerAddress } }

  // MARK: Addresses of the controller

  /// Whether `address` is a private address of this controller.
  func isLocal(_ address: DeviceAddress, _ cryptography: any Cryptography) -> Bool {
    guard isResolutionEnabled, address.randomKind == .resolvablePrivate else { return false }
    return entries.contains { $0.localIRK != 0 && Self.matches(address.octets, $0.localIRK, cryptography) }
  }

  /// The controller's private address towards a peer, a new one if the old one has expired; nil if resolution is
  /// disabled or if there is no local IRK for the peer.
  mutating func localAddress(
    for peer: DeviceAddress, now: Instant, _ random: inout RandomSource, _ cryptography: any Cryptography
  ) -> DeviceAddress? {
    guard isResolutionEnabled, let index = index(of: peer), entries[index].localIRK != 0 else { return nil }
    let entry = entries[index]
    if let address = entry.localAddress, now < entry.localAddressExpiresAt {
      return DeviceAddress(octets: address, kind: .random)
    }
    let prand = UInt32(truncatingIfNeeded: random.next()) & 0x3F_FFFF | 0x40_0000
    guard let hash = Self.hash(prand, entry.localIRK, cryptography) else { return nil }
    let address = BD_ADDR(UInt64(prand) << 24 | UInt64(hash))
    entries[index].localAddress = address
    entries[index].localAddressExpiresAt = now + .seconds(Int64(timeout))
    return DeviceAddress(octets: address, kind: .random)
  }

  func localAddress(of peer: DeviceAddress) -> BD_ADDR? { index(of: peer).flatMap { entries[$0].localAddress } }

  private static func matches(_ address: BD_ADDR, _ irk: UInt128, _ cryptography: any Cryptography) -> Bool {
    let prand = UInt32(truncatingIfNeeded: address.value >> 24)
    return hash(prand, irk, cryptography) == UInt32(truncatingIfNeeded: address.value & 0xFF_FFFF)
  }

  /// The function ah (Vol 3, Part H, 2.2.2).
  private static func hash(_ prand: UInt32, _ irk: UInt128, _ cryptography: any Cryptography) -> UInt32? {
    (try? cryptography.encrypt(UInt128(prand), key: irk)).map { UInt32(truncatingIfNeeded: $0 & 0xFF_FFFF) }
  }

  // MARK: Commands

  // With address resolution, the entries do not change while the controller advertises, scans or initiates.

  mutating func add(_ command: HCI.LEAddDeviceToResolvingList, isBusy: Bool) -> HCIErrorCode {
    guard !(isResolutionEnabled && isBusy) else { return .commandDisallowed }
    guard command.peerIdentityAddress.kind.rawValue <= 1 else { return .invalidCommandParameters }
    guard index(of: command.peerIdentityAddress) == nil,
      command.peerIRK == 0 || !entries.contains(where: { $0.peerIRK == command.peerIRK })
    else { return .invalidCommandParameters }
    guard entries.count < Int(capacity) else { return .memoryCapacityExceeded }
    entries.append(
      Entry(peerIdentity: command.peerIdentityAddress, peerIRK: command.peerIRK, localIRK: command.localIRK))
    return .success
  }

  mutating func remove(_ peer: DeviceAddress, isBusy: Bool) -> HCIErrorCode {
    guard !(isResolutionEnabled && isBusy) else { return .commandDisallowed }
    guard let index = index(of: peer) else { return .unknownConnectionIdentifier }
    entries.remove(at: index)
    return .success
  }

  mutating func clear(isBusy: Bool) -> HCIErrorCode {
    guard !(isResolutionEnabled && isBusy) else { return .commandDisallowed }
    entries = []
    return .success
  }

  mutating func setPrivacyMode(_ command: HCI.LESetPrivacyMode, isBusy: Bool) -> HCIErrorCode {
    guard !isBusy else { return .commandDisallowed }
    guard command.privacyMode.rawValue <= 1 else { return .invalidCommandParameters }
    guard let index = index(of: command.peerIdentityAddress) else { return .unknownConnectionIdentifier }
    entries[index].privacyMode = command.privacyMode
    return .success
  }

  mutating func setResolutionEnabled(_ isEnabled: Bool, isBusy: Bool) -> HCIErrorCode {
    guard !isBusy else { return .commandDisallowed }
    isResolutionEnabled = isEnabled
    return .success
  }

  /// - Parameter seconds: 1 to 3,600 (Vol 4, Part E, 7.8.45).
  mutating func setTimeout(_ seconds: UInt16) -> HCIErrorCode {
    guard (1...0x0E10).contains(seconds) else { return .invalidCommandParameters }
    timeout = seconds
    return .success
  }

  private func index(of peer: DeviceAddress) -> Int? { entries.firstIndex { $0.peerIdentity == peer.identity } }
}
