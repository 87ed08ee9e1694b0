public import BLEWire

/// An AD structure with its meaning (Core Specification Supplement, Part A).
///
/// Whatever octets come, reading and writing give them back unchanged: a type that is unknown here, or data that does not
/// have the format of its type, is kept as ``opaque(_:_:)``.
public enum ADElement: Equatable, Sendable {
  case flags(AdvertisingFlags)
  /// UUIDs of one size; complete when the sender has no other of that size.
  case serviceUUIDs([BluetoothUUID], size: BluetoothUUID.Size, isComplete: Bool)
  case localName(LocalName)
  /// In dBm.
  case txPowerLevel(Int8)
  /// 24 bits; of BR/EDR.
  case classOfDevice(UInt32)
  /// 16 octets, least significant first; out of band only.
  case securityManagerTKValue(Bytes)
  case securityManagerOOBFlags(SecurityManagerOOBFlags)
  case peripheralConnectionIntervalRange(ConnectionIntervalRange)
  /// Services that the sender would like to find in who connects to it; all of one size.
  case serviceSolicitation([BluetoothUUID], size: BluetoothUUID.Size)
  case serviceData(ServiceData)
  case publicTargetAddress([BD_ADDR])
  case randomTargetAddress([BD_ADDR])
  case appearance(Appearance)
  /// In units of 0.625 ms.
  case advertisingInterval(UInt16)
  /// In units of 0.625 ms, sent in three octets where it fits into them, else in four.
  case advertisingIntervalLong(UInt32)
  case leBluetoothDeviceAddress(AdvertisedDeviceAddress)
  case leRole(LERole)
  /// 16 octets, least significant first; out of band only.
  case leSecureConnectionsConfirmationValue(Bytes)
  /// 16 octets, least significant first; out of band only.
  case leSecureConnectionsRandomValue(Bytes)
  case uri(AdvertisedURI)
  case indoorPositioning(Bytes)
  case transportDiscoveryData(Bytes)
  /// The bits of FeatureSet without the zero octets at its end, least significant first.
  case leSupportedFeatures(Bytes)
  case channelMapUpdateIndication(ChannelMapUpdate)
  case pbADV(Bytes)
  case meshMessage(Bytes)
  case meshBeacon(Bytes)
  case bigInfo(Bytes)
  /// 16 octets, least significant first; out of band only.
  case broadcastCode(Bytes)
  case resolvableSetIdentifier(ResolvableSetIdentifier)
  /// UTF-8.
  case broadcastName(Bytes)
  case encryptedData(EncryptedAdvertisingData)
  case periodicAdvertisingResponseTiming(PeriodicAdvertisingResponseTiming)
  case electronicShelfLabel(Bytes)
  case threeDInformationData(Bytes)
  case manufacturerData(ManufacturerData)
  case opaque(ADType, Bytes)

  /// Reads the data of a structure; it is kept opaque where it does not have the format of its type.
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

  /// Four octets whose top one is zero would be written as three: that is not the form we give back, so it is opaque.
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

  /// Hands out the UUIDs of a list, as far as whole ones reach.
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
