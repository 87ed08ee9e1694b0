public import BLEKit
import BLEWire
import Synchronization

/// Adapters that serve several clients, each of which scans and connects as if the adapters were its own.
///
/// ```swift
/// let proxy = Proxy([adapter])
/// let running = Task { await proxy.run() }
/// let client = proxy.makeClient { waiting in print("\(waiting) wait") }
/// client.connect(to: address)
/// ```
///
/// A connection belongs to the client that has asked for it and ends with that client. It takes a slot from the request
/// on until the link has ended, whatever ends it: ``ConnectionSlots``. The adapters scan while a client wants
/// advertisements, for what all clients want together.
///
/// A proxy contains no network protocol: a program that offers one makes a ``ProxyClient`` for each connection.
public final class Proxy: Sendable {
  /// The adapters, in the order in which they were given.
  public let adapters: [Adapter]
  /// The limits and policies that it was created with.
  public let configuration: ProxyConfiguration
  private let environment: Environment
  private let state: Mutex<State>
  private let lost = Atomic(0)

  /// Where tasks run, and how they wait: in tests, on the thread of the test and in virtual time.
  package struct Environment: Sendable {
    package var executor: (any TaskExecutor)?
    package var sleep: @Sendable (Duration) async throws -> Void
    /// How long a limit that a controller has shown is announced at most. No command of an LE controller has the number
    /// of its links, and some of them may have belonged to another program.
    package var shownLimitTime = Duration.seconds(3600)

    package init(
      executor: (any TaskExecutor)? = nil,
      sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
      (self.executor, self.sleep) = (executor, sleep)
    }
  }

  fileprivate struct State: Sendable {
    var isClosed = false
    var number: UInt32 = 0
    var clients: [UInt32: ProxyClient] = [:]
    var scans: [UInt32: ProxyScan] = [:]
    /// The clients that scan, in the form in which each advertisement needs them.
    var receivers: [(client: ProxyClient, scan: ProxyScan)] = []
    var adapters: [ProxyAdapter]
    /// The links in the order of their requests.
    var links: [ProxyLink] = []
    var sightings: SightingTable
    /// Whether the scans send scan requests; nil where nothing is scanned for.
    var isScanActive: Bool?
    /// Counts the changes of what is scanned for.
    var scanGeneration = 0
  }

  /// Creates a proxy of adapters.
  ///
  /// - Parameters:
  ///   - adapters: at least one, powered on or not.
  ///   - configuration: the limits and policies.
  public convenience init(_ adapters: [Adapter], _ configuration: ProxyConfiguration = ProxyConfiguration()) {
    self.init(adapters, configuration, in: Environment())
  }

  package init(_ adapters: [Adapter], _ configuration: ProxyConfiguration, in environment: Environment) {
    (self.adapters, self.configuration, self.environment) = (adapters, configuration, environment)
    state = Mutex(
      State(
        adapters: adapters.map { _ in ProxyAdapter(limit: configuration.connectionLimit) },
        sightings: SightingTable(adapters: adapters.count)))
  }

  /// Answers the questions of pairings until the task is cancelled; then ends all clients and waits until their links
  /// have ended.
  public func run() async {
    let questions = adapters.map { adapter in
      let requests = adapter.pairingRequests
      return spawn { [configuration] in
        for await request in requests { await configuration.pairing.answer(request) }
      }
    }
    let (never, end) = AsyncStream.makeStream(of: Never.self)
    for await _ in never {}
    end.finish()
    await spawn { await self.close() }.value
    for task in questions { task.cancel() }
  }

  /// Ends all clients, and waits until their links have ended.
  public func close() async {
    let (clients, links) = state.withLock { state in
      state.isClosed = true
      return (Array(state.clients.values), state.links)
    }
    for client in clients {
      client.end(ProxyError(.closed, "the proxy has ended"))
      remove(client)
    }
    for link in links { await link.waitUntilDone() }
  }

  /// Makes a client.
  ///
  /// - Parameter onReady: is called when something waits for the client, on any thread: once for advertisements and
  ///   once for events, until the client takes them. It must not wait.
  public func makeClient(onReady: @escaping @Sendable (ProxyClient.Waiting) -> Void) -> ProxyClient {
    let (client, isClosed) = state.withLock { state in
      state.number += 1
      let client = ProxyClient(state.number, of: self, onReady: onReady)
      if !state.isClosed { state.clients[client.id] = client }
      return (client, state.isClosed)
    }
    if isClosed { client.end(ProxyError(.closed, "the proxy has ended")) }
    return client
  }

  /// The connections.
  public var slots: ConnectionSlots { state.withLock { $0.slots } }

  /// The advertisements that were dropped because clients did not take them.
  public var lostAdvertisements: Int { lost.load(ordering: .relaxed) }

