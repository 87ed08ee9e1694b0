internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// A new link, from the perspective of one end.
struct NewVirtualLink: Sendable {
  /// The identifier, equal on both ends.
  let id: UInt64
  let role: HCI.Role
  /// The address that this end used.
  let ownAddress: DeviceAddress
  /// The address that the other end used.
  let peerAddress: DeviceAddress
  /// The slot of the other end's controller.
  let peer: Int
  /// The RSSI of the other end, in dBm.
  let rssi: Int8
  /// The transmit power of this end.
  let power: LinkPower
  let timing: LinkLayerTiming
  /// The PHY on which the link begins.
  let phy: HCI.PHY
  /// Advertising_Handle of the peripheral's set; nil for the advertisement of the legacy commands.
  let advertisingHandle: UInt8?
  /// The features of the other end, which the controllers exchange at the beginning of the link.
  let peerFeatures: HCI.LEFeatures
}

/// One end of a link: its procedures, and the PDUs that it must send.
///
/// It routes commands from the host and PDUs from the peer to the procedure that they belong to. A procedure appends
/// effects to the ``ProcedureTurn``, and ``perform(effectsOf:_:)`` performs them.
struct VirtualLink: Sendable {
  static let allChannels: UInt64 = 0x1F_FFFF_FFFF

  /// The identifier, equal on both ends.
  let id: UInt64
  let handle: ConnectionHandle
  let role: HCI.Role
  /// The slot of this end's controller.
  let slot: Int
  /// The slot of the other end's controller.
  let peer: Int
  /// The peer's address as reported to the host.
  let peerAddress: DeviceAddress
  /// The RSSI of the other end, in dBm.
  private(set) var rssi: Int8
  let peerFeatures: HCI.LEFeatures
  /// The beginning of the link. Without airtime, connection events follow at the interval.
  private let anchor: Instant

  private var update: ConnectionUpdate
  private var dataLength = DataLengthUpdate()
  private var phy: PHYUpdate
  private var subrate: SubrateUpdate
  private var power: LinkPower
  private var rate: ConnectionRateUpdate
  private var encryption = LinkEncryption()
  private(set) var channelMap = Self.allChannels
  /// In units of 10 ms.
  private(set) var authenticatedPayloadTimeout: UInt16 = 3000

  private var queue = TransmitQueue()
  /// The next connection event, if something waits for it; not used with airtime.
  private var nextEvent: Instant?
  /// The end of the events that are used after one with data, on a subrated link; not used with airtime.
  private var continuationEnd = Instant.start
  /// The reason in the peer's LL_TERMINATE_IND, with airtime. The link ends when this end has acknowledged the PDU.
  private(set) var terminationReason: HCIErrorCode?
  /// The time at which a link that is out of range ends; nil for a link that is in range.
  private var supervisionEnd: Instant?
  /// The reason that is then reported to the host.
  private var supervisionReason = HCIErrorCode.connectionTimeout

  /// - Parameters:
  ///   - peerAddress: the peer's address as reported to the host.
  ///   - slot: the slot of this end's controller.
  ///   - subrating: the subrating that the central accepts from its peripheral.
  ///   - rate: the connection rate that it accepts.
  init(
    _ link: NewVirtualLink, handle: ConnectionHandle, peerAddress: DeviceAddress, slot: Int,
    accepting subrating: HCI.SubrateParameters, _ rate: HCI.ConnectionRateParameters, now: Instant
  ) {
    id = link.id
    self.handle = handle
    role = link.role
    self.slot = slot
    peer = link.peer
    self.peerAddress = peerAddress
    rssi = link.rssi
    peerFeatures = link.peerFeatures
    anchor = now
    update = ConnectionUpdate(timing: link.timing)
    phy = PHYUpdate(link.phy)
    subrate = SubrateUpdate(accepted: subrating)
    power = link.power
    self.rate = ConnectionRateUpdate(accepted: rate)
  }

  var transmitPHY: HCI.PHY { phy.transmit }
  var receivePHY: HCI.PHY { phy.receive }
  var isCut: Bool { supervisionEnd != nil }

  // MARK: Commands of the host

  /// The error for LE Connection Update; nil if the update may begin.
  func refusal(of parameters: HCI.ConnectionParameters, _ turn: ProcedureTurn) -> HCIErrorCode? {
    update.refusal(of: parameters, turn)
  }

