import BLEGATT
import BLEKit
import BLEWire
import GatewayCore
import Synchronization

/// The connection of the gateway to one device: subscriptions, and requests one after the other.
///
/// With subscriptions it is made again when it ends, as long as the gateway serves the device. Without, it is made for
/// a request and ends when no further one has come for ``idleTime``.
final class DeviceSession: Sendable {
  struct Work: Sendable {
    let attribute: AttributeName
    let request: Request
  }

  /// Requests for one device that wait.
  static let requestLimit = 64
  private static let idleTime = Duration.seconds(10)
  private static let longestPause = Duration.seconds(60)
  /// Characters of a user description that are shown.
  private static let longestDescription = 40

  let address: DeviceAddress
  private let state = Mutex(State())

  private struct State {
    var waiting: [Work] = []
    var arrival: AsyncStream<Void>.Continuation?
    var task: Task<Void, Never>?
    /// Subscriptions during which the link has ended. They are the last ones on the next link.
    var fatal: Set<AttributeName> = []
    /// The user descriptions of characteristics of one type; nil until they are read.
    var userDescriptions: [AttributeName: String]?
    var isConnected = false
  }

  init(_ address: DeviceAddress, of gateway: Gateway) {
    self.address = address
    let task = Task { await run(gateway) }
    state.withLock { $0.task = task }
  }

  var task: Task<Void, Never> { state.withLock { $0.task } ?? Task {} }

  /// Adds a request; false where too many wait.
  func add(_ work: Work) -> Bool {
    let arrival: AsyncStream<Void>.Continuation? = state.withLock { state in
      guard state.waiting.count < Self.requestLimit else { return nil }
      state.waiting.append(work)
      return state.arrival ?? AsyncStream<Void>.makeStream().continuation
    }
    arrival?.yield()
    return arrival != nil
  }

  /// Takes the requests that were not begun.
  func rest() -> [Work] {
    state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  private func next() -> Work? {
    state.withLock { state in state.waiting.isEmpty ? nil : state.waiting.removeFirst() }
  }

  private func run(_ gateway: Gateway) async {
    var pause = Duration.seconds(1)
    var reported: String?
    repeat {
      let start = ContinuousClock.now
      state.withLock { $0.isConnected = false }
      do {
        guard let device = await gateway.advertisement(of: address) else {
          throw GatewayError(.notFound, "\(address) is no longer received")
        }
        let adapter = gateway.adapter
        try await adapter.withConnection(to: device.address) { device in
          await gateway.connectionChanged(self.address, isConnected: true)
          self.state.withLock { $0.isConnected = true }
          do {
            try await self.use(device, gateway)
            await gateway.connectionChanged(self.address, isConnected: false)
          } catch {
            // The end of the gateway, or another one that serves the device now, is no failure.
            let reason = Task.isCancelled ? nil : "\(error)"
            let advice = Task.isCancelled ? "" : gateway.advice(for: error, of: self.address)
            await gateway.connectionChanged(self.address, isConnected: false, reason: reason, advice: advice)
            throw error
          }
        }
        pause = .seconds(1)
      } catch {
        // Requests do not wait for a device that cannot be reached.
        let waiting = rest()
        if !waiting.isEmpty {
          // A session is cancelled when the device is no longer received, or when another gateway serves it.
          let reason =
            Task.isCancelled ? await gateway.cancellation(of: address) : await gateway.failure(error, of: address)
          for work in waiting { await gateway.answer(work.attribute, work.request, .failure(reason)) }
        }
        // The reason of the end of a connection was reported.
        let failure = state.withLock(\.isConnected) ? nil : "\(error)\(gateway.advice(for: error, of: address))"
        if let failure, failure != reported, !Task.isCancelled { Log.line("no connection to \(address): \(failure)") }
        reported = failure
        // A connection that has lasted is not one of several attempts.
        if ContinuousClock.now - start > Self.longestPause { pause = .seconds(1) }
        pause = min(pause * 2, Self.longestPause)
      }
      if Task.isCancelled { break }
      let isWanted = await !gateway.subscriptions(of: address).isEmpty
      guard isWanted else { break }
      try? await Task.sleep(for: pause)
    } while !Task.isCancelled
    await gateway.ended(self)
  }

  /// Publishes values and answers requests until the link ends, or until it is not needed any more.
  private func use(_ device: RemoteDevice, _ gateway: Gateway) async throws {
    let characteristics = Characteristics(try await device.services(), of: address)
    let subscriptions = await gateway.subscriptions(of: address)
    let isKept = !subscriptions.isEmpty
    let published = characteristics.attributes.published(subscriptions)
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      group.addTask { throw try await device.waitUntilDisconnected() }
      group.addTask {
        try await self.answerRequests(device, characteristics, Set(published.names), gateway, isKept: isKept)
      }
      if isKept {
        group.addTask {
          try await self.publishValues(device, characteristics, published, gateway)
          // What the device refused ends nothing else.
          throw try await device.waitUntilDisconnected()
        }
      }
      try await group.next()
    }
  }

