import BLEATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire
import ToolCore

/// What a trace shows about one link, from its beginning to its end.
struct LinkHistory {
  private(set) var name: LinkName
  private(set) var parameters = LinkParameters()
  private var attributes = AttributeHistory()
  private var pairing = PairingHistory()
  private var speed = LinkSpeed()
  private var channels = ChannelHistory()
  private let start: Int64
  /// The last packet of the peer.
  private var lastReceived: TraceEntry?
  /// The ACL data packets that this host has sent since.
  private var sentSince = 0
  private var update: (entry: TraceEntry, before: String?)?
  /// The rejection of the parameters that the peripheral has asked for.
  private var rejection: TraceEntry?
  private var disconnect: (entry: TraceEntry, reason: HCIErrorCode)?
  private var requestedMTU: UInt16?
  private var stall: (seconds: Double, start: TraceEntry, end: TraceEntry)?

  /// A link whose Connection Complete event is in the trace, or one that was open before.
  init(_ name: LinkName, at start: Int64, _ parameters: LinkParameters = LinkParameters()) {
    (self.name, self.start, self.parameters) = (name, start, parameters)
  }

  // MARK: Packets

  /// - Parameter waited: the seconds without a free buffer of the controller since the packet that was sent before; nil
  ///   if the trace does not have the number of buffers.
  mutating func data(_ entry: TraceEntry, octets: Int, waited: Double?) {
    if name.peer == nil { name.peer = entry.peer }
    if entry.direction == .controllerToHost {
      (lastReceived, sentSince) = (entry.withoutContent, 0)
    } else {
      sentSince += 1
    }
    speed.add(entry, octets: octets, parameters, waited: waited)
    switch entry.content {
    case .attribute(let pdu): add(pdu, entry)
    case .security(let pdu): pairing.add(pdu, entry, of: name)
    case .signalling(let pdu):
      if case .connectionParameterUpdateResponse(let response) = pdu.command, response.result != .accepted {
        rejection = entry.withoutContent
      }
      channels.add(pdu, entry, of: name)
    case .data(let channel): channels.data(on: channel, entry, parameters)
    case .command, .event, .fragment, .other: break
    }
  }

  private mutating func add(_ pdu: ATTPDU, _ entry: TraceEntry) {
    switch pdu {
    case .exchangeMTURequest(let packet): requestedMTU = packet.clientRxMTU
    case .exchangeMTUResponse(let packet):
      guard let requestedMTU else { break }
      parameters.offers = (requestedMTU, packet.serverRxMTU)
      parameters.mtu = max(ATT.defaultMTU, Int(min(requestedMTU, packet.serverRxMTU)))
    default: break
    }
    guard let (request, seconds) = attributes.add(pdu, entry, lateAfter: 6 * parameters.longestSilence) else { return }
    speed.answered(request, by: pdu, entry, after: seconds, parameters)
  }

  /// The controller has kept all its buffers for a time.
  mutating func stalled(_ seconds: Double, from start: TraceEntry, to end: TraceEntry) {
    if seconds > stall?.seconds ?? 0 { stall = (seconds, start, end) }
  }

  // MARK: Commands and events

  mutating func command(_ command: HCICommandPacket, _ entry: TraceEntry) {
    switch command.opcode {
    case .disconnect:
      if let command = command.decoded(as: HCI.Disconnect.self) { disconnect = (entry.withoutContent, command.reason) }
    case .leEnableEncryption: pairing.enables(entry)
    case .leLongTermKeyRequestNegativeReply: pairing.lacksKey(entry, of: name)
    default: break
    }
  }

  mutating func encryptionChanged(_ status: HCIErrorCode, isOn: Bool, _ entry: TraceEntry) {
    pairing.changed(status, isOn: isOn, entry, of: name)
    guard status == .success, isOn else { return }
    attributes.encrypted()
    channels.encrypted()
  }

  /// A change of the parameters is complete.
  mutating func updated(_ event: HCI.LEConnectionUpdateComplete, _ entry: TraceEntry) {
    guard event.status == .success else { return }
    speed.parametersChange(from: parameters, of: name)
    update = (entry.withoutContent, parameters.text)
    let interval = parameters.seconds
    (parameters.interval, parameters.rateInterval) = (event.connectionInterval, nil)
    // Another interval ends subrating (Vol 6, Part B, 5.1.1).
    if parameters.seconds != interval { parameters.subrateFactor = 1 }
    parameters.latency = event.peripheralLatency
    parameters.supervisionTimeout = event.supervisionTimeout
  }

  /// A change of the connection rate is complete.
  mutating func updated(_ event: HCI.LEConnectionRateChange, _ entry: TraceEntry) {
    guard event.status == .success else { return }
    speed.parametersChange(from: parameters, of: name)
    update = (entry.withoutContent, parameters.text)
    (parameters.rateInterval, parameters.subrateFactor) = (event.connectionInterval, event.subrateFactor)
    parameters.latency = event.peripheralLatency
    parameters.supervisionTimeout = event.supervisionTimeout
  }

