public import BLEHCI
public import BLEWire

/// The properties of a virtual controller. The defaults are those of a plain adapter of Bluetooth 5.4.
///
/// ```swift
/// var small = VirtualControllerConfiguration()
/// small.aclDataPacketLength = 27
/// small.totalNumACLDataPackets = 1
/// small.features.remove(.extendedAdvertising)
/// ```
public struct VirtualControllerConfiguration: Sendable {
  /// The public address; nil for an address that is derived from the radio's seed.
  public var publicAddress: BD_ADDR?
  /// The version as an assigned number: 6 for 4.0 … 13 for 5.4.
  public var version: UInt8 = 13
  /// The manufacturer; 0xFFFF is for tests.
  public var companyIdentifier: UInt16 = 0xFFFF
  /// The revision of the implementation, defined by the manufacturer.
  public var subversion: UInt16 = 0
  /// The features of the Link Layer. A command whose feature is missing gets Unknown HCI Command.
  public var features: HCI.LEFeatures = Self.standardFeatures
  /// The intervals of a controller with Shorter Connection Intervals (Bluetooth 6.2), and with LL Extended Feature Set;
  /// nil for a controller without.
  public var connectionIntervals: VirtualConnectionIntervals?
  /// The maximum length of an ACL packet in either direction, in octets without the header: 27 to 65535.
  public var aclDataPacketLength: UInt16 = 251
  /// The number of ACL packets that the controller buffers: 1 to 255.
  public var totalNumACLDataPackets: UInt8 = 8
  /// Whether LE Read Buffer Size returns 0, so that the host must use Read Buffer Size, as with some dual-mode
  /// controllers.
  public var sharesBuffersWithBREDR = false
  /// Num_HCI_Command_Packets of Command Complete and Command Status.
  public var commandCredits: UInt8 = 1
  /// The maximum number of simultaneous links.
  public var maximumLinks = 16
  /// The maximum number of advertising sets.
  public var numSupportedAdvertisingSets: UInt8 = 8
  /// The longest advertising data in octets, 31 to 1650.
  public var maxAdvertisingDataLength: UInt16 = 1650
  /// The number of entries in the filter accept list.
  public var filterAcceptListSize: UInt8 = 16
  /// The number of entries in the resolving list.
  public var resolvingListSize: UInt8 = 16
  /// The maximum number of periodic advertising trains that the controller receives at the same time.
  public var maximumPeriodicSyncs = 8
  /// The number of entries in the periodic advertiser list.
  public var periodicAdvertiserListSize: UInt8 = 16
  /// The RSSI at which others receive the controller, in dBm. ``VirtualRadio/setPathLoss(_:between:and:now:)`` changes
  /// it between two controllers.
  public var rssi: Int8 = -50
  /// The transmit power in dBm. ``VirtualRadio/setTransmitPower(_:of:now:)`` changes that of links.
  public var txPower: Int8 = 0
  /// The faults of the controller.
  public var faults: [VirtualFault] = []

  /// The default properties.
  public init() {}

  /// Encryption, connection parameters request, data length, privacy, 2M and coded PHY, extended and periodic
  /// advertising, ….
  public static let standardFeatures: HCI.LEFeatures = [
    .encryption, .connectionParametersRequest, .extendedRejectIndication, .peripheralInitiatedFeaturesExchange, .ping,
    .dataPacketLengthExtension, .llPrivacy, .extendedScanningFilterPolicies, .le2MPHY, .leCodedPHY,
    .extendedAdvertising, .periodicAdvertising, .channelSelectionAlgorithm2, .periodicAdvertisingSyncTransferSender,
    .periodicAdvertisingSyncTransferRecipient, .remotePublicKeyValidation, .periodicAdvertisingADI,
    .connectionSubrating, .powerControlRequest, .powerChangeIndication, .pathLossMonitoring,
  ]
}
