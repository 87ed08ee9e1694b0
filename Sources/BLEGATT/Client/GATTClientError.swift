public import BLEATT

/// The reason why an operation of a ``GATTClient`` failed.
public enum GATTClientError: Error, Hashable, Sendable {
  /// The server rejected a request. The handle is the one in the Error Response.
  case errorResponse(ATTErrorCode, request: ATTOpcode, handle: AttributeHandle)
  /// A PDU from the server is malformed or contradicts the request.
  case malformedResponse(ATTOpcode, reason: String)
  /// The server sent a PDU that is not a response to a request of the client.
  case unexpectedPDU(ATTOpcode)
  /// The server queued octets that differ from those that the client sent. The client cancelled the queue, and nothing
  /// was written.
  case echoDiffers(AttributeHandle, offset: Int)
  /// The services of the server have changed since the handle was discovered, or while the operation was performed
  /// (Vol 3, Part G, 2.5.2 and 7.1). A write may have been executed.
  case servicesChanged
  /// The server sent more results than ``GATTClient/Limits-swift.struct/results``.
  case tooManyResults(limit: Int)
  /// The operations that wait have reached ``GATTClient/Limits-swift.struct/waitingOctets``.
  case tooManyOperations(limit: Int)
  /// The operation cannot be sent; the text states the reason.
  case invalidParameters(String)
  /// The client has no signing key, or its sign counter is used up.
  case cannotSign
  /// The link is not encrypted. The server is bonded and has not proven the bond, so the client sends no request.
  case notEncrypted
  /// The sign counter was not stored, so it must not be used.
  case signCounterNotStored
  /// The server sent no response within 30 seconds. The client sends nothing more on this link (Vol 3, Part F, 3.3.3).
  case timedOut
  /// The link ended before the response.
  case linkEnded
  /// The bearer of a write was closed before the response. The link and its other bearers continue. The value may have
  /// been written.
  case bearerClosed
}

extension GATTClientError {
  init(_ error: ErrorResponse) { self = .errorResponse(error.code, request: error.requestOpcode, handle: error.handle) }

  /// Whether the same request may have another answer: the server has not rejected it.
  var mayBePassing: Bool {
    switch self {
    case .malformedResponse, .unexpectedPDU: true
    default: false  // The same request would fail again.
    }
  }

  /// The code of the Error Response, nil for any other error.
  public var code: ATTErrorCode? {
    if case .errorResponse(let code, _, _) = self { code } else { nil }
  }
}

extension GATTClientError: CustomStringConvertible {
  /// What failed, why, and what to do.
  public var description: String {
    switch self {
    case .errorResponse(let code, let request, let handle):
      "\(request) for handle \(handle) rejected by the server: \(code)"
    case .malformedResponse(let opcode, let reason): "malformed \(opcode) from the server: \(reason)"
    case .unexpectedPDU(let opcode): "unexpected \(opcode) from the server: it is not a response to a request"
    case .echoDiffers(let handle, let offset):
      "write to handle \(handle) cancelled: the server queued other octets at offset \(offset). Nothing was written"
    case .servicesChanged: "the services of the device have changed. Discover them again"
    case .tooManyResults(let limit): "procedure ended: the server sent more than \(limit) results"
    case .tooManyOperations(let limit):
      "operation rejected: with it, the operations that wait would exceed \(limit) octets. Wait until one has finished"
    case .invalidParameters(let reason): reason
    case .cannotSign:
      "signed write failed: there is no signing key. Pair with signing keys, or write with a response on an encrypted link"
    case .notEncrypted:
      "operation failed: the link is not encrypted with the key of the bond. Connect again, or remove the bond and pair"
    case .signCounterNotStored:
      "signed write failed: the sign counter was not stored. Check the bond storage, then write again"
    case .timedOut: "operation failed: no response within 30 seconds. Disconnect and connect again"
    case .linkEnded: "operation failed: the link ended before the response"
    case .bearerClosed:
      "write failed: its bearer was closed before the response. Read the value, and write again if it is not the new one"
    }
  }
}
