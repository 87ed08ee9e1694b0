package import BLEWire

/// Which connections a server has a place for, before it knows whose they are.
///
/// A client is *proven* once it has shown that it may use the server, for example with a key. Before that, places
/// belong to networks, so that one computer that opens any number of connections takes its own places alone:
///
/// - A network may open ``Limits/burst`` connections at once, and ``Limits/perSecond`` in each second after them. Those
///   beyond are closed before anything is done for them.
/// - When all places are taken, the network with the most unproven clients loses its oldest one.
/// - The newest connection of a network that has proven a client before is not taken from it by others.
/// - A proven client keeps its place until it leaves.
package struct ConnectionPlaces: Sendable {
  package struct Limits: Sendable {
    /// Clients at once.
    package var clients: Int
    /// Connections that a network may open at once.
    package var burst = 64
    /// Connections that a network may open in a second after that.
    package var perSecond = 20

    package init(clients: Int) { self.clients = clients }
  }

  /// What becomes of a new connection.
  package enum Decision: Equatable, Sendable {
    case admitted
    /// This client has to be disconnected.
    case admittedInPlace(of: UInt64)
    /// Every place has a client that keeps it.
    case full
    /// The network opens more connections than it may.
    case tooMany
  }

  private struct Client: Sendable {
    var token: UInt64
    var network: HostAddress?
    var isProven = false
  }

  /// The connections that a network may open now.
  private struct Allowance: Sendable {
    var count: Double
    var time: Instant
  }

  private let limits: Limits
  /// In the order of their connections.
  private var clients: [Client] = []
  private var allowances: [HostAddress: Allowance] = [:]
  /// The networks that have proven a client, the last one at the end.
  private var proven: [HostAddress] = []

  /// Networks whose connections are counted, and those that have proven a client; the oldest is forgotten.
  package static let networkLimit = 256

  package init(_ limits: Limits) { self.limits = limits }

  /// A client has connected.
  ///
  /// - Parameters:
  ///   - token: its number, which later calls name it by.
  ///   - network: where it comes from (``HostAddress/network``); nil for this computer without a network, whose clients
  ///     are as good as proven ones.
  package mutating func add(_ token: UInt64, from network: HostAddress?, now: Instant) -> Decision {
    if let network, !spend(network, now) { return .tooMany }
    defer { if network == nil { prove(token) } }
    guard clients.count >= limits.clients else {
      clients.append(Client(token: token, network: network))
      return .admitted
    }
    guard let index = loser(to: network) else { return .full }
    let loser = clients.remove(at: index)
    clients.append(Client(token: token, network: network))
    return .admittedInPlace(of: loser.token)
  }

  package mutating func remove(_ token: UInt64) { clients.removeAll { $0.token == token } }

  /// A client has shown that it may use the server.
  package mutating func prove(_ token: UInt64) {
    guard let index = clients.firstIndex(where: { $0.token == token }), !clients[index].isProven else { return }
    clients[index].isProven = true
    guard let network = clients[index].network else { return }
    proven.removeAll { $0 == network }
    if proven.count == Self.networkLimit { proven.removeFirst() }
    proven.append(network)
  }

  /// The unproven client whose place a new one gets.
  private func loser(to newcomer: HostAddress?) -> Int? {
    var counts: [HostAddress?: Int] = [newcomer: 1]
    for client in clients where !client.isProven { counts[client.network, default: 0] += 1 }
    // The networks of which the newest connection has been seen.
    var seen: Set<HostAddress> = []
    if let newcomer { seen.insert(newcomer) }
    var candidates: [Int] = []
    for index in clients.indices.reversed() where !clients[index].isProven {
      if let network = clients[index].network, seen.insert(network).inserted, proven.contains(network) { continue }
      candidates.append(index)
    }
    // Of equal ones, the oldest.
    return candidates.max { a, b in
      let (one, other) = (counts[clients[a].network] ?? 0, counts[clients[b].network] ?? 0)
      return one != other ? one < other : a > b
    }
  }

  private mutating func spend(_ network: HostAddress, _ now: Instant) -> Bool {
    var allowance = allowances[network] ?? Allowance(count: Double(limits.burst), time: now)
    let grown = (now - allowance.time) / .seconds(1) * Double(limits.perSecond)
    allowance = Allowance(count: min(Double(limits.burst), allowance.count + grown), time: now)
    let isAllowed = allowance.count >= 1
    if isAllowed { allowance.count -= 1 }
    if allowances[network] == nil, allowances.count >= Self.networkLimit {
      // The one that has been quiet for the longest time has the most again.
      if let oldest = allowances.min(by: { $0.value.time < $1.value.time }) { allowances[oldest.key] = nil }
    }
    allowances[network] = allowance
    return isAllowed
  }
}
