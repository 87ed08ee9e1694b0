public import BLEATT
public import BLEWire

/// The client half of GATT on one link: the procedures of Vol 3, Part G, 4, one at a time, over one ATT bearer.
public struct GATTClient: Sendable {
  /// What is bounded, and how far.
  public struct Limits: Hashable, Sendable {
    /// Operations that wait for their turn. One more ends at once with ``ClientError/tooManyOperations(limit:)``.
    public var waitingOperations = 256
    /// Services, characteristics, descriptors or values of one operation. One more ends it with
    /// ``ClientError/tooManyResults(limit:)``.
    public var results = 4096

    public init() {}
  }

  public init(limits: Limits = Limits()) {}

  /// The ATT_MTU in force on the link; a server on the same bearer that agreed on another one tells it here.
  public var mtu: Int {
    get { ATT.defaultMTU }
    set {}
  }

  /// Whether the link is encrypted; the host keeps it up to date. Decides how a signed write travels.
  public var isLinkEncrypted = false

  /// Whether commands (writes without response) are held back: the host sets it while the link's queue is full, with
  /// ``setCongested(_:now:into:)``.
  public var isCongested: Bool { false }

  /// When ``tick(now:into:)`` must be called, if at all.
  public var deadline: Instant? { nil }

  /// Whether a PDU with this opcode is meant for the client half of the bearer: responses, notifications, indications.
  public static func takes(_ opcode: ATTOpcode) -> Bool { false }

  /// Begins an operation, or keeps it for its turn.
  public mutating func perform(_ operation: ClientOperation, now: Instant, into output: inout ClientOutput) {}

  /// Takes one PDU of the server.
  public mutating func receive(_ pdu: Span<UInt8>, now: Instant, into output: inout ClientOutput) {}

  /// Says whether the link takes more commands.
  public mutating func setCongested(_ isCongested: Bool, now: Instant, into output: inout ClientOutput) {}

  /// Ends what has waited too long.
  public mutating func tick(now: Instant, into output: inout ClientOutput) {}

  /// The link is gone: everything that waits ends with ``ClientError/linkEnded``.
  public mutating func linkEnded(into output: inout ClientOutput) {}
}
