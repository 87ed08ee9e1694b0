import BLEEngine
import BLEGATT
import BLEHost
import Foundation

extension PeripheralRole {
  enum UpdateOutcome: Equatable, Sendable { case sent, full }

  /// Hands a value over for those of `centrals` that are subscribed; nil is everyone.
  mutating func update(
    _ value: Data, for characteristic: CBMutableCharacteristic, to centrals: [CBCentral]?,
    into effects: inout PeripheralEffects
  ) -> UpdateOutcome {
    guard let attribute = attributeIDs[ObjectIdentifier(characteristic)] else {
      effects.misuses.append("updateValue: \(characteristic) is not published, so nobody is subscribed to it")
      return .sent
    }
    // No link carries more than the longest of them; each cuts further to what it holds itself.
    var length: Int?
    var peers: [PeerID] = []
    for recipient in characteristic.subscribedCentrals ?? [] where recipient.isConnected {
      if let centrals {
        guard centrals.contains(where: { $0 == recipient }) else { continue }
        peers.append(recipient.peer)
      }
      length = max(length ?? 0, recipient.maximumUpdateValueLength)
    }
    guard let length else { return .sent }
    guard updates.count < limits.pendingUpdates else { return .full }
    let token = HostNames.update()
    updates.append(token)
    effects.commands.append(
      .update(token, attribute, value.octets(atMost: length), to: centrals == nil ? nil : peers))
    return .sent
  }
}

extension Data {
  /// The first octets, copied as a block: a sequence's way, octet by octet, takes several times as long.
  func octets(atMost length: Int = .max) -> [UInt8] { withUnsafeBytes { [UInt8]($0.prefix(length)) } }
}
