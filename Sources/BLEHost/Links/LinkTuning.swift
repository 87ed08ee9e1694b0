import BLEHCI
import BLEWire

/// Brings a link to its priority, as far as the controller and the peer support it. A rejected step is reported, and
/// the next one follows.
///
/// ```
///   LE Read Remote Features ──► LE Set Data Length ──► LE Set PHY ──► timing: LE Connection Update, or a request by L2CAP
///        └ Complete event          └ Command Complete     └ LE PHY Update Complete
/// ```
///
/// Where both devices have subrating, low power is LE Subrate Request on a link with a short interval, and the other
/// priorities end it before their timing. If a controller rejects subrating, the timing follows as without it.
///
/// One procedure of the link layer follows the other, because some controllers refuse a second one at the same time
/// (Vol 6, Part B, 5.3).
struct LinkTuning: Sendable {
  private enum Step { case none, features, dataLength, phy, subrating }

  /// The features of the controller that it uses.
  fileprivate struct Means: Sendable {
    /// The longest packets of the controller (Vol 4, Part E, 7.8.46); nil if it has only the shortest.
    var dataLength: (octets: UInt16, time: UInt16)?
    var has2M = false
    var readsFeatures = false
    /// Whether our controller and host have subrating.
    var subrates = false
  }

  private let peer: LinkID
  private let handle: ConnectionHandle
  let role: ConnectedLink.Role
  private(set) var priority: ConnectionPriority
  /// The owner of the request for the priority.
  private(set) var owner = OwnerID.process
  private var means = Means()
  /// The features of the peer; all if they could not be read.
  private var peerFeatures: HCI.LEFeatures?
  private var step = Step.none
  /// Another priority was requested during a step.
  private var repeats = false
  /// Whether the link was moved to LE 2M.
  private var isOn2M = false
  /// The timing that was requested last, and whether the controller has not reported its outcome.
  private var requested: ConnectionParameters?
  private var isRequesting = false
  /// The subrate factor of the link.
  var factor: UInt16 = 1
  /// Whether the subrating of the priority is in force; nil before its outcome.
  private var isSubrated: Bool?
  /// Whether the subrating waits for a shorter interval.
  private var awaitsInterval = false
  /// Whether the timing is chosen anew when the packets of the link change: nobody has requested another one.
  var followsPackets = true

  init(_ priority: ConnectionPriority, peer: LinkID, handle: ConnectionHandle, role: ConnectedLink.Role) {
    (self.priority, self.peer, self.handle, self.role) = (priority, peer, handle, role)
  }

  /// Begins to bring the link to a priority.
  ///
  /// - Parameter isExclusive: whether the host has the controller to itself. Subrating needs an event that the kernel
  ///   masks.
  /// - Returns: whether only the subrating and the timing are left.
  mutating func begin(
    _ priority: ConnectionPriority, for owner: OwnerID, _ controller: ControllerCapabilities, isExclusive: Bool,
    into effects: inout [Effect<LinkEffect>]
  ) -> Bool {
    (self.priority, self.owner) = (priority, owner)
    (requested, followsPackets) = (nil, true)
    (isSubrated, awaitsInterval) = (nil, false)
    guard step == .none else {
      repeats = true
      return false
    }
    means = Means(controller, role)
    means.subrates = isExclusive && controller.subrates
    return start(into: &effects)
  }

  private mutating func start(into effects: inout [Effect<LinkEffect>]) -> Bool {
    let needsFeatures =
      switch priority {
      case .throughput: means.dataLength != nil || means.has2M
      case .balanced: false
      case .lowPower: means.subrates
      }
    guard needsFeatures, peerFeatures == nil else { return setDataLength(into: &effects) }
    guard means.readsFeatures else { return features([.dataPacketLengthExtension, .le2MPHY], into: &effects) }
    step = .features
    send(HCI.LEReadRemoteFeatures { $0.connectionHandle = handle }, into: &effects)
    return false
  }

  /// The peer's controller has these features, as far as known.
  private mutating func features(_ found: HCI.LEFeatures, into effects: inout [Effect<LinkEffect>]) -> Bool {
    peerFeatures = found
    return setDataLength(into: &effects)
  }

  private mutating func setDataLength(into effects: inout [Effect<LinkEffect>]) -> Bool {
    guard priority == .throughput, let longest = means.dataLength,
      peerFeatures?.contains(.dataPacketLengthExtension) == true
    else { return setPHY(into: &effects) }
    step = .dataLength
    let command = HCI.LESetDataLength {
      ($0.connectionHandle, $0.txOctets, $0.txTime) = (handle, longest.octets, longest.time)
    }
    send(command, into: &effects)
    return false
  }

