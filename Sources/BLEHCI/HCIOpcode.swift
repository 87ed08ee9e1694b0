/// The 16 bits that name a command: the group in the upper six, the command in the lower ten (Vol 4, Part E, 5.4.1).
///
/// The number space is open: vendors have the group 0x3F, and an opcode without a name here is kept as it is.
public struct HCIOpcode: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt16
  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// - Parameters:
  ///   - group: the OGF, six bits.
  ///   - command: the OCF, ten bits.
  public init(group: UInt8, command: UInt16) {
    rawValue = UInt16(group & 0x3F) << 10 | command & 0x03FF
  }

  /// The OGF.
  public var group: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 10) }
  /// The OCF.
  public var command: UInt16 { rawValue & 0x03FF }
  public var isVendorSpecific: Bool { group == 0x3F }

  /// Names no command: a Command Complete or Command Status event that only gives credits (Vol 4, Part E, 4.4).
  public static let none = Self(rawValue: 0x0000)
}

extension HCIOpcode: CustomStringConvertible {
  public var description: String {
    let digits = String(rawValue, radix: 16, uppercase: true)
    return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}

/// Link Control (Vol 4, Part E, 7.1).
extension HCIOpcode {
  public static let disconnect = Self(rawValue: 0x0406)
  public static let readRemoteVersionInformation = Self(rawValue: 0x041D)
}

/// Controller & Baseband (Vol 4, Part E, 7.3).
extension HCIOpcode {
  public static let setEventMask = Self(rawValue: 0x0C01)
  public static let reset = Self(rawValue: 0x0C03)
  public static let readTransmitPowerLevel = Self(rawValue: 0x0C2D)
  public static let setControllerToHostFlowControl = Self(rawValue: 0x0C31)
  public static let hostBufferSize = Self(rawValue: 0x0C33)
  public static let hostNumberOfCompletedPackets = Self(rawValue: 0x0C35)
  public static let setEventMaskPage2 = Self(rawValue: 0x0C63)
  public static let readLEHostSupport = Self(rawValue: 0x0C6C)
  public static let writeLEHostSupport = Self(rawValue: 0x0C6D)
  public static let readAuthenticatedPayloadTimeout = Self(rawValue: 0x0C7B)
  public static let writeAuthenticatedPayloadTimeout = Self(rawValue: 0x0C7C)
  public static let configureDataPath = Self(rawValue: 0x0C83)
  public static let setMinEncryptionKeySize = Self(rawValue: 0x0C84)
}

/// Informational (Vol 4, Part E, 7.4).
extension HCIOpcode {
  public static let readLocalVersionInformation = Self(rawValue: 0x1001)
  public static let readLocalSupportedCommands = Self(rawValue: 0x1002)
  public static let readLocalSupportedFeatures = Self(rawValue: 0x1003)
  public static let readBufferSize = Self(rawValue: 0x1005)
  public static let readBDADDR = Self(rawValue: 0x1009)
}

/// Status (Vol 4, Part E, 7.5).
extension HCIOpcode {
  public static let readRSSI = Self(rawValue: 0x1405)
}
