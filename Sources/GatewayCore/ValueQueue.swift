public import Foundation

/// The messages that the broker must get: subscribed values and answers, in order.
///
/// A message is kept until the broker has acknowledged it (QoS 1). When more than ``limit`` wait, the oldest that was not sent makes
/// room and is counted as lost; the count is a message of its own at the place of the lost ones.
public struct ValueQueue: Sendable {
  /// A message to the broker.
  public struct Message: Equatable, Sendable {
    public var topic: String
    public var payload: Data
    public var isRetained: Bool

    public init(topic: String, payload: Data, isRetained: Bool = false) {
      self.topic = topic
      self.payload = payload
      self.isRetained = isRetained
    }
  }

  /// Values that were not kept.
  public struct Loss: Encodable, Equatable, Sendable {
    public var values = 0
    /// When the first and the last of them were received.
    public var first: Date
    public var last: Date
  }

  /// Messages on the way to the broker that it has not acknowledged.
  public static let inFlightLimit = 20

  public let limit: Int
  /// Waiting messages, the oldest at ``head``.
  private var waiting: [(message: Message, received: Date)] = []
  private var head = 0
  private var inFlight: Set<Int32> = []
  private var loss: Loss?
  /// All values that were lost since the start.
  public private(set) var lost = 0
  /// All messages that the broker has acknowledged since the start.
  public private(set) var acknowledged = 0

  /// - Parameter limit: messages that wait or are on the way, at least 1.
  public init(limit: Int) { self.limit = max(1, limit) }

  /// Messages that wait or are on the way.
  public var count: Int { waiting.count - head + inFlight.count }

  /// Adds a message.
  public mutating func append(_ message: Message, at time: Date) {
    // Messages on the way are in the hands of the library: they count, and cannot make room.
    while count >= limit, head < waiting.count { drop() }
    if count >= limit { return note(time) }
    waiting.append((message, time))
  }

  private mutating func drop() {
    note(waiting[head].received)
    advance()
  }

  private mutating func note(_ time: Date) {
    lost += 1
    var loss = loss ?? Loss(first: time, last: time)
    loss.values += 1
    loss.last = time
    self.loss = loss
  }

  private mutating func advance() {
    head += 1
    // The room of what was taken is given back in parts, not with each message.
    guard head > 64, head * 2 > waiting.count else { return }
    waiting.removeFirst(head)
    head = 0
  }

  /// What to send next.
  public enum Next: Equatable, Sendable {
    /// The report of a loss, which comes before the messages that were kept.
    case loss(Loss)
    case message(Message)
  }

  /// The next message; nil while none waits, or as many are on the way as may be.
  public var next: Next? {
    guard inFlight.count < Self.inFlightLimit else { return nil }
    if let loss { return .loss(loss) }
    return head < waiting.count ? .message(waiting[head].message) : nil
  }

  /// ``next`` is on the way, with this identifier.
  public mutating func sent(_ identifier: Int32) {
    inFlight.insert(identifier)
    if loss != nil {
      loss = nil
    } else if head < waiting.count {
      advance()
    }
  }

  /// The broker has acknowledged a message. Unknown identifiers are those of messages that did not come from this queue.
  public mutating func acknowledged(_ identifier: Int32) {
    guard inFlight.remove(identifier) != nil else { return }
    acknowledged += 1
  }
}
