import BLEATT
import BLEGATT
import BLEWire

/// The database that the load generator expects, as a function of two sizes.
///
///     0x0001          service FFF0
///     0x0003          FFF1, 20 octets, read and written
///     0x0005          FFF2, 512 octets
///     0x0007, 0x0008  FFF3, notified, and its configuration
///     0x000A          FFF4, the control point: writing a count starts so many notifications
///     0x000B …        `services` services with `characteristics` characteristics of 20 octets each
///
/// The identifier of a value is its handle.
enum BenchmarkDatabase {
  static let notified = AttributeHandle(0x0007)
  static let control = AttributeID(rawValue: 0x000A)

  static func make(services: Int, characteristics: Int) throws -> AttributeDatabase {
    var database = AttributeDatabase()
    try database.add(test)
    var next = 11
    for index in 0..<services {
      try database.add(filler(index, of: services, characteristics, firstHandle: next))
      next += 1 + 3 * characteristics
    }
    return database
  }

  private static let test = ServiceDefinition(
    id: ServiceID(rawValue: 0), uuid: "FFF0",
    characteristics: [
      CharacteristicDefinition(
        id: AttributeID(rawValue: 0x0003), uuid: "FFF1", properties: [.read, .writeWithoutResponse, .write],
        permissions: .readableAndWritable, value: .stored(value(0x0003), length: 20...20)),
      CharacteristicDefinition(
        id: AttributeID(rawValue: 0x0005), uuid: "FFF2", properties: [.read, .write],
        permissions: .readableAndWritable,
        value: .stored((0..<512).map { UInt8(truncatingIfNeeded: 7 * $0 + ($0 >> 8)) }, length: 512...512)),
      CharacteristicDefinition(
        id: AttributeID(rawValue: 0x0007), uuid: "FFF3", properties: .notify, permissions: GATTAttributePermissions(),
        value: .dynamic),
      CharacteristicDefinition(
        id: control, uuid: "FFF4", properties: .write, permissions: .writable, value: .dynamic),
    ])

  /// The first half of the services has UUIDs of 16 bits, the other half of 128.
  private static func filler(
    _ index: Int, of services: Int, _ characteristics: Int, firstHandle: Int
  ) -> ServiceDefinition {
    let isShort = 2 * index < services
    func uuid(_ short: Int, _ long: Int) -> BluetoothUUID {
      if isShort { return BluetoothUUID(UInt16(truncatingIfNeeded: short)) }
      return BluetoothUUID(
        uuid128: UInt128(UInt32(truncatingIfNeeded: long)) << 96 | 0x0000_0000_B1E5_4A7B_9C3D_5EB7_A77B_0000)
    }
    return ServiceDefinition(
      id: ServiceID(rawValue: UInt32(index + 1)), uuid: uuid(0x8000 + index, index << 8),
      characteristics: (0..<characteristics).map { number in
        let handle = firstHandle + 2 + 3 * number
        return CharacteristicDefinition(
          id: AttributeID(rawValue: UInt32(handle)),
          uuid: uuid(0xA000 + index * characteristics + number, index << 8 | (number + 1)),
          properties: [.read, .write, .notify], permissions: .readableAndWritable,
          value: .stored(value(handle), length: 20...20))
      })
  }

  private static func value(_ handle: Int) -> [UInt8] {
    [UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8)] + Array(2..<20)
  }
}
