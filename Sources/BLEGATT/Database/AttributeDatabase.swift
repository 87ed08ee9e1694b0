public import BLEATT
public import BLEWire

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

/// Why the database refuses what the application describes; nothing was changed then.
public enum DatabaseError: Error, Equatable, Sendable {
  /// A service with this identifier is published already.
  case duplicateService(ServiceID)
  /// An attribute with this identifier is published already, or named twice in one service.
  case duplicateAttribute(AttributeID)
  /// The identifier is one that the stack keeps for itself (the two or one highest numbers).
  case reservedIdentifier(UInt32)
  /// A service is included that has not been published.
  case unknownInclude(ServiceID)
  case unknownService(ServiceID)
  case unknownAttribute(AttributeID)
  /// The service is still included by another, which must go first.
  case stillIncluded(ServiceID, by: ServiceID)
  /// No attribute value has more than 512 octets (Vol 3, Part F, 3.2.9).
  case valueTooLong(AttributeID, octets: Int)
  /// The value, or a bound of its length, does not agree with the lengths allowed.
  case lengthNotAllowed(AttributeID, octets: Int, allowed: ClosedRange<Int>)
  /// The value is not one that the stack keeps: it is fixed or dynamic.
  case notStored(AttributeID)
  /// 0x2900 and 0x2902 are made from the properties, and declarations from the definitions.
  case madeByTheStack(AttributeID, BluetoothUUID)
  /// So many handles in a row are not free.
  case handlesExhausted(needed: Int)
  /// A list of attributes with handles must be in ascending order, from 0x0001 on.
  case handlesNotAscending(AttributeHandle)
  /// The declaration with this handle does not hold what it declares: a service's holds a UUID of 2 or 16 octets.
  case malformedDeclaration(AttributeHandle)
}

extension DatabaseError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .duplicateService(let id):
      "\(id) is published already: remove it first, or give the new one its own identifier"
    case .duplicateAttribute(let id): "\(id) is named twice: give each characteristic and descriptor its own identifier"
    case .reservedIdentifier(let number): "the identifier \(number) is the stack's own: choose a smaller one"
    case .unknownInclude(let id): "\(id) is included but not published: add it before the service that includes it"
    case .unknownService(let id): "\(id) is not published"
    case .unknownAttribute(let id): "\(id) is not published"
    case .stillIncluded(let id, let by): "\(id) is included by \(by): remove that one first"
    case .valueTooLong(let id, let octets): "the value of \(id) has \(octets) octets; an attribute holds at most 512"
    case .lengthNotAllowed(let id, let octets, let allowed):
      "\(octets) octets for \(id), which takes \(allowed.lowerBound) to \(allowed.upperBound)"
    case .notStored(let id): "the value of \(id) is not kept by the stack: publish it as .stored to change it"
    case .madeByTheStack(let id, let uuid):
      "\(id) has the type \(uuid), which the stack makes from the properties: leave it out"
    case .handlesExhausted(let needed): "no \(needed) free handles in a row are left of 65,535"
    case .handlesNotAscending(let handle): "the handle \(handle) does not lie above the one before it"
    case .malformedDeclaration(let handle):
      "the service declaration \(handle) must hold a UUID of 2 or 16 octets, least significant first"
    }
  }
}
