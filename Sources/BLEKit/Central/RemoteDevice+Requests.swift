package import BLEATT
import BLEAdapter
import BLEGATT
import BLEHost

/// PDUs of ATT as they are, for a link of ``Adapter/connectBare(to:timeout:)``.
extension RemoteDevice {
  /// Sends a request, and waits for the response to it. The link is not secured for it.
  ///
  /// - Returns: the response from the opcode on; an Error Response is one, too.
  /// - Throws: ``BLEError/Kind/timedOut`` without a response in 30 s, ``BLEError/Kind/invalidResponse`` for one that
  ///   answers another request.
  package func respond(to request: [UInt8]) async throws(BLEError) -> [UInt8] {
    guard case .value(let response) = try await perform(.request(request)) else { return [] }
    return response
  }

  /// Sends a Write Command, and returns when it was handed to the controller.
  package func send(_ command: WriteCommand) async throws(BLEError) {
    _ = try await perform(.writeWithoutResponse(command.handle, Array(command.value)))
  }

  private func perform(_ kind: GATTClient.Operation.Kind) async throws(BLEError) -> GATTClient.Outcome {
    let id = HostIDs.operation()
    return try await session.wait(for: .operation(peer, id)) { [peer] state, actions throws(BLEError) in
      try state.requireLink(peer)
      actions.commands.append(.link(peer, .inspect(GATTClient.Operation(id: id, kind))))
      return nil
    }
  }
}

extension Adapter {
  /// The clock of the waits of this adapter: that of the system, or one that a test controls.
  package var clock: WaitClock { session.clock }
}