  mutating func requestUpdate(_ parameters: HCI.ConnectionParameters, _ turn: inout ProcedureTurn) {
    update.begin(parameters, &turn)
  }

  /// Whether the host must answer a connection parameter request from the peripheral.
  var awaitsParameterReply: Bool { update.awaitsHost(as: role) }

  mutating func acceptParameters(_ parameters: HCI.ConnectionParameters, _ turn: inout ProcedureTurn) {
    update.accept(parameters, &turn)
  }

  mutating func rejectParameters(_ reason: HCIErrorCode, _ turn: inout ProcedureTurn) { update.reject(reason, &turn) }

  mutating func requestDataLength(_ length: DataLength, _ turn: inout ProcedureTurn, _ pacing: VirtualRadio.Pacing) {
    dataLength.request(length, &turn, pacing)
  }

  /// The error for LE Subrate Request; nil if the request may begin.
  func refusal(of parameters: HCI.SubrateParameters, _ turn: ProcedureTurn) -> HCIErrorCode? {
    subrate.refusal(of: parameters, update.timing, turn)
  }

  mutating func requestSubrate(_ parameters: HCI.SubrateParameters, _ turn: inout ProcedureTurn) {
    subrate.request(parameters, &turn)
  }

  /// The error for LE Connection Rate Request; nil if the request may begin.
  func refusal(of parameters: HCI.ConnectionRateParameters, _ turn: ProcedureTurn) -> HCIErrorCode? {
    rate.refusal(of: parameters, turn)
  }

  mutating func requestRate(_ parameters: HCI.ConnectionRateParameters, _ turn: inout ProcedureTurn) {
    rate.request(parameters, &turn)
  }

  // MARK: Transmit power and path loss

  /// The transmit power of this end, in dBm.
  var transmitPower: Int8 { power.level }
  private var measuredPath: PathMeasurement { PathMeasurement(rssi: rssi, interval: update.timing.intervalDuration) }

  /// The error for LE Read Remote Transmit Power Level; nil if it can be performed.
  func refusal(of command: HCI.LEReadRemoteTransmitPowerLevel, _ turn: ProcedureTurn) -> HCIErrorCode? {
    power.refusal(command, turn)
  }

  mutating func readRemotePower(
    on phy: UInt8, _ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext
  ) {
    power.readRemote(on: phy, peerFeatures, &turn, &context)
  }

  mutating func setPowerReporting(_ command: HCI.LESetTransmitPowerReportingEnable, _ turn: inout ProcedureTurn) {
    power.setReporting(command, on: phy.radioPHY.powerNumber, peerFeatures, &turn)
  }

  mutating func setPathLoss(_ command: HCI.LESetPathLossReportingParameters) -> HCIErrorCode {
    power.setPathLoss(command)
  }

  var hasPathLossParameters: Bool { power.hasPathLossParameters }

  mutating func setPathLossReporting(
    _ isEnabled: Bool, _ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext
  ) {
    power.setPathLossReporting(
      isEnabled, on: phy.radioPHY.powerNumber, peerFeatures, measuredPath, &turn, &context)
  }

  /// Changes the transmit power of this end, in dBm.
  mutating func setTransmitPower(
    _ level: Int8, _ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext
  ) {
    power.set(level, on: phy.radioPHY.powerNumber, &turn, &context)
  }

  /// Changes the RSSI of the other end, in dBm.
  mutating func setRSSI(_ rssi: Int8) { self.rssi = rssi }

  /// Measures the path loss after a change of the path.
  mutating func measurePath(_ turn: ProcedureTurn, _ context: inout VirtualRadioContext) {
    power.measure(measuredPath, turn, &context)
  }

  /// Whether a zone of the path loss is due to be reported.
  func hasZoneDue(at now: Instant) -> Bool { power.deadline.map { $0 <= now } ?? false }

  mutating func reportZone(_ turn: ProcedureTurn, _ context: inout VirtualRadioContext) { power.tick(turn, &context) }

  // MARK: PHYs, channels and encryption

  mutating func requestPHY(_ command: HCI.LESetPHY, _ turn: inout ProcedureTurn) { phy.request(command, &turn) }

  /// Sends the channel map of the central. With airtime it takes effect at an instant, on both ends.
  mutating func requestChannelMap(_ map: UInt64, _ turn: inout ProcedureTurn, _ pacing: VirtualRadio.Pacing) {
    if pacing != .airtime { channelMap = map }
    turn.send(.channelMap(map))
  }

