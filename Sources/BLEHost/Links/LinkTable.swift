import BLEATT
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLEWire

/// The links that are up, in the order in which they came up, and what they share: the buffers of the
/// controller. A link is found by its handle in constant time.
///
/// A link is changed through the subscript alone, which takes its deadline into the tree of deadlines at the end of the
/// change.
struct LinkTable: Sendable, RandomAccessCollection {
  private var links: [Link] = []
  /// The index of each link in ``links``.
  private var places = LinkPlaces()
  /// The deadline of each link, as of its last change.
  private var deadlines = DeadlineTree()
  /// Frames of all links to the controller.
  private var acl: ACLScheduler
  /// The number of frames waiting on a link at which its client stops sending commands, and below which it continues.
  private let congestion: (from: Int, below: Int)
  /// The links whose clients send no commands, because their frames wait.
  private var congested: Set<LinkID> = []
  /// Reused by each event.
  private var transmitted: [TransmittedFrames] = []
  /// The links whose channels have frames that wait for a buffer of the controller.
  private(set) var withChannelFrames: Set<LinkID> = []
  /// The links that have ended for their owners and not yet at the controller.
  private var endings: [Ending] = []
  /// The number of links for which the first one reserves space; more are possible.
  private let expectedLinks: Int
  /// When ``takeStalled(_:)`` has work: a link may have no buffer of the controller.
  private var starvationDeadline: Instant?
  /// When ``takeStalled(_:)`` has work: a link has packets in the controller.
  private var progressDeadline: Instant?
  /// How long a link may keep its buffers from a link that has none, if none of its packets is completed. Few links
  /// have a longer supervision timeout: usually such a peer is in range and does not acknowledge.
  private static let starvationTime = Duration.seconds(10)
  /// How long no packet of a link may be completed, at least; at most twice as long. It is longer than the longest
  /// supervision timeout, 32 s: the peer acknowledges nothing, or the controller does not report it.
  private static let progressTime = Duration.seconds(35)

  /// A link that the controller still has.
  struct Ending: Sendable {
    var handle: ConnectionHandle
    var device: DeviceAddress
    /// When the controller should have reported its end.
    var deadline: Instant
  }

  /// How long the controller may take to report the end of a link, besides its supervision timeout: a link layer ends
  /// the link then, even if the peer does not answer (Vol 6, Part B, 5.1.6).
  static let endTime = Duration.seconds(2)

  init(_ configuration: HostConfiguration = HostConfiguration()) {
    acl = ACLScheduler(
      limits: configuration.linkQueue, expectedLinks: configuration.expectedLinks,
      reservesMemory: configuration.reservesMemory)
    expectedLinks = configuration.expectedLinks
    congestion = configuration.congestion
    guard configuration.reservesMemory else { return }
    links.reserveCapacity(expectedLinks)
    places.reserveCapacity(expectedLinks)
  }

  var startIndex: Int { links.startIndex }
  var endIndex: Int { links.endIndex }

  subscript(index: Int) -> Link {
    _read { yield links[index] }
    _modify {
      defer { deadlines.set(index, links[index].nextDeadline()) }
      yield &links[index]
    }
  }

  /// Our roles on the links.
  var roles: LinkRoles {
    LinkRoles(
      hasCentral: links.contains { $0.role == .central }, hasPeripheral: links.contains { $0.role == .peripheral })
  }

  func index(of handle: ConnectionHandle) -> Int? { places[handle] }
  func index(of peer: LinkID) -> Int? { places[peer] }

  /// The name of the next link.
  mutating func nextPeer() -> LinkID { places.nextPeer() }

  /// Adds a link.
  ///
  /// - Returns: its index.
  mutating func append(_ link: Link) -> Int {
    let index = links.count
    // An array that grows leaves copies of its links behind.
    if links.isEmpty { links.reserveCapacity(expectedLinks) }
    links.append(link)
    places.append(link.handle, link.peer)
    deadlines.append(link.deadline, count: index)
    acl.addLink(link.handle)
    return index
  }

