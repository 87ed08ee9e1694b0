package import BLEGATT
package import BLEHCI
package import BLESMP
public import BLEWire

/// The keys that a pairing with a device has made, and what is stored with them (Vol 3, Part C, 9.4).
///
/// Descriptions do not contain the keys; an encoded bond does. Store it where no other user can read it.
///
/// A value: the host reports each change with `HostEvent.Bonds.changed`, and BLEAdapter stores it (`BondField` has the
/// form of each field).
public struct Bond: Hashable, Sendable, CustomStringConvertible {
  /// The identity address of the device, with its kind, whatever private addresses it uses.
  public package(set) var identity: DeviceAddress
  /// The fixed address that it uses instead of its identity; nil if it uses its identity or private addresses.
  package var addressOnAir: DeviceAddress?
  /// The identity address that this host had when it paired, by which the device knows it; nil if it was not recorded.
  package var ownIdentity: DeviceAddress?
  /// Resolves its private addresses.
  package var identityResolvingKey: SecretKey?
  /// For links where we are the peripheral, and where we are the central.
  package var peripheralKey: LongTermKey?
  package var centralKey: LongTermKey?
  package var strength: KeyStrength
  /// The key that the device signs with, and the lowest counter it may use next (Vol 3, Part H, 2.4.5).
  package var peerCSRK: SecretKey?
  package var peerSignCounter: UInt32 = 0
  /// The signing key that we have distributed, and the lowest counter that was not used with it. The client signs
  /// nothing; the file of bonds has both, for older versions of this package.
  package var ownCSRK: SecretKey?
  package var ownSignCounter: UInt32 = 0
  /// When the device last proved its bond: the order in which bonds are removed. The host counts proofs; 0 is never,
  /// and the highest number is the latest.
  package var lastUse: UInt32 = 0
  /// What our server stores about this client.
  package var client = ClientRecord()
  /// The name of the device when the bond was last used on a link whose program knew one: from its advertisements, or
  /// its Device Name characteristic. The device has chosen it, so that two devices may have one name. Nil if no name is
  /// known. Bonds are equal only if the octets of their names are: canonically equivalent names may differ.
  public var name: String? { nameOctets.map { String(decoding: $0, as: UTF8.self) } }
  /// The UTF-8 of ``name``.
  package var nameOctets: [UInt8]?
  /// What our client has discovered of its database.
  package var attributeCache: AttributeCache?

  package init(identity: DeviceAddress, strength: KeyStrength) {
    self.identity = identity.identity
    self.strength = strength
  }

  /// Creates the bond of a pairing.
  package init(identity: DeviceAddress, _ outcome: PairingOutcome) {
    self.init(identity: identity, strength: outcome.strength)
    identityResolvingKey = outcome.peerIRK
    (peripheralKey, centralKey) = (outcome.peripheralKey, outcome.centralKey)
    (peerCSRK, ownCSRK) = (outcome.peerCSRK, outcome.ownCSRK)
  }

  /// The octets of a name at most (Vol 3, Part C, 12.1); a longer one is not stored.
  package static let nameLimit = 248

  /// The device's identity address, `C0:11:22:33:44:55`, whatever private addresses it uses.
  public var address: String { identity.octets.description }
  /// Whether the pairing was authenticated: protected against a device in the middle.
  public var isProtected: Bool { strength.isAuthenticated }
  /// Whether the keys are of LE Secure Connections; if not, of LE legacy pairing.
  public var usesSecureConnections: Bool { strength.isSecureConnections }
  /// The length of the encryption key, in octets.
  public var keySize: Int { Int(strength.size) }

  /// The fixed addresses by which programs know the device.
  package var fixedAddresses: [DeviceAddress] { [identity] + (addressOnAir.map { [$0] } ?? []) }

  public var description: String {
    "\(identity), \(isProtected ? "protected" : "unprotected"), key of \(keySize) octets"
  }
}

// Embedded Swift has no reflection.
#if !hasFeature(Embedded)
  extension Bond: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["address": address]) }
  }
#endif

extension Bond {
  /// The bond of a pairing on a link.
  init(identity: DeviceAddress, _ outcome: PairingOutcome, _ link: PairedLink) {
    self.init(identity: identity, outcome)
    let isFixed = link.address.randomKind == nil || link.address.randomKind == .static
    addressOnAir = isFixed && link.address.identity != self.identity ? link.address.identity : nil
    client = link.client
    ownIdentity = link.ownIdentity?.identity
  }
}

/// Why a bond could not be used, and what to do.
package enum BondLoss: Hashable, Sendable, CustomStringConvertible {
  /// The device no longer has the key: the bond was removed there, or the device was reset.
  case forgottenByPeer
  /// The device has no key for the address of this host, which had another one when the two paired.
  case ownAddressChanged(from: DeviceAddress, to: DeviceAddress)
  /// The device encrypts with a key that is not here: the bond was removed here, or the store was lost.
  case missingHere
  /// Both have a key, and they differ.
  case keysDiffer
  /// The link could not be encrypted, for another reason: the device answers no request to encrypt, or cannot encrypt.
  case notEncrypted(HCIErrorCode)

  /// Whether the device has no key, whatever the reason.
  package var isOfPeer: Bool {
    switch self {
    case .forgottenByPeer, .ownAddressChanged: true
    case .missingHere, .keysDiffer, .notEncrypted: false
    }
  }

  package var description: String {
    switch self {
    case .forgottenByPeer: "the device has forgotten this bond: remove the bond here, then pair again"
    case .ownAddressChanged(let old, let new):
      "the device has no bond with this host's address \(new): this host had the address \(old) when the two paired, "
        + "or the device has forgotten this bond. Use that address again, or remove the bond on both sides, then pair "
        + "again"
    case .missingHere: "the device has a bond that this host does not have: remove it on the device, then pair again"
    case .keysDiffer: "the device has another key for this bond: remove the bond on both sides, then pair again"
    case .notEncrypted(let reason):
      "the link could not be encrypted with the key of this bond (\(reason)): it may be another device with the same address; connect again"
    }
  }
}

extension BondLoss {
  /// The loss with what the address of this host explains.
  ///
  /// - Parameters:
  ///   - bond: the bond of the device.
  ///   - own: the identity address of this host.
  func explained(by bond: Bond?, _ own: DeviceAddress) -> BondLoss {
    guard self == .forgottenByPeer, let old = bond?.ownIdentity, old != own.identity else { return self }
    return .ownAddressChanged(from: old, to: own.identity)
  }
}

/// A pairing that succeeded, without its secrets.
package struct PairedDevice: Hashable, Sendable {
  /// The identity the device gave, or the address it uses where it gave none.
  package var identity: DeviceAddress
  package var isBonded: Bool
  package var strength: KeyStrength

  package init(identity: DeviceAddress, isBonded: Bool, strength: KeyStrength) {
    self.identity = identity
    self.isBonded = isBonded
    self.strength = strength
  }
}

extension KeyStrength {
  /// The level of a link encrypted with such a key (Vol 3, Part C, 10.2.1).
  package var level: SecurityLevel {
    guard isAuthenticated else { return .encrypted }
    return isSecureConnections && size == 16 ? .secureConnections : .authenticated
  }
}