  // MARK: - Values

  /// Subscribes to each characteristic, reads it once, and publishes its values. Ends when no subscription is left.
  private func publishValues(
    _ device: RemoteDevice, _ characteristics: Characteristics, _ published: DeviceAttributes.Published,
    _ gateway: Gateway
  ) async throws {
    for subscription in published.missing { Log.line("\(address) has no characteristic \(subscription)") }
    if published.excess > 0 {
      Log.line(
        "\(address): \(published.excess) characteristics are not published: \(DeviceAttributes.publishedLimit) are the "
          + "maximum for one device")
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      let fatal = state.withLock(\.fatal)
      try await readUserDescriptions(device, characteristics, published.names)
      for name in published.names.filter({ !fatal.contains($0) }) + published.names.filter(fatal.contains) {
        guard let characteristic = characteristics[name] else { continue }
        let attribute = self.attribute(name, characteristic, isPublished: true)
        // Home Assistant also writes what cannot be read.
        if attribute.isWritable { await gateway.announce(attribute) }
        try await subscribe(to: characteristic, attribute, device, gateway, &group)
        if characteristic.properties.contains(.read) {
          // A value that does not change is not notified.
          try await publishValue(of: characteristic, attribute, device, gateway)
        }
      }
      try await group.waitForAll()
    }
  }

  /// Reads what tells published characteristics of one type apart. A device on which that fails is not asked again.
  private func readUserDescriptions(
    _ device: RemoteDevice, _ characteristics: Characteristics, _ published: [AttributeName]
  ) async throws {
    guard state.withLock(\.userDescriptions) == nil else { return }
    state.withLock { $0.userDescriptions = [:] }
    var found: [AttributeName: String] = [:]
    for name in characteristics.attributes.ofSharedTypes where published.contains(name) {
      guard let characteristic = characteristics[name] else { continue }
      do throws(BLEError) {
        for descriptor in try await device.descriptors(of: characteristic) where descriptor.uuid == "2901" {
          let text = DeviceText(try await device.read(descriptor)[...])
          let shown = String(String(printable: text.repaired).prefix(Self.longestDescription))
          if !shown.isEmpty { found[name] = shown }
        }
      } catch {
        guard error.isOfOneAttribute else { throw error }
      }
    }
    let distinct = DeviceAttributes.distinct(found)
    state.withLock { $0.userDescriptions = distinct }
  }

  private func attribute(
    _ name: AttributeName, _ characteristic: RemoteCharacteristic, isPublished: Bool
  ) -> DeviceAttribute {
    let properties = characteristic.properties
    return DeviceAttribute(
      name, isReadable: !properties.isDisjoint(with: [.read, .notify, .indicate]),
      isWritable: !properties.isDisjoint(with: [.write, .writeWithoutResponse]), isPublished: isPublished,
      userDescription: state.withLock { $0.userDescriptions?[name] })
  }

  /// Subscribes, and adds the task that publishes the values. If the device refuses, this characteristic alone is given
  /// up until the next connection.
  private func subscribe(
    to characteristic: RemoteCharacteristic, _ attribute: DeviceAttribute, _ device: RemoteDevice, _ gateway: Gateway,
    _ group: inout ThrowingTaskGroup<Void, any Error>
  ) async throws {
    guard !characteristic.properties.isDisjoint(with: [.notify, .indicate]) else {
      let rest = attribute.isReadable ? "its value is read once for each connection" : "it is only written"
      return Log.line("\(address): \(attribute.name.path) has no notifications: \(rest)")
    }
    let sequence: CharacteristicValues<[UInt8]> = device.values(of: characteristic)
    do throws(BLEError) {
      let values = try await sequence.subscribed()
      group.addTask { [self] in try await publish(values, of: sequence, attribute, gateway) }
    } catch {
      if error.kind == .disconnected { state.withLock { _ = $0.fatal.insert(attribute.name) } }
      try await refused(attribute.name, error, gateway)
    }
  }

  private func publish(
    _ first: CharacteristicValues<[UInt8]>.Iterator, of sequence: CharacteristicValues<[UInt8]>,
    _ attribute: DeviceAttribute, _ gateway: Gateway
  ) async throws {
    var values = first
    while true {
      do throws(BLEError) {
        while let octets = try await values.next() { await gateway.received(octets, of: attribute) }
        return
      } catch {
        guard error.kind == .limitExceeded else { return try await refused(attribute.name, error, gateway) }
        Log.line("\(address): values of \(attribute.name.path) are lost: \(error.description)")
        values = sequence.makeAsyncIterator()
      }
    }
  }

