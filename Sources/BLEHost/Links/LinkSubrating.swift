import BLEHCI
import BLEWire

/// The subrating in force on a link: of so many connection events the ends use one, and those that follow one with data
/// (Vol 6, Part B, 4.5.1).
package struct LinkSubrating: Equatable, Sendable {
  /// In connection events; 1 without subrating.
  package var factor: UInt16
  /// In subrated connection events.
  package var latency: UInt16
  /// In connection events.
  package var continuation: UInt16
  /// In units of 10 ms.
  package var supervisionTimeout: UInt16

  package init(factor: UInt16, latency: UInt16, continuation: UInt16, supervisionTimeout: UInt16) {
    (self.factor, self.latency) = (factor, latency)
    (self.continuation, self.supervisionTimeout) = (continuation, supervisionTimeout)
  }
}

/// The subrating that an owner requests (Vol 4, Part E, 7.8.124): factor and continuation number in connection events,
/// latency in subrated connection events, timeout in units of 10 ms.
package struct SubratingParameters: Equatable, Sendable {
  package var factor: ClosedRange<UInt16>
  package var latency: UInt16
  package var continuation: UInt16
  package var supervisionTimeout: UInt16

  package init(
    factor: ClosedRange<UInt16>, latency: UInt16 = 0, continuation: UInt16 = 0,
    supervisionTimeout: UInt16 = ConnectionParameters.defaultSupervisionTimeout
  ) {
    (self.factor, self.latency) = (factor, latency)
    (self.continuation, self.supervisionTimeout) = (continuation, supervisionTimeout)
  }

  /// The subrating that our central accepts from a peripheral: it listens at least every 500 connection events, the
  /// limit of the specification, and skips at most four subrated ones.
  static let acceptable = Self(factor: 1...100, latency: 4, supervisionTimeout: 3200)

  /// Whether Vol 4, Part E, 7.8.123 allows the values.
  package var isValid: Bool { wire.isValid }

  /// Whether they fit a link with a connection interval in units of 125 us.
  func fits(rateInterval: UInt16) -> Bool {
    LinkLayerLimits.allows(
      supervisionTimeout: supervisionTimeout, latency: latency, subrateFactor: factor.upperBound,
      rateInterval: UInt32(rateInterval))
  }

  /// The parameters as the controller takes them.
  var wire: HCI.SubrateParameters {
    HCI.SubrateParameters {
      ($0.subrateMin, $0.subrateMax) = (factor.lowerBound, factor.upperBound)
      ($0.maxLatency, $0.continuationNumber) = (latency, continuation)
      $0.supervisionTimeout = supervisionTimeout
    }
  }

  func command(for link: ConnectionHandle) -> HCI.LESubrateRequest {
    HCI.LESubrateRequest { ($0.connectionHandle, $0.parameters) = (link, wire) }
  }
}

/// What a link has only when something on it requests subrating or another connection rate.
struct LinkSubratingState: Sendable {
  /// Nil without subrating.
  var current: LinkSubrating?
  /// The owner whose request the controllers have not answered.
  var owner: OwnerID?
  var rate = LinkRateState()

  fileprivate var isEmpty: Bool { current == nil && owner == nil && rate == LinkRateState() }
}

extension Link {
  /// The connection events for each that the ends use; 1 without subrating.
  var subrateFactor: UInt16 { subratingStates.first?.current?.factor ?? 1 }

  /// An owner asks for other subrating.
  mutating func requestSubrating(
    _ parameters: SubratingParameters, for owner: OwnerID, _ controller: ControllerCapabilities, _ turn: inout LinkTurn
  ) {
    guard parameters.isValid, parameters.fits(rateInterval: signalling.timing.rateInterval) else {
      let text = "subrating outside Vol 4, Part E, 7.8.124, or with too short a supervision timeout: \(parameters)"
      return subratingFailed(.invalidParameters(text), for: owner, into: &turn.effects)
    }
    guard controller.subrates, !signalling.framesEndAtKernel else {
      return subratingFailed(.unsupported("Connection Subrating"), for: owner, into: &turn.effects)
    }
    guard subratingStates.first?.owner == nil, signalling.tuning?.isSubrating != true else {
      let text = "a request for other subrating is outstanding"
      return subratingFailed(.invalidParameters(text), for: owner, into: &turn.effects)
    }
    withSubrating { $0.owner = owner }
    turn.effects.append(.command(parameters.command(for: handle), for: .link(peer, .subrate(owner))))
  }

  /// The controller has not taken the command.
  mutating func subratingRefused(_ status: HCIErrorCode, for owner: OwnerID, into effects: inout [Effect<LinkEffect>]) {
    withSubrating { $0.owner = nil }
    subratingFailed(.controller(.leSubrateRequest, status), for: owner, into: &effects)
  }

  /// The link layers have changed the subrating, or could not (Vol 4, Part E, 7.7.65.35).
  mutating func subratingChanged(_ event: HCI.LESubrateChange, into effects: inout [Effect<LinkEffect>]) {
    let owner = subratingStates.first?.owner
    withSubrating { $0.owner = nil }
    guard event.status == .success else {
      if let owner { subratingFailed(.controller(.leSubrateRequest, event.status), for: owner, into: &effects) }
      return
    }
    let subrating = LinkSubrating(
      factor: max(1, event.subrateFactor), latency: event.peripheralLatency, continuation: event.continuationNumber,
      supervisionTimeout: event.supervisionTimeout)
    signalling.apply(subrating)
    report(subrating, into: &effects)
  }

  /// Another connection interval ends subrating (Vol 6, Part B, 5.1.1).
  mutating func endSubrating(into effects: inout [Effect<LinkEffect>]) {
    guard subrateFactor > 1 else { return }
    signalling.tuning?.factor = 1
    let timing = signalling.timing
    let subrating = LinkSubrating(
      factor: 1, latency: timing.latency, continuation: 0, supervisionTimeout: timing.supervisionTimeout)
    report(subrating, into: &effects)
  }

  private mutating func report(_ subrating: LinkSubrating, into effects: inout [Effect<LinkEffect>]) {
    withSubrating { $0.current = subrating.factor > 1 ? subrating : nil }
    effects.append(.event(.link(peer, .subrating(.success(subrating))), to: .everyone))
  }

  private func subratingFailed(_ error: HostError, for owner: OwnerID, into effects: inout [Effect<LinkEffect>]) {
    effects.append(.event(.link(peer, .subrating(.failure(error))), to: owner.recipient))
  }

  mutating func withSubrating(_ change: (inout LinkSubratingState) -> Void) {
    var state = subratingStates.first ?? LinkSubratingState()
    change(&state)
    subratingStates = state.isEmpty ? [] : [state]
  }
}
