public import BLEWire
public import Foundation

/// CoreBluetooth's ways to make and print a UUID (`CBUUID`).
extension BluetoothUUID {
  /// Reads `180D`, `0x180D`, `0000180D` or `E20A39F4-73F5-4BC4-A12F-17D1AD07A961`, in either case.
  ///
  /// As with `CBUUID`, other text is a mistake of the programmer and ends the program, with the text and what would be
  /// right. Text that comes from outside goes through ``BluetoothUUID/init(_:)``, which gives nil.
  public init(string theString: String) { self.init(stringLiteral: theString) }

  /// Reads 2, 4 or 16 octets, most significant first.
  ///
  /// As with `CBUUID`, another number of octets is a mistake of the programmer and ends the program. Octets that come
  /// from outside go through `BluetoothUUID(bigEndian:)`, which gives nil.
  public init(data theData: Data) {
    guard let uuid = Self(bigEndian: theData) else {
      preconditionFailure("\(theData.count) octets are no UUID: pass 2, 4 or 16, most significant first")
    }
    self = uuid
  }

  public init(nsuuid theUUID: UUID) {
    let value = withUnsafeBytes(of: theUUID.uuid) { $0.reduce(UInt128(0)) { $0 << 8 | UInt128($1) } }
    self.init(uuid128: value)
  }

  /// The octets, most significant first, in the size it was made with.
  public var data: Data { Data(littleEndian.reversed()) }
}

// The UUIDs that CoreBluetooth names (`CBUUID….h`), as strings.
public let UUIDCharacteristicExtendedPropertiesString = "2900"
public let UUIDCharacteristicUserDescriptionString = "2901"
public let UUIDClientCharacteristicConfigurationString = "2902"
public let UUIDServerCharacteristicConfigurationString = "2903"
public let UUIDCharacteristicFormatString = "2904"
public let UUIDCharacteristicAggregateFormatString = "2905"
public let UUIDCharacteristicValidRangeString = "2906"
public let UUIDCharacteristicObservationScheduleString = "2910"
/// The characteristic in which a peripheral tells the PSM of an L2CAP channel, as a UInt16 with its low octet first.
public let UUIDL2CAPPSMCharacteristicString = "ABDD3056-28FA-441D-A470-55A75A52553A"
