import BLEATT
import BLEAdapter
import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLESMP
import BLEWire
import Synchronization

/// The state that an ``Adapter`` and its objects share, under one lock, and the connection to the host.
///
/// The host's events arrive on its thread, in order. Each changes the state; streams and waiting tasks are resumed
/// after the lock is released, so no code of the application runs under it. Synchronous handlers are called there,
/// without the lock.
final class AdapterSession: Sendable {
  let client: AdapterClient
  let clock: WaitClock
  let state = Mutex(State())

  struct State: Sendable {
    var isClosed = false
    var power = AdapterState.unknown
    var reason: AdapterError?
    /// Whether the transport could not be opened: commands have no answers then, and the state stays as it is.
    var lacksHost = false
    var stateStreams = Streams<Adapter.State>()
    var waits = Waits()
    /// Finishes the sequence of each reader of the streams, whatever its elements are.
    var streamEnds: [UInt32: @Sendable () -> Void] = [:]
    /// Our identity address, when the adapter has been powered on.
    var address: DeviceAddress?

    // Services (Peripheral).
    var services: [ServiceID: PublishedService] = [:]
    var attributes = IdentifierTable<AttributeID, PublishedCharacteristic>()
    var synchronousHandlers = IdentifierTable<AttributeID, SynchronousHandlers>()
    var advertisingStreams = Streams<AdvertisingChange>()
    /// Why advertisements have ended, until their tasks have taken it.
    var endedAdvertisements: [AdvertisingID: BLEError] = [:]
    var waitingUpdates = WaitingUpdates()
    /// Values whose tasks go on when the host has them, and not when they have left.
    var updatesToHandOver: Set<UpdateToken> = []
    /// The requests of each link that had one for a handler that runs in a task.
    var requestQueues = IdentifierTable<LinkID, RequestQueue>()

    // Links (LinkState.swift).
    var links = IdentifierTable<LinkID, LinkState>()
    var endedLinks = EndedLinks()
    /// The state of each link that synchronous handlers need.
    var clients = IdentifierTable<LinkID, ServedClient>()
    var connectionStreams = Streams<RemoteDevice>()

    // Scans and connected devices (Central).
    var scans: [UInt32: Scan] = [:]
    var receivers: [UInt32: AdvertisementReceiver] = [:]
    var synchronizations: [SyncID: ScanBuffer<WaitingPeriodicEvent>] = [:]
    /// The requests that were cancelled, until the host has answered them.
    var abandonedConnects: Set<ConnectID> = []
    /// The reads of the signal strength of each link, which the controller answers in order.
    var rssiReads: [LinkID: [UInt32]] = [:]

    // Channels (Channels).
    var newListeners: [ListenID: IncomingChannels] = [:]
    var listeners: [SPSM: IncomingChannels] = [:]

    var pairingStreams = Streams<PairingRequest>()
  }

  init(client: AdapterClient, clock: WaitClock) { (self.client, self.clock) = (client, clock) }

  deinit { close() }

  /// Changes the state, posts the commands that this causes, then makes the calls.
  func run<Value: Sendable>(_ change: (inout State, inout Actions) -> Value) -> Value {
    // Tasks are resumed after the lock, as the host is woken after it.
    let (value, calls) = client.commands.batch { batch in
      state.withLock { state in
        var actions = Actions()
        let value = change(&state, &actions)
        // Under the lock, so that commands are sent in the order of the changes.
        var index = 0
        while index < actions.commands.count {
          let command = actions.commands[index]
          if !batch.append(command), let refusal = command.refusal { apply(refusal, &state, &actions) }
          index += 1
        }
        return (value, actions.calls)
      }
    }
    for call in calls { call() }
    return value
  }

  /// Begins to receive the host's events.
  func attach() {
    client.startOnHostThread { [weak self] events in
      self?.receive(events)
    }
  }

  /// Readers of scans continue when they can take the results of all the reports.
  private func receive(_ events: [HostEvent]) {
    var isAwaited = false
    for event in events {
      switch event {
      case .scanning(.discovered(let discoveries)):
        let waits = state.withLock { $0.isClosed ? false : $0.discovered(discoveries) }
        isAwaited = isAwaited || waits
      case .server(let peer, let event) where serve(event, to: peer): break
      case .state, .address, .capabilities, .refused, .diagnostic, .services, .advertising, .scanning(.stopped),
        .synchronizing, .connected, .connectionFailed, .foreignLink, .link, .client, .server, .pairing, .bonds,
        .channels, .channel:
        run { state, actions in apply(event, &state, &actions) }
      }
    }
    guard isAwaited else { return }
    let (scans, receivers) = state.withLock { (Array($0.scans.values), Array($0.receivers.values)) }
    for scan in scans { scan.results.wake() }
    for receiver in receivers { receiver.results.wake() }
  }

  /// Gives a request to its handler.
  ///
  /// - Returns: false for an event that is no request.
  private func serve(_ event: HostEvent.Server, to peer: LinkID) -> Bool {
    switch event {
    case .read(let token, let attribute, let offset): read(attribute, from: offset, as: token, by: peer)
    case .write(let token, let parts): write(parts, as: token, by: peer)
    case .command(let attribute, let value):
      write([WritePart(attribute: attribute, offset: 0, value: value)], as: nil, by: peer)
    case .stored, .requestTimedOut, .subscription, .updateFinished, .updatesFinished: return false
    }
    return true
  }

