import BLEATT
import BLEGATT
import BLEHCI
import BLEWire

/// The links that are up, in the order in which they came up, and what they share: the buffers of the
/// controller. A link is found by its handle in constant time.
///
/// The deadline of each link is kept: an input changes the deadlines of the links that it has touched, and
/// ``review()`` at its end takes note of them.
struct LinkTable: Sendable, RandomAccessCollection {
  private var links: [Link] = []
  /// Where each link is in ``links``.
  private var places = LinkPlaces()
  private var deadlines = LinkDeadlines()
  /// Frames of all links to the controller.
  var acl: ACLScheduler
  /// Frames waiting on a link from which on its client sends no more commands, and below which it goes on.
  private let congestion: (from: Int, below: Int)
  /// The links whose clients send no commands, because their frames wait.
  private var congested: Set<PeerID> = []
  /// Reused by each event.
  private var transmitted: [TransmittedFrames] = []
  /// The links whose channels have frames that wait for a buffer of the controller.
  private(set) var withChannelFrames: Set<PeerID> = []
  /// Handles of links that have ended for the application and not yet at the controller.
  private var supersededHandles: Set<ConnectionHandle> = []
  /// The links of other programs of this machine.
  var foreign = ForeignLinks()
  /// When ``takeStalled(_:)`` has work: a link may have no buffer of the controller.
  private var starvationDeadline: Instant?
  /// How long a link may keep its buffers from a link that has none, if none of its packets is completed. Few links have
  /// a longer supervision timeout: usually such a peer is in range and does not acknowledge.
  private static let starvationTime = Duration.seconds(10)

  /// The links that there is room for from the first one on; more are possible.
  private static let expectedLinks = 64

  init(_ configuration: HostConfiguration = HostConfiguration()) {
    acl = ACLScheduler(limits: configuration.linkQueue)
    congestion = configuration.congestion
  }

  var startIndex: Int { links.startIndex }
  var endIndex: Int { links.endIndex }

  subscript(index: Int) -> Link {
    _read { yield links[index] }
    _modify {
      deadlines.noteChange(index)
      yield &links[index]
    }
  }

  /// A link for an input that may keep its deadline; ``noteChange(_:)`` follows where the input has changed it.
  subscript(unreviewed index: Int) -> Link {
    _read { yield links[index] }
    _modify { yield &links[index] }
  }

  /// The handle of a link, unless the link was asked to end. The properties are read in place: a function of the link
  /// would copy it.
  func openHandle(_ index: Int) -> ConnectionHandle? { links[index].isClosing ? nil : links[index].handle }

  func index(of handle: ConnectionHandle) -> Int? { places[handle] }
  func index(of peer: PeerID) -> Int? { places[peer] }

  /// The name of the next link.
  mutating func nextPeer() -> PeerID { places.nextPeer() }

  /// Adds a link.
  ///
  /// - Returns: its index.
  mutating func append(_ link: Link) -> Int {
    let index = links.count
    // Address space alone: memory is taken as links come up. An array that grows leaves copies of its links behind.
    if links.isEmpty { links.reserveCapacity(Self.expectedLinks) }
    links.append(link)
    places.append(link.handle, link.peer)
    deadlines.append(link.deadline, count: index)
    acl.addLink(link.handle)
    return index
  }

  /// Takes a link out; the indices of those that came up after it change.
  ///
  /// - Parameter isSuperseded: the controller has not ended it yet, and still has packets of it.
  mutating func remove(at index: Int, isSuperseded: Bool = false) -> Link {
    let link = links.remove(at: index)
    places.remove(at: index)
    rebuildDeadlines()
    congested.remove(link.peer)
    withChannelFrames.remove(link.peer)
    if isSuperseded { supersededHandles.insert(link.handle) }
    return link
  }

  /// Frees the buffers of a link that had ended for the application: the controller has ended it, too.
  ///
  /// - Returns: whether there was one.
  @discardableResult
  mutating func supersededEnded(_ handle: ConnectionHandle, into packets: inout PacketBuffer) -> Bool {
    guard supersededHandles.remove(handle) != nil else { return false }
    acl.removeLink(handle, into: &packets)
    return true
  }

  /// The controller lost its state, and all links have ended.
  mutating func reset() {
    acl.removeAll()
    supersededHandles = []
    foreign.reset()
  }
}

/// Links and their owners.
extension LinkTable {
  /// Lets an owner use a link that is up instead of a new one: a link that our central made for other owners, or
  /// that the device made to us.
  ///
  /// - Returns: the link; nil where there is none.
  mutating func share(_ identity: DeviceAddress, with owner: OwnerID, _ request: ConnectID) -> Connection? {
    let index = links.firstIndex { link in
      guard link.identity == identity.identity, !link.isClosing, !link.client.users.contains(owner) else {
        return false
      }
      // A central that only claims the identity of a bonded device is not that device.
      let isClaim = link.security.isBonded && !link.security.isBondProven
      return link.role == .central || link.device.reportedAddress == link.identity && !isClaim
    }
    guard let index else { return nil }
    links[index].client.addUser(owner)
    return links[index].connection(request: request)
  }