  private func publishValue(
    of characteristic: RemoteCharacteristic, _ attribute: DeviceAttribute, _ device: RemoteDevice, _ gateway: Gateway
  ) async throws {
    do throws(BLEError) {
      let octets: [UInt8] = try await device.read(characteristic)
      await gateway.received(octets, of: attribute)
    } catch {
      guard error.isOfOneAttribute else { throw error }
      let advice = gateway.advice(for: error, of: address)
      Log.line("\(address): \(attribute.name.path) is not read: \(error.description)\(advice)")
    }
  }

  /// - Throws: the error, if it is one of the link.
  private func refused(_ name: AttributeName, _ error: BLEError, _ gateway: Gateway) async throws {
    guard error.isOfOneAttribute else { throw error }
    let advice = gateway.advice(for: error, of: address)
    Log.line("\(address): no subscription to \(name.path) on this connection: \(error.description)\(advice)")
    await gateway.subscriptionRefused(name)
  }

  // MARK: - Requests

  private func answerRequests(
    _ device: RemoteDevice, _ characteristics: Characteristics, _ published: Set<AttributeName>, _ gateway: Gateway,
    isKept: Bool
  ) async throws {
    let (arrivals, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    state.withLock { $0.arrival = continuation }
    continuation.yield()
    defer { state.withLock { $0.arrival = nil } }
    var timer: Task<Void, Never>?
    defer { timer?.cancel() }
    var characteristics = characteristics
    for await _ in arrivals {
      timer?.cancel()
      while let work = next() {
        let outcome = await perform(work, device, &characteristics, gateway)
        guard case .success(let octets) = outcome, let characteristic = characteristics[work.attribute] else {
          await gateway.answer(work.attribute, work.request, outcome)
          continue
        }
        let isPublished = published.contains(work.attribute)
        let attribute = self.attribute(work.attribute, characteristic, isPublished: isPublished)
        if case .read = work.request.kind { await gateway.received(octets, of: attribute) }
        await gateway.answer(work.attribute, work.request, outcome)
        // A device need not notify a client of what it has written itself.
        if case .write = work.request.kind, characteristic.properties.contains(.read),
          await gateway.announces(work.attribute)
        {
          try await publishValue(of: characteristic, attribute, device, gateway)
        }
      }
      if isKept { continue }
      timer = Task {
        // After a cancellation the sequence goes on.
        if (try? await Task.sleep(for: Self.idleTime)) != nil { continuation.finish() }
      }
    }
  }

  private func perform(
    _ work: Work, _ device: RemoteDevice, _ characteristics: inout Characteristics, _ gateway: Gateway
  ) async -> Result<[UInt8], GatewayError> {
    do throws(BLEError) {
      do throws(BLEError) { return try await perform(work, device, characteristics) } catch {
        guard error.kind == .servicesChanged else { throw error }
        // The characteristic may have other handles by now.
        characteristics = Characteristics(try await device.services(), of: address)
        return try await perform(work, device, characteristics)
      }
    } catch {
      if Task.isCancelled { return .failure(await gateway.cancellation(of: address)) }
      let advice = gateway.advice(for: error, of: address)
      if !advice.isEmpty { Log.line("\(address): \(work.attribute.path): \(error.description)\(advice)") }
      return .failure(GatewayError(.device, error.description))
    }
  }

  private func perform(
    _ work: Work, _ device: RemoteDevice, _ characteristics: Characteristics
  ) async throws(BLEError) -> Result<[UInt8], GatewayError> {
    guard let characteristic = characteristics[work.attribute] else {
      return .failure(
        GatewayError(.notFound, "\(work.attribute.address) has no characteristic \(work.attribute.path)"))
    }
    switch work.request.kind {
    case .read: return .success(try await device.read(characteristic))
    case .write(let octets, let wantsResponse):
      let isOffered = characteristic.properties.contains(.write)
      if wantsResponse ?? (isOffered || !characteristic.properties.contains(.writeWithoutResponse)) {
        try await device.write(octets, to: characteristic)
      } else {
        try await device.writeWithoutResponse(octets, to: characteristic)
      }
    }
    return .success([])
  }
}

extension DeviceSession {
  /// The characteristics of the device by their names in topics.
  private struct Characteristics: Sendable {
    let attributes: DeviceAttributes
    private let found: [AttributeName: RemoteCharacteristic]

    init(_ services: [RemoteService], of address: DeviceAddress) {
      attributes = DeviceAttributes(
        of: address, services: services.map { ($0.uuid, $0.characteristics.map(\.uuid)) })
      let characteristics = services.flatMap(\.characteristics)
      found = Dictionary(zip(attributes.names, characteristics), uniquingKeysWith: { first, _ in first })
    }

    subscript(name: AttributeName) -> RemoteCharacteristic? { found[name] }
  }
}

extension BLEError {
  /// Whether the error concerns an attribute alone: the link and the adapter go on.
  fileprivate var isOfOneAttribute: Bool {
    switch kind {
    case .disconnected, .cancelled, .adapterUnavailable: false
    default: true  // The others leave the link up.
    }
  }
}
