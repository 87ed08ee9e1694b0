import BLEATT
import BLEHCI
import BLEWire

/// The parameters of a link that limit its speed.
struct LinkParameters {
  /// In units of 1.25 ms; nil if the trace does not have it.
  var interval: UInt16?
  /// In units of 125 us, after LE Connection Rate Change.
  var rateInterval: UInt16?
  /// In connection events.
  var subrateFactor: UInt16 = 1
  var latency: UInt16 = 0
  /// In units of 10 ms.
  var supervisionTimeout: UInt16 = 0
  /// The octets of a packet of the Link Layer, by direction.
  var dataLength: [HCIPacketDirection: Int] = [:]
  var phy: HCI.PHY?
  /// The ATT_MTU; nil before an exchange.
  var mtu: Int?
  /// What the client and the server have offered; the smaller one is the ATT_MTU.
  var offers: (client: UInt16, server: UInt16) = (0, 0)

  /// The interval in seconds.
  var seconds: Double? {
    rateInterval.map { max(3, Double($0)) * 0.000125 } ?? interval.map { max(1, Double($0)) * 0.00125 }
  }

  /// The time between two packets of the peripheral, if it uses its latency.
  var longestSilence: Double { (seconds ?? 0) * Double(UInt32(latency) + 1) * Double(max(1, subrateFactor)) }

  var timeout: Double { Double(supervisionTimeout) * 0.01 }

  /// `interval 30.0 ms, latency 0, supervision timeout 420 ms`.
  var text: String? {
    guard let seconds else { return nil }
    return
      "interval \((seconds * 1_000).text(decimals: 2)) ms, latency \(latency), supervision timeout \(timeout.duration)"
  }
}

/// Why the values of one link take their time: the requests one after the other, and the flow of data.
struct LinkSpeed {
  /// Requests of the same kind for one attribute, each of which was sent soon after the last answer.
  private struct Run {
    var opcode: ATTOpcode
    var handle: AttributeHandle?
    var isOfThisHost: Bool
    var first: TraceEntry
    var last: TraceEntry
    var count = 1
    var octets = 0
    /// The seconds in which an answer was waited for.
    var waited = 0.0

    var duration: Double { elapsed(first.time, last.time) }
  }

  /// The responses of one value that is longer than a response.
  private struct LongRead {
    var handle: AttributeHandle
    var isOfThisHost: Bool
    var first: TraceEntry
    var last: TraceEntry
    var requests = 1
    var octets: Int
  }

  /// Frames in one direction whose pauses are short.
  private struct Flow {
    var first: TraceEntry
    var last: TraceEntry
    var frames = 0
    var octets = 0
    /// Values without a response, and their octets.
    var values = 0
    var valueOctets = 0
    /// The frames that do not fit into one packet of the Link Layer, and those packets.
    var divided = 0
    var packets = 0
    /// The seconds in which this host had no buffer of the controller.
    var withoutBuffers: Double?

    var duration: Double { elapsed(first.time, last.time) }
  }

  /// A run of fewer requests is not called slow.
  static let requestsOfARun = 20
  /// The longest pause in a flow, and the shortest flow that is described, in seconds.
  private static let pause = 0.5
  private static let shortestFlow = 1.0
  /// An interval that is not called long, in seconds.
  private static let shortInterval = 0.1

  private var run: Run?
  private var longestRun: [ATTOpcode: Run] = [:]
  private var longRead: LongRead?
  private var longReads: (values: Int, requests: Int, octets: Int, example: LongRead)?
  private var flows: [HCIPacketDirection: Flow] = [:]
  private var largestFlow: [HCIPacketDirection: (Flow, LinkParameters)] = [:]
  /// The octets of the fragments of a frame that is not complete, and the seconds without a buffer before them.
  private var fragments: [HCIPacketDirection: Int] = [:]
  private var waits: [HCIPacketDirection: Double] = [:]
  /// The answers at the present interval: their number, and the seconds in which they were waited for.
  private var answers: (count: Int, waited: Double, longest: (Double, TraceEntry, TraceEntry)?) = (0, 0, nil)
  private var longInterval: TraceFinding?

  // MARK: Requests

