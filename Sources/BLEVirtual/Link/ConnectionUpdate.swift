internal import BLEHCI
internal import BLEWire

/// The timing of a link (Vol 6, Part B, 4.5.1).
struct LinkLayerTiming: Hashable, Sendable {
  /// In units of 125 us: a link has an interval that is no multiple of 1.25 ms by LL_CONNECTION_RATE_IND alone.
  var rateInterval: UInt32
  /// In connection events; on a subrated link, in subrated events.
  var latency: UInt16
  /// In units of 10 ms.
  var timeout: UInt16
  /// connSubrateFactor: one in so many connection events is used (Vol 6, Part B, 4.5.1).
  var subrateFactor: UInt16
  /// connContinuationNumber: the number of connection events that are used after one with data.
  var continuation: UInt16

  /// - Parameter interval: in units of 1.25 ms.
  init(interval: UInt16, latency: UInt16, timeout: UInt16, subrateFactor: UInt16 = 1, continuation: UInt16 = 0) {
    rateInterval = UInt32(interval) * 10
    (self.latency, self.timeout) = (latency, timeout)
    (self.subrateFactor, self.continuation) = (subrateFactor, continuation)
  }

  /// The interval in units of 1.25 ms, rounded up.
  var interval: UInt16 { UInt16(clamping: (rateInterval + 9) / 10) }
  /// Whether the interval is shorter than those of LE Connection Update.
  var isShort: Bool { intervalDuration < .microseconds(7500) }

  var supervisionTimeout: Duration { .milliseconds(10 * Int64(timeout)) }
  var intervalDuration: Duration { .microseconds(125 * Int64(rateInterval < 3 ? 60 : rateInterval)) }

  /// This timing after LL_CONNECTION_UPDATE_IND with `new`: another interval ends subrating (Vol 6, Part B, 5.1.1).
  func updated(to new: Self) -> Self {
    guard new.rateInterval == rateInterval else { return new }
    var timing = new
    (timing.subrateFactor, timing.continuation) = (subrateFactor, continuation)
    return timing
  }

  /// This timing after LL_SUBRATE_IND.
  func updated(to subrating: LinkLayerSubrating) -> Self {
    var timing = self
    (timing.latency, timing.timeout) = (subrating.latency, subrating.timeout)
    (timing.subrateFactor, timing.continuation) = (subrating.factor, subrating.continuation)
    return timing
  }
}

extension HCI.ConnectionParameters {
  /// The timing that the controller chooses: the shortest interval.
  var timing: LinkLayerTiming {
    LinkLayerTiming(interval: connectionIntervalMin, latency: maxLatency, timeout: supervisionTimeout)
  }
}

/// The timing of a link and its changes (Vol 6, Part B, 5.1.1 and 5.1.7; Vol 4, Part E, 7.8.18, 7.8.31 and 7.8.32).
///
/// ```
///  central ──LL_CONNECTION_UPDATE_IND──► peripheral
///  peripheral ──LL_CONNECTION_PARAM_REQ──► central's host ──► LL_CONNECTION_UPDATE_IND or LL_REJECT_EXT_IND
/// ```
struct ConnectionUpdate: Sendable {
  private(set) var timing: LinkLayerTiming
  /// Whether this end waits for an answer to a connection parameter request, from its host or from the peer.
  private var isAwaitingReply = false

  init(timing: LinkLayerTiming) { self.timing = timing }

  /// The error for LE Connection Update; nil if the update may begin.
  func refusal(of parameters: HCI.ConnectionParameters, _ turn: ProcedureTurn) -> HCIErrorCode? {
    guard parameters.isValid else { return .invalidCommandParameters }
    guard turn.role == .peripheral else { return nil }
    guard turn.controller.features.contains(.connectionParametersRequest), !isAwaitingReply else {
      return .commandDisallowed
    }
    return nil
  }

  /// Starts an update. The central sends the new timing; the peripheral requests it.
  mutating func begin(_ parameters: HCI.ConnectionParameters, _ turn: inout ProcedureTurn) {
    if turn.role == .central {
      turn.send(.connectionUpdate(parameters.timing))
    } else {
      isAwaitingReply = true
      turn.send(.connectionParameterRequest(parameters))
    }
  }

  /// Receives a request from the peripheral. If the host has unmasked the event, it answers the request; otherwise the
  /// request is rejected.
  mutating func receiveRequest(
    _ wanted: HCI.ConnectionParameters, _ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext
  ) {
    guard turn.controller.features.contains(.connectionParametersRequest),
      turn.host.allows(LESubeventCode.remoteConnectionParameterRequest)
    else { return turn.send(.connectionParameterReject(.unsupportedRemoteFeature)) }
    isAwaitingReply = true
    turn.host.send(
      HCI.LERemoteConnectionParameterRequest {
        $0.connectionHandle = turn.handle
        $0.intervalMin = wanted.connectionIntervalMin
        $0.intervalMax = wanted.connectionIntervalMax
        $0.maxLatency = wanted.maxLatency
        $0.timeout = wanted.supervisionTimeout
      }, &context)
  }

  /// Whether the host must answer a request from the peripheral.
  func awaitsHost(as role: HCI.Role) -> Bool { role == .central && isAwaitingReply }

  /// Answers the request of the peripheral: LE Remote Connection Parameter Request Reply.
  mutating func accept(_ parameters: HCI.ConnectionParameters, _ turn: inout ProcedureTurn) {
    isAwaitingReply = false
    turn.send(.connectionUpdate(parameters.timing))
  }

  /// Rejects the request of the peripheral: LE Remote Connection Parameter Request Negative Reply.
  mutating func reject(_ reason: HCIErrorCode, _ turn: inout ProcedureTurn) {
    isAwaitingReply = false
    turn.send(.connectionParameterReject(reason))
  }

  /// Applies new timing on this end and reports it to the host.
  mutating func apply(_ timing: LinkLayerTiming, _ turn: ProcedureTurn, _ context: inout VirtualRadioContext) {
    self.timing = self.timing.updated(to: timing)
    isAwaitingReply = false
    report(.success, turn, &context)
  }

  /// Applies new subrating on this end.
  mutating func apply(_ subrating: LinkLayerSubrating) { timing = timing.updated(to: subrating) }

  /// Applies a new connection rate on this end.
  mutating func apply(_ rate: LinkLayerRate) { timing = timing.updated(to: rate) }

  /// Receives the rejection of a request from this end.
  mutating func receiveRejection(_ reason: HCIErrorCode, _ turn: ProcedureTurn, _ context: inout VirtualRadioContext) {
    isAwaitingReply = false
    report(reason, turn, &context)
  }

  private func report(_ status: HCIErrorCode, _ turn: ProcedureTurn, _ context: inout VirtualRadioContext) {
    turn.host.send(
      HCI.LEConnectionUpdateComplete {
        $0.status = status
        $0.connectionHandle = turn.handle
        $0.connectionInterval = timing.interval
        $0.peripheralLatency = timing.latency
        $0.supervisionTimeout = timing.timeout
      }, &context)
  }
}
