import BLEGAP
import BLEWire
import Foundation

@testable import GatewayCore

/// What the gateway decides, without a broker and without a radio: its configuration, the messages of clients of the
/// broker, and two gateways that divide devices while others publish anything on the same broker.
///
/// It requires that
/// - what is published is JSON on a topic without wildcards, which the gateway reads as it was written;
/// - a request has at most 512 octets, and its answer the identifier of the client;
/// - each table has its limit, and for each device the number of other gateways and sensors does;
/// - each value is waiting, on its way, acknowledged or counted as lost;
/// - a retained message that is published again has the latest payload of its topic;
/// - nobody has a lasting effect: once others are silent, one gateway serves each device that both receive.
func fuzzGateway(_ input: inout FuzzInput) {
  switch input.index(6) {
  case 0: readConfiguration(input.rest())
  case 1: readMessage(&input)
  default:
    var run = GatewayRun(&input)
    while !input.isEmpty, run.steps < GatewayRun.stepLimit { run.step(&input) }
    run.finish()
  }
}

private func readConfiguration(_ octets: [UInt8]) {
  guard let configuration = try? GatewayConfiguration(octets, of: "input"), (try? configuration.check()) != nil
  else { return }
  let topics = Topics(prefix: configuration.prefix, gateway: configuration.identifier)
  requireTopic(topics.status, of: topics)
  require(topics.parse(topics.status) == .status(gateway: configuration.identifier), "another status: \(topics.status)")
  for device in configuration.devices {
    let address = device.address.flatMap { DeviceAddress(topicLevel: $0) } ?? GatewayRun.devices[0]
    let found = configuration.subscriptions(
      address: address, name: device.name, services: device.subscribe.map(\.service))
    require(found.count == Set(found).count, "a characteristic is subscribed to twice")
    require(device.address != nil || device.subscribe.allSatisfy { found.contains($0) }, "a subscription is missing")
    for subscription in device.subscribe {
      let read = try? GatewayConfiguration.Subscription(subscription.description)
      require(read == subscription, "another UUID: \(subscription)")
    }
  }
}

/// One message with any topic and payload.
private func readMessage(_ input: inout FuzzInput) {
  let topics = Topics(prefix: "ble", gateway: "kitchen")
  let topic = String(decoding: input.counted(), as: UTF8.self)
  let payload = Data(input.rest())
  switch topics.parse(topic) {
  case .status(let gateway):
    requireTopic(topic, of: topics)
    require(Topics(prefix: "ble", gateway: gateway).status == topic, "\(topic) is the status of \(gateway)")
  case .claim(let address, let gateway):
    requireTopic(topic, of: topics)
    let written = Topics(prefix: "ble", gateway: gateway).claim(address)
    require(topics.parse(written) == .claim(address, gateway: gateway), "\(topic) is written as \(written)")
    _ = try? JSONDecoder().decode(DeviceClaims.Claim.self, from: payload)
  case .connection(let address):
    let written = topics.connection(address)
    require(topics.parse(written) == .connection(address), "\(topic) is written as \(written)")
  case .read(let attribute):
    let written = "\(topics.value(attribute).dropLast("value".count))read"
    require(topics.parse(written) == .read(attribute), "\(topic) is written as \(written)")
    check(try? Request.read(payload), of: attribute)
  case .write(let attribute):
    require(topics.parse(topics.write(attribute)) == .write(attribute), "\(topic) is written in another way")
    check(try? Request.write(payload, of: attribute.characteristic), of: attribute)
  case .info:
    var instance = GatewayInstance(number: 1, start: GatewayRun.date)
    require(!instance.isSuperseded(by: payload, isRetained: false), "what is not retained supersedes a gateway")
  case nil: break
  }
  // Whatever the topic.
  var assistant = HomeAssistant(prefix: "homeassistant", topics: topics)
  require(assistant.received(payload, on: topic).isEmpty, "an announcement withdraws another one")
  check(try? Request.read(payload), of: GatewayRun.attributes[0])
  for attribute in GatewayRun.attributes {
    check(try? Request.write(payload, of: attribute.characteristic), of: attribute)
  }
}

private func check(_ request: Request?, of attribute: AttributeName) {
  guard let request else { return }
  var octets: [UInt8] = [1, 2]
  if case .write(let value, _) = request.kind {
    require(value.count <= 512, "a request to write \(value.count) octets")
    octets = value
  }
  require(request.id?.utf8.count ?? 0 <= 64, "an identifier of \(request.id?.utf8.count ?? 0) octets")
  for outcome in [.success(octets), .failure(GatewayError(.device, "no answer"))] as [Result<[UInt8], GatewayError>] {
    let answer = Messages.result(of: request, outcome, uuid: attribute.characteristic, at: GatewayRun.date)
    let fields = requireJSON(answer)
    require((fields["id"] as? String) == request.id, "the answer has another identifier than \(request.id ?? "none")")
  }
}

