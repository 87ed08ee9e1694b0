import BLEAdapter
public import BLEHost
public import BLEOptions
public import BLEWire

extension Adapter {
  /// Connects to a device.
  ///
  /// With a bond the link is encrypted before the call returns. The stack exchanges the ATT_MTU.
  ///
  /// - Parameters:
  ///   - address: the address of the device, for example from a ``ScanResult``.
  ///   - timeout: the time after which the attempt ends, of any size: at once if it is not above zero; nil tries
  ///     without a limit.
  ///   - timing: the timing of the new link.
  ///   - phys: the PHYs on which the controller scans for the device and on which the link may begin: those of
  ///     ``ScanResult/report`` for a device with extended advertising. One of them is LE 1M or LE Coded, which have
  ///     primary channels.
  /// - Returns: the device; the link stays until ``RemoteDevice/disconnect()``, or until the adapter is closed.
  public func connect(
    to address: DeviceAddress, timeout: Duration? = .seconds(30),
    timing: ConnectionParameterRequest = ConnectionParameterRequest(), phys: Set<LEPHY> = [.le1M]
  ) async throws(BLEError) -> RemoteDevice {
    guard let parameters = timing.parameters else {
      throw BLEError(.invalidArgument, "\(timing) is outside the limits of ConnectionParameterRequest")
    }
    let id = HostIDs.connect()
    return try await session.wait(
      for: .connection(id), timeout: timeout, missing: "no connection to \(address)"
    ) { state, actions throws(BLEError) in
      try state.requirePower()
      actions.commands.append(.connect(id, address, parameters, InitiatingParameters(phys: phys.phys)))
      return nil
    } abandon: { state, actions in
      state.abandonedConnects.insert(id)
      actions.commands.append(.cancelConnect(id))
    }
  }

  /// Connects, and disconnects at the end of `body`, however it ends.
  ///
  /// ```swift
  /// let level = try await adapter.withConnection(to: address) { device in
  ///   try await device.read("2A19", in: "180F", as: UInt8.self)
  /// }
  /// ```
  public func withConnection<Value: Sendable>(
    to address: DeviceAddress, timeout: Duration? = .seconds(30),
    _ body: @Sendable (RemoteDevice) async throws -> Value
  ) async throws -> Value {
    let device = try await connect(to: address, timeout: timeout)
    let result: Result<Value, any Error>
    do {
      result = .success(try await body(device))
    } catch {
      result = .failure(error)
    }
    // In a task of its own: a task that was cancelled cannot wait.
    await Task { await device.disconnect() }.value
    return try result.get()
  }
}
