internal import BLEHCI

/// The transmit power of a controller, and the losses between it and the antenna (Vol 4, Part E, 7.8.6, 7.8.74 to
/// 7.8.76).
struct TransmitPower: Sendable {
  /// The power of advertisements, and of links unless ``setLinkLevel(_:)`` has set another one, in dBm.
  let level: Int8
  /// The power of new links, in dBm.
  private(set) var linkLevel: Int8
  private var pathCompensation = HCI.LEWriteRFPathCompensation()

  /// - Parameter linkLevel: the power of links if it is another one, in dBm.
  init(level: Int8, linkLevel: Int8? = nil) {
    self.level = level
    self.linkLevel = linkLevel ?? level
  }

  mutating func setLinkLevel(_ level: Int8) { linkLevel = min(max(level, range.lowerBound), range.upperBound) }

  /// The powers that the controller can have, in dBm. A configured power outside the usual range extends it.
  var range: ClosedRange<Int8> { min(-20, level)...max(20, level) }

  /// The power of an advertising set for the power that the host prefers. 127 means no preference.
  func selected(for preferred: Int8) -> Int8 { preferred == 127 ? level : max(-20, min(20, preferred)) }

  var pathCompensationResponse: HCI.LEReadRFPathCompensation.Response {
    .init {
      $0.rfTXPathCompensation = pathCompensation.rfTXPathCompensation
      $0.rfRXPathCompensation = pathCompensation.rfRXPathCompensation
    }
  }

  mutating func setPathCompensation(_ command: HCI.LEWriteRFPathCompensation) -> HCIErrorCode {
    let limits = -1280...1280
    guard limits.contains(Int(command.rfTXPathCompensation)), limits.contains(Int(command.rfRXPathCompensation))
    else { return .invalidCommandParameters }
    pathCompensation = command
    return .success
  }
}
