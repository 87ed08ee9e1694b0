import BLEATT
import BLEWire

/// The Database Hash, by which a client that was away learns whether anything changed (Vol 3, Part G, 7.3).
extension AttributeDatabase {
  /// The Database Hash as it travels, least significant octet first; nil where the database was made without a CMAC.
  public func databaseHash() -> [UInt8]? {
    databaseHashCMAC.map { databaseHash(cmac: $0) }
  }

  /// The Database Hash as it travels, least significant octet first.
  ///
  /// - Parameter cmac: AES-CMAC with a key of zeroes: message in, sixteen octets out, most significant first.
  public func databaseHash(cmac: (_ message: [UInt8]) -> [UInt8]) -> [UInt8] {
    cmac(databaseHashMessage).reversed()
  }

  /// What goes through the CMAC: handle, type and value of declarations and extended properties; handle and type of the
  /// other descriptors that GATT itself defines (Vol 3, Part G, 7.3.1).
  var databaseHashMessage: [UInt8] {
    var message: [UInt8] = []
    for attribute in attributes where attribute.hasShortType {
      let type = BluetoothUUID(attribute.shortType)
      let isWhole =
        [.service, .include, .characteristic].contains(attribute.kind)
        || type == AttributeType.extendedProperties
      guard isWhole || AttributeType.hashedDescriptors.contains(attribute.shortType) else { continue }
      message.append(littleEndian: attribute.handle.rawValue)
      message.append(littleEndian: attribute.shortType)
      if isWhole { message.append(contentsOf: octets[attribute.range]) }
    }
    return message
  }
}
