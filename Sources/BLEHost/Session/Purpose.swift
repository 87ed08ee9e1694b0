import BLEHCI
import BLEWire

/// Why a command was sent: what the answer is for.
enum Purpose: Sendable, Equatable {
  case setup(SetupStep)
  case advertising(AdvertisingID, DeclaredAdvertisement.Step)
  case scanning(Scanner.Step)
  case initiating(Initiator.Step)
  case disconnect(LinkID)
  case endingSuperseded(ConnectionHandle)
  case connectionUpdate(LinkID, OwnerID)
  case rssi(LinkID, OwnerID)
  case setPHY(LinkID, OwnerID)
  case readPHY(LinkID, OwnerID)
  case tuning(LinkID)
  case encryption(LinkID)
  case address
  /// Nothing depends on the answer; a refusal is reported.
  case reply

  /// The link that the command is about, where that can have ended meanwhile.
  var link: LinkID? {
    switch self {
    case .disconnect(let peer), .tuning(let peer), .encryption(let peer): peer
    case .connectionUpdate(let peer, _), .rssi(let peer, _), .setPHY(let peer, _), .readPHY(let peer, _): peer
    case .setup, .advertising, .scanning, .initiating, .endingSuperseded, .address, .reply: nil
    }
  }

  /// The event that answers the owner of a command about a link; nil where the owner gets none.
  ///
  /// - Parameters:
  ///   - returned: the return parameters.
  ///   - error: why the command has failed, if it has.
  func answer(_ returned: Bytes, _ error: HostError?) -> AddressedEvent<HostEvent>? {
    switch self {
    case .rssi(let peer, let owner):
      if let error { return AddressedEvent(.rssi(peer, .failure(error)), to: owner.recipient) }
      guard let response = try? HCI.ReadRSSI.Response(returned: returned) else {
        return AddressedEvent(.rssi(peer, .failure(.controller(.readRSSI, .success))), to: owner.recipient)
      }
      return AddressedEvent(.rssi(peer, .success(response.rssi)), to: owner.recipient)
    case .connectionUpdate(let peer, let owner):
      return error.map { AddressedEvent(.connectionUpdateRefused(peer, $0), to: owner.recipient) }
    case .setPHY(let peer, let owner):
      return error.map { AddressedEvent(.phy(peer, .failure($0)), to: owner.recipient) }
    case .readPHY(let peer, let owner):
      if let error { return AddressedEvent(.phy(peer, .failure(error)), to: owner.recipient) }
      guard let response = try? HCI.LEReadPHY.Response(returned: returned) else {
        return AddressedEvent(.phy(peer, .failure(.controller(.leReadPHY, .success))), to: owner.recipient)
      }
      let phy = ConnectionPHY(reported: response.txPHY, response.rxPHY)
      return AddressedEvent(.phy(peer, .success(phy)), to: owner.recipient)
    case .setup, .advertising, .scanning, .initiating, .disconnect, .endingSuperseded, .encryption, .tuning, .address,
      .reply:
      return nil
    }
  }
}