  mutating func answered(
    _ request: AttributeHistory.Transaction, by pdu: ATTPDU, _ entry: TraceEntry, after seconds: Double,
    _ parameters: LinkParameters
  ) {
    if !request.isIndication {
      answers.count += 1
      answers.waited += seconds
      if seconds > answers.longest?.0 ?? -1 { answers.longest = (seconds, request.entry, entry.withoutContent) }
    }
    read(request, pdu, entry)
    let pause = max(Self.pause, 2 * parameters.longestSilence)
    let octets = request.octets(answeredBy: pdu)
    if let present = run, present.opcode == request.opcode, present.handle == request.handle,
      present.isOfThisHost == request.isOfThisHost, elapsed(present.last.time, request.entry.time) < pause
    {
      run?.count += 1
      run?.octets += octets
      run?.waited += seconds
      run?.last = entry.withoutContent
    } else {
      endRun()
      run = Run(
        opcode: request.opcode, handle: request.handle, isOfThisHost: request.isOfThisHost, first: request.entry,
        last: entry.withoutContent, octets: octets, waited: seconds)
    }
  }

  private mutating func endRun() {
    defer { run = nil }
    guard let run, run.count >= Self.requestsOfARun, [WriteRequest.opcode, ReadRequest.opcode].contains(run.opcode),
      run.duration > longestRun[run.opcode]?.duration ?? 0
    else { return }
    longestRun[run.opcode] = run
  }

  private mutating func read(_ request: AttributeHistory.Transaction, _ pdu: ATTPDU, _ entry: TraceEntry) {
    switch pdu {
    case .readResponse(let packet):
      endLongRead()
      guard let handle = request.handle else { return }
      longRead = LongRead(
        handle: handle, isOfThisHost: request.isOfThisHost, first: request.entry, last: entry.withoutContent,
        octets: packet.value.count)
    case .readBlobResponse(let packet) where longRead?.handle == request.handle:
      longRead?.requests += 1
      longRead?.octets += packet.partAttributeValue.count
      longRead?.last = entry.withoutContent
    // The error that ends a long read is a request, too.
    case .errorResponse where request.opcode == ReadBlobRequest.opcode && longRead?.handle == request.handle:
      longRead?.requests += 1
      longRead?.last = entry.withoutContent
    default: endLongRead()
    }
  }

  private mutating func endLongRead() {
    defer { longRead = nil }
    guard let longRead, longRead.requests > 2 else { return }
    let isLongest = longRead.requests > longReads?.example.requests ?? 0
    longReads = (
      (longReads?.values ?? 0) + 1, (longReads?.requests ?? 0) + longRead.requests,
      (longReads?.octets ?? 0) + longRead.octets, isLongest ? longRead : longReads?.example ?? longRead
    )
  }

  // MARK: Frames

  /// An ACL data packet; the entry is that of a frame, or of a fragment before its end.
  mutating func add(_ entry: TraceEntry, octets: Int, _ parameters: LinkParameters, waited: Double?) {
    let direction = entry.direction
    if let waited { waits[direction, default: 0] += waited }
    if case .fragment = entry.content {
      // A frame has at most 65,535 octets.
      fragments[direction] = min(65_535, (fragments[direction] ?? 0) + octets)
      return
    }
    let length = octets + (fragments.removeValue(forKey: direction) ?? 0)
    let kept = entry.withoutContent
    if let flow = flows[direction], elapsed(flow.last.time, entry.time) > Self.pause { endFlow(direction, parameters) }
    var flow = flows[direction] ?? Flow(first: kept, last: kept)
    flow.last = kept
    flow.frames += 1
    flow.octets += length
    if let waited = waits.removeValue(forKey: direction) { flow.withoutBuffers = (flow.withoutBuffers ?? 0) + waited }
    let capacity = max(27, parameters.dataLength[direction] ?? 27)
    let packets = (length + capacity - 1) / capacity
    if packets > 1 { flow.divided += 1 }
    flow.packets += packets
    if case .attribute(let pdu) = entry.content, let octets = pdu.octetsWithoutResponse {
      flow.values += 1
      flow.valueOctets += octets
    }
    flows[direction] = flow
  }

  private mutating func endFlow(_ direction: HCIPacketDirection, _ parameters: LinkParameters) {
    guard let flow = flows.removeValue(forKey: direction), flow.duration >= Self.shortestFlow,
      flow.octets > largestFlow[direction]?.0.octets ?? 0
    else { return }
    largestFlow[direction] = (flow, parameters)
  }

  // MARK: Findings

  /// The parameters change: what was measured belongs to those before.
  mutating func parametersChange(from parameters: LinkParameters, of link: LinkName) {
    judgeInterval(parameters, of: link)
    for direction in HCIPacketDirection.both { endFlow(direction, parameters) }
  }

