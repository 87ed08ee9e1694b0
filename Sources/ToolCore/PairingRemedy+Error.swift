public import BLEKit

extension PairingRemedy {
  /// The remedy of an error.
  ///
  /// - Parameters:
  ///   - bond: the bond with the device, which a new one has to equal in strength.
  ///   - transport: that of the adapter.
  /// - Returns: nil if pairing does not help.
  public init?(_ error: BLEError, bond: Bond?, transport: String) {
    let isProtected = bond?.isProtected == true
    if let loss = error.bondLoss {
      switch loss.cause {
      // Removing the bond would take it from the program that it is of use to.
      case .ownAddressChanged where Self.isRadio(transport) || loss.pairedAddress?.isRandom == true: return nil
      case .forgottenByPeer, .ownAddressChanged, .keysDiffer: (removesBond, isAuthenticated) = (true, isProtected)
      case .missingHere: (removesBond, isAuthenticated) = (false, isProtected)
      case .notEncrypted: return nil
      }
      return
    }
    removesBond = false
    if let failure = error.pairingFailure {
      isAuthenticated = isProtected || failure.reason == Self.authenticationRequirements
      return
    }
    switch error.kind {
    // The adapter has paired on demand, without a question for the user: the device requires one.
    case .att(.insufficientAuthentication): isAuthenticated = true
    case .att(.insufficientEncryption), .att(.insufficientEncryptionKeySize): isAuthenticated = isProtected
    default: return nil  // No pairing helps with the others.
    }
  }

  /// Authentication Requirements (Vol 3, Part H, 3.5.5): the devices could not authenticate the key.
  public static let authenticationRequirements: UInt8 = 0x03

  /// Whether the controller is one of a radio that other programs use, too.
  public static func isRadio(_ transport: String) -> Bool {
    ["tcp-client:", "unix-client:"].contains { transport.hasPrefix($0) }
  }
}
