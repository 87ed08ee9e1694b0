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
