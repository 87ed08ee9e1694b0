import BLEEngine
import BLEHost
public import Foundation

/// Sending values from tasks.
extension CBPeripheralManager {
  /// As ``updateValue(_:for:onSubscribedCentrals:)``, but waits for room where that returns false.
  ///
  /// - Throws: ``CBError/notConnected`` when the adapter is not powered on, `CancellationError`, and
  ///   ``CBError/outOfSpace`` when 256 tasks wait already.
  public final func send(
    _ value: Data, for characteristic: CBMutableCharacteristic, to centrals: [CBCentral]? = nil
  ) async throws {
    while true {
      try Task.checkCancellation()
      guard state == .poweredOn else {
        throw CBError(.notConnected, "the adapter is not powered on: nobody is connected")
      }
      let outcome = run { $0.update(value, for: characteristic, to: centrals, into: &$1) }
      if outcome == .sent { return }
      try await room()
    }
  }

  private func room() async throws {
    let id = HostNames.update().rawValue
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let waiter = Waiter(id: id, continuation: continuation)
        let refusal: WaitOutcome = run { state, _ in
          if Task.isCancelled { return .cancelled }
          // Room may have come between the attempt and here.
          if state.updates.count < state.limits.pendingUpdates { return .goOn }
          return state.wait(waiter).map(WaitOutcome.refused) ?? .waits
        }
        switch refusal {
        case .waits: break
        case .goOn: continuation.resume()
        case .cancelled: continuation.resume(throwing: CancellationError())
        case .refused(let error): continuation.resume(throwing: error)
        }
      }
    } onCancel: {
      run { state, _ in state.takeWaiter(id) }?.continuation.resume(throwing: CancellationError())
    }
  }

  private enum WaitOutcome: Sendable {
    case waits, goOn, cancelled
    case refused(CBError)
  }
}
