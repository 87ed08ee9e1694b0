import BLEEngine
import BLEHCI
import BLEHost
import BLEKit
import BLEWire
import Synchronization

@testable import BLEGATT

/// The host of one adapter, whose part the test plays: it notes the commands, and reports what the test wants.
final class ScriptedHost: AdapterLink {
  private let state = Mutex(State())
  private let posted = Notes<HostCommand>()

  private struct State: Sendable {
    var sink: (@Sendable ([HostEvent]) -> Void)?
    var taken = 0
    /// Tasks that wait until so many events have been taken.
    var waiting: [(count: Int, task: CheckedContinuation<Void, Never>)] = []
    var isDetached = false
    var woken: (@Sendable () -> Void)?
  }

  func post(_ command: HostCommand) { posted.note(command) }
  func enqueue(_ command: HostCommand) -> Bool {
    posted.note(command)
    return true
  }
  func wake() { state.withLock { $0.woken }?() }
  func attach(_ sink: @escaping @Sendable ([HostEvent]) -> Void) {
    state.withLock { $0.sink = sink }
    sink([.state(.poweredOn, nil)])
  }
  func consumed(_ count: Int) {
    let tasks = state.withLock { state in
      state.taken += count
      let reached = state.waiting.filter { $0.count <= state.taken }
      state.waiting.removeAll { $0.count <= state.taken }
      return reached.map(\.task)
    }
    for task in tasks { task.resume() }
  }
  func detach() { state.withLock { ($0.sink, $0.isDetached) = (nil, true) } }
  var failure: AdapterError? { nil }
  var hub: AdapterHub? { nil }

  /// Sets what happens when the host is woken.
  func whenWoken(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.woken = action } }

  /// How many events the adapter has taken.
  var taken: Int { state.withLock { $0.taken } }

  /// Waits until the adapter has taken so many events, its first state included.
  func untilTaken(_ count: Int) async {
    await withCheckedContinuation { task in
      let isReached = state.withLock { state in
        if state.taken < count { state.waiting.append((count, task)) }
        return state.taken >= count
      }
      if isReached { task.resume() }
    }
  }
  var isDetached: Bool { state.withLock { $0.isDetached } }
  var commands: [HostCommand] { posted.all }

  /// The next command that no call has returned.
  func next() async throws -> HostCommand { try await posted.next() }

  func say(_ events: HostEvent...) { state.withLock { $0.sink }?(events) }

  /// An adapter over this host that knows of its state.
  func open() async throws -> Adapter {
    let adapter = Adapter(client: AdapterClient(over: self, log: { _, _ in }))
    try await adapter.waitUntilPoweredOn()
    return adapter
  }

  /// Publishes a characteristic.
  ///
  /// - Returns: its identifier in the host, too.
  func publish(_ characteristic: LocalCharacteristic, on adapter: Adapter) async throws -> (
    ServicePublication, AttributeID
  ) {
    async let publication = adapter.publish([LocalService("180D", [characteristic])])
    guard case .addService(let definition) = try await next() else { throw CancellationError() }
    say(.serviceAdded(definition.id, .success(ServiceHandles(range: 0x0010...0x0013, attributes: [:]))))
    return (try await publication, definition.characteristics[0].id)
  }

  static let client = PeerID(rawValue: 7)

  /// A client connects. The last octets of its address are its number.
  func connect(_ peer: PeerID = client) {
    let address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 | UInt64(peer.rawValue)), kind: .random)
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    say(.connected(Connection(peer: peer, address: address, role: .peripheral, timing: timing)))
  }
}
