import BLEHCI
import BLEWire

/// The connection rate of a link: an interval that may be shorter than 7.5 ms, and the subrating that came with it
/// (Vol 4, Part E, 7.7.65.50).
package struct LinkRate: Equatable, Sendable {
  /// In units of 125 us.
  package var interval: UInt16
  package var subrating: LinkSubrating

  package init(interval: UInt16, subrating: LinkSubrating) { (self.interval, self.subrating) = (interval, subrating) }
}

extension LinkTiming {
  package init(_ rate: LinkRate) {
    self.init(
      rateInterval: rate.interval, latency: rate.subrating.latency,
      supervisionTimeout: rate.subrating.supervisionTimeout)
  }
}

/// The connection rate that an owner requests (Vol 4, Part E, 7.8.154).
package struct LinkRateParameters: Equatable, Sendable {
  /// In units of 125 us.
  package var interval: ClosedRange<UInt16>
  package var subrating: SubratingParameters

  package init(interval: ClosedRange<UInt16>, subrating: SubratingParameters = SubratingParameters(factor: 1...1)) {
    (self.interval, self.subrating) = (interval, subrating)
  }

  /// The connection rate that our central accepts from a peripheral: intervals up to 50 ms, and at most 12.5 s from one
  /// event in which the peripheral listens to the next.
  static func acceptable(to controller: ControllerCapabilities) -> Self {
    let shortest = max(LinkLayerLimits.connectionRateInterval.lowerBound, controller.shortestInterval)
    return Self(
      interval: shortest...400, subrating: SubratingParameters(factor: 1...50, latency: 4, supervisionTimeout: 3200))
  }

  /// Whether Vol 4, Part E, 7.8.154 allows the values.
  package var isValid: Bool { wire.isValid }

  /// The parameters as the controller takes them.
  var wire: HCI.ConnectionRateParameters {
    HCI.ConnectionRateParameters {
      ($0.connectionIntervalMin, $0.connectionIntervalMax) = (interval.lowerBound, interval.upperBound)
      ($0.subrateMin, $0.subrateMax) = (subrating.factor.lowerBound, subrating.factor.upperBound)
      ($0.maxLatency, $0.continuationNumber) = (subrating.latency, subrating.continuation)
      $0.supervisionTimeout = subrating.supervisionTimeout
    }
  }
}

extension ControllerCapabilities {
  /// Whether the controller has what connection rates need: the feature, and the commands with which the host requests
  /// a rate and reports its own support before the first link.
  var canChangeRates: Bool {
    furtherFeatures.contains(.shorterConnectionIntervals) && commands.contains(HCI.LEConnectionRateRequest.self)
      && commands.contains(HCI.LESetHostFeatureV2.self)
  }

  /// Whether links can have connection rates.
  package var changesRates: Bool { canChangeRates && hasRateHostSupport }

  /// Whether the features of a peer beyond the first 64 can be read. A peripheral may ask only where its controller has
  /// the procedure (Vol 6, Part B, 5.1.4).
  fileprivate func readsFeaturePages(as role: ConnectedLink.Role) -> Bool {
    leFeatures.contains(.llExtendedFeatureSet) && commands.contains(HCI.LEReadAllRemoteFeatures.self)
      && (role == .central || leFeatures.contains(.peripheralInitiatedFeaturesExchange))
  }
}

/// A request for another connection rate.
///
/// ```
///   request ──► LE Read All Remote Features ──► LE Connection Rate Request ── LE Connection Rate Change ──► changed
///                 │ not possible, or refused ────►┘                            └ rejected, no event ──► failed
///                 └ lacks the feature, no event ──► failed
/// ```
struct LinkRateState: Equatable, Sendable {
  /// The owner whose request is not answered.
  var owner: OwnerID?
  /// The request, while it waits for the features of the peer.
  var waiting: LinkRateParameters?
  /// Whether the peer's controller and host support shorter connection intervals, once that was read.
  var isSupportedByPeer: Bool?
}

extension Link {
  private static let feature = "Shorter Connection Intervals"

  private var rate: LinkRateState { subratingStates.first?.rate ?? LinkRateState() }

  /// An owner asks for another connection rate.
  mutating func requestConnectionRate(
    _ parameters: LinkRateParameters, for owner: OwnerID, _ controller: ControllerCapabilities, _ turn: inout LinkTurn
  ) {
    if let error = refusal(of: parameters, controller) {
      return connectionRateFailed(error, for: owner, into: &turn.effects)
    }
    withSubrating { $0.rate.owner = owner }
    guard rate.isSupportedByPeer == nil, controller.readsFeaturePages(as: role) else {
      return send(parameters, for: owner, into: &turn.effects)
    }
    withSubrating { $0.rate.waiting = parameters }
    let command = HCI.LEReadAllRemoteFeatures { ($0.connectionHandle, $0.pagesRequested) = (handle, 1) }
    turn.effects.append(.command(command, for: .link(peer, .featurePages(owner))))
  }