  func noteLost(_ count: Int) { lost.add(count, ordering: .relaxed) }

  /// The state of the scan.
  public var scanner: ScannerStatus { state.withLock { $0.scanner(configuration) } }

  func spawn(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: environment.executor, operation: body)
  }

  func remove(_ client: ProxyClient) {
    let links = state.withLock { state in
      state.clients[client.id] = nil
      state.scans[client.id] = nil
      state.scansChanged()
      return state.links.filter { $0.client === client }
    }
    for link in links { link.end() }
    reviewScan()
  }

  /// Reports something to all clients.
  func tell(_ event: ProxyEvent) {
    for client in state.withLock({ Array($0.clients.values) }) { client.report(event) }
  }
}

// MARK: - Links

extension Proxy {
  private enum Decision {
    case started(ProxyLink)
    case connected(mtu: Int)
    case connecting
    case refused(ProxyError)
  }

  func connect(to address: DeviceAddress, _ client: ProxyClient) {
    let decision = state.withLock { state -> Decision in
      guard state.clients[client.id] != nil else { return .refused(ProxyError(.closed, "the client is closed")) }
      let present = state.links.last { $0.address == address }
      if let present, !present.isEnding {
        guard present.client === client else {
          return .refused(
            ProxyError(.inUse, "another client is connected to \(address): wait until it has disconnected"))
        }
        return present.mtu.map { .connected(mtu: $0) } ?? .connecting
      }
      guard present != nil || state.slots.free > 0 else {
        return .refused(
          ProxyError(
            .noFreeSlot,
            "no connection to \(address): all \(state.slots.limit) slots are in use. Disconnect another device"))
      }
      let link = ProxyLink(address, for: client, after: present)
      state.links.append(link)
      return .started(link)
    }
    switch decision {
    case .started(let link):
      tell(.slots(slots))
      link.start(on: self)
    case .connected(let mtu): client.report(.connected(address, mtu: mtu))
    case .connecting: break
    case .refused(let error): client.report(.disconnected(address, error))
    }
  }

  func disconnect(from address: DeviceAddress, _ client: ProxyClient) {
    guard let link = link(to: address, of: client) else { return client.report(.disconnected(address, nil)) }
    link.end()
  }

  func perform(_ operation: ProxyOperation, on address: DeviceAddress, _ client: ProxyClient) {
    let isOpen = state.withLock { $0.clients[client.id] != nil }
    guard isOpen else { return }
    let result: Result<ProxyOutcome, ProxyError>
    do throws(ProxyError) {
      if let link = link(to: address, of: client), try link.add(operation, limit: operationLimit) { return }
      result = performWithoutLink(operation, on: address)
    } catch { result = .failure(error) }
    client.report(.finished(address, operation, result))
  }

  var operationLimit: Int { max(1, configuration.operationLimit) }

  /// Performs an operation that needs no connection; any other one fails.
  func performWithoutLink(_ operation: ProxyOperation, on address: DeviceAddress) -> Result<ProxyOutcome, ProxyError> {
    switch operation {
    case .unpair: forEachBond(of: address) { $0.remove($1) }
    case .clearCache: forEachBond(of: address) { $0.forgetServices(of: $1) }
    case .discoverServices, .read, .write, .startNotifying, .stopNotifying, .pair, .setConnectionParameters:
      return .failure(.notConnected(address))
    }
    return .success(.done)
  }

  private func forEachBond(of address: DeviceAddress, _ body: (Adapter, Bond) -> Void) {
    for adapter in adapters {
      if let bond = adapter.bond(of: address) { body(adapter, bond) }
    }
  }

  /// The address of a bonded device, with its kind.
  func bondedDevice(_ octets: BD_ADDR) -> DeviceAddress? {
    for adapter in adapters {
      for bond in adapter.bonds {
        if let address = bond.fixedAddresses.first(where: { $0.octets == octets }) { return address }
      }
    }
    return nil
  }

  private func link(to address: DeviceAddress, of client: ProxyClient) -> ProxyLink? {
    state.withLock { state in state.links.last { $0.address == address && $0.client === client } }
  }

