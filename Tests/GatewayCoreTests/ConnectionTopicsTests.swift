import BLEWire
import Foundation
import GatewayCore
import Testing

/// The retained messages of the `connection` topics: their number is limited, whatever addresses devices use.
struct ConnectionTopicsTests {
  private static let limit = ConnectionTopics.deviceLimit
  private let now = Date(timeIntervalSince1970: 1_769_860_800)
  private let topics = Topics(prefix: "ble", gateway: "kitchen")

  /// A resolvable private address.
  private func address(_ number: Int) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0x4000_0001_0000 + UInt64(number)), kind: .random)
  }

  /// What the broker keeps.
  private struct Broker {
    var retained: [String: Data] = [:]
    mutating func receive(_ messages: [ValueQueue.Message]) {
      for message in messages {
        #expect(message.isRetained)
        retained[message.topic] = message.payload.isEmpty ? nil : message.payload
      }
    }
  }

  private func visit(_ number: Int, _ connections: inout ConnectionTopics, _ broker: inout Broker) {
    for isConnected in [true, false] {
      broker.receive(connections.changed(address(number), isConnected: isConnected, at: now))
    }
  }

  /// A device with a new private address at each connection has a topic each time.
  @Test func theTopicOfTheDeviceDisconnectedLongestAgoIsWithdrawn() {
    var connections = ConnectionTopics(topics: topics)
    var broker = Broker()
    for number in 0..<Self.limit { visit(number, &connections, &broker) }
    #expect(broker.retained.count == Self.limit)
    // The first one comes again, so that the second one makes room.
    visit(0, &connections, &broker)
    _ = connections.changed(address(Self.limit), isConnected: true, at: now)
    let messages = connections.changed(address(Self.limit), isConnected: false, at: now)
    #expect(messages.map(\.topic) == [topics.connection(address(1)), topics.connection(address(Self.limit))])
    #expect(messages.map(\.payload.isEmpty) == [true, false] && messages.allSatisfy(\.isRetained))
    for number in 0..<10_000 { visit(number, &connections, &broker) }
    #expect(broker.retained.count == Self.limit)
    #expect(connections.connectedCount == 0)
  }

  @Test func theTopicOfAConnectedDeviceStays() {
    var connections = ConnectionTopics(topics: topics)
    var broker = Broker()
    broker.receive(connections.changed(address(99_999), isConnected: true, at: now))
    for number in 0..<2 * Self.limit { visit(number, &connections, &broker) }
    #expect(broker.retained[topics.connection(address(99_999))] != nil && connections.connectedCount == 1)
    #expect(broker.retained.count == Self.limit + 1)
  }

  /// After a start the broker sends what earlier runs have published.
  @Test func theTopicsOfEarlierRunsAreWithdrawn() {
    var broker = Broker()
    for first in [0, 3000, 1000, 4000] {
      var connections = ConnectionTopics(topics: topics)
      for number in 0..<5000 {
        guard let payload = broker.retained[topics.connection(address(number))] else { continue }
        broker.receive(connections.received(payload, for: address(number), at: now))
      }
      for number in first..<first + Self.limit { visit(number, &connections, &broker) }
      #expect(broker.retained.count <= Self.limit)
    }
  }

  /// A gateway that was killed could not publish the end of its connections.
  @Test func aConnectionOfAnEarlierRunIsOver() {
    var connections = ConnectionTopics(topics: topics)
    let connected = Messages.connection(isConnected: true, gateway: "kitchen", at: now)
    let messages = connections.received(connected, for: address(0), at: now)
    let disconnected = Messages.connection(isConnected: false, gateway: "kitchen", at: now)
    #expect(
      messages == [
        ValueQueue.Message(topic: topics.connection(address(0)), payload: disconnected, isRetained: true)
      ])
    let again = connections.received(connected, for: address(0), at: now)
    #expect(again.isEmpty)
    let ofAnother = Messages.connection(isConnected: true, gateway: "garage", at: now)
    let nothing = connections.received(ofAnother, for: address(1), at: now)
    #expect(nothing.isEmpty)
  }

  /// Otherwise the broker would keep that nobody is connected.
  @Test func theEndOfTheConnectionOfAnotherGatewayIsCorrected() {
    var connections = ConnectionTopics(topics: topics)
    let own = connections.changed(address(0), isConnected: true, at: now)
    func received(_ isConnected: Bool, _ gateway: String) -> [ValueQueue.Message] {
      let payload = Messages.connection(isConnected: isConnected, gateway: gateway, at: now)
      return connections.received(payload, for: address(0), at: now)
    }
    #expect(received(false, "garage") == own)
    // Two that are connected do not answer each other, and none answers itself.
    #expect(received(true, "garage").isEmpty && received(false, "kitchen").isEmpty)
    _ = connections.changed(address(0), isConnected: false, at: now)
    #expect(received(false, "garage").isEmpty)
  }

  /// Of gateways that a device visits one after the other the last one has its topic.
  @Test func theTopicOfAnotherGatewayIsNotWithdrawn() {
    var connections = ConnectionTopics(topics: topics)
    var broker = Broker()
    visit(0, &connections, &broker)
    let payload = Messages.connection(isConnected: true, gateway: "garage", at: now)
    #expect(connections.received(payload, for: address(0), at: now).isEmpty)
    broker.retained[topics.connection(address(0))] = payload
    for number in 1...Self.limit + 10 { visit(number, &connections, &broker) }
    #expect(broker.retained[topics.connection(address(0))] == payload)
    #expect(broker.retained.count == Self.limit + 1)
  }

  /// The broker sends a gateway its own messages, too. They change nothing, in any order.
  @Test func itsOwnMessagesChangeNothing() {
    var connections = ConnectionTopics(topics: topics)
    var broker = Broker()
    for number in 0..<Self.limit {
      for isConnected in [true, false] {
        let messages = connections.changed(address(number), isConnected: isConnected, at: now)
        broker.receive(messages)
        for message in messages {
          #expect(connections.received(message.payload, for: address(number), at: now).isEmpty)
        }
      }
    }
    visit(Self.limit, &connections, &broker)
    #expect(connections.received(Data(), for: address(0), at: now).isEmpty)
    #expect(broker.retained.count == Self.limit && broker.retained[topics.connection(address(0))] == nil)
  }

  @Test(arguments: ["", "{", "[]", #"{"gateway":7}"#, #"{"state":"connected"}"#])
  func aPayloadThatNoGatewayPublishesIsNobodys(payload: String) {
    var connections = ConnectionTopics(topics: topics)
    for number in 0...Self.limit {
      #expect(connections.received(Data(payload.utf8), for: address(number), at: now).isEmpty)
    }
  }

  @Test func aConnectionHasTheRefusedSubscriptions() {
    var connections = ConnectionTopics(topics: topics)
    func attribute(_ number: Int) -> AttributeName {
      AttributeName(address: address(0), service: "FFE0", serviceNumber: number, characteristic: "FFE1")
    }
    func text(_ messages: [ValueQueue.Message]) -> [String] {
      messages.map { String(decoding: $0.payload, as: UTF8.self) }
    }
    let beforeConnection = connections.refused(attribute(1), at: now)
    #expect(beforeConnection.isEmpty)
    _ = connections.changed(address(0), isConnected: true, at: now)
    let first = connections.refused(attribute(1), at: now)
    #expect(first.map(\.topic) == [topics.connection(address(0))] && first[0].isRetained)
    #expect(
      text(first) == [
        #"{"gateway":"kitchen","refused":["FFE0/FFE1"],"state":"connected","time":"2026-01-31T12:00:00.000Z"}"#
      ])
    for number in 2...ConnectionTopics.refusedLimit {
      let messages = connections.refused(attribute(number), at: now)
      #expect(messages.count == 1)
    }
    let beyond = connections.refused(attribute(ConnectionTopics.refusedLimit + 1), at: now)
    #expect(beyond.isEmpty)
    // The next connection begins anew.
    for isConnected in [false, true] { _ = connections.changed(address(0), isConnected: isConnected, at: now) }
    let again = connections.refused(attribute(1), at: now)
    #expect(text(again) == text(first))
  }

  @Test func theTopicIsReadAsItIsWritten() {
    let address = address(7)
    #expect(topics.parse(topics.connection(address)) == .connection(address))
    #expect(topics.subscriptions.contains("ble/devices/+/connection"))
  }
}
