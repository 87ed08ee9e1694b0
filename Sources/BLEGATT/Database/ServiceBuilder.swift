import BLEATT
import BLEWire

/// Makes the attributes of one service, with consecutive handles (Vol 3, Part G, 3.1 to 3.3).
///
///     service declaration
///     include declaration …
///     characteristic declaration, value, extended properties, client configuration, descriptors … …
struct ServiceBuilder {
  /// The octets of the database, while the builder owns them.
  var octets: [UInt8] = []
  /// The long types of the database, while the builder owns them.
  var longTypes: [UInt128] = []
  private(set) var attributes: [AttributeEntry] = []
  private(set) var named: [AttributeID: AttributeHandle] = [:]
  private var nextHandle: Int

  /// Takes `octets`, to which the values are appended, and `longTypes`. The caller swaps them back.
  init(firstHandle: Int, octets: inout [UInt8], longTypes: inout [UInt128]) {
    nextHandle = firstHandle
    swap(&self.octets, &octets)
    swap(&self.longTypes, &longTypes)
  }

  /// The assigned handles.
  var range: ClosedRange<AttributeHandle> {
    let first = attributes.first?.handle ?? .first
    return first...max(first, attributes.last?.handle ?? .first)
  }

  mutating func append(_ service: ServiceDefinition, including included: [AttributeDatabase.ServiceEntry]) {
    append(
      service.isPrimary ? .primaryService : .secondaryService, .service,
      value: service.uuid.attributeType.littleEndian)
    for other in included { append(other) }
    for characteristic in service.characteristics { append(characteristic) }
  }

  /// The declaration contains the UUID only if it has 16 bits (Vol 3, Part G, 3.2).
  private mutating func append(_ included: AttributeDatabase.ServiceEntry) {
    var value: [UInt8] = []
    value.append(littleEndian: included.start.rawValue)
    value.append(littleEndian: included.end.rawValue)
    if included.uuidSize == 2 { value.append(littleEndian: UInt16(truncatingIfNeeded: included.uuid >> 96)) }
    append(.include, .include, value: value)
  }

  private mutating func append(_ characteristic: CharacteristicDefinition) {
    var properties = characteristic.properties
    if characteristic.hasExtendedProperties { properties.insert(.extendedProperties) }
    var declaration = [properties.rawValue]
    declaration.append(littleEndian: UInt16(truncatingIfNeeded: nextHandle + 1))
    characteristic.uuid.attributeType.append(to: &declaration)
    append(.characteristic, .characteristic, value: declaration)

    append(characteristic.id, characteristic.uuid, characteristic.permissions, characteristic.value)
    let value = attributes.count - 1
    if characteristic.hasExtendedProperties {
      var bits: [UInt8] = []
      bits.append(littleEndian: characteristic.extendedProperties.rawValue)
      append(.characteristicExtendedProperties, .fixed, value: bits)
    }
    if characteristic.isConfigurable {
      attributes[value].configuration = UInt16(truncatingIfNeeded: nextHandle)
      appendConfiguration(of: characteristic)
    }
    for descriptor in characteristic.descriptors {
      append(descriptor.id, descriptor.uuid, descriptor.permissions, descriptor.value)
    }
  }

  /// Each client may read the descriptor. ``CharacteristicDefinition/updateRequirement`` is its write permission.
  private mutating func appendConfiguration(of characteristic: CharacteristicDefinition) {
    append(
      .clientCharacteristicConfiguration, .clientConfiguration, id: characteristic.id,
      write: characteristic.updateRequirement, value: [])
    attributes[attributes.count - 1].configuration = UInt16(characteristic.properties.rawValue)
  }

  private mutating func append(
    _ id: AttributeID, _ uuid: BluetoothUUID, _ permissions: GATTAttributePermissions, _ source: ValueSource
  ) {
    if id != .stack { named[id] = AttributeHandle(UInt16(truncatingIfNeeded: nextHandle)) }
    let type = uuid.attributeType
    switch source {
    case .fixed(let value):
      append(type, .fixed, id: id, read: permissions.read, value: value)
    case .stored(let value, let allowed):
      append(type, .stored, id: id, read: permissions.read, write: permissions.write, value: value)
      attributes[attributes.count - 1].minimumLength = UInt16(clamping: allowed.lowerBound)
      attributes[attributes.count - 1].maximumLength = UInt16(clamping: allowed.upperBound)
    case .dynamic:
      append(type, .dynamic, id: id, read: permissions.read, write: permissions.write, value: [])
      attributes[attributes.count - 1].maximumLength = UInt16(ATT.maximumValueLength)
    }
  }

  private mutating func append(
    _ type: BluetoothUUID, _ kind: AttributeEntry.Kind, id: AttributeID = .stack, read: AccessRequirement? = .open,
    write: AccessRequirement? = nil, value: [UInt8]
  ) {
    var attribute = AttributeEntry(
      handle: AttributeHandle(UInt16(truncatingIfNeeded: nextHandle)), type: type, in: &longTypes, kind: kind, id: id,
      read: read, write: write)
    attribute.start = UInt32(truncatingIfNeeded: octets.count)
    attribute.length = UInt16(clamping: value.count)
    attribute.capacity = attribute.length
    octets.append(contentsOf: value)
    attributes.append(attribute)
    nextHandle += 1
  }
}
