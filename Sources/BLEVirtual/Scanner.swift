internal import BLEHCI
internal import BLEWire

/// The scanning state of a controller.
struct Scanner: Sendable {
  /// An entry of the duplicate filter (Vol 6, Part B, 4.3.3).
  struct ReceivedPDU: Hashable, Sendable {
    var address: DeviceAddress?
    var isScanResponse: Bool
    var isLegacyPDU: Bool
    var sid: UInt8
    var dataIdentifier: UInt16
  }

  /// The number of entries of the duplicate filter. When it is full it is cleared, and a PDU may be reported twice.
  static let duplicateFilterSize = 512

  var type = HCI.ScanType.passive
  var ownAddressType = HCI.OwnAddressType.public
  var filterPolicy = HCI.ScanningFilterPolicy.all
  /// The scan windows, with airtime.
  var schedule = ScanSchedule()
  var isExtended = false
  var isOn = false
  var filtersDuplicates = HCI.DuplicateFiltering.disabled
  /// The end of the scan, or of its part in this period.
  var endsAt: Instant?
  /// The beginning of the next period.
  var beginsAt: Instant?
  var duration = Duration.zero
  var period = Duration.zero
  private var duplicates: Set<ReceivedPDU> = []

  var deadline: Instant? { isOn ? .nearer(endsAt, beginsAt) : nil }

  /// Whether it receives now: it is on, and not between two periods.
  var isListening: Bool { isOn && beginsAt == nil }

  /// Adds `pdu` to the duplicate filter.
  ///
  /// - Returns: false if duplicates are filtered and the PDU is one.
  mutating func isNew(_ pdu: ReceivedPDU) -> Bool {
    guard filtersDuplicates != .disabled else { return true }
    if duplicates.count >= Self.duplicateFilterSize { duplicates.removeAll(keepingCapacity: true) }
    return duplicates.insert(pdu).inserted
  }

  /// Whether the duplicate filter contains `pdu`.
  func isDuplicate(_ pdu: ReceivedPDU) -> Bool { filtersDuplicates != .disabled && duplicates.contains(pdu) }

  mutating func clearDuplicates() { duplicates.removeAll(keepingCapacity: true) }
}
