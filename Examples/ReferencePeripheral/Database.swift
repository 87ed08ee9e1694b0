import BluetoothLE

/// The services of a description. The stack keeps all values: it answers reads and takes the writes that are allowed.
@MainActor struct Database {
  private(set) var services: [MutableService] = []
  /// The first characteristic that has a role.
  private(set) var byRole: [String: MutableCharacteristic] = [:]
  private var initialValues: [(MutableCharacteristic, Data)] = []

  init(_ description: Description) throws(Failure) {
    var made: [BluetoothUUID: MutableService] = [:]
    for described in description.services {
      let uuid = try Description.uuid(described.uuid)
      let service = MutableService(type: CBUUID(uuid), primary: described.primary ?? true)
      var included: [Service] = []
      for name in described.includes ?? [] {
        guard let other = made[try Description.uuid(name)] else {
          throw .data("\(described.uuid) includes \(name), which does not stand before it")
        }
        included.append(other)
      }
      service.includedServices = included
      var characteristics: [MutableCharacteristic] = []
      for described in described.characteristics ?? [] {
        let characteristic = try Self.characteristic(described)
        characteristics.append(characteristic)
        initialValues.append((characteristic, characteristic.value ?? Data()))
        for role in described.roles ?? [] where byRole[role] == nil { byRole[role] = characteristic }
      }
      service.characteristics = characteristics
      if made[uuid] == nil { made[uuid] = service }
      services.append(service)
    }
  }

  private static func characteristic(_ described: Description.Characteristic) throws(Failure) -> MutableCharacteristic {
    var properties: CharacteristicProperties = []
    for property in described.properties {
      switch property {
      case .broadcast: properties.insert(.broadcast)
      case .extended: properties.insert(.extendedProperties)
      case .read: properties.insert(.read)
      case .write: properties.insert(.write)
      case .writeWithoutResponse: properties.insert(.writeWithoutResponse)
      case .notify: properties.insert(.notify)
      case .indicate: properties.insert(.indicate)
      case .signedWrite: properties.insert(.authenticatedSignedWrites)
      }
    }
    var permissions: AttributePermissions = []
    if properties.contains(.read) {
      switch described.permissions?.read ?? .open {
      case .open: permissions.insert(.readable)
      case .encrypted: permissions.insert(.readEncryptionRequired)
      case .authenticated: permissions.insert(.readAuthenticationRequired)
      }
    }
    if !properties.isDisjoint(with: [.write, .writeWithoutResponse]) {
      switch described.permissions?.write ?? .open {
      case .open: permissions.insert(.writeable)
      case .encrypted: permissions.insert(.writeEncryptionRequired)
      case .authenticated: permissions.insert(.writeAuthenticationRequired)
      }
    }
    let value = try Description.octets(described.value)
    let limit = max(described.maximumLength ?? max(value.count, 20), value.count)
    guard limit <= 512 else { throw .data("\(described.uuid) allows \(limit) octets; an attribute holds at most 512") }
    let characteristic = MutableCharacteristic(
      type: CBUUID(try Description.uuid(described.uuid)), properties: properties, storedValue: value, length: 0...limit,
      permissions: permissions)
    var descriptors: [MutableDescriptor] = []
    for descriptor in described.descriptors ?? [] {
      descriptors.append(
        MutableDescriptor(
          type: CBUUID(try Description.uuid(descriptor.uuid)), storedValue: try Description.octets(descriptor.value)))
    }
    characteristic.descriptors = descriptors
    return characteristic
  }

  /// Sets every value back to what the description says.
  func reset(in manager: PeripheralManager) throws {
    for (characteristic, value) in initialValues { try manager.setStoredValue(value, for: characteristic) }
  }
}
