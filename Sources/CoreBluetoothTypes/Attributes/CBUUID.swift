public import BLEWire
public import CoreFoundation
public import Foundation

/// A Bluetooth UUID of 16, 32 or 128 bits as an object.
///
/// Equality and ``hash`` use the 128-bit value: `180D` equals `0000180D-0000-1000-8000-00805F9B34FB`. A UUID is sent in
/// the form in which it was made.
///
/// ```swift
/// let heartRate = CBUUID(string: "180D")
/// let measurement: CBUUID = "2A37"
/// ```
///
/// `BluetoothUUID` is the value type, which the protocol layers and BLEKit use. ``init(_:)`` and
/// `BluetoothUUID.init(_:)` convert between the two. Unlike Apple's class, this one can be written as a string literal.
///
/// The class is immutable, so it needs no lock.
open class CBUUID: NSObject, NSCopying, ExpressibleByStringLiteral, @unchecked Sendable {
  let value: BluetoothUUID

  /// The UUID with the value of `uuid`, sent in the same form.
  public init(_ uuid: BluetoothUUID) { value = uuid }

  /// The UUID of 128 bits that are all zero. It has no use; Apple's class inherits this initializer, too.
  public override convenience init() { self.init(BluetoothUUID(uuid128: 0)) }

  /// Reads `180D`, `0x180D`, `0000180D` or `E20A39F4-73F5-4BC4-A12F-17D1AD07A961`, in either case.
  ///
  /// Any other text is an error of the program and ends it, as with Apple's class, with a line on standard error. Read
  /// text from outside the program with `init(validating:)`.
  public convenience init(string theString: String) { self.init(BluetoothUUID(stringLiteral: theString)) }

  /// Reads text from outside the program, in a form that ``init(string:)`` reads; nil for any other text.
  public convenience init?(validating text: String) {
    guard let uuid = BluetoothUUID(text) else { return nil }
    self.init(uuid)
  }

  /// A UUID that is written in the source, in a form that ``init(string:)`` reads.
  public required init(stringLiteral value: String) { self.value = BluetoothUUID(stringLiteral: value) }

  /// Reads 2, 4 or 16 octets, most significant first.
  ///
  /// Any other number of octets is an error of the program and ends it, as with Apple's class, with a line on standard
  /// error. Read octets from outside the program with `init(validating:)`.
  public convenience init(data theData: Data) {
    guard let uuid = BluetoothUUID(bigEndian: theData) else {
      fatalError("\(theData.count) octets are not a UUID. Pass 2, 4 or 16 octets, most significant first")
    }
    self.init(uuid)
  }

  /// Reads 2, 4 or 16 octets from outside the program, most significant first; nil for any other number.
  public convenience init?(validating data: Data) {
    guard let uuid = BluetoothUUID(bigEndian: data) else { return nil }
    self.init(uuid)
  }

  /// The UUID of 128 bits with the octets of `theUUID`.
  public convenience init(nsuuid theUUID: UUID) { self.init(BluetoothUUID(theUUID)) }

  /// The UUID of 128 bits with the octets of `theUUID`.
  @available(*, deprecated, message: "Use init(nsuuid:).")
  public convenience init(cfuuid theUUID: CFUUID) {
    let octets = CFUUIDGetUUIDBytes(theUUID)
    self.init(BluetoothUUID(uuid128: withUnsafeBytes(of: octets) { $0.reduce(0) { $0 << 8 | UInt128($1) } }))
  }

  /// The octets, most significant first, in the form in which the UUID was made: 2, 4 or 16.
  open var data: Data { Data(value.littleEndian.reversed()) }

  /// Upper-case text: four or eight digits for a value in the range of the Bluetooth Base UUID, otherwise 36
  /// characters.
  open var uuidString: String { value.uuidString }

  /// Itself: the class is immutable.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// Whether `object` is a ``CBUUID`` with the same 128-bit value.
  open override func isEqual(_ object: Any?) -> Bool { (object as? CBUUID)?.value == value }

  /// The hash of the 128-bit value.
  open override var hash: Int { value.hashValue }

  /// The text of ``uuidString``. Apple's class has the name of an assigned number here.
  open override var description: String { value.uuidString }
}

extension BluetoothUUID {
  /// The value of `uuid`, sent in the same form.
  public init(_ uuid: CBUUID) { self = uuid.value }

  /// The UUID of 128 bits with the octets of `uuid`.
  public init(_ uuid: UUID) {
    self.init(uuid128: withUnsafeBytes(of: uuid.uuid) { $0.reduce(0) { $0 << 8 | UInt128($1) } })
  }

  /// Whether it is the Generic Access or the Generic Attribute service (Vol 3, Part C, 12, and Part G, 7), which the
  /// stack of each device publishes, in any form.
  var isServiceOfTheStack: Bool { self == Self(0x1800) || self == Self(0x1801) }

  /// The UUIDs in a dictionary's value: an array of ``CBUUID``, or of `BluetoothUUID`.
  ///
  /// - Returns: nil where the value is something else.
  static func list(_ value: Any?) -> [BluetoothUUID]? {
    (value as? [CBUUID])?.map(\.value) ?? value as? [BluetoothUUID]
  }
}