  private mutating func judgeInterval(_ parameters: LinkParameters, of link: LinkName) {
    defer { answers = (0, 0, nil) }
    let silence = parameters.longestSilence
    guard longInterval == nil, answers.count >= 10, let interval = parameters.seconds, silence >= Self.shortInterval,
      let (_, request, answer) = answers.longest
    else { return }
    let mean = answers.waited / Double(answers.count)
    // A peripheral with latency can answer before it must.
    guard mean >= (parameters.latency == 0 ? 0.8 : 0.4) * silence, mean <= 3 * silence else { return }
    let latency = parameters.latency == 0 ? "" : " with a latency of \(parameters.latency) intervals"
    // A request and its answer take one or two intervals.
    let fast = Double(answers.count) * 2 * 0.03
    longInterval = TraceFinding(
      kind: .speed, link: link, peer: link.peer, time: request.time,
      headline: "The connection interval is \(interval.duration)\(latency): \(answers.count) answers took "
        + "\(answers.waited.duration), \(mean.duration) each",
      evidence: [.init(parameters.text ?? ""), .init(request), .init(answer)],
      remedy: "Use an interval of 15 to 30 ms without latency while data is exchanged: the same requests take at most "
        + "about \(fast.duration). A long interval saves power only while the link is idle.")
  }

  /// What the link shows at its end.
  mutating func findings(of link: LinkName, _ parameters: LinkParameters) -> [TraceFinding] {
    parametersChange(from: parameters, of: link)
    endRun()
    endLongRead()
    var findings = longInterval.map { [$0] } ?? []
    if let finding = longReadFinding(of: link, parameters) { findings.append(finding) }
    for run in longestRun.values.sorted(by: { $0.first.number < $1.first.number }) {
      findings.append(finding(run, of: link, parameters))
    }
    for direction in HCIPacketDirection.both {
      guard let (flow, parameters) = largestFlow[direction] else { continue }
      findings += self.findings(flow, direction, of: link, parameters)
    }
    return findings
  }

  private func longReadFinding(of link: LinkName, _ parameters: LinkParameters) -> TraceFinding? {
    let mtu = parameters.mtu ?? ATT.defaultMTU
    guard let longReads, longReads.requests >= 6, mtu < 100, parameters.mtu != nil || link.role != nil else {
      return nil
    }
    let example = longReads.example
    let needed = (example.octets + 246) / 246
    let others =
      longReads.values == 1
      ? "" : "; \(longReads.values) values with \(longReads.octets) octets took \(longReads.requests) requests"
    return TraceFinding(
      kind: .speed, link: link, peer: link.peer, time: example.first.time,
      headline: "ATT_MTU is \(mtu): a value of \(example.octets) octets took \(example.requests) requests and "
        + elapsed(example.first.time, example.last.time).duration + others,
      evidence: [.init(example.first), .init(example.last)],
      remedy: parameters.mtu == nil
        ? "The client has not asked for a larger ATT_MTU. With 247, the value takes "
          + "\(needed == 1 ? "one request" : "\(needed) requests"): the client sends an Exchange MTU Request."
        : "The client has offered \(parameters.offers.client), the server \(parameters.offers.server); the smaller one "
          + "is the ATT_MTU. If both offer 247, the value takes \(needed == 1 ? "one request" : "\(needed) requests").")
  }

  private func finding(_ run: Run, of link: LinkName, _ parameters: LinkParameters) -> TraceFinding {
    let name = run.opcode.name ?? "\(run.opcode)"
    let isWrite = run.opcode == WriteRequest.opcode
    let each = run.duration / Double(run.count)
    let intervals = parameters.seconds.map { ", \((each / $0).text(decimals: 1)) connection intervals" } ?? ""
    let rate = run.duration > 0 ? Double(run.octets) / run.duration / 1_000 : 0
    let attribute = run.first.attribute.map { " of \($0)" } ?? ""
    let share = Int((100 * min(1, run.waited / max(run.duration, 0.001))).rounded())
    let answerer = run.isOfThisHost ? "the peer" : "this host"
    return TraceFinding(
      kind: .speed, link: link, peer: link.peer, time: run.first.time,
      headline: "\(run.count) times \(name)\(attribute), one after the other: \(run.octets) octets in "
        + "\(run.duration.duration), \(rate.text(decimals: 1)) kB/s; each took \(each.duration)\(intervals)",
      evidence: [
        .init(run.first), .init(run.last),
        .init("\(share) % of the time was spent waiting for the answers of \(answerer)"),
      ],
      remedy: isWrite
        ? "If the characteristic has the property Write Without Response, use Write Commands: several fit into one "
          + "interval. Otherwise write longer values, and use a shorter interval."
        : "If the characteristic has the property Notify, subscribe instead of reading it repeatedly.")
  }

