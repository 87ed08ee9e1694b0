import BLEEngine
import BLEGATT
import BLEHost
import Foundation
import Synchronization

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
    guard let target = target(characteristic, attribute, of: centrals) else { return .sent }
    guard updateCount < limits.pendingUpdates else { return .full }
    updateCount += 1
    effects.value = value.count > target.length ? value.prefix(target.length) : value
    effects.commands.append(.update(HostNames.update(), target.attribute, [], to: target.peers))
    return .sent
  }

  /// The subscribers of a characteristic.
  struct UpdateTarget: Sendable {
    var object: ObjectIdentifier
    var attribute: AttributeID
    /// Nil is everyone.
    var peers: [PeerID]?
    /// What the link with the longest values carries; each link cuts further to what it holds itself.
    var length: Int
  }

  /// - Returns: nil where nobody is subscribed.
  private mutating func target(
    _ characteristic: CBMutableCharacteristic, _ attribute: AttributeID, of centrals: [CBCentral]?
  ) -> UpdateTarget? {
    var length: Int?
    var peers: [PeerID] = []
    for recipient in characteristic.subscribedCentrals ?? [] where recipient.isConnected {
      if let centrals {
        guard centrals.contains(where: { $0 == recipient }) else { continue }
        peers.append(recipient.peer)
      }
      length = max(length ?? 0, recipient.maximumUpdateValueLength)
    }
    guard let length else { return nil }
    let target = UpdateTarget(
      object: ObjectIdentifier(characteristic), attribute: attribute, peers: centrals == nil ? nil : peers,
      length: length)
    if centrals == nil { updateTarget = target }
    return target
  }

  /// Values have left, or their links have gone. The delegate is called when a quarter of the room is free again: the application then
  /// hands over several values at a time.
  ///
  /// - Returns: whether it is to be called now.
  mutating func updatesFinished(_ count: Int) -> Bool {
    updateCount = max(0, updateCount - count)
    let free = limits.pendingUpdates - updateCount
    guard owesReady, free >= max(1, limits.pendingUpdates / 4) else { return false }
    owesReady = false
    return true
  }
}

extension CBPeripheralManager {
  /// Hands a value of the characteristic over whose value was sent last, as nearly always: its subscribers are known.
  ///
  /// - Returns: whether it was taken; nil where it is another one.
  final func updateAgain(_ value: Data, for characteristic: CBMutableCharacteristic) -> Bool? {
    let (isTaken, wakes) = machine.withLock { role -> (Bool?, Bool) in
      guard let target = role.updateTarget, target.object == ObjectIdentifier(characteristic) else {
        return (nil, false)
      }
      guard role.updateCount < role.limits.pendingUpdates else {
        role.owesReady = true
        return (false, false)
      }
      role.updateCount += 1
      // Under the lock, so that values leave in the order of the calls; the host is woken after it.
      let octets = value.span.extracting(first: target.length)
      return (true, client.enqueueUpdate(of: target.attribute, octets: octets))
    }
    if wakes { client.wake() }
    return isTaken
  }

  /// Values have left; on the thread of the host.
  final func finishUpdates(_ count: Int) {
    let isReady = machine.withLock { role in
      guard role.updatesFinished(count) else { return false }
      append(.peripheral(.isReady))
      return true
    }
    if isReady { scheduleCalls() }
  }
}

extension PeripheralEffects {
  /// Posts the commands, for a caller that holds the lock of the role.
  ///
  /// - Returns: whether the host has to be woken after the lock.
  func post(to client: AdapterClient) -> Bool {
    let last = commands.count - 1
    var wakesHost = false
    for index in commands.indices {
      let wakes =
        if index == last, let value {
          client.enqueue(commands[index], octets: value.span)
        } else {
          client.enqueue(commands[index])
        }
      wakesHost = wakesHost || wakes
    }
    return wakesHost
  }
}

extension Data {
  /// The first octets, copied as a block: a sequence's way, octet by octet, takes several times as long.
  func octets(atMost length: Int = .max) -> [UInt8] { withUnsafeBytes { [UInt8]($0.prefix(length)) } }
}
