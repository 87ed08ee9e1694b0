public import BLEWire

/// What a scanner knows of a device: its advertising data and its scan response in one view.
///
/// Of a type that may occur once, the last occurrence counts; lists are joined, without repeats. Data that does not have
/// the format of its type is passed over; a list of UUIDs counts as far as whole ones reach.
///
/// ```swift
/// let seen = AdvertisedData(advertisingData: [0x02, 0x01, 0x06, 0x03, 0x03, 0x0D, 0x18])
/// // seen.serviceUUIDs == ["180D"]
/// ```
public struct AdvertisedData: Equatable, Sendable {
  public var flags: AdvertisingFlags?
  /// A complete name is preferred to a shortened one, whichever came last.
  public var localName: LocalName?
  public var serviceUUIDs: [BluetoothUUID] = []
  public var solicitedServiceUUIDs: [BluetoothUUID] = []
  public var serviceData: [ServiceData] = []
  /// An overflow area is among them.
  public var manufacturerData: [ManufacturerData] = []
  public var overflowArea: OverflowArea?
  /// In dBm.
  public var txPowerLevel: Int8?
  public var appearance: Appearance?
  public var connectionIntervalRange: ConnectionIntervalRange?
  public var uri: AdvertisedURI?
  /// False when a length ran past the end of an area; what came before it is here.
  public var isWellFormed = true

  public init() {}

  public init(advertisingData: Bytes, scanResponse: Bytes = []) {
    add(advertisingData)
    add(scanResponse)
  }

  /// Adds what `octets` hold, such as a scan response that came later.
  public mutating func add(_ octets: Bytes) {
    var structures = ADStructures(octets).makeIterator()
    while let structure = structures.next() { add(structure) }
    if !structures.unread.isEmpty { isWellFormed = false }
  }

  private mutating func add(_ structure: ADStructure) {
    let data = structure.data
    switch structure.type {
    // The flags may grow by octets in later versions; the first keeps its meaning.
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
    default: break
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
