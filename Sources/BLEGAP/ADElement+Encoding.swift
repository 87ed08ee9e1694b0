public import BLEWire

extension ADElement {
  /// The AD type it travels under.
  public var type: ADType {
    switch self {
    case .flags: .flags
    case .serviceUUIDs(_, .uuid16, let isComplete): isComplete ? .completeServiceUUIDs16 : .incompleteServiceUUIDs16
    case .serviceUUIDs(_, .uuid32, let isComplete): isComplete ? .completeServiceUUIDs32 : .incompleteServiceUUIDs32
    case .serviceUUIDs(_, .uuid128, let isComplete): isComplete ? .completeServiceUUIDs128 : .incompleteServiceUUIDs128
    case .localName(let name): name.isComplete ? .completeLocalName : .shortenedLocalName
    case .txPowerLevel: .txPowerLevel
    case .classOfDevice: .classOfDevice
    case .securityManagerTKValue: .securityManagerTKValue
    case .securityManagerOOBFlags: .securityManagerOOBFlags
    case .peripheralConnectionIntervalRange: .peripheralConnectionIntervalRange
    case .serviceSolicitation(_, .uuid16): .serviceSolicitation16
    case .serviceSolicitation(_, .uuid32): .serviceSolicitation32
    case .serviceSolicitation(_, .uuid128): .serviceSolicitation128
    case .serviceData(let data):
      switch data.uuid.size {
      case .uuid16: .serviceData16
      case .uuid32: .serviceData32
      case .uuid128: .serviceData128
      }
    case .publicTargetAddress: .publicTargetAddress
    case .randomTargetAddress: .randomTargetAddress
    case .appearance: .appearance
    case .advertisingInterval: .advertisingInterval
    case .advertisingIntervalLong: .advertisingIntervalLong
    case .leBluetoothDeviceAddress: .leBluetoothDeviceAddress
    case .leRole: .leRole
    case .leSecureConnectionsConfirmationValue: .leSecureConnectionsConfirmationValue
    case .leSecureConnectionsRandomValue: .leSecureConnectionsRandomValue
    case .uri: .uri
    case .indoorPositioning: .indoorPositioning
    case .transportDiscoveryData: .transportDiscoveryData
    case .leSupportedFeatures: .leSupportedFeatures
    case .channelMapUpdateIndication: .channelMapUpdateIndication
    case .pbADV: .pbADV
    case .meshMessage: .meshMessage
    case .meshBeacon: .meshBeacon
    case .bigInfo: .bigInfo
    case .broadcastCode: .broadcastCode
    case .resolvableSetIdentifier: .resolvableSetIdentifier
    case .broadcastName: .broadcastName
    case .encryptedData: .encryptedData
    case .periodicAdvertisingResponseTiming: .periodicAdvertisingResponseTiming
    case .electronicShelfLabel: .electronicShelfLabel
    case .threeDInformationData: .threeDInformationData
    case .manufacturerData: .manufacturerSpecificData
    case .opaque(let type, _): type
    }
  }

  /// What follows the type, as it travels.
  public var data: Bytes {
    switch self {
    case .flags(let flags): [flags.rawValue]
    case .serviceUUIDs(let uuids, let size, _), .serviceSolicitation(let uuids, let size): Self.list(uuids, size)
    case .localName(let name): name.octets
    case .txPowerLevel(let level): [UInt8(bitPattern: level)]
    case .classOfDevice(let number): Self.number(number, octets: 3)
    case .securityManagerOOBFlags(let flags): [flags.rawValue]
    case .peripheralConnectionIntervalRange(let range): range.encoded[...]
    case .serviceData(let data): data.encoded[...]
    case .publicTargetAddress(let addresses), .randomTargetAddress(let addresses):
      Bytes(addresses.flatMap(\.littleEndian))
    case .appearance(let appearance): Self.number(UInt32(appearance.rawValue), octets: 2)
    case .advertisingInterval(let interval): Self.number(UInt32(interval), octets: 2)
    case .advertisingIntervalLong(let interval): Self.number(interval, octets: interval > 0xFF_FFFF ? 4 : 3)
    case .leBluetoothDeviceAddress(let address): address.encoded[...]
    case .leRole(let role): [role.rawValue]
    case .uri(let uri): uri.octets
    case .channelMapUpdateIndication(let update): update.encoded[...]
    case .resolvableSetIdentifier(let identifier): identifier.encoded[...]
    case .encryptedData(let data): data.encoded[...]
    case .periodicAdvertisingResponseTiming(let timing): timing.encoded[...]
    case .manufacturerData(let data): data.encoded[...]
    case .securityManagerTKValue(let octets), .leSecureConnectionsConfirmationValue(let octets),
      .leSecureConnectionsRandomValue(let octets), .indoorPositioning(let octets), .transportDiscoveryData(let octets),
      .leSupportedFeatures(let octets), .pbADV(let octets), .meshMessage(let octets), .meshBeacon(let octets),
      .bigInfo(let octets), .broadcastCode(let octets), .broadcastName(let octets), .electronicShelfLabel(let octets),
      .threeDInformationData(let octets), .opaque(_, let octets):
      octets
    }
  }

  /// The element as a structure of type and data.
  public var structure: ADStructure { ADStructure(type: type, data: data) }

  /// Octets it takes in an advertisement, length and type included.
  public var encodedLength: Int { 2 + data.count }

  /// Appends length, type and data; data above 254 octets is cut there.
  public func encode(to buffer: inout [UInt8]) { structure.encode(to: &buffer) }

  /// A UUID of another size than the list's is written in the list's, by its 128-bit or its short value; one that has no
  /// short value does not belong in a short list and is left out.
  private static func list(_ uuids: [BluetoothUUID], _ size: BluetoothUUID.Size) -> Bytes {
    var octets: [UInt8] = []
    for uuid in uuids {
      switch size {
      case .uuid128: BluetoothUUID(uuid128: uuid.value).append(to: &octets)
      case .uuid32: uuid.shortValue.map { octets.append(littleEndian: $0) }
      case .uuid16: uuid.shortValue.flatMap(UInt16.init(exactly:)).map { octets.append(littleEndian: $0) }
      }
    }
    return octets[...]
  }

  private static func number(_ number: UInt32, octets: Int) -> Bytes {
    Bytes((0..<octets).map { UInt8(truncatingIfNeeded: number >> UInt32($0 * 8)) })
  }
}

extension ADElement: CustomStringConvertible {
  /// The name of its type, with the company for manufacturer data and the UUID for service data.
  public var description: String {
    switch self {
    case .manufacturerData(let data): "\(type), \(data.company)"
    case .serviceData(let data): "\(type) \(data.uuid)"
    default: type.description
    }
  }
}