  /// Connects a link by the adapter that is the best for it, among those whose controllers have room.
  func connect(_ link: ProxyLink) async -> Result<RemoteDevice, ProxyError> {
    var error = ProxyError(.noFreeSlot, "no connection to \(link.address): no adapter has room for it")
    var tried: Set<Int> = []
    // Only an adapter that has the keys can encrypt the link.
    let bonded = adapters.indices.filter { adapters[$0].bond(of: link.address) != nil }
    while let (index, phys) = state.withLock({ $0.place(link, among: bonded, without: tried) }) {
      guard await beginAttempt(of: index) else { break }
      let outcome: Result<RemoteDevice, ProxyError>
      do throws(ProxyError) {
        outcome = .success(try await attempt(link.address, adapters[index], phys))
        link.setPlace(ProxyLink.Place(adapter: index, isConnected: true))
      } catch { outcome = .failure(error) }
      let isRefused = outcome.isRefusal
      state.withLock { $0.adapters[index].endAttempt(isRefused: isRefused) }.finish()
      guard isRefused, case .failure(let failure) = outcome else { return outcome }
      error = failure
      // The controller or the host takes no more attempts, or no more links.
      if await otherAttemptEnded(of: index) { continue }
      tried.insert(index)
      noteFull(index, besides: link)
    }
    return .failure(error)
  }

  /// The controller of an adapter has no room for a link.
  private func noteFull(_ index: Int, besides link: ProxyLink) {
    let (limit, change) = state.withLock { state in
      link.setPlace(nil)
      let connected = state.links.count { $0.place == ProxyLink.Place(adapter: index, isConnected: true) }
      let change = state.adapters[index].noteFull(connected: connected)
      return (state.adapters[index].limit, change)
    }
    tell(.slots(slots))
    if change.isNew {
      let name = adapters.count == 1 ? "the controller" : "the controller of adapter \(index + 1)"
      configuration.log("\(name) takes no more than \(limit) connections at once: the proxy announces as many")
    }
    guard change.isFirst else { return }
    _ = spawn { [weak self, environment] in
      try? await environment.sleep(environment.shownLimitTime)
      self?.forgetLimit(index)
    }
  }

  private func forgetLimit(_ index: Int) {
    state.withLock { $0.adapters[index].forgetLimit(configured: configuration.connectionLimit) }
    tell(.slots(slots))
  }

  /// Waits until an adapter may begin another attempt.
  ///
  /// - Returns: false if the task was cancelled.
  private func beginAttempt(of index: Int) async -> Bool {
    while !Task.isCancelled {
      let waiting = state.withLock { $0.adapters[index].beginAttempt(limit: configuration.attemptLimit) }
      guard let waiting else { return true }
      for await _ in waiting {}
    }
    return false
  }

  /// Waits for the end of another attempt, after one was refused.
  ///
  /// - Returns: false if the adapter makes none, or if those were refused, too.
  private func otherAttemptEnded(of index: Int) async -> Bool {
    guard let waiting = state.withLock({ $0.adapters[index].waitForOtherAttempt() }) else { return false }
    for await hasRoom in waiting { return hasRoom }
    // The task was cancelled.
    return true
  }

  private func attempt(
    _ address: DeviceAddress, _ adapter: Adapter, _ phys: Set<LEPHY>
  ) async throws(ProxyError) -> RemoteDevice {
    do throws(BLEError) {
      return try await adapter.connect(to: address, timeout: configuration.connectTimeout, phys: phys)
    } catch {
      throw error.kind == .timedOut ? ProxyError(.timedOut, error.description) : ProxyError(error)
    }
  }

  /// The task of a link ends: its slot is free.
  func ended(_ link: ProxyLink, _ error: ProxyError?) {
    state.withLock { state in state.links.removeAll { $0 === link } }
    // A client that waits for the end has the free slot then.
    tell(.slots(slots))
    link.client.report(.disconnected(link.address, error))
  }
}

extension Proxy.State {
  var slots: ConnectionSlots {
    // A link that waits for the end of another one of the same device shares its slot.
    var allocated: [DeviceAddress] = []
    for link in links where !allocated.contains(link.address) { allocated.append(link.address) }
    return ConnectionSlots(limit: adapters.reduce(0) { $0 + $1.limit }, allocated: allocated)
  }

  /// Gives a link to the adapter that has received its device best, among those with room.
  ///
  /// - Parameter bonded: the adapters to choose from; empty for all.
  func place(
    _ link: ProxyLink, among bonded: [Int], without tried: Set<Int>
  ) -> (index: Int, phys: Set<LEPHY>)? {
    let rooms = adapters.indices.map { index in adapters[index].limit - links.count { $0.place?.adapter == index } }
    let candidates = adapters.indices.filter { index in
      !tried.contains(index) && rooms[index] > 0 && (bonded.isEmpty || bonded.contains(index))
    }
    let sighting = sightings[link.address]
    let best = candidates.max { a, b in
      let strengths = (sighting?.rssi[a] ?? -128, sighting?.rssi[b] ?? -128)
      // Without a difference, the adapter with more room.
      return strengths.0 != strengths.1 ? strengths.0 < strengths.1 : rooms[a] < rooms[b]
    }
    guard let best else { return nil }
    link.setPlace(ProxyLink.Place(adapter: best, isConnected: false))
    return (best, sighting?.phys ?? [.le1M])
  }

