internal import BLEHCI
internal import BLEWire

/// The duplicate filter of a scanner (Vol 6, Part B, 4.3.3).
struct DuplicateFilter: Sendable {
  /// A received PDU. Two equal ones are duplicates.
  struct ReceivedPDU: Hashable, Sendable {
    var address: DeviceAddress?
    var isScanResponse: Bool
    var isLegacyPDU: Bool
    var sid: UInt8
    var dataIdentifier: UInt16
  }

  /// The number of entries. When the filter is full it is cleared, and a PDU may be reported twice.
  static let size = 512

  let isEnabled: Bool
  private var pdus: Set<ReceivedPDU> = []

  init(isEnabled: Bool) { self.isEnabled = isEnabled }

  /// Adds `pdu`.
  ///
  /// - Returns: false if duplicates are filtered and the PDU is a duplicate.
  mutating func isNew(_ pdu: ReceivedPDU) -> Bool {
    guard isEnabled else { return true }
    if pdus.count >= Self.size { clear() }
    return pdus.insert(pdu).inserted
  }

  /// Whether the filter has `pdu`.
  func contains(_ pdu: ReceivedPDU) -> Bool { isEnabled && pdus.contains(pdu) }

  mutating func clear() { pdus.removeAll(keepingCapacity: true) }
}
