import BLEHCI
import BLEWire

/// The places of the links in their table: by handle in constant time, by name in logarithmic time.
struct LinkPlaces: Sendable {
  private var indices = ConnectionHandleTable()
  /// The handles and the names of the links, in order.
  private var handles: [ConnectionHandle] = []
  /// They ascend from the first one on, as names are given in order. They are compared by their distances from the
  /// first one, which ascend even if the number of links since the start exceeds 32 bits.
  private var peers: [LinkID] = []
  private var lastPeer: UInt32 = 0

  /// Takes the memory for a number of links.
  mutating func reserveCapacity(_ count: Int) {
    handles.reserveCapacity(count)
    peers.reserveCapacity(count)
  }

  /// The name of the next link.
  mutating func nextPeer() -> LinkID {
    lastPeer &+= 1
    return LinkID(rawValue: lastPeer)
  }

  subscript(handle: ConnectionHandle) -> Int? { indices[handle] }

  subscript(peer: LinkID) -> Int? {
    var (low, high) = (0, peers.count)
    guard high > 0 else { return nil }
    let first = peers[0].rawValue
    while low < high {
      let middle = (low + high) / 2
      if peers[middle].rawValue &- first < peer.rawValue &- first { low = middle + 1 } else { high = middle }
    }
    return low < peers.count && peers[low] == peer ? low : nil
  }

  /// Adds a link after the others.
  mutating func append(_ handle: ConnectionHandle, _ peer: LinkID) {
    indices[handle] = handles.count
    handles.append(handle)
    peers.append(peer)
  }

  /// Removes a link; the places of those after it change.
  mutating func remove(at index: Int) {
    indices[handles.remove(at: index)] = nil
    peers.remove(at: index)
    for later in index..<handles.count { indices[handles[later]] = later }
  }
}
