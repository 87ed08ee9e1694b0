import BLEKit
import BLEWire
import Synchronization

/// The connection of one client to one device, or the attempt to make it. It has a slot from its beginning to the end
/// of its task, which is the end of the link, whatever ends it.
final class ProxyLink: Sendable {
  let address: DeviceAddress
  let client: ProxyClient
  /// The link of the same device that has to end before.
  let predecessor: ProxyLink?
  private let state = Mutex(State())

  private struct State: Sendable {
    var task: Task<Void, Never>?
    /// Whether the client has requested the end.
    var isEnding = false
    var isDone = false
    var waiters: [CheckedContinuation<Void, Never>] = []
    var operations: AsyncStream<ProxyOperation>.Continuation?
    var mtu: Int?
    /// The values that the client wants, with the descriptor that it has written for each.
    var notifying: [AttributeHandle: AttributeHandle?] = [:]
  }

  init(_ address: DeviceAddress, for client: ProxyClient, after predecessor: ProxyLink?) {
    (self.address, self.client, self.predecessor) = (address, client, predecessor)
  }

  /// Whether the link ends, or has ended.
  var isEnding: Bool { state.withLock { $0.isEnding } }
  /// The ATT_MTU; nil while the link is not up.
  var mtu: Int? { state.withLock { $0.mtu } }

  func start(on proxy: Proxy) {
    let task = proxy.spawn { await self.run(proxy) }
    let isEnding = state.withLock { state in
      state.task = state.isDone ? nil : task
      return state.isEnding
    }
    if isEnding { task.cancel() }
  }

  /// Ends the link.
  func end() {
    let task = state.withLock { state in
      state.isEnding = true
      return state.task
    }
    task?.cancel()
  }

  /// Waits until the link has ended, also in a task that was cancelled.
  func waitUntilDone() async {
    await withCheckedContinuation { continuation in
      let isDone = state.withLock { state in
        if !state.isDone { state.waiters.append(continuation) }
        return state.isDone
      }
      if isDone { continuation.resume() }
    }
  }

  /// - Returns: nil if the operation waits for its turn, otherwise why it cannot.
  func add(_ operation: ProxyOperation) -> ProxyError? {
    state.withLock { state in
      guard let operations = state.operations, !state.isEnding else { return .notConnected(address) }
      guard case .dropped = operations.yield(operation) else { return nil }
      return ProxyError(.limitExceeded, "too many operations wait for \(address): wait until some have ended")
    }
  }

  private func run(_ proxy: Proxy) async {
    await predecessor?.waitUntilDone()
    let error = await connectAndServe(proxy)
    let waiters = state.withLock { state in
      (state.isDone, state.task, state.operations, state.mtu) = (true, nil, nil, nil)
      defer { state.waiters = [] }
      return (state.waiters, state.isEnding)
    }
    proxy.ended(self, waiters.1 ? nil : error)
    for waiter in waiters.0 { waiter.resume() }
  }

  private func connectAndServe(_ proxy: Proxy) async -> ProxyError {
    let device: RemoteDevice
    switch await proxy.connect(self) {
    case .success(let connected): device = connected
    case .failure(let error): return error
    }
    let error = await serve(device, proxy)
    // In a task of its own, because a cancelled task cannot wait.
    await proxy.spawn { await device.disconnect() }.value
    return error
  }