  private func findings(
    _ flow: Flow, _ direction: HCIPacketDirection, of link: LinkName, _ parameters: LinkParameters
  ) -> [TraceFinding] {
    var findings: [TraceFinding] = []
    let isSent = direction == .hostToController
    let verb = isSent ? "sent" : "received"
    let evidence = [TraceFinding.Evidence(flow.first), .init(flow.last)]
    let mtu = parameters.mtu ?? ATT.defaultMTU
    let capacity = max(27, parameters.dataLength[direction] ?? 27)
    // The data length of a link that was open before the trace is not in it.
    if flow.divided >= 50, capacity < 100, link.role != nil {
      findings.append(
        TraceFinding(
          kind: .speed, link: link, peer: link.peer, time: flow.first.time,
          headline: "The data length is \(capacity) octets: \(flow.frames) frames with \(flow.octets) octets were "
            + "\(verb) in at least \(flow.packets) packets",
          evidence: evidence,
          remedy: "Data Length Extension puts up to 251 octets into a packet: about "
            + "\((flow.octets + 250) / 251) packets. The host sends LE Set Data Length, if both controllers support it."
        ))
    }
    let each = flow.values > 0 ? flow.valueOctets / flow.values : 0
    if flow.values >= 100, mtu >= 100, each * 3 <= mtu - 3, let interval = parameters.seconds,
      Double(flow.values) >= 1.5 * flow.duration / interval
    {
      findings.append(
        TraceFinding(
          kind: .speed, link: link, peer: link.peer, time: flow.first.time,
          headline:
            "\(flow.values) values of \(each) octets were \(verb) in \(flow.duration.duration), although ATT_MTU is "
            + "\(mtu)",
          evidence: evidence, remedy: "Put several values into one: up to \(mtu - 3) octets fit."))
    }
    guard flow.octets >= 10_000 else { return findings }
    let rate = Double(flow.octets) / flow.duration / 1_000
    // The parameters of a link that was open before the trace are not in it.
    let isComplete = link.role != nil
    let hasDataLength = isComplete || parameters.dataLength[direction] != nil
    var facts: [String] = []
    if let text = parameters.text { facts.append(text) }
    if hasDataLength { facts.append("data length \(capacity)") }
    if isComplete || parameters.mtu != nil { facts.append("ATT_MTU \(mtu)") }
    if let phy = parameters.phy {
      facts.append("PHY \(phy)")
    } else if isComplete {
      facts.append("PHY \(HCI.PHY.le1M)")
    }
    var values = facts.isEmpty ? [] : [TraceFinding.Evidence(facts.joined(separator: ", "))]
    if let interval = parameters.seconds, hasDataLength {
      let perInterval = Double(flow.packets) * interval / flow.duration
      values.append(.init("\(perInterval.text(decimals: 1)) packets in each connection interval"))
    }
    if let waited = flow.withoutBuffers {
      let share = Int((100 * min(1, waited / flow.duration)).rounded())
      let limit =
        share >= 50 ? "the link is the limit" : share == 0 ? "the program is the limit, or the peer's credits" : nil
      values.append(
        .init("all buffers of the controller were in use for \(share) % of the time" + (limit.map { ": \($0)" } ?? "")))
    }
    findings.append(
      TraceFinding(
        kind: .speed, isProblem: false, link: link, peer: link.peer, time: flow.first.time,
        headline: "\(flow.octets) octets were \(verb) in \(flow.duration.duration): \(rate.text(decimals: 1)) kB/s",
        evidence: evidence + values))
    return findings
  }
}

extension AttributeHistory.Transaction {
  /// The octets of the value that the request or its answer has.
  fileprivate func octets(answeredBy pdu: ATTPDU) -> Int {
    if case .readResponse(let packet) = pdu { return packet.value.count }
    return valueLength
  }
}

extension ATTPDU {
  /// The octets of a value that is sent without a response; nil for another PDU.
  fileprivate var octetsWithoutResponse: Int? {
    switch self {
    case .handleValueNotification(let packet): packet.value.count
    case .writeCommand(let packet): packet.value.count
    default: nil
    }
  }
}
