import BLEWire
import Foundation
import GatewayCore
import Testing

struct ValueQueueTests {
  private func message(_ number: Int) -> ValueQueue.Message {
    ValueQueue.Message(topic: "t", payload: Data("\(number)".utf8))
  }

  private func date(_ second: Int) -> Date { Date(timeIntervalSince1970: Double(second)) }

  /// Sends and acknowledges what waits; the numbers of the messages, and a loss as its negative count.
  private func drain(_ queue: inout ValueQueue) -> [Int] {
    var received: [Int] = []
    var identifier: Int32 = 1000
    while let next = queue.next {
      switch next {
      case .loss(let loss): received.append(-loss.values)
      case .message(let message): received.append(Int(String(decoding: message.payload, as: UTF8.self)) ?? 0)
      }
      identifier += 1
      queue.sent(identifier)
      queue.acknowledged(identifier)
    }
    return received
  }

  @Test func messagesLeaveInTheirOrder() {
    var queue = ValueQueue(limit: 1000)
    for number in 1...500 { queue.append(message(number), at: date(number)) }
    #expect(drain(&queue) == Array(1...500))
    #expect(queue.count == 0)
    #expect(queue.acknowledged == 500)
    #expect(queue.lost == 0)
  }

  @Test func nothingIsLostAtTheLimit() {
    var queue = ValueQueue(limit: 100)
    for number in 1...100 { queue.append(message(number), at: date(number)) }
    #expect(drain(&queue) == Array(1...100))
  }

  @Test func theOldestAreLostBeyondTheLimitAndCounted() {
    var queue = ValueQueue(limit: 100)
    for number in 1...103 { queue.append(message(number), at: date(number)) }
    #expect(queue.count == 100)
    #expect(queue.lost == 3)
    guard case .loss(let loss) = queue.next else {
      Issue.record("the loss is not reported first")
      return
    }
    #expect(loss.values == 3)
    #expect(loss.first == date(1))
    #expect(loss.last == date(3))
    #expect(drain(&queue) == [-3] + Array(4...103))
  }

  @Test func aDeviceThatSendsWithoutEndLosesItsOwnValues() {
    func device(_ number: UInt64) -> DeviceAddress { DeviceAddress(octets: BD_ADDR(number), kind: .public) }
    var queue = ValueQueue(limit: 10)
    for number in 1...3 { queue.append(message(number), of: device(1), at: date(number)) }
    for number in 4...203 { queue.append(message(number), of: device(2), at: date(number)) }
    #expect(queue.count == 10 && queue.lost == 193)
    for number in 204...205 { queue.append(message(number), of: device(1), at: date(number)) }
    // Both have five now, so that the oldest of all makes room.
    queue.append(message(206), of: device(2), at: date(206))
    #expect(drain(&queue) == [-196, 2, 3] + Array(199...206))
    #expect(queue.count == 0)
  }

  @Test func messagesOnTheWayCountAndAreNotDropped() {
    var queue = ValueQueue(limit: 2)
    for number in 1...2 {
      queue.append(message(number), at: date(number))
      queue.sent(Int32(number))
    }
    #expect(queue.count == 2)
    queue.append(message(3), at: date(3))
    #expect(queue.lost == 1)
    queue.acknowledged(1)
    queue.append(message(4), at: date(4))
    queue.acknowledged(2)
    #expect(drain(&queue) == [-1, 4])
  }

  @Test func atMostTwentyMessagesAreOnTheWay() {
    var queue = ValueQueue(limit: 100)
    for number in 1...50 { queue.append(message(number), at: date(number)) }
    for identifier in 1...Int32(ValueQueue.inFlightLimit) { queue.sent(identifier) }
    #expect(queue.next == nil)
    queue.acknowledged(5)
    #expect(queue.next == .message(message(21)))
  }

