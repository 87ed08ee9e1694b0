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
    // Encoded once for all subscribers.
    var pdu = handle.map { host.notification(of: $0, value) } ?? OctetQueue()
    for index in links.table.indices {
      if links.table[index].isClosing || peers?.contains(links.table[index].peer) == false { continue }
      let octets = pdu.memory.span.extracting(pdu.start..<pdu.end)
      if let handle, notify(octets, of: handle, on: index, as: token, tag: tag, &links, &host) { continue }
      links.withLink(index, &host) { link, services, _, turn in
        let security = link.security
        link.server.update(
          attribute, to: [UInt8](copying: value), as: token, tag: tag, security, services, now: turn.now,
          into: &turn.server)
      }
    }
    host.reuse(notification: &pdu)
    if let event = links.table.finishCopy(of: token, tag: tag) { host.output.events.append(event) }
  }

  /// Sends a notification on a link, where its client has subscribed to notifications. It is no input of the link, whose deadlines do
  /// not change.
  ///
  /// - Parameter pdu: the whole PDU, which all subscribers share; it is cut to the ATT_MTU of the link.
  /// - Returns: whether that is all: false where the client gets an indication, or cannot be served.
  private static func notify(
    _ pdu: Span<UInt8>, of attribute: AttributeHandle, on index: Int, as token: UpdateToken, tag: UInt32,
    _ links: inout HostLinks, _ host: inout HostTurn
  ) -> Bool {
    // In place: a function that does not mutate would copy the server of the link.
    let security = links.table[index].device.security
    let length: Int
    switch links.table[unreviewed: index].server.beginNotification(of: attribute, as: token, security, links.services) {
    case .nothing: return true
    case .other: return false
    case .notification(let longest): length = min(pdu.count, longest)
    }
    links.table.updates.addCopy(tag: tag)
    guard let handle = links.table.openHandle(index) else { return true }
    let refusal = links.table.acl.send(
      pdu.extracting(0..<length), on: handle, .attributeProtocol, tag: tag, into: &host.output.packets)
    if let refusal { links.sendingFailed(refusal, on: index, &host) }
    return true
  }
}
