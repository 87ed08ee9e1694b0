internal import BLEHCI

/// The transmit power of a controller, and the losses between it and the antenna (Vol 4, Part E, 7.8.6, 7.8.74 to
/// 7.8.76).
struct TransmitPower: Sendable {
  /// The power of advertisements and links, in dBm.
  let level: Int8
  private var pathCompensation = HCI.LEWriteRFPathCompensation()

  init(level: Int8) { self.level = level }

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
