public import BLEWire

extension HCI {
  /// The features of a Link Layer (Vol 6, Part B, 4.6).
  public struct LEFeatures: AssignedBits {
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// LE Encryption (bit 0).
    public static let encryption = Self(rawValue: 1 << 0)
    /// Connection Parameters Request Procedure (bit 1).
    public static let connectionParametersRequest = Self(rawValue: 1 << 1)
    /// Extended Reject Indication (bit 2).
    public static let extendedRejectIndication = Self(rawValue: 1 << 2)
    /// Peripheral-initiated Features Exchange (bit 3).
    public static let peripheralInitiatedFeaturesExchange = Self(rawValue: 1 << 3)
    /// LE Ping (bit 4).
    public static let ping = Self(rawValue: 1 << 4)
    /// LE Data Packet Length Extension (bit 5).
    public static let dataPacketLengthExtension = Self(rawValue: 1 << 5)
    /// LL Privacy (bit 6).
    public static let llPrivacy = Self(rawValue: 1 << 6)
    /// Extended Scanning Filter Policies (bit 7).
    public static let extendedScanningFilterPolicies = Self(rawValue: 1 << 7)
    /// LE 2M PHY (bit 8).
    public static let le2MPHY = Self(rawValue: 1 << 8)
    /// Stable Modulation Index - Transmitter (bit 9).
    public static let stableModulationIndexTransmitter = Self(rawValue: 1 << 9)
    /// Stable Modulation Index - Receiver (bit 10).
    public static let stableModulationIndexReceiver = Self(rawValue: 1 << 10)
    /// LE Coded PHY (bit 11).
    public static let leCodedPHY = Self(rawValue: 1 << 11)
    /// LE Extended Advertising (bit 12).
    public static let extendedAdvertising = Self(rawValue: 1 << 12)
    /// LE Periodic Advertising (bit 13).
    public static let periodicAdvertising = Self(rawValue: 1 << 13)
    /// Channel Selection Algorithm #2 (bit 14).
    public static let channelSelectionAlgorithm2 = Self(rawValue: 1 << 14)
    /// LE Power Class 1 (bit 15).
    public static let powerClass1 = Self(rawValue: 1 << 15)
    /// Minimum Number of Used Channels Procedure (bit 16).
    public static let minimumNumberOfUsedChannels = Self(rawValue: 1 << 16)
    /// Connection CTE Request (bit 17).
    public static let connectionCTERequest = Self(rawValue: 1 << 17)
    /// Connection CTE Response (bit 18).
    public static let connectionCTEResponse = Self(rawValue: 1 << 18)
    /// Connectionless CTE Transmitter (bit 19).
    public static let connectionlessCTETransmitter = Self(rawValue: 1 << 19)
    /// Connectionless CTE Receiver (bit 20).
    public static let connectionlessCTEReceiver = Self(rawValue: 1 << 20)
    /// Antenna Switching During CTE Transmission (AoD) (bit 21).
    public static let antennaSwitchingTransmission = Self(rawValue: 1 << 21)
    /// Antenna Switching During CTE Reception (AoA) (bit 22).
    public static let antennaSwitchingReception = Self(rawValue: 1 << 22)
    /// Receiving Constant Tone Extensions (bit 23).
    public static let receivingConstantToneExtensions = Self(rawValue: 1 << 23)
    /// Periodic Advertising Sync Transfer - Sender (bit 24).
    public static let periodicAdvertisingSyncTransferSender = Self(rawValue: 1 << 24)
    /// Periodic Advertising Sync Transfer - Recipient (bit 25).
    public static let periodicAdvertisingSyncTransferRecipient = Self(rawValue: 1 << 25)
    /// Sleep Clock Accuracy Updates (bit 26).
    public static let sleepClockAccuracyUpdates = Self(rawValue: 1 << 26)
    /// Remote Public Key Validation (bit 27).
    public static let remotePublicKeyValidation = Self(rawValue: 1 << 27)
    /// Connected Isochronous Stream - Central (bit 28).
    public static let connectedIsochronousStreamCentral = Self(rawValue: 1 << 28)
    /// Connected Isochronous Stream - Peripheral (bit 29).
    public static let connectedIsochronousStreamPeripheral = Self(rawValue: 1 << 29)
    /// Isochronous Broadcaster (bit 30).
    public static let isochronousBroadcaster = Self(rawValue: 1 << 30)
    /// Synchronized Receiver (bit 31).
    public static let synchronizedReceiver = Self(rawValue: 1 << 31)
    /// Connected Isochronous Stream (Host Support) (bit 32).
    public static let connectedIsochronousStreamHostSupport = Self(rawValue: 1 << 32)
    /// LE Power Control Request (bit 33). A controller also sets bit 34.
    public static let powerControlRequest = Self(rawValue: 1 << 33)
    /// LE Power Change Indication (bit 34). A controller sets it exactly when it sets bit 33.
    public static let powerChangeIndication = Self(rawValue: 1 << 34)
    /// LE Path Loss Monitoring (bit 35).
    public static let pathLossMonitoring = Self(rawValue: 1 << 35)
    /// Periodic Advertising ADI Support (bit 36).
    public static let periodicAdvertisingADI = Self(rawValue: 1 << 36)
    /// Connection Subrating (bit 37).
    public static let connectionSubrating = Self(rawValue: 1 << 37)
    /// Connection Subrating (Host Support) (bit 38).
    public static let connectionSubratingHostSupport = Self(rawValue: 1 << 38)
    /// Channel Classification (bit 39).
    public static let channelClassification = Self(rawValue: 1 << 39)
    /// Advertising Coding Selection (bit 40).
    public static let advertisingCodingSelection = Self(rawValue: 1 << 40)
    /// Advertising Coding Selection (Host Support) (bit 41).
    public static let advertisingCodingSelectionHostSupport = Self(rawValue: 1 << 41)
    /// Periodic Advertising with Responses - Advertiser (bit 43).
    public static let periodicAdvertisingWithResponsesAdvertiser = Self(rawValue: 1 << 43)
    /// Periodic Advertising with Responses - Scanner (bit 44).
    public static let periodicAdvertisingWithResponsesScanner = Self(rawValue: 1 << 44)
    /// LL Extended Feature Set (bit 63): the controller has further pages of features.
    public static let llExtendedFeatureSet = Self(rawValue: 1 << 63)

