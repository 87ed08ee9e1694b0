public import BLEGAP
import BLEHost
public import BLEWire
import Synchronization

/// A device that a scan reports, with what it advertises.
///
/// Reports of a device whose advertisements do not change share their content.
public struct DiscoveredDevice: Sendable {
  /// The content that the reports of the device share.
  package let content: AdvertisedContent
  private let strength: Int8

  init(_ content: AdvertisedContent, rssi: Int8) { (self.content, strength) = (content, rssi) }

  /// In dBm; 127 if the controller has none.
  public var rssi: Int { Int(strength) }

  /// Advertising data and scan response together.
  public var data: AdvertisedData {
    // Lent to the reader of one of its properties, which copies only that one.
    _read { yield content.data }
  }
  /// The last name that the device has advertised, without padding (``DeviceText``). An advertisement without a name
  /// does not change it.
  public var name: String? { content.name }
  /// Whether the device accepts connections, by the type of its advertising PDU.
  public var isConnectable: Bool { content.isConnectable }
  /// Whether the data is incomplete: the controller lost the rest of an extended advertisement, or it has more
  /// than 1650 octets (Vol 4, Part E, 7.7.65.13). ``data`` then holds the AD structures up to the one that is cut.
  public var isTruncated: Bool { content.isTruncated }
  /// Those of the services looked for whose bits are set in the overflow area: the device may have them.
  public var overflowServiceUUIDs: [BluetoothUUID] { content.overflowServiceUUIDs }
  /// The controller's report: addresses, the kind of the PDU, PHYs, the octets.
  public var report: AdvertisingReport { content.report(rssi: rssi) }
}

/// A client's view of a content for its own interface, such as CoreBluetooth's dictionary.
package protocol AdvertisedView: AnyObject, Sendable {
  init(_ content: AdvertisedContent)
  /// The octets of memory that the view of a content with these data takes at most.
  static func allocatedOctets(for data: AdvertisedData) -> Int
}

/// The advertisements of a device, as one scan reports them until something changes: everything except the signal
/// strength.
package final class AdvertisedContent: Sendable {
  /// The number of the scan.
  package let scan: UInt64
  package let data: AdvertisedData
  /// The last name that the device has advertised, now or before.
  package let name: String?
  package let isConnectable: Bool
  package var isTruncated: Bool { areas.advertisingData.isTruncated || areas.scanResponse.isTruncated }
  package let overflowServiceUUIDs: [BluetoothUUID]
  /// Whether the scan reports such a device.
  let isWanted: Bool
  /// The octets of memory of the content, with its view and the reports that it refers to.
  package let allocatedOctets: Int
  private let latest: ScanReport.Shared
  private let areas: (advertisingData: AdvertisedArea, scanResponse: AdvertisedArea)
  /// Whether a view is kept: one of long lists takes many times the memory of their octets.
  private let keepsView: Bool
  private let view = Mutex<(any AnyObject & Sendable)?>(nil)

  /// - Parameter viewType: the client's view of contents, if it has one.
  init(
    _ data: AdvertisedData, name: String?, isConnectable: Bool, for filter: ScanFilter, latest: ScanReport.Shared,
    areas: (advertisingData: AdvertisedArea, scanResponse: AdvertisedArea), view viewType: (any AdvertisedView.Type)?
  ) {
    (self.data, self.name, self.isConnectable) = (data, name, isConnectable)
    (self.latest, self.areas) = (latest, areas)
    scan = filter.number
    let overflow = data.overflowArea?.matches(of: filter.services) ?? []
    overflowServiceUUIDs = overflow
    isWanted = filter.matches(data, name: name)
    var octets = Self.objectOctets + data.allocatedOctets + overflow.allocatedOctets
    if let viewType, data.areListsParsed {
      keepsView = true
      octets += viewType.allocatedOctets(for: data)
    } else {
      keepsView = false
    }
    octets += latest.allocatedOctets
    let (first, second) = (areas.advertisingData.source, areas.scanResponse.source)
    if let first, first !== latest { octets += first.allocatedOctets }
    if let second, second !== latest, second !== first { octets += second.allocatedOctets }
    allocatedOctets = octets
  }

  /// The object itself: its header, and 80 octets for what is small.
  private static let objectOctets = BLEWire.allocatedOctets(
    96 + MemoryLayout<AdvertisedData>.stride + 2 * MemoryLayout<AdvertisedArea>.stride)

  /// The address of the device, as the last report has it.
  package var address: DeviceAddress { latest.content.address }

  /// Whether the content keeps a report in memory.
  func refers(to report: ScanReport.Shared) -> Bool {
    report === latest || report === areas.advertisingData.source || report === areas.scanResponse.source
  }

  /// - Parameter rssi: in dBm; 127 if the controller has none.
  func report(rssi: Int) -> AdvertisingReport {
    AdvertisingReport(
      latest.content, rssi: rssi == 127 ? nil : rssi, advertisingData: areas.advertisingData.octets,
      scanResponse: areas.scanResponse.octets, isTruncated: isTruncated)
  }

  /// The client's view of the content: made once, and kept with the content, unless the lists are long.
  package func view<View: AdvertisedView>(as type: View.Type) -> View {
    guard keepsView else { return View(self) }
    if let known = view.withLock({ $0 }) as? View { return known }
    let made = View(self)
    view.withLock { $0 = made }
    return made
  }
}

extension ScanReport.Shared {
  /// The octets of memory of the object and of its octets.
  var allocatedOctets: Int {
    BLEWire.allocatedOctets(16 + MemoryLayout<ScanReport.Content>.size) + content.data.allocatedOctets
  }
}