  private mutating func setPHY(into effects: inout [Effect<LinkEffect>]) -> Bool {
    let wants2M = priority == .throughput
    guard wants2M ? means.has2M && peerFeatures?.contains(.le2MPHY) == true : isOn2M else {
      return finish(into: &effects)
    }
    step = .phy
    isOn2M = wants2M
    let phys: HCI.PHYs = wants2M ? .le2M : .le1M
    send(PHYPreference(transmit: phys, receive: phys).command(for: handle), into: &effects)
    return false
  }

  private mutating func finish(into effects: inout [Effect<LinkEffect>]) -> Bool {
    step = .none
    guard repeats else { return true }
    repeats = false
    return start(into: &effects)
  }

  private func send(_ command: some HCICommand, into effects: inout [Effect<LinkEffect>]) {
    effects.append(.command(command, for: .link(peer, .tuning)))
  }

  /// Takes the answer to a command.
  ///
  /// - Returns: whether only the timing is left.
  mutating func answered(
    _ opcode: HCIOpcode, _ status: HCIErrorCode, into effects: inout [Effect<LinkEffect>]
  ) -> Bool {
    if status != .success { report(opcode, status, into: &effects) }
    switch (step, opcode) {
    // The peer may have the features.
    case (.features, .leReadRemoteFeatures) where status != .success:
      return features([.dataPacketLengthExtension, .le2MPHY], into: &effects)
    case (.dataLength, .leSetDataLength): return setPHY(into: &effects)
    case (.phy, .leSetPHY) where status != .success: return finish(into: &effects)
    case (.subrating, .leSubrateRequest) where status != .success:
      isSubrated = false
      return finish(into: &effects)
    // An event follows, or the answer is to a command of an earlier step.
    default: return false
    }
  }

  /// Takes an event of the controller about the link.
  ///
  /// - Returns: whether only the timing is left.
  mutating func received(_ event: LinkEvent, into effects: inout [Effect<LinkEffect>]) -> Bool {
    switch (step, event) {
    case (.features, .readRemoteFeaturesComplete(let event)):
      guard event.status != .success else { return features(event.features, into: &effects) }
      report(.leReadRemoteFeatures, event.status, into: &effects)
      return features([.dataPacketLengthExtension, .le2MPHY], into: &effects)
    case (.phy, .phyUpdateComplete(let event)):
      if event.status != .success { report(.leSetPHY, event.status, into: &effects) }
      return finish(into: &effects)
    case (_, .subrateChange(let event)):
      if event.status == .success { factor = max(1, event.subrateFactor) }
      guard step == .subrating else { return false }
      if event.status != .success { report(.leSubrateRequest, event.status, into: &effects) }
      isSubrated = event.status == .success
      return finish(into: &effects)
    case (.none, .connectionUpdateComplete(let event)) where awaitsInterval:
      awaitsInterval = false
      if event.status != .success { isSubrated = false }
      return true
    // No other event ends the step.
    default: return false
    }
  }

  /// Whether a request for the subrating of the priority is outstanding.
  var isSubrating: Bool { step == .subrating }

  /// Whether the priority is subrating of short intervals.
  private var wantsSubrating: Bool {
    priority == .lowPower && means.subrates && isSubrated != false
      && peerFeatures?.isSuperset(of: [.connectionSubrating, .connectionSubratingHostSupport]) == true
  }

  /// The subrating to request; nil if the one in force is as good, if the link needs a shorter interval first, or if
  /// there was an answer already.
  mutating func takeSubrating(_ timing: LinkTiming) -> SubratingParameters? {
    guard step == .none, isSubrated == nil else { return nil }
    let wanted: SubratingParameters
    if wantsSubrating {
      guard let parameters = ConnectionPriority.lowPowerSubrating(of: timing) else { return nil }
      wanted = parameters
    } else {
      wanted = SubratingParameters(factor: 1...1)
    }
    guard !wanted.factor.contains(factor) || (factor > 1 && timing.latency != wanted.latency) else { return nil }
    step = .subrating
    return wanted
  }

