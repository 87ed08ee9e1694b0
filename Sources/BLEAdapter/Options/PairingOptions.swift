import BLEHost
package import BLESMP

/// How an adapter pairs, and where its bonds are stored.
///
/// The defaults are for a device without a display: any device may pair (Just Works) and bond, and the link is
/// encrypted. That does not protect against a device in the middle: an attribute that requires authentication needs a
/// ``capability`` other than ``Capability-swift.enum/none``.
///
/// ```swift
/// var options = AdapterOptions(transport: "virtual")
/// options.pairing.capability = .displayOnly
/// options.pairing.storage = .file("/var/lib/clock/bonds.json")
/// ```
public struct PairingOptions: Hashable, Sendable {
  /// The display and the keys of the device (Vol 3, Part H, 2.3.2).
  public enum Capability: Hashable, Sendable {
    /// Neither display nor keys (NoInputNoOutput).
    case none
    /// A display of six digits (DisplayOnly).
    case displayOnly
    /// A display of six digits, and keys for yes and no (DisplayYesNo).
    case displayYesNo
    /// Keys for six digits (KeyboardOnly).
    case keyboardOnly
    /// A display and keys for six digits (KeyboardDisplay).
    case keyboardDisplay
  }

  /// Where bonds are stored between runs.
  public enum Storage: Sendable {
    /// The file that the environment variable `BLE_BONDS` names, otherwise a file of the program and the adapter in the
    /// folder `BluetoothLE` of the first of these folders that is set, by an absolute path: the first of
    /// `STATE_DIRECTORY` (systemd), `XDG_STATE_HOME`, `$HOME/.local/state`. Without any, as `memory`, with a line in
    /// the log. On the transport `virtual` without `BLE_BONDS`, as `memory`.
    case standard
    /// The file at this path; see ``FileBondStore`` for the permissions that it and its folder need.
    case file(String)
    /// In memory: a new run has no bonds.
    case memory
    /// In a store of the program.
    case custom(any BondStore)
  }

  /// Whether a pairing without authentication replaces the bond of the device that the peer claims to be, if that bond
  /// was also made without authentication, and the link has not proven it.
  ///
  /// A bond that was made with authentication is never replaced by a pairing without.
  public enum BondReplacement: Hashable, Sendable {
    /// The pairing fails with Authentication Requirements (0x03). A device that has forgotten the bond pairs again
    /// after `Adapter.remove(_:)` or `CBManager.remove(_:)`.
    case never
    /// The program decides: `Adapter.pairingRequests` has the question, or
    /// `CBPairingDelegate.manager(_:shouldReplaceBondOf:reply:)`.
    case ask
    /// The bond is replaced. A manager reports it by `CBPairingDelegate.manager(_:didReplaceBondOf:)`.
    case always
  }

