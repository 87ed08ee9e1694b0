import BLEATT
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLEWire

/// Routes what owners send to clients of their services: answers to requests, and values.
enum ServerRouter {
  /// Takes the answer of one owner to a request; an answer on a link that has ended has no effect.
  ///
  /// - Parameter octets: the value, where the answer has an empty one.
  static func respond(
    to token: RequestToken, of peer: PeerID, with answer: RequestAnswer, _ octets: Span<UInt8>, from owner: OwnerID,
    _ links: inout HostLinks, _ host: inout HostTurn
  ) {
    guard let index = links.table.index(of: peer) else { return }
    links.withLink(index, &host) { link, services, _, turn in
      let (now, security) = (turn.now, link.security)
      if BearerRouter.respond(to: token, with: answer, octets, from: owner, &link, &services, &turn) { return }
      link.server.respond(
        to: token, with: answer, octets, from: owner, security, &services, now: now, into: &turn.server)
    }
  }

  /// Notifies or indicates a value.
  ///
  /// - Parameter peers: nil for all clients that have subscribed to it.
  static func update(
    _ attribute: AttributeID, to value: Span<UInt8>, as token: UpdateToken, for peers: [PeerID]?, from owner: OwnerID,
    _ links: inout HostLinks, _ host: inout HostTurn
  ) {
    let isAccepted = links.services.accepts(attribute, from: owner)
    guard let tag = links.table.begin(token, of: attribute, isAccepted: isAccepted, for: owner, into: &host.output)
    else {
      return
    }
    let handle = links.services.database.handle(of: attribute)
    for index in links.table.indices {
      if links.table[index].isClosing || peers?.contains(links.table[index].peer) == false { continue }
      send(value, of: attribute, handle, on: index, as: token, tag: tag, &links, &host)
    }
    if let event = links.table.finishCopy(tag: tag) { host.output.events.append(event) }
  }

  /// Notifies or indicates values of one attribute to all clients that have subscribed to it. How each client gets them is looked up
  /// once.
  ///
  /// - Parameters:
  ///   - lengths: the number of octets of each value.
  ///   - octets: the values one after the other.
  static func update(
    _ run: UpdateRun, _ lengths: Span<Int>, _ octets: Span<UInt8>, _ links: inout HostLinks, _ host: inout HostTurn
  ) {
    let handle = links.services.database.handle(of: run.attribute)
    var subscribers: [NotifiedLink] = []
    swap(&subscribers, &links.notified)
    let areNotified = handle.map { find(&subscribers, of: $0, &links) } ?? false
    let isAccepted = links.services.accepts(run.attribute, from: run.owner)
    var end = 0
    for place in lengths.indices {
      let value = octets.extracting(end..<end + lengths[place])
      end += value.count
      // A value that nobody gets, or that is not sent here, has a copy that stands for the handing over itself.
      let isHandedOver = subscribers.isEmpty || !areNotified
      let copies = isHandedOver ? 1 : subscribers.count
      guard isAccepted, let tag = links.table.updates.beginCounted(copies: copies, of: run.owner) else {
        let refusal = links.table.refusal(of: run.attribute, isAccepted: isAccepted)
        host.output.append(.refused(refusal), to: run.owner.recipient)
        host.output.append(.updatesFinished(1), to: run.owner.recipient)
        continue
      }
      let token = UpdateToken.counted(tag)
      if areNotified, let handle {
        for link in subscribers.indices {
          notify(value, of: handle, on: subscribers[link], as: token, tag: tag, &links, &host)
        }
      } else {
        for index in links.table.indices where !links.table[index].isClosing {
          send(value, of: run.attribute, handle, on: index, as: token, tag: tag, &links, &host)
        }
      }
      if isHandedOver, let event = links.table.finishCopy(tag: tag) { host.output.events.append(event) }
    }
    subscribers.removeFew()
    swap(&subscribers, &links.notified)
  }

  /// Finds the links whose clients have subscribed to notifications of an attribute.
  ///
  /// - Returns: whether these are all that get its values: false where a client gets indications, or cannot be served.
  private static func find(
    _ subscribers: inout [NotifiedLink], of attribute: AttributeHandle, _ links: inout HostLinks
  ) -> Bool {
    for index in links.table.indices {
      guard let handle = links.table.openHandle(index) else { continue }
      let security = links.table[unreviewed: index].device.security
      switch links.table[unreviewed: index].server.way(of: attribute, security, links.services) {
      case .nothing: continue
      case .other: return false
      case .notification(let longest):
        subscribers.append(NotifiedLink(index: index, handle: handle, longestValue: longest))
      }
    }
    return true
  }

  /// Sends a notification. It is no input of the link, whose deadlines do not change.
  private static func notify(
    _ value: Span<UInt8>, of attribute: AttributeHandle, on link: NotifiedLink, as token: UpdateToken, tag: UInt32,
    _ links: inout HostLinks, _ host: inout HostTurn
  ) {
    links.table[unreviewed: link.index].server.beginNotification(token)
    // A link that takes no data is ended; its end is that of the copies on it.
    if links.table.openHandle(link.index) == nil { return }
    let refusal = links.table.acl.notify(
      GATTServer.notificationHeader(of: attribute), value.extracting(first: link.longestValue), on: link.handle,
      tag: tag,
      into: &host.output.packets)
    if let refusal { links.sendingFailed(refusal, on: link.index, &host) }
  }

  /// Notifies or indicates a value on one link, where its client has subscribed to it.
  private static func send(
    _ value: Span<UInt8>, of attribute: AttributeID, _ handle: AttributeHandle?, on index: Int, as token: UpdateToken,
    tag: UInt32, _ links: inout HostLinks, _ host: inout HostTurn
  ) {
    if let handle {
      // In place: a function that does not mutate would copy the server of the link.
      let security = links.table[unreviewed: index].device.security
      switch links.table[unreviewed: index].server.way(of: handle, security, links.services) {
      case .nothing: return
      case .other: break
      case .notification(let longest):
        links.table.updates.addCopy(tag: tag)
        let link = NotifiedLink(index: index, handle: links.table[unreviewed: index].handle, longestValue: longest)
        return notify(value, of: handle, on: link, as: token, tag: tag, &links, &host)
      }
    }
    links.withLink(index, &host) { link, services, _, turn in
      let security = link.security
      link.server.update(
        attribute, to: [UInt8](copying: value), as: token, tag: tag, security, services, now: turn.now,
        into: &turn.server)
    }
  }
}

/// A link whose client gets the values of an attribute by notifications.
struct NotifiedLink: Sendable {
  var index: Int
  var handle: ConnectionHandle
  /// In octets.
  var longestValue: Int
}
