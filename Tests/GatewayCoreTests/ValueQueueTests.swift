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
}
