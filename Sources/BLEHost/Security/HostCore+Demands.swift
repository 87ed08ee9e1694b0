import BLEATT
import BLEGATT
import BLESMP
import BLEWire

/// What our client asked and the peer's server refused for want of security: kept while the link is secured, then asked
/// again, once (Vol 3, Part C, 10.3.2).
struct ParkedOperations: Sendable {
  /// Operations on their way, to be able to ask again.
  var asked: [GATTClient.OperationID: GATTClient.Operation] = [:]
  var parked: [(operation: GATTClient.Operation, refusal: GATTClient.Event)] = []
  /// Those that were asked again: what they get counts.
  var repeated: Set<GATTClient.OperationID> = []

  /// Operations that may wait for security; what is refused beyond them is told at once.
  static let limit = 64
}

extension HostCore {
  private func raisesSecurity(_ link: Link) -> Bool {
    link.role == .central && policy.pairsOnDemand
  }

  /// Notes an operation that may have to be asked again.
  mutating func noteOperation(_ operation: GATTClient.Operation, on index: Int) {
    guard raisesSecurity(links[index]) else { return }
    links[index].demands.asked[operation.id] = operation
  }

  /// Takes the end of an operation; false where it is for the application.
  mutating func parks(
    _ id: GATTClient.OperationID, _ result: Result<GATTClient.Outcome, GATTClientError>, _ event: GATTClient.Event,
    on index: Int,
    now: Instant, into output: inout HostOutput
  ) -> Bool {
    guard let operation = links[index].demands.asked.removeValue(forKey: id) else { return false }
    guard links[index].demands.repeated.remove(id) == nil,
      case .failure(.errorResponse(let code, _, _)) = result,
      code == .insufficientAuthentication || code == .insufficientEncryption,
      links[index].demands.parked.count < ParkedOperations.limit, beginsSecuring(index, now: now, into: &output)
    else { return false }
    links[index].demands.parked.append((operation, event))
    return true
  }

  /// Whether the link is being secured, or can be secured better than it is.
  private mutating func beginsSecuring(_ index: Int, now: Instant, into output: inout HostOutput) -> Bool {
    func isUnderWay(_ link: Link) -> Bool {
      link.cipher.start != nil || link.pairing?.isPairing == true || link.system.isUnderWay
    }
    if isUnderWay(links[index]) { return true }
    if links[index].security.level == .encrypted, policy.settings?.requestsMITM == true {
      // A key that nobody vouches for was not enough: a better one, where the devices can make one.
      secure(index, .mitm, isConsented: false, now: now, into: &output)
    } else if links[index].security.level == .none {
      secure(index, [], isConsented: false, now: now, into: &output)
    }
    return isUnderWay(links[index])
  }

  /// The link is encrypted now: what was refused is asked again.
  mutating func repeatParked(_ index: Int, now: Instant, into output: inout HostOutput) {
    let parked = links[index].demands.parked
    guard !parked.isEmpty else { return }
    links[index].demands.parked = []
    for (operation, _) in parked {
      links[index].demands.asked[operation.id] = operation
      links[index].demands.repeated.insert(operation.id)
      links[index].client.perform(operation, now: now, into: &scratch.client)
    }
    drainClient(index, now: now, into: &output)
  }

  /// It could not be encrypted: the refusals are told after all.
  mutating func releaseParked(_ index: Int, into output: inout HostOutput) {
    for (_, refusal) in links[index].demands.parked {
      output.append(.client(links[index].peer, refusal), to: links[index].takeRecipient(of: refusal))
    }
    links[index].demands.parked = []
  }
}
