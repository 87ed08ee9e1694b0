internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// Private addresses: generation, resolution and privacy modes (Vol 6, Part B, 1.3.2 and 6).
extension VirtualController {
  /// The identity address of a resolvable private address, with a kind that marks it as resolved. nil if resolution is
  /// disabled or no entry of the resolving list matches.
  func resolve(_ address: DeviceAddress, _ context: RadioContext) -> (entry: Int, identity: DeviceAddress)? {
    guard isAddressResolutionEnabled, address.kind == .random, address.randomKind == .resolvablePrivate else {
      return nil
    }
    for (index, entry) in resolvingList.enumerated() where entry.peerIRK != 0 {
      guard Self.matches(address.octets, entry.peerIRK, context) else { continue }
      let kind: DeviceAddress.Kind = entry.peerIdentity.kind == .public ? .publicIdentity : .randomIdentity
      return (index, DeviceAddress(octets: entry.peerIdentity.octets, kind: kind))
    }
    return nil
  }

  /// Stores the latest private address of a peer, for LE Read Peer Resolvable Address.
  mutating func recordResolvableAddress(_ address: BD_ADDR, of entry: Int) {
    resolvingList[entry].peerResolvableAddress = address
  }

  /// Whether network privacy mode rejects `address`: it is the identity address of a peer with an IRK (Vol 6, Part B,
  /// 4.7).
  func isRejectedByPrivacyMode(_ address: DeviceAddress) -> Bool {
    isAddressResolutionEnabled
      && resolvingList.contains {
        $0.peerIdentity == address && $0.peerIRK != 0 && $0.privacyMode == .network
      }
  }

  /// Whether `address` is an address of this controller.
  func isOwnAddress(_ address: DeviceAddress, _ context: RadioContext) -> Bool {
    if address.identity == DeviceAddress(octets: publicAddress, kind: .public) { return true }
    if let randomAddress, address.identity == DeviceAddress(octets: randomAddress, kind: .random) { return true }
    guard isAddressResolutionEnabled, address.randomKind == .resolvablePrivate else { return false }
    return resolvingList.contains { $0.localIRK != 0 && Self.matches(address.octets, $0.localIRK, context) }
  }

  /// The controller's address towards `peer`; nil for a random address that the host has not set.
  mutating func ownAddress(
    _ type: HCI.OwnAddressType, random: BD_ADDR?, for peer: DeviceAddress?, _ context: inout RadioContext
  ) -> DeviceAddress? {
    if type == .resolvableElsePublic || type == .resolvableElseRandom, isAddressResolutionEnabled, let peer,
      let index = resolvingList.firstIndex(where: { $0.peerIdentity == peer.identity && $0.localIRK != 0 }),
      let address = localResolvableAddress(index, context)
    {
      return DeviceAddress(octets: address, kind: .random)
    }
    if type == .public || type == .resolvableElsePublic { return DeviceAddress(octets: publicAddress, kind: .public) }
    return random.map { DeviceAddress(octets: $0, kind: .random) }
  }

  /// The local private address of an entry, a new one if the old one has expired.
  private mutating func localResolvableAddress(_ index: Int, _ context: RadioContext) -> BD_ADDR? {
    let entry = resolvingList[index]
    if let address = entry.localResolvableAddress, context.now < entry.localAddressExpiresAt { return address }
    let prand = UInt32(truncatingIfNeeded: random.next()) & 0x3F_FFFF | 0x40_0000
    guard let hash = Self.hash(prand, entry.localIRK, context) else { return nil }
    let address = BD_ADDR(UInt64(prand) << 24 | UInt64(hash))
    resolvingList[index].localResolvableAddress = address
    resolvingList[index].localAddressExpiresAt = context.now + .seconds(Int64(resolvablePrivateAddressTimeout))
    return address
  }

  private static func matches(_ address: BD_ADDR, _ irk: UInt128, _ context: RadioContext) -> Bool {
    let prand = UInt32(truncatingIfNeeded: address.value >> 24)
    return hash(prand, irk, context) == UInt32(truncatingIfNeeded: address.value & 0xFF_FFFF)
  }

  /// The function ah (Vol 3, Part H, 2.2.2).
  private static func hash(_ prand: UInt32, _ irk: UInt128, _ context: RadioContext) -> UInt32? {
    (try? context.cryptography.encrypt(UInt128(prand), key: irk)).map { UInt32(truncatingIfNeeded: $0 & 0xFF_FFFF) }
  }
}