  /// Whether LE Enable Encryption is allowed.
  var mayBeginEncryption: Bool { encryption.mayBegin(as: role) }

  mutating func beginEncryption(
    _ command: HCI.LEEnableEncryption, diversifier: UInt128, _ turn: inout ProcedureTurn, _ pacing: VirtualRadio.Pacing
  ) {
    encryption.begin(command, diversifier: diversifier, &turn, pacing)
  }

  /// Whether the host must answer a request for the long term key.
  var awaitsKey: Bool { encryption.awaitsKey }

  mutating func reply(with longTermKey: UInt128, _ turn: inout ProcedureTurn, _ cryptography: any Cryptography) {
    encryption.reply(with: longTermKey, &turn, cryptography)
  }

  mutating func rejectKeyRequest(_ turn: inout ProcedureTurn) { encryption.reject(&turn) }

  /// - Parameter timeout: in units of 10 ms.
  mutating func setAuthenticatedPayloadTimeout(_ timeout: UInt16) { authenticatedPayloadTimeout = timeout }

  // MARK: PDUs of the peer

  /// Receives a control PDU from the peer.
  mutating func receive(_ pdu: LinkLayerPDU, _ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext) {
    switch pdu {
    case .terminate(let reason): turn.end(reason)
    case .silence: cut(&context)
    case .integrityFailure: turn.end(.terminatedMICFailure)
    case .readyForData:
      queue.unblock()
      releaseData(&context)
    case .connectionUpdate(let timing): apply(timing, turn, &context)
    case .connectionParameterRequest(let parameters): update.receiveRequest(parameters, &turn, &context)
    case .connectionParameterReject(let reason): update.receiveRejection(reason, turn, &context)
    case .encryptionRequest(let randomNumber, let encryptedDiversifier, let sessionKeyDiversifier):
      encryption.receiveRequest(
        randomNumber, encryptedDiversifier, sessionKeyDiversifier: sessionKeyDiversifier, &turn, &context)
    case .encryptionResponse: break
    case .encryptionReject(let reason): encryption.finish(reason, &turn, &context)
    case .startEncryption(let sessionKey): encryption.start(sessionKey, &turn, &context)
    case .encryptionStarted: encryption.receiveStarted(&turn, &context)
    case .pauseEncryptionRequest: encryption.pause(&turn)
    case .pauseEncryptionResponse: encryption.resume(&turn)
    case .lengthRequest(let length): dataLength.receiveRequest(length, &turn, &context)
    case .lengthResponse(let length): dataLength.receiveResponse(length, turn, &context)
    case .phyRequest(let transmit, let receive):
      phy.receiveRequest(transmit: transmit, receive: receive, &turn, &context)
    case .phyResponse(let transmit, let receive): turn.send(.phyUpdate(transmit: receive, receive: transmit))
    case .phyUpdate(let transmit, let receive): phy.apply(transmit: transmit, receive: receive, turn, &context)
    case .channelMap(let map): channelMap = map
    case .subrateRequest(let parameters): subrate.receiveRequest(parameters, update.timing, &turn)
    case .subrate(let subrating):
      guard turn.controller.supportsSubrating else { return turn.send(.subrateReject(.unsupportedRemoteFeature)) }
      apply(subrating, turn, &context)
    case .subrateReject(let reason): subrate.receiveRejection(reason, update.timing, turn, &context)
    case .powerControlRequest(let phy): power.receiveRequest(on: phy, &turn)
    case .powerControlResponse(let peer): power.receive(peer, isResponse: true, measuredPath, turn, &context)
    case .powerChange(let peer): power.receive(peer, isResponse: false, measuredPath, turn, &context)
    case .connectionRateRequest(let parameters): rate.receiveRequest(parameters, &turn)
    case .connectionRate(let new):
      if let reason = new.refusal(turn.controller) { return turn.send(.connectionRateReject(reason)) }
      apply(new, turn, &context)
    case .connectionRateReject(let reason): rate.receiveRejection(reason, update.timing, turn, &context)
    case .featurePageRequest(let page):
      let controller = turn.controller
      turn.send(.featurePageResponse(controller.announcedFeatures, controller.furtherFeatures, page: page))
    case .featurePageResponse(let features, let further, let page):
      turn.host.send(
        HCI.LEReadAllRemoteFeaturesComplete(handle, features, further, requestedPage: page), &context)
    case .featureRequest: turn.send(.featureResponse(turn.controller.announcedFeatures))
    case .featureResponse(let features):
      turn.host.send(
        HCI.LEReadRemoteFeaturesComplete {
          $0.connectionHandle = handle
          $0.features = features
        }, &context)
    case .featureReject: break
    case .versionRequest: turn.send(turn.controller.version)
    case .versionResponse(let version, let companyIdentifier, let subversion):
      turn.host.send(
        HCI.ReadRemoteVersionInformationComplete {
          $0.connectionHandle = handle
          $0.version = version
          $0.companyIdentifier = companyIdentifier
          $0.subversion = subversion
        }, &context)
    case .periodicSync: break  // The controller begins the synchronization.
    case .clockAccuracyRequest: turn.send(.clockAccuracyResponse)
    case .clockAccuracyResponse:
      turn.host.send(HCI.LERequestPeerSCAComplete { $0.connectionHandle = handle }, &context)
    }
  }

