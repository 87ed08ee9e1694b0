import BLEGATT
import BLEHCI
import BLEL2CAP
import BLEWire

/// Routes what an input of a link writes and causes: PDUs to the scheduler, effects to the parts that they concern.
enum LinkRouter {
  /// Sends what an input of a link wrote, and applies what it causes, in the order of ``LinkTurn``.
  static func finishInput(
    of index: Int, _ turn: inout LinkTurn, _ links: inout HostLinks, _ host: inout HostTurn
  ) {
    if !turn.bearerFrames.isEmpty || !turn.client.frames.isEmpty { BearerRouter.send(&links.table[index], &turn) }
    let peer = links.table[index].peer
    let handle = links.table.openHandle(index)
    let refusal = links.table.acl.send(turn.server.gatt.pdus, on: handle, into: &host.output.packets)
    if let refusal { links.sendingFailed(refusal, on: index, &host) }
    links.apply(turn.server.effects, of: peer, &host)
    turn.client.gatt.pdus.forEach { links.send($0, on: peer, .attributeProtocol, &host) }
    links.apply(turn.client.effects, of: peer, &host)
    if turn.usesClient { links.table.noteCongestion(of: peer, &turn) }
    links.apply(turn.effects, of: peer, &host)
    turn.signalling.forEach { links.send($0, on: peer, .signalling, &host) }
    if turn.hasChannelFrames { ChannelRouter.sendFrames(of: peer, &links, &host) }
  }

  /// Takes the parameters of Number Of Completed Packets. Usually nothing waits for the buffers that are free
  /// now.
  @inline(__always)
  static func packetsCompleted(_ parameters: Span<UInt8>, _ links: inout HostLinks, _ host: inout HostTurn) {
    if let fault = links.table.completed(parameters, into: &host.output.packets) { host.report(.controller, fault) }
    if links.table.hasTransmitted { links.table.finishTransmitted(into: &host.output.events) }
    if links.table.isCongested {
      for peer in links.table.takeRelieved() {
        links.withLink(of: peer, &host) { $0.perform(.relieved, &$1, &$2, &$3) }
      }
    }
    if !links.table.withChannelFrames.isEmpty { ChannelRouter.resume(&links, &host) }
  }

  /// Applies an effect of a link.
  static func perform(_ effect: LinkEffect, of peer: PeerID, _ links: inout HostLinks, _ host: inout HostTurn) {
    switch effect {
    case .violated(let event, let recipient):
      if host.log.admits(.peer, peer: peer, now: host.now) { host.append(.client(peer, event), to: recipient) }
    case .security(let input): links.withSecurity(of: peer, input, &host)
    case .securityWanted:
      links.withSecurity(of: peer, .refused, &host)
      links.withLink(of: peer, &host) { $0.perform(effect, &$1, &$2, &$3) }
    case .bondProven: links.withIdentities(of: peer, &host) { $0.confirmIdentity(of: peer, into: &$1) }
    case .bearer(let effect): links.withLink(of: peer, &host) { BearerRouter.perform(effect, &$0, &$1, &$3) }
    case .channel(let effect): ChannelRouter.perform(effect, of: peer, &links, &host)
    case .superseded(let handle): links.remove(handle, reason: .terminatedByLocalHost, isSuperseded: true, &host)
    default: links.withLink(of: peer, &host) { $0.perform(effect, &$1, &$2, &$3) }
    }
  }
}
