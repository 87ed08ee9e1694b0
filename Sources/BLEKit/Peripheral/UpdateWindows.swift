import BLEGATT
import BLEHost
import BLEWire

/// The values of notifications and indications that the host has, and those that wait, for each link.
///
/// Each link has a window of its own. A value for several links waits until each of them has room, and is then sent to
/// all. A link that has taken none of its values when another one has taken all is late: it holds up no other, and
/// misses values while it has no room.
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

    /// Values that have left since the window was full.
    var progress = 0
    /// Whether the others do not wait for the link.
    var isLate = false

    var hasRoom: Bool { sentCount < UpdateWindows.window && waiting.isEmpty }
  }

  /// Values that the host has for one link at a time.
  static let window = 16
  /// Values that may wait for one link; one more is refused.
  static let limit = 256

  private var windows = IdentifierTable<PeerID, Window>()
  /// The values that wait, and the links that each waits for.
  private var values: [UpdateToken: (value: Value, peers: [PeerID])] = [:]

  /// Takes a value for links.
  ///
  /// - Returns: the command that sends it, where one of the links has room.
  /// - Throws: ``BLEError/Kind/limitExceeded`` where ``limit`` values wait for each of them.
  mutating func append(_ value: Value, _ token: UpdateToken, to peers: [PeerID]) throws(BLEError) -> [HostCommand] {
    let open = peers.filter { windows[$0]?.hasRoom ?? true }
    let isAwaited = peers.contains { windows[$0].map { !$0.hasRoom && !$0.isLate } ?? false }
    if !open.isEmpty, !isAwaited { return [send(value, token, to: open)] }
    // Those with room have nothing that waits before it.
    let waitedFor = peers.filter { windows[$0].map { $0.waiting.count < Self.limit && !$0.isLate } ?? true }
    if waitedFor.isEmpty {
      throw BLEError(
        .limitExceeded,
        "more than \(Self.limit) values wait to be sent: wait for send(_:) to return before the next one")
    }
    for peer in waitedFor {
      var window = windows[peer] ?? Window()
      window.waiting.append(token)
      windows[peer] = window
    }
    values[token] = (value, waitedFor)
    return advance(waitedFor)
  }

  private mutating func send(_ value: Value, _ token: UpdateToken, to peers: [PeerID]) -> HostCommand {
    for peer in peers {
      var window = windows[peer] ?? Window()
      window.sentCount += 1
      if window.sentCount == Self.window { window.progress = 0 }
      windows[peer] = window
    }
    return .update(token, value.attribute, value.octets, to: peers)
  }

  /// A value has left on a link.
  ///
  /// - Returns: the commands that send what has waited for it.
  mutating func finished(on peer: PeerID) -> [HostCommand] {
    guard var window = windows[peer] else { return [] }
    window.sentCount = max(0, window.sentCount - 1)
    window.progress += 1
    window.isLate = false
    windows[peer] = window
    return advance([peer])
  }

  /// Sends what waits and can be sent.
  private mutating func advance(_ peers: [PeerID]) -> [HostCommand] {
    var commands: [HostCommand] = []
    for peer in peers {
      while let token = windows[peer]?.waiting.first, let command = sendFirst(token, on: peer) {
        commands.append(command)
      }
    }
    return commands
  }

  /// Sends a value that is the first that waits on a link, where every link that is waited for has room.
  private mutating func sendFirst(_ token: UpdateToken, on peer: PeerID) -> HostCommand? {
    guard let (value, peers) = values[token], let window = windows[peer] else { return nil }
    let blocking = peers.filter { !isNext(token, on: $0) }
    if !blocking.isEmpty {
      // This link has taken all that it was sent, and others nothing.
      guard window.sentCount == 0, blocking.allSatisfy({ windows[$0]?.progress == 0 }) else { return nil }
      for late in blocking { windows[late]?.isLate = true }
    }
    let open = peers.filter { !blocking.contains($0) }
    _ = take(token)
    return send(value, token, to: open)
  }

  /// Whether a value can be sent on a link now: it is the first that waits, and there is room.
  private func isNext(_ token: UpdateToken, on peer: PeerID) -> Bool {
    windows[peer].map { $0.sentCount < Self.window && $0.waiting.first == token } ?? false
  }

  /// A value that waits is not to be sent.
  ///
  /// - Returns: the commands that send what has waited behind it.
  mutating func cancel(_ token: UpdateToken) -> [HostCommand] {
    guard let peers = values[token]?.peers else { return [] }
    _ = take(token)
    return advance(peers)
  }

  /// A link has ended.
  ///
  /// - Returns: the values that waited for it alone, and the commands that send what others waited for.
  mutating func remove(_ peer: PeerID) -> (lost: [UpdateToken], commands: [HostCommand]) {
    guard let window = windows.removeValue(forKey: peer) else { return ([], []) }
    var others: [PeerID] = []
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

  /// Takes a value out that waits.
  private mutating func take(_ token: UpdateToken) -> Value? {
    guard let (value, peers) = values.removeValue(forKey: token) else { return nil }
    for peer in peers { windows[peer]?.waiting.removeAll { $0 == token } }
    return value
  }
}
