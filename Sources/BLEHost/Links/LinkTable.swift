import BLEHCI
import BLEWire

/// The links that are up, in the order in which they came up. A link is found by its handle and by its name in constant time.
///
/// The deadline of each link is kept: an input changes the deadlines of the links that it has touched, and
/// ``review()`` at its end takes note of them.
struct LinkTable: Sendable, RandomAccessCollection {
  private var links: [Link] = []
  private var handles: [ConnectionHandle: Int] = [:]
  private var peers: [PeerID: Int] = [:]
  private var deadlines = DeadlineTree()
  /// The links that were changed since the last review.
  private var changed: [Int] = []
  private var lastPeer: UInt32 = 0
  /// The links whose clients send no commands, because their frames wait.
  var congested: Set<PeerID> = []
  var updates = PendingUpdates()
  /// Handles of links that have ended for the application and not yet at the controller.
  private(set) var supersededHandles: Set<ConnectionHandle> = []

  var startIndex: Int { links.startIndex }
  var endIndex: Int { links.endIndex }

  subscript(index: Int) -> Link {
    _read { yield links[index] }
    _modify {
      if changed.last != index { changed.append(index) }
      yield &links[index]
    }
  }

  func index(of handle: ConnectionHandle) -> Int? { handles[handle] }
  func index(of peer: PeerID) -> Int? { peers[peer] }

  /// The name of the next link.
  mutating func nextPeer() -> PeerID {
    lastPeer &+= 1
    return PeerID(rawValue: lastPeer)
  }

  /// Adds a link.
  ///
  /// - Returns: its index.
  mutating func append(_ link: Link) -> Int {
    let index = links.count
    links.append(link)
    (handles[link.handle], peers[link.peer]) = (index, index)
    rebuildDeadlines()
    return index
  }

  /// Takes a link out; the indices of those that came up after it change.
  ///
  /// - Parameter isSuperseded: the controller has not ended it yet, and still has packets of it.
  mutating func remove(at index: Int, isSuperseded: Bool = false) -> Link {
    let link = links.remove(at: index)
    (handles[link.handle], peers[link.peer]) = (nil, nil)
    for later in index..<links.count { (handles[links[later].handle], peers[links[later].peer]) = (later, later) }
    rebuildDeadlines()
    congested.remove(link.peer)
    if isSuperseded { supersededHandles.insert(link.handle) }
    return link
  }

  /// The controller has ended a link that had ended for the application.
  ///
  /// - Returns: whether there was one.
  mutating func supersededEnded(_ handle: ConnectionHandle) -> Bool { supersededHandles.remove(handle) != nil }

  /// The controller lost its state.
  mutating func forgetSuperseded() { supersededHandles = [] }
}

/// Deadlines.
extension LinkTable {
  /// When a link next has work, as of the last review.
  var deadline: Instant? { deadlines.earliest }

  /// The links that have work, in order.
  func due(_ now: Instant) -> [PeerID] { deadlines.due(now).map { links[$0].peer } }

  /// Takes note of the deadlines of the links that were changed.
  mutating func review() {
    for index in changed { deadlines.set(index, links[index].deadline) }
    changed.removeAll(keepingCapacity: true)
  }

  private mutating func rebuildDeadlines() {
    changed.removeAll(keepingCapacity: true)
    deadlines = DeadlineTree(links.map(\.deadline))
  }
}

/// Values handed over to be notified, and how many copies of each are still on their way.
struct PendingUpdates: Sendable {
  private struct Entry {
    var token: UpdateToken
    var owner: OwnerID
    var copies: Int
  }
  private var entries: [UInt32: Entry] = [:]
  private var tags: [UpdateToken: UInt32] = [:]
  private var lastTag: UInt32 = 0

  /// Takes a value in, with one copy that stands for the handing over itself.
  ///
  /// - Returns: the mark of the value's frames in the scheduler; nil when `limit` are there already.
  mutating func begin(_ token: UpdateToken, of owner: OwnerID, limit: Int) -> UInt32? {
    guard entries.count < limit, tags[token] == nil else { return nil }
    repeat { lastTag = lastTag == .max ? 1 : lastTag + 1 } while entries[lastTag] != nil
    entries[lastTag] = Entry(token: token, owner: owner, copies: 1)
    tags[token] = lastTag
    return lastTag
  }

  mutating func addCopy(of token: UpdateToken) {
    guard let tag = tags[token] else { return }
    entries[tag]?.copies += 1
  }

  /// The owner of the value, where it was the last copy.
  mutating func finishCopy(of token: UpdateToken) -> OwnerID? {
    guard let tag = tags[token], var entry = entries[tag] else { return nil }
    entry.copies -= 1
    guard entry.copies <= 0 else {
      entries[tag] = entry
      return nil
    }
    entries[tag] = nil
    tags[token] = nil
    return entry.owner
  }

  func token(of tag: UInt32) -> UpdateToken? { entries[tag]?.token }
}
