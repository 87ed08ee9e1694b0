import BLEATT
import BLEWire

/// An attribute in the database. It has a fixed size, so that all entries are in one array.
struct AttributeEntry: Sendable {
  enum Kind: UInt8, Sendable {
    /// A service declaration: the beginning of a group that Read By Group Type finds.
    case service
    case include
    case characteristic
    /// A constant value.
    case fixed
    case stored
    case dynamic
    /// A Client Characteristic Configuration descriptor: each client has a value of its own.
    case clientConfiguration
    /// The Client Supported Features characteristic: each client has a value of its own.
    case clientFeatures
    /// The Database Hash characteristic: the value is computed when it is read.
    case databaseHash
  }

  /// The type as a 128-bit UUID.
  var type: UInt128
  var id: AttributeID
  /// The index of the value in the octets of the database.
  var start: UInt32 = 0
  /// The length of the value in octets.
  var length: UInt16 = 0
  /// The number of octets from ``start`` on that belong to the attribute.
  var capacity: UInt16 = 0
  var minimumLength: UInt16 = 0
  var maximumLength: UInt16 = 0
  var handle: AttributeHandle
  /// In a characteristic value: the handle of its Client Characteristic Configuration descriptor, or 0. In that
  /// descriptor: the ``GATTCharacteristicProperties``, which determine the bits that a client may set.
  var configuration: UInt16 = 0
  var read: PackedRequirement
  var write: PackedRequirement
  var kind: Kind
  /// Whether the type is a 16-bit UUID in PDUs.
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

  /// The place of the value in the octets of the database.
  var range: Range<Int> { Int(start)..<Int(start) + Int(length) }
  var uuid: BluetoothUUID { hasShortType ? BluetoothUUID(shortType) : BluetoothUUID(uuid128: type) }
  /// The 16-bit UUID of a short type.
  var shortType: UInt16 { UInt16(truncatingIfNeeded: type >> 96) }
  var allowedLengths: ClosedRange<Int> { Int(minimumLength)...max(Int(minimumLength), Int(maximumLength)) }
  /// Whether a shorter write leaves the rest of the value unchanged (Vol 3, Part F, 3.4.5.1).
  var hasFixedLength: Bool { kind == .stored && minimumLength == maximumLength }
}
