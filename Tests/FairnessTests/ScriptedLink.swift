import AdapterFixtures
import BLEATT
import BLEGATT
import BLEHost
import BLEWire
import Synchronization

/// The way of a program to its host, which runs when the test lets it: commands wait to be taken, and events come when
/// the test says so. It knows what the program has been asked and has not answered, and what it waits for itself.
final class ScriptedLink: Sendable {
  /// The connection of the program.
  let connection: ScriptedConnection
  private let state: SharedState
  private let signals: AsyncStream<Void>
  private let signal: AsyncStream<Void>.Continuation
  /// Values on their way to all links together, where the test plants the fault that they share a window.
  private let sharedWindow: Int

  private final class SharedState: Sendable {
    let value = Mutex(State())
  }

  fileprivate struct Request: Hashable {
    var peer: LinkID
    var token: RequestToken
  }

  fileprivate struct State: Sendable {
    var commands: [HostCommand] = []
    var unanswered: Set<Request> = []
    /// Client procedures on each link, connections, and services to be published, that the host has not ended.
    var procedures: [LinkID: Int] = [:]
    var others = 0
    var received: [LinkID: Int] = [:]
    var held: [HostCommand] = []
    var underWay = 0
  }

  init(sharedWindow: Int = .max) {
    self.sharedWindow = sharedWindow
    let (state, signals) = (SharedState(), AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)))
    (self.state, self.signals, signal) = (state, signals.stream, signals.continuation)
    connection = ScriptedConnection { [signal = signals.continuation] command in
      state.value.withLock { $0.take(command, sharedWindow) }
      signal.yield()
    }
  }

  /// Something has changed for which ``next()`` waits.
  func notify() { signal.yield() }

  /// Waits for a command of the program, or for its word that something has changed.
  func next() async { for await _ in signals { return } }

  /// The commands since the last call.
  func take() -> [HostCommand] {
    state.value.withLock { state in
      defer { state.commands = [] }
      return state.commands
    }
  }

  func deliver(_ events: [HostEvent]) {
    state.value.withLock { state in
      for event in events { state.note(event) }
      state.open(sharedWindow, 0)
    }
    connection.say(events)
  }

  /// Whether the program has taken every event.
  var isSilent: Bool { connection.isSilent }
  /// Whether clients wait for answers of the program.
  var isAsked: Bool { state.value.withLock { !$0.unanswered.isEmpty } }
  /// The procedures on a link that the host has not ended; of all links, connections and services without one.
  func procedures(on peer: LinkID?) -> Int {
    state.value.withLock { state in
      peer.map { state.procedures[$0] ?? 0 } ?? state.procedures.values.reduce(state.others, +)
    }
  }
  /// The values that a link has brought.
  func received(on peer: LinkID) -> Int { state.value.withLock { $0.received[peer] ?? 0 } }
}

extension ScriptedLink.State {
  fileprivate mutating func take(_ command: HostCommand, _ sharedWindow: Int) {
    switch command {
    case .respond(let peer, let token, _): unanswered.remove(.init(peer: peer, token: token))
    case .link(let peer, .client(_)), .link(let peer, .readRSSI): procedures[peer, default: 0] += 1
    case .initiating(.connect), .services(.add): others += 1
    default: break
    }
    guard case .update(_, _, _, let peers) = command else { return commands.append(command) }
    held.append(command)
    open(sharedWindow, peers.count)
  }

  fileprivate mutating func note(_ event: HostEvent) {
    switch event {
    case .server(let peer, .read(let token, _, _)), .server(let peer, .write(let token, _)):
      unanswered.insert(.init(peer: peer, token: token))
    case .server(let peer, .requestTimedOut(let token)): unanswered.remove(.init(peer: peer, token: token))
    case .client(let peer, .finished), .link(let peer, .rssi(_)): procedures[peer]? -= 1
    case .client(let peer, .notification), .client(let peer, .indication): received[peer, default: 0] += 1
    case .services(.added), .connectionFailed: others -= 1
    case .connected(let connection): if connection.role == .central { others -= 1 }
    case .link(let peer, .disconnected(_)):
      unanswered = unanswered.filter { $0.peer != peer }
      procedures[peer] = nil
    case .server(_, .updateFinished): underWay -= 1
    case .server(_, .updatesFinished(let count)): underWay -= count
    default: break
    }
  }

  /// Passes values on while there is room in the window of all links.
  fileprivate mutating func open(_ window: Int, _ count: Int) {
    while underWay < window, !held.isEmpty {
      let command = held.removeFirst()
      if case .update(_, _, _, let peers) = command { underWay += peers.count }
      commands.append(command)
    }
  }
}