  mutating func updated(_ event: HCI.LEDataLengthChange) {
    speed.parametersChange(from: parameters, of: name)
    parameters.dataLength = [
      .hostToController: Int(event.maxTXOctets), .controllerToHost: Int(event.maxRXOctets),
    ]
  }

  mutating func updated(_ event: HCI.LEPHYUpdateComplete) {
    guard event.status == .success else { return }
    speed.parametersChange(from: parameters, of: name)
    parameters.phy = event.txPHY
  }

  // MARK: The end

  /// How long the link has existed.
  private func age(at time: Int64) -> String {
    (name.role == nil ? "at least " : "") + elapsed(start, time).duration
  }

  /// What the trace shows at its end about a link that is still open.
  mutating func findings(atEnd time: Int64) -> [TraceFinding] {
    var findings = parts(at: time, nil)
    findings.append(
      TraceFinding(
        kind: .disconnection, isProblem: false, link: name, peer: name.peer, time: time,
        headline: "The link is open at the end of the trace, after \(age(at: time))"))
    return findings
  }

  private mutating func parts(at time: Int64, _ end: TraceEntry?) -> [TraceFinding] {
    pairing.finish(at: time, end, of: name)
    var findings = pairing.takeFindings()
    findings += attributes.findings(of: name, at: time, isEncrypted: pairing.isEncrypted, hasEnded: end != nil)
    findings += channels.findings(of: name) + speed.findings(of: name, parameters)
    if let stall, stall.seconds >= max(1, 10 * parameters.longestSilence) {
      findings.append(
        TraceFinding(
          kind: .speed, link: name, peer: name.peer, time: stall.start.time,
          headline:
            "The controller had no free buffer for \(stall.seconds.duration): the peer did not confirm "
            + "packets",
          evidence: [.init(stall.start), .init(stall.end)],
          remedy: "The peer is out of range or too busy to receive. If the link then goes on, reduce the distance."))
    }
    return findings
  }

  /// What the trace shows about a link that its controller has lost by a reset.
  mutating func findings(atReset entry: TraceEntry) -> [TraceFinding] {
    var findings = parts(at: entry.time, entry.withoutContent)
    findings.append(
      TraceFinding(
        kind: .disconnection, isProblem: false, link: name, peer: name.peer, time: entry.time,
        headline: "The link ended after \(age(at: entry.time)), because the host reset the controller",
        evidence: [.init(entry)]))
    return findings
  }

  /// What the trace shows about a link that has ended.
  mutating func findings(_ event: HCI.DisconnectionComplete, _ entry: TraceEntry) -> [TraceFinding] {
    let findings = parts(at: entry.time, entry.withoutContent)
    return findings + [end(event.reason, entry)]
  }

  private func end(_ reason: HCIErrorCode, _ entry: TraceEntry) -> TraceFinding {
    let lasted = age(at: entry.time)
    var finding = TraceFinding(
      kind: .disconnection, link: name, peer: name.peer, time: entry.time, headline: "")
    switch reason {
    case .terminatedByLocalHost: byThisHost(&finding, entry, lasted)
    case .remoteUserTerminatedConnection, .remoteDeviceTerminatedLowResources, .remoteDeviceTerminatedPowerOff:
      byPeer(reason, &finding, entry, lasted)
    case .connectionFailedToBeEstablished:
      finding.kind = .connection
      explain(reason, "The link was not established", &finding)
    default:
      explain(reason, "The link was lost after \(lasted)", &finding)
      addCircumstances(to: &finding, entry)
    }
    finding.evidence.append(.init(entry))
    return finding
  }

  private func explain(_ reason: HCIErrorCode, _ text: String, _ finding: inout TraceFinding) {
    let known = ErrorMeaning.disconnection(reason)
    finding.headline = "\(text), \(reason)" + (known.map { ": \($0.meaning)" } ?? "")
    finding.remedy = known?.remedy
  }

  private func byThisHost(_ finding: inout TraceFinding, _ entry: TraceEntry, _ lasted: String) {
    finding.headline = "This host ended the link after \(lasted)"
    let reason = disconnect?.reason ?? .remoteUserTerminatedConnection
    addUnanswered(to: &finding, at: entry.time)
    if let disconnect { finding.evidence.append(.init(disconnect.entry)) }
    if let transaction = overdue(at: entry.time, ofThisHost: true) {
      finding.headline +=
        ": \(transaction.complaint) for "
        + "\(elapsed(transaction.entry.time, entry.time).duration), the timeout of ATT is 30 s"
      finding.remedy =
        "Connect again: after the timeout no further request is allowed (Vol 3, Part F, 3.3.3). If the "
        + "same request gets no answer again, the fault is in the peer: leave the request out, or update its firmware."
    } else if let failure = recentFailure(at: entry.time) {
      finding.headline += "; \(elapsed(failure.time, entry.time).duration) before, \(failure.text)"
      finding.evidence.insert(failure.evidence, at: 0)
    } else if let known = ErrorMeaning.disconnection(reason) {
      finding.headline += ", \(reason): \(known.meaning)"
      finding.remedy = known.remedy
    } else {
      finding.isProblem = false
    }
  }

