import BLEAdapter
import BLEHost
import BLEL2CAP
import Foundation

/// L2CAP channels to peripherals (Vol 3, Part A, 4.22 to 4.26).
extension CentralRole {
  mutating func openChannel(_ peripheral: CBPeripheral, _ psm: SPSM, into effects: inout CentralEffects) {
    guard let connection = connection(of: peripheral, for: "openL2CAPChannel", into: &effects) else { return }
    guard connection.openingChannels.count < limits.pendingRequests else {
      let error = CBError(
        .outOfSpace, "\(limits.pendingRequests) channels are being opened already: wait for an answer")
      return effects.calls.append(.peripheral(peripheral, .didNotOpenChannel(error)))
    }
    let id = HostIDs.openChannel()
    connections[connection.peer]?.openingChannels.append(id)
    effects.commands.append(.channels(.open(id, connection.peer, ChannelRequest(spsm: psm))))
  }

  mutating func channelOpened(_ channel: OpenedChannel, into effects: inout CentralEffects) {
    guard let id = channel.request else { return }
    guard let connection = opening(id), let object = devices[connection.address]?.object.object else {
      return effects.calls.append(.unusedChannel(channel))
    }
    connections[connection.peer]?.openingChannels.removeAll { $0 == id }
    effects.calls.append(.peripheral(object, .openedChannel(channel)))
  }

  mutating func channelNotOpened(_ id: OpenChannelID, _ error: HostError, into effects: inout CentralEffects) {
    guard let connection = opening(id) else { return }
    // The end of the link follows, with its reason, which is the error of the request.
    if case .notConnected = error { return }
    connections[connection.peer]?.openingChannels.removeAll { $0 == id }
    guard let object = devices[connection.address]?.object.object else { return }
    let shown = Self.error(opening: error, bondLoss: connection.bondLoss)
    effects.calls.append(.peripheral(object, .didNotOpenChannel(shown)))
  }

  private func opening(_ id: OpenChannelID) -> PeripheralConnection? {
    connections.values.first { $0.openingChannels.contains(id) }
  }

  /// The error of a channel, with CoreBluetooth's codes.
  private static func error(opening error: HostError, bondLoss: BondLoss?) -> any Error {
    guard case .channelRefused(let result) = error else { return CBError(error) }
    if let bondLoss {
      return CBError(
        bondLoss.isOfPeer ? .peerRemovedPairingInformation : .encryptionTimedOut, "\(bondLoss)")
    }
    let text = "\(error)"
    func insufficient(_ code: CBATTError.Code) -> CBATTError {
      CBATTError(code, userInfo: [NSLocalizedDescriptionKey: text])
    }
    switch result {
    case .insufficientAuthentication: return insufficient(.insufficientAuthentication)
    case .insufficientAuthorization: return insufficient(.insufficientAuthorization)
    case .encryptionKeySizeTooShort: return insufficient(.insufficientEncryptionKeySize)
    case .insufficientEncryption: return insufficient(.insufficientEncryption)
    case .spsmNotSupported: return CBError(.operationNotSupported, text)
    case .noResources: return CBError(.outOfSpace, text)
    default: return CBError(.unknown, text)
    }
  }
}
