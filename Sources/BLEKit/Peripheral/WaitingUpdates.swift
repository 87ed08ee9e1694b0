import BLEAdapter
import BLEGATT
import BLEHost
import BLEWire

/// The values of notifications and indications that wait for room in the windows of their links.
///
/// A value for several links waits until each of them has room (``UpdateWindows``), and is then sent to all. A link for
/// which values wait always has others on their way, and their end sends the next ones.
struct WaitingUpdates: Sendable {
  struct Value: Sendable {
    var attribute: AttributeID
    var octets: [UInt8]
  }

  /// Values that the host has for one link at a time.
  static let window = 16
  /// Values that may wait for one link; one more is refused.
  static let limit = 256

  private var windows = UpdateWindows(size: Self.window)
  /// The values that wait for each link, in order.
  private var waiting = IdentifierTable<LinkID, [UpdateToken]>()
  /// The values that wait, and the links that each waits for.
  private var values: [UpdateToken: (value: Value, peers: [LinkID])] = [:]

  private func hasRoom(_ peer: LinkID) -> Bool { !windows.isFull(peer) && first(of: peer) == nil }

  private func first(of peer: LinkID) -> UpdateToken? { waiting.lend(peer) { $0.first } }

  /// Takes a value for links.
  ///
  /// - Returns: the commands that send it, if it does not have to wait, and those that send the values that waited
  ///   before it.
  /// - Throws: ``BLEError/Kind/limitExceeded`` if ``limit`` values wait for each of them.
  mutating func append(_ value: Value, _ token: UpdateToken, to peers: [LinkID]) throws(BLEError) -> [HostCommand] {
    let open = peers.filter(hasRoom)
    let isAwaited = peers.contains { !hasRoom($0) && !windows.isLate($0) }
    if !open.isEmpty, !isAwaited { return [send(value, token, to: open)] }
    // For those with room, no value waits before it.
    let takers = peers.filter { (waiting.lend($0) { $0.count } ?? 0) < Self.limit }
    if takers.isEmpty {
      throw BLEError(
        .limitExceeded,
        "more than \(Self.limit) values wait to be sent: wait for send(_:) to return before the next one")
    }
    let inTime = takers.filter { !windows.isLate($0) }
    let waitedFor = inTime.isEmpty ? takers : inTime
    for peer in waitedFor {
      if waiting.contains(peer) { waiting[peer]?.append(token) } else { waiting[peer] = [token] }
    }
    values[token] = (value, waitedFor)
    return advance(waitedFor)
  }

  private mutating func send(_ value: Value, _ token: UpdateToken, to peers: [LinkID]) -> HostCommand {
    windows.begin(peers)
    return .update(token, value.attribute, value.octets, to: peers)
  }

  /// A value has left on a link.
  ///
  /// - Returns: the commands that send the values that waited for it.
  mutating func finished(on peer: LinkID) -> [HostCommand] {
    windows.finished(on: peer) ? advance([peer]) : []
  }

  /// Sends the values that wait for links and can be sent, and those that can be sent after that.
  private mutating func advance(_ peers: [LinkID]) -> [HostCommand] {
    var commands: [HostCommand] = []
    var links = peers
    while let peer = links.popLast() {
      while let token = first(of: peer) {
        guard let next = windows.isIdle(peer) ? firstInLine(before: peer) : isReady(token) ? token : nil,
          let (command, others) = sendWaiting(next)
        else { break }
        links += others.filter { $0 != peer && first(of: $0) != nil }
        commands.append(command)
      }
    }
    return commands
  }

  /// Whether each link that a value waits for has room for it, or is late.
  private func isReady(_ token: UpdateToken) -> Bool {
    guard let peers = values[token]?.peers else { return false }
    return peers.contains { isNext(token, on: $0) }
      && peers.allSatisfy { isNext(token, on: $0) || windows.isLate($0) }
  }

  /// Whether a value can be sent on a link now: it is the first that waits, and there is room.
  private func isNext(_ token: UpdateToken, on peer: LinkID) -> Bool {
    !windows.isFull(peer) && first(of: peer) == token
  }

  /// The value to send next so that a link gets its first value, which no link with room may miss: if such a link has
  /// another value before it, that one is first. Each is older than the one before, so the search ends.
  private func firstInLine(before peer: LinkID) -> UpdateToken? {
    guard var token = first(of: peer) else { return nil }
    while let other = values[token]?.peers.first(where: { !windows.isFull($0) && first(of: $0) != token }),
      let earlier = first(of: other)
    {
      token = earlier
    }
    return token
  }

  /// Sends a value that waits to the links that have room for it. The others are late.
  private mutating func sendWaiting(_ token: UpdateToken) -> (command: HostCommand, peers: [LinkID])? {
    guard let (value, peers) = values[token] else { return nil }
    let open = peers.filter { isNext(token, on: $0) }
    for peer in peers where windows.isFull(peer) { windows.setLate(peer) }
    take(token)
    return (send(value, token, to: open), peers)
  }

  /// A waiting value is not to be sent.
  ///
  /// - Returns: the commands that send the values that waited behind it.
  mutating func cancel(_ token: UpdateToken) -> [HostCommand] {
    guard let peers = values[token]?.peers else { return [] }
    take(token)
    return advance(peers)
  }

  /// A link has ended.
  ///
  /// - Returns: the values that waited for it alone, and the commands that send the values that other links waited for.
  mutating func remove(_ peer: LinkID) -> (lost: [UpdateToken], commands: [HostCommand]) {
    windows.remove(peer)
    var others: [LinkID] = []
    var lost: [UpdateToken] = []
    for token in waiting.removeValue(forKey: peer) ?? [] {
      values[token]?.peers.removeAll { $0 == peer }
      others += values[token]?.peers ?? []
      guard values[token]?.peers.isEmpty == true else { continue }
      values[token] = nil
      lost.append(token)
    }
    return (lost, advance(others))
  }

  /// Removes a value that waits.
  private mutating func take(_ token: UpdateToken) {
    for peer in values.removeValue(forKey: token)?.peers ?? [] { waiting[peer]?.removeAll { $0 == token } }
  }
}
