public import BLEWire

/// What a peripheral would like to say of itself while it advertises.
///
/// ```swift
/// let wish = Advertisement(localName: "Heart Rate Sensor", serviceUUIDs: ["180D", "180A"])
/// let payload = try wish.payload(under: .coreBluetooth)
/// // payload.advertisingData, payload.scanResponse: the two areas, 31 octets at most
/// // payload.localName: the name as it is sent, payload.overflowServiceUUIDs: the UUIDs without a place
/// ```
public struct Advertisement: Equatable, Sendable {
  /// Nil sends no flags, which makes a device that cannot be discovered by the procedures of Vol 3, Part C, 9.2.
  public var flags: AdvertisingFlags? = [.generalDiscoverable, .brEDRNotSupported]
  /// Nil or empty sends no name.
  public var localName: String?
  /// The most important first: where room is short, later ones go to the overflow. Repeats are sent once.
  public var serviceUUIDs: [BluetoothUUID]
  /// Says "there are more than these" in every list, although all that are named here fit.
  public var marksServiceUUIDsIncomplete = false
  /// Anything else, in order. These are never shortened or left out: where one does not fit, nothing is built.
  public var elements: [ADElement]

  public init(localName: String? = nil, serviceUUIDs: [BluetoothUUID] = [], elements: [ADElement] = []) {
    self.localName = localName
    self.serviceUUIDs = serviceUUIDs
    self.elements = elements
  }
}

/// How the room in an advertisement is shared out.
public enum AdvertisingPolicy: Equatable, Sendable {
  /// As CoreBluetooth does in the foreground: the flags, then 28 octets for service UUIDs and name together; ten more in
  /// the scan response, for the name alone; UUIDs that find no place go to the overflow area.
  case coreBluetooth
  /// As CoreBluetooth does in the background: no name, every UUID in the overflow area.
  case background
  /// All 62 octets: UUIDs and elements in both areas, the name where most room is left.
  case full
  /// One area of extended advertising of so many octets: 31 to 1650, and what the controller can. A connectable
  /// extended advertisement has no scan response.
  case extended(limit: Int)

  /// Octets of a legacy area (Vol 6, Part B, 2.3.1).
  public static let legacyLimit = 31
  /// Extended advertising data that one HCI command takes (Vol 4, Part E, 7.8.54).
  public static let fragmentLimit = 251
  /// The most that extended advertising can carry (Vol 6, Part B, 2.3.4.9).
  public static let extendedLimit = 1650
}

/// An advertisement as it goes to the controller, and what became of each wish.
public struct AdvertisingPayload: Equatable, Sendable {
  public internal(set) var advertisingData: [UInt8] = []
  /// Empty under ``AdvertisingPolicy/extended(limit:)``.
  public internal(set) var scanResponse: [UInt8] = []
  /// The name as sent, complete or shortened between characters; nil where none was wished for, allowed or possible.
  public internal(set) var localName: LocalName?
  /// The UUIDs that are in neither area, in the order of the wish.
  public internal(set) var overflowServiceUUIDs: [BluetoothUUID] = []
  /// The area that stands for ``overflowServiceUUIDs``; nil where there are none, or where even it found no place.
  public internal(set) var overflowArea: OverflowArea?

  /// What a scanner makes of it.
  public var contents: AdvertisedData {
    AdvertisedData(advertisingData: advertisingData[...], scanResponse: scanResponse[...])
  }
}

/// Why an advertisement cannot be sent as wished. It is the caller's to mend.
public enum AdvertisingDataError: Error, Equatable, Sendable {
  /// What takes octets, and how many, its two octets of header included.
  public struct Item: Equatable, Sendable {
    public var name: String
    public var octets: Int
    public init(name: String, octets: Int) {
      self.name = name
      self.octets = octets
    }
  }

  /// The elements that may not be left out are larger than the room; `areas` are the octets of each area.
  case tooLarge([Item], areas: [Int])
  /// The name has a NUL, where many receivers stop reading.
  case nameHoldsNUL
  /// The type is said by a property of ``Advertisement`` and may not be among its elements as well.
  case saidByProperty(ADType)
}

extension AdvertisingDataError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .tooLarge(let items, let areas):
      "the advertisement does not fit: \(items.map { "\($0.name) takes \($0.octets) octets" }.joined(separator: ", ")); "
        + "there is room for \(areas.map(String.init).joined(separator: " and ")): shorten or drop one of them, "
        + "or use extended advertising"
    case .nameHoldsNUL: "the local name has a NUL character, at which many receivers stop reading: take it out"
    case .saidByProperty(let type):
      "'\(type)' is set by a property of the advertisement: take it out of the elements"
    }
  }
}
