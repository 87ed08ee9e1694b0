import BLEATT
import BLEGATT
import BLEWire

/// The form of an ``/BLEGATT/AttributeCache`` in a file of bonds: handles as numbers, UUIDs as text.
struct AttributeCacheForm: Codable {
  struct ServiceChanged: Codable { var value, configuration: UInt16 }

  struct Discovery: Codable {
    var procedure: Procedure
    var uuid: String?
    var first, last: UInt16?
    var found: [Found]
  }

  enum Procedure: String, Codable {
    case services, servicesByUUID, includedServices, characteristics, characteristicsByUUID, descriptors
  }

  /// A service has its last handle; an included service also that of its declaration; a characteristic its value handle
  /// and properties.
  struct Found: Codable {
    var handle: UInt16
    var last: UInt16?
    var declaration: UInt16?
    var value: UInt16?
    var properties: UInt8?
    var uuid: String
  }

  var hash: String
  var robustCaching: Bool
  var serviceChanged: ServiceChanged?
  var discoveries: [Discovery]
}

extension AttributeCacheForm {
  /// The octets of a cache in a file at most.
  static func octets(of cache: AttributeCache) -> Int { fixedOctets + cache.count * itemOctets }

  /// The octets of a cache without discoveries at most, and those of a discovery or of one of its results: both have
  /// the most members, and the longest UUIDs and numbers.
  private static let (fixedOctets, itemOctets) = (512, 240)

  init(_ cache: AttributeCache) {
    hash = cache.hash.hexadecimal
    robustCaching = cache.hasRobustCaching
    serviceChanged = cache.serviceChanged.map {
      ServiceChanged(value: $0.valueHandle.rawValue, configuration: $0.configuration.rawValue)
    }
    discoveries = cache.discoveries.compactMap { Discovery($0, $1) }
    // Sorted, so that a file has the same octets for the same cache.
    discoveries.sort { $0.order < $1.order }
  }

  /// The cache, nil if the form is not valid.
  var cache: AttributeCache? {
    guard let hash = [UInt8](hexadecimal: hash) else { return nil }
    var known: [GATTClient.Operation.Kind: GATTClient.Outcome] = [:]
    for discovery in discoveries {
      guard let (kind, outcome) = discovery.outcome else { return nil }
      known[kind] = outcome
    }
    return AttributeCache(
      hash: hash, hasRobustCaching: robustCaching,
      serviceChanged: serviceChanged.map {
        .init(
          valueHandle: AttributeHandle(rawValue: $0.value), configuration: AttributeHandle(rawValue: $0.configuration))
      }, discoveries: known)
  }
}

extension AttributeCacheForm.Discovery {
  fileprivate var order: String { "\(procedure.rawValue) \(first ?? 0) \(uuid ?? "")" }

  fileprivate init?(_ kind: GATTClient.Operation.Kind, _ outcome: GATTClient.Outcome) {
    var range: ClosedRange<AttributeHandle>?
    switch kind {
    case .discoverPrimaryServices: procedure = .services
    case .discoverPrimaryServicesByUUID(let wanted): (procedure, uuid) = (.servicesByUUID, wanted.description)
    case .findIncludedServices(let handles): (procedure, range) = (.includedServices, handles)
    case .discoverCharacteristics(let handles): (procedure, range) = (.characteristics, handles)
    case .discoverCharacteristicsByUUID(let wanted, let handles):
      (procedure, uuid, range) = (.characteristicsByUUID, wanted.description, handles)
    case .discoverDescriptors(let handles): (procedure, range) = (.descriptors, handles)
    default: return nil  // Not a discovery.
    }
    (first, last) = (range?.lowerBound.rawValue, range?.upperBound.rawValue)
    switch outcome {
    case .services(let services): found = services.map { .init($0) }
    case .includedServices(let included):
      found = included.map {
        var form = AttributeCacheForm.Found($0.service)
        form.declaration = $0.declaration.rawValue
        return form
      }
    case .characteristics(let characteristics):
      found = characteristics.map {
        .init(
          handle: $0.declaration.rawValue, value: $0.valueHandle.rawValue, properties: $0.properties.rawValue,
          uuid: $0.uuid.description)
      }
    case .descriptors(let descriptors):
      found = descriptors.map { .init(handle: $0.handle.rawValue, uuid: $0.uuid.description) }
    default: return nil  // Not the outcome of a discovery.
    }
  }

  fileprivate var outcome: (GATTClient.Operation.Kind, GATTClient.Outcome)? {
    let wanted = uuid.flatMap { BluetoothUUID($0) }
    var range: ClosedRange<AttributeHandle>?
    if let first, let last, first <= last {
      range = AttributeHandle(rawValue: first)...AttributeHandle(rawValue: last)
    }
    switch (procedure, wanted, range) {
    case (.services, _, _): return each(\.service).map { (.discoverPrimaryServices, .services($0)) }
    case (.servicesByUUID, let uuid?, _):
      return each(\.service).map { (.discoverPrimaryServicesByUUID(uuid), .services($0)) }
    case (.includedServices, _, let range?):
      return each(\.includedService).map { (.findIncludedServices(range), .includedServices($0)) }
    case (.characteristics, _, let range?):
      return each(\.characteristic).map { (.discoverCharacteristics(range), .characteristics($0)) }
    case (.characteristicsByUUID, let uuid?, let range?):
      return each(\.characteristic).map { (.discoverCharacteristicsByUUID(uuid, range), .characteristics($0)) }
    case (.descriptors, _, let range?):
      return each(\.descriptor).map { (.discoverDescriptors(range), .descriptors($0)) }
    default: return nil  // A field is missing.
    }
  }

  /// The discovered items; nil if one form is not valid.
  private func each<T>(_ value: (AttributeCacheForm.Found) -> T?) -> [T]? {
    let values = found.compactMap(value)
    return values.count == found.count ? values : nil
  }
}

extension AttributeCacheForm.Found {
  fileprivate init(_ service: DiscoveredService) {
    self.init(
      handle: service.handles.lowerBound.rawValue, last: service.handles.upperBound.rawValue,
      uuid: service.uuid.description)
  }

  fileprivate var service: DiscoveredService? {
    guard let last, handle <= last, let uuid = BluetoothUUID(uuid) else { return nil }
    return DiscoveredService(handles: AttributeHandle(rawValue: handle)...AttributeHandle(rawValue: last), uuid: uuid)
  }

  fileprivate var includedService: IncludedService? {
    guard let service, let declaration else { return nil }
    return IncludedService(declaration: AttributeHandle(rawValue: declaration), service: service)
  }

  fileprivate var characteristic: DiscoveredCharacteristic? {
    guard let value, let properties, let uuid = BluetoothUUID(uuid) else { return nil }
    return DiscoveredCharacteristic(
      declaration: AttributeHandle(rawValue: handle), properties: GATTCharacteristicProperties(rawValue: properties),
      valueHandle: AttributeHandle(rawValue: value), uuid: uuid)
  }

  fileprivate var descriptor: DiscoveredDescriptor? {
    BluetoothUUID(uuid).map { DiscoveredDescriptor(handle: AttributeHandle(rawValue: handle), uuid: $0) }
  }
}
