import BLEWire

@testable import BLEL2CAP

/// Two ends of a link: signalling, credit-based channels and reassembly, with frames that a hostile end changes or
/// invents.
func fuzzChannels(_ input: inout FuzzInput) {
  var run = ChannelsRun()
  while !input.isEmpty, run.steps < ChannelsRun.stepLimit { run.step(&input) }
  run.finish()
}

private struct ChannelsRun {
  static let stepLimit = 300

  struct End {
    var signalling: SignallingChannel
    var reassembler = Reassembler(maximumPayload: 2048)
    /// The frames for this end.
    var inbox: [[UInt8]] = []
    var requests: [CreditBasedChannels.Request] = []
    /// The SDUs that each channel of this end has sent and the other end has not received.
    var sent: [ChannelID: [[UInt8]]] = [:]
    var opening: Set<UInt32> = []
    var unread: [ChannelID: Int] = [:]
    var hasReconfigured = false
  }

  /// One call of an end.
  struct Turn {
    let now: Instant
    var out = PacketBuffer()
    var effects: [SignallingChannel.Effect] = []
  }

  var ends: [End]
  var now = Instant.start
  var steps = 0
  var lastOpening: UInt32 = 0
  /// Whether a frame was changed or invented: the contents of channels may be lost then.
  var isTampered = false

  init() {
    var limits = CreditBasedChannels.Limits()
    (limits.channels, limits.waitingRequests, limits.queuedOctets) = (6, 2, 4096)
    ends = [SignallingChannel.Role.central, .peripheral].map {
      var signalling = SignallingChannel(role: $0, channels: limits)
      signalling.channels.services = [SPSM(rawValue: 0x80), SPSM(rawValue: 0x81)]
      return End(signalling: signalling)
    }
  }

  mutating func step(_ input: inout FuzzInput) {
    steps += 1
    let side = input.index(2)
    switch input.index(16) {
    case 0: open(side, &input)
    case 1, 2: decide(side, &input)
    case 3, 4: send(side, &input)
    case 5: if let channel = channel(side, &input) { read(side, channel) }
    case 6:
      guard let channel = channel(side, &input) else { break }
      let (mtu, mps) = (input.uint16() % 1024, input.uint16() % 300)
      call(side) { end, turn in
        try? end.signalling.reconfigure([channel], mtu: mtu, mps: mps, now: turn.now, into: &turn.out)
      }
    case 7:
      guard let channel = channel(side, &input) else { break }
      call(side) { $0.signalling.close(channel, now: $1.now, into: &$1.out, effects: &$1.effects) }
    case 8: inject(side, &input)
    case 9: fragment(side, input.counted(), boundary: input.octet() & 3)
    case 10:
      // After a timeout the ends differ about their channels.
      isTampered = true
      now = now + .seconds(Int64(input.index(35)))
      call(side) { $0.signalling.tick(now: $1.now, effects: &$1.effects) }
    case 11:
      var parameters = ConnectionParameterUpdateRequest()
      (parameters.intervalMin, parameters.intervalMax) = (24, 24 + UInt16(input.octet()))
      (parameters.latency, parameters.timeout) = (UInt16(input.octet()), input.uint16())
      call(side) { end, turn in
        try? end.signalling.requestParameterUpdate(parameters, now: turn.now, into: &turn.out)
      }
    case 12: call(side) { [flag = input.flag()] in $0.signalling.answerParameterUpdate(accepted: flag, into: &$1.out) }
    default: for _ in 0...input.index(20) { deliver(&input) }
    }
  }

  private func channel(_ side: Int, _ input: inout FuzzInput) -> ChannelID? {
    let open = ends[side].signalling.channels.open.keys.sorted { $0.rawValue < $1.rawValue }
    return open.isEmpty ? nil : input.element(of: open)
  }

  private func parameters(_ input: inout FuzzInput) -> CreditBasedChannel.Parameters {
    CreditBasedChannel.Parameters(
      mtu: 64 + UInt16(input.octet()) * 2, mps: 64 + UInt16(input.octet()) / 2, initialCredits: UInt16(input.index(8)))
  }