  /// The answer to a request to connect to a device that there is a link to; nil where a new link is needed.
  mutating func answer(to request: PendingConnection) -> HostEvent? {
    if let link = share(request.device, with: request.owner, request.id) { return .connected(link) }
    guard isConnected(request.device) else { return nil }
    return .connectionFailed(request.id, .invalidParameters("\(request.device) is connected already"))
  }

  /// The events that report each link to an owner that attaches.
  func events(for owner: OwnerID) -> [AddressedEvent<HostEvent>] {
    links.flatMap { link in
      var events = [HostEvent.connected(link.connection(request: nil))]
      if link.client.mtu != ATT.defaultMTU { events.append(.mtu(link.peer, link.client.mtu)) }
      if link.security != .none { events.append(.security(link.peer, link.security)) }
      return events.map { AddressedEvent($0, to: owner.recipient) }
    } + foreign.events.map { AddressedEvent($0, to: owner.recipient) }
  }
}

/// Frames that wait, and values on their way.
extension LinkTable {
  /// Takes the parameters of Number Of Completed Packets (Vol 4, Part E, 7.7.19). ``finishTransmitted(into:)`` follows.
  ///
  /// - Returns: a line for the log where the controller is at fault.
  @inline(__always)
  mutating func completed(_ parameters: Span<UInt8>, into packets: inout PacketBuffer) -> String? {
    if hasTransmitted { transmitted.removeFew() }
    do throws(CodecError) {
      let excess = try acl.receive(numberOfCompletedPackets: parameters, into: &packets, transmitted: &transmitted)
      return excess > 0 ? "\(excess) packets completed that were not sent" : nil
    } catch { return "a malformed Number Of Completed Packets event: \(error)" }
  }

  /// Whether values may have left since the last event.
  var hasTransmitted: Bool { !transmitted.isEmpty }
  /// Whether clients send no commands, because frames of their links wait.
  var isCongested: Bool { !congested.isEmpty }

  /// Finishes the values that have left, without an input of their links.
  mutating func finishTransmitted(into events: inout [AddressedEvent<HostEvent>]) {
    for place in transmitted.indices where transmitted[place].tag == FrameTag.notification {
      // Not by a function of the table, which would copy it.
      guard let index = places[transmitted[place].handle] else { continue }
      links[index].server.notificationsSent(transmitted[place].count, into: &events)
    }
  }

  /// Notes where the client of a link has to send no more commands, because frames of the link wait.
  mutating func noteCongestion(of peer: PeerID, _ turn: inout LinkTurn) {
    guard let index = index(of: peer), !links[index].client.isCongested,
      let backlog = acl.backlog(links[index].handle), backlog.frames >= congestion(of: index).from
    else { return }
    links[index].client.setCongested(true, now: turn.now, into: &turn.client)
    congested.insert(peer)
  }

  /// The limits of the queue of a link, which depend on its priority.
  private func congestion(of index: Int) -> (from: Int, below: Int) {
    links[index].signalling.tuning?.priority.congestion ?? congestion
  }

  /// Notes whether channels of a link have frames that wait.
  mutating func setHasChannelFrames(_ hasFrames: Bool, _ peer: PeerID) {
    if hasFrames { withChannelFrames.insert(peer) } else { withChannelFrames.remove(peer) }
  }

  /// The links whose frames have left, so that their clients go on.
  mutating func takeRelieved() -> [PeerID] {
    let relieved = congested.filter { peer in
      guard let index = index(of: peer), let backlog = acl.backlog(links[index].handle) else { return false }
      return backlog.frames < congestion(of: index).below
    }
    congested.subtract(relieved)
    return relieved.sorted { $0.rawValue < $1.rawValue }
  }
}

/// Deadlines.
extension LinkTable {
  /// When a link next has work, as of the last review.
  var deadline: Instant? { .nearer(deadlines.earliest, starvationDeadline) }

  /// The links that have work, in order.
  func due(_ now: Instant) -> [PeerID] { deadlines.due(now).map { links[$0].peer } }

  /// Takes note of the deadlines of the links that were changed.
  @inline(__always)
  mutating func review() { if deadlines.hasChanges { reviewChanges() } }

  private mutating func reviewChanges() {
    while let index = deadlines.takeChange() { deadlines.set(index, links[index].nextDeadline()) }
  }

  /// Begins to watch the links where one of them may have no buffer of the controller.
  @inline(__always)
  mutating func noteStarvation(_ now: Instant) {
    if acl.mayStarve, starvationDeadline == nil { watchBuffers(now) }
  }

  private mutating func watchBuffers(_ now: Instant) {
    starvationDeadline = now + Self.starvationTime
    acl.watch()
  }

  /// The links that have kept the buffers of the controller from others for ``starvationTime`` (Docs/Decisions/0099),
  /// without those that were asked to end.
  mutating func takeStalled(_ now: Instant) -> [PeerID] {
    guard let due = starvationDeadline, due <= now else { return [] }
    starvationDeadline = nil
    return acl.takeStalled().compactMap { handle in
      index(of: handle).flatMap { links[$0].isClosing ? nil : links[$0].peer }
    }
  }

  /// An input may have changed the deadline of a link.
  mutating func noteChange(_ index: Int) { deadlines.noteChange(index) }

  private mutating func rebuildDeadlines() { deadlines = LinkDeadlines(links.map(\.deadline)) }
}
