public import BLEWire

extension SignallingCode {
  /// L2CAP_COMMAND_REJECT_RSP.
  public static let commandReject = Self(rawValue: 0x01)
  /// L2CAP_DISCONNECTION_REQ.
  public static let disconnectionRequest = Self(rawValue: 0x06)
  /// L2CAP_DISCONNECTION_RSP.
  public static let disconnectionResponse = Self(rawValue: 0x07)
  /// L2CAP_CONNECTION_PARAMETER_UPDATE_REQ.
  public static let connectionParameterUpdateRequest = Self(rawValue: 0x12)
  /// L2CAP_CONNECTION_PARAMETER_UPDATE_RSP.
  public static let connectionParameterUpdateResponse = Self(rawValue: 0x13)
  /// L2CAP_LE_CREDIT_BASED_CONNECTION_REQ.
  public static let leCreditBasedConnectionRequest = Self(rawValue: 0x14)
  /// L2CAP_LE_CREDIT_BASED_CONNECTION_RSP.
  public static let leCreditBasedConnectionResponse = Self(rawValue: 0x15)
  /// L2CAP_FLOW_CONTROL_CREDIT_IND.
  public static let flowControlCredit = Self(rawValue: 0x16)
  /// L2CAP_CREDIT_BASED_CONNECTION_REQ.
  public static let creditBasedConnectionRequest = Self(rawValue: 0x17)
  /// L2CAP_CREDIT_BASED_CONNECTION_RSP.
  public static let creditBasedConnectionResponse = Self(rawValue: 0x18)
  /// L2CAP_CREDIT_BASED_RECONFIGURE_REQ.
  public static let creditBasedReconfigureRequest = Self(rawValue: 0x19)
  /// L2CAP_CREDIT_BASED_RECONFIGURE_RSP.
  public static let creditBasedReconfigureResponse = Self(rawValue: 0x1A)
}

/// L2CAP_COMMAND_REJECT_RSP (Vol 3, Part A, 4.1).
public struct CommandReject: SignallingPacket {
  public static let code = SignallingCode.commandReject
  public static let name: StaticString = "Command Reject Response"
  /// The reason of the rejection.
  public var reason = CommandRejectReason.commandNotUnderstood
  /// Data whose format depends on the reason; ``mtu`` and ``channels`` decode it.
  public var data: Bytes = []

  public init() {}

  /// A reject with ``CommandRejectReason/signallingMTUExceeded``: the signalling channel accepts PDUs of at most `mtu`
  /// octets.
  public init(mtuExceeded mtu: UInt16) {
    reason = .signallingMTUExceeded
    var octets: [UInt8] = []
    octets.append(littleEndian: mtu)
    data = octets[...]
  }

  /// A reject with ``CommandRejectReason/invalidCIDInRequest``: the channel does not exist. `local` and `remote` are
  /// seen from the sender of the reject.
  public init(invalidChannel local: ChannelID, remote: ChannelID) {
    reason = .invalidCIDInRequest
    var octets: [UInt8] = []
    octets.append(littleEndian: local.rawValue)
    octets.append(littleEndian: remote.rawValue)
    data = octets[...]
  }

  /// The MTU in octets, from the data of ``CommandRejectReason/signallingMTUExceeded``.
  public var mtu: UInt16? {
    reason == .signallingMTUExceeded && data.count == 2 ? data.span.uint16(at: 0) : nil
  }

  /// The channels, from the data of ``CommandRejectReason/invalidCIDInRequest``; nil for another reason.
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
  public static let name: StaticString = "Disconnection Request"
  /// The channel in the numbers of the receiver of the request.
  public var destinationCID = ChannelID.null
  /// The channel in the numbers of the sender of the request.
  public var sourceCID = ChannelID.null

  public init() {}
  /// A request to close a channel.
  public init(destinationCID: ChannelID, sourceCID: ChannelID) {
    self.destinationCID = destinationCID
    self.sourceCID = sourceCID
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Destination CID", &destinationCID)
    try field.value("Source CID", &sourceCID)
  }
}

/// L2CAP_DISCONNECTION_RSP (Vol 3, Part A, 4.7). The channels are those of the request.
public struct DisconnectionResponse: SignallingPacket {
  public static let code = SignallingCode.disconnectionResponse
  public static let name: StaticString = "Disconnection Response"
  /// The channel in the numbers of the receiver of the request.
  public var destinationCID = ChannelID.null
  /// The channel in the numbers of the sender of the request.
  public var sourceCID = ChannelID.null

  public init() {}
  /// The response to a request with these channels.
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
  public static let name: StaticString = "Connection Parameter Update Request"
  /// The smallest connection interval in units of 1.25 ms, 6 to 3200.
  public var intervalMin: UInt16 = 0
  /// The largest connection interval in units of 1.25 ms, 6 to 3200, not below ``intervalMin``.
  public var intervalMax: UInt16 = 0
  /// The number of connection events that the peripheral may skip, 0 to 499.
  public var latency: UInt16 = 0
  /// The supervision timeout in units of 10 ms, 10 to 3200.
  public var timeout: UInt16 = 0

