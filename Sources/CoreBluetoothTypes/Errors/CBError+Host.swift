import BLEAdapter
import BLEGATT
import BLEHost

extension CBError {
  /// The host's error with CoreBluetooth's code; the text is the host's.
  init(_ error: HostError) {
    let code: Code =
      switch error {
      case .notPoweredOn, .controller, .malformedAnswer, .commandTimedOut, .peerRefused, .channelRefused: .unknown
      case .notSecured: .encryptionTimedOut
      case .unsupported, .unsupportedByPeer, .disabled: .operationNotSupported
      case .transport: .connectionFailed
      case .invalidParameters: .invalidParameters
      case .notConnected: .notConnected
      case .tooMany: .outOfSpace
      case .cancelled: .operationCancelled
      }
    self.init(code, "\(error)")
  }

  /// A request with values that are not allowed.
  init(outside request: ConnectionRateRequest) {
    self.init(.invalidParameters, "\(request) is outside the limits of ConnectionRateRequest")
  }

  /// The database's error with CoreBluetooth's code; the text is the database's.
  init(_ error: DatabaseError) {
    let code: Code =
      switch error {
      case .handlesExhausted: .outOfSpace
      case .reservedType: .uuidNotAllowed
      default: .invalidParameters  // The definition is at fault.
      }
    self.init(code, "\(error)")
  }
}
