public import BLEATT
import BLEWire

/// The handles that a published service got.
public struct ServiceHandles: Hashable, Sendable {
  /// From the service declaration to the last attribute of the service.
  public var range: ClosedRange<AttributeHandle>
  /// The handle of each characteristic value and descriptor that the application named.
  public var attributes: [AttributeID: AttributeHandle]
}

/// Services come and go.
extension AttributeDatabase {
  /// Publishes a service, behind the ones there are while handles last.
  ///
  /// - Throws: what is wrong with the definition; nothing was changed then.
  @discardableResult
  public mutating func add(_ service: ServiceDefinition) throws(DatabaseError) -> ServiceHandles {
    try check(service)
    let needed = service.attributeCount
    guard let start = freeHandles(needed) else { throw .handlesExhausted(needed: needed) }
    return insert(service, at: start)
  }

  /// Takes a service away. Clients that know it must be told: ``GATTServer/serviceChanged(_:database:now:into:)``.
  ///
  /// - Returns: the handles it had.
  /// - Throws: ``DatabaseError/unknownService(_:)``, ``DatabaseError/stillIncluded(_:by:)``, or
  ///   ``DatabaseError/reservedIdentifier(_:)`` for the stack's own services.
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

  /// Takes every service of the application away; the stack's own stay.
  ///
  /// - Returns: the handles from the first of them to the last, nil if there were none.
  @discardableResult
  public mutating func removeAll() -> ClosedRange<AttributeHandle>? {
    let gone = services.filter { !$0.id.isReserved }
    guard let first = gone.first, let last = gone.last else { return nil }
    services.removeAll { !$0.id.isReserved }
    let kept = services.map { $0.start...$0.end }
    removeAttributes { handle in !kept.contains { $0.contains(handle) } }
    return first.start...last.end
  }

  private mutating func removeAttributes(where isGone: (AttributeHandle) -> Bool) {
    attributes.removeAll { attribute in
      guard isGone(attribute.handle) else { return false }
      if attribute.id != .stack { handles[attribute.id] = nil }
      return true
    }
    packOctets()
    attributesChanged(from: .none)
  }

  private func check(_ service: ServiceDefinition) throws(DatabaseError) {
    guard !service.id.isReserved else { throw .reservedIdentifier(service.id.rawValue) }
    guard !services.contains(where: { $0.id == service.id }) else { throw .duplicateService(service.id) }
    for include in service.includes where range(of: include) == nil { throw .unknownInclude(include) }
    var named: Set<AttributeID> = []
    for characteristic in service.characteristics {
      try check(characteristic.id, characteristic.uuid, characteristic.value, &named)
      for descriptor in characteristic.descriptors {
        try check(descriptor.id, descriptor.uuid, descriptor.value, &named)
        if descriptor.uuid == AttributeType.extendedProperties || descriptor.uuid == AttributeType.clientConfiguration {
          throw .madeByTheStack(descriptor.id, descriptor.uuid)
        }
      }
    }
  }

  private func check(
    _ id: AttributeID, _ uuid: BluetoothUUID, _ value: ValueSource, _ named: inout Set<AttributeID>
  ) throws(DatabaseError) {
    guard id != .stack else { throw .reservedIdentifier(id.rawValue) }
    guard handles[id] == nil, named.insert(id).inserted else { throw .duplicateAttribute(id) }
    let declarations = [
      AttributeType.primaryService, AttributeType.secondaryService, AttributeType.include, AttributeType.characteristic,
    ]
    guard !declarations.contains(uuid) else { throw .madeByTheStack(id, uuid) }
    try value.check(for: id)
  }

  /// The lowest of `count` handles in a row: behind all that were ever given away, else in the first gap that is wide
  /// enough.
  private func freeHandles(_ count: Int) -> Int? {
    if nextHandle + count - 1 <= 0xFFFF { return nextHandle }
    var start = 1
    for service in services {
      if Int(service.start.rawValue) - start >= count { return start }
      start = Int(service.end.rawValue) + 1
    }
    return start + count - 1 <= 0xFFFF ? start : nil
  }

  /// Makes the attributes of a service whose definition was checked, from a handle on that was found free.
  @discardableResult
  mutating func insert(_ service: ServiceDefinition, at start: Int) -> ServiceHandles {
    let included = service.includes.compactMap { id in services.first { $0.id == id } }
    var builder = ServiceBuilder(firstHandle: start, octets: &octets)
    builder.append(service, including: included)
    swap(&octets, &builder.octets)
    let place = firstPlace(from: AttributeHandle(UInt16(truncatingIfNeeded: start)))
    attributes.insert(contentsOf: builder.attributes, at: place)
    let range = builder.range
    services.insert(
      ServiceEntry(
        id: service.id, start: range.lowerBound, end: range.upperBound, uuid: service.uuid.value,
        uuidSize: service.uuid.size == .uuid16 ? 2 : 16, isPrimary: service.isPrimary, includes: service.includes),
      at: services.firstIndex { $0.start > range.lowerBound } ?? services.count)
    handles.merge(builder.named) { _, new in new }
    nextHandle = max(nextHandle, Int(range.upperBound.rawValue) + 1)
    attributesChanged(from: range.lowerBound)
    return ServiceHandles(range: range, attributes: builder.named)
  }
}

extension ServiceDefinition {
  /// How many attributes the database makes of it.
  var attributeCount: Int {
    1 + includes.count + characteristics.reduce(0) { $0 + $1.attributeCount }
  }
}

extension CharacteristicDefinition {
  var attributeCount: Int { 2 + (hasExtendedProperties ? 1 : 0) + (isConfigurable ? 1 : 0) + descriptors.count }
  var hasExtendedProperties: Bool { !extendedProperties.isEmpty || properties.contains(.extendedProperties) }
  /// Whether clients can subscribe.
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
