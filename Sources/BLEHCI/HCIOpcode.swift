public import BLEWire

/// The 16 bits that identify a command: the group in the upper six, the command in the lower ten (Vol 4, Part E,
/// 5.4.1).
///
/// The opcode of each command stands beside the command's declaration. The number space is open: vendors have the group
/// 0x3F, and an opcode without a declaration is kept as it is.
public struct HCIOpcode: AssignedNumber {
  public var rawValue: UInt16
  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// An opcode from its two parts.
  ///
  /// - Parameters:
  ///   - group: the OGF, six bits; the upper two are ignored.
  ///   - command: the OCF, ten bits; the upper six are ignored.
  public init(group: UInt8, command: UInt16) {
    rawValue = UInt16(group & 0x3F) << 10 | command & 0x03FF
  }

  /// The OGF.
  public var group: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 10) }
  /// The OCF.
  public var command: UInt16 { rawValue & 0x03FF }
  /// Whether a vendor defines the command: the OGF is 0x3F.
  public var isVendorSpecific: Bool { group == 0x3F }

  /// 0x0000: no command. A Command Complete or Command Status event with it only returns command credits
  /// (Vol 4, Part E, 4.4).
  public static let none = Self(rawValue: 0x0000)
}

extension HCIOpcode {
  public static let spaceName: StaticString = "HCI opcode"

  public static let names: [Self: StaticString] = HCI.commands.mapValues { $0.name }
}
