import BLEAdapter
import BLEGATT
import BLEHost
import BLEWire
import Foundation
import Synchronization

/// ```
///   updateValue ─► target: the subscribers ─► recipients: those with room, and none while one has to be waited for
///                                        └──► appendUpdate: one command, which the host's `updatesFinished` counts
/// ```
extension CBPeripheralManager {
  /// Sends a value to those of `centrals` that are subscribed; nil is all.
  ///
  /// - Returns: false if the application has to wait.
  final func send(_ value: Data, for characteristic: CBMutableCharacteristic, to centrals: [CBCentral]?) -> Bool {
    let outcome = client.commands.batch { batch in
      machine.withLock { role -> UpdateOutcome in
        guard let target = role.target(characteristic, of: centrals) else {
          return role.attributeIDs[ObjectIdentifier(characteristic)] == nil ? .unpublished : .sent
        }
        guard let peers = role.recipients(of: target.peers) else { return .full }
        // Under the lock, so that values are sent in the order of the calls.
        batch.appendUpdate(of: target.attribute, octets: value.span.extracting(first: target.length), to: peers)
        return .sent
      }
    }
    if outcome == .unpublished {
      misuse("updateValue: \(characteristic) is not published, so nobody is subscribed to it")
    }
    return outcome != .full
  }

  private enum UpdateOutcome: Sendable { case sent, full, unpublished }

  /// Values have left; on the thread of the host.
  final func finishUpdates(_ events: [HostEvent]) {
    let isReady = machine.withLock { role in
      var isReady = false
      let events = events.span
      for index in events.indices {
        guard case .server(let peer, let event) = events[index], let count = event.finishedUpdates else { continue }
        isReady = role.updatesFinished(count, for: peer) || isReady
      }
      if isReady { append(.peripheral(.isReady)) }
      return isReady
    }
    if isReady { scheduleCalls() }
  }
}

extension PeripheralRole {
  /// The subscribers of a characteristic.
  struct UpdateTarget: Sendable {
    var object: ObjectIdentifier
    var attribute: AttributeID
    var peers: [LinkID]
    /// The longest value that one of the links can send; each link cuts it to its own limit.
    var length: Int
  }

  /// - Parameter centrals: nil is all. They are remembered for the next value.
  /// - Returns: nil if none is subscribed.
  mutating func target(_ characteristic: CBMutableCharacteristic, of centrals: [CBCentral]?) -> UpdateTarget? {
    let object = ObjectIdentifier(characteristic)
    if centrals == nil, let target = updateTarget, target.object == object { return target }
    guard let attribute = attributeIDs[object] else { return nil }
    var target = UpdateTarget(object: object, attribute: attribute, peers: [], length: 0)
    for recipient in characteristic.subscribedCentrals ?? [] where recipient.isConnected {
      if let centrals, !centrals.contains(where: { $0 == recipient }) { continue }
      target.peers.append(recipient.peer)
      target.length = max(target.length, recipient.maximumUpdateValueLength)
    }
    if target.peers.isEmpty { return nil }
    if centrals == nil { updateTarget = target }
    return target
  }

  /// Those of these centrals that get a value now.
  ///
  /// - Returns: nil if the application has to wait for one of them. It is informed when there is room.
  mutating func recipients(of peers: [LinkID]) -> [LinkID]? {
    switch updateWindows.room(of: peers) {
    case .all:
      updateWindows.begin(peers)
      return peers
    case .none where !updateWindows.passOver(peers):
      for peer in peers { awaitedRoom.insert(peer) }
      return nil
    case .some, .none:
      let open = peers.filter { !updateWindows.isFull($0) }
      updateWindows.begin(open)
      return open
    }
  }

  /// Values have left for a central. The delegate is called when a quarter of the room is free again: the application
  /// then hands over several values at a time.
  ///
  /// - Returns: whether it is to be called now.
  mutating func updatesFinished(_ count: Int, for peer: LinkID) -> Bool {
    guard updateWindows.finished(count, on: peer) else { return false }
    guard !awaitedRoom.isEmpty, awaitedRoom.contains(peer), updateWindows.canResume(peer) else { return false }
    for other in awaitedRoom where !updateWindows.canResume(other) && !updateWindows.isLate(other) {
      if !updateWindows.isIdle(peer) { return false }
      // One central has taken all its values, and this one not even a quarter of its own.
      updateWindows.setLate(other)
    }
    awaitedRoom.removeAll(keepingCapacity: true)
    return true
  }

  /// The link of a central has ended: nothing waits for it.
  mutating func forgetUpdates(to peer: LinkID, into effects: inout PeripheralEffects) {
    updateTarget = nil
    updateWindows.remove(peer)
    guard awaitedRoom.contains(peer) else { return }
    awaitedRoom = []
    effects.calls.append(.isReady)
  }

  /// The subscribers differ from those at the time when the application had to wait. It has to try again, because a new
  /// subscriber does not wait for one that takes nothing.
  mutating func subscribersChanged(into effects: inout PeripheralEffects) {
    guard !awaitedRoom.isEmpty else { return }
    awaitedRoom = []
    effects.calls.append(.isReady)
  }
}

extension PeripheralEffects {
  /// Appends the commands, the last one with the value that was read, and those that the answers to refused ones cause.
  mutating func appendCommands(of role: inout PeripheralRole, to batch: inout CommandBatch) {
    let last = commands.count - 1
    var index = 0
    while index < commands.count {
      let command = commands[index]
      let isTaken =
        if index == last, let answered { answered.withOctets { batch.append(command, octets: $0) } } else {
          batch.append(command)
        }
      if !isTaken, let refusal = command.refusal { role.receive(refusal, into: &self) }
      index += 1
    }
  }
}
