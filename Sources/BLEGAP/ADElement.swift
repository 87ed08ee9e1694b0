public import BLEWire

/// An AD structure whose data is decoded by its type (Core Specification Supplement, Part A).
///
/// Decoding and encoding are exact: data of an unknown type, and data that does not have the format of its type, is
/// kept as ``opaque(_:_:)``, and every element encodes to the octets that it was decoded from.
public enum ADElement: Equatable, Sendable {
  /// Flags (0x01).
  case flags(AdvertisingFlags)
  /// A list of service UUIDs of one size (0x02 to 0x07). It is complete if the sender has no others of that size.
  case serviceUUIDs([BluetoothUUID], size: BluetoothUUID.Size, isComplete: Bool)
  /// Shortened or Complete Local Name (0x08, 0x09).
  case localName(LocalName)
  /// TX Power Level (0x0A), in dBm.
  case txPowerLevel(Int8)
  /// Class of Device (0x0D), 24 bits; BR/EDR only.
  case classOfDevice(UInt32)
  /// Security Manager TK Value (0x10), 16 octets, least significant first; out of band only.
  case securityManagerTKValue(Bytes)
  /// Security Manager Out of Band Flags (0x11).
  case securityManagerOOBFlags(SecurityManagerOOBFlags)
  /// Peripheral Connection Interval Range (0x12).
  case peripheralConnectionIntervalRange(ConnectionIntervalRange)
  /// A list of service solicitation UUIDs of one size (0x14, 0x15, 0x1F): the peripheral invites centrals with these
  /// services.
  case serviceSolicitation([BluetoothUUID], size: BluetoothUUID.Size)
  /// Service Data (0x16, 0x20, 0x21).
  case serviceData(ServiceData)
  /// Public Target Address (0x17).
  case publicTargetAddress([BD_ADDR])
  /// Random Target Address (0x18).
  case randomTargetAddress([BD_ADDR])
  /// Appearance (0x19).
  case appearance(Appearance)
  /// Advertising Interval (0x1A), in units of 0.625 ms.
  case advertisingInterval(UInt16)
  /// Advertising Interval - long (0x2F), in units of 0.625 ms: three octets if the number fits, otherwise four.
  case advertisingIntervalLong(UInt32)
  /// LE Bluetooth Device Address (0x1B).
  case leBluetoothDeviceAddress(AdvertisedDeviceAddress)
  /// LE Role (0x1C).
  case leRole(LERole)
  /// LE Secure Connections Confirmation Value (0x22), 16 octets, least significant first; out of band only.
  case leSecureConnectionsConfirmationValue(Bytes)
  /// LE Secure Connections Random Value (0x23), 16 octets, least significant first; out of band only.
  case leSecureConnectionsRandomValue(Bytes)
  /// URI (0x24).
  case uri(AdvertisedURI)
  /// Indoor Positioning (0x25), not decoded.
  case indoorPositioning(Bytes)
  /// Transport Discovery Data (0x26), not decoded.
  case transportDiscoveryData(Bytes)
  /// LE Supported Features (0x27): the bits of the feature set (Vol 6, Part B, 4.6), least significant octet first,
  /// without zero octets at the end.
  case leSupportedFeatures(Bytes)
  /// Channel Map Update Indication (0x28).
  case channelMapUpdateIndication(ChannelMapUpdate)
  /// PB-ADV (0x29), not decoded.
  case pbADV(Bytes)
  /// Mesh Message (0x2A), not decoded.
  case meshMessage(Bytes)
  /// Mesh Beacon (0x2B), not decoded.
  case meshBeacon(Bytes)
  /// BIGInfo (0x2C), not decoded.
  case bigInfo(Bytes)
  /// Broadcast_Code (0x2D), 16 octets, least significant first; out of band only.
  case broadcastCode(Bytes)
  /// Resolvable Set Identifier (0x2E).
  case resolvableSetIdentifier(ResolvableSetIdentifier)
  /// Broadcast_Name (0x30), UTF-8.
  case broadcastName(Bytes)
  /// Encrypted Advertising Data (0x31).
  case encryptedData(EncryptedAdvertisingData)
  /// Periodic Advertising Response Timing Information (0x32).
  case periodicAdvertisingResponseTiming(PeriodicAdvertisingResponseTiming)
  /// Electronic Shelf Label (0x34), not decoded.
  case electronicShelfLabel(Bytes)
  /// 3D Information Data (0x3D), not decoded.
  case threeDInformationData(Bytes)
  /// Manufacturer Specific Data (0xFF).
  case manufacturerData(ManufacturerData)
  /// Data of an unknown type, or data that does not have the format of its type.
  case opaque(ADType, Bytes)

