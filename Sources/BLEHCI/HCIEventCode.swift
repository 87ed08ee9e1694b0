/// The octet that names an event (Vol 4, Part E, 7.7). The number space is open.
public struct HCIEventCode: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let disconnectionComplete = Self(rawValue: 0x05)
  public static let encryptionChange = Self(rawValue: 0x08)
  public static let readRemoteVersionInformationComplete = Self(rawValue: 0x0C)
  public static let commandComplete = Self(rawValue: 0x0E)
  public static let commandStatus = Self(rawValue: 0x0F)
  public static let hardwareError = Self(rawValue: 0x10)
  public static let numberOfCompletedPackets = Self(rawValue: 0x13)
  public static let dataBufferOverflow = Self(rawValue: 0x1A)
  public static let encryptionKeyRefreshComplete = Self(rawValue: 0x30)
  public static let leMeta = Self(rawValue: 0x3E)
  public static let authenticatedPayloadTimeoutExpired = Self(rawValue: 0x57)
  public static let encryptionChangeV2 = Self(rawValue: 0x59)
  public static let vendorSpecific = Self(rawValue: 0xFF)
}

/// The first octet inside an LE meta event, which names it (Vol 4, Part E, 7.7.65). The number space is open.
public struct LESubeventCode: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let connectionComplete = Self(rawValue: 0x01)
  public static let advertisingReport = Self(rawValue: 0x02)
  public static let connectionUpdateComplete = Self(rawValue: 0x03)
  public static let readRemoteFeaturesComplete = Self(rawValue: 0x04)
  public static let longTermKeyRequest = Self(rawValue: 0x05)
  public static let remoteConnectionParameterRequest = Self(rawValue: 0x06)
  public static let dataLengthChange = Self(rawValue: 0x07)
  public static let readLocalP256PublicKeyComplete = Self(rawValue: 0x08)
  public static let generateDHKeyComplete = Self(rawValue: 0x09)
  public static let enhancedConnectionComplete = Self(rawValue: 0x0A)
  public static let directedAdvertisingReport = Self(rawValue: 0x0B)
  public static let phyUpdateComplete = Self(rawValue: 0x0C)
  public static let extendedAdvertisingReport = Self(rawValue: 0x0D)
  public static let periodicAdvertisingSyncEstablished = Self(rawValue: 0x0E)
  public static let periodicAdvertisingReport = Self(rawValue: 0x0F)
  public static let periodicAdvertisingSyncLost = Self(rawValue: 0x10)
  public static let scanTimeout = Self(rawValue: 0x11)
  public static let advertisingSetTerminated = Self(rawValue: 0x12)
  public static let scanRequestReceived = Self(rawValue: 0x13)
  public static let channelSelectionAlgorithm = Self(rawValue: 0x14)
  public static let connectionlessIQReport = Self(rawValue: 0x15)
  public static let connectionIQReport = Self(rawValue: 0x16)
  public static let cteRequestFailed = Self(rawValue: 0x17)
  public static let periodicAdvertisingSyncTransferReceived = Self(rawValue: 0x18)
  public static let cisEstablished = Self(rawValue: 0x19)
  public static let cisRequest = Self(rawValue: 0x1A)
  public static let createBIGComplete = Self(rawValue: 0x1B)
  public static let terminateBIGComplete = Self(rawValue: 0x1C)
  public static let bigSyncEstablished = Self(rawValue: 0x1D)
  public static let bigSyncLost = Self(rawValue: 0x1E)
  public static let requestPeerSCAComplete = Self(rawValue: 0x1F)
  public static let pathLossThreshold = Self(rawValue: 0x20)
  public static let transmitPowerReporting = Self(rawValue: 0x21)
  public static let bigInfoAdvertisingReport = Self(rawValue: 0x22)
  public static let subrateChange = Self(rawValue: 0x23)
  public static let periodicAdvertisingSyncEstablishedV2 = Self(rawValue: 0x24)
  public static let periodicAdvertisingReportV2 = Self(rawValue: 0x25)
  public static let periodicAdvertisingSyncTransferReceivedV2 = Self(rawValue: 0x26)
  public static let periodicAdvertisingSubeventDataRequest = Self(rawValue: 0x27)
  public static let periodicAdvertisingResponseReport = Self(rawValue: 0x28)
  public static let enhancedConnectionCompleteV2 = Self(rawValue: 0x29)
}