  private mutating func open(_ side: Int, _ input: inout FuzzInput) {
    lastOpening += 1
    let opening = SignallingChannel.ChannelOpening(
      spsm: SPSM(rawValue: 0x80 + UInt16(input.index(3))), mode: input.flag() ? .enhancedCreditBased : .leCreditBased,
      count: input.index(6), local: parameters(&input))
    let id = CreditBasedChannels.OpenID(rawValue: lastOpening)
    var isSent = false
    call(side) { end, turn in
      isSent = (try? end.signalling.open(opening, id, now: turn.now, into: &turn.out)) != nil
    }
    if isSent { ends[side].opening.insert(lastOpening) }
  }

  private mutating func decide(_ side: Int, _ input: inout FuzzInput) {
    guard !ends[side].requests.isEmpty else { return }
    let request = ends[side].requests.removeFirst()
    let local = parameters(&input)
    if input.index(5) == 0 {
      call(side) { $0.signalling.reject(request, .noResources, into: &$1.out) }
    } else {
      call(side) { $0.signalling.accept(request, local, into: &$1.out, effects: &$1.effects) }
    }
  }

  private mutating func send(_ side: Int, _ input: inout FuzzInput) {
    guard let channel = channel(side, &input) else { return }
    let sdu = [UInt8](repeating: UInt8(truncatingIfNeeded: steps), count: Int(input.uint16() % 600))
    if (try? ends[side].signalling.channels.send(sdu, on: channel)) != nil {
      ends[side].sent[channel, default: []].append(sdu)
    }
    check(side)
  }

  private mutating func read(_ side: Int, _ channel: ChannelID) {
    guard let unread = ends[side].unread[channel], unread > 0 else { return }
    ends[side].unread[channel] = unread - 1
    call(side) { $0.signalling.didRead(channel, into: &$1.out) }
  }

  /// A frame that the other end did not send.
  private mutating func inject(_ side: Int, _ input: inout FuzzInput) {
    isTampered = true
    switch input.index(3) {
    case 0:
      let types = SignallingPDU.packets
      func encoded<Packet: SignallingPacket>(_ type: Packet.Type) -> [UInt8] {
        let identifier = input.octet() % 8
        return Packet.random(from: &input).encodedPDU(identifier: identifier)
      }
      ends[side].inbox.insert(frame(.signalling, encoded(types[input.index(types.count)])), at: 0)
    case 1: ends[side].inbox.insert(frame(.signalling, input.counted()), at: 0)
    default:
      let channel = ChannelID(rawValue: 0x0040 + UInt16(input.index(8)))
      ends[side].inbox.insert(frame(channel, input.counted()), at: 0)
    }
  }

  private func frame(_ channel: ChannelID, _ payload: [UInt8]) -> [UInt8] {
    BasicFrame(channel: channel, payload: payload[...]).encoded
  }

  /// Delivers one frame to each end, in fragments, and lets its owner read.
  private mutating func deliver(_ input: inout FuzzInput) {
    for side in 0...1 {
      pump(side)
      guard !ends[side].inbox.isEmpty else { continue }
      let frame = ends[side].inbox.removeFirst()
      let size = 1 + Int(input.octet() == 0 ? 251 : input.octet())
      for start in stride(from: 0, to: frame.count, by: size) {
        fragment(side, Array(frame[start..<min(frame.count, start + size)]), boundary: start == 0 ? 2 : 1, isOwn: true)
      }
      for channel in ends[side].unread.keys.sorted(by: { $0.rawValue < $1.rawValue }) where !input.flag() {
        read(side, channel)
      }
    }
  }

  private mutating func fragment(_ side: Int, _ octets: [UInt8], boundary: UInt8, isOwn: Bool = false) {
    if !isOwn { isTampered = true }
    let outcome = ends[side].reassembler.receive(octets.span, packetBoundary: boundary)
    require(isTampered || outcome.dropped == nil, "a fragment was dropped: \(outcome)")
    switch outcome.frame {
    case .inFragment(let channel, let payload): receive(side, channel, Array(octets[payload]))
    case .assembled(let channel):
      let whole = ends[side].reassembler.takeFrame()
      require(whole.count <= 2048 + BasicFrame.headerLength, "a frame of \(whole.count) octets")
      receive(side, channel, Array(whole.dropFirst(BasicFrame.headerLength)))
      ends[side].reassembler.reuse(whole)
    case nil: break
    }
  }