  private func write(_ parts: [WritePart], as token: RequestToken?, by peer: LinkID) {
    if writeAtOnce(parts, as: token, by: peer) { return }
    let queue = state.withLock { state in
      parts.first { state.attributes.contains($0.attribute) }.flatMap { state.queue(of: peer, for: $0.attribute) }
    }
    self.queue(.write(token, parts), in: queue, of: peer)
  }

  /// Withdraws the declarations. Waiting calls fail.
  func close() {
    run { state, actions in
      guard !state.isClosed else { return }
      state.isClosed = true
      state.failAll(.closed, into: &actions)
    }
    client.detach()
  }
}

// MARK: - Waiting

extension AdapterSession {
  /// Begins something and waits for the answer of the host.
  ///
  /// - Parameters:
  ///   - awaited: the event that has the answer.
  ///   - timeout: after which the wait ends with ``BLEError/Kind/timedOut``, of any size; nil waits without a limit.
  ///   - missing: the beginning of the error after the timeout: what has not happened, and on which device.
  ///   - begin: posts the command; throws if that is not possible, and returns a value if there is nothing to wait
  ///     for.
  ///   - abandon: withdraws the command, after the timeout and on cancellation.
  func wait<Value: Sendable>(
    for awaited: Awaited<Value>, timeout: Duration? = nil,
    missing: @escaping @autoclosure @Sendable () -> String = "no answer",
    begin: @Sendable (inout State, inout Actions) throws(BLEError) -> Value?,
    abandon: @escaping @Sendable (inout State, inout Actions) -> Void = { _, _ in }
  ) async throws(BLEError) -> Value {
    let number = HostIDs.number()
    let giveUp: @Sendable (BLEError) -> Void = { [self] error in
      run { state, actions in
        guard let wait = state.waits.take(number, of: awaited) else { return }
        abandon(&state, &actions)
        wait.end(.failure(error), into: &actions)
      }
    }
    let result: Result<Value, BLEError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let result: Result<Value, BLEError>? = run { state, actions in
          if Task.isCancelled { return .failure(.cancelled) }
          if state.isClosed { return .failure(.closed) }
          do throws(BLEError) {
            if let value = try begin(&state, &actions) { return .success(value) }
          } catch {
            return .failure(error)
          }
          state.waits.add(continuation, for: awaited, number, limit: timeout, on: clock) {
            giveUp(BLEError(.timedOut, "\(missing()) within \(timeout ?? .zero)"))
          }
          return nil
        }
        if let result { continuation.resume(returning: result) }
      }
    } onCancel: {
      giveUp(.cancelled)
    }
    return try result.get()
  }
}

extension AdapterSession {
  /// - Throws: ``BLEError/Kind/adapterUnavailable`` if the adapter is not powered on, or is closed.
  func requirePower() throws(BLEError) {
    let refusal: BLEError? = run { state, _ in
      guard !state.isClosed else { return .closed }
      do throws(BLEError) { try state.requirePower() } catch { return error }
      return nil
    }
    if let refusal { throw refusal }
  }
}

extension AdapterSession.State {
  mutating func powerChanged(_ power: AdapterState, _ reason: AdapterError?, into actions: inout Actions) {
    let isNew = self.power != power
    (self.power, self.reason) = (power, power == .poweredOn ? nil : reason)
    if isNew { stateStreams.yield(Adapter.State(power), into: &actions) }
    switch power {
    case .poweredOn:
      waits.answer(.power, .success(()), into: &actions)
    case .unsupported, .unauthorized:
      waits.answer(.power, .failure(unavailable), into: &actions)
      let isUnanswered = lacksHost
      waits.fail(
        unavailable, where: { if case .serviceAdd = $0 { isUnanswered } else { false } }, into: &actions)
    case .unknown, .resetting, .poweredOff: break
    }
  }

  /// - Throws: ``BLEError/Kind/adapterUnavailable`` if the adapter is not powered on.
  func requirePower() throws(BLEError) {
    guard power != .poweredOn else { return }
    throw unavailable
  }

  /// - Throws: ``BLEError/Kind/adapterUnavailable`` if nothing answers a command. A host whose adapter was lost
  ///   answers, and continues when the adapter is back.
  func requireHost() throws(BLEError) {
    guard !lacksHost else { throw unavailable }
  }

  /// Why the adapter cannot be used now.
  private var unavailable: BLEError {
    BLEError(
      .adapterUnavailable, reason?.text ?? "the adapter is \(power): wait until it is powered on (waitUntilPoweredOn)",
      adapterError: reason)
  }

  /// The adapter was closed: no calls are answered any longer.
  mutating func failAll(_ error: BLEError, into actions: inout Actions) {
    (waitingUpdates, updatesToHandOver) = (WaitingUpdates(), [])
    // Before the other waits: the tasks that wait for the end of a link have it.
    for peer in links.keys { linkEnded(peer, error, error, into: &actions) }
    waits.fail(error, into: &actions)
    endListening(into: &actions)
    endScans(error, into: &actions)
    endSynchronizations(error, into: &actions)
    for service in services.values { service.end(into: &actions) }
    services = [:]
    attributes = IdentifierTable()
    synchronousHandlers = IdentifierTable()
    for finish in streamEnds.values { actions.later(finish) }
    streamEnds = [:]
  }
}