  mutating func scansChanged() {
    receivers = scans.compactMap { id, scan in clients[id].map { ($0, scan) } }
  }

  /// What has to be scanned for; nil for nothing.
  func wanted(_ configuration: ProxyConfiguration) -> Bool? {
    guard !scans.isEmpty, !isClosed else { return nil }
    return scans.values.contains { $0.isActive ?? configuration.scansActively }
  }

  func scanner(_ configuration: ProxyConfiguration) -> ScannerStatus {
    let state: ScannerStatus.State =
      if isScanActive == nil {
        .idle
      } else if adapters.contains(where: { $0.scan.state == .running }) {
        .running
      } else {
        adapters.allSatisfy { $0.scan.state == .failed } ? .failed : .starting
      }
    return ScannerStatus(
      state: state, isActive: isScanActive ?? configuration.scansActively,
      isActiveByDefault: configuration.scansActively)
  }
}

// MARK: - Scans

extension Proxy {
  /// The pause after a failed scan.
  private static let scanPause = Duration.seconds(1)

  func setScan(_ scan: ProxyScan?, of client: ProxyClient) {
    let isKnown = state.withLock { state in
      guard state.clients[client.id] != nil else { return false }
      state.scans[client.id] = scan
      state.scansChanged()
      return true
    }
    guard isKnown else { return }
    if !reviewScan() { client.report(.scanner(scanner)) }
  }

  /// Starts, changes or stops the scan.
  ///
  /// - Returns: whether that was a change, which is reported to all clients.
  @discardableResult
  private func reviewScan() -> Bool {
    let ended = state.withLock { state -> [Task<Void, Never>]? in
      let wanted = state.wanted(configuration)
      guard wanted != state.isScanActive else { return nil }
      state.isScanActive = wanted
      state.scanGeneration += 1
      let generation = state.scanGeneration
      return adapters.indices.compactMap { index in
        let before = state.adapters[index].scan.task
        let task = wanted.map { isActive in spawn { await self.scan(index, isActive: isActive, generation) } }
        state.adapters[index].scan = ProxyAdapter.Scan(task: task)
        return before
      }
    }
    guard let ended else { return false }
    // The new scans begin before the old ones end, so that the controllers continue to scan.
    for task in ended { task.cancel() }
    tell(.scanner(scanner))
    return true
  }

  /// Scans with one adapter until the task is cancelled.
  private func scan(_ index: Int, isActive: Bool, _ generation: Int) async {
    var options = ScanOptions.everyAdvertisement
    options.isActive = isActive
    (options.interval, options.window) = (.milliseconds(100), .milliseconds(100))
    options.phys = [.le1M, .leCoded]
    var reported: String?
    while !Task.isCancelled {
      do throws(BLEError) {
        try await adapters[index].waitUntilPoweredOn()
        noteScan(index, generation, .running)
        var advertisements = adapters[index].advertisements(options).makeAsyncIterator()
        while let first = try await advertisements.next() {
          reported = nil
          var batch = [first]
          while let another = advertisements.nextWaiting() { batch.append(another) }
          receive(batch, of: index)
        }
      } catch {
        if error.kind == .cancelled || Task.isCancelled { return }
        if error.kind == .unsupported, options.phys.contains(.leCoded) {
          // The controller has no LE Coded.
          options.phys = [.le1M]
          continue
        }
        if reported != error.description { configuration.log("the scan has ended: \(error)") }
        reported = error.description
      }
      if Task.isCancelled { return }
      noteScan(index, generation, .failed)
      try? await environment.sleep(Self.scanPause)
    }
  }

  private func noteScan(_ index: Int, _ generation: Int, _ scanState: ProxyAdapter.Scan.State) {
    let (before, after) = state.withLock { state in
      let before = state.scanner(configuration)
      if state.scanGeneration == generation { state.adapters[index].scan.state = scanState }
      return (before, state.scanner(configuration))
    }
    if before != after { tell(.scanner(after)) }
  }

  /// Forwards advertisements that an adapter has received.
  func receive(_ advertisements: [ReceivedAdvertisement], of index: Int) {
    let receivers = state.withLock { state in
      for advertisement in advertisements { state.sightings.add(advertisement, of: index) }
      return state.receivers
    }
    for (client, scan) in receivers { client.receive(advertisements, scan) }
  }
}

extension Result<RemoteDevice, ProxyError> {
  /// Whether the controller or the host takes no more attempts, or no more links.
  fileprivate var isRefusal: Bool {
    guard case .failure(let error) = self, case .bluetooth(let reason) = error.kind else { return false }
    return reason.kind == .limitExceeded
  }
}
