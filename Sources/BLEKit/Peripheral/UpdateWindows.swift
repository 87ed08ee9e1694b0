import BLEGATT
import BLEHost
import BLEWire

/// The values of notifications and indications that the host has, and those that wait, for each link.
///
/// Each link has its own window. A value for several links waits until each of them has room, and is then sent to all.
/// When all values of one link have left, the links without room are late: a late link does not delay the others, and
/// misses values for several links while it has no room. Therefore a link for which values wait always has others on
/// their way, and their end sends the next ones.
struct UpdateWindows: Sendable {
  struct Value: Sendable {
    var attribute: AttributeID
    var octets: [UInt8]
  }

  private struct Window: Sendable {
    /// Values that the host has.
    var sentCount = 0
    /// Values that wait, in order.
    var waiting: [UpdateToken] = []
    /// Whether the others do not wait for the link. It has no room then.
    var isLate = false

    var isFull: Bool { sentCount >= UpdateWindows.window }
    var hasRoom: Bool { !isFull && waiting.isEmpty }
  }

  /// Values that the host has for one link at a time.
  static let window = 16
  /// Values that may wait for one link; one more is refused.
  static let limit = 256

  private var windows = IdentifierTable<LinkID, Window>()
  /// The values that wait, and the links that each waits for.
  private var values: [UpdateToken: (value: Value, peers: [LinkID])] = [:]

  /// Takes a value for links.
  ///
  /// - Returns: the commands that send it, if it does not have to wait, and those that send the values that waited
  ///   before it.
  /// - Throws: ``BLEError/Kind/limitExceeded`` if ``limit`` values wait for each of them.
  mutating func append(_ value: Value, _ token: UpdateToken, to peers: [LinkID]) throws(BLEError) -> [HostCommand] {
    let open = peers.filter { windows[$0]?.hasRoom ?? true }
    let isAwaited = peers.contains { windows[$0].map { !$0.hasRoom && !$0.isLate } ?? false }
    if !open.isEmpty, !isAwaited { return [send(value, token, to: open)] }
    // For those with room, no value waits before it.
    let takers = peers.filter { windows[$0].map { $0.waiting.count < Self.limit } ?? true }
    if takers.isEmpty {
      throw BLEError(
        .limitExceeded,
        "more than \(Self.limit) values wait to be sent: wait for send(_:) to return before the next one")
    }
    let inTime = takers.filter { windows[$0]?.isLate != true }
    let waitedFor = inTime.isEmpty ? takers : inTime
    for peer in waitedFor {
      var window = windows[peer] ?? Window()
      window.waiting.append(token)
      windows[peer] = window
    }
    values[token] = (value, waitedFor)
    return advance(waitedFor)
  }

  private mutating func send(_ value: Value, _ token: UpdateToken, to peers: [LinkID]) -> HostCommand {
    for peer in peers {
      var window = windows[peer] ?? Window()
      window.sentCount += 1
      windows[peer] = window
    }
    return .update(token, value.attribute, value.octets, to: peers)
  }

  /// A value has left on a link.
  ///
  /// - Returns: the commands that send the values that waited for it.
  mutating func finished(on peer: LinkID) -> [HostCommand] {
    guard var window = windows[peer] else { return [] }
    window.sentCount = max(0, window.sentCount - 1)
    window.isLate = false
    windows[peer] = window
    return advance([peer])
  }

  /// Sends the values that wait for links and can be sent, and those that can be sent after that.
  private mutating func advance(_ peers: [LinkID]) -> [HostCommand] {
    var commands: [HostCommand] = []
    var links = peers
    while let peer = links.popLast() {
      while let token = windows[peer]?.waiting.first {
        let isIdle = windows[peer]?.sentCount == 0
        guard let next = isIdle ? firstInLine(before: peer) : isReady(token) ? token : nil,
          let (command, others) = sendWaiting(next)
        else { break }
        links += others.filter { $0 != peer && windows[$0]?.waiting.isEmpty == false }
        commands.append(command)
      }
    }
    return commands
  }

  /// Whether each link that a value waits for has room for it, or is late.
  private func isReady(_ token: UpdateToken) -> Bool {
    guard let peers = values[token]?.peers else { return false }
    return peers.contains { isNext(token, on: $0) }
      && peers.allSatisfy { isNext(token, on: $0) || windows[$0]?.isLate == true }
  }

  /// Whether a value can be sent on a link now: it is the first that waits, and there is room.
  private func isNext(_ token: UpdateToken, on peer: LinkID) -> Bool {
    windows[peer].map { !$0.isFull && $0.waiting.first == token } ?? false
  }

  /// The value to send next so that a link gets its first value, which no link with room may miss: if such a link has
  /// another value before it, that one is first. Each is older than the one before, so the search ends.
  private func firstInLine(before peer: LinkID) -> UpdateToken? {
    guard var token = windows[peer]?.waiting.first else { return nil }
    while let other = values[token]?.peers.lazy.compactMap({ windows[$0] }).first(where: {
      !$0.isFull && $0.waiting.first != token
    })?.waiting.first {
      token = other
    }
    return token
  }

  /// Sends a value that waits to the links that have room for it. The others are late.
  private mutating func sendWaiting(_ token: UpdateToken) -> (command: HostCommand, peers: [LinkID])? {
    guard let (value, peers) = values[token] else { return nil }
    let open = peers.filter { isNext(token, on: $0) }
    for late in peers where windows[late]?.isFull == true { windows[late]?.isLate = true }
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
    guard let window = windows.removeValue(forKey: peer) else { return ([], []) }
    var others: [LinkID] = []
    var lost: [UpdateToken] = []
    for token in window.waiting {
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
    for peer in values.removeValue(forKey: token)?.peers ?? [] { windows[peer]?.waiting.removeAll { $0 == token } }
  }
}
