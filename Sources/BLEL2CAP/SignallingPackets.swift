public import BLEWire

/// The parameters of one signalling command: what follows its code, identifier and length (Vol 3, Part A, 4).
public protocol SignallingPacket: Packet {
  static var code: SignallingCode { get }
}

/// L2CAP_COMMAND_REJECT_RSP (Vol 3, Part A, 4.1).
public struct CommandReject: SignallingPacket {
  public static let code = SignallingCode.commandReject
  public var reason = CommandRejectReason.commandNotUnderstood
  /// Its meaning hangs on the reason; ``mtu`` and ``channels`` read it.
  public var data: Bytes = []

  public init() {}

  /// "The signalling channel takes PDUs of `mtu` octets at most."
  public init(mtuExceeded mtu: UInt16) {
    reason = .signallingMTUExceeded
    var octets: [UInt8] = []
    octets.append(littleEndian: mtu)
    data = octets[...]
  }

  /// "There is no such channel." The channels are named as the sender of this reject sees them.
  public init(invalidChannel local: ChannelID, remote: ChannelID) {
    reason = .invalidCIDInRequest
    var octets: [UInt8] = []
    octets.append(littleEndian: local.rawValue)
    octets.append(littleEndian: remote.rawValue)
    data = octets[...]
  }

  /// The MTU in the data of ``CommandRejectReason/signallingMTUExceeded``.
  public var mtu: UInt16? {
    reason == .signallingMTUExceeded && data.count == 2 ? data.span.uint16(at: 0) : nil
  }

  /// The channels in the data of ``CommandRejectReason/invalidCIDInRequest``.
  public var channels: (local: ChannelID, remote: ChannelID)? {
    guard reason == .invalidCIDInRequest, data.count == 4 else { return nil }
    guard let local = data.span.uint16(at: 0), let remote = data.span.uint16(at: 2) else { return nil }
    return (ChannelID(rawValue: local), ChannelID(rawValue: remote))
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Reason", &reason)
    try field.rest("Reason Data", &data)
  }
}

/// L2CAP_DISCONNECTION_REQ (Vol 3, Part A, 4.6).
public struct DisconnectionRequest: SignallingPacket {
  public static let code = SignallingCode.disconnectionRequest
  /// The channel as the receiver of the request numbers it.
  public var destinationCID = ChannelID.null
  /// The channel as the sender of the request numbers it.
  public var sourceCID = ChannelID.null

  public init() {}
  public init(destinationCID: ChannelID, sourceCID: ChannelID) {
    self.destinationCID = destinationCID
    self.sourceCID = sourceCID
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Destination CID", &destinationCID)
    try field.value("Source CID", &sourceCID)
  }
}

/// L2CAP_DISCONNECTION_RSP (Vol 3, Part A, 4.7). The channels are those of the request, unchanged.
public struct DisconnectionResponse: SignallingPacket {
  public static let code = SignallingCode.disconnectionResponse
  public var destinationCID = ChannelID.null
  public var sourceCID = ChannelID.null

  public init() {}
  public init(destinationCID: ChannelID, sourceCID: ChannelID) {
    self.destinationCID = destinationCID
    self.sourceCID = sourceCID
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Destination CID", &destinationCID)
    try field.value("Source CID", &sourceCID)
  }
}

/// L2CAP_CONNECTION_PARAMETER_UPDATE_REQ (Vol 3, Part A, 4.20).
public struct ConnectionParameterUpdateRequest: SignallingPacket {
  public static let code = SignallingCode.connectionParameterUpdateRequest
  /// In units of 1.25 ms, 6 to 3200.
  public var intervalMin: UInt16 = 0
  /// In units of 1.25 ms, 6 to 3200, not below ``intervalMin``.
  public var intervalMax: UInt16 = 0
  /// How many connection events the peripheral may skip, 0 to 499.
  public var latency: UInt16 = 0
  /// The supervision timeout in units of 10 ms, 10 to 3200.
  public var timeout: UInt16 = 0

  public init() {}
  public init(intervalMin: UInt16, intervalMax: UInt16, latency: UInt16, timeout: UInt16) {
    self.intervalMin = intervalMin
    self.intervalMax = intervalMax
    self.latency = latency
    self.timeout = timeout
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Interval Min", &intervalMin)
    try field.integer("Interval Max", &intervalMax)
    try field.integer("Latency", &latency)
    try field.integer("Timeout", &timeout)
  }
}

/// L2CAP_CONNECTION_PARAMETER_UPDATE_RSP (Vol 3, Part A, 4.21).
public struct ConnectionParameterUpdateResponse: SignallingPacket {
  public static let code = SignallingCode.connectionParameterUpdateResponse
  public var result = ConnectionParameterUpdateResult.accepted

