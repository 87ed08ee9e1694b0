extension HCI {
  /// Which events the controller may send; those an LE host looks at (Vol 4, Part E, 7.3.1).
  public struct EventMask: OptionSet, Hashable, Sendable {
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static let disconnectionComplete = Self(rawValue: 1 << 4)
    public static let encryptionChange = Self(rawValue: 1 << 7)
    public static let readRemoteVersionInformationComplete = Self(rawValue: 1 << 11)
    public static let hardwareError = Self(rawValue: 1 << 15)
    public static let dataBufferOverflow = Self(rawValue: 1 << 25)
    public static let encryptionKeyRefreshComplete = Self(rawValue: 1 << 47)
    public static let leMeta = Self(rawValue: 1 << 61)
    /// What holds after a reset.
    public static let standard = Self(rawValue: 0x0000_1FFF_FFFF_FFFF)
  }

  /// The second page of events (Vol 4, Part E, 7.3.69).
  public struct EventMaskPage2: OptionSet, Hashable, Sendable {
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static let authenticatedPayloadTimeoutExpired = Self(rawValue: 1 << 23)
    public static let encryptionChangeV2 = Self(rawValue: 1 << 25)
  }

  /// Which LE meta events the controller may send (Vol 4, Part E, 7.8.1).
  public struct LEEventMask: OptionSet, Hashable, Sendable {
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static let connectionComplete = Self(rawValue: 1 << 0)
    public static let advertisingReport = Self(rawValue: 1 << 1)
    public static let connectionUpdateComplete = Self(rawValue: 1 << 2)
    public static let readRemoteFeaturesComplete = Self(rawValue: 1 << 3)
    public static let longTermKeyRequest = Self(rawValue: 1 << 4)
    public static let remoteConnectionParameterRequest = Self(rawValue: 1 << 5)
    public static let dataLengthChange = Self(rawValue: 1 << 6)
    public static let readLocalP256PublicKeyComplete = Self(rawValue: 1 << 7)
    public static let generateDHKeyComplete = Self(rawValue: 1 << 8)
    public static let enhancedConnectionComplete = Self(rawValue: 1 << 9)
    public static let directedAdvertisingReport = Self(rawValue: 1 << 10)
    public static let phyUpdateComplete = Self(rawValue: 1 << 11)
    public static let extendedAdvertisingReport = Self(rawValue: 1 << 12)
    public static let periodicAdvertisingSyncEstablished = Self(rawValue: 1 << 13)
    public static let periodicAdvertisingReport = Self(rawValue: 1 << 14)
    public static let periodicAdvertisingSyncLost = Self(rawValue: 1 << 15)
    public static let scanTimeout = Self(rawValue: 1 << 16)
    public static let advertisingSetTerminated = Self(rawValue: 1 << 17)
    public static let scanRequestReceived = Self(rawValue: 1 << 18)
    public static let channelSelectionAlgorithm = Self(rawValue: 1 << 19)
    public static let connectionlessIQReport = Self(rawValue: 1 << 20)
    public static let connectionIQReport = Self(rawValue: 1 << 21)
    public static let cteRequestFailed = Self(rawValue: 1 << 22)
    public static let periodicAdvertisingSyncTransferReceived = Self(rawValue: 1 << 23)
    public static let cisEstablished = Self(rawValue: 1 << 24)
    public static let cisRequest = Self(rawValue: 1 << 25)
    public static let createBIGComplete = Self(rawValue: 1 << 26)
    public static let terminateBIGComplete = Self(rawValue: 1 << 27)
    public static let bigSyncEstablished = Self(rawValue: 1 << 28)
    public static let bigSyncLost = Self(rawValue: 1 << 29)
    public static let requestPeerSCAComplete = Self(rawValue: 1 << 30)
    public static let pathLossThreshold = Self(rawValue: 1 << 31)
    public static let transmitPowerReporting = Self(rawValue: 1 << 32)
    public static let bigInfoAdvertisingReport = Self(rawValue: 1 << 33)
    public static let subrateChange = Self(rawValue: 1 << 34)
    public static let periodicAdvertisingSyncEstablishedV2 = Self(rawValue: 1 << 35)
    public static let periodicAdvertisingReportV2 = Self(rawValue: 1 << 36)
    public static let periodicAdvertisingSyncTransferReceivedV2 = Self(rawValue: 1 << 37)
    public static let periodicAdvertisingSubeventDataRequest = Self(rawValue: 1 << 38)
    public static let periodicAdvertisingResponseReport = Self(rawValue: 1 << 39)
    public static let enhancedConnectionCompleteV2 = Self(rawValue: 1 << 40)
    /// What holds after a reset.
    public static let standard = Self(rawValue: 0x1F)

    /// Whether the event is let through.
    public func contains(_ code: LESubeventCode) -> Bool {
      code.rawValue > 0 && code.rawValue <= 64 && rawValue >> UInt64(code.rawValue - 1) & 1 == 1
    }
  }
}
