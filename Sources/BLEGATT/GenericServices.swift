/// What the services that every GATT server has say about the device: Generic Access and Generic Attribute
/// (Vol 3, Part C, 12 and Part G, 7). The database makes and answers them.
public struct GenericServices: Sendable {
  /// Up to 248 octets of UTF-8; what lies past them is cut off at a character (Vol 3, Part C, 12.1).
  public var deviceName: String
  /// From the Assigned Numbers; 0 is unknown (Vol 3, Part C, 12.2).
  public var appearance: UInt16
  /// Whether to say that this device resolves private addresses when it is a central (Vol 3, Part C, 12.4);
  /// nil leaves the characteristic out.
  public var centralAddressResolution: Bool?
  /// AES-CMAC with a key of zeroes: message in, sixteen octets out, most significant first. Nil leaves out the Database
  /// Hash and with it robust caching (Vol 3, Part G, 7.3).
  public var databaseHashCMAC: (@Sendable (_ message: [UInt8]) -> [UInt8])?

  public init(
    deviceName: String, appearance: UInt16 = 0, centralAddressResolution: Bool? = nil,
    databaseHashCMAC: (@Sendable (_ message: [UInt8]) -> [UInt8])? = nil
  ) {
    self.deviceName = deviceName
    self.appearance = appearance
    self.centralAddressResolution = centralAddressResolution
    self.databaseHashCMAC = databaseHashCMAC
  }
}
