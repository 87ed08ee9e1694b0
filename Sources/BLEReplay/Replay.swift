import BLEATT
package import BLEKit
package import BLETrace
package import BLEWire

/// Repeats the session of a central, which a trace has, against a device, and compares what the device sends.
///
/// The PDUs of the central are sent as they are, in their order: a request after the response to the one before, and a
/// value that the device sent in between has arrived before, if it comes at all. The attributes are those of the
/// recorded handles, as for a central that has kept them; other handles are differences.
package struct Replay: Sendable {
  private let comparison: ReplayComparison
  private var session: RecordedSession { comparison.session }
  private var options: ReplayOptions { comparison.options }

  package init(_ session: RecordedSession, _ options: ReplayOptions = ReplayOptions()) {
    comparison = ReplayComparison(session: session, options: options)
  }

  /// The connections that are tried until one is established (Vol 6, Part B, 4.5.2).
  private static let attempts = 5

  /// Connects to the device, repeats the session, and ends the link.
  ///
  /// - Parameter onConnection: is called when the link is up; again where it was not established.
  /// - Throws: ``BLEError`` without a connection, ``ReplayError``. What the device does is in the result.
  package func run(
    on adapter: Adapter, against target: some ConnectionTarget,
    onConnection: (RemoteDevice) async -> Void = { _ in }
  ) async throws -> ReplayResult {
    var attempt = 1
    while true {
      let device = try await adapter.connectBare(to: target, timeout: options.connectionTime)
      guard device.mtu == ATT.defaultMTU, device.security.level == .none, !device.isCentral else {
        throw ReplayError.linkInUse(device.address)
      }
      await onConnection(device)
      let isBonded = adapter.bonds.contains { $0.identity == device.address }
      var run = ReplayRun(comparison, device, adapter.clock, isBonded: isBonded)
      let reason = await run.perform()
      await Task(executorPreference: adapter.clock.executor) { await device.disconnect() }.value
      try Task.checkCancellation()
      if reason == .connectionFailedToBeEstablished, run.result.requestCount <= 1, attempt < Self.attempts {
        attempt += 1
        continue
      }
      return run.finish()
    }
  }
}

/// Why a session cannot be repeated.
package enum ReplayError: Error, Equatable, CustomStringConvertible {
  /// The adapter has a link to the device, on which requests were sent.
  case linkInUse(DeviceAddress)

  package var description: String {
    switch self {
    case .linkInUse(let device):
      "the adapter has a link to \(device) already, which a replay cannot use: end it before the replay"
    }
  }
}

/// One replay on one link.
private struct ReplayRun {
  private let comparison: ReplayComparison
  private let device: RemoteDevice
  private let clock: WaitClock
  private let received: ReceivedValues
  var result = ReplayResult()
  /// The last thing that happened in the trace, and the same in the replay.
  private var recordedTime: Int64
  private var time: Duration
  /// The values of each attribute that the trace has so far.
  private var expected: [AttributeHandle: Int] = [:]
  /// Attributes of which a value did not come in its time: no other one is waited for before the end.
  private var late: Set<AttributeHandle> = []
  private var hasOtherAttributes = false
  /// The packet with which the replay ended early: values after it are not missing.
  private var stop = Int.max

  private var session: RecordedSession { comparison.session }
  private var options: ReplayOptions { comparison.options }

  /// - Parameter isBonded: whether the adapter has a bond with the device.
  init(_ comparison: ReplayComparison, _ device: RemoteDevice, _ clock: WaitClock, isBonded: Bool) {
    var comparison = comparison
    if isBonded || comparison.session.usesEarlierBond {
      comparison.options.ignoresBondState = true
      result.notes.append(
        "not compared: values of Client Characteristic Configuration and Client Supported Features, and whether a "
          + "refusal is Insufficient Authentication or Insufficient Encryption: they depend on the bond, which is "
          + "older than the " + (isBonded ? "replay" : "trace"))
    }
    (self.comparison, self.device, self.clock) = (comparison, device, clock)
    received = ReceivedValues(clock: clock)
    (recordedTime, time) = (comparison.session.times.first, clock.now())
    result.session = "link \(comparison.session.number) of the trace"
    result.device = "\(device.address)"
  }

