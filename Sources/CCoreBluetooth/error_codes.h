// The codes of CoreBluetooth's errors, as enumerations of C: Swift imports these open, as Apple's
// (Docs/Decisions/corebluetooth.md#uuids-classes-and-codes). Their documentation is at the constants of CBError and
// CBATTError.
#ifndef CCOREBLUETOOTH_ERROR_CODES_H
#define CCOREBLUETOOTH_ERROR_CODES_H

// CBError.Code
enum __attribute__((enum_extensibility(open))) CBErrorCode : long {
  CBErrorCodeUnknown = 0,
  CBErrorCodeInvalidParameters = 1,
  CBErrorCodeInvalidHandle = 2,
  CBErrorCodeNotConnected = 3,
  CBErrorCodeOutOfSpace = 4,
  CBErrorCodeOperationCancelled = 5,
  CBErrorCodeConnectionTimeout = 6,
  CBErrorCodePeripheralDisconnected = 7,
  CBErrorCodeUUIDNotAllowed = 8,
  CBErrorCodeAlreadyAdvertising = 9,
  CBErrorCodeConnectionFailed = 10,
  CBErrorCodeConnectionLimitReached = 11,
  CBErrorCodeUnknownDevice = 12,
  CBErrorCodeOperationNotSupported = 13,
  CBErrorCodePeerRemovedPairingInformation = 14,
  CBErrorCodeEncryptionTimedOut = 15,
  CBErrorCodeTooManyLEPairedDevices = 16,
  CBErrorCodeLeGattExceededBackgroundNotificationLimit = 17,
  CBErrorCodeLeGattNearBackgroundNotificationLimit = 18,
};

// CBATTError.Code
enum __attribute__((enum_extensibility(open))) CBATTErrorCode : long {
  CBATTErrorCodeSuccess = 0x00,
  CBATTErrorCodeInvalidHandle = 0x01,
  CBATTErrorCodeReadNotPermitted = 0x02,
  CBATTErrorCodeWriteNotPermitted = 0x03,
  CBATTErrorCodeInvalidPdu = 0x04,
  CBATTErrorCodeInsufficientAuthentication = 0x05,
  CBATTErrorCodeRequestNotSupported = 0x06,
  CBATTErrorCodeInvalidOffset = 0x07,
  CBATTErrorCodeInsufficientAuthorization = 0x08,
  CBATTErrorCodePrepareQueueFull = 0x09,
  CBATTErrorCodeAttributeNotFound = 0x0A,
  CBATTErrorCodeAttributeNotLong = 0x0B,
  CBATTErrorCodeInsufficientEncryptionKeySize = 0x0C,
  CBATTErrorCodeInvalidAttributeValueLength = 0x0D,
  CBATTErrorCodeUnlikelyError = 0x0E,
  CBATTErrorCodeInsufficientEncryption = 0x0F,
  CBATTErrorCodeUnsupportedGroupType = 0x10,
  CBATTErrorCodeInsufficientResources = 0x11,
};

#endif
