import BLEAdapter
import BLEHCI
import BLEHost
import BLEWire

/// Reports of the controller about a link, for as long as the sequence is read: ``RemoteDevice/transmitPowerChanges()``
/// and ``RemoteDevice/pathLossZones(_:)``.
public struct ConnectionReports<Element: Sendable>: AsyncSequence, Sendable {
  public typealias Failure = BLEError

  let stream: AsyncThrowingStream<Element, any Error>

  public func makeAsyncIterator() -> Iterator { Iterator(reports: stream.makeAsyncIterator()) }

  /// The reports in the order in which they arrived.
  public struct Iterator: AsyncIteratorProtocol {
    var reports: AsyncThrowingStream<Element, any Error>.Iterator

    public mutating func next() async throws(BLEError) -> Element? {
      do { return try await reports.next() } catch { throw error as? BLEError ?? .cancelled }
    }
  }
}

/// The transmit power of the link and its path loss.
extension RemoteDevice {
  /// The transmit powers that were read or reported last; nil when the link has ended. A power is nil before
  /// ``readTransmitPower(timeout:)``, or a change while ``transmitPowerChanges()`` is read.
  public var transmitPower: ConnectionTransmitPower? {
    session.run { [peer] state, _ in
      state.links[peer].map { $0.powerStates.first?.current ?? ConnectionTransmitPower() }
    }
  }

  /// Reads the power at which this device sends on the link, and requests that of the other device (Vol 4, Part E,
  /// 7.8.117 and 7.8.118), each on the PHY in use. LE Coded counts as S=8.
  ///
  /// ```swift
  /// let power = try await device.readTransmitPower()
  /// let rssi = try await device.readRSSI()
  /// if let sent = power.remote { print("path loss: \(sent - rssi) dB") }
  /// ```
  ///
  /// - Parameter timeout: the time for each of the two; nil waits until the controllers have answered or given up,
  ///   after 42 s at the latest.
  /// - Returns: the powers; nil for one that is not known: the device has no LE Power Control (Bluetooth 5.2), or its
  ///   controller has not answered ours.
  /// - Throws: ``BLEError/Kind/unsupported`` if the controller can read neither: it has no LE Power Control. An adapter
  ///   that the kernel runs reads its own power alone.
  public func readTransmitPower(timeout: Duration? = .seconds(30)) async throws(BLEError) -> ConnectionTransmitPower {
    var lacking: BLEError?
    do throws(BLEError) {
      _ = try await power(of: .local, timeout)
    } catch {
      guard error.kind == .unsupported else { throw error }
      lacking = error
    }
    do throws(BLEError) {
      _ = try await power(of: .remote, timeout)
    } catch {
      guard error.kind == .unsupported, lacking == nil else { throw error }
    }
    return transmitPower ?? ConnectionTransmitPower()
  }

  private func power(of end: LinkPowerEnd, _ timeout: Duration?) async throws(BLEError) -> Int? {
    try await session.wait(
      for: .transmitPower(peer, end), timeout: timeout, missing: "no transmit power of the link to \(self)"
    ) { [peer] state, actions throws(BLEError) in
      try state.requireLink(peer)
      actions.commands.append(.link(peer, .power(.read(end))))
      return nil
    }
  }

  /// The transmit powers after each change of one of them (Vol 4, Part E, 7.7.65.33). The controller reports changes
  /// for as long as a sequence is read. A power that has not changed is as in ``transmitPower``.
  ///
  /// ```swift
  /// for try await power in try device.transmitPowerChanges() {
  ///   print("this device: \(power.local ?? 0) dBm, the other one: \(power.remote ?? 0) dBm")
  /// }
  /// ```
  ///
  /// The sequence ends with ``BLEError/Kind/unsupported`` if the controller has no LE Power Control, or the kernel runs
  /// the adapter, with ``BLEError/Kind/disconnected`` when the link ends, and with ``BLEError/Kind/limitExceeded`` for
  /// a reader that is 1024 changes behind.
  public func transmitPowerChanges() throws(BLEError) -> ConnectionReports<ConnectionTransmitPower> {
    try reports(in: \.changes, off: .report(false)) { state, _, _ throws(BLEError) in
      state.changes.isEmpty ? .report(true) : nil
    }
  }

