public import BLEWire

/// The parameters of an event, declared in wire order (Vol 4, Part E, 7.7).
public protocol HCIEventParameters: Packet {
  /// The octet that identifies the event.
  static var eventCode: HCIEventCode { get }

  /// The name in plain words, such as `Disconnection Complete` for HCI_Disconnection_Complete.
  static var name: StaticString { get }

  /// Appends the octets after the length octet of the event packet: the parameters; for an LE meta event, the subevent
  /// code and the parameters.
  func encodeEventParameters(to buffer: inout [UInt8])
}

extension HCIEventParameters {
  @inlinable public func encodeEventParameters(to buffer: inout [UInt8]) { encode(to: &buffer) }
}

/// The parameters of an LE meta event after the subevent code, declared in wire order (Vol 4, Part E, 7.7.65).
public protocol LEEventParameters: HCIEventParameters {
  /// The octet that identifies the event among the LE meta events.
  static var subeventCode: LESubeventCode { get }
}

extension LEEventParameters {
  public static var eventCode: HCIEventCode { .leMeta }

  @inlinable public func encodeEventParameters(to buffer: inout [UInt8]) {
    buffer.append(Self.subeventCode.rawValue)
    encode(to: &buffer)
  }
}

/// The octet that identifies an event (Vol 4, Part E, 7.7). The number space is open.
///
/// The code of each event is beside the event's declaration.
public struct HCIEventCode: AssignedNumber {
  public var rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// HCI_LE_Meta: the first octet of the parameters is the subevent code.
  public static let leMeta = Self(rawValue: 0x3E)
  /// An event whose parameters the vendor of the controller defines.
  public static let vendorSpecific = Self(rawValue: 0xFF)

  public static let spaceName: StaticString = "HCI event"
}

/// The first octet of the parameters of an LE meta event, which identifies it (Vol 4, Part E, 7.7.65). The number space
/// is open.
///
/// The code of each event is beside the event's declaration.
public struct LESubeventCode: AssignedNumber {
  public var rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let spaceName: StaticString = "LE subevent"
}
