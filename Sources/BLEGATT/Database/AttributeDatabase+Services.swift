public import BLEATT
import BLEWire

/// The handles that the database assigned to a service.
public struct ServiceHandles: Hashable, Sendable {
  /// From the service declaration to the last attribute of the service.
  public var range: ClosedRange<AttributeHandle>
  /// The handles of the characteristic values and descriptors.
  public var attributes: [AttributeID: AttributeHandle]

  package init(range: ClosedRange<AttributeHandle>, attributes: [AttributeID: AttributeHandle]) {
    (self.range, self.attributes) = (range, attributes)
  }
}

/// Adding and removing services.
extension AttributeDatabase {
  /// Adds a service after the others, or in a gap if too few handles are free after them. Clients must be informed:
  /// ``GATTServer/serviceChanged(_:database:now:into:)``.
  ///
  /// - Throws: the first fault of the definition; the database is unchanged.
  @discardableResult
  public mutating func add(_ service: ServiceDefinition) throws(DatabaseError) -> ServiceHandles {
    try check(service)
    let needed = service.attributeCount
    guard let start = freeHandles(needed) else { throw .handlesExhausted(needed: needed) }
    return insert(service, at: start)
  }

  /// Removes a service. Clients must be informed: ``GATTServer/serviceChanged(_:database:now:into:)``.
  ///
  /// - Returns: the handles of the service.
  /// - Throws: ``DatabaseError/unknownService(_:)``, ``DatabaseError/stillIncluded(_:by:)``, or
  ///   ``DatabaseError/reservedIdentifier(_:)`` for the Generic Access and Generic Attribute services.
  @discardableResult
  public mutating func remove(_ service: ServiceID) throws(DatabaseError) -> ClosedRange<AttributeHandle> {
    guard !service.isReserved else { throw .reservedIdentifier(service.rawValue) }
    guard let range = range(of: service) else { throw .unknownService(service) }
    if let including = services.first(where: { $0.includes.contains(service) }) {
      throw .stillIncluded(service, by: including.id)
    }
    services.removeAll { $0.id == service }
    removeAttributes { range.contains($0) }
    return range
  }

  /// Removes every service except Generic Access and Generic Attribute.
  ///
  /// - Returns: the range from the first to the last removed handle, nil if there was no service.
  @discardableResult
  public mutating func removeAll() -> ClosedRange<AttributeHandle>? {
    let removed = services.filter { !$0.id.isReserved }
    guard let first = removed.first, let last = removed.last else { return nil }
    services.removeAll { !$0.id.isReserved }
    let kept = services.map { $0.start...$0.end }
    removeAttributes { handle in !kept.contains { $0.contains(handle) } }
    return first.start...last.end
  }

  private mutating func removeAttributes(where isRemoved: (AttributeHandle) -> Bool) {
    attributes.removeAll { attribute in
      guard isRemoved(attribute.handle) else { return false }
      if attribute.id != .stack {
        handles[attribute.id] = nil
        providers.removeValue(forKey: attribute.id)
      }
      return true
    }
    packOctets()
    packTypes()
    attributesChanged(from: .none)
  }

  private func check(_ service: ServiceDefinition) throws(DatabaseError) {
    guard !service.id.isReserved else { throw .reservedIdentifier(service.id.rawValue) }
    guard !services.contains(where: { $0.id == service.id }) else { throw .duplicateService(service.id) }
    for include in service.includes where range(of: include) == nil { throw .unknownInclude(include) }
    var seen: Set<AttributeID> = []
    for characteristic in service.characteristics {
      try check(characteristic.id, type: characteristic.uuid, characteristic.value, seen: &seen)
      for descriptor in characteristic.descriptors {
        try check(descriptor.id, type: descriptor.uuid, descriptor.value, seen: &seen)
        if [.characteristicExtendedProperties, .clientCharacteristicConfiguration].contains(descriptor.uuid) {
          throw .reservedType(descriptor.id, descriptor.uuid)
        }
      }
    }
  }

