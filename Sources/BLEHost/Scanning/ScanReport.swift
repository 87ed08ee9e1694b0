package import BLEHCI
package import BLEWire

/// One advertisement or scan response, as received.
///
/// Reports of a device with the same content share that content: only the signal strength differs.
#if !hasFeature(Embedded)
  @dynamicMemberLookup
#endif
package struct ScanReport: Equatable, Sendable {
  /// Everything except the signal strength.
  package struct Content: Equatable, Sendable {
    /// The identity of the device, where the controller or the host resolved its address.
    package var address: DeviceAddress
    /// The address in the report; with the kind of an identity where the controller resolved it (Vol 4, Part E,
    /// 7.7.65.13).
    package var reportedAddress: DeviceAddress
    package var isConnectable: Bool
    /// Whether the device answers scan requests. A scan response of a legacy advertisement says so by itself.
    package var isScannable = false
    package var isScanResponse: Bool
    /// Whether the PDU was a legacy one.
    package var isLegacy = true
    /// Whether the advertisement is meant for one device.
    package var isDirected = false
    /// The address of that device, where the controller reported it.
    package var target: DeviceAddress?
    package var primaryPHY = HCI.PHY.le1M
    /// None for legacy PDUs, and where there was no packet on a secondary channel.
    package var secondaryPHY = HCI.PHY.none
    /// Advertising_SID; nil where the advertisement has none.
    package var advertisingSet: UInt8?
    /// In dBm, from the header of an extended PDU.
    package var txPower: Int8?
    /// The interval of the periodic advertising that belongs to the advertisement, in units of 1.25 ms.
    package var periodicInterval: UInt16?
    /// The AD structures, unparsed.
    package var data: [UInt8]
    /// Whether the data is incomplete, because the controller lost the rest (Vol 4, Part E, 7.7.65.13).
    package var isTruncated: Bool
  }

  /// A content that does not change.
  package final class Shared: Sendable {
    package let content: Content

    init(_ content: Content) { self.content = content }
  }

  /// The content that equal reports share: the same object, as long as the host remembers the device.
  package private(set) var shared: Shared
  /// In dBm; 127 where the controller has none.
  package var rssi: Int8
  /// Whether it was reported before, and its scan response has not come in time, which the owner waits for
  /// (``ScanParameters/waitsForScanResponse``).
  package var isOverdue = false

  package var content: Content { shared.content }

  init(_ shared: Shared, rssi: Int8) { (self.shared, self.rssi) = (shared, rssi) }

  package init(
    address: DeviceAddress, isConnectable: Bool, isScanResponse: Bool, data: [UInt8], isTruncated: Bool = false,
    rssi: Int8
  ) {
    shared = Shared(
      Content(
        address: address, reportedAddress: address, isConnectable: isConnectable, isScanResponse: isScanResponse,
        data: data, isTruncated: isTruncated))
    self.rssi = rssi
  }

  // Embedded Swift has no key paths.
  #if !hasFeature(Embedded)
    /// A part of the content; setting it creates another content.
    package subscript<Value>(dynamicMember part: WritableKeyPath<Content, Value>) -> Value {
      get { shared.content[keyPath: part] }
      set {
        var content = shared.content
        content[keyPath: part] = newValue
        shared = Shared(content)
      }
    }
  #endif

  package static func == (a: Self, b: Self) -> Bool {
    a.rssi == b.rssi && a.isOverdue == b.isOverdue && (a.shared === b.shared || a.content == b.content)
  }
}

extension HostOutput {
  /// The discoveries of one event at most.
  static let maximumDiscoveries = 32

  /// Adds a discovery to the last event, if that has discoveries for the same owners, otherwise in an event of its own.
  mutating func append(_ scanReport: ScanReport, to recipient: Recipient) {
    let last = events.count - 1
    guard last >= 0, case .scanning(.discovered(var scanReports)) = events[last].event,
      scanReports.count < Self.maximumDiscoveries, events[last].recipient == recipient
    else {
      var scanReports: [ScanReport] = []
      scanReports.reserveCapacity(Self.maximumDiscoveries)
      scanReports.append(scanReport)
      return append(.scanning(.discovered(scanReports)), to: recipient)
    }
    // The event releases the array, so that it is not copied.
    events[last].event = .scanning(.discovered([]))
    scanReports.append(scanReport)
    events[last].event = .scanning(.discovered(scanReports))
  }
}
