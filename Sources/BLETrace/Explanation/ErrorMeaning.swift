import BLEATT
import BLEHCI
import BLESMP
import BLEWire

/// What the error codes usually mean in practice, and what is done about them.
enum ErrorMeaning {
  /// The reason of a disconnection that neither host has asked for, or that a host gives.
  static func disconnection(_ reason: HCIErrorCode) -> (meaning: String, remedy: String)? {
    switch reason {
    case .connectionTimeout:
      (
        "no packet of the peer arrived within the supervision timeout",
        "The peer is out of range, was switched off or has restarted. Reduce the distance, compare the signal in "
          + "ble scan, or connect with a longer supervision timeout."
      )
    case .terminatedMICFailure:
      (
        "an encrypted packet had an invalid message integrity code: the keys of the two devices differ",
        "Remove the bond on both devices and pair again."
      )
    case .connectionFailedToBeEstablished:
      (
        "the peer did not answer the first packets of the link",
        "Usual at the edge of the range, and for a device that accepts another connection at the same time. Connect "
          + "again; reduce the distance if it repeats."
      )
    case .instantPassed:
      (
        "a change of the link was announced for a time that had already passed",
        "The peer received the announcement too late, because packets were lost. Connect again; if it repeats, reduce "
          + "the distance or do not change parameters while the signal is weak."
      )
    case .linkLayerResponseTimeout:
      (
        "the peer's controller did not answer a Link Layer procedure within 40 s",
        "A fault of the peer's firmware. Update it, or do not use the procedure that the packets before show."
      )
    case .linkLayerProcedureCollision, .differentTransactionCollision:
      (
        "both controllers started a Link Layer procedure at the same time",
        "A fault of one of the controllers. Connect again; change the parameters of the link from one side only."
      )
    case .authenticationFailure:
      ("the authentication failed", "Remove the bond on both devices and pair again.")
    case .pinOrKeyMissing:
      ("a device has no key for the other one: a bond was lost", "Remove the bond on both devices and pair again.")
    case .unsupportedRemoteFeature:
      (
        "a device required a feature that the other one does not have",
        "Usual for a peer that requires encryption or a PHY that this controller does not support."
      )
    case .unacceptableConnectionParameters:
      (
        "the peer does not accept the parameters of the link",
        "Connect with the interval, latency and supervision timeout of the peer's documentation."
      )
    case .remoteDeviceTerminatedLowResources:
      ("its resources are exhausted", "Close other links or channels of the peer.")
    case .remoteDeviceTerminatedPowerOff:
      ("it was switched off", "Switch it on.")
    case .insufficientSecurity, .encryptionModeNotAcceptable:
      ("the security of the link was not sufficient", "Remove the bond on both devices and pair again.")
    case .pairingNotAllowed:
      ("the peer does not allow a pairing at present", "Put the device into its pairing mode, and pair again.")
    case .hardwareFailure:
      ("a controller has failed", "Reset the adapter: unplug it, or btmgmt power off and on.")
    default: nil
    }
  }

  /// The status of a command or an event that reports that no link was established.
  static func connection(_ status: HCIErrorCode) -> (meaning: String, remedy: String)? {
    switch status {
    case .commandDisallowed:
      (
        "the controller is already establishing a connection, or cannot do so beside its other tasks",
        "End the other program that uses the adapter, or wait until its connection is established."
      )
    case .connectionAlreadyExists:
      ("a link with the device exists already", "Use that link, or end it before.")
    case .connectionLimitExceeded, .rejectedLimitedResources, .memoryCapacityExceeded:
      ("the controller has no resources for another link", "End another link, or use a second adapter.")
    case .invalidCommandParameters, .unsupportedFeatureOrParameterValue:
      (
        "the controller does not accept the parameters",
        "Use an interval, a PHY and an address type that the controller supports: ble doctor lists its features."
      )
    case .advertisingTimeout:
      (
        "no central has connected during the directed advertising",
        "The central is out of range, or does not look for this device."
      )
    case .controllerBusy: ("the controller is busy", "Try again.")
    default: disconnection(status)
    }
  }