private func requireTopic(_ topic: String, of topics: Topics) {
  require(!topic.unicodeScalars.contains { "+#\0".unicodeScalars.contains($0) }, "the topic \(topic.debugDescription)")
  require(topic.hasPrefix(topics.prefix + "/"), "the topic \(topic) does not begin with \(topics.prefix)")
}

@discardableResult
private func requireJSON(_ payload: Data) -> [String: Any] {
  let object = try? JSONSerialization.jsonObject(with: payload)
  require(object is [String: Any], "not a JSON object: \(String(decoding: payload, as: UTF8.self))")
  return object as? [String: Any] ?? [:]
}

private struct GatewayRun {
  static let stepLimit = 150
  static let date = Date(timeIntervalSince1970: 1_750_000_000)
  /// The first two have the same octets.
  static let devices = [
    DeviceAddress(octets: BD_ADDR(0xC0_11_22_33_44_55), kind: .random),
    DeviceAddress(octets: BD_ADDR(0xC0_11_22_33_44_55), kind: .public),
    DeviceAddress(octets: BD_ADDR(0x00_A0_50_00_00_01), kind: .public),
    DeviceAddress(octets: BD_ADDR(0xC0_11_22_33_44_66), kind: .randomIdentity),
  ]
  static let attributes: [AttributeName] = ([0x2A6E, 0x2A19, 0x2A37, 0x2A1C, 0x2A00] as [UInt16]).flatMap { number in
    devices.map { AttributeName(address: $0, service: BluetoothUUID(0x181A), characteristic: BluetoothUUID(number)) }
  }

  struct Gateway {
    let name: String
    let topics: Topics
    var claims: DeviceClaims
    var table = AdvertisementTable(interval: .seconds(10))
    var queue: ValueQueue
    var homeAssistant: HomeAssistant
    var isConnected = true
    var appended = 0
    var reportedLosses = 0
    /// Retained messages that were published again.
    var republished = 0
    /// The latest payload of each retained topic.
    var retained: [String: Data] = [:]
    var sent: [Int32] = []
    /// Devices that were served once and given to another gateway.
    var released: Set<DeviceAddress> = []

    init(_ name: String, keptValues: Int) {
      self.name = name
      topics = Topics(prefix: "ble", gateway: name)
      claims = DeviceClaims(gateway: name)
      queue = ValueQueue(limit: keptValues)
      homeAssistant = HomeAssistant(prefix: "homeassistant", topics: topics)
      claims.brokerChanged(isConnected: true, now: .zero)
    }
  }

  var gateways: [Gateway]
  var now = Duration.zero
  var steps = 0
  var lastIdentifier: Int32 = 0

  init(_ input: inout FuzzInput) {
    let keptValues = 1 + input.index(40)
    gateways = [Gateway("kitchen", keptValues: keptValues), Gateway("cellar", keptValues: 1)]
  }