    public static let names: [Self: StaticString] = [
      .encryption: "LE Encryption",
      .connectionParametersRequest: "Connection Parameters Request Procedure",
      .extendedRejectIndication: "Extended Reject Indication",
      .peripheralInitiatedFeaturesExchange: "Peripheral-initiated Features Exchange",
      .ping: "LE Ping",
      .dataPacketLengthExtension: "LE Data Packet Length Extension",
      .llPrivacy: "LL Privacy",
      .extendedScanningFilterPolicies: "Extended Scanning Filter Policies",
      .le2MPHY: "LE 2M PHY",
      .stableModulationIndexTransmitter: "Stable Modulation Index - Transmitter",
      .stableModulationIndexReceiver: "Stable Modulation Index - Receiver",
      .leCodedPHY: "LE Coded PHY",
      .extendedAdvertising: "LE Extended Advertising",
      .periodicAdvertising: "LE Periodic Advertising",
      .channelSelectionAlgorithm2: "Channel Selection Algorithm #2",
      .powerClass1: "LE Power Class 1",
      .minimumNumberOfUsedChannels: "Minimum Number of Used Channels Procedure",
      .connectionCTERequest: "Connection CTE Request",
      .connectionCTEResponse: "Connection CTE Response",
      .connectionlessCTETransmitter: "Connectionless CTE Transmitter",
      .connectionlessCTEReceiver: "Connectionless CTE Receiver",
      .antennaSwitchingTransmission: "Antenna Switching During CTE Transmission (AoD)",
      .antennaSwitchingReception: "Antenna Switching During CTE Reception (AoA)",
      .receivingConstantToneExtensions: "Receiving Constant Tone Extensions",
      .periodicAdvertisingSyncTransferSender: "Periodic Advertising Sync Transfer - Sender",
      .periodicAdvertisingSyncTransferRecipient: "Periodic Advertising Sync Transfer - Recipient",
      .sleepClockAccuracyUpdates: "Sleep Clock Accuracy Updates",
      .remotePublicKeyValidation: "Remote Public Key Validation",
      .connectedIsochronousStreamCentral: "Connected Isochronous Stream - Central",
      .connectedIsochronousStreamPeripheral: "Connected Isochronous Stream - Peripheral",
      .isochronousBroadcaster: "Isochronous Broadcaster",
      .synchronizedReceiver: "Synchronized Receiver",
      .connectedIsochronousStreamHostSupport: "Connected Isochronous Stream (Host Support)",
      .powerControlRequest: "LE Power Control Request",
      .powerChangeIndication: "LE Power Change Indication",
      .pathLossMonitoring: "LE Path Loss Monitoring",
      .periodicAdvertisingADI: "Periodic Advertising ADI Support",
      .connectionSubrating: "Connection Subrating",
      .connectionSubratingHostSupport: "Connection Subrating (Host Support)",
      .channelClassification: "Channel Classification",
      .advertisingCodingSelection: "Advertising Coding Selection",
      .advertisingCodingSelectionHostSupport: "Advertising Coding Selection (Host Support)",
      .periodicAdvertisingWithResponsesAdvertiser: "Periodic Advertising with Responses - Advertiser",
      .periodicAdvertisingWithResponsesScanner: "Periodic Advertising with Responses - Scanner",
      .llExtendedFeatureSet: "LL Extended Feature Set",
    ]
  }