  private func check(
    _ id: AttributeID, type: BluetoothUUID, _ value: ValueSource, seen: inout Set<AttributeID>
  ) throws(DatabaseError) {
    guard id != .stack else { throw .reservedIdentifier(id.rawValue) }
    guard handles[id] == nil, seen.insert(id).inserted else { throw .duplicateAttribute(id) }
    guard !type.isDeclaration else { throw .reservedType(id, type) }
    try value.check(for: id)
  }

  /// The lowest of `count` consecutive free handles: above all handles that were ever assigned, or in the first gap of
  /// sufficient size.
  private func freeHandles(_ count: Int) -> Int? {
    if nextHandle + count - 1 <= 0xFFFF { return nextHandle }
    var start = 1
    for service in services {
      if Int(service.start.rawValue) - start >= count { return start }
      start = Int(service.end.rawValue) + 1
    }
    return start + count - 1 <= 0xFFFF ? start : nil
  }

  /// Adds the attributes of a checked definition, from a free handle on.
  @discardableResult
  mutating func insert(_ service: ServiceDefinition, at start: Int) -> ServiceHandles {
    let included = service.includes.compactMap { id in services.first { $0.id == id } }
    var builder = ServiceBuilder(firstHandle: start, octets: &octets, longTypes: &longTypes)
    builder.append(service, including: included)
    swap(&octets, &builder.octets)
    swap(&longTypes, &builder.longTypes)
    let place = firstPlace(from: AttributeHandle(UInt16(truncatingIfNeeded: start)))
    attributes.insert(contentsOf: builder.attributes, at: place)
    let range = builder.range
    services.insert(
      ServiceEntry(
        id: service.id, start: range.lowerBound, end: range.upperBound, uuid: service.uuid.value,
        uuidSize: service.uuid.size == .uuid16 ? 2 : 16, isPrimary: service.isPrimary, includes: service.includes),
      at: services.firstIndex { $0.start > range.lowerBound } ?? services.count)
    for (id, handle) in builder.named.sorted(by: { $0.key.rawValue < $1.key.rawValue }) { handles[id] = handle }
    for (id, provider) in service.providers.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      providers[id] = provider
    }
    nextHandle = max(nextHandle, Int(range.upperBound.rawValue) + 1)
    attributesChanged(from: range.lowerBound)
    return ServiceHandles(range: range, attributes: builder.named)
  }
}

extension ServiceDefinition {
  /// The number of attributes that the database adds for the characteristic.
  var attributeCount: Int {
    1 + includes.count + characteristics.reduce(0) { $0 + $1.attributeCount }
  }
}

extension CharacteristicDefinition {
  var attributeCount: Int { 2 + (hasExtendedProperties ? 1 : 0) + (isConfigurable ? 1 : 0) + descriptors.count }
  var hasExtendedProperties: Bool { !extendedProperties.isEmpty || properties.contains(.extendedProperties) }
  /// Whether it has a Client Characteristic Configuration descriptor.
  var isConfigurable: Bool { !properties.isDisjoint(with: [.notify, .indicate]) }
}

extension ValueSource {
  func check(for id: AttributeID) throws(DatabaseError) {
    switch self {
    case .fixed(let value):
      guard value.count <= ATT.maximumValueLength else { throw .valueTooLong(id, octets: value.count) }
    case .stored(let value, let allowed):
      guard value.count <= ATT.maximumValueLength else { throw .valueTooLong(id, octets: value.count) }
      guard allowed.upperBound <= ATT.maximumValueLength else { throw .valueTooLong(id, octets: allowed.upperBound) }
      guard allowed.lowerBound >= 0, allowed.contains(value.count) else {
        throw .lengthNotAllowed(id, octets: value.count, allowed: allowed)
      }
    case .dynamic: break
    }
  }
}
