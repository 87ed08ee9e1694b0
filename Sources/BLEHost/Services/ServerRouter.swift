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

  /// Notifies or indicates values of one attribute to those of the links whose clients have subscribed to it. How each
  /// client gets them is looked up once.
  ///
  /// - Parameters:
  ///   - token: names the only value, or is ``UpdateToken/counted``.
  ///   - lengths: the number of octets of each value.
  ///   - octets: the values one after the other.
  static func update(
    _ run: UpdateRun, as token: UpdateToken, _ lengths: Span<Int>, _ octets: Span<UInt8>, _ links: inout HostLinks,
    _ host: inout HostTurn
  ) {
    let update = LinkUpdates.Entry(owner: run.owner, token: token)
    var recipients: [UpdateRecipient] = []
    swap(&recipients, &links.recipients)
    if let handle = links.services.updatedValue(run.attribute, of: run.owner) {
      for peer in run.peers {
        if let recipient = recipient(peer, of: handle, &links) {
          recipients.append(recipient)
        } else {
          finish(update, count: run.count, on: peer, &host)
        }
      }
    } else {
      let refusal = HostError.invalidParameters("\(DatabaseError.unknownAttribute(run.attribute))")
      host.output.append(.refused(refusal), to: run.owner.recipient)
      for peer in run.peers { finish(update, count: run.count, on: peer, &host) }
    }
    var end = 0
    for place in lengths.indices {
      let value = octets.extracting(end..<end + lengths[place])
      end += value.count
      for index in recipients.indices { send(value, to: recipients[index], as: update, &links, &host) }
    }
    recipients.removeFew()
    swap(&recipients, &links.recipients)
  }

  /// The values do not leave on a link.
  private static func finish(
    _ update: LinkUpdates.Entry, count: Int, on peer: PeerID, _ host: inout HostTurn
  ) {
    let event = update.token == .counted ? .updatesFinished(peer, count) : update.finished(on: peer)
    host.output.append(event, to: update.owner.recipient)
  }

  /// How the client of a link gets the values of an attribute; nil where it does not get them.
  private static func recipient(
    _ peer: PeerID, of attribute: AttributeHandle, _ links: inout HostLinks
  ) -> UpdateRecipient? {
    guard let index = links.table.index(of: peer), let handle = links.table.openHandle(index) else { return nil }
    let security = links.table[unreviewed: index].device.security
    let delivery = links.table[unreviewed: index].server.delivery(of: attribute, security, links.services)
    if case .nothing = delivery { return nil }
    let longest = links.table[unreviewed: index].server.maximumUpdateLength
    return UpdateRecipient(
      index: index, handle: handle, attribute: attribute, delivery: delivery, longestValue: longest)
  }

  @inline(__always)
  private static func send(
    _ value: Span<UInt8>, to recipient: UpdateRecipient, as update: LinkUpdates.Entry, _ links: inout HostLinks,
    _ host: inout HostTurn
  ) {
    if case .indication(let attribute) = recipient.delivery {
      links.withLink(recipient.index, &host) { link, _, _, turn in
        link.server.indicate(
          value, of: recipient.attribute, attribute, as: update, now: turn.now, into: &turn.server)
      }
    } else {
      notify(value, to: recipient, as: update, &links, &host)
    }
  }

  /// Sends a notification. It is no input of the link, whose deadlines do not change.
  private static func notify(
    _ value: Span<UInt8>, to recipient: UpdateRecipient, as update: LinkUpdates.Entry, _ links: inout HostLinks,
    _ host: inout HostTurn
  ) {
    guard links.table[unreviewed: recipient.index].server.beginNotification(update) else {
      let server = links.table[unreviewed: recipient.index].server
      host.output.append(.refused(server.updateRefusal), to: update.owner.recipient)
      return finish(update, count: 1, on: links.table[unreviewed: recipient.index].peer, &host)
    }
    // A link that takes no data is ended, and what was on its way ends with it.
    if links.table.openHandle(recipient.index) == nil { return }
    let refusal = links.table.acl.notify(
      GATTServer.notificationHeader(of: recipient.attribute), value.extracting(first: recipient.longestValue),
      on: recipient.handle, into: &host.output.packets)
    if let refusal { links.sendingFailed(refusal, on: recipient.index, &host) }
  }
}

/// A link whose client gets the values of an attribute.
struct UpdateRecipient: Sendable {
  var index: Int
  var handle: ConnectionHandle
  /// The handle of the value.
  var attribute: AttributeHandle
  var delivery: GATTServer.UpdateDelivery
  /// In octets.
  var longestValue: Int
}
