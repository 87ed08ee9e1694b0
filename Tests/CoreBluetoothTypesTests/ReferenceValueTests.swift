import CoreBluetoothTypes
import Foundation
import Testing

/// The numbers and texts of CoreBluetooth that programs store, send or compare.
@Suite struct ReferenceValueTests {
  @Test func enumerationsHaveTheirNumbers() {
    let states: [CBManagerState] = [.unknown, .resetting, .unsupported, .unauthorized, .poweredOff, .poweredOn]
    #expect(states.map(\.rawValue) == Array(0...5))
    let authorizations: [CBManagerAuthorization] = [.notDetermined, .restricted, .denied, .allowedAlways]
    #expect(authorizations.map(\.rawValue) == Array(0...3))
    let older: [CBPeripheralManagerAuthorizationStatus] = [.notDetermined, .restricted, .denied, .authorized]
    #expect(older.map(\.rawValue) == Array(0...3))
    let latencies: [CBPeripheralManagerConnectionLatency] = [.low, .medium, .high]
    #expect(latencies.map(\.rawValue) == Array(0...2))
    let peripherals: [CBPeripheralState] = [.disconnected, .connecting, .connected, .disconnecting]
    #expect(peripherals.map(\.rawValue) == Array(0...3))
    #expect([CBCharacteristicWriteType.withResponse, .withoutResponse].map(\.rawValue) == [0, 1])
    #expect([CBConnectionEvent.peerDisconnected, .peerConnected].map(\.rawValue) == [0, 1])
  }

  @Test func optionsHaveTheirBits() {
    let properties: [CBCharacteristicProperties] = [
      .broadcast, .read, .writeWithoutResponse, .write, .notify, .indicate, .authenticatedSignedWrites,
      .extendedProperties, .notifyEncryptionRequired, .indicateEncryptionRequired,
    ]
    #expect(properties.map(\.rawValue) == (0..<10).map { 1 << $0 })
    let permissions: [CBAttributePermissions] = [
      .readable, .writeable, .readEncryptionRequired, .writeEncryptionRequired,
    ]
    #expect(permissions.map(\.rawValue) == [1, 2, 4, 8])
    #expect(CBCentralManager.Feature.extendedScanAndConnect.rawValue == 1)
  }

  @Test func errorsHaveTheirNumbersAndDomains() {
    let errors: [CBError.Code] = [
      .unknown, .invalidParameters, .invalidHandle, .notConnected, .outOfSpace, .operationCancelled,
      .connectionTimeout, .peripheralDisconnected, .uuidNotAllowed, .alreadyAdvertising, .connectionFailed,
      .connectionLimitReached, .unknownDevice, .operationNotSupported, .peerRemovedPairingInformation,
      .encryptionTimedOut, .tooManyLEPairedDevices, .leGattExceededBackgroundNotificationLimit,
      .leGattNearBackgroundNotificationLimit,
    ]
    #expect(errors.map(\.rawValue) == Array(0...18))
    let refusals: [CBATTError.Code] = [
      .success, .invalidHandle, .readNotPermitted, .writeNotPermitted, .invalidPdu, .insufficientAuthentication,
      .requestNotSupported, .invalidOffset, .insufficientAuthorization, .prepareQueueFull, .attributeNotFound,
      .attributeNotLong, .insufficientEncryptionKeySize, .invalidAttributeValueLength, .unlikelyError,
      .insufficientEncryption, .unsupportedGroupType, .insufficientResources,
    ]
    #expect(refusals.map(\.rawValue) == Array(0...0x11))
    #expect(CBErrorDomain == "CBErrorDomain" && CBError.errorDomain == CBErrorDomain)
    #expect(CBATTErrorDomain == "CBATTErrorDomain" && CBATTError.errorDomain == CBATTErrorDomain)
  }

  /// Programs compare literals with some of these.
  @Test func keysHaveTheirTexts() {
    #expect(CBAdvertisementDataLocalNameKey == "kCBAdvDataLocalName")
    #expect(CBAdvertisementDataManufacturerDataKey == "kCBAdvDataManufacturerData")
    #expect(CBAdvertisementDataServiceDataKey == "kCBAdvDataServiceData")
    #expect(CBAdvertisementDataServiceUUIDsKey == "kCBAdvDataServiceUUIDs")
    #expect(CBAdvertisementDataOverflowServiceUUIDsKey == "kCBAdvDataHashedServiceUUIDs")
    #expect(CBAdvertisementDataTxPowerLevelKey == "kCBAdvDataTxPowerLevel")
    #expect(CBAdvertisementDataIsConnectable == "kCBAdvDataIsConnectable")
    #expect(CBAdvertisementDataSolicitedServiceUUIDsKey == "kCBAdvDataSolicitedServiceUUIDs")
    #expect(CBCentralManagerScanOptionAllowDuplicatesKey == "kCBScanOptionAllowDuplicates")
  }

  /// An error of either kind, and the NSError of its domain, match the code and no other error does.
  @Test func codesMatchErrorsOfTheirDomain() {
    let lost: any Error = NSError(domain: CBErrorDomain, code: 6)
    let refused: any Error = NSError(domain: CBATTErrorDomain, code: 6)
    #expect(CBError.connectionTimeout ~= lost && CBError.connectionTimeout ~= CBError(.connectionTimeout))
    #expect(CBATTError.requestNotSupported ~= refused && !(CBATTError.requestNotSupported ~= lost))
    #expect(!(CBError.connectionTimeout ~= refused) && !(CBError.connectionFailed ~= lost))
  }
}
