public import BLEWire

/// The content that a peripheral wants to advertise, before it is laid out in octets.
///
/// ```swift
/// let advertisement = Advertisement(localName: "Heart Rate Sensor", serviceUUIDs: ["180D", "180A"])
/// let payload = try advertisement.payload(under: .coreBluetooth)
/// // payload.advertisingData, payload.scanResponse: the two areas, 31 octets at most
/// // payload.localName: the name as sent; payload.overflowServiceUUIDs: the UUIDs in neither area
/// ```
public struct Advertisement: Equatable, Sendable {
  /// The flags; nil for none. A device without flags is not found by the procedures of Vol 3, Part C, 9.2.
  public var flags: AdvertisingFlags? = [.generalDiscoverable, .brEDRNotSupported]
  /// The local name; nil or empty for none.
  public var localName: String?
  /// The service UUIDs, the most important first: if space is short, the later ones go to the overflow area. Repeated
  /// UUIDs are sent once.
  public var serviceUUIDs: [BluetoothUUID]
  /// Whether every list of service UUIDs is marked as incomplete, even if all UUIDs fit.
  public var marksServiceUUIDsIncomplete = false
  /// All other content, in order. Elements are never shortened or omitted: if one does not fit, there is no payload.
  public var elements: [ADElement]

  /// Content with the default flags.
  public init(localName: String? = nil, serviceUUIDs: [BluetoothUUID] = [], elements: [ADElement] = []) {
    self.localName = localName
    self.serviceUUIDs = serviceUUIDs
    self.elements = elements
  }
}

/// How the space in an advertisement is assigned to its content.
public enum AdvertisingPolicy: Equatable, Sendable {
  /// As CoreBluetooth in the foreground: the flags, then 28 octets for service UUIDs and name; ten octets of the scan
  /// response for the name alone. UUIDs that do not fit go to the overflow area.
  case coreBluetooth
  /// As CoreBluetooth in the background: no name, and every UUID in the overflow area.
  case background
  /// All 62 octets: UUIDs and elements in both areas, the name in the area with the most space.
  case full
  /// One area of extended advertising with at most `limit` octets: 31 to 1650, and not more than the controller
  /// supports. A connectable extended advertisement has no scan response.
  case extended(limit: Int)
}

/// An advertisement as octets, with the content that was shortened or moved to the overflow area.
public struct AdvertisingPayload: Equatable, Sendable {
  /// The advertising data.
  public internal(set) var advertisingData: [UInt8] = []
  /// The scan response data; empty under ``AdvertisingPolicy/extended(limit:)``.
  public internal(set) var scanResponse: [UInt8] = []
  /// The local name as sent, complete or shortened between characters; nil if none is sent.
  public internal(set) var localName: LocalName?
  /// The UUIDs in neither area, in the order of ``Advertisement/serviceUUIDs``.
  public internal(set) var overflowServiceUUIDs: [BluetoothUUID] = []
  /// The overflow area with ``overflowServiceUUIDs``; nil if there are none, and if the area itself does not fit.
  public internal(set) var overflowArea: OverflowArea?

  /// The content as a scanner decodes it.
  public var contents: AdvertisedData {
    AdvertisedData(advertisingData: advertisingData[...], scanResponse: scanResponse[...])
  }
}

/// The reason why an advertisement has no payload. The caller has to change the advertisement.
public enum AdvertisingDataError: Error, Equatable, Sendable {
  /// A part of the advertisement and its length.
  public struct Item: Equatable, Sendable {
    /// The AD type or the element.
    public var name: String
    /// The length in octets, with the two octets of the header.
    public var octets: Int

    /// A part with its length in octets.
    public init(name: String, octets: Int) {
      self.name = name
      self.octets = octets
    }
  }

  /// Flags and elements are longer than the areas, whose lengths in octets are `areas`.
  case tooLarge([Item], areas: [Int])
  /// The local name contains a NUL character.
  case nameContainsNUL
  /// An element has a type that a property of ``Advertisement`` sets.
  case setByProperty(ADType)
}

extension AdvertisingDataError: CustomStringConvertible {
  /// What does not fit or is not allowed, and how to change it.
  public var description: String {
    switch self {
    case .tooLarge(let items, let areas):
      "the advertisement does not fit: \(items.map { "\($0.name) takes \($0.octets) octets" }.joined(separator: ", ")), "
        + "available are \(areas.map(String.init).joined(separator: " and ")). Shorten or remove an element, "
        + "or use extended advertising"
    case .nameContainsNUL:
      "the local name contains a NUL character, after which many receivers ignore the rest. Remove it"
    case .setByProperty(let type):
      "\(type) is set by a property of the advertisement. Remove it from the elements"
    }
  }
}
