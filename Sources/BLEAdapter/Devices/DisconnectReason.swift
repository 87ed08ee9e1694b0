import BLEHCI

/// The reason why a link ended: the octet from the controller (Vol 1, Part F, 1.3). Any value is possible.
public struct DisconnectReason: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The controller of this side failed or was lost.
  public static let hardwareFailure = Self(rawValue: 0x03)
  /// The other device was out of range or off: no packet was received within the supervision timeout.
  public static let connectionTimeout = Self(rawValue: 0x08)
  /// The other side ended it.
  public static let remoteUserTerminatedConnection = Self(rawValue: 0x13)
  /// The other side ended it because of low resources.
  public static let remoteDeviceTerminatedLowResources = Self(rawValue: 0x14)
  /// The other side ended it because it is powering off.
  public static let remoteDeviceTerminatedPowerOff = Self(rawValue: 0x15)
  /// This side ended it.
  public static let connectionTerminatedByLocalHost = Self(rawValue: 0x16)
  /// The two sides have different keys.
  public static let terminatedDueToMICFailure = Self(rawValue: 0x3D)
  /// The link was not established: the first packets were not received.
  public static let connectionFailedToBeEstablished = Self(rawValue: 0x3E)
}

extension DisconnectReason: CustomStringConvertible {
  public var description: String { "\(HCIErrorCode(rawValue: rawValue))" }
}
