public import BLEGAP
public import BLEWire

/// The latest advertisement of each device that waits for its publication.
///
/// Advertisements are coalesced: of many within an interval, the last one is published. The broker therefore gets at
/// most one message for each device and interval, and nothing accumulates while it is unavailable.
public struct AdvertisementTable: Sendable {
  /// An advertisement that a scan has received.
  public struct Entry: Equatable, Sendable {
    public var address: DeviceAddress
    public var contents: AdvertisedData
    public var rssi: Int?
    public var isConnectable: Bool

    /// The name for people and for messages; nil for a device without one.
    public var displayName: String? { contents.name.map { String(printable: $0) } }

    public init(address: DeviceAddress, contents: AdvertisedData, rssi: Int?, isConnectable: Bool) {
      self.address = address
      self.contents = contents
      self.rssi = rssi
      self.isConnectable = isConnectable
    }
  }

  /// The maximum number of devices in the table; one more removes the one that was received least recently.
  public static let limit = 4096

  private struct Row {
    var entry: Entry
    var heard: Duration
    var published: Duration?
    var isNew = true
  }

  private var rows: [DeviceAddress: Row] = [:]
  /// Advertisements that were replaced by a later one before they were published.
  public private(set) var coalesced = 0
  private let interval: Duration

  public init(interval: Duration) { self.interval = interval }

  public var count: Int { rows.count }

  /// Adds an advertisement. A name that only the scan response has is kept from earlier ones.
  public mutating func add(_ entry: Entry, now: Duration) {
    let address = entry.address.identity
    guard var row = rows[address] else {
      if rows.count >= Self.limit, let oldest = rows.min(by: { $0.value.heard < $1.value.heard }) {
        rows[oldest.key] = nil
      }
      rows[address] = Row(entry: entry, heard: now)
      return
    }
    if row.isNew { coalesced += 1 }
    let name = row.entry.contents.localName
    row.entry = entry
    if entry.contents.name == nil { row.entry.contents.localName = name }
    row.heard = now
    row.isNew = true
    rows[address] = row
  }

  /// The latest advertisement of a device; nil for one that was not received.
  public subscript(address: DeviceAddress) -> Entry? { rows[address]?.entry }

  /// Takes the advertisements that are to be published now, in the order of their addresses.
  public mutating func due(now: Duration, where serves: (DeviceAddress) -> Bool) -> [Entry] {
    var entries: [Entry] = []
    for (address, row) in rows
    where row.isNew && row.published.map({ now - $0 >= interval }) ?? true && serves(address) {
      rows[address]?.isNew = false
      rows[address]?.published = now
      entries.append(row.entry)
    }
    return entries.sorted { $0.address.isOrdered(before: $1.address) }
  }

  /// Forgets devices that were not received for this long.
  public mutating func forget(notHeardFor limit: Duration, now: Duration) {
    rows = rows.filter { now - $0.value.heard < limit }
  }
}
