public import BLEEngine
import Foundation

/// A device that was found, with what it said.
public struct DiscoveredPeripheral: Sendable {
  public let peripheral: CBPeripheral
  public let device: DiscoveredDevice
}

/// The same from tasks, which CoreBluetooth has not. The delegate hears of everything all the same.
extension CBCentralManager {
  /// Waits until the adapter is powered on.
  ///
  /// - Throws: ``CBError/connectionTimeout`` when `timeout` has passed, with the adapter's state and its reason.
  public final func waitUntilPoweredOn(timeout: Duration? = nil) async throws {
    try await wait(timeout: timeout, for: "the adapter to be powered on") { [self] state, effects, waiter in
      if self.state == .poweredOn {
        effects.calls.append(.resume(waiter, nil))
      } else {
        state.powerWaiters.append(waiter)
      }
      return nil
    }
  }

  /// Scans for as long as the sequence is read.
  ///
  /// ```swift
  /// func nearest(_ manager: CBCentralManager) async -> CBPeripheral? {
  ///   for await found in manager.discoveries(withServices: ["180D"]) { return found.peripheral }
  ///   return nil
  /// }
  /// ```
  public final func discoveries(
    withServices serviceUUIDs: [CBUUID]? = nil, allowDuplicates: Bool = false
  ) -> AsyncStream<DiscoveredPeripheral> {
    let stream = makeDiscoveryStream()
    scanForPeripherals(
      withServices: serviceUUIDs, options: [CBCentralManagerScanOptionAllowDuplicatesKey: allowDuplicates])
    return stream
  }

  /// Connects; gives it up when `timeout` has passed or the task is cancelled.
  ///
  /// - Throws: ``CBError``, which says why no link came up.
  public final func connect(_ peripheral: CBPeripheral, timeout: Duration?) async throws {
    try await wait(timeout: timeout, for: "a connection to \(peripheral)") { state, effects, waiter in
      state.connect(peripheral, for: waiter, into: &effects)
    }
  }

  /// Ends a link and waits until it has ended.
  public final func disconnect(_ peripheral: CBPeripheral, timeout: Duration? = nil) async throws {
    try await wait(timeout: timeout, for: "the end of the connection to \(peripheral)") { state, effects, waiter in
      state.disconnect(peripheral, for: waiter, into: &effects)
    }
  }

  /// Lets the machine begin something for a task and waits for its end.
  ///
  /// - Parameter begin: returns an error where nothing was begun; nobody answers the waiter then.
  final func wait(
    timeout: Duration?, for what: @autoclosure @escaping @Sendable () -> String,
    _ begin: @escaping @Sendable (inout CentralState, inout CentralEffects, CentralWaiter) -> CBError?
  ) async throws {
    let id = HostNames.waiter()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
        let refusal = run { begin(&$0, &$1, CentralWaiter(id: id, continuation: continuation)) }
        if let refusal { return continuation.resume(throwing: refusal) }
        if let timeout { giveUp(id, after: timeout, what) }
      }
    } onCancel: {
      run { $0.takeWaiter(id, into: &$1) }?.continuation.resume(throwing: CancellationError())
    }
  }

  private func giveUp(_ id: UInt64, after timeout: Duration, _ what: @escaping @Sendable () -> String) {
    let (seconds, attoseconds) = timeout.components
    let time = DispatchTime.now() + .seconds(Int(seconds)) + .nanoseconds(Int(attoseconds / 1_000_000_000))
    client.queue.asyncAfter(deadline: time) { [weak self] in
      guard let self, let waiter = run({ $0.takeWaiter(id, into: &$1) }) else { return }
      let reason = stateReason.map { "; the adapter: \($0)" } ?? ""
      waiter.continuation.resume(
        throwing: CBError(
          .connectionTimeout, "waited \(timeout) for \(what()) in vain (state \(state)\(reason))"))
    }
  }
}