  /// Removes a link; the indices of those that came up after it change.
  ///
  /// - Parameter now: the time, if the controller has not ended it yet, and still has packets of it.
  mutating func remove(at index: Int, endingFrom now: Instant? = nil) -> Link {
    let link = links.remove(at: index)
    places.remove(at: index)
    deadlines = DeadlineTree(links.map { $0.deadline })
    congested.remove(link.peer)
    withChannelFrames.remove(link.peer)
    if let now {
      let supervision = Duration.milliseconds(10 * Int(link.signalling.timing.supervisionTimeout))
      endings.append(
        Ending(handle: link.handle, device: link.identity, deadline: now + supervision + Self.endTime))
    }
    return link
  }

  /// Frees the buffers of a link that had ended for the application: the controller has ended it, too.
  ///
  /// - Returns: whether there was one.
  @discardableResult
  mutating func endingCompleted(_ handle: ConnectionHandle, into packets: inout PacketBuffer) -> Bool {
    guard let place = endings.firstIndex(where: { $0.handle == handle }) else { return false }
    endings.remove(at: place)
    acl.removeLink(handle, into: &packets)
    return true
  }

  /// The handles of links whose end the controller should have reported.
  func overdueEndings(_ now: Instant) -> [ConnectionHandle] {
    endings.filter { $0.deadline <= now }.map { $0.handle }
  }

  /// Whether a link has ended for its owners and not yet at the controller.
  func isEnding(_ handle: ConnectionHandle) -> Bool { endings.contains { $0.handle == handle } }

  /// The devices whose links have ended for their owners and not yet at the controller.
  var endingDevices: [DeviceAddress] { endings.map { $0.device } }

  /// The controller lost its state, and all links have ended.
  mutating func reset() {
    acl.removeAll()
    endings = []
  }
}

/// Links and their owners.
extension LinkTable {
  /// Lets an owner use a link that is up instead of a new one: a link that our central made for other owners, or
  /// that the device made to us, also if the owner has asked for it before.
  ///
  /// - Returns: the link; nil where there is none.
  mutating func share(_ identity: DeviceAddress, with owner: OwnerID, _ request: ConnectID) -> ConnectedLink? {
    let index = links.firstIndex {
      isShared($0, as: identity.identity) && ($0.role == .peripheral || !$0.client.users.contains(owner))
    }
    guard let index else { return nil }
    self[index].client.addUser(owner)
    return links[index].connection(request: request)
  }

  /// Whether ``share(_:with:_:)`` has a link for an owner that uses none.
  func canShare(_ identity: DeviceAddress) -> Bool { links.contains { isShared($0, as: identity) } }

  /// Whether a link can be used as a link to this device.
  private func isShared(_ link: Link, as identity: DeviceAddress) -> Bool {
    guard link.identity == identity, !link.isClosing else { return false }
    if link.role == .central { return true }
    // A central that only claims the identity of a bonded device is not that device.
    if link.security.isBonded, !link.security.isBondProven { return false }
    // A link that came up beside the one that is reported by the identity is the device's when that one has ended: a
    // device that was restarted connects again before the supervision timeout of its former link.
    return link.device.reportedAddress == identity || !isReported(identity)
  }

  /// The answer to a request to connect to a device that there is a link to; nil where a new link is needed, now or
  /// when the present one has ended.
  mutating func answer(to request: PendingConnection) -> HostEvent? {
    if let link = share(request.device, with: request.owner, request.id) { return .connected(link) }
    guard isConnected(request.device), !disconnecting.contains(request.device) else { return nil }
    return .connectionFailed(request.id, .invalidParameters("\(request.device) is connected already"))
  }

  /// The events that report each link to an owner that attaches.
  func events(for owner: OwnerID) -> [AddressedEvent<HostEvent>] {
    links.flatMap { link in
      var events = [HostEvent.connected(link.connection(request: nil))]
      if link.client.mtu != ATT.defaultMTU { events.append(.link(link.peer, .mtu(link.client.mtu))) }
      if link.security != .none { events.append(.link(link.peer, .security(link.security))) }
      return events.map { AddressedEvent($0, to: owner.recipient) }
    }
  }
}

