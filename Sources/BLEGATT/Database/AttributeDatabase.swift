public import BLEATT
public import BLEWire

/// The attributes of a GATT server, shared by all its clients (Vol 3, Part F, 3.2 and Part G, 2.5).
///
/// The attributes are one array in the order of their handles, and a table has the index of each handle: the cost of a
/// request does not depend on the number of attributes. Searches by type and by service UUID use an index, which the
/// first search after a change builds. The state of one client is in ``GATTServer``.
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
  /// In ascending order of the handles.
  var attributes: [AttributeEntry] = []
  /// For each handle from 0 to the highest one: the index of the first attribute whose handle is not lower.
  var slots: [UInt16] = [0]
  /// The values; each entry has the place of its value.
  var octets: [UInt8] = []
  /// The types that have no 16-bit form. Each entry of such a type has the place of its type here.
  var longTypes: [UInt128] = []
  /// The number of ``octets`` that belong to no attribute.
  var unusedOctets = 0
  /// In ascending order of the handles.
  var services: [ServiceEntry] = []
  var handles = IdentifierTable<AttributeID, AttributeHandle>()
  /// The providers that make or take dynamic values without the application.
  var providers = IdentifierTable<AttributeID, ValueProvider>()
  /// Whether servers call providers. The host clears it while its application has not received all earlier events:
  /// requests then become events after those.
  package var callsProviders = true
  /// Increases with each change that a client can discover. A server compares it with the revision of which its client
  /// is aware.
  private(set) var revision: UInt64 = 0
  /// One above the highest handle that was ever assigned. A client can remember the handles of a removed service, so
  /// they are reused only when no other handles are left.
  var nextHandle = 1
  var index = DatabaseIndex()
  /// Whether servers report writes of clients to stored values: ``GATTServer/Event/stored(_:)``.
  package var reportsStoredWrites = true
  let databaseHashCMAC: (@Sendable (_ message: [UInt8]) -> [UInt8])?

  /// A service: the group of attributes that begins with a service declaration (Vol 3, Part G, 3.1).
  struct ServiceEntry: Sendable {
    var id: ServiceID
    var start: AttributeHandle
    var end: AttributeHandle
    /// The UUID of the service as a 128-bit number.
    var uuid: UInt128
    /// The size of the UUID in the declaration, in octets: 2 or 16.
    var uuidSize: UInt8
    var isPrimary: Bool
    var includes: [ServiceID] = []
  }

  /// A database without attributes, not even the Generic Access and Generic Attribute services.
  public init() { databaseHashCMAC = nil }

  /// A database with the Generic Access and Generic Attribute services.
  public init(services: GenericServices) {
    databaseHashCMAC = services.databaseHashCMAC
    append(services)
  }

  /// Replaces all attributes, Generic Access and Generic Attribute among them. The services get reserved identifiers:
  /// they are not removed one by one. The database has no hash afterwards. Clients must be informed:
  /// ``GATTServer/serviceChanged(_:database:now:into:)``.
  package mutating func replaceAll(with definitions: [AttributeDefinition]) throws(DatabaseError) {
    var new = try Self(attributes: definitions)
    for index in new.services.indices { new.services[index].id = ServiceID(rawValue: .max - 2 - UInt32(index)) }
    replaceAll(with: new)
  }

  /// Replaces all attributes by those of another database.
  package mutating func replaceAll(with other: AttributeDatabase) {
    let (revision, callsProviders, reportsStoredWrites) = (revision, callsProviders, reportsStoredWrites)
    self = other
    self.revision = revision &+ 1
    (self.callsProviders, self.reportsStoredWrites) = (callsProviders, reportsStoredWrites)
  }

  /// The number of attributes.
  public var count: Int { attributes.count }

  /// The handle of a characteristic value or descriptor, nil if the database does not have it.
  public func handle(of attribute: AttributeID) -> AttributeHandle? { handles[attribute] }

  /// The handles of a service, nil if the database does not have it.
  public func range(of service: ServiceID) -> ClosedRange<AttributeHandle>? {
    services.first { $0.id == service }.map { $0.start...$0.end }
  }

  /// The type of an attribute, and the UUID of the characteristic that it belongs to; nil if no attribute has the
  /// handle.
  package func attribute(at handle: AttributeHandle) -> (type: BluetoothUUID, characteristic: BluetoothUUID?)? {
    guard let place = place(of: handle) else { return nil }
    // The value follows its declaration.
    let declaration = attributes[...place].lastIndex { [.characteristic, .service].contains($0.kind) }
    let isInCharacteristic = declaration.map { attributes[$0].kind == .characteristic && $0 < place } ?? false
    return (uuid(of: attributes[place]), isInCharacteristic ? declaration.map { uuid(of: attributes[$0 + 1]) } : nil)
  }

  /// The index of the attribute with this handle.
  @inline(__always)
  func place(of handle: AttributeHandle) -> Int? {
    let slot = Int(handle.rawValue)
    guard slot < slots.count else { return nil }
    let place = Int(slots[slot])
    return place < attributes.count && attributes[place].handle == handle ? place : nil
  }

  /// The index of the first attribute whose handle is not lower than `handle`; the number of attributes if there is
  /// none.
  @inline(__always)
  func firstPlace(from handle: AttributeHandle) -> Int {
    let slot = Int(handle.rawValue)
    return slot < slots.count ? Int(slots[slot]) : attributes.count
  }

  /// The type of an attribute as a 128-bit number.
  @inline(__always)
  func type(of attribute: AttributeEntry) -> UInt128 {
    if attribute.hasShortType { return BluetoothUUID(attribute.type).value }
    return Int(attribute.type) < longTypes.count ? longTypes[Int(attribute.type)] : 0
  }

  /// The type of an attribute in its form in PDUs.
  func uuid(of attribute: AttributeEntry) -> BluetoothUUID {
    attribute.hasShortType ? BluetoothUUID(attribute.type) : BluetoothUUID(uuid128: type(of: attribute))
  }

  /// Updates ``slots`` from `handle` on, the revision and the index after attributes were added or removed.
  mutating func attributesChanged(from handle: AttributeHandle) {
    let kept = min(Int(handle.rawValue), slots.count)
    slots.removeLast(slots.count - kept)
    let highest = Int(attributes.last?.handle.rawValue ?? 0)
    var place = kept == 0 ? 0 : firstPlace(above: kept - 1)
    while slots.count <= highest {
      while place < attributes.count, Int(attributes[place].handle.rawValue) < slots.count { place += 1 }
      slots.append(UInt16(truncatingIfNeeded: place))
    }
    if slots.isEmpty { slots.append(0) }
    revision &+= 1
    index.isCurrent = false
  }

  /// A binary search, for use while ``slots`` is incomplete.
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

