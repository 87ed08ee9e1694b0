import BLEHCI
import BLEL2CAP
import BLEWire

/// The timing of one link, and the requests to change it: of the link layers (Vol 4, Part E, 7.8.18), and on the
/// signalling channel of L2CAP (Vol 3, Part A, 4.20).
///
/// A peripheral asks over L2CAP only if a controller or a host of the two lacks the link layer's procedure (4.20; Vol
/// 6, Part B, 5.1.7). Our controller reports that in its features, the central in its answer.
///
/// ```
///   update ── central ─────► LE Connection Update ── Connection Update Complete ──► updated, or refused
///          ── peripheral ──► LE Connection Update ── refused as unsupported ──┐
///          ── peripheral without the procedure ───────────────────────────────┴► Connection Parameter Update Request
///                                                                                  └ rejected, no answer ──► refused
/// ```
struct LinkSignalling: Sendable {
  let peer: LinkID
  let handle: ConnectionHandle
  /// Whether the central decides. Where the kernel has the controller its commands are the only way.
  private let asksCentral: Bool
  /// Whether the central is asked by the link layer: our controller has the procedure, and the central has not refused
  /// it as unsupported.
  var asksByLinkLayer = false
  /// The parameters that the link layer asks the central for, until it has answered.
  private var asked: ConnectionParameters?
  /// Whether frames of channels end at the kernel, which divides SDUs anew for the link
  /// (Docs/Decisions/kernel.md#channels).
  let framesEndAtKernel: Bool
  /// It has the credit-based channels of the link, too: ``LinkChannels`` uses it.
  var channel: SignallingChannel
  var channels: LinkChannels
  /// Whether the peer may open enhanced ATT bearers.
  var allowsBearers = false
  /// The owner of the last request for other parameters.
  private var owner = OwnerID.process
  private(set) var timing: LinkTiming
  var packets = LinkPackets() {
    didSet { fillPackets() }
  }
  /// Made by the first priority that the link is given.
  var tuning: LinkTuning? {
    get { tunings.first }
    set { tunings = newValue.map { [$0] } ?? [] }
  }
  /// ``tuning``, in memory of its own: most links have none.
  private var tunings: [LinkTuning] = []

  init(
    peer: LinkID, handle: ConnectionHandle, role: ConnectedLink.Role, timing: LinkTiming,
    _ ownership: ControllerOwnership
  ) {
    (self.peer, self.handle, self.timing) = (peer, handle, timing)
    channels = LinkChannels(peer: peer)
    channel = SignallingChannel(role: role == .central ? .central : .peripheral)
    asksCentral = role == .peripheral && ownership == .exclusive
    framesEndAtKernel = ownership == .sharedWithKernel
    fillPackets()
  }

  /// Frames of channels fill the packets of the link, whose length the controller reports only when it changes.
  private mutating func fillPackets() {
    if !framesEndAtKernel { channel.channels.packetLength = packets.dataLength.transmitOctets }
  }

  /// When ``tick(now:into:)`` has work, or the requests for channels have.
  var deadline: Instant? { .nearer(channel.deadline, channels.openings.deadline) }

  /// Takes one PDU of the signalling channel. The response follows the commands that it leads to.
  ///
  /// - Returns: what it means for credit-based channels.
  mutating func receive(
    _ pdu: Span<UInt8>, now: Instant, into frames: inout PacketBuffer, _ effects: inout [Effect<LinkEffect>]
  ) -> [CreditBasedChannels.Effect] {
    var found: [SignallingChannel.Effect] = []
    channel.receive([UInt8](copying: pdu)[...], now: now, into: &frames, effects: &found)
    for effect in found {
      if case .parameterUpdateRequested(let request) = effect {
        channel.answerParameterUpdate(accepted: true, into: &frames)
        let parameters = ConnectionParameters(
          interval: request.intervalMin...max(request.intervalMin, request.intervalMax), latency: request.latency,
          supervisionTimeout: request.timeout)
        command(parameters, for: .process, into: &effects)
      } else {
        finish(effect, into: &effects)
      }
    }
    return found.compactMap { $0.ofChannels }
  }

  /// - Returns: what it means for credit-based channels.
  mutating func tick(now: Instant, into effects: inout [Effect<LinkEffect>]) -> [CreditBasedChannels.Effect] {
    var found: [SignallingChannel.Effect] = []
    channel.tick(now: now, effects: &found)
    for effect in found { finish(effect, into: &effects) }
    return found.compactMap { $0.ofChannels }
  }

  private func finish(_ effect: SignallingChannel.Effect, into effects: inout [Effect<LinkEffect>]) {
    guard case .parameterUpdateFinished(let outcome) = effect, outcome != .accepted else { return }
    refuse(.peerRefused("\(outcome)"), to: owner, into: &effects)
  }

  /// An owner asks for other parameters.
  mutating func update(
    to parameters: ConnectionParameters, for owner: OwnerID, now: Instant, into frames: inout PacketBuffer,
    _ effects: inout [Effect<LinkEffect>]
  ) {
    guard parameters.isValid else {
      let text = "connection parameters outside Vol 4, Part E, 7.8.18: \(parameters)"
      return refuse(.invalidParameters(text), to: owner, into: &effects)
    }
    guard asksCentral else { return command(parameters, for: owner, into: &effects) }
    guard asksByLinkLayer else { return request(parameters, for: owner, now: now, into: &frames, &effects) }
    guard asked == nil else {
      return refuse(.invalidParameters("\(SignallingChannel.RequestRefusal.outstanding)"), to: owner, into: &effects)
    }
    asked = parameters
    command(parameters, for: owner, into: &effects)
  }