  /// Applies the effect that a PDU has on this end, its sender, after the peer has received it.
  mutating func acknowledge(_ pdu: LinkLayerPDU, _ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext) {
    switch pdu {
    case .terminate(let reason): turn.end(reason == .pinOrKeyMissing ? reason : .terminatedByLocalHost)
    case .connectionUpdate(let timing): apply(timing, turn, &context)
    case .subrate(let subrating): apply(subrating, turn, &context)
    case .connectionRate(let rate): apply(rate, turn, &context)
    // The other PDUs have an effect on their receiver alone.
    default: break
    }
  }

  /// Applies new timing on this end and reports it to the host.
  mutating func apply(_ timing: LinkLayerTiming, _ turn: ProcedureTurn, _ context: inout VirtualRadioContext) {
    update.apply(timing, turn, &context)
    if nextEvent != nil { nextEvent = connectionEvent(after: context.now) }
  }

  /// Applies new subrating on this end and reports it to the host.
  private mutating func apply(
    _ subrating: LinkLayerSubrating, _ turn: ProcedureTurn, _ context: inout VirtualRadioContext
  ) {
    let old = update.timing
    update.apply(subrating)
    subrate.applied(from: old, to: update.timing, turn, &context)
    if nextEvent != nil { nextEvent = connectionEvent(after: context.now) }
  }

  /// Applies a new connection rate on this end and reports it to the host.
  private mutating func apply(_ new: LinkLayerRate, _ turn: ProcedureTurn, _ context: inout VirtualRadioContext) {
    let old = update.timing
    update.apply(new)
    rate.applied(from: old, to: update.timing, turn, &context)
    if nextEvent != nil { nextEvent = connectionEvent(after: context.now) }
  }

  /// Performs the effects of a turn, except the end of the link.
  ///
  /// - Returns: the reason for which the link ends; nil if it does not end.
  mutating func perform(effectsOf turn: ProcedureTurn, _ context: inout VirtualRadioContext) -> HCIErrorCode? {
    for effect in turn.effects {
      switch effect {
      case .send(let pdu): send(pdu, &context)
      case .releaseData: releaseData(&context)
      case .end(let reason): return reason
      }
    }
    return nil
  }

  // MARK: Sending

  /// Sends a control PDU, at once or at the next connection event. A link that is out of range sends nothing.
  mutating func send(_ pdu: LinkLayerPDU, _ context: inout VirtualRadioContext) {
    guard !isCut else { return }
    if context.pacing == .immediate || pdu.isNoPDU {
      transmit(.control(pdu), &context)
    } else {
      queue.append(pdu)
      requestEvent(&context)
    }
  }

  /// Informs the peer that the host has free buffers again.
  func sendReadyForData(_ context: inout VirtualRadioContext) { transmit(.control(.readyForData), &context) }

  /// Whether the host may send a fragment: a continuation follows a start.
  mutating func admits(isStart: Bool) -> Bool { queue.admits(isStart: isStart) }

  /// Whether a packet can be sent at once: data does not wait, and no packet is before it.
  var isFreeForData: Bool { !holdsData && queue.packets.isEmpty }

  /// Whether data waits: the link is out of range, keys change (Vol 6, Part B, 5.1.3.1), or the peer's host has no
  /// buffer.
  private var holdsData: Bool { isCut || encryption.isInProgress || queue.isBlocked }

  /// Sends a packet, at once or from the next connection event on.
  mutating func send(_ packet: TransmitQueue.Packet, _ context: inout VirtualRadioContext) {
    queue.append(packet)
    releaseData(&context)
  }

