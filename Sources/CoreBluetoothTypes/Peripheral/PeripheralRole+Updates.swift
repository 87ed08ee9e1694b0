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
    var recipients = characteristic.subscribedCentrals ?? []
    if let centrals { recipients.removeAll { recipient in !centrals.contains { $0 == recipient } } }
    recipients.removeAll { !$0.isConnected }
    guard !recipients.isEmpty else { return .sent }
    guard updates.count < limits.pendingUpdates else { return .full }
    // No link carries more than the longest of them; each cuts further to what it holds itself.
    let length = recipients.reduce(0) { max($0, $1.maximumUpdateValueLength) }
    let token = HostNames.update()
    updates.insert(token)
    effects.commands.append(
      .update(token, attribute, [UInt8](value.prefix(length)), to: centrals == nil ? nil : recipients.map(\.peer)))
    return .sent
  }
}