  /// Performs operations and reports values until the link ends, or the task is cancelled.
  ///
  /// - Returns: why the link has ended.
  private func serve(_ device: RemoteDevice, _ proxy: Proxy) async -> ProxyError {
    do throws(BLEError) {
      let values = try device.attributeValues()
      let mtu = try await device.exchangeMTU()
      let (operations, continuation) = AsyncStream.makeStream(
        of: ProxyOperation.self, bufferingPolicy: .bufferingOldest(proxy.configuration.operationLimit))
      state.withLock { ($0.mtu, $0.operations) = (mtu, continuation) }
      client.report(.connected(address, mtu: mtu))
      let end = await withTaskGroup(of: BLEError?.self) { group in
        defer { group.cancelAll() }
        group.addTask { await self.report(values) }
        group.addTask {
          for await operation in operations {
            let result = await self.perform(operation, on: device, proxy)
            self.client.report(.finished(self.address, operation, result))
          }
          return nil
        }
        group.addTask { try? await device.waitUntilDisconnected() }
        return await group.next() ?? nil
      }
      // Operations that have not begun no longer have a link.
      state.withLock { $0.operations = nil }
      continuation.finish()
      for await operation in operations {
        client.report(.finished(address, operation, .failure(.notConnected(address))))
      }
      return end.map { ProxyError($0) } ?? ProxyError(.closed, "the connection to \(address) was closed")
    } catch {
      return ProxyError(error)
    }
  }

  private func report(_ values: AttributeValues) async -> BLEError? {
    do throws(BLEError) {
      for try await value in values where state.withLock({ $0.notifying[value.handle] != nil }) {
        client.report(.value(address, value.handle, value.octets))
      }
      return nil
    } catch { return error }
  }
}

/// Operations.
extension ProxyLink {
  private func perform(
    _ operation: ProxyOperation, on device: RemoteDevice, _ proxy: Proxy
  ) async -> Result<ProxyOutcome, ProxyError> {
    do throws(BLEError) {
      switch operation {
      case .discoverServices: return .success(.services(try await services(of: device)))
      case .read(let handle): return .success(.value(try await device.read(handle)))
      case .write(let handle, let octets, withResponse: true):
        noteConfiguration(of: handle, octets)
        try await device.write(octets, to: handle)
      case .write(let handle, let octets, withResponse: false):
        try await device.writeWithoutResponse(octets, to: handle)
      case .startNotifying(let handle):
        state.withLock { if $0.notifying[handle] == nil { $0.notifying.updateValue(nil, forKey: handle) } }
      case .stopNotifying(let handle):
        let descriptor = state.withLock { $0.notifying.removeValue(forKey: handle) ?? nil }
        if let descriptor { try await device.write([0, 0], to: descriptor) }
      case .pair: try await pair(device, proxy.configuration.pairing)
      case .unpair: proxy.unpair(device)
      case .clearCache: try device.forgetServices()
      case .setConnectionParameters(let request): try await device.updateConnectionParameters(request)
      }
      return .success(.done)
    } catch { return .failure(ProxyError(error)) }
  }

  private func pair(_ device: RemoteDevice, _ policy: PairingPolicy) async throws(BLEError) {
    do throws(BLEError) {
      try await device.pair()
      policy.ended(device.address, nil)
    } catch {
      policy.ended(device.address, ProxyError(error))
      throw error
    }
  }

  /// The descriptors of a characteristic follow its value, so that a Client Characteristic Configuration belongs to the
  /// last value before it that the client wants (Vol 3, Part G, 3.3.3.3).
  private func noteConfiguration(of descriptor: AttributeHandle, _ octets: [UInt8]) {
    guard octets.count == 2, octets[0] <= 3, octets[1] == 0 else { return }
    state.withLock { state in
      guard let value = state.notifying.keys.filter({ $0 < descriptor }).max() else { return }
      state.notifying[value] = .some(octets[0] == 0 ? nil : descriptor)
    }
  }

  private func services(of device: RemoteDevice) async throws(BLEError) -> [ProxyService] {
    var services: [ProxyService] = []
    for service in try await device.services() {
      var characteristics: [ProxyCharacteristic] = []
      for characteristic in service.characteristics {
        characteristics.append(
          ProxyCharacteristic(
            uuid: characteristic.uuid, handle: characteristic.handle, properties: characteristic.properties,
            descriptors: try await device.descriptors(of: characteristic)))
      }
      services.append(
        ProxyService(uuid: service.uuid, handle: service.handles.lowerBound, characteristics: characteristics))
    }
    return services
  }
}