/// Values on their way. They have no deadline, and are counted without an input of their links: only here is a link
/// changed without the subscript.
extension LinkTable {
  /// How the client of a link gets the values of an attribute; nil where it does not get them. It is mutating
  /// to be called in place (Docs/Decisions/performance.md#in-place).
  mutating func recipient(
    _ peer: LinkID, of attribute: AttributeHandle, _ services: ServiceRegistry
  ) -> UpdateRecipient? {
    guard let index = places[peer], !links[index].isClosing else { return nil }
    let security = links[index].device.security
    let delivery = links[index].server.delivery(of: attribute, security, services)
    if case .nothing = delivery { return nil }
    return UpdateRecipient(
      index: index, handle: links[index].handle, attribute: attribute, delivery: delivery,
      longestValue: links[index].server.maximumUpdateLength)
  }

  /// Notes that a value is on its way by a notification.
  ///
  /// - Returns: false where too many values are on their way.
  @inline(__always)
  mutating func beginNotification(_ update: LinkUpdates.Entry, on index: Int) -> Bool {
    links[index].server.beginNotification(update)
  }

  /// Sends a notification; none on a link that was asked to end.
  ///
  /// - Returns: the reason why it is not accepted.
  mutating func notify(
    _ value: Span<UInt8>, to recipient: UpdateRecipient, into packets: inout PacketBuffer
  ) -> ACLSchedulerError? {
    if links[recipient.index].isClosing { return nil }
    let header = GATTServer.notificationHeader(of: recipient.attribute)
    let (channel, body) = (ChannelID.attributeProtocol.rawValue, value.extracting(first: recipient.longestValue))
    do throws(ACLSchedulerError) {
      try acl.send(
        recipient.handle, cid: channel, header: header, body: body, tag: FrameTag.notification, into: &packets)
      return nil
    } catch { return error }
  }

  /// Finishes the values that have left.
  mutating func finishTransmitted(into events: inout [AddressedEvent<HostEvent>]) {
    for place in transmitted.indices where transmitted[place].tag == FrameTag.notification {
      // In place (Docs/Decisions/performance.md#in-place).
      guard let index = places[transmitted[place].handle] else { continue }
      links[index].server.notificationsSent(transmitted[place].count, into: &events)
    }
  }
}

/// Frames to the controller, and those that wait.
extension LinkTable {
  /// Sets the buffers of the controller, for packets of at most `length` octets of data.
  mutating func setBuffers(length: Int, count: Int) { acl.setBuffers(length: length, count: count) }

  /// The data length of a link has changed.
  mutating func setDataLength(_ octets: UInt16, of handle: ConnectionHandle) {
    acl.setDataLength(octets, of: handle)
  }

  /// The buffers of the controller that no packet has.
  var freeBuffers: Int { acl.freeBuffers }

  /// The controller has ended a link that is no longer in the table: its packets have left the buffers.
  mutating func freeBuffers(of handle: ConnectionHandle, into packets: inout PacketBuffer) {
    acl.removeLink(handle, into: &packets)
  }

  /// Sends one frame; none on a link that was asked to end.
  ///
  /// - Returns: the reason why it is not accepted.
  mutating func send(
    _ payload: Span<UInt8>, on index: Int, _ channel: ChannelID, tag: UInt32 = 0, into packets: inout PacketBuffer
  ) -> ACLSchedulerError? {
    if links[index].isClosing { return nil }
    do throws(ACLSchedulerError) {
      _ = try acl.send(links[index].handle, cid: channel.rawValue, payload: payload, tag: tag, into: &packets)
      return nil
    } catch { return error }
  }

  /// Sends the PDUs of the server of a link; none on a link that was asked to end.
  ///
  /// - Returns: the reason why one is not accepted. Those after it are not sent.
  @inline(__always)
  mutating func send(
    _ pdus: borrowing PacketBuffer, on index: Int, into packets: inout PacketBuffer
  ) -> ACLSchedulerError? {
    if links[index].isClosing { return nil }
    let handle = links[index].handle
    do throws(ACLSchedulerError) {
      try pdus.forEach { pdu throws(ACLSchedulerError) in
        _ = try acl.send(handle, cid: ChannelID.attributeProtocol.rawValue, payload: pdu, into: &packets)
      }
      return nil
    } catch { return error }
  }

  /// Whether frames of a link wait, or packets of it are in the controller.
  func hasPackets(of index: Int) -> Bool {
    acl.backlog(links[index].handle).map { $0.frames > 0 || $0.packetsInFlight > 0 } ?? false
  }