  private mutating func releaseData(_ context: inout VirtualRadioContext) {
    guard !queue.packets.isEmpty, !holdsData else { return }
    if context.pacing == .immediate {
      transmitPackets(queue.packets.count, &context)
    } else {
      requestEvent(&context)
    }
  }

  private mutating func transmitPackets(_ count: Int, _ context: inout VirtualRadioContext) {
    for packet in queue.packets.prefix(count) { transmit(.data(packet), &context) }
    queue.removePackets(min(count, queue.packets.count))
  }

  private func transmit(_ payload: Transmission.Payload, _ context: inout VirtualRadioContext) {
    context.transmissions.append(.init(sender: slot, receiver: peer, link: id, payload: payload))
  }

  /// Whether a packet that the radio has taken stays in its buffer, because the peer's host has no free buffer, or had
  /// none for an earlier packet.
  var isBlocked: Bool { queue.isBlocked }

  mutating func putBack(_ packet: TransmitQueue.Packet) { queue.putBack(packet) }

  /// The packets that have not been sent completely.
  var packets: [TransmitQueue.Packet] { queue.packets }

  // MARK: Connection events

  /// Schedules the next connection event, because a PDU waits for it.
  private mutating func requestEvent(_ context: inout VirtualRadioContext) {
    if context.pacing == .airtime {
      context.connections.requestEvent(on: id, for: role, now: context.now)
    } else if nextEvent == nil {
      nextEvent = connectionEvent(after: context.now)
    }
  }

  /// The first connection event after `now`.
  private func connectionEvent(after now: Instant) -> Instant {
    guard now >= anchor else { return anchor }
    let interval = update.timing.intervalDuration
    let event = (now - anchor).wholeMultiples(of: interval) + 1
    let factor = Int(update.timing.subrateFactor)
    guard factor > 1, anchor + interval * event > continuationEnd else { return anchor + interval * event }
    return anchor + interval * ((event + factor - 1) / factor * factor)
  }

  /// Runs the connection event that is due, if there is one: it sends all control PDUs, and data packets up to the
  /// limit. It is not used with airtime.
  mutating func runEvent(_ context: inout VirtualRadioContext) {
    guard !isCut, let event = nextEvent, event <= context.now else { return }
    for pdu in queue.controls { transmit(.control(pdu), &context) }
    queue.removeControls()
    if case .connectionEvents(let limit) = context.pacing, !holdsData { transmitPackets(max(1, limit), &context) }
    continuationEnd = event + update.timing.intervalDuration * Int(update.timing.continuation)
    let isIdle = queue.packets.isEmpty || holdsData
    nextEvent = isIdle ? nil : connectionEvent(after: context.now)
  }

  // MARK: Connection events with airtime

  /// The PDU that this end sends next: control PDUs first, then data; nil if it has none.
  ///
  /// The previous PDU has been acknowledged, because the ends take turns and no packet is lost.
  var nextPacket: LinkLayerPacket? {
    guard !isCut, terminationReason == nil else { return nil }
    let isEncrypted = encryption.protectsPDUs(of: role)
    let mayData = !holdsData && !queue.packets.isEmpty
    if let pdu = queue.controls.first {
      return LinkLayerPacket(
        content: .control(pdu), airtime: phy.radioPHY.airtime(payload: pdu.length, isEncrypted: isEncrypted),
        hasMoreData: queue.controls.count > 1 || mayData)
    }
    guard mayData, let first = queue.packets.first else { return nil }
    let rest = max(0, first.length - queue.sentOctets)
    let count = min(rest, greatestDataPayload)
    let isLast = count == rest
    return LinkLayerPacket(
      content: .data(offset: queue.sentOctets, count: count, isLast: isLast),
      airtime: phy.radioPHY.airtime(payload: count, isEncrypted: isEncrypted),
      hasMoreData: !isLast || queue.packets.count > 1)
  }