  /// The first 64 features of a Link Layer that follow ``LEFeatures``: bits 64 to 127 (Vol 6, Part B, 4.6).
  public struct LEFurtherFeatures: AssignedBits {
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Monitoring Advertisers (bit 64).
    public static let monitoringAdvertisers = Self(rawValue: 1 << 0)
    /// Frame Space Update (bit 65).
    public static let frameSpaceUpdate = Self(rawValue: 1 << 1)
    /// Shorter Connection Intervals (bit 72).
    public static let shorterConnectionIntervals = Self(rawValue: 1 << 8)
    /// Shorter Connection Intervals (Host Support) (bit 73).
    public static let shorterConnectionIntervalsHostSupport = Self(rawValue: 1 << 9)

    public static let names: [Self: StaticString] = [
      .monitoringAdvertisers: "Monitoring Advertisers",
      .frameSpaceUpdate: "Frame Space Update",
      .shorterConnectionIntervals: "Shorter Connection Intervals",
      .shorterConnectionIntervalsHostSupport: "Shorter Connection Intervals (Host Support)",
    ]
  }

  /// All pages of the features of a Link Layer: page 0 with 64 bits, and ten with 192 bits each (Vol 6, Part B, 4.6).
  public struct LEFeaturePages: FieldGroup {
    /// The features of page 0: bits 0 to 63.
    public var features: LEFeatures = []
    /// Bits 64 to 127.
    public var furtherFeatures: LEFurtherFeatures = []
    /// Bits 128 to 1983, least significant octet first; missing octets are zero.
    public var rest: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("LE_Features", &features)
      try field.value("LE_Features, bits 64 to 127", &furtherFeatures)
      try field.octets("LE_Features, bits 128 to 1983", count: 232, &rest)
    }
  }

  /// Page 0 of the LMP features of a controller; those that concern LE (Vol 2, Part C, 3.3).
  public struct LMPFeatures: AssignedBits {
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// BR/EDR Not Supported (bit 37).
    public static let brEDRNotSupported = Self(rawValue: 1 << 37)
    /// LE Supported (Controller) (bit 38).
    public static let leSupported = Self(rawValue: 1 << 38)
    /// Simultaneous LE and BR/EDR to Same Device Capable (Controller) (bit 49).
    public static let simultaneousLEAndBREDR = Self(rawValue: 1 << 49)

    public static let names: [Self: StaticString] = [
      .brEDRNotSupported: "BR/EDR Not Supported",
      .leSupported: "LE Supported (Controller)",
      .simultaneousLEAndBREDR: "Simultaneous LE and BR/EDR to Same Device Capable (Controller)",
    ]
  }
}
