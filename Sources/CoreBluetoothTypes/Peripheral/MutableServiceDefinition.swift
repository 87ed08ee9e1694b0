import BLEAdapter
import BLEGATT
import BLEWire

/// The host's definition of a service of the application, validated.
///
/// Everything for which CoreBluetooth raises an exception is an error here, which says which object is at fault and
/// what to do (Docs/Decisions/corebluetooth.md#errors-instead-of-exceptions).
struct MutableServiceDefinition {
  let definition: ServiceDefinition
  /// The attributes it names, with their objects.
  private(set) var attributes: [(AttributeID, CBAttribute)] = []

  /// - Parameters:
  ///   - published: the services that are published, by object.
  ///   - known: the attributes that are published, by object.
  init(
    _ service: CBMutableService, id: ServiceID, published: [ObjectIdentifier: ServiceID],
    known: [ObjectIdentifier: AttributeID]
  ) throws(CBError) {
    guard published[ObjectIdentifier(service)] == nil else {
      throw CBError(
        .invalidParameters,
        "\(service) is published already: remove it first, or make another object for a second instance")
    }
    guard !service.type.isServiceOfTheStack else {
      throw CBError(
        .uuidNotAllowed, "the service \(service.uuid) belongs to the stack, which publishes it itself: leave it out")
    }
    var includes: [ServiceID] = []
    for included in service.includedServices ?? [] {
      guard let id = published[ObjectIdentifier(included)] else {
        throw CBError(
          .invalidParameters, "\(service) includes \(included), which is not published: add that one first")
      }
      includes.append(id)
    }
    var definition = ServiceDefinition(
      id: id, uuid: service.type, isPrimary: service.isPrimary, includes: includes)
    var seen = Set(known.keys)
    for characteristic in service.characteristics ?? [] {
      guard let own = characteristic as? CBMutableCharacteristic else {
        throw CBError(
          .invalidParameters, "\(characteristic) was found on a peripheral: publish a CBMutableCharacteristic")
      }
      definition.characteristics.append(try Self.describe(own, seen: &seen, attributes: &attributes))
    }
    self.definition = definition
  }

  /// Lines for the log about characteristics whose values are protected from reads, and not from subscriptions.
  var warnings: [String] {
    definition.characteristics.filter(\.hasUnprotectedUpdates).map { characteristic in
      let properties = characteristic.properties
      let missing = [
        properties.contains(.notify) ? "notifyEncryptionRequired" : nil,
        properties.contains(.indicate) ? "indicateEncryptionRequired" : nil,
      ].compactMap(\.self)
      return
        "add: characteristic \(characteristic.uuid) of service \(definition.uuid): reads are protected by permissions, updates are not: any central can subscribe. To protect updates like reads, add the property \(missing.joined(separator: " and "))."
    }
  }

  static let maximumValueLength = 512

  private static func name(
    _ object: CBAttribute, seen: inout Set<ObjectIdentifier>, attributes: inout [(AttributeID, CBAttribute)]
  ) throws(CBError) -> AttributeID {
    guard seen.insert(ObjectIdentifier(object)).inserted else {
      throw CBError(
        .invalidParameters,
        "\(object) is already in a published service, or twice in this one: make an object for each")
    }
    let id = HostIDs.attribute()
    attributes.append((id, object))
    return id
  }

  private static func describe(
    _ characteristic: CBMutableCharacteristic, seen: inout Set<ObjectIdentifier>,
    attributes: inout [(AttributeID, CBAttribute)]
  ) throws(CBError) -> CharacteristicDefinition {
    var properties = characteristic.properties
    var permissions = characteristic.permissions
    guard characteristic.storedLengths != nil || properties.isDisjoint(with: [.broadcast, .extendedProperties]) else {
      throw CBError(
        .invalidParameters,
        "\(characteristic) has the property broadcast or extendedProperties, which CoreBluetooth does not allow here: leave it out, or use init(storedValue:)"
      )
    }
    let source: ValueSource
    switch (characteristic.storedLengths, characteristic.value.map { [UInt8]($0) }) {
    case (let lengths?, let value):
      source = .stored(try storable(value ?? [], lengths: lengths, of: characteristic), length: lengths)
    case (nil, let value?):
      guard value.count <= maximumValueLength else { throw tooLong(value.count, characteristic) }
      let readOnly: CBAttributePermissions = [
        .readable, .readEncryptionRequired, .readAuthenticationRequired, .readAuthorizationRequired,
      ]
      guard properties.isSubset(of: .read), permissions.isSubset(of: readOnly) else {
        throw CBError(
          .invalidParameters,
          "characteristics with cached values must be read-only, and \(characteristic) is not: pass value: nil, leave it nil until the service is added, and answer its requests in the delegate; or use init(storedValue:)"
        )
      }
      // A cached value is marked readable without being asked.
      properties.insert(.read)
      if permissions.isEmpty { permissions = .readable }
      source = .fixed(value)
    case (nil, nil): source = .dynamic
    }
    let id = try name(characteristic, seen: &seen, attributes: &attributes)
    let access = GATTAttributePermissions(permissions)
    var definition = CharacteristicDefinition(
      id: id, uuid: characteristic.type, properties: GATTCharacteristicProperties(properties), permissions: access,
      updateRequirement: updateRequirement(properties, access), value: source)
    for descriptor in characteristic.descriptors ?? [] {
      definition.descriptors.append(
        try describe(descriptor, of: characteristic, seen: &seen, attributes: &attributes))
    }
    return definition
  }

