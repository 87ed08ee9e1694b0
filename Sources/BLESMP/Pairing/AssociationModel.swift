import BLEWire

/// The association model of a pairing: the way in which the devices authenticate each other (Vol 3, Part H, 2.3.5.1).
public enum AssociationModel: Hashable, Sendable {
  /// Just Works: no authentication.
  case justWorks
  /// Numeric comparison: both devices show a number, and the user compares the two.
  case numericComparison
  /// Passkey entry, with the part of each device.
  case passkeyEntry(initiator: PasskeyPart, responder: PasskeyPart)
  /// Out of band: the devices have data from another channel, such as NFC.
  case outOfBand

  /// The part of one device in passkey entry.
  public enum PasskeyPart: Hashable, Sendable {
    /// The device shows the passkey.
    case displays
    /// The user enters the passkey.
    case enters
  }

  /// Whether the model protects against a man in the middle.
  public var isAuthenticated: Bool { self != .justWorks }

  /// The model for the features of two devices, and whether the pairing uses LE Secure Connections (Vol 3, Part H,
  /// 2.3.5.1, tables 2.6 to 2.8).
  public static func chosen(
    request: PairingFeatures, response: PairingFeatures
  ) -> (model: Self, isSecureConnections: Bool) {
    let isSecure =
      request.authReq.contains(.secureConnections) && response.authReq.contains(.secureConnections)
    let oob = [request, response].filter { $0.oobDataFlag == .present }.count
    // Legacy pairing requires the data on both devices, Secure Connections on one.
    if oob == 2 || (isSecure && oob == 1) { return (.outOfBand, isSecure) }
    guard request.authReq.contains(.mitm) || response.authReq.contains(.mitm) else { return (.justWorks, isSecure) }
    return (byCapabilities(request.ioCapability, response.ioCapability, isSecure: isSecure), isSecure)
  }

  private static func byCapabilities(
    _ initiator: IOCapability, _ responder: IOCapability, isSecure: Bool
  ) -> Self {
    if initiator == .noInputNoOutput || responder == .noInputNoOutput { return .justWorks }
    if isSecure, initiator.canCompare, responder.canCompare { return .numericComparison }
    switch (initiator.hasKeyboard, responder.hasKeyboard) {
    case (false, false): return .justWorks
    case (true, false): return .passkeyEntry(initiator: .enters, responder: .displays)
    case (false, true): return .passkeyEntry(initiator: .displays, responder: .enters)
    case (true, true):
      if initiator == .keyboardDisplay { return .passkeyEntry(initiator: .displays, responder: .enters) }
      if responder == .keyboardDisplay { return .passkeyEntry(initiator: .enters, responder: .displays) }
      return .passkeyEntry(initiator: .enters, responder: .enters)
    }
  }
}

extension IOCapability {
  var hasKeyboard: Bool { self == .keyboardOnly || self == .keyboardDisplay }
  /// Whether the device can show a number and its user can answer yes or no.
  var canCompare: Bool { self == .displayYesNo || self == .keyboardDisplay }
  var isDefined: Bool { rawValue <= IOCapability.keyboardDisplay.rawValue }
}

/// The result of the exchange of features.
struct Agreement: Sendable {
  var request: PairingFeatures
  var response: PairingFeatures
  var initiator: DeviceAddress
  var responder: DeviceAddress
  var model: AssociationModel
  var isSecureConnections: Bool

  init(
    _ request: PairingFeatures, _ response: PairingFeatures, own: DeviceAddress, peer: DeviceAddress,
    role: PairingMachine.Role
  ) {
    self.request = request
    self.response = response
    (initiator, responder) = role == .initiator ? (own, peer) : (peer, own)
    (model, isSecureConnections) = AssociationModel.chosen(request: request, response: response)
  }

  /// The smaller of the two maximum sizes (Vol 3, Part H, 2.3.4).
  var keySize: UInt8 { min(request.maximumEncryptionKeySize, response.maximumEncryptionKeySize) }
  var isBonding: Bool { request.authReq.contains(.bonding) && response.authReq.contains(.bonding) }
  var strength: KeyStrength {
    KeyStrength(size: keySize, isAuthenticated: model.isAuthenticated, isSecureConnections: isSecureConnections)
  }

  /// The Pairing Request as an argument of c1.
  var preq: UInt64 { Self.number(.pairingRequest(.init(request))) }
  /// The Pairing Response as an argument of c1.
  var pres: UInt64 { Self.number(.pairingResponse(.init(response))) }

  private static func number(_ pdu: SMPPDU) -> UInt64 {
    pdu.encoded.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The part of one device in passkey entry, nil for another model.
  func passkeyPart(of role: PairingMachine.Role) -> AssociationModel.PasskeyPart? {
    guard case .passkeyEntry(let initiator, let responder) = model else { return nil }
    return role == .initiator ? initiator : responder
  }

  /// The key with all bits above the agreed size set to zero (Vol 3, Part H, 2.3.4).
  func shortened(_ key: UInt128) -> UInt128 {
    keySize >= 16 ? key : key & (1 << (8 * UInt128(keySize)) - 1)
  }
}
