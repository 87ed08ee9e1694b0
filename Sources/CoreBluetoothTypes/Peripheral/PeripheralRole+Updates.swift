import BLEAdapter
import BLEGATT
import BLEHost
import BLEWire
import Foundation
import Synchronization

extension PeripheralRole {
  enum UpdateOutcome: Equatable, Sendable { case sent, full }

  /// Sends a value to those of `centrals` that are subscribed; nil is all.
  mutating func update(
    _ value: Data, for characteristic: CBMutableCharacteristic, to centrals: [CBCentral]?,
    into effects: inout PeripheralEffects
  ) -> UpdateOutcome {
    guard let attribute = attributeIDs[ObjectIdentifier(characteristic)] else {
      effects.misuses.append("updateValue: \(characteristic) is not published, so nobody is subscribed to it")
      return .sent
    }
    guard let target = target(characteristic, attribute, of: centrals) else { return .sent }
    if centrals == nil { updateTarget = target }
    if room(of: target.peers) == .none, !passOver(target.peers) {
      awaitRoom(of: target.peers)
      return .full
    }
    let peers = target.peers.filter(hasRoom)
    begin(peers)
    effects.value = value.count > target.length ? value.prefix(target.length) : value
    effects.commands.append(.update(HostIDs.update(), attribute, [], to: peers))
    return .sent
  }

  /// The subscribers of a characteristic.
  struct UpdateTarget: Sendable {
    var object: ObjectIdentifier
    var attribute: AttributeID
    var peers: [LinkID]
    /// The longest value that one of the links can send; each link cuts it to its own limit.
    var length: Int
  }

  /// - Parameter centrals: nil is all.
  /// - Returns: nil if none is subscribed.
  private func target(
    _ characteristic: CBMutableCharacteristic, _ attribute: AttributeID, of centrals: [CBCentral]?
  ) -> UpdateTarget? {
    var target = UpdateTarget(object: ObjectIdentifier(characteristic), attribute: attribute, peers: [], length: 0)
    for recipient in characteristic.subscribedCentrals ?? [] where recipient.isConnected {
      if let centrals, !centrals.contains(where: { $0 == recipient }) { continue }
      target.peers.append(recipient.peer)
      target.length = max(target.length, recipient.maximumUpdateValueLength)
    }
    return target.peers.isEmpty ? nil : target
  }

  /// Whether centrals have room for a value.
  enum Room { case all, some, none }

  /// - Returns: `none` if one that is not late has no room, or if all are late and have none.
  func room(of peers: [LinkID]) -> Room {
    var (count, isAwaited) = (0, false)
    for peer in peers {
      if hasRoom(peer) { count += 1 } else if !late.contains(peer) { isAwaited = true }
    }
    return count == peers.count ? .all : count > 0 && !isAwaited ? .some : .none
  }

  private func hasRoom(_ peer: LinkID) -> Bool { (updateCounts[peer] ?? 0) < limits.pendingUpdates }

  /// A value is on its way to each of these centrals.
  mutating func begin(_ peers: [LinkID]) {
    for peer in peers { updateCounts[peer] = (updateCounts[peer] ?? 0) + 1 }
  }

  /// Stops waiting for centrals without room if another one has taken all of its values.
  ///
  /// - Returns: whether the others continue.
  mutating func passOver(_ peers: [LinkID]) -> Bool {
    guard peers.contains(where: { updateCounts[$0] ?? 0 == 0 }) else { return false }
    for peer in peers where !hasRoom(peer) { late.insert(peer) }
    return true
  }

  /// The application was informed that none of these centrals has room.
  mutating func awaitRoom(of peers: [LinkID]) { for peer in peers { awaitedRoom.insert(peer) } }

  /// Values have left for a central. The delegate is called when a quarter of the room is free again: the application
  /// then hands over several values at a time.
  ///
  /// - Returns: whether it is to be called now.
  mutating func updatesFinished(_ count: Int, for peer: LinkID) -> Bool {
    // A link that has ended since then no longer has a count.
    guard let before = updateCounts[peer] else { return false }
    let after = max(0, before - count)
    updateCounts[peer] = after
    if hasAQuarter(peer) { late.remove(peer) }
    guard !awaitedRoom.isEmpty, awaitedRoom.contains(peer), hasAQuarter(peer) else { return false }
    for other in awaitedRoom where !hasAQuarter(other) && !late.contains(other) {
      if after > 0 { return false }
      // One central has taken all its values, and this one not even a quarter of its own: it is late.
      late.insert(other)
    }
    awaitedRoom.removeAll(keepingCapacity: true)
    return true
  }

  /// Whether a quarter of the room of a central is free.
  private func hasAQuarter(_ peer: LinkID) -> Bool {
    limits.pendingUpdates - (updateCounts[peer] ?? 0) >= max(1, limits.pendingUpdates / 4)
  }

  /// The link of a central has ended: nothing waits for it.
  mutating func forgetUpdates(to peer: LinkID, into effects: inout PeripheralEffects) {
    updateTarget = nil
    updateCounts[peer] = nil
    late.remove(peer)
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

extension CBPeripheralManager {
  /// Sends a value of the same characteristic as the last one, the usual case: its subscribers are known.
  ///
  /// - Returns: whether it was taken; nil for another characteristic, and for a value for some of the subscribers only.
  final func updateAgain(_ value: Data, for characteristic: CBMutableCharacteristic) -> Bool? {
    client.commands.batch { batch in
      machine.withLock { role -> Bool? in
        guard let target = role.updateTarget, target.object == ObjectIdentifier(characteristic) else { return nil }
        switch role.room(of: target.peers) {
        case .all: role.begin(target.peers)
        case .some: return nil
        case .none:
          if role.passOver(target.peers) { return nil }
          role.awaitRoom(of: target.peers)
          return false
        }
        // Under the lock, so that values are sent in the order of the calls.
        let octets = value.span.extracting(first: target.length)
        batch.appendUpdate(of: target.attribute, octets: octets, to: target.peers)
        return true
      }
    }
  }

  /// Values have left; on the thread of the host.
  final func finishUpdates(_ events: [HostEvent]) {
    let isReady = machine.withLock { role in
      var isReady = false
      let events = events.span
      for index in events.indices {
        switch events[index] {
        case .updatesFinished(let peer, let count): isReady = role.updatesFinished(count, for: peer) || isReady
        case .updateFinished(let peer, _): isReady = role.updatesFinished(1, for: peer) || isReady
        default: break
        }
      }
      if isReady { append(.peripheral(.isReady)) }
      return isReady
    }
    if isReady { scheduleCalls() }
  }
}

extension PeripheralEffects {
  /// Appends the commands, the last one with the value.
  ///
  /// - Returns: the answers to commands that the host has not taken.
  func appendCommands(to batch: inout CommandBatch) -> [HostEvent] {
    var refusals: [HostEvent] = []
    let last = commands.count - 1
    for index in commands.indices {
      let isTaken =
        if index == last, let value {
          batch.append(commands[index], octets: value.span)
        } else {
          batch.append(commands[index])
        }
      if !isTaken, let refusal = commands[index].refusal { refusals.append(refusal) }
    }
    return refusals
  }
}

extension Data {
  /// The first octets, copied as a block: copying a sequence octet by octet takes several times as long.
  func octets(atMost length: Int = .max) -> [UInt8] { withUnsafeBytes { [UInt8]($0.prefix(length)) } }
}
