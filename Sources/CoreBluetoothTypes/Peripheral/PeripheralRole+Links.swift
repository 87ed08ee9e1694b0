import BLEAdapter
import BLEGATT
import BLEHCI
import BLEHost
import BLEWire
import Foundation

extension PeripheralRole {
  mutating func connected(_ connection: ConnectedLink, into effects: inout PeripheralEffects) {
    guard links[connection.peer] == nil else { return }
    updateTarget = nil
    let central = CBCentral(identifier: freeIdentifier(of: connection.address), peer: connection.peer)
    // A device that we connected to may use our services too, but it did not come as a central.
    let isCentral = connection.role == .peripheral
    links[connection.peer] = Link(central: central, isCentral: isCentral)
    if isCentral { effects.calls.append(.connected(central)) }
  }

  /// The identifier of a device, or a new one where another link has that identifier.
  private func freeIdentifier(of address: DeviceAddress) -> UUID {
    let identifier = UUID(address)
    return links.values.contains { $0.central.identifier == identifier } ? UUID() : identifier
  }

  /// The device on a link has proven that it is bonded: the central and its subscriptions are that device's from now
  /// on.
  mutating func identified(_ peer: LinkID, _ identity: DeviceAddress, into effects: inout PeripheralEffects) {
    guard let link = links[peer] else { return }
    updateTarget = nil
    let identifier = UUID(identity)
    guard identifier != link.central.identifier else { return }
    let central = CBCentral(identifier: identifier, replacing: link.central)
    let subscribed = link.subscriptions.compactMap { attributes[$0] as? CBMutableCharacteristic }
    for characteristic in subscribed where characteristic.unsubscribe(link.central) {
      effects.calls.append(.didUnsubscribe(link.central, characteristic))
    }
    link.central.linkEnded()
    links[peer]?.central = central
    if link.isCentral { effects.calls.append(.identified(link.central, central)) }
    for characteristic in subscribed where characteristic.subscribe(central) {
      effects.calls.append(.didSubscribe(central, characteristic))
    }
  }

  /// Each subscription ends with its own call, then the link.
  mutating func disconnected(_ peer: LinkID, _ reason: DisconnectReason, into effects: inout PeripheralEffects) {
    guard let link = links.removeValue(forKey: peer) else { return }
    link.central.linkEnded()
    pending.removeAll { $0.key.peer == peer }
    for attribute in link.subscriptions {
      guard let characteristic = attributes[attribute] as? CBMutableCharacteristic,
        characteristic.unsubscribe(link.central)
      else { continue }
      effects.calls.append(.didUnsubscribe(link.central, characteristic))
    }
    if link.isCentral { effects.calls.append(.disconnected(link.central, reason)) }
    forgetUpdates(to: peer, into: &effects)
  }

  var connectedCentrals: [CBCentral] {
    links.values.filter(\.isCentral).map(\.central)
  }

  mutating func subscriptionChanged(
    _ peer: LinkID, _ attribute: AttributeID, _ subscription: Subscription, into effects: inout PeripheralEffects
  ) {
    guard let central = links[peer]?.central,
      let characteristic = attributes[attribute] as? CBMutableCharacteristic
    else { return }
    updateTarget = nil
    if subscription.isEmpty {
      links[peer]?.subscriptions.removeAll { $0 == attribute }
      guard characteristic.unsubscribe(central) else { return }
      effects.calls.append(.didUnsubscribe(central, characteristic))
    } else {
      // A change from notifications to indications is not a new subscription.
      guard characteristic.subscribe(central) else { return }
      links[peer]?.subscriptions.append(attribute)
      effects.calls.append(.didSubscribe(central, characteristic))
    }
    subscribersChanged(into: &effects)
  }

  mutating func connectionUpdated(
    _ peer: LinkID, _ result: Result<LinkTiming, HostError>, into effects: inout PeripheralEffects
  ) {
    guard let link = links[peer], link.isCentral else { return }
    switch result {
    case .success(let timing):
      effects.calls.append(.connectionUpdated(link.central, ConnectionTiming(timing), nil))
    case .failure(let error): effects.calls.append(.connectionUpdated(link.central, nil, CBError(error)))
    }
  }

  /// The parameters are not allowed; the delegate receives an error.
  func refuseConnectionUpdate(
    _ name: StaticString, of central: CBCentral, _ error: CBError, into effects: inout PeripheralEffects
  ) {
    guard links[central.peer]?.central === central else {
      return effects.misuses.append("\(name): \(central) is not connected")
    }
    effects.calls.append(.connectionUpdated(central, nil, error))
  }

  mutating func rssi(_ peer: LinkID, _ result: Result<Int8, HostError>, into effects: inout PeripheralEffects) {
    guard let link = links[peer] else { return }
    switch result {
    case .success(let rssi): effects.calls.append(.rssi(link.central, Int(rssi), nil))
    case .failure(let error): effects.calls.append(.rssi(link.central, nil, CBError(error)))
    }
  }

  func phyUpdated(_ peer: LinkID, _ result: Result<ConnectionPHY, HostError>, into effects: inout PeripheralEffects) {
    guard let link = links[peer], link.isCentral else { return }
    switch result {
    case .success(let phy): effects.calls.append(.phy(link.central, phy, nil))
    case .failure(let error): effects.calls.append(.phy(link.central, nil, CBError(error)))
    }
  }

  /// A command about one link; a link that has ended is logged.
  mutating func command(
    _ name: StaticString, _ central: CBCentral, _ command: HostCommand.Link,
    into effects: inout PeripheralEffects
  ) {
    guard links[central.peer]?.central === central else {
      effects.misuses.append("\(name): \(central) is not connected")
      return
    }
    effects.commands.append(.link(central.peer, command))
  }
}
