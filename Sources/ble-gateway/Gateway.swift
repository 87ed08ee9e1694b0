import BLEGAP
import BLEKit
import BLEWire
import FoundationEssentials
import GatewayCore
import ToolCore

/// The gateway: scans, decides with the other gateways which devices it serves, and publishes.
actor Gateway {
  /// Other gateways that are remembered, to decide which one answers for devices that none receives.
  private static let gatewayLimit = 256
  /// How long the broker may take for the last values. With ``MQTTClient/endTime`` and the end of the links the program
  /// ends in two seconds.
  private static let brokerTime = Duration.milliseconds(800)
  let configuration: GatewayConfiguration
  let topics: Topics
  let adapter: Adapter
  private let pairing: PairingCommands
  private let client: MQTTClient
  private let clock = ContinuousClock()
  private let start: ContinuousClock.Instant
  private var isConnected = false
  private var isEnding = false
  private var wasConnected = false
  var claims: DeviceClaims
  private var table: AdvertisementTable
  private var queue: ValueQueue
  private var homeAssistant: HomeAssistant?
  private var sessions: [DeviceAddress: DeviceSession] = [:]
  private var connections: ConnectionTopics
  var gateways: Set<String> = []
  var waiting: [(attribute: AttributeName, request: Request, until: Duration)] = []
  var rejectedRequests = 0
  /// Retained requests that this connection to the broker has brought.
  var retainedRequests = 0
  /// Requests on malformed topics that this connection to the broker has brought.
  var malformedTopics = 0
  /// The subscriptions that connected devices have refused.
  private var refusedSubscriptions: [DeviceAddress: Set<AttributeName>] = [:]
  private var schedule = CounterSchedule()
  private var instance = GatewayInstance(start: Date())
  /// Why this gateway cannot use the broker.
  private var rejection: GatewayError?
  /// Why there is no connection, as it was last reported.
  private var failure: BrokerFailure?
  /// Ends when ``shutDown()`` need not wait for the broker any longer.
  private var acknowledgedValues: AsyncStream<Never>.Continuation?

  init(
    _ configuration: GatewayConfiguration, adapter: Adapter, pairing: PairingCommands
  ) throws(GatewayError) {
    self.configuration = configuration
    (self.adapter, self.pairing) = (adapter, pairing)
    topics = Topics(prefix: configuration.prefix, gateway: configuration.identifier)
    client = try MQTTClient(configuration, topics: topics)
    start = clock.now
    claims = DeviceClaims(gateway: configuration.identifier)
    table = AdvertisementTable(interval: .seconds(configuration.advertisementInterval))
    queue = ValueQueue(limit: configuration.keptValues)
    connections = ConnectionTopics(topics: topics)
    homeAssistant = configuration.homeAssistant.map { [topics] in
      HomeAssistant(prefix: $0, topics: topics, expireAfter: configuration.expireAfter)
    }
  }

  var now: Duration { clock.now - start }

  /// Runs until the task is cancelled.
  ///
  /// - Throws: ``GatewayError`` if the broker rejects the gateway at its first connection; `BLEError`, `AdapterError`.
  func run() async throws {
    client.start(configuration.broker)
    // Until the connection has ended: acknowledgements are received during the shutdown, too.
    let events = Task { await handleEvents() }
    let failure: (any Error)?
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        defer { group.cancelAll() }
        group.addTask { try await self.scan() }
        group.addTask { try await self.tick() }
        try await group.next()
      }
      failure = nil
    } catch { failure = error }
    await Task { await shutDown() }.value
    client.end()
    await events.value
    if let failure { throw failure }
  }

  /// Ends the links, then gives the broker ``brokerTime`` to take what is left.
  private func shutDown() async {
    isEnding = true
    for session in sessions.values { session.task.cancel() }
    for session in sessions.values { await session.task.value }
    // It is retained: no device is connected any more.
    if isConnected, rejection == nil { publishCounters() }
    let (values, end) = AsyncStream.makeStream(of: Never.self)
    acknowledgedValues = end
    send()
    endWhenAcknowledged()
    let limit = Task {
      try? await Task.sleep(for: Self.brokerTime)
      end.finish()
    }
    for await _ in values {}
    limit.cancel()
    // Where the gateway was not accepted, another one of its name is online.
    if isConnected, rejection == nil {
      client.publish(topics.status, Data("offline".utf8), qos: 1, isRetained: true)
    }
    if queue.count > 0 { Log.line("\(queue.count) values were not acknowledged by the broker") }
  }

  /// Ends the wait of ``shutDown()`` when the broker has every value, or none can reach it.
  private func endWhenAcknowledged() {
    if !isConnected || queue.count == 0 { acknowledgedValues?.finish() }
  }

  // MARK: - The broker

  private func handleEvents() async {
    for await event in client.events {
      switch event {
      case .connected: brokerConnected()
      case .disconnected(let reason): brokerDisconnected(reason)
      case .message(let topic, let payload, let isRetained):
        let dropped = client.messageHandled()
        if dropped > 0 { Log.line("\(dropped) messages of the broker were dropped: more than 4096 waited") }
        received(topic, payload, isRetained: isRetained)
      case .acknowledged(let identifier):
        queue.acknowledged(identifier)
        send()
        endWhenAcknowledged()
      }
    }
  }

  private func brokerConnected() {
    Log.line("connected to the broker \(configuration.broker.host):\(configuration.broker.effectivePort)")
    // Another gateway has this name: it is connected again soon.
    if rejection != nil { return }
    isConnected = true
    wasConnected = true
    failure = nil
    (retainedRequests, malformedTopics) = (0, 0)
    claims.brokerChanged(isConnected: true, now: now)
    if let homeAssistant {
      client.subscribe(homeAssistant.statusTopic)
      client.subscribe(homeAssistant.announcementTopics)
    }
    publishRetainedAgain()
    Log.ready()
  }

  /// Publishes everything retained again: the broker may have lost its memory, or Home Assistant expects it after its
  /// start.
  private func publishRetainedAgain() {
    client.publish(topics.status, Data("online".utf8), qos: 1, isRetained: true)
    schedule.forget()
    publishCounters()
    queue.publishRetainedAgain()
    send()
  }

  /// - Parameter reason: nil if this program has ended the connection.
  private func brokerDisconnected(_ reason: BrokerFailure?) {
    if let reason, reason != failure, rejection == nil {
      let text = reason.text(of: configuration.broker, identifier: configuration.identifier)
      if reason.isFinal, !wasConnected {
        rejection = GatewayError(.broker, text)
      } else {
        Log.line(isConnected ? "\(text). Up to \(queue.limit) values are kept" : text)
      }
    }
    failure = reason
    guard isConnected else { return }
    isConnected = false
    claims.brokerChanged(isConnected: false, now: now)
    endWhenAcknowledged()
  }

  /// Gives the library as many messages as may be on the way.
  private func send() {
    guard isConnected else { return }
    while let next = queue.next {
      let identifier =
        switch next {
        case .loss(let loss): client.publish(topics.lost, Messages.lost(loss), qos: 1)
        case .message(let message):
          client.publish(message.topic, message.payload, qos: 1, isRetained: message.isRetained)
        }
      guard let identifier else { return }
      queue.sent(identifier)
    }
  }

  /// - Parameter device: the device that the message is of.
  func enqueue(_ message: ValueQueue.Message, of device: DeviceAddress? = nil) {
    queue.append(message, of: device, at: Date())
    send()
  }

  private func received(_ topic: String, _ payload: Data, isRetained: Bool) {
    if topic == homeAssistant?.statusTopic {
      if payload == Data("online".utf8) { publishRetainedAgain() }
      return
    }
    for message in homeAssistant?.received(payload, on: topic) ?? [] { enqueue(message) }
    switch topics.parse(topic) {
    case .info:
      guard instance.isSuperseded(by: payload, isRetained: isRetained), rejection == nil else { return }
      rejection = GatewayError(
        .configuration,
        "another gateway named '\(configuration.identifier)' has connected to the broker \(configuration.broker.host). "
          + "Give each gateway a name of its own: --id NAME, or \"identifier\" in the configuration")
    case .status(let gateway): gatewayChanged(gateway, isOnline: payload == Data("online".utf8))
    case .claim(let address, let gateway):
      guard let claim = try? JSONDecoder().decode(DeviceClaims.Claim.self, from: payload) else { return }
      claims.received(claim, of: gateway, for: address, now: now)
      forgetRetainedUnlessServed(address)
    case .connection(let address):
      for message in connections.received(payload, for: address, at: Date()) { enqueue(message, of: address) }
      forgetRetainedUnlessServed(address)
    case .read where isRetained, .write where isRetained: ignoreRetainedRequest(topic)
    case .read(let attribute):
      accept(attribute, Request(kind: .read)) { () throws(GatewayError) in try Request.read(payload) }
    case .write(let attribute):
      accept(attribute, Request(kind: .write([], wantsResponse: nil))) { () throws(GatewayError) in
        try Request.write(payload, of: attribute.characteristic)
      }
    case nil: if let fault = topics.fault(of: topic) { ignoreMalformedTopic(topic, fault) }
    }
  }

  /// Another gateway that serves a device publishes its retained messages.
  private func forgetRetainedUnlessServed(_ address: DeviceAddress) {
    guard claims.isServedByAnother(address, now: now) else { return }
    homeAssistant?.forget(address.identity)
    queue.forgetRetained(of: address.identity)
  }

  private func gatewayChanged(_ gateway: String, isOnline: Bool) {
    if !isOnline {
      gateways.remove(gateway)
    } else if gateways.count < Self.gatewayLimit {
      gateways.insert(gateway)
    }
    guard gateway != configuration.identifier else { return }
    if isOnline { claims.gatewayAppeared(now: now) } else { claims.gatewayEnded(gateway) }
  }

  // MARK: - Devices

  private func scan() async throws {
    var options = ScanOptions()
    options.allowsDuplicates = true
    while true {
      do throws(BLEError) {
        for try await result in adapter.scan(options) { heard(result) }
      } catch {
        if error.kind == .cancelled { throw CancellationError() }
        Log.line("the scan has ended: \(error.description)")
      }
      try await Task.sleep(for: .seconds(1))
      try await adapter.waitUntilPoweredOn()
    }
  }

  private func heard(_ result: ScanResult) {
    let address = result.address.identity
    if let rssi = result.rssi { claims.heard(address, rssi: rssi, now: now) }
    table.add(
      AdvertisementTable.Entry(
        address: result.address, contents: result.contents, rssi: result.rssi, isConnectable: result.isConnectable),
      now: now)
    // A name or a service that was not in the first advertisement.
    if claims.serves(address), sessions[address] == nil { connectIfConfigured(address) }
  }

  /// The latest advertisement of a device.
  func advertisement(of address: DeviceAddress) -> AdvertisementTable.Entry? { table[address] }

  func subscriptions(of address: DeviceAddress) -> [GatewayConfiguration.Subscription] {
    guard claims.serves(address), let contents = table[address]?.contents else { return [] }
    return configuration.subscriptions(
      address: address, name: contents.name, services: contents.serviceUUIDs)
  }

  private func connectIfConfigured(_ address: DeviceAddress) {
    guard table[address]?.isConnectable == true, !subscriptions(of: address).isEmpty else { return }
    _ = session(with: address)
  }

  func session(with address: DeviceAddress) -> DeviceSession {
    if let session = sessions[address] { return session }
    let session = DeviceSession(address, of: self)
    sessions[address] = session
    return session
  }

  /// The session has ended. Requests that came meanwhile begin a new one.
  func ended(_ session: DeviceSession) {
    guard sessions[session.address] === session else { return }
    sessions[session.address] = nil
    for work in session.rest() { assign(work.attribute, work.request) }
  }

  /// The device is connected, or no longer.
  ///
  /// - Parameter advice: the end of the line of the log.
  func connectionChanged(_ address: DeviceAddress, isConnected: Bool, reason: String? = nil, advice: String = "") {
    claims.connectionChanged(address, isConnected: isConnected, now: now)
    refusedSubscriptions[address] = nil
    Log.line("\(address) is \(isConnected ? "connected" : "disconnected")\(reason.map { ": \($0)\(advice)" } ?? "")")
    for message in connections.changed(address, isConnected: isConnected, reason: reason, at: Date()) {
      enqueue(message, of: address)
    }
  }

  /// The end of a line of the log about an error of a device: the commands after which the operation can succeed.
  nonisolated func advice(for error: any Error, of address: DeviceAddress) -> String {
    guard let error = error as? BLEError else { return "" }
    let bond = adapter.bonds.first { $0.identity == address.identity }
    return pairing.advice(for: error, of: address, with: bond)
  }

  /// Why the requests for a device are not performed after its session has failed.
  func failure(_ error: any Error, of address: DeviceAddress) -> GatewayError {
    if let error = error as? GatewayError { return error }
    // An attempt to connect takes as long as a device without advertisements counts as received.
    if (error as? BLEError)?.kind == .timedOut, !claims.isKnown(address, now: now) { return notReceived(address) }
    let text = "\(error)"
    return GatewayError(.device, text.contains("\(address)") ? text : "\(address): \(text)")
  }

  /// Why the requests for a device are not performed after its session was cancelled.
  func cancellation(of address: DeviceAddress) -> GatewayError {
    if isEnding { return GatewayError(.device, "the gateway \(configuration.identifier) has ended") }
    if claims.isServedByAnother(address, now: now) {
      return GatewayError(.device, "another gateway has taken \(address) over. Publish the request again")
    }
    return notReceived(address)
  }

  /// The connected device has refused a subscription.
  func subscriptionRefused(_ attribute: AttributeName) {
    refusedSubscriptions[attribute.address, default: []].insert(attribute)
    for message in connections.refused(attribute, at: Date()) { enqueue(message, of: attribute.address) }
  }

  /// A value of the device was received or read.
  func received(_ octets: [UInt8], of attribute: DeviceAttribute) {
    announce(attribute)
    let name = attribute.name
    enqueue(
      ValueQueue.Message(
        topic: topics.value(name), payload: Messages.value(octets, of: name.characteristic, at: Date()),
        isRetained: homeAssistant?.retainsValue(of: name) ?? false),
      of: name.address)
  }

  /// Announces a characteristic to Home Assistant, unless it was.
  func announce(_ attribute: DeviceAttribute) {
    let deviceName = table[attribute.name.address]?.displayName
    for message in homeAssistant?.announcements(of: attribute, deviceName: deviceName) ?? [] {
      enqueue(message, of: attribute.name.address)
    }
  }

  /// Whether Home Assistant shows the value of a characteristic.
  func announces(_ name: AttributeName) -> Bool { homeAssistant?.announces(name) ?? false }

  // MARK: - The clock

  private func tick() async throws {
    while true {
      try await Task.sleep(for: .seconds(1))
      if let rejection { throw rejection }
      for change in claims.update(now: now) {
        switch change {
        case .taken(let address): connectIfConfigured(address)
        case .released(let address):
          sessions[address]?.task.cancel()
          forgetRetainedUnlessServed(address)
        }
      }
      table.forget(notHeardFor: DeviceClaims.lifetime * 4, now: now)
      assignWaiting()
      guard isConnected else { continue }
      for (address, claim) in claims.claimsToPublish(now: now) {
        client.publish(topics.claim(address), Messages.encode(claim), qos: 0)
      }
      if configuration.advertisements { publishAdvertisements() }
      publishCounters()
      send()
    }
  }

  private func publishAdvertisements() {
    for entry in table.due(now: now, where: { [claims] in claims.serves($0) }) {
      client.publish(
        topics.advertisement(entry.address),
        Messages.advertisement(entry, gateway: configuration.identifier, at: Date()), qos: 0)
    }
  }

  private func publishCounters() {
    var counters = Messages.Counters(version: ProgramVersion.text, instance: instance)
    counters.adapter = adapter.address?.octets.description
    counters.devices = claims.count
    counters.connected = connections.connectedCount
    counters.kept = queue.count
    counters.keptLimit = queue.limit
    counters.acknowledged = queue.acknowledged
    counters.lost = queue.lost
    counters.coalescedAdvertisements = table.coalesced
    counters.rejectedRequests = rejectedRequests
    counters.refusedSubscriptions = refusedSubscriptions.values.reduce(0) { $0 + $1.count }
    guard schedule.isDue(counters, now: now) else { return }
    client.publish(topics.info, Messages.encode(counters), qos: 1, isRetained: true)
  }
}
