internal import BLEHCI
internal import BLEWire

/// Advertising data, scan response data or periodic advertising data from the host, complete or in fragments.
struct AdvertisingPayload: Sendable {
  private(set) var octets: Bytes = []
  /// Whether the last fragment is missing.
  private(set) var isPartial = false
  /// Advertising DID. It changes with the data, so that a scanner reports the new advertisement.
  private(set) var identifier: UInt16 = 0

  /// Sets the complete data.
  mutating func replace(_ octets: Bytes) {
    self.octets = octets
    isPartial = false
    identifier &+= 1
  }

  /// Performs an operation on the data (Vol 4, Part E, 7.8.54, 7.8.55 and 7.8.62).
  ///
  /// - Parameter maximum: the longest data of the controller, in octets.
  mutating func receive(_ operation: HCI.DataOperation, _ octets: Bytes, maximum: Int) -> HCIErrorCode {
    switch operation {
    case .unchanged: identifier &+= 1
    case .complete:
      guard octets.count <= maximum else { return .memoryCapacityExceeded }
      replace(octets)
    case .first:
      guard !octets.isEmpty else { return .invalidCommandParameters }
      guard octets.count <= maximum else { return .memoryCapacityExceeded }
      replace(octets)
      isPartial = true
    default:
      guard !octets.isEmpty, isPartial else { return .invalidCommandParameters }
      guard self.octets.count + octets.count <= maximum else {
        // The fragments received so far are discarded (Vol 4, Part E, 7.8.54).
        replace([])
        return .memoryCapacityExceeded
      }
      self.octets += octets
      isPartial = operation == .intermediate
    }
    return .success
  }
}