  /// An Error Response.
  static func attribute(_ code: ATTErrorCode, of request: ATTOpcode) -> (meaning: String, remedy: String) {
    switch code {
    case .invalidHandle:
      (
        "the server has no attribute with this handle",
        "The client's cache of attributes is out of date. Discover the services again; on a phone, switch Bluetooth "
          + "off and on."
      )
    case .readNotPermitted:
      ("the attribute cannot be read", "Read a characteristic with the property Read: ble inspect lists them.")
    case .writeNotPermitted:
      (
        "the attribute cannot be written",
        "Write a characteristic with the property Write: ble inspect lists them. A characteristic with Write Without "
          + "Response alone takes Write Commands."
      )
    case .invalidPDU: ("the server calls the request malformed", "Compare the request with the specification.")
    case .insufficientAuthentication, .insufficientEncryption:
      ("the attribute requires an encrypted link", "Pair with the device before this request.")
    case .insufficientEncryptionKeySize:
      (
        "the encryption key of the link is too short for the attribute",
        "Remove the bond, and pair with a key size of 16 octets."
      )
    case .insufficientAuthorization:
      ("the user or the application of the server must allow it", "Allow it on the device.")
    case .requestNotSupported:
      ("the server does not support the request", "None: clients use other requests instead.")
    case .invalidOffset: ("the offset is past the end of the value", "Read the value from its beginning.")
    case .prepareQueueFull:
      (
        "the server keeps no more parts of a long write",
        "Write a shorter value, or ask for a larger ATT_MTU, so that the value fits into one request."
      )
    case .attributeNotLong: ("the value fits into one response", "None: the first response had the whole value.")
    case .invalidAttributeValueLength:
      ("the value has a length that the server does not accept", "Write the length of the profile's definition.")
    case .insufficientResources:
      ("the server has no resources for the request", "Try again later, with fewer requests at the same time.")
    case .databaseOutOfSync:
      ("the client's cache of attributes is out of date", "Discover the services again.")
    case .valueNotAllowed, .outOfRange:
      ("the server does not accept the value", "Write a value in the range of the profile's definition.")
    case .writeRequestRejected:
      ("the server rejects the write in its present state", "The profile of the service defines when it is accepted.")
    case .clientCharacteristicConfigurationImproperlyConfigured:
      (
        "the client has not subscribed as the procedure requires",
        "Enable notifications or indications of the characteristic before this request."
      )
    case .procedureAlreadyInProgress:
      ("another procedure of the service is not finished", "Wait for its end before the next request.")
    case .unsupportedGroupType: ("the server does not group attributes of this type", "Ask for 2800 or 2801.")
    case .unlikelyError:
      ("the server could not do it, for a reason without a code", "The log of the server has the reason.")
    default:
      code.isApplicationDefined
        ? ("the code is one of the application", "The documentation of the service defines it.")
        : ("the specification has no further meaning", "The documentation of the service may define it.")
    }
  }

  /// A reason of Pairing Failed, for the association model of the pairing.
  static func pairing(
    _ reason: PairingFailedReason, _ model: AssociationModel?
  ) -> (meaning: String, remedy: String) {
    switch reason {
    case .passkeyEntryFailed:
      ("the user has cancelled, or has not entered a passkey", "Pair again, and enter the passkey.")
    case .oobNotAvailable: ("out-of-band data is missing", "Transfer the data again, or pair without it.")
    case .authenticationRequirements:
      (
        "the devices cannot authenticate each other as one of them requires",
        "One device needs a display or a keyboard: with this package, ble pair DEVICE --authenticated in a terminal, "
          + "or another PairingOptions.capability in a program."
      )
    case .confirmValueFailed:
      switch model {
      case .passkeyEntry?: ("the passkeys differ", "Pair again with the digits that the other device shows.")
      default:
        (
          "the values of the two devices do not match, although no passkey was entered",
          "A fault of one device, or a third device interferes. Pair again; if it repeats, compare the traces of both."
        )
      }
    case .dhKeyCheckFailed:
      (
        "the values of the two devices do not match",
        "A fault of one device, or a third device interferes. Pair again; if it repeats, compare the traces of both."
      )
    case .pairingNotSupported:
      (
        "the device does not pair at present",
        "Put it into its pairing mode (a button, a menu), or use it without a pairing. With this package, pairing is "
          + "disabled by PairingOptions.isEnabled."
      )
    case .encryptionKeySize:
      ("the devices do not agree about the size of the key", "Allow keys of 16 octets on both devices.")
    case .commandNotSupported: ("the device does not know the PDU", "Update the firmware of the device.")
    case .repeatedAttempts:
      ("too many attempts in a short time", "Wait some seconds, each time longer, and pair again.")
    case .invalidParameters: ("a value of the pairing is not allowed", "A fault of the device that has sent the value.")
    case .numericComparisonFailed:
      (
        "the numbers differ, or the user has answered no",
        "Pair again and compare the numbers. If they differ, a third device interferes."
      )
    case .brEDRPairingInProgress, .busy:
      ("the device is occupied with another pairing", "Wait for its end, and pair again.")
    case .crossTransportKeyDerivationNotAllowed:
      ("a key of the other transport is not allowed", "None: pair again without it.")
    case .keyRejected: ("the device rejects a distributed key", "Remove the bond on both devices and pair again.")
    default: ("the device gives no reason", "Its log has the reason. The user may have declined.")
    }
  }
}
