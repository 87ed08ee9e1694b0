import BLEHCI
import BLEWire

/// The last report of each device, separately for each of its advertising sets and for its scan responses. Equal
/// reports share their content, and each content has a number that the duplicate filters of the owners compare.
///
/// It remembers ``limit`` of them, those of 32,768 devices with scan responses, and ``maximumOctets`` of their data.
/// The ones that were not received for the longest time are removed.
struct ReportTable: Sendable {
  static let limit = 65_536
  /// The octets of data at most, besides about 320 for each report.
  static let maximumOctets = 4 << 20

  /// A report in the table.
  struct Entry: Sendable {
    fileprivate(set) var content: ScanReport.Shared
    /// The other fields of the report, where the content was read in a packet.
    fileprivate var fields: AdvertisingReportView.Fields?
    /// Different from those of all other contents; greater for a later one.
    fileprivate(set) var number: UInt64
    /// The number of the first content since the device has been in the table.
    fileprivate(set) var firstNumber: UInt64
  }

  private var keys = RecencyTable()
  private var entries: ContiguousArray<Entry> = []
  private var octets = 0
  private var lastNumber: UInt64 = 0

  init() {}

  subscript(slot: Int) -> Entry { entries[slot] }

  mutating func removeAll() { self = Self(after: lastNumber) }

  private init(after number: UInt64) { lastNumber = number }

  /// Takes a complete report in the packet of its event.
  ///
  /// - Returns: where it is until the next report.
  mutating func receive(_ view: AdvertisingReportView, in event: Span<UInt8>) -> Int {
    let fields = view.fields(in: event)
    let key = Self.key(
      view.address(in: event).identity, set: view.advertisingSID(in: event),
      isScanResponse: view.isScanResponse(in: event))
    let slot: Int
    if let known = keys.slot(of: key) {
      slot = known
      keys.touch(slot)
      let isRepeated = entries[slot].fields == fields
      if isRepeated, Self.areEqual(entries[slot].content.content.data, event, view.data(in: event)) { return slot }
      replace(slot, by: ScanReport.Content(view, in: event))
    } else {
      slot = insert(ScanReport.Content(view, in: event), key)
    }
    entries[slot].fields = fields
    return slot
  }

  /// Takes a report that was decoded as a whole.
  ///
  /// - Returns: where it is until the next report.
  mutating func receive(_ scanReport: ScanReport) -> Int {
    let content = scanReport.content
    let key = Self.key(content)
    guard let slot = keys.slot(of: key) else { return insert(content, key) }
    keys.touch(slot)
    if entries[slot].content.content != content {
      replace(slot, by: content)
      entries[slot].fields = nil
    }
    return slot
  }

  private mutating func replace(_ slot: Int, by content: ScanReport.Content) {
    let before = entries[slot].content.content
    octets += content.data.count - before.data.count
    entries[slot].content = ScanReport.Shared(content)
    let isSame =
      before.data == content.data && before.isTruncated == content.isTruncated
      && before.isConnectable == content.isConnectable
    if !isSame { entries[slot].number = nextNumber() }
    makeRoom(for: 0, keeping: slot)
  }

  private mutating func insert(_ content: ScanReport.Content, _ key: UInt64) -> Int {
    makeRoom(for: 1, keeping: nil)
    let slot = keys.insert(key)
    let number = nextNumber()
    let entry = Entry(content: ScanReport.Shared(content), fields: nil, number: number, firstNumber: number)
    if slot < entries.count { entries[slot] = entry } else { entries.append(entry) }
    octets += content.data.count
    makeRoom(for: 0, keeping: slot)
    return slot
  }

  private mutating func makeRoom(for new: Int, keeping kept: Int?) {
    while keys.count + new > Self.limit || octets > Self.maximumOctets, let oldest = keys.oldest, oldest != kept {
      octets -= entries[oldest].content.content.data.count
      entries[oldest].content = Self.none
      keys.remove(oldest)
    }
  }

  private mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  private static let none = ScanReport.Shared(
    ScanReport.Content(
      address: DeviceAddress(octets: BD_ADDR(), kind: .anonymous),
      reportedAddress: DeviceAddress(octets: BD_ADDR(), kind: .anonymous), isConnectable: false, isScanResponse: false,
      data: [], isTruncated: false))

  /// Whether an array has the octets of a range of a packet.
  private static func areEqual(_ octets: [UInt8], _ packet: Span<UInt8>, _ range: Range<Int>) -> Bool {
    guard octets.count == range.count else { return false }
    let (known, received) = (octets.span, packet.extracting(range))
    var difference: UInt8 = 0
    for index in 0..<known.count { difference |= known[index] ^ received[index] }
    return difference == 0
  }
}

/// The duplicates of a controller (Vol 6, Part B, 4.4.3.5): the same device, whatever the data. A device with several
/// advertising sets sends as many advertisements.
extension ReportTable {
  /// From bit 0: address, address type, advertising set plus one; a scan response.
  private static func key(_ address: DeviceAddress, set: UInt8?, isScanResponse: Bool) -> UInt64 {
    let set = set.map { UInt64($0 & 0x0F) + 1 } ?? 0
    return address.octets.value & 0xFFFF_FFFF_FFFF | UInt64(address.kind.rawValue) << 48 | set << 56
      | (isScanResponse ? 1 << 63 : 0)
  }

  private static func key(_ content: ScanReport.Content) -> UInt64 {
    key(content.address, set: content.advertisingSet, isScanResponse: content.isScanResponse)
  }
}