  /// The maximum payload of a data PDU in octets. It is limited by the data length (Vol 6, Part B, 4.5.10), and by half
  /// of a connection interval, so that both ends can send in each event.
  private var greatestDataPayload: Int {
    let least = DataLength.initial.octets
    var limit = Duration.microseconds(Int64(dataLength.transmit.time))
    // connEffectiveMaxTxTimeCoded is at least the airtime of 27 octets at S=8.
    if phy.radioPHY.isCoded { limit = max(limit, RadioPHY.codedS8.airtime(payload: Int(least), isEncrypted: true)) }
    limit = min(limit, (update.timing.intervalDuration - RadioPHY.interFrameSpace * 2) / 2)
    let fitting = phy.radioPHY.greatestPayload(within: limit, isEncrypted: encryption.protectsPDUs(of: role))
    let longest = min(Int(dataLength.transmit.octets), fitting)
    // Half of a short interval may not hold the 27 octets of every data length.
    return update.timing.isShort ? max(1, longest) : max(Int(least), longest)
  }

  /// The empty PDU that this end sends if it has no PDU, or if its PDU does not fit.
  func emptyPacket(hasMoreData: Bool) -> LinkLayerPacket {
    LinkLayerPacket(content: .empty, airtime: phy.radioPHY.airtime(payload: 0), hasMoreData: hasMoreData)
  }

  /// Whether this end needs a connection event: it has a PDU to send, waits for an acknowledgement, or must acknowledge
  /// LL_TERMINATE_IND.
  var needsEvent: Bool { queue.unacknowledged != nil || terminationReason != nil || nextPacket != nil }

  /// Records that the peer has received a PDU from this end. The peer acknowledges it with its next packet.
  mutating func sent(_ content: LinkLayerPacket.Content) { queue.sent(content) }

  /// Stops data until the peer's host has a free buffer.
  mutating func block() { queue.block() }

  /// Completes the PDU that the peer has acknowledged. LL_TERMINATE_IND ends the link.
  ///
  /// - Returns: the ACL packet whose last PDU was acknowledged; its buffer is free.
  mutating func receiveAcknowledgement(
    _ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext
  ) -> TransmitQueue.Packet? {
    switch queue.acknowledged() {
    case .control(.terminate(let reason)):
      acknowledge(.terminate(reason), &turn, &context)
      return nil
    case .data(_, _, isLast: true): return queue.completeFirst()
    default: return nil  // The others complete no packet of the host.
    }
  }

  /// Stores the reason in LL_TERMINATE_IND until this end has acknowledged it.
  mutating func receiveTermination(_ reason: HCIErrorCode) { terminationReason = reason }

  /// Whether an LL_PHY_UPDATE_IND for this end would change nothing.
  func isUnchanged(transmit: HCI.PHY, receive: HCI.PHY) -> Bool {
    phy.isUnchanged(transmit: transmit, receive: receive)
  }

  /// Applies a change at its instant: new timing, new PHYs from the perspective of this end, or a new channel map.
  mutating func apply(_ change: LinkLayerPDU, _ turn: ProcedureTurn, _ context: inout VirtualRadioContext) {
    switch change {
    case .connectionUpdate(let timing): apply(timing, turn, &context)
    case .phyUpdate(let transmit, let receive): phy.apply(transmit: transmit, receive: receive, turn, &context)
    case .channelMap(let map): channelMap = map
    // It has no instant, and takes effect on both ends in the event in which it is received.
    case .subrate(let subrating): apply(subrating, turn, &context)
    case .connectionRate(let rate): apply(rate, turn, &context)
    // The other PDUs have no instant.
    default: break
    }
  }

  // MARK: Supervision

  /// The time at which ``expiry(at:)``, ``runEvent(_:)`` or ``reportZone(_:_:)`` has something to do.
  var deadline: Instant? { supervisionEnd ?? .nearer(nextEvent, power.deadline) }

  /// Stops the link. It ends when the supervision timeout has elapsed.
  ///
  /// With airtime, the timeout counts from the latest event. A link that has had no event ends 6 intervals after its
  /// beginning (Vol 6, Part B, 4.5.2).
  mutating func cut(_ context: inout VirtualRadioContext) {
    guard !isCut else { return }
    var end = context.now + update.timing.supervisionTimeout
    if let connection = context.connections[id] {
      if connection.isEstablished {
        end = connection.schedule.latestAnchor(at: context.now) + update.timing.supervisionTimeout
      } else {
        end = anchor + update.timing.intervalDuration * 6
        supervisionReason = .connectionFailedToBeEstablished
      }
      context.connections.stop(id)
    }
    supervisionEnd = max(context.now, end)
  }

  /// The reason for which a link that is out of range ends now; nil if it does not end.
  func expiry(at now: Instant) -> HCIErrorCode? { supervisionEnd.flatMap { $0 <= now ? supervisionReason : nil } }
}
