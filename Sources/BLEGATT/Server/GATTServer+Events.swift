public import BLEATT
public import BLEWire

extension GATTServer {
  /// The output of a server: PDUs for the client and events for the application, in order.
  ///
  /// One value can serve all servers: drain it after each call, then ``removeAll()``.
  public struct Output: Sendable {
    /// The PDUs for the client.
    public var pdus = PacketBuffer()
    /// The events for the application.
    public var events: [Event] = []
    /// A write command of a dynamic value, before ``events``; only in an output that separates commands. It avoids the
    /// array that an event would need for its only part.
    package var command: WritePart?
    private let separatesCommands: Bool
    /// The octets of the request that is being decoded; the memory is reused.
    var request: [UInt8] = []

    /// An empty output.
    public init() { separatesCommands = false }

    /// An empty output that stores its first event in ``command`` if that is a write command.
    package init(separatesCommands: Bool) { self.separatesCommands = separatesCommands }

    /// Whether there is nothing for the application.
    @inline(__always)
    package var hasNoEvents: Bool { command == nil && events.isEmpty }

    /// Appends a write command.
    mutating func append(command: WritePart) {
      if separatesCommands, hasNoEvents {
        self.command = command
      } else {
        events.append(.write(nil, [command], isPrepared: false))
      }
    }

    /// Removes the PDUs and events and keeps the memory.
    @inlinable public mutating func removeAll() {
      pdus.removeAll()
      if !events.isEmpty { removeEvents() }
    }

    /// Removes the events, of which there are few (Docs/Decisions/performance.md#in-place).
    @usableFromInline mutating func removeEvents() { events.removeFew() }
  }

  /// An action of the client that the application must answer or may use.
  public enum Event: Equatable, Sendable {
    /// The client reads a dynamic value from this offset on. The application answers with
    /// ``GATTServer/respond(to:with:security:database:now:into:)``.
    case read(RequestToken, AttributeID, offset: Int)
    /// The client writes dynamic values. With a token, the application answers, and the parts take effect together or
    /// not at all. Without a token it is a command, which has no response. `isPrepared`: the parts are prepared writes.
    case write(RequestToken?, [WritePart], isPrepared: Bool)
    /// The client wrote a stored value: ``AttributeDatabase/storedValue(of:)``.
    case stored(AttributeID)
    /// The client wrote the Client Characteristic Configuration descriptor of this characteristic.
    case subscription(AttributeID, Subscription)
    /// The client exchanged the ATT_MTU, in octets.
    case mtuChanged(Int)
    /// The client confirmed an indication of this value.
    case indicationConfirmed(AttributeID)
    /// The newest waiting indication of this value will not be sent: the client unsubscribed, the service was removed,
    /// or the link no longer meets ``CharacteristicDefinition/updateRequirement``.
    case indicationDiscarded(AttributeID)
    /// The client did not confirm an indication in time. The server has failed; disconnect the link (Vol 3, Part F,
    /// 3.3.3). Without an attribute, the indication was that of Service Changed.
    case indicationTimedOut(AttributeID?)
    /// The application did not answer this request in time; the client got Unlikely Error (0x0E).
    case requestTimedOut(RequestToken)
    /// A PDU from the client was dropped: ``Limits-swift.struct/maximumWaitingPDUs``.
    case pduDropped
    /// The client broke a rule of the protocol.
    case violation(ProtocolViolation)
  }

  /// The result of ``sendUpdate(of:value:security:database:now:into:)-(AttributeID,_,_,_,_,_)``.
  public enum UpdateResult: Hashable, Sendable {
    /// The notification or indication is in the output, or the indication waits for the confirmation of the one before.
    case sent
    /// The client has not subscribed.
    case notSubscribed
    /// The link does not meet ``CharacteristicDefinition/updateRequirement``.
    case insufficientSecurity
    /// ``Limits-swift.struct/maximumQueuedIndications`` indications wait.
    case queueFull
    /// The database has no characteristic with this identifier or handle.
    case unknownAttribute
    /// An indication was not confirmed in time: ``GATTServer/hasFailed``.
    case bearerFailed
  }
}

/// A request that the application must answer. It can be answered once.
public struct RequestToken: Hashable, Sendable {
  let number: UInt64
}

/// A breach of the protocol that has no Error Response.
public enum ProtocolViolation: Hashable, Sendable {
  /// A confirmation without an indication.
  case unexpectedConfirmation
  /// A PDU that only a server sends.
  case unexpectedPDU(ATTOpcode)
  /// A PDU of this length, which exceeds the ATT_MTU.
  case exceedsMTU(octets: Int)
  /// A request before the response to the previous one. The second request waits, and gets a response.
  case overlappingRequest
  /// A second Exchange MTU Request. It gets a response and has no effect.
  case repeatedMTUExchange
}

extension ProtocolViolation: CustomStringConvertible {
  /// The breach in words, with the name and the number of an opcode.
  public var description: String {
    switch self {
    case .unexpectedConfirmation: "\(ATTOpcode.handleValueConfirmation) without an indication"
    case .unexpectedPDU(let opcode): "\(opcode) received from a client"
    case .exceedsMTU(let octets): "PDU of \(octets) octets exceeds the ATT_MTU"
    case .overlappingRequest: "request before the response to the previous one"
    case .repeatedMTUExchange: "repeated \(ATTOpcode.exchangeMTURequest)"
    }
  }
}

/// The octets that a client writes to one attribute.
public struct WritePart: Hashable, Sendable {
  /// The attribute.
  public var attribute: AttributeID
  /// The offset in the value, in octets; 0 if it is not a prepared write.
  public var offset: Int
  /// The octets.
  public var value: [UInt8]

  /// A part with these fields.
  public init(attribute: AttributeID, offset: Int, value: [UInt8]) {
    self.attribute = attribute
    self.offset = offset
    self.value = value
  }
}

/// The bits of a Client Characteristic Configuration descriptor (Vol 3, Part G, 3.3.3.3).
public struct Subscription: AssignedBits {
  public var rawValue: UInt16
  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// The client receives notifications (0x0001).
  public static let notify = Self(rawValue: 0x0001)
  /// The client receives indications (0x0002).
  public static let indicate = Self(rawValue: 0x0002)

  public static let names: [Self: StaticString] = [.notify: "Notification", .indicate: "Indication"]
}

/// The application's answer to ``GATTServer/Event/read(_:_:offset:)`` or ``GATTServer/Event/write(_:_:isPrepared:)``.
public enum ApplicationResponse: Hashable, Sendable {
  /// For a read: the value from the requested offset on. The server truncates it to the length of the response.
  case value(Bytes)
  /// For a write: the value was written.
  case success
  /// The request is rejected. In a write of several parts, `attribute` is the one at fault; nil is the first.
  case error(ATTErrorCode, attribute: AttributeID? = nil)
}