  /// The timing to request; nil if the one in force is as good.
  mutating func takeTiming(_ timing: LinkTiming, _ packets: LinkPackets) -> ConnectionParameters? {
    if wantsSubrating {
      if timing.interval <= ConnectionPriority.subratedIntervals.upperBound { return nil }
      (requested, isRequesting, awaitsInterval) = (ConnectionParameters(), true, true)
      return requested
    }
    let wanted = priority.parameters(role, packets)
    if wanted.interval.contains(timing.interval), wanted.latency == timing.latency { return nil }
    // The central has chosen a shorter interval that carries as much.
    if role == .peripheral, priority == .throughput, timing.latency == 0, timing.interval <= wanted.interval.lowerBound,
      packets.share(of: timing.interval) >= packets.share(of: wanted.interval.lowerBound)
    {
      return nil
    }
    (requested, isRequesting) = (wanted, true)
    return wanted
  }

  /// The timing to request after a change of the packets; nil if the link keeps its timing.
  mutating func takeTimingAnew(_ timing: LinkTiming, _ packets: LinkPackets) -> ConnectionParameters? {
    guard priority == .throughput, step == .none, followsPackets, !isRequesting,
      priority.parameters(role, packets) != requested
    else { return nil }
    return takeTiming(timing, packets)
  }

  /// The timing has changed. One that was not requested here comes from a program or from the peer: it stays.
  mutating func timingUpdated() {
    if !isRequesting { followsPackets = false }
    isRequesting = false
  }

  mutating func timingFailed() { isRequesting = false }

  /// Whether the next LE PHY Update Complete answers this machine.
  var tunesPHY: Bool { step == .phy }

  private func report(_ opcode: HCIOpcode, _ status: HCIErrorCode, into effects: inout [Effect<LinkEffect>]) {
    let text = "\(HostError.controller(opcode, status)); the other settings of the priority \(priority) follow"
    effects.append(.report(.controller, text, peer: peer))
  }
}

extension LinkTuning.Means {
  fileprivate init(_ controller: ControllerCapabilities, _ role: ConnectedLink.Role) {
    let longest = controller.maximumDataLength
    if controller.leFeatures.contains(.dataPacketLengthExtension),
      controller.commands.contains(HCI.LESetDataLength.self),
      longest.supportedMaxTXOctets > 27
    {
      dataLength = (longest.supportedMaxTXOctets, longest.supportedMaxTXTime)
    }
    has2M = controller.phys.contains(.le2M) && controller.commands.contains(HCI.LESetPHY.self)
    // A peripheral may ask only where its controller has the procedure (Vol 6, Part B, 5.1.4).
    readsFeatures =
      controller.commands.contains(HCI.LEReadRemoteFeatures.self)
      && (role == .central || controller.leFeatures.contains(.peripheralInitiatedFeaturesExchange))
  }
}

/// The priority of a link, whose last step is its timing.
extension LinkSignalling {
  /// Whether the next LE PHY Update Complete is for the priority alone.
  var tunesPHY: Bool { tuning?.tunesPHY == true }

  /// Begins to bring the link to a priority.
  mutating func prioritize(
    _ priority: ConnectionPriority, for owner: OwnerID, _ role: ConnectedLink.Role,
    _ controller: ControllerCapabilities, factor: UInt16, _ turn: inout LinkTurn
  ) {
    if tuning == nil { tuning = LinkTuning(priority, peer: peer, handle: handle, role: role) }
    tuning?.factor = factor
    let isExclusive = !framesEndAtKernel
    tune(&turn) { $0.begin(priority, for: owner, controller, isExclusive: isExclusive, into: &$1) }
  }

  /// Runs the machine, and requests the subrating or the timing if only these are left and the link has others.
  mutating func tune(
    _ turn: inout LinkTurn, _ body: (inout LinkTuning, inout [Effect<LinkEffect>]) -> Bool
  ) {
    guard var tuning else { return }
    let isTuned = body(&tuning, &turn.effects)
    let subrating = isTuned ? tuning.takeSubrating(timing) : nil
    let wanted = isTuned && subrating == nil ? tuning.takeTiming(timing, packets) : nil
    self.tuning = tuning
    if let subrating {
      turn.effects.append(.command(subrating.command(for: handle), for: .link(peer, .tuning)))
    }
    guard let wanted else { return }
    update(to: wanted, for: tuning.owner, now: turn.now, into: &turn.signalling, &turn.effects)
  }

  /// The packets of the link or its timing have changed: requests the interval that they fill best now, if the link has
  /// the priority of throughput.
  mutating func followPackets(_ turn: inout LinkTurn) {
    guard var tuning else { return }
    let wanted = tuning.takeTimingAnew(timing, packets)
    self.tuning = tuning
    guard let wanted else { return }
    update(to: wanted, for: tuning.owner, now: turn.now, into: &turn.signalling, &turn.effects)
  }
}
