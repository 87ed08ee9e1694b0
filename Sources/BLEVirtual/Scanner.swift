internal import BLEHCI
internal import BLEWire

/// What a controller listens for.
struct Scanner: Sendable {
  /// One advertiser's PDU, as the duplicate filter remembers it (Vol 6, Part B, 4.3.3).
  struct ReceivedPDU: Hashable, Sendable {
    var address: DeviceAddress?
    var isScanResponse: Bool
    var isLegacyPDU: Bool
    var sid: UInt8
    var dataIdentifier: UInt16
  }

  /// How many advertisers the duplicate filter remembers; then it begins anew and may report one twice.
  static let duplicateFilterSize = 512

  var type = HCI.ScanType.passive
  var ownAddressType = HCI.OwnAddressType.public
  var filterPolicy = HCI.ScanningFilterPolicy.all
  /// When it receives, with airtime.
  var schedule = ScanSchedule()
  var isExtended = false
  var isOn = false
  var filtersDuplicates = HCI.DuplicateFiltering.disabled
  /// When this scan, or this period's part of it, ends.
  var endsAt: Instant?
  /// When the next period begins.
  var beginsAt: Instant?
  var duration = Duration.zero
  var period = Duration.zero
  private var duplicates: Set<ReceivedPDU> = []

  var deadline: Instant? { isOn ? .nearer(endsAt, beginsAt) : nil }

  /// Whether it hears anything now: it rests between two periods.
  var isListening: Bool { isOn && beginsAt == nil }

  /// Remembers `pdu`; false where it had been heard before and duplicates are filtered.
  mutating func isNew(_ pdu: ReceivedPDU) -> Bool {
    guard filtersDuplicates != .disabled else { return true }
    if duplicates.count >= Self.duplicateFilterSize { duplicates.removeAll(keepingCapacity: true) }
    return duplicates.insert(pdu).inserted
  }

  /// Whether the duplicate filter has `pdu`.
  func isDuplicate(_ pdu: ReceivedPDU) -> Bool { filtersDuplicates != .disabled && duplicates.contains(pdu) }

  mutating func clearDuplicates() { duplicates.removeAll(keepingCapacity: true) }
}
