import BLEWire
import Foundation

/// What a peripheral manager publishes and advertises, for the next run.
struct RestoredServices: Codable, Equatable, Sendable {
  /// The services at most; more are not restored.
  static let limit = 256

  var services: [Service] = []
  var advertisement: Advertisement?

  var isEmpty: Bool { services.isEmpty && advertisement == nil }

  struct Service: Codable, Equatable, Sendable {
    var uuid: RestoredUUID
    var isPrimary: Bool
    /// The included services, by their positions before this one in the list.
    var includes: [Int] = []
    var characteristics: [Characteristic] = []
  }

  struct Characteristic: Codable, Equatable, Sendable {
    var uuid: RestoredUUID
    var properties: UInt
    var permissions: UInt
    /// The constant, or the value that the stack stores; nil where the delegate answers.
    var value: Data?
    var lengths: Lengths?
    var descriptors: [Descriptor] = []
  }

  struct Descriptor: Codable, Equatable, Sendable {
    var uuid: RestoredUUID
    var text: String?
    var data: Data?
    var permissions: UInt
    var lengths: Lengths?
  }

  /// The lengths of a value that the stack stores.
  struct Lengths: Codable, Equatable, Sendable {
    var minimum: Int
    var maximum: Int

    init(_ lengths: ClosedRange<Int>) { (minimum, maximum) = (lengths.lowerBound, lengths.upperBound) }

    /// Lengths that no attribute can have are rejected when the service is published.
    var range: ClosedRange<Int> { minimum <= maximum ? minimum...maximum : 0...0 }
  }

  /// An advertisement that a dictionary described.
  struct Advertisement: Codable, Equatable, Sendable {
    var localName: String?
    var serviceUUIDs: [RestoredUUID]?

    /// As ``CBPeripheralManager/startAdvertising(_:)`` takes it.
    var dictionary: [String: Any] {
      var dictionary: [String: Any] = [:]
      if let localName { dictionary[CBAdvertisementDataLocalNameKey] = localName }
      if let serviceUUIDs { dictionary[CBAdvertisementDataServiceUUIDsKey] = serviceUUIDs.map { CBUUID($0.uuid) } }
      return dictionary
    }

    init(localName: String?, serviceUUIDs: [BluetoothUUID]) {
      self.localName = localName
      if !serviceUUIDs.isEmpty { self.serviceUUIDs = serviceUUIDs.map { RestoredUUID($0) } }
    }
  }
}

extension RestoredServices.Service {
  /// The service as it is when it is published; from then on it is frozen. Its included services are not in it.
  init(_ service: CBMutableService) {
    uuid = RestoredUUID(service.type)
    isPrimary = service.isPrimary
    characteristics = (service.characteristics ?? []).compactMap { $0 as? CBMutableCharacteristic }.map { .init($0) }
  }

  /// The service without the values that the stack stores, which centrals change.
  var definition: Self {
    var service = self
    for index in characteristics.indices {
      if characteristics[index].lengths != nil { service.characteristics[index].value = nil }
      for place in characteristics[index].descriptors.indices
      where characteristics[index].descriptors[place].lengths != nil {
        service.characteristics[index].descriptors[place].data = nil
      }
    }
    return service
  }

  /// A new object for the same service.
  func service(including before: [CBMutableService]) -> CBMutableService {
    let service = CBMutableService(type: CBUUID(uuid.uuid), primary: isPrimary)
    let included = includes.filter(before.indices.contains).map { before[$0] }
    if !included.isEmpty { service.includedServices = included }
    if !characteristics.isEmpty { service.characteristics = characteristics.map(\.characteristic) }
    return service
  }
}

extension RestoredServices.Characteristic {
  init(_ characteristic: CBMutableCharacteristic) {
    uuid = RestoredUUID(characteristic.type)
    (properties, permissions) = (characteristic.properties.rawValue, characteristic.permissions.rawValue)
    value = characteristic.value
    lengths = characteristic.storedLengths.map { .init($0) }
    descriptors = (characteristic.descriptors ?? []).compactMap { $0 as? CBMutableDescriptor }.map { .init($0) }
  }

  var characteristic: CBMutableCharacteristic {
    let (type, properties) = (CBUUID(uuid.uuid), CBCharacteristicProperties(rawValue: properties))
    let permissions = CBAttributePermissions(rawValue: permissions)
    let characteristic =
      if let lengths {
        CBMutableCharacteristic(
          type: type, properties: properties, storedValue: value ?? Data(), length: lengths.range,
          permissions: permissions)
      } else {
        CBMutableCharacteristic(type: type, properties: properties, value: value, permissions: permissions)
      }
    if !descriptors.isEmpty { characteristic.descriptors = descriptors.map(\.descriptor) }
    return characteristic
  }
}

extension RestoredServices.Descriptor {
  init(_ descriptor: CBMutableDescriptor) {
    uuid = RestoredUUID(descriptor.type)
    permissions = descriptor.permissions.rawValue
    lengths = descriptor.storedLengths.map { .init($0) }
    switch descriptor.held {
    case .text(let text): self.text = text
    case .data(let data): self.data = data
    case .none, .number, .unsupported: break
    }
  }

  var descriptor: CBMutableDescriptor {
    let type = CBUUID(uuid.uuid)
    guard let lengths else { return CBMutableDescriptor(type: type, value: text.map { $0 as Any } ?? data) }
    return CBMutableDescriptor(
      type: type, storedValue: data ?? Data(), length: lengths.range,
      permissions: CBAttributePermissions(rawValue: permissions))
  }
}