  /// Asks the central over L2CAP.
  private mutating func request(
    _ parameters: ConnectionParameters, for owner: OwnerID, now: Instant, into frames: inout PacketBuffer,
    _ effects: inout [Effect<LinkEffect>]
  ) {
    var request = ConnectionParameterUpdateRequest()
    request.intervalMin = parameters.interval.lowerBound
    request.intervalMax = parameters.interval.upperBound
    request.latency = parameters.latency
    request.timeout = parameters.supervisionTimeout
    do throws(SignallingChannel.RequestRefusal) {
      try channel.requestParameterUpdate(request, now: now, into: &frames)
      self.owner = owner
    } catch {
      refuse(.invalidParameters("\(error)"), to: owner, into: &effects)
    }
  }

  private mutating func command(
    _ parameters: ConnectionParameters, for owner: OwnerID, into effects: inout [Effect<LinkEffect>]
  ) {
    self.owner = owner
    let command = HCI.LEConnectionUpdate {
      $0.connectionHandle = handle
      $0.parameters = parameters.wire
    }
    effects.append(.command(command, for: .link(peer, .connectionUpdate(owner))))
  }

  private func refuse(_ error: HostError, to owner: OwnerID, into effects: inout [Effect<LinkEffect>]) {
    effects.append(.event(.link(peer, .connectionUpdateRefused(error)), to: owner.recipient))
  }

  /// The link layers have changed the timing, or could not (Vol 4, Part E, 7.7.65.3).
  mutating func updated(
    _ event: HCI.LEConnectionUpdateComplete, now: Instant, into frames: inout PacketBuffer,
    _ effects: inout [Effect<LinkEffect>]
  ) {
    guard event.status == .success else {
      return updateFailed(event.status, for: owner, now: now, into: &frames, &effects)
    }
    tuning?.timingUpdated()
    asked = nil
    timing = LinkTiming(
      interval: event.connectionInterval, latency: event.peripheralLatency, supervisionTimeout: event.supervisionTimeout
    )
    effects.append(.event(.link(peer, .connectionUpdated(timing)), to: .everyone))
  }

  /// New subrating has a latency and a supervision timeout.
  mutating func apply(_ subrating: LinkSubrating) {
    (timing.latency, timing.supervisionTimeout) = (subrating.latency, subrating.supervisionTimeout)
  }

  /// A new connection rate has an interval, too. It was requested for itself: packets do not change it.
  mutating func apply(_ rate: LinkRate) {
    timing = LinkTiming(rate)
    tuning?.factor = rate.subrating.factor
    tuning?.followsPackets = false
  }

  /// The controller has not taken LE Connection Update, or the procedure has failed.
  mutating func updateFailed(
    _ status: HCIErrorCode, for owner: OwnerID, now: Instant, into frames: inout PacketBuffer,
    _ effects: inout [Effect<LinkEffect>]
  ) {
    tuning?.timingFailed()
    let asked = self.asked.take()
    if let asked, Self.isUnsupported(status) {
      asksByLinkLayer = false
      return request(asked, for: owner, now: now, into: &frames, &effects)
    }
    let isRejected = asked != nil && status == .unacceptableConnectionParameters
    let error: HostError = isRejected ? .peerRefused("\(status)") : .controller(.leConnectionUpdate, status)
    refuse(error, to: owner, into: &effects)
  }

  /// Whether an error says that a controller or the central's host lacks the procedure. The central's controller
  /// rejects a request with Unsupported Remote Feature (0x1A) where its host has masked the event (Vol 6, Part B,
  /// 5.1.7.2).
  private static func isUnsupported(_ status: HCIErrorCode) -> Bool {
    [.unsupportedRemoteFeature, .unsupportedFeatureOrParameterValue, .unknownCommand].contains(status)
  }

  /// The answer to the peer's link layer, which requests other parameters (Vol 4, Part E, 7.7.65.6): they are accepted
  /// if they are valid.
  static func answer(to request: HCI.LERemoteConnectionParameterRequest) -> EncodedCommand {
    let parameters = ConnectionParameters(
      interval: request.intervalMin...max(request.intervalMin, request.intervalMax), latency: request.maxLatency,
      supervisionTimeout: request.timeout)
    guard request.intervalMin <= request.intervalMax, parameters.isValid else {
      return .init(
        HCI.LERemoteConnectionParameterRequestNegativeReply {
          $0.connectionHandle = request.connectionHandle
          $0.reason = .unacceptableConnectionParameters
        })
    }
    return .init(
      HCI.LERemoteConnectionParameterRequestReply {
        $0.connectionHandle = request.connectionHandle
        $0.parameters = parameters.wire
      })
  }
}

extension SignallingChannel.Effect {
  /// The event of credit-based channels; nil for another one.
  fileprivate var ofChannels: CreditBasedChannels.Effect? {
    if case .channel(let effect) = self { effect } else { nil }
  }
}
