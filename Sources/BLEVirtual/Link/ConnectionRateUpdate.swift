internal import BLEHCI
internal import BLEWire

/// The connection intervals that a controller supports.
typealias SupportedConnectionIntervals = HCI.LEReadMinimumSupportedConnectionInterval.Response

/// The interval and the subrating of a link, as in LL_CONNECTION_RATE_IND.
struct LinkLayerRate: Hashable, Sendable {
  /// In units of 125 us.
  var interval: UInt16
  var subrating: LinkLayerSubrating
}

extension SupportedConnectionIntervals {
  /// Whether the controller supports an interval in units of 125 us.
  func supports(_ interval: UInt16) -> Bool { shortest(in: interval...interval) != nil }

  /// The shortest interval of a range that the controller supports, in units of 125 us; nil if there is none. The
  /// intervals of LE Connection Update, multiples of 1.25 ms from 7.5 ms on, belong to no group.
  func shortest(in range: ClosedRange<UInt16>) -> UInt16? {
    let least = max(range.lowerBound, UInt16(minimumSupportedConnectionInterval))
    let limits = HCI.ConnectionIntervalGroup { ($0.groupMin, $0.groupMax, $0.groupStride) = (60, 32_000, 10) }
    let found = (groups + [limits]).compactMap { $0.first(from: least) }.min()
    return found.flatMap { $0 <= range.upperBound ? $0 : nil }
  }
}

extension HCI.ConnectionIntervalGroup {
  /// The first interval of the group that is not shorter than another one.
  fileprivate func first(from least: UInt16) -> UInt16? {
    guard groupMin < least else { return groupMin <= groupMax ? groupMin : nil }
    guard groupStride > 0 else { return nil }
    let stride = UInt32(groupStride)
    let steps = (UInt32(least - groupMin) + stride - 1) / stride
    let interval = UInt32(groupMin) + steps * stride
    return interval <= UInt32(groupMax) ? UInt16(interval) : nil
  }
}

extension LinkLayerRate {
  /// The error with which a peripheral rejects the rate; nil if it accepts it.
  func refusal(_ controller: ProcedureTurn.Controller) -> HCIErrorCode? {
    guard let intervals = controller.rateIntervals else { return .unsupportedRemoteFeature }
    return intervals.supports(interval) ? nil : .unsupportedLinkLayerParameterValue
  }
}

extension LinkLayerTiming {
  /// This timing after LL_CONNECTION_RATE_IND.
  func updated(to rate: LinkLayerRate) -> Self {
    var timing = updated(to: rate.subrating)
    timing.rateInterval = UInt32(rate.interval)
    return timing
  }
}

extension LocalFeatures {
  /// The intervals of LE Connection Rate Request; nil unless the Link Layer and the host support them.
  var rateIntervals: SupportedConnectionIntervals? {
    allFurther.isSuperset(of: [.shorterConnectionIntervals, .shorterConnectionIntervalsHostSupport]) ? intervals : nil
  }
}

extension HCI.ConnectionRateParameters {
  fileprivate var intervals: ClosedRange<UInt16> {
    connectionIntervalMin...max(connectionIntervalMin, connectionIntervalMax)
  }
}

/// The procedure that changes the interval and the subrating of a link in one step (Vol 6, Part B, 5.1; Vol 4, Part E,
/// 7.8.154 to 7.8.156).
///
/// ```
///  central ──LL_CONNECTION_RATE_IND──► peripheral, which may answer LL_REJECT_EXT_IND
///  peripheral ──LL_CONNECTION_RATE_REQ──► central ──► LL_CONNECTION_RATE_IND or LL_REJECT_EXT_IND
/// ```
///
/// It follows the procedures of connection parameters and of subrating where the specification was not at hand
/// (Docs/Decisions/links-and-channels.md#shorter-connection-intervals).
struct ConnectionRateUpdate: Sendable {
  /// The parameters that the central accepts from its peripheral: those of LE Set Default Rate Parameters when the link
  /// began, then those of its last LE Connection Rate Request.
  private var accepted: HCI.ConnectionRateParameters
  /// Whether the host waits for the outcome of its request.
  private var isRequested = false

  init(accepted: HCI.ConnectionRateParameters) { self.accepted = accepted }

  /// The error for LE Connection Rate Request; nil if it can be performed.
  func refusal(of parameters: HCI.ConnectionRateParameters, _ turn: ProcedureTurn) -> HCIErrorCode? {
    guard parameters.isValid else { return .invalidCommandParameters }
    guard let intervals = turn.controller.rateIntervals, !isRequested else { return .commandDisallowed }
    return intervals.shortest(in: parameters.intervals) == nil ? .unsupportedFeatureOrParameterValue : nil
  }

  /// Performs LE Connection Rate Request. The central sends the new rate; the peripheral requests it.
  mutating func request(_ parameters: HCI.ConnectionRateParameters, _ turn: inout ProcedureTurn) {
    guard turn.role == .central else {
      isRequested = true
      return turn.send(.connectionRateRequest(parameters))
    }
    guard let interval = turn.controller.rateIntervals?.shortest(in: parameters.intervals) else { return }
    isRequested = true
    accepted = parameters
    turn.send(.connectionRate(LinkLayerRate(interval: interval, subrating: LinkLayerSubrating(parameters.subrating))))
  }

  /// Receives LL_CONNECTION_RATE_REQ from the peripheral: the shortest interval and the greatest factor that meet both
  /// what the peripheral requests and what the central accepts.
  func receiveRequest(_ wanted: HCI.ConnectionRateParameters, _ turn: inout ProcedureTurn) {
    guard let intervals = turn.controller.rateIntervals else {
      return turn.send(.connectionRateReject(.unsupportedRemoteFeature))
    }
    let least = max(wanted.connectionIntervalMin, accepted.connectionIntervalMin)
    let greatest = min(wanted.connectionIntervalMax, accepted.connectionIntervalMax)
    guard least <= greatest, let interval = intervals.shortest(in: least...greatest),
      let subrating = LinkLayerSubrating(
        requested: wanted.subrating, accepted: accepted.subrating, rateInterval: UInt32(interval))
    else { return turn.send(.connectionRateReject(.unsupportedLinkLayerParameterValue)) }
    turn.send(.connectionRate(LinkLayerRate(interval: interval, subrating: subrating)))
  }

  /// Reports a new rate that this end has applied to the host: a change, or the outcome of the host's request.
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
      HCI.LEConnectionRateChange {
        $0.status = status
        $0.connectionHandle = turn.handle
        $0.connectionInterval = UInt16(clamping: timing.rateInterval)
        $0.subrateFactor = timing.subrateFactor
        $0.peripheralLatency = timing.latency
        $0.continuationNumber = timing.continuation
        $0.supervisionTimeout = timing.timeout
      }, &context)
  }
}

extension HCI.LEReadAllRemoteFeaturesComplete {
  /// The report of the features of a peer, up to a page that the host has requested.
  init(
    _ handle: ConnectionHandle, _ features: HCI.LEFeatures, _ further: HCI.LEFurtherFeatures, requestedPage: UInt8
  ) {
    self.init()
    connectionHandle = handle
    maxRemotePage = further.isEmpty ? 0 : 1
    maxValidPage = min(requestedPage, maxRemotePage)
    self.features.features = features
    if maxValidPage > 0 { self.features.furtherFeatures = further }
  }
}
