public import BLEWire

/// The parameters of an event, declared in wire order (Vol 4, Part E, 7.7).
public protocol HCIEventParameters: Packet {
  static var eventCode: HCIEventCode { get }
}

/// An event from controller to host, decoded (Vol 4, Part E, 7.7).
///
/// An event without a declaration is kept as octets, so that nothing a controller sends gets lost.
public enum HCIEvent: Equatable, Sendable {
  case disconnectionComplete(HCI.DisconnectionComplete)
  case encryptionChange(HCI.EncryptionChange)
  case readRemoteVersionInformationComplete(HCI.ReadRemoteVersionInformationComplete)
  case commandComplete(HCI.CommandComplete)
  case commandStatus(HCI.CommandStatus)
  case hardwareError(HCI.HardwareError)
  case numberOfCompletedPackets(HCI.NumberOfCompletedPackets)
  case dataBufferOverflow(HCI.DataBufferOverflow)
  case encryptionKeyRefreshComplete(HCI.EncryptionKeyRefreshComplete)
  case authenticatedPayloadTimeoutExpired(HCI.AuthenticatedPayloadTimeoutExpired)
  case encryptionChangeV2(HCI.EncryptionChangeV2)
  case leMeta(LEMetaEvent)
  /// Whatever the vendor of the controller put into event 0xFF.
  case vendorSpecific(Bytes)
  case unknown(HCIEventPacket)

  /// Reads the parameters of the event that `packet` frames.
  public init(_ packet: HCIEventPacket) throws(CodecError) {
    let octets = packet.parameters
    switch packet.eventCode {
    case .disconnectionComplete: self = .disconnectionComplete(try HCI.DisconnectionComplete(decoding: octets))
    case .encryptionChange: self = .encryptionChange(try HCI.EncryptionChange(decoding: octets))
    case .readRemoteVersionInformationComplete:
      self = .readRemoteVersionInformationComplete(try HCI.ReadRemoteVersionInformationComplete(decoding: octets))
    case .commandComplete: self = .commandComplete(try HCI.CommandComplete(decoding: octets))
    case .commandStatus: self = .commandStatus(try HCI.CommandStatus(decoding: octets))
    case .hardwareError: self = .hardwareError(try HCI.HardwareError(decoding: octets))
    case .numberOfCompletedPackets: self = .numberOfCompletedPackets(try HCI.NumberOfCompletedPackets(decoding: octets))
    case .dataBufferOverflow: self = .dataBufferOverflow(try HCI.DataBufferOverflow(decoding: octets))
    case .encryptionKeyRefreshComplete:
      self = .encryptionKeyRefreshComplete(try HCI.EncryptionKeyRefreshComplete(decoding: octets))
    case .authenticatedPayloadTimeoutExpired:
      self = .authenticatedPayloadTimeoutExpired(try HCI.AuthenticatedPayloadTimeoutExpired(decoding: octets))
    case .encryptionChangeV2: self = .encryptionChangeV2(try HCI.EncryptionChangeV2(decoding: octets))
    case .leMeta: self = .leMeta(try LEMetaEvent(decoding: octets))
    case .vendorSpecific: self = .vendorSpecific(octets)
    default: self = .unknown(packet)
    }
  }

  /// Reads an event packet that fills `octets` exactly: event code, length, parameters; no type octet in front.
  public init(decoding octets: Bytes) throws(CodecError) {
    try self.init(HCIEventPacket(decoding: octets))
  }

  public var eventCode: HCIEventCode {
    switch self {
    case .leMeta: .leMeta
    case .vendorSpecific: .vendorSpecific
    case .unknown(let packet): packet.eventCode
    default: declared.map { type(of: $0).eventCode } ?? HCIEventCode(rawValue: 0)
    }
  }

  /// The decoded parameters; nil for LE meta, vendor-specific and unknown events.
  public var declared: (any HCIEventParameters)? {
    switch self {
    case .disconnectionComplete(let event): event
    case .encryptionChange(let event): event
    case .readRemoteVersionInformationComplete(let event): event
    case .commandComplete(let event): event
    case .commandStatus(let event): event
    case .hardwareError(let event): event
    case .numberOfCompletedPackets(let event): event
    case .dataBufferOverflow(let event): event
    case .encryptionKeyRefreshComplete(let event): event
    case .authenticatedPayloadTimeoutExpired(let event): event
    case .encryptionChangeV2(let event): event
    case .leMeta, .vendorSpecific, .unknown: nil
    }
  }

  /// The event as a packet without the type octet in front.
  public var packet: HCIEventPacket {
    switch self {
    case .unknown(let packet): packet
    default:
      HCIEventPacket {
        $0.eventCode = eventCode
        $0.parameters = parameters
      }
    }
  }

  private var parameters: Bytes {
    switch self {
    case .leMeta(let event): event.encoded[...]
    case .vendorSpecific(let octets): octets
    case .unknown(let packet): packet.parameters
    default: declared.map { $0.encoded[...] } ?? []
    }
  }
}

extension HCI.CommandComplete {
  /// Reads what the command returned.
  ///
  /// ```swift
  /// let version = try complete.response(to: HCI.ReadLocalVersionInformation.self).hciVersion
  /// ```
  public func response<Command: HCICommand>(to command: Command.Type) throws(CodecError) -> Command.Response {
    try Command.Response(returned: returnParameters)
  }
}
