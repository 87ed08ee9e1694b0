public import BLEATT
public import BLEAdapter
import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLESMP

/// The reason why an operation of ``Adapter`` or ``RemoteDevice`` failed.
///
/// ``kind`` is for the program, ``description`` for the log: one line that says what failed and how to correct it.
///
/// ```swift
/// try await adapter.withConnection(to: .named("Lamp")) { device in
///   do {
///     print(try await device.read("2A19", in: "180F", as: UInt8.self))
///   } catch let error as BLEError where error.kind == .notFound {
///     print("no battery service")
///   }
/// }
/// ```
///
/// Outside of a closure the compiler knows that the error is a `BLEError`, and `as BLEError` is left out.
public struct BLEError: Error, Hashable, Sendable {
  /// The reasons.
  public enum Kind: Hashable, Sendable {
    /// The adapter cannot be used now: not powered on, lost, or closed.
    case adapterUnavailable
    /// The link to the device ended or is not up.
    case disconnected
    /// No answer in time.
    case timedOut
    /// The task was cancelled.
    case cancelled
    /// The device answered with an ATT Error Response (Vol 3, Part F, 3.4.1.1).
    case att(ATTErrorCode)
    /// The link could not be encrypted, or the pairing failed.
    case security
    /// No such device was found, or it does not have the service or characteristic, or the characteristic lacks the
    /// property that the call needs.
    case notFound
    /// An argument is outside the limits that the documentation of the call states.
    case invalidArgument
    /// The octets from the device are not a value of the requested type.
    case invalidValue
    /// The controller or the transport does not support it.
    case unsupported
    /// A queue of the stack is full, or the controller has no room for another link; the text names the limit.
    case limitExceeded
    /// The device sent a response that the specification does not allow.
    case invalidResponse
    /// The services of the device have changed since the characteristic, the descriptor or the handle was discovered, or
    /// during the operation (Vol 3, Part G, 2.5.2 and 7.1). Discover them again: ``RemoteDevice/services()``.
    case servicesChanged
    /// The device has paired, and its bond could not be stored: it lasts as long as the program. The text says why, and
    /// how to correct it; the stack tries again until the program ends.
    case notStored
  }

  /// The reason, for the program.
  public let kind: Kind
  public let description: String
  /// Why the key of the device's bond could not be used, if that is the reason. The bond has to be removed before the
  /// two devices can pair again: ``Adapter/remove(_:)``.
  public let bondLoss: BondLostError?
  /// Why the pairing that the operation needed failed, if that is the reason: for example a wrong passkey.
  public let pairingFailure: PairingError?
  /// Why the link ended, or was not established, if that is the reason.
  public let disconnectReason: DisconnectReason?
  /// Why the adapter cannot be used, if that is the reason: ``Adapter/stateReason`` when the error occurred.
  public let adapterError: AdapterError?

  init(
    _ kind: Kind, _ description: String, bondLoss: BondLostError? = nil, pairingFailure: PairingError? = nil,
    disconnectReason: DisconnectReason? = nil, adapterError: AdapterError? = nil
  ) {
    self.kind = kind
    self.description = description
    self.disconnectReason = disconnectReason
    self.bondLoss = bondLoss
    self.pairingFailure = pairingFailure
    self.adapterError = adapterError
  }

  /// The bond of the device is lost.
  init(_ loss: BondLoss) { self.init(.security, "\(loss)", bondLoss: BondLostError(loss)) }

  /// The pairing failed.
  ///
  /// - Parameter reason: why the link ended, if the pairing failed with it.
  init(_ failure: PairingFailure, _ reason: DisconnectReason? = nil) {
    let error = PairingError(failure)
    let text = reason.map { "the pairing failed, because the link ended: \($0). Connect again, then pair" }
    self.init(.security, text ?? error.description, pairingFailure: error, disconnectReason: reason)
  }

  /// The error of an operation on an attribute, with the name that the caller used instead of the handle.
  func naming(_ attribute: String, at handle: AttributeHandle?) -> Self {
    let place = handle.map { "handle \($0)" } ?? ""
    let text =
      !place.isEmpty && description.contains(place)
      ? description.replacing(place, with: attribute) : "\(attribute): \(description)"
    return with(text)
  }

  /// The error with more text.
  func adding(_ text: String) -> Self { with(description + text) }

  private func with(_ text: String) -> Self {
    Self(
      kind, text, bondLoss: bondLoss, pairingFailure: pairingFailure, disconnectReason: disconnectReason,
      adapterError: adapterError)
  }

  static let servicesChanged = Self(
    .servicesChanged, "the services of the device have changed: discover them again (services)")
  static let cancelled = Self(.cancelled, "the task was cancelled")
  static let closed = Self(.adapterUnavailable, "the adapter was closed: open another one")
  static let notConnected = Self(.disconnected, "the device is not connected: connect to it again")
}

extension BLEError: CustomStringConvertible {}

extension BLEError {
  /// The error for the host's reason.
  init(_ error: HostError) {
    let kind: Kind =
      switch error {
      case .notPoweredOn, .transport: .adapterUnavailable
      case .controller(_, let code):
        switch code {
        case .connectionTimeout, .connectionFailedToBeEstablished: .timedOut
        case .memoryCapacityExceeded, .connectionLimitExceeded: .limitExceeded
        default: .unsupported
        }
      case .commandTimedOut: .adapterUnavailable
      case .malformedAnswer, .unsupported, .unsupportedByPeer, .disabled: .unsupported
      case .invalidParameters: .invalidArgument
      case .notConnected: .disconnected
      case .tooMany: .limitExceeded
      case .cancelled: .cancelled
      case .notSecured: .security
      case .peerRefused: .invalidResponse
      case .channelRefused(let result):
        switch result {
        case .spsmNotSupported: .notFound
        case .noResources: .limitExceeded
        case .insufficientAuthentication, .insufficientAuthorization, .encryptionKeySizeTooShort,
          .insufficientEncryption:
          .security
        default: .invalidResponse
        }
      }
    var reason: DisconnectReason?
    if case .controller(_, let code) = error, kind == .timedOut { reason = DisconnectReason(rawValue: code.rawValue) }
    self.init(kind, "\(error)", disconnectReason: reason)
  }

  /// The error for the reason of the GATT client.
  ///
  /// - Parameters:
  ///   - loss: why the link could not be encrypted with the key of its bond, if that is so.
  ///   - failure: why the last pairing on the link failed, if it did.
  init(_ error: GATTClientError, bondLoss loss: BondLoss?, pairingFailure failure: PairingFailure?) {
    // The device requires security, and the pairing on demand failed.
    if let failure, error.code == .insufficientAuthentication || error.code == .insufficientEncryption {
      self.init(failure)
      return
    }
    let kind: Kind =
      switch error {
      case .errorResponse(let code, _, _): .att(code)
      case .timedOut: .timedOut
      case .linkEnded, .bearerClosed: .disconnected
      case .notEncrypted, .cannotSign, .signCounterNotStored: .security
      case .tooManyOperations, .tooManyResults: .limitExceeded
      case .invalidParameters: .invalidArgument
      case .malformedResponse, .unexpectedPDU, .echoDiffers: .invalidResponse
      case .servicesChanged: .servicesChanged
      }
    switch error {
    // With different keys the link ends at the first encrypted PDU.
    case .notEncrypted, .linkEnded: if let loss { self.init(loss) } else { self.init(kind, "\(error)") }
    default: self.init(kind, "\(error)")  // No other error can come of a lost bond.
    }
  }

  /// The error for the reason of the database.
  init(_ error: DatabaseError) { self.init(.invalidArgument, "\(error)") }
}
