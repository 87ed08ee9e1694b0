extension HCI {
  /// What a Link Layer can do (Vol 6, Part B, 4.6).
  public struct LEFeatures: OptionSet, Hashable, Sendable {
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static let encryption = Self(rawValue: 1 << 0)
    public static let connectionParametersRequest = Self(rawValue: 1 << 1)
    public static let extendedRejectIndication = Self(rawValue: 1 << 2)
    public static let peripheralInitiatedFeaturesExchange = Self(rawValue: 1 << 3)
    public static let ping = Self(rawValue: 1 << 4)
    public static let dataPacketLengthExtension = Self(rawValue: 1 << 5)
    public static let llPrivacy = Self(rawValue: 1 << 6)
    public static let extendedScanningFilterPolicies = Self(rawValue: 1 << 7)
    public static let le2MPHY = Self(rawValue: 1 << 8)
    public static let stableModulationIndexTransmitter = Self(rawValue: 1 << 9)
    public static let stableModulationIndexReceiver = Self(rawValue: 1 << 10)
    public static let leCodedPHY = Self(rawValue: 1 << 11)
    public static let extendedAdvertising = Self(rawValue: 1 << 12)
    public static let periodicAdvertising = Self(rawValue: 1 << 13)
    public static let channelSelectionAlgorithm2 = Self(rawValue: 1 << 14)
    public static let powerClass1 = Self(rawValue: 1 << 15)
    public static let minimumNumberOfUsedChannels = Self(rawValue: 1 << 16)
    public static let connectionCTERequest = Self(rawValue: 1 << 17)
    public static let connectionCTEResponse = Self(rawValue: 1 << 18)
    public static let connectionlessCTETransmitter = Self(rawValue: 1 << 19)
    public static let connectionlessCTEReceiver = Self(rawValue: 1 << 20)
    public static let antennaSwitchingTransmission = Self(rawValue: 1 << 21)
    public static let antennaSwitchingReception = Self(rawValue: 1 << 22)
    public static let receivingConstantToneExtensions = Self(rawValue: 1 << 23)
    public static let periodicAdvertisingSyncTransferSender = Self(rawValue: 1 << 24)
    public static let periodicAdvertisingSyncTransferRecipient = Self(rawValue: 1 << 25)
    public static let sleepClockAccuracyUpdates = Self(rawValue: 1 << 26)
    public static let remotePublicKeyValidation = Self(rawValue: 1 << 27)
    public static let connectedIsochronousStreamCentral = Self(rawValue: 1 << 28)
    public static let connectedIsochronousStreamPeripheral = Self(rawValue: 1 << 29)
    public static let isochronousBroadcaster = Self(rawValue: 1 << 30)
    public static let synchronizedReceiver = Self(rawValue: 1 << 31)
    public static let connectedIsochronousStreamHostSupport = Self(rawValue: 1 << 32)
    /// Bit 33; bit 34 goes with it.
    public static let powerControlRequest = Self(rawValue: 1 << 33)
    /// Bit 34: a controller sets it exactly when it sets bit 33.
    public static let powerChangeIndication = Self(rawValue: 1 << 34)
    public static let pathLossMonitoring = Self(rawValue: 1 << 35)
    public static let periodicAdvertisingADI = Self(rawValue: 1 << 36)
    public static let connectionSubrating = Self(rawValue: 1 << 37)
    public static let connectionSubratingHostSupport = Self(rawValue: 1 << 38)
    public static let channelClassification = Self(rawValue: 1 << 39)
    public static let advertisingCodingSelection = Self(rawValue: 1 << 40)
    public static let advertisingCodingSelectionHostSupport = Self(rawValue: 1 << 41)
    public static let periodicAdvertisingWithResponsesAdvertiser = Self(rawValue: 1 << 43)
    public static let periodicAdvertisingWithResponsesScanner = Self(rawValue: 1 << 44)
  }

  /// What a controller can do on page 0 of the LMP features; the ones that matter to LE (Vol 2, Part C, 3.3).
  public struct LMPFeatures: OptionSet, Hashable, Sendable {
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static let brEDRNotSupported = Self(rawValue: 1 << 37)
    /// LE Supported (Controller).
    public static let leSupported = Self(rawValue: 1 << 38)
    public static let simultaneousLEAndBREDR = Self(rawValue: 1 << 49)
  }
}
