public import BLEWire
public import FoundationEssentials

/// The messages that the broker must get: subscribed values and answers, in order.
///
/// A message is kept until the broker has acknowledged it (QoS 1). When more than ``limit`` wait, the device with the
/// most messages loses its oldest message that was not sent, which is counted as lost: a device that sends without end
/// loses its own messages. The count is a message of its own before those that were kept.
///
/// Retained messages can be published again. They follow those that wait, and have the latest payload of their topics.
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
  /// Waiting messages, the oldest at ``head``; nil for a message that was sent or dropped.
  private var waiting: [(message: Message?, device: DeviceAddress?, received: Date)] = []
  private var head = 0
  /// The messages of each device that wait; nil is the gateway itself.
  private var shares: [DeviceAddress?: Int] = [:]
  private var waitingCount = 0
  private var inFlight: Set<Int32> = []
  private var loss: Loss?
  private var retained = RetainedMessages()
  /// All values that were lost since the start.
  public private(set) var lost = 0
  /// All messages that the broker has acknowledged since the start.
  public private(set) var acknowledged = 0

  /// - Parameter limit: messages that wait or are on the way, at least 1.
  public init(limit: Int) { self.limit = max(1, limit) }

  /// Messages that wait or are on the way.
  public var count: Int { waitingCount + inFlight.count }

  /// Adds a message.
  ///
  /// - Parameter device: the device that the message is about; nil for a message of the gateway.
  public mutating func append(_ message: Message, of device: DeviceAddress? = nil, at time: Date) {
    retained.note(message, of: device)
    // The library has the messages on the way: they count, and cannot be dropped.
    while count >= limit, waitingCount > 0 { drop() }
    if count >= limit { return drop(message, time) }
    waiting.append((message, device, time))
    waitingCount += 1
    shares[device, default: 0] += 1
  }

  /// Drops the oldest message of the device with the most; of several such devices, the oldest.
  private mutating func drop() {
    let most = shares.values.max()
    let index = waiting[head...].firstIndex { $0.message != nil && shares[$0.device] == most }
    guard let index else { return }
    if let message = waiting[index].message { drop(message, waiting[index].received) }
    remove(at: index)
  }

  private mutating func drop(_ message: Message, _ time: Date) {
    if message.isRetained { retained.publishAgain(message.topic) }
    note(time)
  }

  /// The broker or Home Assistant has restarted: every retained message is published again.
  public mutating func publishRetainedAgain() { retained.publishAgain() }

  /// Another gateway serves the device and publishes its retained messages.
  public mutating func forgetRetained(of device: DeviceAddress) { retained.forget(device) }

  private mutating func note(_ time: Date) {
    lost += 1
    var loss = loss ?? Loss(first: time, last: time)
    loss.values += 1
    (loss.first, loss.last) = (min(loss.first, time), max(loss.last, time))
    self.loss = loss
  }

  private mutating func remove(at index: Int) {
    let device = waiting[index].device
    waiting[index].message = nil
    waitingCount -= 1
    shares[device] = shares[device].flatMap { $0 > 1 ? $0 - 1 : nil }
    while head < waiting.count, waiting[head].message == nil { head += 1 }
    // The memory of removed messages is released in parts, not with each message.
    guard waiting.count > 64, waiting.count > waitingCount * 2 else { return }
    waiting.removeAll { $0.message == nil }
    head = 0
  }

  /// The next item to send.
  public enum Next: Equatable, Sendable {
    /// The report of a loss, which comes before the messages that were kept.
    case loss(Loss)
    case message(Message)
  }

  /// The next message; nil while none waits, or while the maximum number is on the way.
  public var next: Next? {
    guard inFlight.count < Self.inFlightLimit else { return nil }
    if let loss { return .loss(loss) }
    return (head < waiting.count ? waiting[head].message : retained.next).map(Next.message)
  }

  /// ``next`` is on the way, with this identifier.
  public mutating func sent(_ identifier: Int32) {
    inFlight.insert(identifier)
    if loss != nil {
      loss = nil
    } else if head < waiting.count {
      if let message = waiting[head].message { retained.sent(message) }
      remove(at: head)
    } else if let message = retained.next {
      retained.sent(message)
    }
  }

  /// The broker has acknowledged a message. Unknown identifiers are those of messages that did not come from this
  /// queue.
  public mutating func acknowledged(_ identifier: Int32) {
    guard inFlight.remove(identifier) != nil else { return }
    acknowledged += 1
  }
}