  /// The zone of the path loss, at the beginning and whenever it has entered another one (Vol 6, Part B, 4.5.16; Vol 4,
  /// Part E, 7.8.119 and 7.8.120). The controller monitors the path loss for as long as a sequence is read.
  ///
  /// ```swift
  /// for try await loss in try device.pathLossZones(PathLossThresholds(low: 50, high: 75, hysteresis: 3)) {
  ///   print("\(loss.zone), \(loss.decibels) dB")
  /// }
  /// ```
  ///
  /// The sequence ends with ``BLEError/Kind/unsupported`` if the controller has no LE Path Loss Monitoring, if the
  /// device does not report its power, or if the kernel runs the adapter, with ``BLEError/Kind/disconnected`` when the
  /// link ends, and with ``BLEError/Kind/limitExceeded`` for a reader that is 1024 zones behind.
  ///
  /// - Throws: ``BLEError/Kind/invalidArgument`` for values that ``PathLossThresholds`` does not allow, and for others
  ///   than those of a sequence of the link that is read: a controller has one set of thresholds for each link. A
  ///   sequence of another program of the process with other thresholds ends this one with that error.
  public func pathLossZones(_ thresholds: PathLossThresholds) throws(BLEError) -> ConnectionReports<PathLoss> {
    guard let parameters = thresholds.parameters else {
      throw BLEError(.invalidArgument, "\(thresholds) is outside the limits of PathLossThresholds")
    }
    return try reports(in: \.zones, off: .monitorPathLoss(nil)) { state, first, actions throws(BLEError) in
      guard !state.zones.isEmpty else {
        (state.thresholds, state.zone) = (thresholds, nil)
        return .monitorPathLoss(parameters)
      }
      guard state.thresholds == thresholds else {
        throw BLEError(.invalidArgument, "the path loss of the link is monitored with other thresholds: use the same")
      }
      if let zone = state.zone { actions.later { first.yield(zone) } }
      return nil
    }
  }

  /// A sequence of reports that the controller sends while it is read.
  ///
  /// - Parameters:
  ///   - off: the command after the last of them.
  ///   - begin: the command before the first of them.
  private func reports<Element: Sendable>(
    in path: any WritableKeyPath<DevicePower, ValueStreams<Element>> & Sendable, off: LinkPowerCommand,
    begin:
      @Sendable (inout DevicePower, AsyncThrowingStream<Element, any Error>.Continuation, inout Actions)
      throws(BLEError) -> LinkPowerCommand?
  ) throws(BLEError) -> ConnectionReports<Element> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: Element.self, bufferingPolicy: .bufferingOldest(ValueStreams<Element>.limit))
    let id = HostIDs.next32()
    continuation.onTermination = { [weak session, peer] _ in
      session?.run { state, actions in
        var isLast = false
        state.links[peer]?.withPower { isLast = $0[keyPath: path].remove(id) }
        if isLast { actions.commands.append(.link(peer, .power(off))) }
      }
    }
    let refusal: BLEError? = session.run { [peer] state, actions in
      if state.isClosed { return .closed }
      guard state.links[peer] != nil else { return state.endedLinks.error(of: peer) }
      var refusal: BLEError?
      state.links[peer]?.withPower { power in
        do throws(BLEError) {
          if let command = try begin(&power, continuation, &actions) {
            actions.commands.append(.link(peer, .power(command)))
          }
          power[keyPath: path].add(continuation, id)
        } catch {
          refusal = error
        }
      }
      return refusal
    }
    if let refusal { throw refusal }
    return ConnectionReports(stream: stream)
  }
}

/// What a link has only when a program has used its transmit power or its path loss.
struct DevicePower: Sendable {
  var current = ConnectionTransmitPower()
  var changes = ValueStreams<ConnectionTransmitPower>()
  var zones = ValueStreams<PathLoss>()
  /// The thresholds of ``zones``, and the zone that was reported last.
  var thresholds: PathLossThresholds?
  var zone: PathLoss?
}

extension LinkState {
  mutating func withPower(_ change: (inout DevicePower) -> Void) {
    if powerStates.isEmpty { powerStates = [DevicePower()] }
    change(&powerStates[0])
  }
}

extension AdapterSession.State {
  mutating func powerChanged(_ peer: LinkID, _ event: LinkPowerEvent, into actions: inout Actions) {
    switch event {
    case .level(let end, .success(let level)):
      setPower(level.map { Int($0) }, of: end, peer, into: &actions)
    // The device has no LE Power Control: its power is not known.
    case .level(let end, .failure(.controller(_, .unsupportedRemoteFeature))):
      setPower(nil, of: end, peer, into: &actions)
    case .level(let end, .failure(let error)):
      waits.answer(.transmitPower(peer, end), .failure(BLEError(error)), into: &actions)
    case .notReported(let error):
      links[peer]?.powerStates.first?.changes.finish(throwing: BLEError(error), into: &actions)
    case .pathLoss(.success(let loss)):
      let zone = PathLoss(loss)
      links[peer]?.withPower { $0.zone = zone }
      links[peer]?.powerStates.first?.zones.yield(zone, into: &actions)
    case .pathLoss(.failure(let error)):
      links[peer]?.powerStates.first?.zones.finish(throwing: BLEError(error), into: &actions)
    }
  }

  private mutating func setPower(_ level: Int?, of end: LinkPowerEnd, _ peer: LinkID, into actions: inout Actions) {
    guard links[peer] != nil else { return }
    var (old, new) = (ConnectionTransmitPower(), ConnectionTransmitPower())
    links[peer]?.withPower { power in
      old = power.current
      power.current = old.with(level, of: end)
      new = power.current
    }
    if new != old { links[peer]?.powerStates.first?.changes.yield(new, into: &actions) }
    waits.answer(.transmitPower(peer, end), .success(level), into: &actions)
  }
}
