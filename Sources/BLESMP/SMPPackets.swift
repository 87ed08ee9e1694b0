public import BLEWire

/// The parameters of a Pairing Request and of a Pairing Response (Vol 3, Part H, 3.5.1 and 3.5.2).
public struct PairingFeatures: Packet, Hashable {
  public var ioCapability = IOCapability.noInputNoOutput
  public var oobDataFlag = OOBDataFlag.notPresent
  public var authReq: AuthenticationRequirements = []
  /// In octets, 7 to 16.
  public var maximumEncryptionKeySize: UInt8 = 16
  public var initiatorKeyDistribution: KeyDistribution = []
  public var responderKeyDistribution: KeyDistribution = []

  public init() {}

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("IO Capability", &ioCapability)
    try field.value("OOB data flag", &oobDataFlag)
    try field.value("AuthReq", &authReq)
    try field.integer("Maximum Encryption Key Size", &maximumEncryptionKeySize)
    try field.value("Initiator Key Distribution", &initiatorKeyDistribution)
    try field.value("Responder Key Distribution", &responderKeyDistribution)
  }
}

/// The commitment to a random number (Vol 3, Part H, 3.5.3).
public struct PairingConfirm: Packet, Hashable {
  /// 16 octets, least significant first.
  public var value = Bytes(repeating: 0, count: 16)

  public init() {}
  public init(value: Bytes) { self.value = value }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("Confirm value", count: 16, &value)
  }
}

/// The random number committed to (Vol 3, Part H, 3.5.4).
public struct PairingRandom: Packet, Hashable {
  /// 16 octets, least significant first.
  public var value = Bytes(repeating: 0, count: 16)

  public init() {}
  public init(value: Bytes) { self.value = value }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("Random value", count: 16, &value)
  }
}

/// The end of a pairing that does not succeed (Vol 3, Part H, 3.5.5).
public struct PairingFailed: Packet, Hashable {
  public var reason = PairingFailedReason.unspecifiedReason

  public init() {}
  public init(reason: PairingFailedReason) { self.reason = reason }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Reason", &reason)
  }
}

/// The LTK of legacy pairing (Vol 3, Part H, 3.6.2).
public struct EncryptionInformation: Packet, Hashable {
  /// 16 octets, least significant first.
  public var longTermKey = Bytes(repeating: 0, count: 16)

  public init() {}
  public init(longTermKey: Bytes) { self.longTermKey = longTermKey }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("Long Term Key", count: 16, &longTermKey)
  }
}

/// What names the LTK of legacy pairing later (Vol 3, Part H, 3.6.3).
public struct CentralIdentification: Packet, Hashable {
  public var ediv: UInt16 = 0
  /// Eight octets as a number, least significant octet first on the air.
  public var rand: UInt64 = 0

  public init() {}
  public init(ediv: UInt16, rand: UInt64) {
    self.ediv = ediv
    self.rand = rand
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("EDIV", &ediv)
    try field.integer("Rand", &rand)
  }
}

/// The IRK (Vol 3, Part H, 3.6.4).
public struct IdentityInformation: Packet, Hashable {
  /// 16 octets, least significant first; all zero where the device has none.
  public var identityResolvingKey = Bytes(repeating: 0, count: 16)

  public init() {}
  public init(identityResolvingKey: Bytes) { self.identityResolvingKey = identityResolvingKey }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("Identity Resolving Key", count: 16, &identityResolvingKey)
  }
}

/// The identity address (Vol 3, Part H, 3.6.5).
public struct IdentityAddressInformation: Packet, Hashable {
  /// 0: public, 1: static random; others are kept.
  public var addressType = DeviceAddress.Kind.public
  public var address = BD_ADDR()

  public init() {}
  public init(_ address: DeviceAddress) {
    addressType = address.identity.kind
    self.address = address.octets
  }

  public var deviceAddress: DeviceAddress { DeviceAddress(octets: address, kind: addressType) }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("AddrType", &addressType)
    try address.layout(&field)
  }
}

/// The CSRK (Vol 3, Part H, 3.6.6).
public struct SigningInformation: Packet, Hashable {
  /// 16 octets, least significant first.
  public var signatureKey = Bytes(repeating: 0, count: 16)

  public init() {}
  public init(signatureKey: Bytes) { self.signatureKey = signatureKey }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("Signature Key", count: 16, &signatureKey)
  }
}

/// A peripheral asks the central to encrypt or to pair (Vol 3, Part H, 3.6.7).
public struct SecurityRequest: Packet, Hashable {
  public var authReq: AuthenticationRequirements = []

  public init() {}
  public init(authReq: AuthenticationRequirements) { self.authReq = authReq }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("AuthReq", &authReq)
  }
}

/// A public key on the curve P-256 (Vol 3, Part H, 3.5.6).
public struct PairingPublicKey: Packet, Hashable {
  /// 32 octets, least significant first.
  public var x = Bytes(repeating: 0, count: 32)
  /// 32 octets, least significant first.
  public var y = Bytes(repeating: 0, count: 32)

  public init() {}
  public init(x: Bytes, y: Bytes) {
    self.x = x
    self.y = y
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("Public Key X", count: 32, &x)
    try field.octets("Public Key Y", count: 32, &y)
  }
}

/// The proof that both ends have the same DHKey (Vol 3, Part H, 3.5.7).
public struct PairingDHKeyCheck: Packet, Hashable {
  /// 16 octets, least significant first.
  public var value = Bytes(repeating: 0, count: 16)

  public init() {}
  public init(value: Bytes) { self.value = value }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("DHKey Check", count: 16, &value)
  }
}

/// Something happened on the keyboard (Vol 3, Part H, 3.5.8).
public struct PairingKeypressNotification: Packet, Hashable {
  public var notificationType = KeypressNotificationType.passkeyEntryStarted

  public init() {}
  public init(_ notificationType: KeypressNotificationType) { self.notificationType = notificationType }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Notification Type", &notificationType)
  }
}
