import BLEGATT
import BLEHost
import BLEWire

/// The values of notifications and indications that the host has, and those that wait, for each link.
///
/// Each link has a window of its own, so that a client that confirms nothing holds up no other. A value for several
/// links is sent to those with room. Where none has room it waits, and is sent to the first that has; the others miss
/// it.
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
    if !open.isEmpty {
      for peer in open {
        var window = windows[peer] ?? Window()
        window.sentCount += 1
        windows[peer] = window
      }
      return [.update(token, value.attribute, value.octets, to: open)]
    }
    let waitedFor = peers.filter { windows[$0].map { $0.waiting.count < Self.limit } ?? true }
    if waitedFor.isEmpty {
      throw BLEError(
        .limitExceeded,
        "more than \(Self.limit) values wait to be sent: wait for send(_:) to return before the next one")
    }
    for peer in waitedFor { windows[peer]?.waiting.append(token) }
    values[token] = (value, waitedFor)
    return []
  }

  /// A value has left on a link.
  ///
  /// - Returns: the command that sends the next one.
  mutating func finished(on peer: PeerID) -> [HostCommand] {
    guard let window = windows[peer] else { return [] }
    windows[peer]?.sentCount = max(0, window.sentCount - 1)
    guard window.sentCount <= Self.window, let token = window.waiting.first, let next = take(token) else { return [] }
    windows[peer]?.sentCount += 1
    return [.update(token, next.attribute, next.octets, to: [peer])]
  }

  /// A value that waits is not to be sent.
  mutating func cancel(_ token: UpdateToken) { _ = take(token) }

  /// A link has ended.
  ///
  /// - Returns: the values that waited for it alone.
  mutating func remove(_ peer: PeerID) -> [UpdateToken] {
    guard let window = windows.removeValue(forKey: peer) else { return [] }
    var lost: [UpdateToken] = []
    for token in window.waiting {
      values[token]?.peers.removeAll { $0 == peer }
      guard values[token]?.peers.isEmpty == true else { continue }
      values[token] = nil
      lost.append(token)
    }
    return lost
  }

  /// Takes a value out that waits.
  private mutating func take(_ token: UpdateToken) -> Value? {
    guard let (value, peers) = values.removeValue(forKey: token) else { return nil }
    for peer in peers { windows[peer]?.waiting.removeAll { $0 == token } }
    return value
  }
}