  /// The error for a request that is not sent.
  private func refusal(of parameters: LinkRateParameters, _ controller: ControllerCapabilities) -> HostError? {
    guard parameters.isValid else {
      return .invalidParameters(
        "a connection rate outside Vol 4, Part E, 7.8.154, or with too short a supervision timeout: \(parameters)")
    }
    guard !signalling.framesEndAtKernel else {
      return .disabled(
        "the kernel runs the adapter, and requests no connection rates: take the adapter with hci-socket:N")
    }
    guard controller.changesRates else { return .unsupported(Self.feature) }
    guard parameters.interval.upperBound >= controller.shortestInterval else {
      let shortest = UInt32(controller.shortestInterval) * 125
      return .invalidParameters("the shortest interval of the controller is \(shortest) us: request a longer one")
    }
    if rate.isSupportedByPeer == false { return .unsupportedByPeer(Self.feature) }
    guard rate.owner == nil, subratingStates.first?.owner == nil, signalling.tuning?.isSubrating != true else {
      return .invalidParameters("a request for another connection rate or other subrating is outstanding")
    }
    return nil
  }

  private func send(_ parameters: LinkRateParameters, for owner: OwnerID, into effects: inout [Effect<LinkEffect>]) {
    let command = HCI.LEConnectionRateRequest { ($0.connectionHandle, $0.parameters) = (handle, parameters.wire) }
    effects.append(.command(command, for: .link(peer, .connectionRate(owner))))
  }

  /// The controller has not taken LE Read All Remote Features. The peer may have the feature.
  mutating func featurePagesRefused(for owner: OwnerID, _ turn: inout LinkTurn) {
    guard let parameters = takeWaiting() else { return }
    send(parameters, for: owner, into: &turn.effects)
  }

  /// The peer's features were read, or could not be (Vol 4, Part E, 7.7.65.38).
  mutating func featurePagesRead(
    _ event: HCI.LEReadAllRemoteFeaturesComplete, into effects: inout [Effect<LinkEffect>]
  ) {
    guard let owner = rate.owner, let parameters = takeWaiting() else { return }
    let needed: HCI.LEFurtherFeatures = [.shorterConnectionIntervals, .shorterConnectionIntervalsHostSupport]
    if event.status == .success {
      let isSupported = event.features.furtherFeatures.isSuperset(of: needed)
      withSubrating { $0.rate.isSupportedByPeer = isSupported }
      if isSupported { return send(parameters, for: owner, into: &effects) }
    }
    let isLacking = event.status == .success || event.status == .unsupportedRemoteFeature
    endConnectionRate(
      isLacking ? .unsupportedByPeer(Self.feature) : .controller(.leReadAllRemoteFeatures, event.status), for: owner,
      into: &effects)
  }

  private mutating func takeWaiting() -> LinkRateParameters? {
    guard let parameters = rate.waiting else { return nil }
    withSubrating { $0.rate.waiting = nil }
    return parameters
  }

  /// The controller has not taken LE Connection Rate Request.
  mutating func connectionRateRefused(
    _ status: HCIErrorCode, for owner: OwnerID, into effects: inout [Effect<LinkEffect>]
  ) {
    endConnectionRate(.controller(.leConnectionRateRequest, status), for: owner, into: &effects)
  }

  /// The link layers have changed the connection rate, or could not (Vol 4, Part E, 7.7.65.50).
  mutating func connectionRateChanged(
    _ event: HCI.LEConnectionRateChange, into effects: inout [Effect<LinkEffect>]
  ) {
    // A change by the peer does not answer a request that was not sent.
    let owner = rate.waiting == nil ? rate.owner : nil
    guard event.status == .success else {
      guard let owner else { return }
      let error: HostError =
        event.status == .unsupportedRemoteFeature
        ? .unsupportedByPeer(Self.feature) : .controller(.leConnectionRateRequest, event.status)
      return endConnectionRate(error, for: owner, into: &effects)
    }
    let subrating = LinkSubrating(
      factor: max(1, event.subrateFactor), latency: event.peripheralLatency, continuation: event.continuationNumber,
      supervisionTimeout: event.supervisionTimeout)
    let new = LinkRate(interval: event.connectionInterval, subrating: subrating)
    signalling.apply(new)
    withSubrating {
      if owner != nil { $0.rate.owner = nil }
      $0.current = subrating.factor > 1 ? subrating : nil
    }
    effects.append(.event(.link(peer, .connectionRate(.success(new))), to: .everyone))
  }

  /// The request that was accepted last has failed.
  private mutating func endConnectionRate(
    _ error: HostError, for owner: OwnerID, into effects: inout [Effect<LinkEffect>]
  ) {
    withSubrating { $0.rate.owner = nil }
    connectionRateFailed(error, for: owner, into: &effects)
  }

  private func connectionRateFailed(
    _ error: HostError, for owner: OwnerID, into effects: inout [Effect<LinkEffect>]
  ) {
    effects.append(.event(.link(peer, .connectionRate(.failure(error))), to: owner.recipient))
  }
}