  /// Repeats the session.
  ///
  /// - Returns: the reason of an end of the link that the trace does not have.
  mutating func perform() async -> DisconnectReason? {
    let values: AttributeValues
    do throws(BLEError) { values = try device.attributeValues() } catch { return stopped(before: nil, error) }
    let reading = Task(executorPreference: clock.executor) { [received, device] in
      var iterator = values.makeAsyncIterator()
      while let value = try? await iterator.next() { received.add(value) }
      if Task.isCancelled { return }
      if device.isConnected { received.lost() } else { received.end() }
    }
    defer { reading.cancel() }
    for step in session.steps {
      if Task.isCancelled { return nil }
      switch step.action {
      case .value(let handle, _): await awaitValue(of: handle, step)
      case .command(let pdu):
        await pause(until: step.time)
        guard case .writeCommand(let command)? = try? ATTPDU(decoding: pdu[...]) else { continue }
        result.commandCount += 1
        do throws(BLEError) { try await device.send(command) } catch { return stopped(before: step, error) }
        happened(step.time)
      case .request(let pdu, let response):
        await pause(until: step.time)
        result.requestCount += 1
        let answer: [UInt8]
        do throws(BLEError) { answer = try await device.respond(to: pdu) } catch {
          return endsWithout(response, step, error) ? nil : stopped(before: step, error)
        }
        happened(response?.time ?? step.time)
        compare(answer, to: response, pdu, step)
      case .encryption(let isAuthenticated):
        do throws(BLEError) { try await device.pair(level: isAuthenticated ? .authenticated : .encrypted) } catch {
          return stopped(before: step, error)
        }
        happened(step.time)
      }
    }
    return await end()
  }

  /// The values of the device are compared.
  mutating func finish() -> ReplayResult {
    var recorded: [AttributeHandle: [(number: Int, value: [UInt8])]] = [:]
    for step in session.steps where step.number < stop {
      if case .value(let handle, let value) = step.action { recorded[handle, default: []].append((step.number, value)) }
    }
    let replayed = received.all
    for handle in Set(recorded.keys).union(replayed.keys).sorted() where !options.ignores(handle, in: session) {
      let (old, new) = (recorded[handle] ?? [], replayed[handle] ?? [])
      result.valueCount += old.count
      for difference in comparison.differences(of: handle, old, new) { result.add(difference) }
    }
    if received.hasLost {
      result.notes.append("values that the device sent by itself were lost: they came faster than they were read")
    }
    result.sort()
    result.notes += session.omissions.map { "not repeated: \($0)" }
    let unknown = options.ignoredTypes.filter { !session.types.values.contains($0) }
    for type in unknown.map(\.uuidString).sorted() {
      result.notes.append(
        "not ignored: values of \(type), because the trace reveals no attribute of that type: name its handle")
    }
    return result
  }

  private mutating func compare(
    _ answer: [UInt8], to response: RecordedSession.Response?, _ request: [UInt8], _ step: RecordedSession.Step
  ) {
    if let response {
      guard let difference = comparison.difference(request, response, answer) else { return }
      result.add(difference)
      return noteMovedAttributes(request, step)
    }
    // Without the end of the link the trace may lack the response.
    guard session.end != nil, isLast(step) else { return }
    result.add(
      ReplayDifference(
        kind: .response, packet: step.number, name: session.text(ofRequest: request), recorded: "no answer",
        replayed: session.text(ofResponse: answer, to: request), replayedOctets: answer))
  }

  /// Whether the central sends nothing after a step.
  private func isLast(_ step: RecordedSession.Step) -> Bool { count(after: step) == 0 }

  private func count(after step: RecordedSession.Step?) -> Int {
    session.steps.count { other in
      switch other.action {
      case .request, .command: other.number > step?.number ?? .max
      case .value, .encryption: false
      }
    }
  }

  /// Whether the link ends with a request that has no answer, as in the trace: the fault that it reports.
  private mutating func endsWithout(
    _ response: RecordedSession.Response?, _ step: RecordedSession.Step, _ error: BLEError
  ) -> Bool {
    guard response == nil, let end = session.end, isLast(step) else { return false }
    guard error.kind == .disconnected || error.kind == .timedOut else { return false }
    result.notes.append(
      "packet \(step.number) has no answer, as in the trace, whose link ended then (\(end.reason)): \(error)")
    return true
  }

  /// Explains the first other answer to a discovery.
  private mutating func noteMovedAttributes(_ request: [UInt8], _ step: RecordedSession.Step) {
    guard !hasOtherAttributes, let request = try? ATTPDU(decoding: request[...]), request.isDiscovery else { return }
    hasOtherAttributes = true
    result.notes.append(
      "the discovery in packet \(step.number) finds other attributes than in the trace: the requests have the recorded "
        + "handles, and later differences can follow from that")
  }

  // MARK: Time

