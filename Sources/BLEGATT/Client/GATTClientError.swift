public import BLEATT

/// Why an operation of a GATT client failed, and whose fault it is.
public enum GATTClientError: Error, Equatable, Sendable {
  /// The server refused a request, about this handle.
  case errorResponse(ATTErrorCode, request: ATTOpcode, handle: AttributeHandle)
  /// The server's answer breaks the protocol; the text says how.
  case malformedResponse(ATTOpcode, reason: String)
  /// The server sent a PDU that answers nothing we asked.
  case unexpectedPDU(ATTOpcode)
  /// The server queued something other than what it was sent; the queue was cancelled.
  case echoDiffers(AttributeHandle, offset: Int)
  /// The server kept answering past the limit on results.
  case tooManyResults(limit: Int)
  /// So many operations wait already; this one was not taken.
  case tooManyOperations(limit: Int)
  /// The caller asked for something that cannot be sent; the text says what and which limit.
  case invalidParameters(String)
  /// The caller has no key to sign with.
  case cannotSign
  /// The link is in the clear, and the host sends no request on it: the device is bonded and has not proven its key.
  case notEncrypted
  /// The counter of a signed write was not stored in time, so that it must not be used.
  case signCounterNotStored
  /// The server gave no answer within 30 seconds; this link can be asked nothing more.
  case timedOut
  /// The link ended before the answer came.
  case linkEnded
}

extension GATTClientError {
  /// The code that the server refused with, if it did.
  public var code: ATTErrorCode? {
    if case .errorResponse(let code, _, _) = self { code } else { nil }
  }
}

extension GATTClientError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .errorResponse(let code, let request, let handle):
      "the server refused \(request) for handle \(handle): \(code)"
    case .malformedResponse(let opcode, let reason): "the server's \(opcode) breaks the protocol: \(reason)"
    case .unexpectedPDU(let opcode): "the server sent \(opcode), which answers nothing that was asked"
    case .echoDiffers(let handle, let offset):
      "the server queued other octets than it was sent for handle \(handle), offset \(offset); nothing was written"
    case .tooManyResults(let limit): "the server gave more than \(limit) results; the procedure was given up"
    case .tooManyOperations(let limit): "\(limit) operations wait already: wait for one to finish"
    case .invalidParameters(let which): which
    case .cannotSign: "no signing key: pair with signing keys, or write with a response on an encrypted link"
    case .notEncrypted:
      "the link could not be encrypted with the key of the bond: remove the bond and pair again, or connect again"
    case .signCounterNotStored: "the sign counter could not be stored: check the bond store, then write again"
    case .timedOut: "the server gave no answer within 30 seconds: disconnect and connect again"
    case .linkEnded: "the link ended before the answer came"
    }
  }
}
