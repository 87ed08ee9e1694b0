import BLEWire

/// The retained messages that a gateway has published, to publish them again: a broker can lose its memory, and Home
/// Assistant expects them after its start.
///
/// Those that publish retained messages limit their topics (``ConnectionTopics``, ``HomeAssistant``); a withdrawn one
/// is not in this list.
struct RetainedMessages: Sendable {
  private var latest: [String: (message: ValueQueue.Message, device: DeviceAddress?)] = [:]
  /// The topics to publish again, in reverse order; all are in ``latest``.
  private var waiting: [String] = []

  /// A message was published, or is going to be: the next publication of its topic has its payload.
  mutating func note(_ message: ValueQueue.Message, of device: DeviceAddress?) {
    guard message.isRetained else { return }
    if message.payload.isEmpty {
      latest[message.topic] = nil
      waiting.removeAll { $0 == message.topic }
    } else {
      latest[message.topic] = (message, device)
    }
  }

  /// Publishes every message again.
  mutating func publishAgain() { waiting = latest.keys.sorted(by: >) }

  /// Publishes the message of one topic again.
  mutating func publishAgain(_ topic: String) {
    if latest[topic] != nil, !waiting.contains(topic) { waiting.append(topic) }
  }

  /// Another gateway publishes the messages of a device from now on.
  mutating func forget(_ device: DeviceAddress) {
    latest = latest.filter { $0.value.device != device }
    waiting.removeAll { latest[$0] == nil }
  }

  /// The next message to publish again.
  var next: ValueQueue.Message? { waiting.last.flatMap { latest[$0]?.message } }

  /// A message is on the way: ``next``, or another one. The latest of a topic need not be published again.
  mutating func sent(_ message: ValueQueue.Message) {
    guard message.isRetained, !waiting.isEmpty, latest[message.topic]?.message == message else { return }
    if waiting.last == message.topic { waiting.removeLast() } else { waiting.removeAll { $0 == message.topic } }
  }
}
