public import BLEWire

/// The content of the advertising data and the scan response of a device.
///
/// Of a type that may occur once, the last occurrence is used. Lists are joined without repeats. Data that does not
/// have the format of its type is ignored; of a list of UUIDs, only an incomplete UUID at the end is.
///
/// ```swift
/// let seen = AdvertisedData(advertisingData: [0x02, 0x01, 0x06, 0x03, 0x03, 0x0D, 0x18])
/// // seen.serviceUUIDs == ["180D"]
/// ```
public struct AdvertisedData: Equatable, Sendable {
  /// Flags.
  public var flags: AdvertisingFlags?
  /// The local name. A complete name takes precedence over a shortened one, in either order.
  public var localName: LocalName?
  /// The UUIDs of all lists of services, in order.
  public var serviceUUIDs: [BluetoothUUID] = []
  /// The UUIDs of all lists of solicited services, in order.
  public var solicitedServiceUUIDs: [BluetoothUUID] = []
  /// The data of each service, in the order of the last occurrences.
  public var serviceData: [ServiceData] = []
  /// The manufacturer data in order, an overflow area included.
  public var manufacturerData: [ManufacturerData] = []
  /// The overflow area in the manufacturer data.
  public var overflowArea: OverflowArea?
  /// The transmit power in dBm.
  public var txPowerLevel: Int8?
  /// The appearance.
  public var appearance: Appearance?
  /// The connection intervals that the peripheral prefers.
  public var connectionIntervalRange: ConnectionIntervalRange?
  /// The URI.
  public var uri: AdvertisedURI?
  /// The lists of service UUIDs as the structures have them, with their sizes and whether they are complete.
  public var serviceUUIDLists: [AdvertisedUUIDList] = []
  /// Structures of the types that have no stored property here, decoded, in order, each of equal ones once: Class of Device,
  /// Advertising Interval, LE Supported Features, …. Data that does not have the format of its type is left out.
  public var otherElements: [ADElement] = []
  /// Whether every structure was complete. False where a length ran past the end; the structures before it are here.
  public var isWellFormed = true

  /// No content.
  public init() {}

  /// The content of advertising data and, where there is one, of the scan response.
  public init(advertisingData: Bytes, scanResponse: Bytes = []) {
    add(advertisingData)
    add(scanResponse)
  }

  /// Adds the content of `octets`, such as a scan response that was received later.
  public mutating func add(_ octets: Bytes) {
    var structures = ADStructures(octets).makeIterator()
    while let structure = structures.next() { add(structure) }
    if !structures.unread.isEmpty { isWellFormed = false }
  }

  private mutating func add(_ structure: ADStructure) {
    let data = structure.data
    switch structure.type {
    // A later version may add octets to the flags; the first octet keeps its meaning.
    case .flags: if let octet = data.first { flags = AdvertisingFlags(rawValue: octet) }
    case .incompleteServiceUUIDs16, .completeServiceUUIDs16: Self.add(data, .uuid16, to: &serviceUUIDs)
    case .incompleteServiceUUIDs32, .completeServiceUUIDs32: Self.add(data, .uuid32, to: &serviceUUIDs)
    case .incompleteServiceUUIDs128, .completeServiceUUIDs128: Self.add(data, .uuid128, to: &serviceUUIDs)
    case .serviceSolicitation16: Self.add(data, .uuid16, to: &solicitedServiceUUIDs)
    case .serviceSolicitation32: Self.add(data, .uuid32, to: &solicitedServiceUUIDs)
    case .serviceSolicitation128: Self.add(data, .uuid128, to: &solicitedServiceUUIDs)
    case .completeLocalName: localName = LocalName(octets: data, isComplete: true)
    case .shortenedLocalName:
      if localName?.isComplete != true { localName = LocalName(octets: data, isComplete: false) }
    case .txPowerLevel: if data.count == 1, let octet = data.first { txPowerLevel = Int8(bitPattern: octet) }
    case .appearance, .peripheralConnectionIntervalRange, .uri, .serviceData16, .serviceData32, .serviceData128,
      .manufacturerSpecificData:
      add(ADElement(structure))
    default:
      let element = ADElement(structure)
      if case .opaque = element { return }
      if !otherElements.contains(element) { otherElements.append(element) }
    }
    if case .serviceUUIDs(let uuids, let size, let isComplete) = ADElement(structure) {
      let list = AdvertisedUUIDList(uuids, size: size, isComplete: isComplete)
      if !serviceUUIDLists.contains(list) { serviceUUIDLists.append(list) }
    }
  }

  private mutating func add(_ element: ADElement) {
    switch element {
    case .appearance(let appearance): self.appearance = appearance
    case .peripheralConnectionIntervalRange(let range): connectionIntervalRange = range
    case .uri(let uri): self.uri = uri
    case .serviceData(let data):
      serviceData.removeAll { $0.uuid == data.uuid }
      serviceData.append(data)
    case .manufacturerData(let data):
      if !manufacturerData.contains(data) { manufacturerData.append(data) }
      if let area = OverflowArea(data) { overflowArea = area }
    default: break
    }
  }

  private static func add(_ data: Bytes, _ size: BluetoothUUID.Size, to list: inout [BluetoothUUID]) {
    ADElement.forEachUUID(data, size) { uuid in
      if !list.contains(uuid) { list.append(uuid) }
    }
  }
}
