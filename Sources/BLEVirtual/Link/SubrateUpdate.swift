internal import BLEHCI
internal import BLEWire

/// The subrating of a link, as in LL_SUBRATE_IND (Vol 6, Part B, 2.4.2.41).
struct LinkLayerSubrating: Hashable, Sendable {
  /// In connection events.
  var factor: UInt16
  /// In subrated connection events.
  var latency: UInt16
  /// In connection events.
  var continuation: UInt16
  /// In units of 10 ms.
  var timeout: UInt16
}

extension LinkLayerSubrating {
  /// The subrating that a controller chooses within the parameters of its host: the greatest factor, which takes the
  /// least energy.
  init(_ parameters: HCI.SubrateParameters) {
    self.init(
      factor: parameters.subrateMax, latency: parameters.maxLatency, continuation: parameters.continuationNumber,
      timeout: parameters.supervisionTimeout)
  }

  /// The subrating that meets both what the peripheral requests and what the central accepts: the greatest factor for
  /// which the supervision timeout is long enough. Nil if there is none (Vol 6, Part B, 5.1.20).
  ///
  /// - Parameter rateInterval: the connection interval in units of 125 us.
  init?(requested: HCI.SubrateParameters, accepted: HCI.SubrateParameters, rateInterval: UInt32) {
    let least = max(requested.subrateMin, accepted.subrateMin, 1)
    let greatest = min(requested.subrateMax, accepted.subrateMax)
    guard least <= greatest else { return nil }
    let latency = min(requested.maxLatency, accepted.maxLatency)
    let timeout = min(requested.supervisionTimeout, accepted.supervisionTimeout)
    let factor = (least...greatest).last {
      LinkLayerLimits.allows(subrateFactor: $0, latency: latency)
        && LinkLayerLimits.allows(
          supervisionTimeout: timeout, latency: latency, subrateFactor: $0, rateInterval: rateInterval)
    }
    guard let factor else { return nil }
    let continuation = min(max(requested.continuationNumber, accepted.continuationNumber), factor - 1)
    self.init(factor: factor, latency: latency, continuation: continuation, timeout: timeout)
  }
}

/// The procedures that change the subrating of a link (Vol 6, Part B, 5.1.19 and 5.1.20; Vol 4, Part E, 7.8.123 and
/// 7.8.124).
///
/// ```
///  central ──LL_SUBRATE_IND──► peripheral
///  peripheral ──LL_SUBRATE_REQ──► central ──► LL_SUBRATE_IND or LL_REJECT_EXT_IND
/// ```
struct SubrateUpdate: Sendable {
  /// The parameters that the central accepts from its peripheral: those of LE Set Default Subrate when the link began,
  /// then those of its last LE Subrate Request.
  private var accepted: HCI.SubrateParameters
  /// Whether the host waits for the outcome of its request.
  private var isRequested = false

  init(accepted: HCI.SubrateParameters) { self.accepted = accepted }

  /// The error for LE Subrate Request; nil if it can be performed.
  func refusal(
    of parameters: HCI.SubrateParameters, _ timing: LinkLayerTiming, _ turn: ProcedureTurn
  ) -> HCIErrorCode? {
    guard parameters.isValid,
      LinkLayerLimits.allows(
        supervisionTimeout: parameters.supervisionTimeout, latency: parameters.maxLatency,
        subrateFactor: parameters.subrateMax, rateInterval: timing.rateInterval)
    else { return .invalidCommandParameters }
    return turn.controller.supportsSubrating && !isRequested ? nil : .commandDisallowed
  }

  /// Performs LE Subrate Request. The central sends the new subrating; the peripheral requests it.
  mutating func request(_ parameters: HCI.SubrateParameters, _ turn: inout ProcedureTurn) {
    isRequested = true
    if turn.role == .central {
      accepted = parameters
      turn.send(.subrate(LinkLayerSubrating(parameters)))
    } else {
      turn.send(.subrateRequest(parameters))
    }
  }

  /// Receives LL_SUBRATE_REQ from the peripheral.
  func receiveRequest(_ wanted: HCI.SubrateParameters, _ timing: LinkLayerTiming, _ turn: inout ProcedureTurn) {
    guard turn.controller.supportsSubrating else { return turn.send(.subrateReject(.unsupportedRemoteFeature)) }
    let subrating = LinkLayerSubrating(requested: wanted, accepted: accepted, rateInterval: timing.rateInterval)
    turn.send(subrating.map { .subrate($0) } ?? .subrateReject(.unsupportedLinkLayerParameterValue))
  }

  /// Reports new subrating that this end has applied to the host: a change, or the outcome of the host's request.
  mutating func applied(
    from old: LinkLayerTiming, to new: LinkLayerTiming, _ turn: ProcedureTurn, _ context: inout VirtualRadioContext
  ) {
    guard old != new || isRequested else { return }
    report(.success, new, turn, &context)
  }

  /// Receives the rejection of a request from this end.
  mutating func receiveRejection(
    _ reason: HCIErrorCode, _ timing: LinkLayerTiming, _ turn: ProcedureTurn, _ context: inout VirtualRadioContext
  ) {
    guard isRequested else { return }
    report(reason, timing, turn, &context)
  }

  private mutating func report(
    _ status: HCIErrorCode, _ timing: LinkLayerTiming, _ turn: ProcedureTurn, _ context: inout VirtualRadioContext
  ) {
    isRequested = false
    turn.host.send(
      HCI.LESubrateChange {
        $0.status = status
        $0.connectionHandle = turn.handle
        $0.subrateFactor = timing.subrateFactor
        $0.peripheralLatency = timing.latency
        $0.continuationNumber = timing.continuation
        $0.supervisionTimeout = timing.timeout
      }, &context)
  }
}
