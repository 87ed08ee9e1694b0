import BLEGATT
import BLESMP
import BLEWire

/// The links that the kernel's reports are about. The kernel names devices by address, and a peer can claim any identity in a
/// pairing. A link is found by its address on the radio and by the pairings that are under way (Docs/Decisions/0051).
extension HostCore {
  /// The link of a pairing.
  enum SystemLink: Equatable {
    case link(Int)
    /// It has ended.
    case gone
    /// More than one link may be meant.
    case ambiguous
  }

  /// The address by which the system knows the device of a link: the one on the radio, its identity where it uses a private
  /// address that a bond resolves, or the one that the system named in a pairing on this link.
  func systemAddress(of link: Link) -> DeviceAddress {
    if let named = link.systemIdentity { return named }
    return link.address.randomKind == .resolvablePrivate ? link.identity : link.address.identity
  }

  /// The link that a question, or a failure, is about.
  func systemIndex(of address: DeviceAddress) -> Int? {
    let named = links.indices.filter { systemAddress(of: links[$0]) == address.identity }
    if named.count < 2 { return named.first }
    let active = named.filter { links[$0].system.isUnderWay }
    return active.count == 1 ? active.first : nil
  }

  /// The link whose pairing made keys for `device`; `used` is the address that the device had on the radio, where the system
  /// says so, else the same.
  ///
  /// The identity itself is a claim. Keys are of a link that a pairing has encrypted: one on which a pairing is known to be
  /// under way, else one that is encrypted and has not proven a bond, else the link with that address on the radio.
  func pairingLink(of device: DeviceAddress, usedAs used: DeviceAddress) -> SystemLink {
    let device = device.identity
    let isOnRadio = used.identity != device
    let possible = links.indices.filter { index in
      let link = links[index]
      if isOnRadio { return link.address.identity == used.identity }
      return link.address.randomKind != .resolvablePrivate || systemAddress(of: link) == device
    }
    let evidence: [(Link) -> Bool] = [
      { $0.system.isPairing },
      { $0.cipher.isOn && !$0.security.isBondProven },
      { self.systemAddress(of: $0) == device && !$0.security.isBondProven },
      { _ in isOnRadio },
    ]
    for holds in evidence {
      let found = possible.filter { holds(links[$0]) }
      if let first = found.first { return found.count == 1 ? .link(first) : .ambiguous }
    }
    return .gone
  }

  /// Whether the kernel calls a link other than `index` by this identity.
  func isUsed(_ identity: DeviceAddress, except index: Int?) -> Bool {
    links.indices.contains { $0 != index && systemAddress(of: links[$0]) == identity.identity }
  }
}