  private func byPeer(
    _ reason: HCIErrorCode, _ finding: inout TraceFinding, _ entry: TraceEntry, _ lasted: String
  ) {
    finding.headline = "The peer ended the link after \(lasted), \(reason)"
    if let known = ErrorMeaning.disconnection(reason) {
      finding.headline += ": \(known.meaning)"
      finding.remedy = known.remedy
    } else if let transaction = overdue(at: entry.time, ofThisHost: false) {
      finding.headline +=
        ": \(transaction.complaint) for \(elapsed(transaction.entry.time, entry.time).duration), the "
        + "timeout of ATT is 30 s"
      finding.remedy = "Answer sooner in the program of this host (Vol 3, Part F, 3.3.3)."
    } else if let failure = recentFailure(at: entry.time) {
      finding.headline += "; \(elapsed(failure.time, entry.time).duration) before, \(failure.text)"
      finding.evidence.append(failure.evidence)
    } else if let transaction = attributes.unanswered.first(where: { $0.isOfThisHost }) {
      finding.headline +=
        ", \(elapsed(transaction.entry.time, entry.time).duration) after \(transaction.name.withArticle) "
        + "that it had not answered"
      finding.remedy = "The peer has failed at the request, or has rejected it in this way: its log has the reason."
    } else if attributes.hasUnmetDemand(ofPeer: true), !pairing.isEncrypted {
      finding.headline += ": it had demanded security, and no pairing followed"
      finding.remedy = "Pair with the device before other requests."
    } else if attributes.hasUnmetDemand(ofPeer: false), !pairing.isEncrypted {
      finding.headline += ": this host had demanded security, and no pairing followed"
      finding.remedy = "Pair on the peer, or allow the attribute without encryption in the program of this host."
    } else if let rejection, rejection.direction == .hostToController,
      elapsed(rejection.time, entry.time) <= Self.recently
    {
      finding.headline += ", after this host had rejected the connection parameters that it asked for"
      finding.evidence.append(.init(rejection))
      finding.remedy = "Accept the parameters that the peripheral asks for."
    } else {
      finding.isProblem = false
    }
    addUnanswered(to: &finding, at: entry.time)
    addUpdate(to: &finding, at: entry.time)
  }

  /// A failure this long before the end of the link can be its cause, in seconds.
  private static let recently = 5.0

  private func recentFailure(at time: Int64) -> PairingHistory.Failure? {
    pairing.lastFailure.flatMap { elapsed($0.time, time) <= Self.recently ? $0 : nil }
  }

  private func overdue(at time: Int64, ofThisHost isOfThisHost: Bool) -> AttributeHistory.Transaction? {
    attributes.unanswered.first {
      $0.isOfThisHost == isOfThisHost && elapsed($0.entry.time, time) >= AttributeHistory.timeout
    }
  }

  private func addUnanswered(to finding: inout TraceFinding, at time: Int64) {
    for transaction in attributes.unanswered.prefix(2) {
      finding.evidence.append(.init(transaction.entry))
      finding.evidence.append(.init(transaction.wait(until: time)))
    }
  }

  private func addUpdate(to finding: inout TraceFinding, at time: Int64) {
    guard let update, elapsed(update.entry.time, time) <= Self.recently + parameters.timeout else { return }
    finding.evidence.append(.init(update.entry))
    finding.evidence.append(
      .init(
        "the parameters had changed \(elapsed(update.entry.time, time).duration) before"
          + (update.before.map { "; they were: \($0)" } ?? "")))
  }

  private func addCircumstances(to finding: inout TraceFinding, _ entry: TraceEntry) {
    if let text = parameters.text { finding.evidence.append(.init(text)) }
    if let failure = recentFailure(at: entry.time) { finding.evidence.append(failure.evidence) }
    addUpdate(to: &finding, at: entry.time)
    let isLater = attributes.unanswered.first.map { $0.entry.number > lastReceived?.number ?? 0 } ?? true
    if !isLater { addUnanswered(to: &finding, at: entry.time) }
    addLastReceived(to: &finding, at: entry.time)
    if isLater { addUnanswered(to: &finding, at: entry.time) }
  }

  private func addLastReceived(to finding: inout TraceFinding, at time: Int64) {
    guard let lastReceived else {
      return finding.evidence.append(.init("the trace has no data of the peer on this link"))
    }
    finding.evidence.append(.init(lastReceived))
    let packets = sentSince == 1 ? "packet" : "packets"
    let sent = sentSince == 0 ? "" : "; this host sent \(sentSince) data \(packets) after it"
    finding.evidence.append(
      .init("the last data of the peer arrived \(elapsed(lastReceived.time, time).duration) before the end\(sent)"))
  }
}
