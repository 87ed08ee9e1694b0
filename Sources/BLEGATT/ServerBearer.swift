public import BLEATT
public import BLEWire

/// The server's end of one ATT bearer: everything one client's requests need but the database, which all clients share.
public struct ServerBearer: Sendable {
  public let limits: ServerLimits
  /// The ATT_MTU in force.
  public private(set) var mtu = ATT.defaultMTU

  public init(limits: ServerLimits = ServerLimits()) { self.limits = limits }

  /// When ``tick(now:security:database:into:)`` wants to be called next.
  public var deadline: Instant? { nil }

  /// Takes one PDU from the client.
  public mutating func receive(
    _ pdu: Span<UInt8>, security: LinkSecurity, database: inout AttributeDatabase, now: Instant,
    into output: inout ServerOutput
  ) {}

  /// Takes the application's answer to a request.
  ///
  /// - Returns: false where the request was answered before, timed out, or never was one of this bearer's.
  public mutating func respond(
    to token: RequestToken, with response: ApplicationResponse, security: LinkSecurity,
    database: inout AttributeDatabase, now: Instant, into output: inout ServerOutput
  ) -> Bool { false }

  /// Sends a characteristic value the way the client configured: as a notification, else as an indication. What does
  /// not fit into ATT_MTU - 3 octets is cut off.
  public mutating func notify(
    _ attribute: AttributeID, _ value: Span<UInt8>, security: LinkSecurity, database: AttributeDatabase, now: Instant,
    into output: inout ServerOutput
  ) -> UpdateOutcome { .unknownAttribute }

  /// Tells the client that the attributes in `range` came, went or changed: indicated where the client configured
  /// Service Changed, and every client with robust caching becomes change-unaware (Vol 3, Part G, 2.5.2 and 7.1).
  /// To be called for each link after the database changed.
  public mutating func serviceChanged(
    _ range: ClosedRange<AttributeHandle>, database: AttributeDatabase, now: Instant, into output: inout ServerOutput
  ) {}

  /// What the client subscribed to.
  public func subscription(to attribute: AttributeID, database: AttributeDatabase) -> Subscription { [] }

  /// Every characteristic value the client subscribed to.
  public func subscriptions(database: AttributeDatabase) -> [AttributeID: Subscription] { [:] }

  /// Lets time pass: ends what took too long.
  public mutating func tick(
    now: Instant, security: LinkSecurity, database: inout AttributeDatabase, into output: inout ServerOutput
  ) {}

  /// What to keep of a bonded client.
  public func record(database: AttributeDatabase) -> ClientRecord { ClientRecord() }

  /// Gives a bonded client back what it had configured. Where the database changed since, Service Changed is indicated
  /// for all of it.
  public mutating func restore(
    _ record: ClientRecord, database: AttributeDatabase, now: Instant, into output: inout ServerOutput
  ) {}
}
