public import BLEATT
public import BLEWire

/// Names one request that waits for the application's answer; good for one answer.
public struct RequestToken: Hashable, Sendable {
  let number: UInt64
}

extension GATTServer {
  /// What a server bearer produces: PDUs for the client and events for the application, in order. One is reused for all.
  public struct Output: Sendable {
    public var pdus = PacketBuffer()
    public var events: [GATTServer.Event] = []

    public init() {}

    /// Forgets what was drained and keeps the memory.
    @inlinable public mutating func removeAll() {
      pdus.removeAll()
      if !events.isEmpty { events.removeAll(keepingCapacity: true) }
    }
  }
}

extension GATTServer {
  /// What a client did that the application has to answer, or may want to know.
  public enum Event: Equatable, Sendable {
    /// A dynamic value is asked for, from `offset` on: answer with ``GATTServer/respond(to:with:security:database:now:into:)``.
    case read(RequestToken, AttributeID, offset: Int)
    /// Dynamic values are written. Without a token it is a command, which is not answered; with one, the parts take
    /// effect together or not at all. `isPrepared`: they were queued by prepared writes.
    case write(RequestToken?, [WritePart], isPrepared: Bool)
    /// A client wrote a stored value; ``AttributeDatabase/storedValue(of:)`` has it.
    case stored(AttributeID)
    /// The client changed its configuration of the characteristic with this value.
    case subscription(AttributeID, Subscription)
    /// The MTU exchange raised the ATT_MTU to this.
    case mtuChanged(Int)
    /// The client confirmed an indication of this value.
    case indicationConfirmed(AttributeID)
    /// An indication of this value, the newest that waited, is not sent: the client unsubscribed, the service has gone, or the
    /// link is not secure enough any more.
    case indicationDiscarded(AttributeID)
    /// The client did not confirm an indication in 30 seconds: the bearer is finished and the link should be ended
    /// (Vol 3, Part F, 3.3.3).
    case indicationTimedOut(AttributeID?)
    /// The application left this request unanswered; the client was answered Unlikely Error.
    case requestTimedOut(RequestToken)
    /// The client sent more PDUs than are kept while a request waits, and one was dropped.
    case pduDropped
    /// The client sent something that no client may send.
    case violation(ProtocolViolation)
  }
}

/// How a client departed from the protocol without being owed an error response.
public enum ProtocolViolation: Hashable, Sendable {
  /// A confirmation, and no indication waits for one.
  case unexpectedConfirmation
  /// A PDU that only servers send arrived at the server.
  case unexpectedPDU(ATTOpcode)
  /// A PDU longer than the ATT_MTU.
  case exceedsMTU(octets: Int)
  /// A request while another one waits for its answer; it was kept and is answered in turn.
  case requestWhileOneIsPending
  /// A second MTU exchange; answered, and without effect.
  case repeatedMTUExchange
}

/// Octets a client writes into one attribute.
public struct WritePart: Hashable, Sendable {
  public var attribute: AttributeID
  /// Where they begin in the value; 0 but for prepared writes.
  public var offset: Int
  public var value: [UInt8]

  public init(attribute: AttributeID, offset: Int, value: [UInt8]) {
    self.attribute = attribute
    self.offset = offset
    self.value = value
  }
}

/// What a client wants to be told about a characteristic value: the bits of its Client Characteristic Configuration
/// descriptor (Vol 3, Part G, 3.3.3.3).
public struct Subscription: OptionSet, Hashable, Sendable {
  public var rawValue: UInt16
  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

  public static let notify = Self(rawValue: 0x0001)
  public static let indicate = Self(rawValue: 0x0002)
}

/// The application's answer to ``GATTServer/Event/read(_:_:offset:)`` or ``GATTServer/Event/write(_:_:isPrepared:)``.
public enum ApplicationResponse: Hashable, Sendable {
  /// To a read: the value from the offset asked for on. What the PDU cannot hold is cut off.
  case value(Bytes)
  /// To a write: it took effect.
  case success
  /// To either: refused. `attribute` names the one at fault in a write of several parts; nil is the first.
  case error(ATTErrorCode, attribute: AttributeID? = nil)
}

extension GATTServer {
  /// What became of a value that the application wants a client to know.
  public enum UpdateResult: Hashable, Sendable {
    /// In the output, or queued behind an indication that waits for its confirmation.
    case sent
    /// The client has not subscribed.
    case notSubscribed
    /// The characteristic demands more of a link for its updates (``CharacteristicDefinition/updateRequirement``).
    case insufficientSecurity
    /// ``GATTServer/Limits/maximumQueuedIndications`` indications wait already.
    case queueFull
    /// No published characteristic has this identifier.
    case unknownAttribute
    /// An indication was never confirmed: nothing can be sent on this bearer any more.
    case bearerFailed
  }
}
