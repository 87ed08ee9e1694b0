import BLEEngine
import BLEGATT
import BLEHost
import Foundation

/// Tasks that wait: each is answered once, by the result, by its timeout or by its cancellation.
extension CentralState {
  mutating func wakePowerWaiters(into effects: inout CentralEffects) {
    effects.calls += powerWaiters.map { .resume($0, nil) }
    powerWaiters = []
  }

  /// Connects for a task.
  mutating func connect(
    _ peripheral: CBPeripheral, for waiter: CentralWaiter, into effects: inout CentralEffects
  ) -> CBError? {
    guard let device = device(of: peripheral, for: "connect", into: &effects) else {
      return CBError(.unknownDevice, "not a valid peripheral of this manager: find or retrieve it again")
    }
    if case .connected = device.phase {
      effects.calls.append(.resume(waiter, nil))
    } else {
      devices[device.address]?.connectWaiters.append(waiter)
      connect(peripheral, ConnectOptions(), into: &effects)
    }
    return nil
  }

  /// Disconnects for a task.
  mutating func disconnect(
    _ peripheral: CBPeripheral, for waiter: CentralWaiter, into effects: inout CentralEffects
  ) -> CBError? {
    guard let device = device(of: peripheral, for: "disconnect", into: &effects) else {
      return CBError(.unknownDevice, "not a valid peripheral of this manager: find or retrieve it again")
    }
    if device.phase == .disconnected {
      effects.calls.append(.resume(waiter, nil))
    } else {
      devices[device.address]?.disconnectWaiters.append(waiter)
      cancel(peripheral, into: &effects)
    }
    return nil
  }

  /// A task waits no longer.
  ///
  /// - Returns: the waiter, if its answer had not come.
  mutating func takeWaiter(_ id: UInt64, into effects: inout CentralEffects) -> CentralWaiter? {
    if let index = powerWaiters.firstIndex(where: { $0.id == id }) { return powerWaiters.remove(at: index) }
    for address in devices.all {
      guard let device = devices[address] else { continue }
      if let index = device.connectWaiters.firstIndex(where: { $0.id == id }) {
        let waiter = devices[address]?.connectWaiters.remove(at: index)
        // The last task that wanted the link has given up, and so has the connection.
        if device.connectWaiters.count == 1, let object = device.object.object { cancel(object, into: &effects) }
        return waiter
      }
      if let index = device.disconnectWaiters.firstIndex(where: { $0.id == id }) {
        return devices[address]?.disconnectWaiters.remove(at: index)
      }
    }
    for (peer, session) in sessions {
      for (index, operation) in session.pending.enumerated() {
        guard case .waiter(let waiter) = operation.answerTo, waiter.id == id else { continue }
        sessions[peer]?.pending[index].answerTo = .nobody
        return waiter
      }
      for (index, read) in session.rssiReads.enumerated() {
        guard case .waiter(let waiter) = read, waiter.id == id else { continue }
        sessions[peer]?.rssiReads[index] = .nobody
        return waiter
      }
    }
    return nil
  }
}
