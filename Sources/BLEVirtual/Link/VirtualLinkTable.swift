internal import BLEHCI
internal import BLEWire

/// The links of a controller, the oldest first.
struct VirtualLinkTable: Sendable {
  /// The maximum number of links.
  private let capacity: Int
  private var links: [VirtualLink] = []
  private var lastHandle: UInt16 = 0x003F

  init(capacity: Int) { self.capacity = min(capacity, Int(ConnectionHandle.greatest.rawValue)) }

  var isEmpty: Bool { links.isEmpty }
  /// Whether there can be another link.
  var hasRoom: Bool { links.count < capacity }
  var indices: Range<Int> { links.indices }

  subscript(index: Int) -> VirtualLink {
    _read { yield links[index] }
    _modify { yield &links[index] }
  }

  func index(of handle: ConnectionHandle) -> Int? { links.firstIndex { $0.handle == handle } }

  /// - Parameter id: the identifier that both ends of the link have.
  func index(of id: UInt64) -> Int? { links.firstIndex { $0.id == id } }

  /// Whether there is a link with a peer, in a given role or in any.
  func contains(_ peer: DeviceAddress, as role: HCI.Role? = nil) -> Bool {
    links.contains { $0.peerAddress.identity == peer.identity && role ?? $0.role == $0.role }
  }

  /// A handle that no link has. Recently used handles come last, so that the use of an old handle is detected as an
  /// error.
  mutating func newHandle() -> ConnectionHandle? {
    for _ in 0...UInt16(0x0EFF) {
      lastHandle = lastHandle >= ConnectionHandle.greatest.rawValue ? 0x0001 : lastHandle + 1
      let handle = ConnectionHandle(rawValue: lastHandle)
      if index(of: handle) == nil { return handle }
    }
    return nil
  }

  /// - Returns: the index of the link.
  mutating func append(_ link: VirtualLink) -> Int {
    links.append(link)
    return links.count - 1
  }

  mutating func remove(at index: Int) { links.remove(at: index) }

  /// The time of the next connection event or supervision timeout.
  var deadline: Instant? {
    var nearest: Instant?
    for index in links.indices { nearest = .nearer(nearest, links[index].deadline) }
    return nearest
  }
}
