public import BLEWire

extension SMPCode {
  /// Encryption Information.
  public static let encryptionInformation = Self(rawValue: 0x06)
  /// Central Identification.
  public static let centralIdentification = Self(rawValue: 0x07)
  /// Identity Information.
  public static let identityInformation = Self(rawValue: 0x08)
  /// Identity Address Information.
  public static let identityAddressInformation = Self(rawValue: 0x09)
  /// Signing Information.
  public static let signingInformation = Self(rawValue: 0x0A)
}

/// Encryption Information: the LTK of legacy pairing (Vol 3, Part H, 3.6.2).
public struct EncryptionInformation: SMPPacket, Hashable {
  public static let code = SMPCode.encryptionInformation
  public static let name: StaticString = "Encryption Information"

  /// The LTK, 16 octets, least significant octet first.
  public var longTermKey = Bytes(repeating: 0, count: 16)

  public init() {}
  /// A PDU with this key.
  public init(longTermKey: Bytes) { self.longTermKey = longTermKey }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("Long Term Key", count: 16, &longTermKey)
  }
}

/// Central Identification: EDIV and Rand, which identify the LTK of legacy pairing (Vol 3, Part H, 3.6.3).
public struct CentralIdentification: SMPPacket, Hashable {
  public static let code = SMPCode.centralIdentification
  public static let name: StaticString = "Central Identification"

  /// The Encrypted Diversifier.
  public var ediv: UInt16 = 0
  /// The Random Number.
  public var rand: UInt64 = 0

  public init() {}
  /// A PDU with these numbers.
  public init(ediv: UInt16, rand: UInt64) {
    self.ediv = ediv
    self.rand = rand
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("EDIV", &ediv)
    try field.integer("Rand", &rand)
  }
}

/// Identity Information: the IRK (Vol 3, Part H, 3.6.4).
public struct IdentityInformation: SMPPacket, Hashable {
  public static let code = SMPCode.identityInformation
  public static let name: StaticString = "Identity Information"

  /// The IRK, 16 octets, least significant octet first; zeros if the device has none.
  public var identityResolvingKey = Bytes(repeating: 0, count: 16)

  public init() {}
  /// A PDU with this key.
  public init(identityResolvingKey: Bytes) { self.identityResolvingKey = identityResolvingKey }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("Identity Resolving Key", count: 16, &identityResolvingKey)
  }
}

/// Identity Address Information: the identity address (Vol 3, Part H, 3.6.5).
public struct IdentityAddressInformation: SMPPacket, Hashable {
  public static let code = SMPCode.identityAddressInformation
  public static let name: StaticString = "Identity Address Information"

  /// Public or random (static). Other types are kept.
  public var addressType = DeviceAddress.Kind.public
  /// The address without its type.
  public var address = BD_ADDR()

  public init() {}
  /// A PDU with this address.
  public init(_ address: DeviceAddress) {
    addressType = address.identity.kind
    self.address = address.octets
  }

  /// The address with its type.
  public var deviceAddress: DeviceAddress { DeviceAddress(octets: address, kind: addressType) }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("AddrType", &addressType)
    try address.layout(&field)
  }
}

/// Signing Information: the CSRK (Vol 3, Part H, 3.6.6).
public struct SigningInformation: SMPPacket, Hashable {
  public static let code = SMPCode.signingInformation
  public static let name: StaticString = "Signing Information"

  /// The CSRK, 16 octets, least significant octet first.
  public var signatureKey = Bytes(repeating: 0, count: 16)

  public init() {}
  /// A PDU with this key.
  public init(signatureKey: Bytes) { self.signatureKey = signatureKey }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.octets("Signature Key", count: 16, &signatureKey)
  }
}
