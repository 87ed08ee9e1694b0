// swift-format-ignore-file: NeverForceUnwrap

// CoreBluetooth's errors as Swift programs for Apple's systems make, match and convert them.
import CoreBluetooth

func domains() {
  let _: [String] = [CBErrorDomain, CBATTErrorDomain, CBError.errorDomain, CBATTError.errorDomain]
  let _: [String] = [CBError._nsErrorDomain, CBATTError._nsErrorDomain]
}

func makes() {
  let error = CBError(.connectionTimeout)
  let _: CBError.Code = error.code
  let _: Int = error.errorCode
  let _: [String: Any] = error.userInfo.merging(error.errorUserInfo) { $1 }
  let _: String = error.localizedDescription
  _ = CBATTError(.invalidOffset, userInfo: [NSLocalizedDescriptionKey: "too far"])
  let _: Set<CBError> = [error]
  let _: Set<CBATTError> = [CBATTError(.success)]
}

func matches(_ error: Error) {
  do { throw error } catch CBError.connectionTimeout {} catch CBATTError.invalidOffset {} catch {}
  switch error {
  case CBError.peripheralDisconnected: break
  case CBATTError.insufficientAuthentication: break
  default: break
  }
  if let error = error as? CBError {
    switch error.code {
    case .unknown, .peerRemovedPairingInformation: break
    default: break
    }
  }
  let error = error as NSError
  _ = error.domain == CBErrorDomain && error.code == CBError.Code.peerRemovedPairingInformation.rawValue
}

func converts(_ error: NSError) {
  let _: NSError = CBError(.unknown) as NSError
  let _: NSError = CBATTError(.success)._nsError
  _ = [CBError(_nsError: error).code.rawValue, CBATTError(_nsError: error).code.rawValue]
}

// All codes of Apple's systems, and those that a later version adds.

func describes(_ code: CBError.Code) -> String {
  switch code {
  case .unknown, .invalidParameters, .invalidHandle, .notConnected, .outOfSpace, .operationCancelled,
    .connectionTimeout, .peripheralDisconnected, .uuidNotAllowed, .alreadyAdvertising, .connectionFailed,
    .connectionLimitReached, .unknownDevice, .operationNotSupported, .peerRemovedPairingInformation,
    .encryptionTimedOut, .tooManyLEPairedDevices, .leGattExceededBackgroundNotificationLimit,
    .leGattNearBackgroundNotificationLimit:
    return "named"
  @unknown default: return "code \(code.rawValue)"
  }
}

func describes(_ code: CBATTError.Code) -> String {
  switch code {
  case .success, .invalidHandle, .readNotPermitted, .writeNotPermitted, .invalidPdu, .insufficientAuthentication,
    .requestNotSupported, .invalidOffset, .insufficientAuthorization, .prepareQueueFull, .attributeNotFound,
    .attributeNotLong, .insufficientEncryptionKeySize, .invalidAttributeValueLength, .unlikelyError,
    .insufficientEncryption, .unsupportedGroupType, .insufficientResources:
    return "named"
  @unknown default: return "code \(code.rawValue)"
  }
}

// Conformances that a program adds, with the attribute that a compiler of each system asks for.
extension CBError.Code: @retroactive CustomStringConvertible {
  public var description: String { describes(self) }
}

extension CBATTError.Code: @retroactive CaseIterable {
  public static var allCases: [CBATTError.Code] { [.success, .invalidHandle] }
}

func codes() {
  let _: [CBError.Code] = [
    .unknown, .invalidParameters, .invalidHandle, .notConnected, .outOfSpace, .operationCancelled, .connectionTimeout,
    .peripheralDisconnected, .uuidNotAllowed, .alreadyAdvertising, .connectionFailed, .connectionLimitReached,
    .unknownDevice, .unkownDevice, .operationNotSupported, .peerRemovedPairingInformation, .encryptionTimedOut,
    .tooManyLEPairedDevices, .leGattExceededBackgroundNotificationLimit, .leGattNearBackgroundNotificationLimit,
  ]
  let _: [CBError.Code] = [CBError.unknown, CBError.unkownDevice, CBError.leGattNearBackgroundNotificationLimit]
  let _: [CBATTError.Code] = [
    .success, .invalidHandle, .readNotPermitted, .writeNotPermitted, .invalidPdu, .insufficientAuthentication,
    .requestNotSupported, .invalidOffset, .insufficientAuthorization, .prepareQueueFull, .attributeNotFound,
    .attributeNotLong, .insufficientEncryptionKeySize, .invalidAttributeValueLength, .unlikelyError,
    .insufficientEncryption, .unsupportedGroupType, .insufficientResources,
  ]
  let _: CBATTError.Code = CBATTError.Code(rawValue: 0x80)!
  let _: CBError.Code = CBError.Code(rawValue: 3)!
  let _: Int = CBATTError.Code.insufficientResources.rawValue
}
