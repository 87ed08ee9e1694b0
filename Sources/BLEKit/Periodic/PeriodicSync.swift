public import BLEAdapter
public import BLEHost
import BLEWire

/// The reception of a periodic advertising train, from ``Adapter/synchronize(with:options:)`` or
/// ``Adapter/synchronize(byTransferFrom:options:)``.
///
/// It lasts until ``stop()`` is called or nothing refers to it any longer: the adapter searches again when the train is
/// lost, and after a reset of the controller. Its events are read in one task at a time. A slow reader loses the
/// oldest: at most 1024 wait (``PeriodicReport/droppedBefore``).
public final class PeriodicSync: AsyncSequence, Sendable {
  public typealias Element = PeriodicEvent
  public typealias Failure = BLEError

  /// What is known of a train that is received.
  public struct Train: Hashable, Sendable {
    /// Its identity. A program that has it by a transfer can use it for another one later.
    public let train: PeriodicTrain
    /// The PHY of its packets.
    public let phy: LEPHY
    /// The time from one event to the next.
    public let interval: Duration
    /// What the device that transferred the synchronization has added; nil where it was found by scanning.
    public let serviceData: UInt16?

    init(_ train: SynchronizedTrain) {
      self.train = PeriodicTrain(
        advertiser: train.train.advertiser, advertisingSet: Int(train.train.advertisingSet))
      phy = LEPHY(train.phy) ?? .le1M
      interval = .microseconds(1250 * Int(train.interval))
      serviceData = train.serviceData
    }
  }

  private let session: AdapterSession
  private let id: SyncID
  private let reader: ScanReader<WaitingPeriodicEvent>

  init(session: AdapterSession, id: SyncID, reader: ScanReader<WaitingPeriodicEvent>) {
    (self.session, self.id, self.reader) = (session, id, reader)
  }

  /// Ends the reception. The reader of the events gets those that have arrived, then the end.
  public func stop() { reader.stop() }

  /// Sends a connected device what it needs to receive the train without searching for it (Vol 6, Part B, 4.6.23).
  ///
  /// ```swift
  /// let sync = adapter.synchronize(with: train)
  /// for try await case .synchronized in sync {
  ///   try await sync.transfer(to: watch)
  ///   break
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - device: the device, whose controller has to support the transfer.
  ///   - serviceData: a number for its program (``PeriodicSync/Train/serviceData``).
  /// - Throws: ``BLEError/Kind/invalidArgument`` while the train is not received, ``BLEError/Kind/disconnected``, or
  ///   the refusal of the controller.
  public func transfer(to device: RemoteDevice, serviceData: UInt16 = 0) async throws(BLEError) {
    let (id, peer) = (id, device.peer)
    try await session.wait(for: .syncTransfer(id, peer)) { _, actions throws(BLEError) in
      actions.commands.append(.synchronizing(.transfer(id, to: peer, serviceData: serviceData)))
      return nil
    }
  }

  public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

  /// The events from now on, together with those that wait.
  public struct Iterator: AsyncIteratorProtocol {
    let reader: ScanReader<WaitingPeriodicEvent>
    private var batch = ScanBuffer<WaitingPeriodicEvent>.Batch()

    init(reader: ScanReader<WaitingPeriodicEvent>) { self.reader = reader }

    public mutating func next() async throws(BLEError) -> PeriodicEvent? { try await next(isolation: nil) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> PeriodicEvent? {
      if let waiting = batch.next() { return waiting.event }
      try await reader.take(into: &batch, isolation: actor)
      return batch.next()?.event
    }
  }
}

extension Adapter {
  /// Receives a periodic advertising train, which the adapter finds by scanning.
  ///
  /// ```swift
  /// for try await result in adapter.scan() {
  ///   guard let train = result.report.periodicTrain else { continue }
  ///   for try await case .report(let report) in adapter.synchronize(with: train) {
  ///     print(report.data, report.rssi ?? 0)
  ///   }
  /// }
  /// ```
  ///
  /// The adapter scans until the train is found, and again after it was lost. Receivers of one process share a train.
  /// The sequence ends with an error if the controller cannot receive the train, or no more trains.
  public func synchronize(
    with train: PeriodicTrain, options: PeriodicSyncOptions = PeriodicSyncOptions()
  ) -> PeriodicSync {
    session.synchronize(options) { () throws(BLEError) in
      guard let set = UInt8(exactly: train.advertisingSet), set <= 0x0F else {
        throw BLEError(.invalidArgument, "an advertising set of \(train.advertisingSet) is not allowed: 0 to 15")
      }
      return .train(TrainID(train.advertiser, set: set))
    }
  }

  /// Receives a periodic advertising train that a connected device transfers
  /// (``PeriodicSync/transfer(to:serviceData:)`` on its side), without scanning.
  ///
  /// The train of the next transfer is received. The sequence ends with ``BLEError/Kind/disconnected`` if the link ends
  /// before. A device cannot transfer a train that the adapter receives already.
  public func synchronize(
    byTransferFrom device: RemoteDevice, options: PeriodicSyncOptions = PeriodicSyncOptions()
  ) -> PeriodicSync {
    session.synchronize(options) { () throws(BLEError) in .transfer(from: device.peer) }
  }
}

extension AdapterSession {
  fileprivate func synchronize(
    _ options: PeriodicSyncOptions, with source: @Sendable () throws(BLEError) -> SyncSource
  ) -> PeriodicSync {
    let events = ScanBuffer<WaitingPeriodicEvent>()
    let id = HostIDs.sync()
    let refusal: BLEError? = run { state, actions in
      guard !state.isClosed else { return .closed }
      do throws(BLEError) {
        try state.requirePower()
        actions.commands.append(.synchronizing(.start(id, try source(), try options.parameters())))
        state.synchronizations[id] = events
      } catch {
        return error
      }
      return nil
    }
    if let refusal { events.finish(throwing: refusal) }
    let reader = ScanReader(events) { [weak self] in
      self?.run { state, actions in
        guard state.synchronizations.removeValue(forKey: id) != nil, !state.isClosed else { return }
        actions.commands.append(.synchronizing(.stop(id)))
      }
    }
    return PeriodicSync(session: self, id: id, reader: reader)
  }
}

extension AdapterSession.State {
  mutating func apply(_ event: HostEvent.Synchronizing, of id: SyncID, into actions: inout Actions) {
    switch event {
    case .synchronized(let train): append(.synchronized(PeriodicSync.Train(train)), to: id, &actions)
    case .report(let report): append(.report(PeriodicReport(report)), to: id, &actions)
    case .lost: append(.lost, to: id, &actions)
    case .ended(let error):
      guard let events = synchronizations.removeValue(forKey: id) else { return }
      actions.later { events.finish(throwing: BLEError(error)) }
    case .transferred(let peer, let result):
      waits.answer(.syncTransfer(id, peer), result.mapError(BLEError.init), into: &actions)
    }
  }

  private func append(_ event: PeriodicEvent, to id: SyncID, _ actions: inout Actions) {
    guard let events = synchronizations[id] else { return }
    let isAwaited = events.append { $0.append(WaitingPeriodicEvent(event: event)) }
    if isAwaited { actions.later { events.wake() } }
  }

  /// The adapter was closed.
  mutating func endSynchronizations(_ error: BLEError, into actions: inout Actions) {
    for events in synchronizations.values { actions.later { events.finish(throwing: error) } }
    synchronizations = [:]
  }
}
