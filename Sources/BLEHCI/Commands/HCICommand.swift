public import BLEWire

/// A command from host to controller, declared by its parameters in wire order (Vol 4, Part E, 5.4.1).
///
/// The controller answers with a Command Complete event, which contains the ``Response``, or with a Command Status
/// event and a later event. In the second case ``Response`` is ``HCI/AnsweredByStatus``.
public protocol HCICommand: Packet {
  /// The return parameters in the Command Complete event.
  associatedtype Response: ReturnParameters = HCI.StatusResponse

  /// The 16 bits that identify the command.
  static var opcode: HCIOpcode { get }

  /// The name in plain words, such as `LE Set Scan Enable` for HCI_LE_Set_Scan_Enable.
  static var name: StaticString { get }

  /// The bit of the command in the Supported_Commands parameter (Vol 4, Part E, 6.27); nil if there is
  /// none.
  static var supportedCommandsBit: HCI.SupportedCommands.Bit? { get }
}

extension HCICommand {
  public static var supportedCommandsBit: HCI.SupportedCommands.Bit? { nil }

  /// Whether a Command Status event answers the command.
  public static var isAnsweredByStatus: Bool { Response.self == HCI.AnsweredByStatus.self }
}

/// The return parameters of a Command Complete event, the status first.
public protocol ReturnParameters: Packet {
  /// Success, or the reason of the failure.
  var status: HCIErrorCode { get set }
}

extension ReturnParameters {
  /// Decodes the return parameters of a Command Complete event.
  ///
  /// A controller may return the status alone if it rejects the command; the other fields then have their default
  /// values. Octets after the last field are ignored: a later version of the specification may add fields.
  ///
  /// - Throws: ``/BLEWire/CodecError`` if a successful command returns too few octets.
  public init(returned octets: Bytes) throws(CodecError) {
    self.init()
    var decoder = PacketDecoder(octets)
    do throws(CodecError) {
      try layout(&decoder)
    } catch {
      guard let first = octets.first, first != HCIErrorCode.success.rawValue else { throw error }
      self = Self()
      status = HCIErrorCode(rawValue: first)
    }
  }
}

extension FieldGroup {
  /// A group with default values, which `set` may change.
  ///
  /// ```swift
  /// let enable = HCI.LESetAdvertisingEnable { $0.advertisingEnable = true }
  /// ```
  @inlinable public init(_ set: (inout Self) -> Void) {
    self.init()
    set(&self)
  }
}

/// A command without parameters.
public protocol ParameterlessCommand: HCICommand {}

extension ParameterlessCommand {
  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {}
}

/// A command whose only parameter is a link.
public protocol LinkCommand: HCICommand {
  /// Connection_Handle: the link.
  var connectionHandle: ConnectionHandle { get set }
}

extension LinkCommand {
  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Connection_Handle", &connectionHandle)
  }
}

/// The 16 bits that identify a command: the group in the upper six, the command in the lower ten (Vol 4, Part E,
/// 5.4.1).
///
/// The opcode of each command is beside the command's declaration. The number space is open: vendors have the group
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

}
