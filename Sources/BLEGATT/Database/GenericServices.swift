import BLEATT
import BLEWire

/// What the services that every GATT server has say about the device: Generic Access and Generic Attribute
/// (Vol 3, Part C, 12 and Part G, 7). The database makes and answers them.
public struct GenericServices: Sendable {
  /// Up to 248 octets of UTF-8; what lies past them is cut off at a character (Vol 3, Part C, 12.1).
  public var deviceName: String
  /// From the Assigned Numbers; 0 is unknown (Vol 3, Part C, 12.2).
  public var appearance: UInt16
  /// Whether to say that this device resolves private addresses when it is a central (Vol 3, Part C, 12.4);
  /// nil leaves the characteristic out.
  public var centralAddressResolution: Bool?
  /// AES-CMAC with a key of zeroes: message in, sixteen octets out, most significant first. Nil leaves out the Database
  /// Hash and with it robust caching (Vol 3, Part G, 7.3).
  public var databaseHashCMAC: (@Sendable (_ message: [UInt8]) -> [UInt8])?

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

/// The stack's own services, from handle 0x0001 on.
extension AttributeDatabase {
  /// Appends Generic Access (Vol 3, Part C, 12) and Generic Attribute (Vol 3, Part G, 7).
  mutating func append(_ stack: GenericServices) {
    var access = [
      CharacteristicDefinition(
        id: .stack, uuid: "2A00", properties: .read, permissions: .readable,
        value: .stored(Self.deviceNameOctets(stack.deviceName), length: 0...248)),
      CharacteristicDefinition(
        id: .stack, uuid: "2A01", properties: .read, permissions: .readable,
        value: .stored(
          [UInt8(truncatingIfNeeded: stack.appearance), UInt8(truncatingIfNeeded: stack.appearance >> 8)],
          length: 2...2)),
    ]
    if let resolves = stack.centralAddressResolution {
      access.append(
        CharacteristicDefinition(
          id: .stack, uuid: "2AA6", properties: .read, permissions: .readable,
          value: .stored([resolves ? 1 : 0], length: 1...1)))
    }
    insert(ServiceDefinition(id: .genericAccess, uuid: "1800", characteristics: access), at: 1)

    var attribute = [
      CharacteristicDefinition(
        id: .stack, uuid: "2A05", properties: .indicate, permissions: GATTAttributePermissions(), value: .fixed([]))
    ]
    if stack.databaseHashCMAC != nil {
      attribute += [
        CharacteristicDefinition(
          id: .stack, uuid: "2B29", properties: [.read, .write], permissions: .readableAndWritable,
          value: .stored([0], length: 1...ATT.maximumValueLength)),
        CharacteristicDefinition(
          id: .stack, uuid: "2B2A", properties: .read, permissions: .readable, value: .fixed([])),
      ]
    }
    let handles = insert(
      ServiceDefinition(id: .genericAttribute, uuid: "1801", characteristics: attribute), at: nextHandle)
    for place in attributes.indices where handles.range.contains(attributes[place].handle) {
      if attributes[place].uuid == "2B29" { attributes[place].kind = .clientFeatures }
      if attributes[place].uuid == "2B2A" { attributes[place].kind = .databaseHash }
    }
  }

  /// Changes the Device Name characteristic; cut to 248 octets at a character (Vol 3, Part C, 12.1). Without Generic
  /// Access service nothing happens.
  public mutating func setDeviceName(_ name: String) {
    setStackValue("2A00", Self.deviceNameOctets(name))
  }

  /// Changes the Appearance characteristic (Vol 3, Part C, 12.2). Without Generic Access service nothing happens.
  public mutating func setAppearance(_ appearance: UInt16) {
    setStackValue("2A01", [UInt8(truncatingIfNeeded: appearance), UInt8(truncatingIfNeeded: appearance >> 8)])
  }

  /// Changes the Central Address Resolution characteristic (Vol 3, Part C, 12.4). Without it nothing happens.
  public mutating func setCentralAddressResolution(_ resolves: Bool) { setStackValue("2AA6", [resolves ? 1 : 0]) }

  private mutating func setStackValue(_ type: BluetoothUUID, _ value: [UInt8]) {
    guard let range = range(of: .genericAccess) else { return }
    var place = firstPlace(from: range.lowerBound)
    while place < attributes.count, attributes[place].handle <= range.upperBound {
      if attributes[place].type == type.value { return replace(at: place, with: value.span) }
      place += 1
    }
  }

  static func deviceNameOctets(_ name: String) -> [UInt8] {
    var octets: [UInt8] = []
    for character in name {
      guard octets.count + character.utf8.count <= 248 else { break }
      octets.append(contentsOf: character.utf8)
    }
    return octets
  }
}
