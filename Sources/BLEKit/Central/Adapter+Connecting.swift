public import BLEAdapter
public import BLEHost
import BLEWire

extension Adapter {
  /// Connects to a device.
  ///
  /// ```swift
  /// let thermometer = try await adapter.connect(to: address)
  /// let strap = try await adapter.connect(to: .named("Polar H10"), timeout: .seconds(60))
  /// ```
  ///
  /// With a bond the link is encrypted before the call returns. The stack exchanges the ATT_MTU.
  ///
  /// A failed attempt is not the end: one that fails because the link is not established
  /// (``DisconnectReason/connectionFailedToBeEstablished``) is repeated until the timeout, also if the link seemed to be
  /// up before the device had sent anything. With a ``DeviceSelector`` the search is repeated as well, so that a device
  /// that uses another private address meanwhile is found again.
  ///
  /// - Parameters:
  ///   - target: the address of the device, a ``ScanResult``, or a condition (``ConnectionTarget``).
  ///   - timeout: the time for the search and all attempts, of any size: at once if it is not above zero; nil tries
  ///     without a limit.
  ///   - timing: the timing of the new link.
  ///   - phys: the PHYs on which the controller scans for the device and on which the link may begin. One of them is LE
  ///     1M or LE Coded, which have primary channels. Nil for those on which the device was found, otherwise LE 1M.
  /// - Returns: the device; the link stays until ``RemoteDevice/disconnect()``, or until the adapter is closed.
  /// - Throws: ``BLEError/Kind/notFound`` if a search has found no device, ``BLEError/Kind/timedOut`` with the number of
  ///   attempts if no link was established.
  public func connect(
    to target: some ConnectionTarget, timeout: Duration? = .seconds(30),
    timing: ConnectionParameterRequest = ConnectionParameterRequest(), phys: Set<LEPHY>? = nil
  ) async throws(BLEError) -> RemoteDevice {
    try await connect(to: target, timeout: timeout, timing: timing, phys: phys, isBare: false)
  }

  /// Connects to a device as ``connect(to:timeout:timing:phys:)`` does, on a link on which the stack sends nothing of
  /// its own: neither an Exchange MTU Request nor the encryption with the key of a bond. No answer has proven then that
  /// the link is established: it may end with ``DisconnectReason/connectionFailedToBeEstablished``.
  package func connectBare(
    to target: some ConnectionTarget, timeout: Duration? = .seconds(30)
  ) async throws(BLEError) -> RemoteDevice {
    try await connect(to: target, timeout: timeout, timing: ConnectionParameterRequest(), phys: nil, isBare: true)
  }

  private func connect(
    to target: some ConnectionTarget, timeout: Duration?, timing: ConnectionParameterRequest, phys: Set<LEPHY>?,
    isBare: Bool
  ) async throws(BLEError) -> RemoteDevice {
    var attempts = ConnectionAttempts(within: timeout, clock: session.clock)
    while true {
      let address: DeviceAddress
      let advertised: Set<LEPHY>?
      let name: String?
      let limit: Duration?
      let isSearch: Bool
      switch target.connectionRoute.kind {
      case .address(let known, let phys, let knownName):
        (address, advertised, name, limit, isSearch) = (known, phys, knownName, attempts.remaining, false)
      case .search(let selector):
        let found: ScanResult
        do throws(BLEError) {
          found = try await search(selector, isToConnect: true, within: timeout, remaining: attempts.remaining)
        } catch { throw attempts.explained(error) }
        (address, advertised, name, isSearch) = (found.address, found.report.phys, found.name, true)
        limit = attempts.limit(for: address)
      }
      do throws(BLEError) {
        let device = try await establish(
          address, within: limit, timing, phys ?? advertised ?? [.le1M], isBare: isBare)
        if let name {
          session.run { state, _ in state.links[device.peer]?.name = name }
          session.client.hub?.note(.advertised(name, by: device.peer))
        }
        return device
      } catch {
        try await attempts.failed(error, "no connection to \(address)", isAnotherPossible: isSearch)
      }
    }
  }

  /// Connects, and disconnects at the end of `body`, however it ends.
  ///
  /// ```swift
  /// let level = try await adapter.withConnection(to: .named("Thermometer")) { device in
  ///   try await device.read("2A19", in: "180F", as: UInt8.self)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - target: the address of the device, a ``ScanResult``, or a condition (``ConnectionTarget``).
  ///   - timeout: the time for the search and all attempts, as in ``connect(to:timeout:timing:phys:)``; nil tries
  ///     without a limit.
  ///   - body: gets the device.
  public func withConnection<Value: Sendable>(
    to target: some ConnectionTarget, timeout: Duration? = .seconds(30),
    _ body: @Sendable (RemoteDevice) async throws -> Value
  ) async throws -> Value {
    let device = try await connect(to: target, timeout: timeout)
    let result: Result<Value, any Error>
    do {
      result = .success(try await body(device))
    } catch {
      result = .failure(error)
    }
    // In a task of its own: a task that was cancelled cannot wait.
    await Task(executorPreference: session.clock.executor) { await device.disconnect() }.value
    return try result.get()
  }

  /// One attempt to connect.
  ///
  /// - Parameter limit: the time after which it ends with ``BLEError/Kind/timedOut``; nil for no limit.
  private func establish(
    _ address: DeviceAddress, within limit: Duration?, _ timing: ConnectionParameterRequest, _ phys: Set<LEPHY>,
    isBare: Bool
  ) async throws(BLEError) -> RemoteDevice {
    guard let parameters = timing.parameters else {
      throw BLEError(.invalidArgument, "\(timing) is outside the limits of ConnectionParameterRequest")
    }
    let id = HostIDs.connect()
    var initiating = InitiatingParameters(phys: phys.phys)
    initiating.isBare = isBare
    let device = try await session.wait(
      for: .connection(id), timeout: limit, missing: "no connection to \(address)"
    ) { [initiating] state, actions throws(BLEError) in
      try state.requirePower()
      actions.commands.append(.initiating(.connect(id, address, parameters, initiating)))
      return nil
    } abandon: { state, actions in
      state.abandonedConnects.insert(id)
      actions.commands.append(.initiating(.cancel(id)))
    }
    if !isBare { try await session.waitUntilProven(device) }
    return device
  }
}

extension AdapterSession {
  /// How long a new link may be without a proof, at least: a controller ends a link after six connection intervals
  /// without a packet of the device (Vol 6, Part B, 4.5.2), and reports it a little later.
  private static let proofTimeout = Duration.seconds(2)

  /// Waits until something that a new link has received proves that it is established, or until it would have ended
  /// otherwise. The first request of the stack, Exchange MTU, has an answer within a few connection intervals.
  ///
  /// - Throws: the reason why the link has ended.
  func waitUntilProven(_ device: RemoteDevice) async throws(BLEError) {
    let peer = device.peer
    let patience = max(Self.proofTimeout, (device.timing?.interval ?? .zero) * 7)
    do throws(BLEError) {
      try await wait(for: .linkProof(peer), timeout: patience) { state, _ throws(BLEError) in
        try state.requireLink(peer)
        return state.links[peer]?.isProven == true ? () : nil
      }
    } catch let error where error.kind == .timedOut && error.disconnectReason == nil {
      // No error: the device answers late, or not at all.
    } catch {
      if error.kind == .cancelled { release(device) }
      throw error
    }
  }
}
