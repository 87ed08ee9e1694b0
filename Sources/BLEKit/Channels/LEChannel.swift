import BLEAdapter
import BLEHost
import Synchronization

/// An open credit-based L2CAP channel with a device (Vol 3, Part A, 10.1): octets in both directions, as fast as the
/// readers read.
///
/// ```swift
/// let channel = try await device.openChannel(psm: 0x0080)
/// try await channel.write(Array("hello".utf8))
/// for try await octets in channel {
///   print(octets.count)
/// }
/// ```
///
/// An element is an SDU, as the other device sent it: 1 to 2,048 octets. A device of another kind may divide its data
/// in any way, so a program that expects a stream appends the elements. Each element goes to one reader. The device
/// gets the credits of an SDU when it is read: a program that does not read stops the device from sending, and no octet
/// is lost.
///
/// The sequence ends when either side has closed the channel, after everything that was received before. It throws
/// ``BLEError/Kind/disconnected`` when the link or the adapter has ended, and ``BLEError/Kind/invalidResponse`` when
/// the device has violated the protocol: the received data may then be incomplete.
///
/// The channel is closed by ``close()``, or when it is released. Octets that were written before are still sent, for at
/// most ten seconds.
public final class LEChannel: Sendable {
  /// The device at the other end.
  public let device: RemoteDevice
  /// The number of the service, an SPSM (Vol 3, Part A, 4.22).
  public let psm: UInt16
  private let stream: ChannelStream
  private let state = Mutex(State())

  private struct State: Sendable {
    /// Tasks that wait for an SDU.
    var readers: [(id: UInt32, Reader)] = []
    /// Tasks that wait for room, with the octets that are not sent yet.
    var writers: [(id: UInt32, octets: ArraySlice<UInt8>, Writer)] = []
    /// Tasks that wait for the end.
    var closers: [CheckedContinuation<Void, Never>] = []
    var end: ChannelEnd?
    var isFinished = false
  }

  private typealias Reader = CheckedContinuation<Result<[UInt8]?, BLEError>, Never>
  private typealias Writer = CheckedContinuation<Result<Void, BLEError>, Never>
  private typealias Calls = [@Sendable () -> Void]

  init(_ stream: ChannelStream, psm: UInt16, device: RemoteDevice) {
    (self.stream, self.psm, self.device) = (stream, psm, device)
    stream.observe { [weak self] event in self?.receive(event) }
  }

  deinit { stream.close() }

  /// The largest SDU that the other device accepts, in octets, 23 to 65,535. It grows when the other device
  /// reconfigures the channel.
  public var maximumLength: Int { stream.maximumLength }

  /// Whether the channel is open.
  public var isOpen: Bool { stream.end == nil }

