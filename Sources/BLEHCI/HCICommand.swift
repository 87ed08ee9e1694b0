public import BLEWire

/// A command from host to controller, declared by its parameters in wire order (Vol 4, Part E, 5.4.1).
///
/// The controller answers with a Command Complete event that carries ``Response``, or with a Command Status event and,
/// when the work is done, with an event of its own; then ``Response`` is ``HCI/AnsweredByStatus``.
public protocol HCICommand: Packet {
  associatedtype Response: ReturnParameters = HCI.StatusResponse

  /// The 16 bits that identify the command.
  static var opcode: HCIOpcode { get }

  /// The name in plain words, such as `LE Set Scan Enable` for HCI_LE_Set_Scan_Enable.
  static var name: StaticString { get }

  /// The bit of the Supported_Commands parameter that stands for the command (Vol 4, Part E, 6.27); nil where there is none.
  static var supportedCommandsBit: HCI.SupportedCommands.Bit? { get }
}

extension HCICommand {
  public static var supportedCommandsBit: HCI.SupportedCommands.Bit? { nil }

  /// Whether a Command Status event is the expected answer.
  public static var isAnsweredByStatus: Bool { Response.self == HCI.AnsweredByStatus.self }
}

/// What a Command Complete event returns, the status first.
public protocol ReturnParameters: Packet {
  var status: HCIErrorCode { get set }
}

extension ReturnParameters {
  /// Reads the return parameters of a Command Complete event.
  ///
  /// A controller that refuses a command may return the status alone; the other fields keep their defaults then.
  /// Octets behind the last field are passed over: a later version of the specification may add to it.
  public init(returned octets: Bytes) throws(CodecError) {
    self.init()
    var decoder = Decoder(octets)
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
  /// Makes one with its defaults and lets `set` fill in the rest.
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

/// A command whose only parameter is the link it is about.
public protocol LinkCommand: HCICommand {
  var connectionHandle: ConnectionHandle { get set }
}

extension LinkCommand {
  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Connection_Handle", &connectionHandle)
  }
}

extension HCICommandPacket {
  /// The command in its declared form; nil where there is none for the opcode.
  ///
  /// - Throws: ``CodecError`` where the parameters are not those of the command.
  public func decoded() throws(CodecError) -> (any HCICommand)? {
    guard let type = HCI.commands[opcode] else { return nil }
    return try type.init(decoding: parameters)
  }
}

extension HCI.CommandComplete {
  /// The return parameters in their declared form; nil where there is none for the opcode.
  ///
  /// - Throws: ``CodecError`` where the octets are not what the command returns.
  public func decodedResponse() throws(CodecError) -> (any ReturnParameters)? {
    func read<Command: HCICommand>(_ type: Command.Type) throws(CodecError) -> any ReturnParameters {
      try Command.Response(returned: returnParameters)
    }
    guard let type = HCI.commands[opcode] else { return nil }
    return try read(type)
  }
}