  private mutating func happened(_ recorded: Int64) { (recordedTime, time) = (recorded, clock.now()) }

  /// The time of the trace since the last thing that happened, up to the longest pause.
  private func gap(until recorded: Int64) -> Duration {
    // The clock of a trace may jump.
    let (gap, overflow) = recorded.subtractingReportingOverflow(recordedTime)
    guard !overflow else { return .zero }
    return min(max(.zero, .microseconds(gap)), options.longestPause)
  }

  /// Waits until the central sent a packet in the trace.
  private func pause(until recorded: Int64) async {
    let rest = gap(until: recorded) - (clock.now() - time)
    if rest > .zero { try? await clock.sleep(rest) }
  }

  private mutating func awaitValue(of handle: AttributeHandle, _ step: RecordedSession.Step) async {
    guard !options.ignores(handle, in: session), !late.contains(handle) else { return }
    expected[handle, default: 0] += 1
    // It may be one too many of those before: the time of the session does not go on with it.
    if received.count(of: handle) >= expected[handle] ?? 0 { return }
    let limit = max(.zero, gap(until: step.time) - (clock.now() - time)) + options.valueTime
    if await received.wait(for: expected[handle] ?? 0, of: handle, atMost: limit) {
      happened(step.time)
    } else {
      late.insert(handle)
    }
  }

  // MARK: The end

  /// Waits for what the trace has after the last packet of the central.
  private mutating func end() async -> DisconnectReason? {
    if let end = session.end, end.isByServer {
      let limit = gap(until: end.time) + options.valueTime
      if await received.waitForEnd(atMost: limit) { return nil }
      result.add(
        ReplayDifference(
          kind: .link, packet: end.number, name: "the end of the link",
          recorded: "the device ended it: \(end.reason)", replayed: "the device has not ended it within \(limit)"))
      return nil
    }
    let rest = max(gap(until: session.end?.time ?? session.times.last), ReplayOptions.shortestEnd)
    if await received.waitForEnd(atMost: rest) { return await endedEarly(before: nil) }
    // What is late has the same time once more.
    let limit = clock.now() + options.valueTime
    var counts: [AttributeHandle: Int] = [:]
    for step in session.steps {
      if case .value(let handle, _) = step.action, !options.ignores(handle, in: session) {
        counts[handle, default: 0] += 1
      }
    }
    for (handle, count) in counts.sorted(by: { $0.key < $1.key }) {
      _ = await received.wait(for: count, of: handle, atMost: max(.zero, limit - clock.now()))
    }
    return nil
  }

  private mutating func endedEarly(before step: RecordedSession.Step?) async -> DisconnectReason? {
    do throws(BLEError) { return stopped(before: step, try await device.waitUntilDisconnected()) } catch { return nil }
  }

  /// The session cannot go on.
  ///
  /// - Parameter step: what cannot be done; nil at the end of the session.
  /// - Returns: the reason, if the link has ended.
  private mutating func stopped(before step: RecordedSession.Step?, _ error: BLEError) -> DisconnectReason? {
    guard error.kind != .cancelled else { return nil }
    stop = step?.number ?? .max
    var difference = ReplayDifference(
      kind: error.kind == .disconnected ? .link : .response, packet: step?.number, name: "the end of the session",
      recorded: "the link is up", replayed: error.description)
    switch step?.action {
    case .request(let pdu, let response):
      difference.name = session.text(ofRequest: pdu)
      difference.recorded = response.map { session.text(ofResponse: $0.pdu, to: pdu) } ?? "no answer"
      if let response { (difference.packet, difference.recordedOctets) = (response.number, response.pdu) }
    case .command(let pdu): (difference.name, difference.recorded) = (session.text(ofRequest: pdu), "sent")
    case .encryption(let isAuthenticated):
      difference.kind = .security
      difference.name = "the encryption of the link"
      difference.recorded = isAuthenticated ? "encrypted, authenticated" : "encrypted"
    case .value, nil: break
    }
    result.add(difference)
    let rest = count(after: step)
    if rest > 0 {
      result.notes.append(
        "not repeated: \(rest) requests and commands after packet \(step?.number ?? 0)")
    }
    return error.disconnectReason
  }
}

extension ATTPDU {
  /// Whether it is a request for the types or the groups of attributes.
  fileprivate var isDiscovery: Bool {
    switch self {
    case .readByGroupTypeRequest, .findInformationRequest, .findByTypeValueRequest: true
    case .readByTypeRequest(let packet): packet.attributeType == "2803" || packet.attributeType == "2802"
    default: false  // The others are about values.
    }
  }
}