  mutating func step(_ input: inout FuzzInput) {
    steps += 1
    let side = input.index(2)
    switch input.index(16) {
    case 0, 1: for _ in 0...input.index(16) { second() }
    case 2, 3, 4: receiveAdvertisement(side, &input)
    case 5, 6: publish(topic(&input), payload(&input))
    case 7: publish("ble/gateways/\(name(&input))/status", Data((input.flag() ? "online" : "offline").utf8))
    case 8:
      // Claims of many gateways for one device.
      let (device, start, count) = (input.element(of: Self.devices), input.index(64), input.index(48))
      for number in start..<start + count {
        publish(
          "ble/claims/\(device.topicLevel)/\(number)", Data(#"{"rssi":-90,"serves":false,"connected":false}"#.utf8))
      }
    case 9:
      let (device, isConnected) = (input.element(of: Self.devices), input.flag())
      gateways[side].claims.connectionChanged(device, isConnected: isConnected, now: now)
      append(
        gateways[side].topics.connection(device),
        Messages.connection(isConnected: isConnected, gateway: gateways[side].name, at: Self.date), side,
        isRetained: true)
    case 10, 11: receiveValue(side, &input)
    case 12:
      gateways[side].isConnected = input.flag()
      gateways[side].claims.brokerChanged(isConnected: gateways[side].isConnected, now: now)
      if gateways[side].isConnected { gateways[side].queue.publishRetainedAgain() }
    case 13: send(side, atMost: input.index(30))
    case 14:
      for _ in 0...input.index(8) where !gateways[side].sent.isEmpty {
        gateways[side].queue.acknowledged(gateways[side].sent.remove(at: input.index(gateways[side].sent.count)))
      }
    default: gateways[side].queue.acknowledged(Int32(input.octet()) - 300)
    }
    check(side)
  }

  private func name(_ input: inout FuzzInput) -> String {
    switch input.index(4) {
    case 0: gateways[input.index(2)].name
    case 1: String(repeating: "x", count: Int(input.octet()))
    default: String(decoding: input.take(input.index(12)), as: UTF8.self)
    }
  }

  private func topic(_ input: inout FuzzInput) -> String {
    switch input.index(4) {
    case 0: String(decoding: input.counted(), as: UTF8.self)
    case 1: "\(gateways[0].topics.value(input.element(of: Self.attributes)).dropLast("value".count))write"
    default: "ble/claims/\(input.element(of: Self.devices).topicLevel)/\(name(&input))"
    }
  }

  private func payload(_ input: inout FuzzInput) -> Data {
    switch input.index(4) {
    case 0: return Data(input.counted())
    case 1: return Data(#"{"hex":"\#(input.take(input.index(20)).hexadecimal)","id":"7","response":false}"#.utf8)
    default:
      let rssi =
        switch input.index(4) {
        case 0: ["9223372036854775807", "-9223372036854775808", "127", "-128", "1e3", "20"][input.index(6)]
        default: "\(Int8(bitPattern: input.octet()))"
        }
      return Data(#"{"rssi":\#(rssi),"serves":\#(input.flag()),"connected":\#(input.flag())}"#.utf8)
    }
  }

  // MARK: The broker

  private mutating func publish(_ topic: String, _ payload: Data) {
    for side in gateways.indices where gateways[side].isConnected { receive(topic, payload, side) }
  }

  private mutating func receive(_ topic: String, _ payload: Data, _ side: Int) {
    switch gateways[side].topics.parse(topic) {
    case .status(let name):
      guard name != gateways[side].name else { return }
      if payload == Data("online".utf8) {
        gateways[side].claims.gatewayAppeared(now: now)
      } else {
        gateways[side].claims.gatewayEnded(name)
      }
    case .claim(let address, let name):
      guard let claim = try? JSONDecoder().decode(DeviceClaims.Claim.self, from: payload) else { return }
      gateways[side].claims.received(claim, of: name, for: address, now: now)
      let others = gateways[side].claims.gateways(of: address)
      require(others <= DeviceClaims.gatewayLimit, "\(others) gateways of one device")
    // What another run has left at the broker: ConnectionTopics withdraws it.
    case .connection, .info: break
    case .read(let attribute): answer(attribute, try? Request.read(payload), side)
    case .write(let attribute): answer(attribute, try? Request.write(payload, of: attribute.characteristic), side)
    case nil: break
    }
  }

  private mutating func answer(_ attribute: AttributeName, _ request: Request?, _ side: Int) {
    guard let request, gateways[side].claims.serves(attribute.address) else { return }
    let answer = Messages.result(of: request, .success([1, 2]), uuid: attribute.characteristic, at: Self.date)
    append(gateways[side].topics.result(attribute), answer, side)
  }

  // MARK: Devices

  private mutating func receiveAdvertisement(_ side: Int, _ input: inout FuzzInput) {
    let device = input.element(of: Self.devices)
    let rssi: Int? =
      switch input.index(8) {
      case 0: [nil, Int.min, Int.max, -1_000, 1_000][input.index(5)]
      default: Int(Int8(bitPattern: input.octet()))
      }
    let contents = AdvertisedData(advertisingData: input.take(input.index(200))[...])
    if let rssi { gateways[side].claims.heard(device.identity, rssi: rssi, now: now) }
    gateways[side].table.add(
      .init(address: device, contents: contents, rssi: rssi, isConnectable: input.flag()), now: now)
  }

  private mutating func receiveValue(_ side: Int, _ input: inout FuzzInput) {
    let attribute = input.element(of: Self.attributes)
    let name = gateways[side].table[attribute.address.identity]?.contents.localName?.displayText
    let described = DeviceAttribute(
      attribute, isReadable: input.flag(), isWritable: input.flag(), isPublished: input.flag())
    for message in gateways[side].homeAssistant.announcements(of: described, deviceName: name) {
      require(message.isRetained, "an announcement is not retained")
      append(message.topic, message.payload, side, isRetained: true)
    }
    let value = Messages.value(input.take(input.index(24)), of: attribute.characteristic, at: Self.date)
    append(
      gateways[side].topics.value(attribute), value, side,
      isRetained: gateways[side].homeAssistant.retainsValue(of: attribute))
  }

  private mutating func append(_ topic: String, _ payload: Data, _ side: Int, isRetained: Bool = false) {
    require(!topic.unicodeScalars.contains { "+#\0".unicodeScalars.contains($0) }, "the topic \(topic)")
    if !payload.isEmpty { requireJSON(payload) }
    gateways[side].queue.append(.init(topic: topic, payload: payload, isRetained: isRetained), at: Self.date)
    gateways[side].appended += 1
    if isRetained { gateways[side].retained[topic] = payload }
  }

  private mutating func send(_ side: Int, atMost limit: Int) {
    for _ in 0..<limit {
      guard let next = gateways[side].queue.next else { return }
      lastIdentifier += 1
      let count = gateways[side].queue.count
      gateways[side].queue.sent(lastIdentifier)
      gateways[side].sent.append(lastIdentifier)
      switch next {
      case .loss(let loss):
        gateways[side].reportedLosses += 1
        requireJSON(Messages.lost(loss))
      // One that did not wait.
      case .message(let message) where gateways[side].queue.count > count:
        gateways[side].republished += 1
        require(
          message.isRetained && message.payload == gateways[side].retained[message.topic],
          "\(message.topic) is published again with another payload")
      case .message: break
      }
    }
  }

  // MARK: Time

  private mutating func second() {
    now += .seconds(1)
    for side in gateways.indices {
      for change in gateways[side].claims.update(now: now) { note(change, side) }
      gateways[side].table.forget(notHeardFor: DeviceClaims.lifetime * 4, now: now)
    }
    for side in gateways.indices where gateways[side].isConnected {
      let topics = gateways[side].topics
      for (address, claim) in gateways[side].claims.claimsToPublish(now: now) {
        let topic = topics.claim(address)
        requireTopic(topic, of: topics)
        require(topics.parse(topic) == .claim(address, gateway: gateways[side].name), "\(topic) is another claim")
        publish(topic, Messages.encode(claim))
      }
      let claims = gateways[side].claims
      for entry in gateways[side].table.due(now: now, where: { claims.serves($0) }) {
        let message = Messages.advertisement(entry, gateway: gateways[side].name, at: Self.date)
        requireJSON(message)
        // Two digits for an octet, more than a kilobyte for nothing else.
        require(message.count <= 12_000, "an advertisement takes \(message.count) octets")
      }
    }
  }

  private mutating func note(_ change: DeviceClaims.Change, _ side: Int) {
    switch change {
    case .taken(let address):
      plantedFault(
        gateways[side].released.contains(address)
          && gateways[side].table[address]?.contents.localName != nil,
        "a device with a name is served again after another gateway had it")
    case .released(let address):
      if gateways[side].claims.gateways(of: address) > 0 { gateways[side].released.insert(address) }
    }
  }

  private func check(_ side: Int) {
    let gateway = gateways[side]
    require(gateway.claims.count <= DeviceClaims.deviceLimit, "\(gateway.claims.count) devices")
    require(gateway.table.count <= AdvertisementTable.limit, "\(gateway.table.count) advertisements")
    let queue = gateway.queue
    require(queue.count <= queue.limit + ValueQueue.inFlightLimit, "\(queue.count) of \(queue.limit) values wait")
    require(
      queue.acknowledged + queue.count + queue.lost
        == gateway.appended + gateway.reportedLosses + gateway.republished,
      "\(queue.acknowledged) acknowledged, \(queue.count) waiting, \(queue.lost) lost of \(gateway.appended)")
  }

  /// Nobody else publishes any more, and both gateways receive two devices.
  mutating func finish() {
    for side in gateways.indices {
      if !gateways[side].isConnected { gateways[side].claims.brokerChanged(isConnected: true, now: now) }
      gateways[side].isConnected = true
      for device in Self.devices {
        gateways[side].claims.connectionChanged(device.identity, isConnected: false, now: now)
      }
    }
    for _ in 0..<45 {
      for device in Self.devices.prefix(2) {
        gateways[0].claims.heard(device.identity, rssi: -50, now: now)
        gateways[1].claims.heard(device.identity, rssi: -52, now: now)
      }
      second()
    }
    for device in Self.devices.prefix(2) {
      let serving = gateways.count { $0.claims.serves(device.identity) }
      require(serving == 1, "\(serving) gateways serve \(device)")
    }
  }
}
