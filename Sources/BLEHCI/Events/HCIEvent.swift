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
  public static let names: [Self: StaticString] = HCI.events.mapValues { $0.name }
    .merging([.leMeta: "LE Meta", .vendorSpecific: "Vendor Specific"]) { first, _ in first }
}

/// The first octet of the parameters of an LE meta event, which identifies it (Vol 4, Part E, 7.7.65). The number space
/// is open.
///
/// The code of each event is beside the event's declaration.
public struct LESubeventCode: AssignedNumber {
  public var rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let spaceName: StaticString = "LE subevent"
  public static let names: [Self: StaticString] = HCI.leEvents.mapValues { $0.name }
}

/// An event from controller to host, decoded (Vol 4, Part E, 7.7).
///
/// ```swift
/// switch try HCIEvent(decoding: octets).parameters {
/// case let event as HCI.LEConnectionComplete: print(event.connectionHandle)
/// case let event as HCI.DisconnectionComplete: print(event.reason)
/// default: break
/// }
/// ```
public enum HCIEvent: Sendable {
  /// An event whose parameters are declared here, LE meta events included.
  case declared(any HCIEventParameters)
  /// A vendor's event, or one of a later version of the specification, kept as octets.
  case undeclared(HCIEventPacket)

  /// The event with these parameters.
  public init(_ parameters: some HCIEventParameters) { self = .declared(parameters) }

  /// Reads the parameters of the event in `packet`.
  ///
  /// - Throws: ``/BLEWire/CodecError`` if the parameters of a declared event are malformed.
  public init(_ packet: HCIEventPacket) throws(CodecError) {
    var octets = packet.parameters
    var type: (any HCIEventParameters.Type)?
    if packet.eventCode == .leMeta {
      guard let subevent = octets.popFirst() else { throw .truncated(field: "Subevent_Code") }
      type = HCI.leEvents[LESubeventCode(rawValue: subevent)]
    } else {
      type = HCI.events[packet.eventCode]
    }
    if let type { self = .declared(try type.init(decoding: octets)) } else { self = .undeclared(packet) }
  }

  /// Reads an event packet that fills `octets` exactly: event code, length, parameters; without a packet indicator.
  ///
  /// - Throws: ``/BLEWire/CodecError`` if the packet, or the parameters of a declared event, are malformed.
  public init(decoding octets: Bytes) throws(CodecError) {
    try self.init(HCIEventPacket(decoding: octets))
  }

  /// The octet that identifies the event.
  public var eventCode: HCIEventCode {
    switch self {
    case .declared(let parameters): type(of: parameters).eventCode
    case .undeclared(let packet): packet.eventCode
    }
  }

  /// The decoded parameters; nil for an event that is not declared here.
  public var parameters: (any HCIEventParameters)? {
    if case .declared(let parameters) = self { parameters } else { nil }
  }

  /// The event as a packet, without a packet indicator.
  public var packet: HCIEventPacket {
    switch self {
    case .undeclared(let packet): return packet
    case .declared(let parameters):
      var octets: [UInt8] = []
      parameters.encodeEventParameters(to: &octets)
      return HCIEventPacket {
        $0.eventCode = eventCode
        $0.parameters = octets[...]
      }
    }
  }
}

extension HCIEvent: Equatable {
  /// Whether both are the same event with equal parameters.
  public static func == (a: Self, b: Self) -> Bool {
    switch (a, b) {
    case (.declared(let a), .declared(let b)): a.isEqual(to: b)
    case (.undeclared(let a), .undeclared(let b)): a == b
    default: false
    }
  }
}

extension HCIEvent: CustomStringConvertible {
  /// The name and each field: `Hardware Error (0x10) (0..<1  Hardware_Code: 0x42)`.
  public var description: String {
    switch self {
    case .undeclared(let packet): return "\(packet.eventCode) \(packet.parameters.hexadecimal)"
    case .declared(let parameters):
      let code =
        (parameters as? any LEEventParameters).map { "\(type(of: $0).subeventCode)" } ?? "\(eventCode)"
      let lines = parameters.fieldLines
      return lines.isEmpty ? code : "\(code) (\(lines.joined(separator: ", ")))"
    }
  }
}

extension HCI.CommandComplete {
  /// Reads the return parameters of the command.
  ///
  /// ```swift
  /// let version = try complete.response(to: HCI.ReadLocalVersionInformation.self).hciVersion
  /// ```
  public func response<Command: HCICommand>(to command: Command.Type) throws(CodecError) -> Command.Response {
    try Command.Response(returned: returnParameters)
  }
}