  /// With a property that requires encryption, updates require an encrypted link and the security that a read requires:
  /// level, key size, authorization. Without one they require nothing, whatever a read requires.
  private static func updateRequirement(
    _ properties: CBCharacteristicProperties, _ permissions: GATTAttributePermissions
  ) -> AccessRequirement {
    guard !properties.isDisjoint(with: [.notifyEncryptionRequired, .indicateEncryptionRequired]) else { return .open }
    return AccessRequirement.encrypted.combined(with: permissions.read ?? .open)
  }

  private static func describe(
    _ descriptor: CBDescriptor, of characteristic: CBMutableCharacteristic, seen: inout Set<ObjectIdentifier>,
    attributes: inout [(AttributeID, CBAttribute)]
  ) throws(CBError) -> DescriptorDefinition {
    guard let own = descriptor as? CBMutableDescriptor else {
      throw CBError(.invalidParameters, "\(descriptor) was found on a peripheral: publish a CBMutableDescriptor")
    }
    let uuid = own.type
    if uuid == BluetoothUUID(0x2900) || uuid == BluetoothUUID(0x2902) {
      throw CBError(
        .invalidParameters,
        "the descriptor \(uuid) of \(characteristic) is made by the stack from the characteristic's properties: leave it out"
      )
    }
    let octets = own.held.octets
    if !own.isCustom {
      switch (uuid, own.held) {
      case (BluetoothUUID(0x2901), .text), (BluetoothUUID(0x2904), .data): break
      case (BluetoothUUID(0x2901), let value), (BluetoothUUID(0x2904), let value):
        let wanted = uuid == BluetoothUUID(0x2901) ? "a String" : "Data of 7 octets"
        throw CBError(
          .invalidParameters, "the descriptor \(uuid) of \(characteristic) takes \(wanted), not \(value)")
      default:
        throw CBError(
          .invalidParameters,
          "the descriptor \(uuid) of \(characteristic) is neither 2901 nor 2904: make it with init(type:storedValue:)")
      }
    }
    let value = octets ?? []
    guard value.count <= maximumValueLength else { throw tooLong(value.count, own) }
    let source: ValueSource =
      if let lengths = own.storedLengths {
        .stored(try storable(value, lengths: lengths, of: own), length: lengths)
      } else {
        .fixed(value)
      }
    return DescriptorDefinition(
      id: try name(own, seen: &seen, attributes: &attributes), uuid: uuid,
      permissions: GATTAttributePermissions(own.permissions), value: source)
  }

  private static func storable(
    _ value: [UInt8], lengths: ClosedRange<Int>, of attribute: CBAttribute
  ) throws(CBError) -> [UInt8] {
    guard lengths.lowerBound >= 0, lengths.upperBound <= maximumValueLength else {
      throw CBError(
        .invalidParameters,
        "\(attribute) allows lengths \(lengths), and an attribute holds 0 to \(maximumValueLength) octets")
    }
    guard lengths.contains(value.count) else {
      throw CBError(
        .invalidParameters,
        "\(value.count) octets for \(attribute), which takes \(lengths.lowerBound) to \(lengths.upperBound)")
    }
    return value
  }

  private static func tooLong(_ count: Int, _ attribute: CBAttribute) -> CBError {
    CBError(
      .invalidParameters,
      "the value of \(attribute) has \(count) octets; an attribute holds at most \(maximumValueLength)")
  }
}

extension GATTCharacteristicProperties {
  /// The octet of the declaration. The bits that require encryption are not part of it: they offer notifications or
  /// indications.
  fileprivate init(_ properties: CBCharacteristicProperties) {
    self.init(rawValue: UInt8(truncatingIfNeeded: properties.rawValue))
    if properties.contains(.notifyEncryptionRequired) { insert(.notify) }
    if properties.contains(.indicateEncryptionRequired) { insert(.indicate) }
  }
}

extension GATTAttributePermissions {
  /// The requirements on a link from CoreBluetooth's bits; the stronger one counts.
  init(_ permissions: CBAttributePermissions) {
    func requirement(
      _ open: CBAttributePermissions, _ encrypted: CBAttributePermissions, _ authenticated: CBAttributePermissions,
      _ authorized: CBAttributePermissions
    ) -> AccessRequirement? {
      let isForAuthorized = permissions.contains(authorized)
      var requirement = AccessRequirement(authorization: isForAuthorized)
      if permissions.contains(authenticated) {
        requirement.security = .authenticated
      } else if permissions.contains(encrypted) || isForAuthorized {
        requirement.security = .encrypted
      } else if !permissions.contains(open) {
        return nil
      }
      return requirement
    }
    self.init(
      read: requirement(
        .readable, .readEncryptionRequired, .readAuthenticationRequired, .readAuthorizationRequired),
      write: requirement(
        .writeable, .writeEncryptionRequired, .writeAuthenticationRequired, .writeAuthorizationRequired))
  }
}
