import BLEATT
import BLEWire

/// The values of the services that each GATT server has: Generic Access and Generic Attribute (Vol 3, Part C, 12 and
/// Part G, 7). The database adds their attributes, and the server answers requests for them.
public struct GenericServices: Sendable {
  /// The Device Name. A name of more than 248 octets of UTF-8 is cut after a character (Vol 3, Part C, 12.1).
  public var deviceName: String
  /// The Appearance, one of the Assigned Numbers; 0 means unknown (Vol 3, Part C, 12.2).
  public var appearance: UInt16
  /// Whether this device, as a central, resolves private addresses: the value of the Central Address Resolution
  /// characteristic (Vol 3, Part C, 12.4). Nil: the database does not have the characteristic.
  public var centralAddressResolution: Bool?
  /// AES-CMAC with a key of zeros. The argument is the message, and the result is the 16 octets of the code, most
  /// significant octet first. Nil: the database has neither Database Hash nor Client Supported Features, and thus no
  /// robust caching (Vol 3, Part G, 7.2 and 7.3).
  ///
  /// ```swift
  /// services.databaseHashCMAC = { message in
  ///   ((try? LibCrypto().cmac(message, key: 0)) ?? 0).bigEndianOctets
  /// }
  /// ```
  public var databaseHashCMAC: (@Sendable (_ message: [UInt8]) -> [UInt8])?

  /// Whether Server Supported Features has the bit of enhanced ATT bearers (Vol 3, Part G, 7.4). Without the bit, the
  /// database does not have that characteristic.
  package var supportsEnhancedBearers = false

  /// The services with these values.
  public init(
    deviceName: String, appearance: UInt16 = 0, centralAddressResolution: Bool? = nil,
    databaseHashCMAC: (@Sendable (_ message: [UInt8]) -> [UInt8])? = nil
  ) {
    self.deviceName = deviceName
    self.appearance = appearance
    self.centralAddressResolution = centralAddressResolution
    self.databaseHashCMAC = databaseHashCMAC
  }
}

extension AttributeDatabase {
  /// Adds Generic Access from handle 0x0001 on, and Generic Attribute after it.
  mutating func append(_ generic: GenericServices) {
    var access = [
      CharacteristicDefinition(
        id: .stack, uuid: .deviceName, properties: .read, permissions: .readable,
        value: .stored(Self.deviceNameOctets(generic.deviceName), length: 0...248)),
      CharacteristicDefinition(
        id: .stack, uuid: .appearance, properties: .read, permissions: .readable,
        value: .stored(Self.octets(generic.appearance), length: 2...2)),
    ]
    if let resolves = generic.centralAddressResolution {
      access.append(
        CharacteristicDefinition(
          id: .stack, uuid: .centralAddressResolution, properties: .read, permissions: .readable,
          value: .stored([resolves ? 1 : 0], length: 1...1)))
    }
    insert(ServiceDefinition(id: .genericAccess, uuid: .genericAccess, characteristics: access), at: 1)

    var attribute = [
      CharacteristicDefinition(
        id: .stack, uuid: .serviceChanged, properties: .indicate, permissions: GATTAttributePermissions(),
        value: .fixed([]))
    ]
    if generic.databaseHashCMAC != nil {
      attribute += [
        CharacteristicDefinition(
          id: .stack, uuid: .clientSupportedFeatures, properties: [.read, .write], permissions: .readableAndWritable,
          value: .stored([0], length: 1...ATT.maximumValueLength)),
        CharacteristicDefinition(
          id: .stack, uuid: .databaseHash, properties: .read, permissions: .readable, value: .fixed([])),
      ]
    }
    if generic.supportsEnhancedBearers {
      attribute.append(
        CharacteristicDefinition(
          id: .stack, uuid: .serverSupportedFeatures, properties: .read, permissions: .readable, value: .fixed([0x01])))
    }
    let handles = insert(
      ServiceDefinition(id: .genericAttribute, uuid: .genericAttribute, characteristics: attribute), at: nextHandle)
    for place in attributes.indices where handles.range.contains(attributes[place].handle) {
      if attributes[place].hasType(.clientSupportedFeatures) { attributes[place].kind = .clientFeatures }
      if attributes[place].hasType(.databaseHash) { attributes[place].kind = .databaseHash }
    }
  }

  /// The value handle of the Service Changed characteristic, nil if the database does not have it.
  var serviceChangedHandle: AttributeHandle? {
    guard let range = range(of: .genericAttribute) else { return nil }
    return attributes.first { range.contains($0.handle) && $0.hasType(.serviceChanged) }?.handle
  }

  /// Sets the Device Name; a name of more than 248 octets of UTF-8 is cut after a character (Vol 3, Part C, 12.1). It
  /// has no effect without the Generic Access service.
  public mutating func setDeviceName(_ name: String) {
    setGenericAccessValue(.deviceName, Self.deviceNameOctets(name))
  }

  /// Sets the Appearance (Vol 3, Part C, 12.2). It has no effect without the Generic Access service.
  public mutating func setAppearance(_ appearance: UInt16) {
    setGenericAccessValue(.appearance, Self.octets(appearance))
  }

  /// Sets the Central Address Resolution (Vol 3, Part C, 12.4). It has no effect without the characteristic.
  public mutating func setCentralAddressResolution(_ resolves: Bool) {
    setGenericAccessValue(.centralAddressResolution, [resolves ? 1 : 0])
  }

  private mutating func setGenericAccessValue(_ type: BluetoothUUID, _ value: [UInt8]) {
    guard let range = range(of: .genericAccess) else { return }
    var place = firstPlace(from: range.lowerBound)
    while place < attributes.count, attributes[place].handle <= range.upperBound {
      if attributes[place].hasType(type) { return replace(at: place, with: value.span) }
      place += 1
    }
  }

  private static func deviceNameOctets(_ name: String) -> [UInt8] {
    Array(name.utf8.prefix(name.octetsOfCharacters(upTo: 248)))
  }

  private static func octets(_ number: UInt16) -> [UInt8] {
    var octets: [UInt8] = []
    octets.append(littleEndian: number)
    return octets
  }
}
