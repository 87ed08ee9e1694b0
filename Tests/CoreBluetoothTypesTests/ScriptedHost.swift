import AdapterFixtures
import BLEATT
import BLEAdapter
import BLEGAP
import BLEHCI
import BLEHost
import BLEL2CAP
import BLELinux
import BLEWire
import BluetoothLE
import Synchronization

@testable import BLEGATT
@testable import CoreBluetoothTypes

/// Plays the host for a manager: notes the commands, keeps a real attribute database to answer for services, and says
/// what the test wants said.
final class ScriptedHost: Sendable {
  private let state = Mutex(State())
  /// What its managers share.
  let hub: AdapterHub
  /// The lines that the managers and the hub log.
  let log = Lines()

  init(bonds: BondStorage? = nil) {
    hub = AdapterHub(bonds ?? BondStorage(MemoryBondStore(), log: { _ in }), log: { [log] in log.append($0.text) })
  }

  private struct WeakConnection {
    weak let object: ScriptedConnection?
  }

  private struct State {
    var commands: [HostCommand] = []
    /// In the order in which they were made.
    var connections: [WeakConnection] = []
    var database = AttributeDatabase()
    var newest: HostEvent = .state(.unknown, nil)
    var answersByItself = true
    var tokens: UInt64 = 0
  }

  var commands: [HostCommand] { state.withLock { $0.commands } }
  var consumed: Int { connections.reduce(0) { $0 + $1.taken } }
  var listeners: Int { connections.count(where: \.isAttached) }
  private var connections: [ScriptedConnection] { state.withLock { $0.connections.compactMap(\.object) } }

  /// What was posted since the last call, in words.
  func takeCommands() -> [String] {
    state.withLock { state in
      defer { state.commands = [] }
      return state.commands.map(Self.describe)
    }
  }

  /// From now on so many commands are taken, and further ones are not; nil takes all.
  func makeRoom(_ room: Int?) { for connection in connections { connection.makeRoom(room) } }

  /// From now on services and advertisements wait for the test to answer.
  func answerNothing() { state.withLock { $0.answersByItself = false } }

  private func perform(_ command: HostCommand) {
    let answer: HostEvent? = state.withLock { state in
      state.commands.append(command)
      guard state.answersByItself else { return nil }
      switch command {
      case .services(.add(let definition)):
        return .services(
          .added(
            definition.id, Result { () throws(DatabaseError) in try state.database.add(definition) }))
      case .services(.remove(let id)):
        return .services(.removed(id, Result { () throws(DatabaseError) in try state.database.remove(id) }))
      case .advertising(.start(let id, _)): return .advertising(id, .started(.success(())))
      default: return nil
      }
    }
    if let answer { say(answer) }
  }

  /// A manager's connection to this host.
  func link(failure: AdapterError? = nil) -> ScriptedConnection {
    let connection = ScriptedConnection(
      hub: hub, failure: failure, firstEvents: { [self] in [state.withLock { $0.newest }] },
      perform: { [self] in perform($0) })
    state.withLock { $0.connections.append(WeakConnection(object: connection)) }
    return connection
  }

  /// Says it to every manager that listens, as one batch.
  func say(_ events: HostEvent...) { say(events) }

  func say(_ events: [HostEvent]) {
    state.withLock { state in
      for case .state(let adapter, let error) in events { state.newest = .state(adapter, error) }
    }
    hub.receive(
      events.filter { event in
        // The host addresses it to the owner of the command.
        if case .refused = event { false } else { true }
      })
    for connection in connections { connection.say(events) }
  }

  /// A token as the server of one link makes them.
  func token() -> RequestToken {
    RequestToken(
      number: state.withLock { state in
        state.tokens += 1
        return state.tokens
      })
  }

  static func describe(_ command: HostCommand) -> String {
    func hex(_ octets: [UInt8]) -> String {
      octets.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
    return switch command {
    case .services(.add(let definition)): "add \(definition.uuid)"
    case .services(.remove): "remove"
    case .services(.setValue(_, let value)): "set \(hex(value))"
    case .services(.setIdentity(let name, let appearance)):
      "identity \(name ?? "-") \(appearance.map { "\($0)" } ?? "-")"
    case .services(.reportStoredWrites(let reports)): "report stored writes \(reports)"
    case .advertising(.start(_, let intent)): "advertise \(hex(intent.data)) \(hex(intent.scanResponse))"
    case .advertising(.stop): "stop advertising"
    case .respond(let peer, _, .success(let value)): "respond \(peer.rawValue) success \(hex(value))"
    case .respond(let peer, _, .failure(let code, let attribute)):
      "respond \(peer.rawValue) failure \(hex([code.rawValue]))\(attribute == nil ? "" : " of a part")"
    case .update(_, _, let value, let peers):
      "update \(hex(value)) to \(peers.map(\.rawValue))"
    case .link(let peer, .disconnect(let reason)): "disconnect \(peer.rawValue) \(hex([reason.rawValue]))"
    case .link(let peer, .requestConnectionRate(let parameters)):
      "rate \(peer.rawValue) \(parameters.interval) \(parameters.subrating.factor)"
    case .link(let peer, .updateConnection(let parameters)):
      "timing \(peer.rawValue) \(parameters.interval) \(parameters.latency) \(parameters.supervisionTimeout)"
    case .link(let peer, .readRSSI): "rssi \(peer.rawValue)"
    case .link(let peer, .requestSecurity): "security \(peer.rawValue)"
    case .channels(.listen(_, let service)): "listen\(service.requirement == .open ? "" : " encrypted")"
    case .channels(.stopListening(let psm)): "stop listening \(psm.rawValue)"
    case .channels(.open(_, let peer, let request)): "open channel \(peer.rawValue) \(request.spsm.rawValue)"
    case .channel(let id, .close): "close channel \(id.rawValue)"
    case .channel(let id, .send(let sdu)): "send \(id.rawValue) \(hex(sdu))"
    case .channel(let id, .didRead): "read \(id.rawValue)"
    case .link(let peer, .authorize(let isAuthorized)): "authorize \(peer.rawValue) \(isAuthorized)"
    default: "\(command)"
    }
  }
}

/// What a manager over a scripted host has to do on its queue.
struct ManagerWork: Sendable {
  private let link: ScriptedConnection
  private let queue: DispatchQueue
  private weak let manager: CBManager?

  init(_ manager: CBManager, over link: ScriptedConnection) {
    (self.manager, self.link, queue) = (manager, link, manager.client.queue)
  }

  /// Waits until the manager has taken every event of its host, and has made every call to its delegate.
  ///
  /// The queue is serial, so that a block on it runs when no event is handled and no call is made. Where something
  /// waits even then, it is on the queue, and the next block runs after it.
  func finish() {
    while !queue.sync(execute: { link.isSilent && manager?.hasCalls != true }) {}
  }
}