  public init() {}
  public init(result: ConnectionParameterUpdateResult) { self.result = result }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Result", &result)
  }
}

/// L2CAP_LE_CREDIT_BASED_CONNECTION_REQ (Vol 3, Part A, 4.22).
public struct LECreditBasedConnectionRequest: SignallingPacket {
  public static let code = SignallingCode.leCreditBasedConnectionRequest
  public var spsm = SPSM(rawValue: 0)
  public var sourceCID = ChannelID.null
  /// The largest SDU the sender takes, in octets.
  public var mtu: UInt16 = 0
  /// The largest payload of a frame the sender takes, in octets.
  public var mps: UInt16 = 0
  public var initialCredits: UInt16 = 0

  public init() {}

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("SPSM", &spsm)
    try field.value("Source CID", &sourceCID)
    try field.integer("MTU", &mtu)
    try field.integer("MPS", &mps)
    try field.integer("Initial Credits", &initialCredits)
  }
}

/// L2CAP_LE_CREDIT_BASED_CONNECTION_RSP (Vol 3, Part A, 4.23). All but the result is zero in a refusal.
public struct LECreditBasedConnectionResponse: SignallingPacket {
  public static let code = SignallingCode.leCreditBasedConnectionResponse
  public var destinationCID = ChannelID.null
  public var mtu: UInt16 = 0
  public var mps: UInt16 = 0
  public var initialCredits: UInt16 = 0
  public var result = CreditBasedConnectionResult.successful

  public init() {}
  public init(refused result: CreditBasedConnectionResult) { self.result = result }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Destination CID", &destinationCID)
    try field.integer("MTU", &mtu)
    try field.integer("MPS", &mps)
    try field.integer("Initial Credits", &initialCredits)
    try field.value("Result", &result)
  }
}

/// L2CAP_FLOW_CONTROL_CREDIT_IND (Vol 3, Part A, 4.24). It is never answered.
public struct FlowControlCredit: SignallingPacket {
  public static let code = SignallingCode.flowControlCredit
  /// The channel as the sender numbers it.
  public var channel = ChannelID.null
  /// How many more frames the sender takes.
  public var credits: UInt16 = 0

  public init() {}

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("CID", &channel)
    try field.integer("Credits", &credits)
  }
}

/// L2CAP_CREDIT_BASED_CONNECTION_REQ (Vol 3, Part A, 4.25): one to five channels at once.
public struct CreditBasedConnectionRequest: SignallingPacket {
  public static let code = SignallingCode.creditBasedConnectionRequest
  public var spsm = SPSM(rawValue: 0)
  public var mtu: UInt16 = 0
  public var mps: UInt16 = 0
  public var initialCredits: UInt16 = 0
  /// The codec keeps any number; more than five, or none, is refused by who answers.
  public var sourceCIDs: [ChannelID] = []

  public init() {}

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("SPSM", &spsm)
    try field.integer("MTU", &mtu)
    try field.integer("MPS", &mps)
    try field.integer("Initial Credits", &initialCredits)
    try field.rest("Source CID", &sourceCIDs)
  }
}

/// L2CAP_CREDIT_BASED_CONNECTION_RSP (Vol 3, Part A, 4.26).
public struct CreditBasedConnectionResponse: SignallingPacket {
  public static let code = SignallingCode.creditBasedConnectionResponse
  public var mtu: UInt16 = 0
  public var mps: UInt16 = 0
  public var initialCredits: UInt16 = 0
  public var result = CreditBasedConnectionResult.successful
  /// One for each channel asked for, in that order; null for one that was refused.
  public var destinationCIDs: [ChannelID] = []

  public init() {}

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("MTU", &mtu)
    try field.integer("MPS", &mps)
    try field.integer("Initial Credits", &initialCredits)
    try field.value("Result", &result)
    try field.rest("Destination CID", &destinationCIDs)
  }
}

/// L2CAP_CREDIT_BASED_RECONFIGURE_REQ (Vol 3, Part A, 4.27).
public struct CreditBasedReconfigureRequest: SignallingPacket {
  public static let code = SignallingCode.creditBasedReconfigureRequest
  public var mtu: UInt16 = 0
  public var mps: UInt16 = 0
  public var destinationCIDs: [ChannelID] = []

  public init() {}

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("MTU", &mtu)
    try field.integer("MPS", &mps)
    try field.rest("Destination CID", &destinationCIDs)
  }
}

/// L2CAP_CREDIT_BASED_RECONFIGURE_RSP (Vol 3, Part A, 4.28).
public struct CreditBasedReconfigureResponse: SignallingPacket {
  public static let code = SignallingCode.creditBasedReconfigureResponse
  public var result = CreditBasedReconfigureResult.successful

  public init() {}
  public init(result: CreditBasedReconfigureResult) { self.result = result }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Result", &result)
  }
}