  /// Sends octets: in one SDU, or in several if they are more than ``maximumLength``. Several fill the frames of the
  /// other device.
  ///
  /// It returns when all are on their way; at most 64 KiB are at a time. It waits while the other device gives no
  /// credits. The octets of one call stay together, and calls of several tasks keep their order.
  ///
  /// - Throws: ``BLEError/Kind/cancelled`` when the task is cancelled; the first SDUs may have been sent.
  ///   ``BLEError/Kind/disconnected`` when the channel is closed.
  public func write(_ octets: [UInt8]) async throws(BLEError) {
    let id = HostIDs.next32()
    let result: Result<Void, BLEError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        change { state, calls in
          if Task.isCancelled { return calls.append { continuation.resume(returning: .failure(.cancelled)) } }
          state.writers.append((id, octets[...], continuation))
          advanceWriters(&state, &calls)
        }
      }
    } onCancel: {
      change { state, calls in
        guard let index = state.writers.firstIndex(where: { $0.id == id }) else { return }
        let writer = state.writers.remove(at: index).2
        calls.append { writer.resume(returning: .failure(.cancelled)) }
        advanceWriters(&state, &calls)
      }
    }
    try result.get()
  }

  /// Closes the channel, and waits until the octets that were written are on their way to the controller, at most ten
  /// seconds. Received octets that were not read are discarded. It has no effect on a channel that has ended.
  ///
  /// If the link ends immediately afterwards, the last frames are lost with it. A program that disconnects when it has
  /// sent everything lets the other device close the channel, and reads until the sequence ends.
  public func close() async {
    stream.close()
    await withCheckedContinuation { continuation in
      change { state, calls in
        if state.isFinished { return calls.append { continuation.resume() } }
        state.closers.append(continuation)
      }
    }
  }

  private func change(_ body: (inout State, inout Calls) -> Void) {
    let calls = state.withLock { state in
      var calls = Calls()
      body(&state, &calls)
      return calls
    }
    for call in calls { call() }
  }

  private func receive(_ event: ChannelStream.Event) {
    change { state, calls in
      switch event {
      case .readable: advanceReaders(&state, &calls)
      case .writable: advanceWriters(&state, &calls)
      case .ended(let end):
        state.end = end
        advanceReaders(&state, &calls)
        advanceWriters(&state, &calls)
      case .finished:
        state.isFinished = true
        for closer in state.closers { calls.append { closer.resume() } }
        state.closers = []
      }
    }
  }

  private func advanceReaders(_ state: inout State, _ calls: inout Calls) {
    while let reader = state.readers.first?.1 {
      guard let result = stream.readSDU().map(Result.success) ?? state.end.map(\.ofReading) else { return }
      state.readers.removeFirst()
      calls.append { reader.resume(returning: result) }
    }
  }

  private func advanceWriters(_ state: inout State, _ calls: inout Calls) {
    while let (_, octets, writer) = state.writers.first {
      if octets.isEmpty || stream.end != nil {
        let result: Result<Void, BLEError> =
          octets.isEmpty
          ? .success(()) : .failure((stream.end ?? .closed).ofWriting)
        state.writers.removeFirst()
        calls.append { writer.resume(returning: result) }
        continue
      }
      let length = octets.count <= stream.maximumLength ? octets.count : stream.fillingLength
      guard stream.send(Array(octets.prefix(length))) else {
        if stream.end != nil { continue }
        return
      }
      state.writers[0].octets = octets.dropFirst(length)
    }
  }

  fileprivate func next() async throws(BLEError) -> [UInt8]? {
    let id = HostIDs.next32()
    let result: Result<[UInt8]?, BLEError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        change { state, calls in
          if Task.isCancelled { return calls.append { continuation.resume(returning: .failure(.cancelled)) } }
          state.readers.append((id, continuation))
          advanceReaders(&state, &calls)
        }
      }
    } onCancel: {
      change { state, calls in
        guard let index = state.readers.firstIndex(where: { $0.id == id }) else { return }
        let reader = state.readers.remove(at: index).1
        calls.append { reader.resume(returning: .failure(.cancelled)) }
      }
    }
    return try result.get()
  }
}

extension LEChannel: AsyncSequence {
  public typealias Element = [UInt8]
  public typealias Failure = BLEError

  public func makeAsyncIterator() -> Iterator { Iterator(channel: self) }

  /// Takes SDUs from the channel, which it keeps open.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let channel: LEChannel

    /// The next SDU; nil when the channel was closed.
    ///
    /// - Throws: ``BLEError/Kind/cancelled`` when the task is cancelled, and the reason why the channel ended.
    public mutating func next() async throws(BLEError) -> [UInt8]? { try await channel.next() }
  }
}

extension ChannelEnd {
  /// The result of a read after the last octet.
  fileprivate var ofReading: Result<[UInt8]?, BLEError> {
    switch self {
    case .closed, .closedByPeer: .success(nil)
    case .violation: .failure(BLEError(.invalidResponse, "\(self)"))
    case .notSecured: .failure(BLEError(.security, "\(self)"))
    case .overloaded: .failure(BLEError(.limitExceeded, "\(self)"))
    case .linkEnded, .detached: .failure(BLEError(.disconnected, "\(self)", disconnectReason: disconnectReason))
    }
  }

  /// The error of a write.
  fileprivate var ofWriting: BLEError {
    BLEError(.disconnected, "\(self): open another one", disconnectReason: disconnectReason)
  }

  private var disconnectReason: DisconnectReason? { if case .linkEnded(let reason) = self { reason } else { nil } }
}
