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
    /// Whether the link is being ended.
    var isEnding = false
    /// Why it is being ended; nil if the client has requested it.
    var fault: ProxyError?
    var isDone = false
    var waiters: [CheckedContinuation<Void, Never>] = []
    var operations: AsyncStream<ProxyOperation>.Continuation?
    /// The operations that have not ended.
    var waiting = 0
    /// Whether as many wait as may, until half of them have ended.
    var isFull = false
    var mtu: Int?
    var place: Place?
    /// The values that the client wants, with the descriptor that it has written for each.
    var notifying: [AttributeHandle: AttributeHandle?] = [:]
  }

  /// The adapter of a link.
  struct Place: Equatable, Sendable {
    /// The index of the adapter that connects it, or tries to.
    let adapter: Int
    /// Whether the link is up, or was up and ends.
    let isConnected: Bool
  }

  init(_ address: DeviceAddress, for client: ProxyClient, after predecessor: ProxyLink?) {
    (self.address, self.client, self.predecessor) = (address, client, predecessor)
  }

  /// Whether the link ends, or has ended.
  var isEnding: Bool { state.withLock { $0.isEnding } }
  /// The ATT_MTU; nil while the link is not up.
  var mtu: Int? { state.withLock { $0.mtu } }
  /// The adapter of the link; nil while none has room for it.
  var place: Place? { state.withLock { $0.place } }

  func setPlace(_ place: Place?) { state.withLock { $0.place = place } }

  func start(on proxy: Proxy) {
    let task = proxy.spawn { await self.run(proxy) }
    let isEnding = state.withLock { state in
      state.task = state.isDone ? nil : task
      return state.isEnding
    }
    if isEnding { task.cancel() }
  }

  /// Ends the link.
  ///
  /// - Parameter fault: why; nil if the client has requested it.
  func end(_ fault: ProxyError? = nil) {
    let task = state.withLock { state in
      if !state.isEnding { state.fault = fault }
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

  /// - Returns: whether the operation waits for its turn; false if the link is not up.
  /// - Throws: why the operation has failed.
  func add(_ operation: ProxyOperation, limit: Int) throws(ProxyError) -> Bool {
    let result = state.withLock { state -> Result<Bool, ProxyError> in
      guard let operations = state.operations, !state.isEnding else { return .success(false) }
      if let refusal = operation.refusal(for: address) { return .failure(refusal) }
      guard state.waiting < limit else {
        return .failure(
          ProxyError(.limitExceeded, "too many operations wait for \(address): wait until some have ended"))
      }
      state.waiting += 1
      if state.waiting == limit, !state.isFull {
        state.isFull = true
        client.noteFull(true)
      }
      operations.yield(operation)
      return .success(true)
    }
    do throws(ProxyError) { return try result.get() } catch {
      if let gap = operation.gap(error) { end(gap) }
      throw error
    }
  }

  /// An operation has ended.
  private func finished(
    _ operation: ProxyOperation, _ result: Result<ProxyOutcome, ProxyError>, limit: Int
  ) {
    state.withLock { state in
      state.waiting -= 1
      guard state.isFull, state.waiting <= limit / 2 else { return }
      state.isFull = false
      client.noteFull(false)
    }
    client.report(.finished(address, operation, result))
  }

  private func run(_ proxy: Proxy) async {
    await predecessor?.waitUntilDone()
    let error = await connectAndServe(proxy)
    let waiters = state.withLock { state in
      (state.isDone, state.task, state.operations, state.mtu) = (true, nil, nil, nil)
      defer { state.waiters = [] }
      return (state.waiters, state.isEnding ? state.fault : error)
    }
    proxy.ended(self, waiters.1)
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
      let mtu = try await mtu(of: device, proxy)
      // ``State/waiting`` is limited.
      let (operations, continuation) = AsyncStream.makeStream(of: ProxyOperation.self)
      state.withLock { ($0.mtu, $0.operations) = (mtu, continuation) }
      client.report(.connected(address, mtu: mtu))
      let end = await withTaskGroup(of: BLEError?.self) { group in
        defer { group.cancelAll() }
        group.addTask { await self.report(values) }
        group.addTask {
          for await operation in operations {
            let result = await self.perform(operation, on: device, proxy)
            self.finished(operation, result, limit: proxy.operationLimit)
            if case .failure(let error) = result, let gap = operation.gap(error) { self.end(gap) }
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
        finished(operation, proxy.performWithoutLink(operation, on: address), limit: proxy.operationLimit)
      }
      return end.map { ProxyError($0) } ?? ProxyError(.closed, "the connection to \(address) was closed")
    } catch {
      return ProxyError(error)
    }
  }

  /// The ATT_MTU of the link. A link to a device that has lost its bond has the default, and stays up, so that the
  /// client can unpair and pair.
  private func mtu(of device: RemoteDevice, _ proxy: Proxy) async throws(BLEError) -> Int {
    do throws(BLEError) { return try await device.exchangeMTU() } catch {
      guard error.bondLoss != nil, device.isConnected else { throw error }
      proxy.configuration.log("\(address): connected without encryption: \(error)")
      return device.mtu
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
      case .unpair: return proxy.performWithoutLink(operation, on: address)
      case .clearCache:
        // A link that has just ended has forgotten them.
        try? device.forgetServices()
        return proxy.performWithoutLink(operation, on: address)
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

extension ProxyOperation {
  /// Why the operation cannot be performed on any link; nil if it can.
  fileprivate func refusal(for address: DeviceAddress) -> ProxyError? {
    guard case .write(let handle, let octets, _) = self, octets.count > Self.valueLimit else { return nil }
    return ProxyError(
      .limitExceeded,
      "a write to handle \(handle) of \(address) has \(octets.count) octets: \(Self.valueLimit) are possible")
  }

  /// Why the connection has to end after the operation has failed: other writes without a response, whose end a client
  /// does not wait for, would follow a gap. Nil for any other operation, and where none of these writes is possible,
  /// because the device has lost its bond.
  fileprivate func gap(_ error: ProxyError) -> ProxyError? {
    guard case .write(let handle, _, withResponse: false) = self else { return nil }
    if case .bluetooth(let reason) = error.kind, reason.bondLoss != nil { return nil }
    return ProxyError(
      error.kind, "a write without response to handle \(handle) is lost, which ends the connection: \(error)")
  }

  /// The longest value of an attribute, in octets (Vol 3, Part F, 3.2.9).
  private static let valueLimit = 512
}
