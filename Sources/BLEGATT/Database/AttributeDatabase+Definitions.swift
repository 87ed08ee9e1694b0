public import BLEATT
public import BLEWire

/// An attribute with its handle, for a database with given handles: a copy of another server's database, or one that a
/// specification lays out.
public struct AttributeDefinition: Sendable {
  /// The handle, 0x0001 to 0xFFFF.
  public var handle: AttributeHandle
  /// The attribute type, such as `.primaryService`.
  public var type: BluetoothUUID
  /// The permissions of the value. A fixed value cannot be written.
  public var permissions: GATTAttributePermissions
  /// The source of the value. The value of a declaration has the format of the specification (Vol 3, Part G, 3.1 to
  /// 3.3).
  public var value: ValueSource
  /// The identifier in events; nil if no event needs it.
  public var id: AttributeID?
  /// For a service declaration, the last handle of the service; nil for the last attribute before the next service.
  public var groupEnd: AttributeHandle?

  /// An attribute with these fields.
  public init(
    handle: AttributeHandle, type: BluetoothUUID, permissions: GATTAttributePermissions = .readable, value: ValueSource,
    id: AttributeID? = nil, groupEnd: AttributeHandle? = nil
  ) {
    self.handle = handle
    self.type = type
    self.permissions = permissions
    self.value = value
    self.id = id
    self.groupEnd = groupEnd
  }
}

extension AttributeDatabase {
  /// A database of these attributes, which must be in ascending order of their handles.
  ///
  /// An attribute of type 0x2902 is a Client Characteristic Configuration descriptor: each client has a value of its
  /// own, and the properties of the characteristic declaration before it determine the bits that can be set. Services
  /// get the identifiers 0, 1, 2 … in their order.
  ///
  /// - Parameters:
  ///   - definitions: the attributes.
  ///   - databaseHashCMAC: as in ``GenericServices/databaseHashCMAC``.
  /// - Throws: ``DatabaseError/handlesNotAscending(_:)``, ``DatabaseError/duplicateAttribute(_:)``,
  ///   ``DatabaseError/reservedIdentifier(_:)``, ``DatabaseError/malformedDeclaration(_:)``,
  ///   ``DatabaseError/valueTooLong(_:octets:)``, or ``DatabaseError/lengthNotAllowed(_:octets:allowed:)``.
  public init(
    attributes definitions: [AttributeDefinition],
    databaseHashCMAC: (@Sendable (_ message: [UInt8]) -> [UInt8])? = nil
  ) throws(DatabaseError) {
    self.databaseHashCMAC = databaseHashCMAC
    attributes.reserveCapacity(definitions.count)
    var characteristic: (properties: UInt8, declaration: AttributeHandle)?
    for definition in definitions {
      guard definition.handle > (attributes.last?.handle ?? .none) else {
        throw .handlesNotAscending(definition.handle)
      }
      try definition.value.check(for: definition.id ?? .stack)
      var attribute = try attribute(definition)
      switch attribute.kind {
      case .service:
        finishService(before: definition.handle)
        try beginService(definition)
        characteristic = nil
      case .characteristic:
        let value = octets[attribute.range]
        characteristic = value.count >= 3 ? (value[value.startIndex], definition.handle) : nil
      case .clientConfiguration:
        attribute.configuration = UInt16(characteristic?.properties ?? 0x30)
        if let characteristic, let place = attributes.lastIndex(where: { $0.handle == characteristic.declaration }),
          place + 1 < attributes.count
        {
          attributes[place + 1].configuration = definition.handle.rawValue
          attribute.id = attributes[place + 1].id
        }
      // The others neither begin a group nor belong to the characteristic before them.
      case .include, .fixed, .stored, .dynamic, .clientFeatures, .databaseHash: break
      }
      attributes.append(attribute)
    }
    finishService(before: nil)
    nextHandle = Int(attributes.last?.handle.rawValue ?? 0) + 1
    attributesChanged(from: .none)
  }

  private mutating func attribute(_ definition: AttributeDefinition) throws(DatabaseError) -> AttributeEntry {
    if let id = definition.id {
      guard id != .stack else { throw .reservedIdentifier(id.rawValue) }
      guard handles[id] == nil else { throw .duplicateAttribute(id) }
      handles[id] = definition.handle
    }
    let type = definition.type.attributeType
    var write = definition.permissions.write
    var kind: AttributeEntry.Kind
    var value: [UInt8] = []
    var lengths = 0...ATT.maximumValueLength
    switch definition.value {
    case .fixed(let octets): (kind, value, write) = (.fixed, octets, nil)
    case .stored(let octets, let allowed): (kind, value, lengths) = (.stored, octets, allowed)
    case .dynamic: kind = .dynamic
    }
    switch type {
    case .primaryService, .secondaryService: kind = .service
    case .include: kind = .include
    case .characteristic: kind = .characteristic
    case .clientCharacteristicConfiguration: (kind, write) = (.clientConfiguration, definition.permissions.write)
    default: break
    }
    var attribute = AttributeEntry(
      handle: definition.handle, type: type, in: &longTypes, kind: kind, id: definition.id ?? .stack,
      read: definition.permissions.read, write: write)
    attribute.minimumLength = UInt16(clamping: lengths.lowerBound)
    attribute.maximumLength = UInt16(clamping: lengths.upperBound)
    place(value, in: &attribute)
    return attribute
  }

  private mutating func beginService(_ definition: AttributeDefinition) throws(DatabaseError) {
    guard let octets = definition.value.octets, octets.count != 4, let uuid = BluetoothUUID(littleEndian: octets) else {
      throw .malformedDeclaration(definition.handle)
    }
    services.append(
      ServiceEntry(
        id: ServiceID(rawValue: UInt32(truncatingIfNeeded: services.count)), start: definition.handle,
        end: definition.groupEnd ?? .none, uuid: uuid.value, uuidSize: UInt8(truncatingIfNeeded: octets.count),
        isPrimary: definition.type == .primaryService))
  }

  private mutating func finishService(before handle: AttributeHandle?) {
    guard let last = services.indices.last else { return }
    let lastAttribute = attributes.last?.handle ?? services[last].start
    var end = max(services[last].end, lastAttribute)
    if let handle { end = min(end, AttributeHandle(handle.rawValue &- 1)) }
    services[last].end = end
  }
}

extension ValueSource {
  /// The value, nil if it is dynamic.
  fileprivate var octets: [UInt8]? {
    switch self {
    case .fixed(let octets), .stored(let octets, _): octets
    case .dynamic: nil
    }
  }
}
