public import BLEWire

extension SMPCode {
  /// Pairing Request.
  public static let pairingRequest = Self(rawValue: 0x01)
  /// Pairing Response.
  public static let pairingResponse = Self(rawValue: 0x02)
  /// Pairing Confirm.
  public static let pairingConfirm = Self(rawValue: 0x03)
  /// Pairing Random.
  public static let pairingRandom = Self(rawValue: 0x04)
  /// Pairing Failed.
  public static let pairingFailed = Self(rawValue: 0x05)
  /// Security Request.
  public static let securityRequest = Self(rawValue: 0x0B)
  /// Pairing Public Key.
  public static let pairingPublicKey = Self(rawValue: 0x0C)
  /// Pairing DHKey Check.
  public static let pairingDHKeyCheck = Self(rawValue: 0x0D)
  /// Pairing Keypress Notification.
  public static let pairingKeypressNotification = Self(rawValue: 0x0E)
}

/// Pairing Request: the initiator begins a pairing (Vol 3, Part H, 3.5.1).
public struct PairingRequest: SMPPacket, Hashable {
  public static let code = SMPCode.pairingRequest
  public static let name: StaticString = "Pairing Request"

  /// The initiator's features.
  public var features = PairingFeatures()

  public init() {}
  /// A PDU with these features.
  public init(_ features: PairingFeatures) { self.features = features }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) { try features.layout(&field) }
}

/// Pairing Response: the responder accepts a Pairing Request (Vol 3, Part H, 3.5.2).
public struct PairingResponse: SMPPacket, Hashable {
  public static let code = SMPCode.pairingResponse
  public static let name: StaticString = "Pairing Response"

  /// The responder's features.
  public var features = PairingFeatures()

  public init() {}
  /// A PDU with these features.
  public init(_ features: PairingFeatures) { self.features = features }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) { try features.layout(&field) }
}

/// Pairing Confirm: the commitment to a random value (Vol 3, Part H, 3.5.3).
public struct PairingConfirm: SMPPacket, Hashable {
  public static let code = SMPCode.pairingConfirm
  public static let name: StaticString = "Pairing Confirm"

  /// The confirm value, 16 octets, least significant octet first.
  public var value = Bytes(repeating: 0, count: 16)

  public init() {}
  /// A PDU with this confirm value.
  public init(value: Bytes) { self.value = value }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("Confirm value", count: 16, &value)
  }
}

/// Pairing Random: the random value of the commitment (Vol 3, Part H, 3.5.4).
public struct PairingRandom: SMPPacket, Hashable {
  public static let code = SMPCode.pairingRandom
  public static let name: StaticString = "Pairing Random"

  /// The random value, 16 octets, least significant octet first.
  public var value = Bytes(repeating: 0, count: 16)

  public init() {}
  /// A PDU with this random value.
  public init(value: Bytes) { self.value = value }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("Random value", count: 16, &value)
  }
}

/// Pairing Failed: ends a pairing without success (Vol 3, Part H, 3.5.5).
public struct PairingFailed: SMPPacket, Hashable {
  public static let code = SMPCode.pairingFailed
  public static let name: StaticString = "Pairing Failed"

  /// The reason.
  public var reason = PairingFailedReason.unspecifiedReason

  public init() {}
  /// A PDU with this reason.
  public init(reason: PairingFailedReason) { self.reason = reason }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Reason", &reason)
  }
}

/// Pairing Public Key: a public key on the curve P-256 (Vol 3, Part H, 3.5.6).
public struct PairingPublicKey: SMPPacket, Hashable {
  public static let code = SMPCode.pairingPublicKey
  public static let name: StaticString = "Pairing Public Key"

  /// The x-coordinate, 32 octets, least significant octet first.
  public var x = Bytes(repeating: 0, count: 32)
  /// The y-coordinate, 32 octets, least significant octet first.
  public var y = Bytes(repeating: 0, count: 32)

  public init() {}
  /// A PDU with these coordinates.
  public init(x: Bytes, y: Bytes) {
    self.x = x
    self.y = y
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("Public Key X", count: 32, &x)
    try field.octets("Public Key Y", count: 32, &y)
  }
}

/// Pairing DHKey Check: the proof that a device has computed the key (Vol 3, Part H, 3.5.7).
public struct PairingDHKeyCheck: SMPPacket, Hashable {
  public static let code = SMPCode.pairingDHKeyCheck
  public static let name: StaticString = "Pairing DHKey Check"

  /// The check value Ea or Eb, 16 octets, least significant octet first.
  public var value = Bytes(repeating: 0, count: 16)

  public init() {}
  /// A PDU with this check value.
  public init(value: Bytes) { self.value = value }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("DHKey Check", count: 16, &value)
  }
}

/// Pairing Keypress Notification: an event of the keyboard during passkey entry (Vol 3, Part H, 3.5.8).
public struct PairingKeypressNotification: SMPPacket, Hashable {
  public static let code = SMPCode.pairingKeypressNotification
  public static let name: StaticString = "Pairing Keypress Notification"

  /// The event.
  public var notificationType = KeypressNotificationType.passkeyEntryStarted

  public init() {}
  /// A PDU with this event.
  public init(_ notificationType: KeypressNotificationType) { self.notificationType = notificationType }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Notification Type", &notificationType)
  }
}

/// An event of the keyboard during passkey entry (Vol 3, Part H, 3.5.8, table 3.8). Other numbers are reserved.
public struct KeypressNotificationType: AssignedNumber {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Passkey entry started (0).
  public static let passkeyEntryStarted = Self(rawValue: 0)
  /// Passkey digit entered (1).
  public static let passkeyDigitEntered = Self(rawValue: 1)
  /// Passkey digit erased (2).
  public static let passkeyDigitErased = Self(rawValue: 2)
  /// Passkey cleared (3).
  public static let passkeyCleared = Self(rawValue: 3)
  /// Passkey entry completed (4).
  public static let passkeyEntryCompleted = Self(rawValue: 4)

  public static let spaceName: StaticString = "keypress notification type"
  public static let names: [Self: StaticString] = [
    .passkeyEntryStarted: "Passkey entry started", .passkeyDigitEntered: "Passkey digit entered",
    .passkeyDigitErased: "Passkey digit erased", .passkeyCleared: "Passkey cleared",
    .passkeyEntryCompleted: "Passkey entry completed",
  ]
}

/// Security Request: a peripheral requests encryption or a pairing from its central (Vol 3, Part H, 3.6.7).
public struct SecurityRequest: SMPPacket, Hashable {
  public static let code = SMPCode.securityRequest
  public static let name: StaticString = "Security Request"

  /// The requirements of the peripheral.
  public var authReq: AuthenticationRequirements = []

  public init() {}
  /// A PDU with these requirements.
  public init(authReq: AuthenticationRequirements) { self.authReq = authReq }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("AuthReq", &authReq)
  }
}