  public init() {}
  /// A request for these parameters.
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
  public static let name: StaticString = "Connection Parameter Update Response"
  /// Whether the central accepts the parameters.
  public var result = ConnectionParameterUpdateResult.accepted

  public init() {}
  /// A response with the given result.
  public init(result: ConnectionParameterUpdateResult) { self.result = result }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Result", &result)
  }
}

/// L2CAP_LE_CREDIT_BASED_CONNECTION_REQ (Vol 3, Part A, 4.22): opens one channel.
public struct LECreditBasedConnectionRequest: SignallingPacket {
  public static let code = SignallingCode.leCreditBasedConnectionRequest
  public static let name: StaticString = "LE Credit Based Connection Request"
  /// The service.
  public var spsm = SPSM(rawValue: 0)
  /// The number of the channel at the sender.
  public var sourceCID = ChannelID.null
  /// The largest SDU that the sender accepts, in octets.
  public var mtu: UInt16 = 0
  /// The largest payload of a frame that the sender accepts, in octets.
  public var mps: UInt16 = 0
  /// The number of frames that the receiver may send.
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

/// L2CAP_LE_CREDIT_BASED_CONNECTION_RSP (Vol 3, Part A, 4.23). In a rejection, all fields but the result are zero.
public struct LECreditBasedConnectionResponse: SignallingPacket {
  public static let code = SignallingCode.leCreditBasedConnectionResponse
  public static let name: StaticString = "LE Credit Based Connection Response"
  /// The number of the channel at the sender of the response.
  public var destinationCID = ChannelID.null
  /// The largest SDU that the sender accepts, in octets.
  public var mtu: UInt16 = 0
  /// The largest payload of a frame that the sender accepts, in octets.
  public var mps: UInt16 = 0
  /// The number of frames that the receiver may send.
  public var initialCredits: UInt16 = 0
  /// Whether the channel is open.
  public var result = CreditBasedConnectionResult.successful

  public init() {}
  /// A response that rejects the channel.
  public init(rejected result: CreditBasedConnectionResult) { self.result = result }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Destination CID", &destinationCID)
    try field.integer("MTU", &mtu)
    try field.integer("MPS", &mps)
    try field.integer("Initial Credits", &initialCredits)
    try field.value("Result", &result)
  }
}

/// L2CAP_FLOW_CONTROL_CREDIT_IND (Vol 3, Part A, 4.24). It has no response.
public struct FlowControlCredit: SignallingPacket {
  public static let code = SignallingCode.flowControlCredit
  public static let name: StaticString = "Flow Control Credit Indication"
  /// The channel in the numbers of the sender.
  public var channel = ChannelID.null
  /// The number of further frames that the receiver may send.
  public var credits: UInt16 = 0

  public init() {}

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("CID", &channel)
    try field.integer("Credits", &credits)
  }
}

/// L2CAP_CREDIT_BASED_CONNECTION_REQ (Vol 3, Part A, 4.25): opens one to five channels.
public struct CreditBasedConnectionRequest: SignallingPacket {
  public static let code = SignallingCode.creditBasedConnectionRequest
  public static let name: StaticString = "Credit Based Connection Request"
  /// The service.
  public var spsm = SPSM(rawValue: 0)
  /// The largest SDU that the sender accepts, in octets.
  public var mtu: UInt16 = 0
  /// The largest payload of a frame that the sender accepts, in octets.
  public var mps: UInt16 = 0
  /// The number of frames that the receiver may send on each channel.
  public var initialCredits: UInt16 = 0
  /// The numbers of the channels at the sender. The codec accepts any count; a response rejects none and more than
  /// five.
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

/// L2CAP_CREDIT_BASED_CONNECTION_RSP (Vol 3, Part A, 4.26): the response for all channels of the request.
public struct CreditBasedConnectionResponse: SignallingPacket {
  public static let code = SignallingCode.creditBasedConnectionResponse
  public static let name: StaticString = "Credit Based Connection Response"
  /// The largest SDU that the sender accepts, in octets.
  public var mtu: UInt16 = 0
  /// The largest payload of a frame that the sender accepts, in octets.
  public var mps: UInt16 = 0
  /// The number of frames that the receiver may send on each channel.
  public var initialCredits: UInt16 = 0
  /// Whether the channels are open.
  public var result = CreditBasedConnectionResult.successful
  /// The number at the sender for each channel of the request, in the same order; null for a rejected channel.
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

/// L2CAP_CREDIT_BASED_RECONFIGURE_REQ (Vol 3, Part A, 4.27): changes MTU and MPS of open channels.
public struct CreditBasedReconfigureRequest: SignallingPacket {
  public static let code = SignallingCode.creditBasedReconfigureRequest
  public static let name: StaticString = "Credit Based Reconfigure Request"
  /// The largest SDU that the sender accepts, in octets.
  public var mtu: UInt16 = 0
  /// The largest payload of a frame that the sender accepts, in octets.
  public var mps: UInt16 = 0
  /// The channels, in the numbers of the sender.
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
  public static let name: StaticString = "Credit Based Reconfigure Response"
  /// Whether the channels have the new parameters.
  public var result = CreditBasedReconfigureResult.successful

  public init() {}
  /// A response with the given result.
  public init(result: CreditBasedReconfigureResult) { self.result = result }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Result", &result)
  }
}
