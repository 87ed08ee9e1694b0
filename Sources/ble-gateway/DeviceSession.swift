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

  let address: DeviceAddress
  private let state = Mutex(State())

  private struct State {
    var waiting: [Work] = []
    var hasEnded = false
    var arrival: AsyncStream<Void>.Continuation?
    var task: Task<Void, Never>?
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
    repeat {
      do {
        guard let device = await gateway.advertisement(of: address) else {
          throw GatewayError(.notFound, "\(address) is no longer received")
        }
        let adapter = gateway.adapter
        try await adapter.withConnection(to: device.address) { device in
          await gateway.connectionChanged(self.address, isConnected: true)
          do {
            try await self.use(device, gateway)
            await gateway.connectionChanged(self.address, isConnected: false)
          } catch {
            await gateway.connectionChanged(self.address, isConnected: false, reason: "\(error)")
            throw error
          }
        }
        pause = .seconds(1)
      } catch {
        // Requests do not wait for a device that cannot be reached.
        for work in rest() {
          await gateway.answer(
            work.attribute, work.request, .failure(GatewayError(.device, "\(address): \(error)")))
        }
        pause = min(pause * 2, Self.longestPause)
      }
      if Task.isCancelled { break }
      let isWanted = await !gateway.subscriptions(of: address).isEmpty
      guard isWanted else { break }
      try? await Task.sleep(for: pause)
    } while !Task.isCancelled
    await gateway.ended(self)
  }

  /// Subscribes and answers requests until the link ends, or until it is not needed any more.
  private func use(_ device: RemoteDevice, _ gateway: Gateway) async throws {
    let services = try await device.services()
    let subscriptions = await gateway.subscriptions(of: address)
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      for subscription in subscriptions {
        guard let characteristic = Self.find(subscription.characteristic, in: subscription.service, services) else {
          Log.line("\(address) has no characteristic \(subscription)")
          continue
        }
        let attribute = AttributeName(
          address: address, service: subscription.service, characteristic: subscription.characteristic)
        group.addTask {
          for try await value in device.values(of: characteristic) { await gateway.received(value, of: attribute) }
        }
      }
      group.addTask { throw try await device.waitUntilDisconnected() }
      let isKept = !subscriptions.isEmpty
      group.addTask { try await self.answerRequests(device, services, gateway, isKept: isKept) }
      try await group.next()
    }
  }

  private func answerRequests(
    _ device: RemoteDevice, _ services: [RemoteService], _ gateway: Gateway, isKept: Bool
  ) async throws {
    let (arrivals, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    state.withLock { $0.arrival = continuation }
    continuation.yield()
    defer { state.withLock { $0.arrival = nil } }
    var timer: Task<Void, Never>?
    defer { timer?.cancel() }
    for await _ in arrivals {
      timer?.cancel()
      while let work = next() {
        let outcome = await Self.perform(work, device, services)
        if case .success(let octets) = outcome, case .read = work.request.kind {
          await gateway.received(octets, of: work.attribute)
        }
        await gateway.answer(work.attribute, work.request, outcome)
      }
      if isKept { continue }
      timer = Task {
        // After a cancellation the sequence goes on.
        if (try? await Task.sleep(for: Self.idleTime)) != nil { continuation.finish() }
      }
    }
  }

  private static func find(
    _ characteristic: BluetoothUUID, in service: BluetoothUUID, _ services: [RemoteService]
  ) -> RemoteCharacteristic? {
    services.lazy.filter { $0.uuid == service }.compactMap { $0[characteristic] }.first
  }

  private static func perform(
    _ work: Work, _ device: RemoteDevice, _ services: [RemoteService]
  ) async -> Result<[UInt8], GatewayError> {
    let attribute = work.attribute
    guard let characteristic = find(attribute.characteristic, in: attribute.service, services) else {
      return .failure(
        GatewayError(
          .notFound,
          "\(attribute.address) has no characteristic \(attribute.service.uuidString)/\(attribute.characteristic.uuidString)"
        ))
    }
    do throws(BLEError) {
      switch work.request.kind {
      case .read: return .success(try await device.read(characteristic))
      case .write(let octets, wantsResponse: true): try await device.write(octets, to: characteristic)
      case .write(let octets, wantsResponse: false): try await device.writeWithoutResponse(octets, to: characteristic)
      }
      return .success([])
    } catch { return .failure(GatewayError(.device, error.description)) }
  }
}
