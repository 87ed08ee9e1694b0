import BLEHCI
import BLEL2CAP
import BLEWire

/// The credit-based channels of one link, and the time in which their senders had no credits.
struct ChannelHistory {
  /// One direction of a channel.
  private struct Sender: Hashable {
    var direction: HCIPacketDirection
    /// The endpoint of the receiver.
    var channel: ChannelID
  }

  private struct Channel {
    var credits: Int
    var first: Int64
    var last: Int64
    /// The frame that has used the last credit.
    var empty: TraceEntry?
    /// A wait that has ended. It counts only if a frame follows at once: otherwise there was nothing to send.
    var ended: (seconds: Double, start: TraceEntry, end: TraceEntry)?
    var waited = 0.0
    var longest: (seconds: Double, start: TraceEntry, end: TraceEntry)?
  }

  private struct Request {
    var entry: TraceEntry
    var spsm: SPSM
    var credits: UInt16
    var endpoints: [ChannelID]
  }

  /// A request without a response: an identifier has one octet.
  private struct Identifier: Hashable {
    var direction: HCIPacketDirection
    var number: UInt8
  }

  private struct Refusal {
    var finding: TraceFinding
    var isAboutSecurity: Bool
  }

  /// The directions of channels that are kept of a link.
  static let senderLimit = 64
  /// The refused channels that are kept of a link.
  static let refusalLimit = 16
  /// The channels that one request can open (Vol 3, Part A, 4.25).
  private static let channelsOfRequest = 5

  private var channels: [Sender: Channel] = [:]
  private var requests: [Identifier: Request] = [:]
  private var refusals: [Refusal] = []
  private var slowest: (Sender, Channel)?

  mutating func add(_ pdu: SignallingPDU, _ entry: TraceEntry, of link: LinkName) {
    let opposite = entry.direction.opposite
    let own = Identifier(direction: entry.direction, number: pdu.identifier)
    let asked = Identifier(direction: opposite, number: pdu.identifier)
    switch pdu.command {
    case .leCreditBasedConnectionRequest(let packet):
      requests[own] = Request(
        entry: entry.withoutContent, spsm: packet.spsm, credits: packet.initialCredits, endpoints: [packet.sourceCID])
    case .creditBasedConnectionRequest(let packet):
      requests[own] = Request(
        entry: entry.withoutContent, spsm: packet.spsm, credits: packet.initialCredits,
        endpoints: Array(packet.sourceCIDs.prefix(Self.channelsOfRequest)))
    case .leCreditBasedConnectionResponse(let packet):
      guard let request = requests.removeValue(forKey: asked) else { break }
      guard packet.result == .successful else { return refuse(request, packet.result, entry, link) }
      open(request, [packet.destinationCID], packet.initialCredits, entry)
    case .creditBasedConnectionResponse(let packet):
      // A second response follows a pending one.
      let isPending = [.pending, .pendingAuthentication, .pendingAuthorization].contains(packet.result)
      guard !isPending, let request = requests.removeValue(forKey: asked) else { break }
      // Some of the channels can be open in spite of the result.
      let opened = packet.destinationCIDs.prefix(Self.channelsOfRequest).filter { $0 != .null }
      if opened.isEmpty, packet.result != .successful { return refuse(request, packet.result, entry, link) }
      open(request, Array(opened), packet.initialCredits, entry)
    case .flowControlCredit(let packet):
      let sender = Sender(direction: opposite, channel: packet.channel)
      guard var channel = channels[sender] else { break }
      if let empty = channel.empty { channel.ended = (elapsed(empty.time, entry.time), empty, entry.withoutContent) }
      channel.empty = nil
      channel.credits = min(65_535, channel.credits + Int(packet.credits))
      channels[sender] = channel
    case .disconnectionRequest(let packet):
      close(Sender(direction: entry.direction, channel: packet.destinationCID))
      close(Sender(direction: opposite, channel: packet.sourceCID))
    case .commandReject, .disconnectionResponse, .connectionParameterUpdateRequest, .connectionParameterUpdateResponse,
      .creditBasedReconfigureRequest, .creditBasedReconfigureResponse, .undeclared:
      break
    }
  }