/// The reason why an ``AttributeDatabase`` rejected a change. The database is unchanged.
public enum DatabaseError: Error, Equatable, Sendable {
  /// The database has a service with this identifier.
  case duplicateService(ServiceID)
  /// The database has an attribute with this identifier, or the service definition contains it twice.
  case duplicateAttribute(AttributeID)
  /// The identifier is reserved: `UInt32.max`, or for a service also `UInt32.max - 1`.
  case reservedIdentifier(UInt32)
  /// The database does not have the service to include.
  case unknownInclude(ServiceID)
  /// The database does not have this service.
  case unknownService(ServiceID)
  /// The database does not have this attribute.
  case unknownAttribute(AttributeID)
  /// Another service includes this one.
  case stillIncluded(ServiceID, by: ServiceID)
  /// The value, or the allowed length, is longer than 512 octets (Vol 3, Part F, 3.2.9).
  case valueTooLong(AttributeID, octets: Int)
  /// The length of the value is not one of the allowed lengths.
  case lengthNotAllowed(AttributeID, octets: Int, allowed: ClosedRange<Int>)
  /// The value is fixed or dynamic.
  case notStored(AttributeID)
  /// The type is one that the database adds by itself: declarations, 0x2900 and 0x2902.
  case reservedType(AttributeID, BluetoothUUID)
  /// The service needs more consecutive handles than are free.
  case handlesExhausted(needed: Int)
  /// The handle is not above the one before it, or is 0x0000.
  case handlesNotAscending(AttributeHandle)
  /// The value of the service declaration with this handle is not a UUID of 2 or 16 octets.
  case malformedDeclaration(AttributeHandle)
}

extension DatabaseError: CustomStringConvertible {
  /// What failed, why, and what to do.
  public var description: String {
    switch self {
    case .duplicateService(let id):
      "\(id) rejected: the identifier is in use. Remove that service or choose another identifier"
    case .duplicateAttribute(let id):
      "\(id) rejected: the identifier is in use. Choose one for each characteristic and descriptor"
    case .reservedIdentifier(let number): "identifier \(number) rejected: it is reserved. Choose a smaller one"
    case .unknownInclude(let id): "include of \(id) rejected: the database does not have it. Add it first"
    case .unknownService(let id): "the database does not have \(id)"
    case .unknownAttribute(let id): "the database does not have \(id)"
    case .stillIncluded(let id, let by): "\(id) not removed: \(by) includes it. Remove that service first"
    case .valueTooLong(let id, let octets):
      "value of \(id) rejected: \(octets) octets, and an attribute value has at most 512"
    case .lengthNotAllowed(let id, let octets, let allowed):
      "value of \(id) rejected: \(octets) octets, and \(allowed.lowerBound) to \(allowed.upperBound) are allowed"
    case .notStored(let id): "value of \(id) not set: it is fixed or dynamic. Define it as .stored"
    case .reservedType(let id, let uuid):
      "\(id) rejected: the database makes the attributes of type \(uuid) from the properties. Leave it out"
    case .handlesExhausted(let needed):
      "service rejected: \(needed) consecutive handles are not free. Remove other services"
    case .handlesNotAscending(let handle): "handle \(handle) rejected: it is not above the handle before it"
    case .malformedDeclaration(let handle):
      "service declaration \(handle) rejected: the value must be a UUID of 2 or 16 octets, least significant octet first"
    }
  }
}