  /// Decodes the data of a structure; data that does not have the format of its type becomes ``opaque(_:_:)``.
  public init(_ structure: ADStructure) {
    self = Self.typed(structure.type, structure.data) ?? .opaque(structure.type, structure.data)
  }

  private static func typed(_ type: ADType, _ data: Bytes) -> Self? {
    switch type {
    case .flags: octet(data).map { .flags(.init(rawValue: $0)) }
    case .incompleteServiceUUIDs16: uuids(data, .uuid16).map { .serviceUUIDs($0, size: .uuid16, isComplete: false) }
    case .completeServiceUUIDs16: uuids(data, .uuid16).map { .serviceUUIDs($0, size: .uuid16, isComplete: true) }
    case .incompleteServiceUUIDs32: uuids(data, .uuid32).map { .serviceUUIDs($0, size: .uuid32, isComplete: false) }
    case .completeServiceUUIDs32: uuids(data, .uuid32).map { .serviceUUIDs($0, size: .uuid32, isComplete: true) }
    case .incompleteServiceUUIDs128: uuids(data, .uuid128).map { .serviceUUIDs($0, size: .uuid128, isComplete: false) }
    case .completeServiceUUIDs128: uuids(data, .uuid128).map { .serviceUUIDs($0, size: .uuid128, isComplete: true) }
    case .shortenedLocalName: .localName(.init(octets: data, isComplete: false))
    case .completeLocalName: .localName(.init(octets: data, isComplete: true))
    case .txPowerLevel: octet(data).map { .txPowerLevel(Int8(bitPattern: $0)) }
    case .classOfDevice: number(data, 3).map { .classOfDevice($0) }
    case .securityManagerTKValue: exactly(16, data).map { .securityManagerTKValue($0) }
    case .securityManagerOOBFlags: octet(data).map { .securityManagerOOBFlags(.init(rawValue: $0)) }
    case .peripheralConnectionIntervalRange: packet(data).map { .peripheralConnectionIntervalRange($0) }
    case .serviceSolicitation16: uuids(data, .uuid16).map { .serviceSolicitation($0, size: .uuid16) }
    case .serviceSolicitation32: uuids(data, .uuid32).map { .serviceSolicitation($0, size: .uuid32) }
    case .serviceSolicitation128: uuids(data, .uuid128).map { .serviceSolicitation($0, size: .uuid128) }
    case .serviceData16: serviceData(data, .uuid16).map { .serviceData($0) }
    case .serviceData32: serviceData(data, .uuid32).map { .serviceData($0) }
    case .serviceData128: serviceData(data, .uuid128).map { .serviceData($0) }
    case .publicTargetAddress: addresses(data).map { .publicTargetAddress($0) }
    case .randomTargetAddress: addresses(data).map { .randomTargetAddress($0) }
    case .appearance: number(data, 2).map { .appearance(.init(rawValue: UInt16($0))) }
    case .advertisingInterval: number(data, 2).map { .advertisingInterval(UInt16($0)) }
    case .advertisingIntervalLong: intervalLong(data).map { .advertisingIntervalLong($0) }
    case .leBluetoothDeviceAddress: packet(data).map { .leBluetoothDeviceAddress($0) }
    case .leRole: octet(data).map { .leRole(.init(rawValue: $0)) }
    case .leSecureConnectionsConfirmationValue: exactly(16, data).map { .leSecureConnectionsConfirmationValue($0) }
    case .leSecureConnectionsRandomValue: exactly(16, data).map { .leSecureConnectionsRandomValue($0) }
    case .uri: .uri(.init(octets: data))
    case .indoorPositioning: .indoorPositioning(data)
    case .transportDiscoveryData: .transportDiscoveryData(data)
    case .leSupportedFeatures: .leSupportedFeatures(data)
    case .channelMapUpdateIndication: packet(data).map { .channelMapUpdateIndication($0) }
    case .pbADV: .pbADV(data)
    case .meshMessage: .meshMessage(data)
    case .meshBeacon: .meshBeacon(data)
    case .bigInfo: .bigInfo(data)
    case .broadcastCode: exactly(16, data).map { .broadcastCode($0) }
    case .resolvableSetIdentifier: packet(data).map { .resolvableSetIdentifier($0) }
    case .broadcastName: .broadcastName(data)
    case .encryptedData: packet(data).map { .encryptedData($0) }
    case .periodicAdvertisingResponseTiming: packet(data).map { .periodicAdvertisingResponseTiming($0) }
    case .electronicShelfLabel: .electronicShelfLabel(data)
    case .threeDInformationData: .threeDInformationData(data)
    case .manufacturerSpecificData: packet(data).map { .manufacturerData($0) }
    default: nil
    }
  }

