import BLEATT
import BLEGATT
import BLEL2CAP
import BLEWire

/// The enhanced ATT bearers of one client of our server (Vol 3, Part F, 3.2.11). ``LinkServer`` serves them one at a
/// time: it is given the state of a bearer for each input.
///
/// Values are notified and indicated on the first bearer alone, so that a client receives them in their order.
struct ServerBearers: Sendable {
  /// The state of one bearer.
  struct Bearer: Sendable {
    var gatt: GATTServer.Bearer
    /// The request that the owners of its attributes answer.
    var request: PendingAnswer?
  }

  fileprivate var bearers: [ChannelID: Bearer] = [:]

  var deadline: Instant? { bearers.isEmpty ? nil : bearers.values.compactMap { $0.gatt.deadline }.min() }

  mutating func add(_ channel: ChannelID, mtu: Int) { bearers[channel] = Bearer(gatt: GATTServer.Bearer(mtu: mtu)) }
  mutating func setMTU(_ mtu: Int, of channel: ChannelID) { bearers[channel]?.gatt.mtu = mtu }
  mutating func remove(_ channel: ChannelID) { bearers[channel] = nil }

  /// The bearer whose request has this token; nil for the first bearer.
  func channel(of token: RequestToken) -> ChannelID? { bearers.first { $0.value.request?.token == token }?.key }

  /// The bearers with a request that an owner is to answer.
  func channels(awaiting owner: OwnerID) -> [ChannelID] {
    bearers.filter { $0.value.request?.owners.contains(owner) == true }.keys.sorted { $0.rawValue < $1.rawValue }
  }

  /// The bearers that have work.
  func due(_ now: Instant) -> [ChannelID] {
    bearers.filter { $0.value.gatt.deadline.map { $0 <= now } ?? false }.keys.sorted { $0.rawValue < $1.rawValue }
  }
}

extension LinkServer {
  /// Serves one enhanced bearer; its PDUs are frames of the bearer.
  mutating func serve(
    _ channel: ChannelID, _ context: inout LinkContext, _ body: (inout LinkServer, inout LinkContext) -> Void
  ) {
    guard var bearer = bearers.bearers.removeValue(forKey: channel) else { return }
    var output = Output()
    swap(&output, &context.turn.server)
    exchange(&bearer)
    body(&self, &context)
    exchange(&bearer)
    swap(&output, &context.turn.server)
    bearers.bearers[channel] = bearer
    output.gatt.pdus.forEach {
      context.turn.bearerFrames.append(BearerFrame(channel: channel, pdu: [UInt8](copying: $0)))
    }
    context.turn.server.effects += output.effects
  }
}
