public import BLEWire

/// The content of the advertising data and the scan response of a device.
///
/// Of a type that may occur once, the last occurrence is used. Lists are joined without repeats. Data that does not
/// have the format of its type is ignored; in a list of UUIDs, only an incomplete UUID at the end is ignored.
///
/// Memory and work are in proportion to the octets: long lists are parsed from the octets each time one of them is
/// read. A program that reads a list of a long advertisement several times keeps a copy of it.
///
/// ```swift
/// let seen = AdvertisedData(advertisingData: [0x02, 0x01, 0x06, 0x03, 0x03, 0x0D, 0x18])
/// // seen.serviceUUIDs == ["180D"]
/// ```
public struct AdvertisedData: Equatable, Sendable {
  /// Flags.
  public var flags: AdvertisingFlags?
  /// The local name. A complete name takes precedence over a shortened one, in either order, and a name over one
  /// without text.
  public var localName: LocalName?
  /// The text of ``localName``, without the padding of its field and with U+FFFD instead of octets that are not valid
  /// UTF-8; nil if there is no name, or none with text.
  public var name: String? { localName.map { $0.repairedText }.flatMap { $0.isEmpty ? nil : $0 } }
  /// The UUIDs of all lists of services, in order.
  public var serviceUUIDs: [BluetoothUUID] {
    get { storage.read { $0.serviceUUIDs } }
    _modify { yield &storage.lists.serviceUUIDs }
  }
  /// The UUIDs of all lists of solicited services, in order.
  public var solicitedServiceUUIDs: [BluetoothUUID] {
    get { storage.read { $0.solicitedServiceUUIDs } }
    _modify { yield &storage.lists.solicitedServiceUUIDs }
  }
  /// The data of each service, in the order of the last occurrences.
  public var serviceData: [ServiceData] {
    get { storage.read { $0.serviceData } }
    _modify { yield &storage.lists.serviceData }
  }
  /// The manufacturer data in order, an overflow area included.
  public var manufacturerData: [ManufacturerData] {
    get { storage.read { $0.manufacturerData } }
    _modify { yield &storage.lists.manufacturerData }
  }
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
  public var serviceUUIDLists: [AdvertisedUUIDList] {
    get { storage.read { $0.serviceUUIDLists } }
    _modify { yield &storage.lists.serviceUUIDLists }
  }
  /// Structures of the types that have no stored property here, decoded, in order, equal ones once: Class of Device,
  /// Advertising Interval, LE Supported Features, …. Data that does not have the format of its type is left out.
  public var otherElements: [ADElement] {
    get { storage.read { $0.otherElements } }
    _modify { yield &storage.lists.otherElements }
  }
  /// Whether every structure was complete. False if a length ran past the end; the structures before that one are here.
  public var isWellFormed = true

  private var storage = AdvertisedListStorage()

  /// No content.
  public init() {}

  /// The content of advertising data and, if there is one, of the scan response.
  public init(advertisingData: Bytes, scanResponse: Bytes = []) {
    storage = AdvertisedListStorage(advertisingData, scanResponse)
    parse(advertisingData)
    parse(scanResponse)
  }

  /// Adds the content of `octets`, such as a scan response that was received later.
  public mutating func add(_ octets: Bytes) {
    if !storage.isParsed {
      storage.append(octets)
    } else if storage.lists.isEmpty {
      storage = AdvertisedListStorage(octets)
    }
    parse(octets)
  }

  /// Whether the lists are parsed, so that reading one takes no work.
  package var areListsParsed: Bool { storage.isParsed }

  /// The same content with parsed lists, for a reader of several.
  package var withParsedLists: Self {
    var copy = self
    copy.storage.parse()
    return copy
  }

  /// The octets of memory beside those of the value itself, without the octets received.
  package var allocatedOctets: Int { storage.allocatedOctets }

  /// Takes the values in an area, and the lists if they are parsed at once.
  private mutating func parse(_ octets: Bytes) {
    var structures = ADStructures(octets).makeIterator()
    if storage.isParsed {
      var parser = AdvertisedListParser(storage.lists)
      // The parser has the only reference to the lists.
      storage.lists = AdvertisedLists()
      while let structure = structures.next() {
        add(structure)
        parser.add(structure)
      }
      storage.lists = parser.finish()
    } else {
      while let structure = structures.next() { add(structure) }
    }
    if !structures.unread.isEmpty { isWellFormed = false }
  }

  /// Takes the value of a structure whose type has a property of one value.
  private mutating func add(_ structure: ADStructure) {
    let data = structure.data
    switch structure.type {
    // A later version may add octets to the flags; the first octet keeps its meaning.
    case .flags: if let octet = data.first { flags = AdvertisingFlags(rawValue: octet) }
    case .completeLocalName: take(LocalName(octets: data, isComplete: true))
    case .shortenedLocalName: take(LocalName(octets: data, isComplete: false))
    case .txPowerLevel: if data.count == 1, let octet = data.first { txPowerLevel = Int8(bitPattern: octet) }
    case .appearance, .peripheralConnectionIntervalRange, .uri, .manufacturerSpecificData: add(ADElement(structure))
    default: break
    }
  }

  private mutating func take(_ new: LocalName) {
    if let known = localName {
      if known.isComplete, !new.isComplete, !DeviceText(known.octets).isEmpty { return }
      if !DeviceText(known.octets).isEmpty, DeviceText(new.octets).isEmpty { return }
    }
    localName = new
  }

  private mutating func add(_ element: ADElement) {
    switch element {
    case .appearance(let appearance): self.appearance = appearance
    case .peripheralConnectionIntervalRange(let range): connectionIntervalRange = range
    case .uri(let uri): self.uri = uri
    case .manufacturerData(let data): if let area = OverflowArea(data) { overflowArea = area }
    default: break  // A malformed value. No other type comes here.
    }
  }
}