  private static func octet(_ data: Bytes) -> UInt8? { data.count == 1 ? data.first : nil }

  private static func exactly(_ count: Int, _ data: Bytes) -> Bytes? { data.count == count ? data : nil }

  private static func number(_ data: Bytes, _ count: Int) -> UInt32? {
    data.count == count ? data.reversed().reduce(0) { $0 << 8 | UInt32($1) } : nil
  }

  /// Four octets of which the most significant is zero stay opaque: they would be encoded as three.
  private static func intervalLong(_ data: Bytes) -> UInt32? {
    if let short = number(data, 3) { return short }
    return number(data, 4).flatMap { $0 > 0xFF_FFFF ? $0 : nil }
  }

  private static func packet<P: Packet>(_ data: Bytes) -> P? { try? P(decoding: data) }

  private static func serviceData(_ data: Bytes, _ size: BluetoothUUID.Size) -> ServiceData? {
    guard let uuid = BluetoothUUID(littleEndian: data.prefix(size.rawValue)), uuid.size == size else { return nil }
    return ServiceData(uuid: uuid, data: data.dropFirst(size.rawValue))
  }

  private static func uuids(_ data: Bytes, _ size: BluetoothUUID.Size) -> [BluetoothUUID]? {
    guard data.count % size.rawValue == 0 else { return nil }
    var uuids: [BluetoothUUID] = []
    uuids.reserveCapacity(data.count / size.rawValue)
    forEachUUID(data, size) { uuids.append($0) }
    return uuids
  }

  /// Calls `body` with each whole UUID of a list; octets of an incomplete one at the end are ignored.
  static func forEachUUID(_ data: Bytes, _ size: BluetoothUUID.Size, _ body: (BluetoothUUID) -> Void) {
    var start = data.startIndex
    while data.endIndex - start >= size.rawValue {
      let end = start + size.rawValue
      var number: UInt128 = 0
      for index in (start..<end).reversed() { number = number << 8 | UInt128(data[index]) }
      switch size {
      case .uuid16: body(BluetoothUUID(UInt16(truncatingIfNeeded: number)))
      case .uuid32: body(BluetoothUUID(uuid32: UInt32(truncatingIfNeeded: number)))
      case .uuid128: body(BluetoothUUID(uuid128: number))
      }
      start = end
    }
  }

  private static func addresses(_ data: Bytes) -> [BD_ADDR]? {
    guard data.count % 6 == 0 else { return nil }
    var addresses: [BD_ADDR] = []
    var rest = data
    while !rest.isEmpty {
      addresses.append(BD_ADDR(rest.prefix(6).reversed().reduce(0) { $0 << 8 | UInt64($1) }))
      rest = rest.dropFirst(6)
    }
    return addresses
  }
}

extension ADElement {
  /// The AD type of the element.
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

  /// The octets after the type.
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
      Bytes(addresses.flatMap { $0.littleEndian })
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

  /// The element as type and data.
  public var structure: ADStructure { ADStructure(type: type, data: data) }

  /// The length of the AD structure in octets, its length and type octets included.
  public var encodedLength: Int { 2 + data.count }

  /// Appends length, type and data. Data is cut after ``ADStructure/maximumDataLength`` octets.
  public func encode(to buffer: inout [UInt8]) { structure.encode(to: &buffer) }

  /// The UUIDs in the size of the list. A UUID that has no value of that size is omitted.
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
  /// The AD type, with the company of manufacturer data and the UUID of service data.
  public var description: String {
    switch self {
    case .manufacturerData(let data): "\(type), \(data.company)"
    case .serviceData(let data): "\(type), \(data.uuid)"
    default: type.description  // The type is the whole description.
    }
  }
}