  /// Whether a link has room for the next frame of a stream, whose frames have this tag.
  func hasRoomForStream(_ index: Int, tag: UInt32) -> Bool { acl.hasRoomForStream(links[index].handle, tag: tag) }

  /// Takes the parameters of Number Of Completed Packets (Vol 4, Part E, 7.7.19). ``finishTransmitted(into:)`` follows.
  ///
  /// - Returns: a line for the log where the controller is at fault.
  @inline(__always)
  mutating func completed(_ parameters: Span<UInt8>, into packets: inout PacketBuffer) -> String? {
    if hasTransmitted { transmitted.removeFew() }
    do throws(CodecError) {
      let excess = try acl.receive(numberOfCompletedPackets: parameters, into: &packets, transmitted: &transmitted)
      return excess > 0 ? "it completed \(excess) packets that were not sent" : nil
    } catch { return "a malformed Number Of Completed Packets event: \(error)" }
  }

  /// Whether values may have left since the last event.
  var hasTransmitted: Bool { !transmitted.isEmpty }
  /// Whether clients send no commands, because frames of their links wait.
  var isCongested: Bool { !congested.isEmpty }

  /// Checks whether the client of a link has to stop sending commands, because frames of the link wait.
  mutating func noteCongestion(of peer: LinkID, _ turn: inout LinkTurn) {
    guard let index = index(of: peer), !links[index].client.isCongested,
      let backlog = acl.backlog(links[index].handle), backlog.frames >= congestion(of: index).from
    else { return }
    self[index].client.setCongested(true, now: turn.now, into: &turn.client)
    congested.insert(peer)
  }

  /// The limits of the queue of a link, which depend on its priority.
  private func congestion(of index: Int) -> (from: Int, below: Int) {
    links[index].signalling.tuning?.priority.congestion ?? congestion
  }

  /// Notes whether channels of a link have frames that wait.
  mutating func setHasChannelFrames(_ hasFrames: Bool, _ peer: LinkID) {
    if hasFrames { withChannelFrames.insert(peer) } else { withChannelFrames.remove(peer) }
  }

  /// The links whose frames have left, so that their clients go on.
  mutating func takeRelieved() -> [LinkID] {
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
  /// When a link next has work.
  var deadline: Instant? {
    @inline(__always) get {
      let own = Instant?.nearer(deadlines.earliest, .nearer(starvationDeadline, progressDeadline))
      return endings.isEmpty ? own : endings.reduce(own) { .nearer($0, $1.deadline) }
    }
  }

  /// The links that have work, in order.
  func due(_ now: Instant) -> [LinkID] { deadlines.due(now).map { links[$0].peer } }

  /// Begins to watch the links if one of them may have no buffer of the controller.
  @inline(__always)
  mutating func noteStarvation(_ now: Instant) {
    if starvationDeadline == nil, acl.mayStarve { watchBuffers(now) }
    if progressDeadline == nil, acl.mayStall { watchProgress(now) }
  }

  private mutating func watchProgress(_ now: Instant) {
    progressDeadline = now + Self.progressTime
    acl.watchProgress()
  }

  private mutating func watchBuffers(_ now: Instant) {
    starvationDeadline = now + Self.starvationTime
    acl.watch()
  }

  /// The links that have kept the buffers of the controller from others for ``starvationTime``
  /// (Docs/Decisions/links-and-channels.md#the-controllers-buffers), and those of which no packet was completed for
  /// ``progressTime``, without those that were asked to end.
  mutating func takeStalled(_ now: Instant) -> [(peer: LinkID, fault: String)] {
    var stalled: [(peer: LinkID, fault: String)] = []
    if let due = starvationDeadline, due <= now {
      starvationDeadline = nil
      stalled += open(acl.takeStalled(), "its packets are not acknowledged, and other links need buffers")
    }
    if let due = progressDeadline, due <= now {
      progressDeadline = nil
      stalled += open(acl.takeWithoutProgress(), "no packet of it was completed in \(Self.progressTime)")
    }
    return stalled
  }

  private func open(_ handles: [ConnectionHandle], _ fault: String) -> [(peer: LinkID, fault: String)] {
    handles.compactMap { index(of: $0) }.filter { !links[$0].isClosing }.map { (links[$0].peer, fault) }
  }
}