  /// The link is encrypted: the demands of the devices so far have been met.
  mutating func encrypted() { refusals.removeAll { $0.isAboutSecurity } }

  private mutating func open(_ request: Request, _ endpoints: [ChannelID], _ credits: UInt16, _ entry: TraceEntry) {
    let senders =
      request.endpoints.map { (Sender(direction: entry.direction, channel: $0), request.credits) }
      + endpoints.map { (Sender(direction: entry.direction.opposite, channel: $0), credits) }
    for (sender, credits) in senders where channels.count < Self.senderLimit || channels[sender] != nil {
      channels[sender] = Channel(credits: Int(credits), first: entry.time, last: entry.time)
    }
  }

  private mutating func close(_ sender: Sender) {
    guard let channel = channels.removeValue(forKey: sender) else { return }
    if channel.waited > slowest?.1.waited ?? 0 { slowest = (sender, channel) }
  }

  /// A frame of a credit-based channel.
  mutating func data(on channel: ChannelID, _ entry: TraceEntry, _ parameters: LinkParameters) {
    let sender = Sender(direction: entry.direction, channel: channel)
    guard var channel = channels[sender] else { return }
    if let wait = channel.ended, elapsed(wait.end.time, entry.time) <= max(0.05, 2 * parameters.longestSilence) {
      channel.waited += wait.seconds
      if wait.seconds > channel.longest?.seconds ?? 0 { channel.longest = wait }
    }
    channel.ended = nil
    channel.credits = max(0, channel.credits - 1)
    if channel.credits == 0 { channel.empty = entry.withoutContent }
    channel.last = entry.time
    channels[sender] = channel
  }

  private mutating func refuse(
    _ request: Request, _ result: CreditBasedConnectionResult, _ entry: TraceEntry, _ link: LinkName
  ) {
    guard refusals.count < Self.refusalLimit else { return }
    let isAboutSecurity =
      [.insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort].contains(result)
    let owner = entry.direction == .controllerToHost ? "The peer" : "This host"
    let remedy: String? =
      switch result {
      case .spsmNotSupported: "The device does not listen on this SPSM: compare it with the service that announces it."
      case .insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort:
        "Pair with the device before: with this package, ble pair DEVICE --authenticated."
      case .insufficientAuthorization: "Allow the channel on the device."
      case .noResources: "Close other channels of the device, or try again later."
      default: nil
      }
    let finding = TraceFinding(
      kind: .refusal, link: link, peer: link.peer, time: entry.time,
      headline: "\(owner) refused a channel to \(request.spsm), \(result)",
      evidence: [.init(request.entry), .init(entry)], remedy: remedy)
    refusals.append(Refusal(finding: finding, isAboutSecurity: isAboutSecurity))
  }

  /// What the channels show at the end of the link or of the trace.
  mutating func findings(of link: LinkName) -> [TraceFinding] {
    for sender in Array(channels.keys) { close(sender) }
    return refusals.map { $0.finding } + (wait(of: link).map { [$0] } ?? [])
  }

  private func wait(of link: LinkName) -> TraceFinding? {
    guard let (sender, channel) = slowest, let longest = channel.longest, channel.waited >= 1 else { return nil }
    let seconds = elapsed(channel.first, channel.last)
    guard channel.waited >= 0.25 * seconds else { return nil }
    let isSent = sender.direction == .hostToController
    let (owner, receiver) = isSent ? ("This host", "the peer") : ("The peer", "this host")
    return TraceFinding(
      kind: .speed, link: link, peer: link.peer, time: longest.start.time,
      headline: "\(owner) waited \(channel.waited.duration) of \(seconds.duration) for credits of channel "
        + "\(sender.channel): \(receiver) receives more slowly than \(isSent ? "this host" : "the peer") sends",
      evidence: [.init(longest.start), .init(longest.end)],
      remedy: isSent
        ? "The peer's program reads slowly, or grants few credits at a time."
        : "Read sooner in the program of this host: credits are granted when data has been read.")
  }
}