  @Test func anUnknownAcknowledgementIsNotCounted() {
    var queue = ValueQueue(limit: 10)
    queue.append(message(1), at: date(1))
    queue.sent(7)
    queue.acknowledged(8)
    #expect(queue.acknowledged == 0)
    #expect(queue.count == 1)
  }

  // MARK: - Retained messages

  private func retained(_ topic: String, _ payload: String) -> ValueQueue.Message {
    ValueQueue.Message(topic: topic, payload: Data(payload.utf8), isRetained: true)
  }

  /// Sends and acknowledges what waits, as `TOPIC=PAYLOAD`.
  private func topics(_ queue: inout ValueQueue) -> [String] {
    var sent: [String] = []
    var identifier: Int32 = 5000
    while let next = queue.next {
      if case .message(let message) = next {
        sent.append("\(message.topic)=\(String(decoding: message.payload, as: UTF8.self))")
      }
      identifier += 1
      queue.sent(identifier)
      queue.acknowledged(identifier)
    }
    return sent
  }

  @Test func theLatestOfEachRetainedTopicIsPublishedAgain() {
    var queue = ValueQueue(limit: 100)
    for (topic, payload) in [("b", "1"), ("a", "1"), ("b", "2"), ("c", "1"), ("c", "")] {
      queue.append(retained(topic, payload), at: date(0))
    }
    queue.append(message(7), at: date(1))
    #expect(topics(&queue) == ["b=1", "a=1", "b=2", "c=1", "c=", "t=7"])
    #expect(topics(&queue) == [])
    queue.publishRetainedAgain()
    // What waits comes first, so that the retained value is the latest one.
    queue.append(retained("a", "2"), at: date(2))
    #expect(topics(&queue) == ["a=2", "b=2"])
    #expect(queue.count == 0 && queue.lost == 0)
  }

  @Test func retainedMessagesToPublishAgainAreLimitedOnTheWay() {
    var queue = ValueQueue(limit: 100)
    for number in 0..<50 { queue.append(retained("\(number)", "x"), at: date(0)) }
    #expect(topics(&queue).count == 50)
    queue.publishRetainedAgain()
    var identifier: Int32 = 0
    while queue.next != nil {
      identifier += 1
      queue.sent(identifier)
    }
    #expect(Int(identifier) == ValueQueue.inFlightLimit)
    for number in 1...identifier { queue.acknowledged(number) }
    #expect(topics(&queue).count == 50 - ValueQueue.inFlightLimit)
  }

  @Test func aRetainedMessageThatWasDroppedIsPublishedLater() {
    var queue = ValueQueue(limit: 2)
    queue.append(retained("a", "1"), at: date(0))
    for number in 1...3 { queue.append(message(number), at: date(number)) }
    #expect(queue.lost == 2)
    #expect(topics(&queue) == ["t=2", "t=3", "a=1"])
    #expect(topics(&queue) == [])
  }

  @Test func aWithdrawnTopicIsNotPublishedAgain() {
    var queue = ValueQueue(limit: 100)
    for topic in ["a", "b"] { queue.append(retained(topic, "1"), at: date(0)) }
    _ = topics(&queue)
    queue.publishRetainedAgain()
    queue.append(retained("a", ""), at: date(1))
    #expect(topics(&queue) == ["a=", "b=1"])
  }

  @Test func theTopicsOfAnotherGatewaysDeviceAreNotPublishedAgain() {
    let device = DeviceAddress(octets: BD_ADDR(1), kind: .random)
    var queue = ValueQueue(limit: 100)
    queue.append(retained("a", "1"), of: device, at: date(0))
    queue.append(retained("b", "1"), of: DeviceAddress(octets: BD_ADDR(1), kind: .public), at: date(0))
    queue.append(retained("c", "1"), at: date(0))
    _ = topics(&queue)
    queue.publishRetainedAgain()
    queue.forgetRetained(of: device)
    #expect(topics(&queue) == ["b=1", "c=1"])
    queue.publishRetainedAgain()
    #expect(topics(&queue) == ["b=1", "c=1"])
  }
}
