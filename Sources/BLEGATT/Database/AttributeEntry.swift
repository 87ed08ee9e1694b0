import BLEATT
import BLEWire

/// An attribute in the database. It has a fixed size, so that all entries are in one array: 28 octets, because a
/// database can have thousands of them (Docs/Decisions/performance.md).
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
  /// A 16-bit UUID, or the index of a longer one in ``AttributeDatabase/longTypes``. ``AttributeDatabase/type(of:)``
  /// returns the UUID.
  private(set) var type: UInt16
  var read: PackedRequirement
  var write: PackedRequirement
  var kind: Kind
  /// Whether the type is a 16-bit UUID in PDUs.
  var hasShortType: Bool

  /// - Parameter longTypes: the type is appended to these if it has no 16-bit form.
  init(
    handle: AttributeHandle, type: BluetoothUUID, in longTypes: inout [UInt128], kind: Kind, id: AttributeID = .stack,
    read: AccessRequirement?,
    write: AccessRequirement?
  ) {
    self.handle = handle
    hasShortType = type.size == .uuid16
    if hasShortType {
      self.type = UInt16(truncatingIfNeeded: type.value >> 96)
    } else {
      self.type = UInt16(truncatingIfNeeded: longTypes.count)
      longTypes.append(type.value)
    }
    self.kind = kind
    self.id = id
    self.read = PackedRequirement(read)
    self.write = PackedRequirement(write)
  }

  /// The place of the value in the octets of the database.
  var range: Range<Int> { Int(start)..<Int(start) + Int(length) }
  /// Whether the type is this 16-bit UUID in its 16-bit form.
  func hasType(_ uuid: BluetoothUUID) -> Bool { hasShortType && BluetoothUUID(type) == uuid }
  var allowedLengths: ClosedRange<Int> { Int(minimumLength)...max(Int(minimumLength), Int(maximumLength)) }
  /// Whether a shorter write leaves the rest of the value unchanged (Vol 3, Part F, 3.4.5.1).
  var hasFixedLength: Bool { kind == .stored && minimumLength == maximumLength }

  /// Moves a long type to the end of `packed`.
  mutating func moveType(from longTypes: [UInt128], to packed: inout [UInt128]) {
    guard !hasShortType, Int(type) < longTypes.count else { return }
    let moved = longTypes[Int(type)]
    type = UInt16(truncatingIfNeeded: packed.count)
    packed.append(moved)
  }
}
