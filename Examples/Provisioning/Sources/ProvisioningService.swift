import BLEProfiles

/// The service of the example. All of it needs a link that is encrypted with an authenticated key.
enum ProvisioningService {
  static let service: BluetoothUUID = "7A3C0080-52D6-4C1E-9B0F-6D1E2F3A4B5C"
  /// Written: the network that the device joins.
  static let network = ProfileCharacteristic<NetworkCredentials>("7A3C0081-52D6-4C1E-9B0F-6D1E2F3A4B5C", in: service)
  /// Read and notified.
  static let state = ProfileCharacteristic<NetworkState>("7A3C0082-52D6-4C1E-9B0F-6D1E2F3A4B5C", in: service)

  /// The answer to credentials that cannot be used: an application error (Vol 3, Part F, 3.4.1.1).
  static let invalidCredentials = ATTErrorCode(rawValue: 0x80)
}

/// The name and the password of a network: an octet with the length of the name, the name, the password.
struct NetworkCredentials: ProfileValue {
  private var nameOctets: Bytes = []
  private var passwordOctets: Bytes = []

  init() {}

  init(name: String, password: String) {
    (nameOctets, passwordOctets) = (Bytes(name.utf8), Bytes(password.utf8))
  }

  var name: String { String(decoding: nameOctets, as: UTF8.self) }
  /// Whether the name has 1 to 32 octets, and the password 8 to 63.
  var isUsable: Bool { 1...32 ~= nameOctets.count && 8...63 ~= passwordOctets.count }

  mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.counted("Name", &nameOctets)
    try field.rest("Password", &passwordOctets)
  }
}

/// Whether the device is in the network, one octet.
enum NetworkState: UInt8, GATTValue {
  case unconfigured = 0
  case connecting = 1
  case connected = 2

  init?(octets: [UInt8]) {
    guard let octet = octets.first, octets.count == 1 else { return nil }
    self.init(rawValue: octet)
  }
  var octets: [UInt8] { [rawValue] }
}
