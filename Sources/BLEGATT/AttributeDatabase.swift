public import BLEATT
import BLEWire

/// Every attribute of a server, shared by all its clients (Vol 3, Part F, 3.2 and Part G, 2.5).
///
/// Attributes lie in one array in the order of their handles, and a table leads from a handle to its place, so a request
/// costs the same whether there are 75 of them or 16,000. Searches by type and by service UUID have an index, made anew
/// at the first search after a change. What differs from client to client is not here but in ``GATTServer``.
///
/// ```swift
/// var database = AttributeDatabase(services: GenericServices(deviceName: "Thermometer"))
/// let temperature = AttributeID(rawValue: 1)
/// try database.add(
///   ServiceDefinition(
///     id: ServiceID(rawValue: 1), uuid: "1809",
///     characteristics: [
///       CharacteristicDefinition(
///         id: temperature, uuid: "2A1C", properties: [.read, .notify], permissions: .readable,
///         value: .stored([0, 0xFE, 0, 0, 0xFF], length: 5...13))
///     ]))
/// try database.setStored(temperature, [0, 0x6E, 0x01, 0, 0xFF])
/// ```
public struct AttributeDatabase: Sendable {
  /// In ascending order of their handles.
  var attributes: [AttributeEntry] = []
  /// For each handle from 0 up to the highest one: the index of the first attribute that does not lie below it.
  var slots: [UInt16] = [0]
  /// The values, each at the place its attribute names.
  var octets: [UInt8] = []
  /// How many of ``octets`` belong to no attribute any more.
  var abandonedOctets = 0
  /// In ascending order of their handles.
  var services: [ServiceEntry] = []
  var handles: [AttributeID: AttributeHandle] = [:]
  /// Rises with each change of what clients can discover, so that a bearer sees that its client knows an old database.
  private(set) var revision: UInt64 = 0
  /// One above the highest handle ever given away: handles of removed services are not given to others while there
  /// are fresh ones, since a client may still hold them.
  var nextHandle = 1
  var index = DatabaseIndex()
  let databaseHashCMAC: (@Sendable (_ message: [UInt8]) -> [UInt8])?

  /// A group of attributes that a service declaration begins (Vol 3, Part G, 3.1).
  struct ServiceEntry: Sendable {
    var id: ServiceID
    var start: AttributeHandle
    var end: AttributeHandle
    /// The service's UUID as a 128-bit number.
    var uuid: UInt128
    /// How many octets its UUID takes in the declaration.
    var uuidSize: UInt8
    var isPrimary: Bool
    var includes: [ServiceID] = []
  }

  /// A database without any attribute, not even the stack's own services.
  public init() { databaseHashCMAC = nil }

  /// A database that begins with the Generic Access and Generic Attribute services.
  public init(services: GenericServices) {
    databaseHashCMAC = services.databaseHashCMAC
    append(services)
  }

  /// How many attributes there are.
  public var count: Int { attributes.count }

  /// The handle of a characteristic value or descriptor that the application named.
  public func handle(of attribute: AttributeID) -> AttributeHandle? { handles[attribute] }

  /// The handles of a published service.
  public func range(of service: ServiceID) -> ClosedRange<AttributeHandle>? {
    services.first { $0.id == service }.map { $0.start...$0.end }
  }

  /// The place of the attribute with this handle.
  @inline(__always)
  func place(of handle: AttributeHandle) -> Int? {
    let slot = Int(handle.rawValue)
    guard slot < slots.count else { return nil }
    let place = Int(slots[slot])
    return place < attributes.count && attributes[place].handle == handle ? place : nil
  }

  /// The place of the first attribute that does not lie below `handle`; the number of attributes where all do.
  @inline(__always)
  func firstPlace(from handle: AttributeHandle) -> Int {
    let slot = Int(handle.rawValue)
    return slot < slots.count ? Int(slots[slot]) : attributes.count
  }

  /// To be called when attributes came or went: makes ``slots`` anew from `handle` on and marks the index as old.
  mutating func attributesChanged(from handle: AttributeHandle) {
    let kept = min(Int(handle.rawValue), slots.count)
    slots.removeLast(slots.count - kept)
    let highest = Int(attributes.last?.handle.rawValue ?? 0)
    slots.reserveCapacity(highest + 1)
    var place = kept == 0 ? 0 : firstPlace(above: kept - 1)
    while slots.count <= highest {
      while place < attributes.count, Int(attributes[place].handle.rawValue) < slots.count { place += 1 }
      slots.append(UInt16(truncatingIfNeeded: place))
    }
    if slots.isEmpty { slots.append(0) }
    revision &+= 1
    index.isCurrent = false
  }

  /// Searches without ``slots``, which are being made.
  private func firstPlace(above handle: Int) -> Int {
    var low = 0
    var high = attributes.count
    while low < high {
      let middle = (low + high) / 2
      if Int(attributes[middle].handle.rawValue) <= handle { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
