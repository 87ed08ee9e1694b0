import BLEATT
import BLEWire

/// One attribute as the database keeps it: a fixed number of octets, so that all of them lie in one array.
struct AttributeEntry: Sendable {
  enum Kind: UInt8, Sendable {
    /// A service declaration: it begins a group that the Read By Group Type Request can find.
    case service
    case include
    case characteristic
    /// A value that no client changes.
    case fixed
    case stored
    case dynamic
    /// A Client Characteristic Configuration descriptor: each client has its own value.
    case clientConfiguration
    /// The Client Supported Features characteristic: each client has its own value.
    case clientFeatures
    /// The Database Hash characteristic: computed when it is read.
    case databaseHash
  }

  /// The type as a 128-bit UUID.
  var type: UInt128
  var id: AttributeID
  /// Where the value begins in the database's octets.
  var start: UInt32 = 0
  var length: UInt16 = 0
  /// How many octets may be used from ``start`` on.
  var capacity: UInt16 = 0
  var minimumLength: UInt16 = 0
  var maximumLength: UInt16 = 0
  var handle: AttributeHandle
  /// Of a characteristic value: the handle of its Client Characteristic Configuration descriptor, else 0. Of that
  /// descriptor: the ``GATTCharacteristicProperties`` that decide which of its bits can be set.
  var configuration: UInt16 = 0
  var read: PackedRequirement
  var write: PackedRequirement
  var kind: Kind
  /// Whether the type travels in two octets.
  var hasShortType: Bool

  init(
    handle: AttributeHandle, type: BluetoothUUID, kind: Kind, id: AttributeID = .stack, read: AccessRequirement?,
    write: AccessRequirement?
  ) {
    self.handle = handle
    self.type = type.value
    hasShortType = type.size == .uuid16
    self.kind = kind
    self.id = id
    self.read = PackedRequirement(read)
    self.write = PackedRequirement(write)
  }

  var range: Range<Int> { Int(start)..<Int(start) + Int(length) }
  var uuid: BluetoothUUID { hasShortType ? BluetoothUUID(shortType) : BluetoothUUID(uuid128: type) }
  /// The two octets that a short type travels in.
  var shortType: UInt16 { UInt16(truncatingIfNeeded: type >> 96) }
  var typeSize: Int { hasShortType ? 2 : 16 }
  var allowedLengths: ClosedRange<Int> { Int(minimumLength)...max(Int(minimumLength), Int(maximumLength)) }
}

/// Types that the specification gives a meaning (Vol 3, Part G, 3.4).
enum AttributeType {
  static let primaryService: BluetoothUUID = "2800"
  static let secondaryService: BluetoothUUID = "2801"
  static let include: BluetoothUUID = "2802"
  static let characteristic: BluetoothUUID = "2803"
  static let extendedProperties: BluetoothUUID = "2900"
  static let clientConfiguration: BluetoothUUID = "2902"
  /// 0x2900 to 0x2905: the descriptors that the Database Hash looks at.
  static let hashedDescriptors: ClosedRange<UInt16> = 0x2900...0x2905
}