  /// Whether pairing is enabled; if not, every pairing request is rejected.
  public var isEnabled = true
  /// The display and the keys of the device; they decide which association models are possible.
  public var capability = Capability.none
  /// Whether a pairing makes a bond; if not, each link is paired anew.
  public var isBonding = true
  /// Whether pairings without authentication are rejected.
  public var requiresProtection = false
  /// Whether LE Secure Connections pairing is offered.
  public var allowsSecureConnections = true
  /// Whether LE legacy pairing is allowed. A device that receives its packets can compute the keys; older devices have
  /// nothing else.
  public var allowsLegacy = true
  /// The shortest encryption key that is accepted in legacy pairing, in octets, 7 to 16; Secure Connections always has
  /// 16.
  public var minimumKeySize = 7
  /// A passkey, at most 999999, that is used in every pairing, for example from a label. A device that has seen it
  /// once, or has found it in several attempts, can pair.
  public var fixedPasskey: UInt32?
  /// Requests consent to each pairing that is not authenticated (Just Works), as a peripheral and as a central: also if
  /// a peripheral requests security, and if the stack pairs on demand. `Adapter.pairingRequests` has the question, or
  /// the `CBPairingDelegate`. A pairing that the program begins with `RemoteDevice.pair` or
  /// `CBCentralManager.pair(with:)` has its consent.
  public var asksConsent = false
  /// What happens to a bond without authentication when a device pairs anew under its identity.
  public var bondReplacement = BondReplacement.always
  /// The number of new bonds in one hour that are made without authentication and without the application's consent
  /// (``asksConsent``, or a pairing that it began). Further pairings encrypt the link and make no bond. The limit
  /// applies to the adapter, not to the identities that devices claim.
  public var unconfirmedBondLimit = 12
  /// Whether a central pairs by itself when a peripheral refuses a request because the link lacks security, as
  /// CoreBluetooth does; the request is then repeated.
  public var pairsOnDemand = true
  /// What a central does with the operations on a bonded peripheral, when the link cannot be encrypted with the key of
  /// the bond.
  ///
  /// The link to a bonded peripheral is encrypted before the first request. A peripheral that cannot encrypt may be
  /// another device with the same address: nothing is sent in the clear on this link. Its operations report the lost
  /// bond, and so does `CBPairingDelegate.manager(_:didLoseBondOf:error:)`.
  public enum OperationsAfterBondLoss: Hashable, Sendable {
    /// They fail, in the Swift API with `BLEError.Kind.security`, in managers with
    /// `CBError.peerRemovedPairingInformation` or `CBError.encryptionTimedOut`.
    case fail
    /// They wait, 200 at most, until the link is encrypted by a new pairing or ends. To pair anew, remove the bond,
    /// then call `RemoteDevice.pair` or `CBCentralManager.pair(with:)`.
    case wait
  }
  /// What a central does with operations on a bonded peripheral whose link cannot be encrypted.
  public var operationsAfterBondLoss = OperationsAfterBondLoss.fail
  /// Data for pairing out of band; such a pairing needs no user. It has no effect on an adapter of the kernel
  /// (`linux`).
  public var outOfBand: OutOfBandPairing?
  /// Where bonds are stored between runs.
  public var storage = Storage.standard

  /// Creates options with the defaults above: pairing without authentication.
  public init() {}

  /// Secure Connections Only mode: no legacy pairing, and no unauthenticated keys (Vol 3, Part C, 10.2.4).
  public static var secureConnectionsOnly: Self {
    var options = Self()
    (options.allowsLegacy, options.requiresProtection, options.minimumKeySize) = (false, true, 16)
    return options
  }
}

extension PairingOptions.Storage: Hashable {
  public static func == (a: Self, b: Self) -> Bool {
    switch (a, b) {
    case (.standard, .standard), (.memory, .memory): true
    case (.file(let a), .file(let b)): a == b
    case (.custom(let a), .custom(let b)): a === b
    default: false  // The kinds differ.
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .standard: hasher.combine(0)
    case .memory: hasher.combine(1)
    case .file(let path): hasher.combine(path)
    case .custom(let store): hasher.combine(ObjectIdentifier(store))
    }
  }
}

extension PairingOptions {
  /// The options in the type of the host; nil if pairing is disabled.
  package func settings(identityResolvingKey: SecretKey) -> PairingSettings? {
    guard isEnabled else { return nil }
    var settings = PairingSettings()
    settings.ioCapability =
      switch capability {
      case .none: .noInputNoOutput
      case .displayOnly: .displayOnly
      case .displayYesNo: .displayYesNo
      case .keyboardOnly: .keyboardOnly
      case .keyboardDisplay: .keyboardDisplay
      }
    // Keypress notifications work in both directions (Vol 3, Part H, 3.5.8): only a device that displays and has no
    // keyboard requests them.
    settings.keypress = capability == .displayOnly || capability == .displayYesNo
    settings.isBonding = isBonding
    settings.requestsMITM = capability != .none || outOfBand != nil
    if let outOfBand { settings.outOfBand = outOfBand.data }
    settings.requiresMITM = requiresProtection
    settings.allowsSecureConnections = allowsSecureConnections
    settings.allowsLegacy = allowsLegacy
    settings.minimumKeySize = UInt8(min(max(minimumKeySize, 7), 16))
    settings.fixedPasskey = fixedPasskey.flatMap(Passkey.init)
    settings.asksConsent = asksConsent
    settings.bondRules.replacement =
      switch bondReplacement {
      case .never: .never
      case .ask: .ask
      case .always: .always
      }
    settings.unconfirmedBonds.count = max(0, unconfirmedBondLimit)
    settings.pairsOnDemand = pairsOnDemand
    settings.queuesOperationsAfterBondLoss = operationsAfterBondLoss == .wait
    settings.identityResolvingKey = identityResolvingKey
    return settings
  }
}