  private mutating func receive(_ side: Int, _ channel: ChannelID, _ payload: [UInt8]) {
    if channel == .signalling {
      call(side) { $0.signalling.receive(payload[...], now: $1.now, into: &$1.out, effects: &$1.effects) }
    } else if channel.isDynamic {
      call(side) { $0.signalling.receive(payload.span, on: channel, now: $1.now, into: &$1.out, effects: &$1.effects) }
    }
  }

  private mutating func call(
    _ side: Int, _ body: (inout End, inout Turn) -> Void
  ) {
    var turn = Turn(now: now)
    body(&ends[side], &turn)
    let out = turn.out
    // One PDU may close each channel of the link.
    require(out.count <= 16, "\(out.count) signalling PDUs of one call")
    for index in 0..<out.count {
      let pdu = Array(out[index])
      require(pdu.count <= SignallingChannel.mtu, "a signalling PDU of \(pdu.count) octets")
      require((try? SignallingPDU(decoding: pdu[...])) != nil, "not a PDU: \(pdu.hexadecimal)")
      if ends[1 - side].inbox.count < 400 {
        ends[1 - side].inbox.append(frame(.signalling, pdu))
      } else {
        isTampered = true
      }
    }
    for effect in turn.effects { if case .channel(let effect) = effect { apply(effect, side) } }
    check(side)
  }

  private mutating func apply(_ effect: CreditBasedChannels.Effect, _ side: Int) {
    switch effect {
    case .requested(let request): ends[side].requests.append(request)
    case .opened(let channels, let id):
      if let id { require(ends[side].opening.remove(id.rawValue) != nil, "an opening ends twice") }
      for channel in channels { (ends[side].sent[channel], ends[side].unread[channel]) = ([], 0) }
    case .openFailed(let id, _):
      require(ends[side].opening.remove(id.rawValue) != nil, "an opening ends twice")
    case .received(let channel, let sdu):
      ends[side].unread[channel, default: 0] += 1
      plantedFault(
        ends[side].hasReconfigured && sdu.count > 300, "an SDU of more than 300 octets after a reconfiguration")
      guard !isTampered, let remote = ends[side].signalling.channels[channel]?.remoteCID else { return }
      require(ends[1 - side].sent[remote]?.first == sdu, "another SDU than the one sent on \(remote)")
      ends[1 - side].sent[remote]?.removeFirst()
    case .reconfigured: ends[side].hasReconfigured = true
    case .closed(let channel, let reason):
      ends[side].unread[channel] = nil
      if case .violation(let violation) = reason { require(isTampered, "a violation without one: \(violation)") }
    case .canSend, .reconfigurationFailed: break
    }
  }

  /// Moves the frames that the credits allow to the other end.
  private mutating func pump(_ side: Int) {
    var effects: [CreditBasedChannels.Effect] = []
    for _ in 0..<8 {
      guard let next = ends[side].signalling.channels.nextFrame(effects: &effects) else { break }
      ends[1 - side].inbox.append(frame(next.channel, next.payload))
    }
    for effect in effects { apply(effect, side) }
  }

  /// What holds after each step, whatever the other end did.
  private func check(_ side: Int) {
    let channels = ends[side].signalling.channels
    require(channels.count <= channels.limits.channels, "\(channels.count) channels")
    require(channels.requests.count <= channels.limits.waitingRequests, "\(channels.requests.count) requests wait")
    require(channels.outstanding.count <= 255, "\(channels.outstanding.count) requests have no response")
    for channel in channels.open.values {
      require(channel.queuedOctets <= channel.queueLimit + Int(UInt16.max), "\(channel.queuedOctets) octets wait")
      require(channel.queuedSDUs <= CreditBasedChannel.maximumQueuedSDUs, "\(channel.queuedSDUs) SDUs wait")
    }
  }

  /// The end of the link ends everything.
  mutating func finish() {
    for side in 0...1 {
      var effects: [CreditBasedChannels.Effect] = []
      ends[side].signalling.channels.linkEnded(effects: &effects)
      for effect in effects { apply(effect, side) }
      require(ends[side].opening.isEmpty, "an opening has no end")
      require(ends[side].signalling.channels.count == 0, "a channel without a link")
    }
  }
}
