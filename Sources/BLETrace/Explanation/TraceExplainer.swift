import BLEHCI
import BLEWire

/// Explains a trace: how each link ended, which connections were not established, which pairings failed, what was
/// refused, and what was slow.
///
/// It gets the entries of a trace in their order, with fragments, and has no I/O. Its memory does not depend on the
/// length of the trace.
package struct TraceExplainer {
  /// The problems that are kept of a trace.
  package static let problemLimit = 256
  /// The findings without a problem that are kept of a trace.
  package static let noteLimit = 256
  /// The problems, and the findings without one, that are kept of a trace whose link is chosen later.
  static let undecidedLimit = 16_384
  /// The refused commands with different opcodes and codes that are kept of a trace.
  package static let commandLimit = 32

  private struct Refusal {
    var opcode: HCIOpcode
    var status: HCIErrorCode
    var first: TraceEntry
    var last: TraceEntry
    var count = 1
    var isSetUp: Bool
  }

  private var kept: Selection
  private var links: [ConnectionHandle: LinkHistory] = [:]
  /// The handles of links that have ended: packets that the host sent before it received the event can follow.
  private var ended: Set<ConnectionHandle> = []
  private var linkCount = 0
  private var attempts = ConnectionAttempts()
  private var trains = TrainHistory()
  private var buffers = BufferUse()
  private var refusals: [Refusal] = []
  private var lastTime: Int64 = 0
  private var packets = 0

  /// - Parameter filter: the links whose findings are kept.
  package init(_ filter: TraceFilter = TraceFilter()) { kept = Selection(filter) }

  /// An explainer for ``explanation(of:)``.
  static var undecided: Self {
    var explainer = Self()
    explainer.kept.problemLimit = undecidedLimit
    explainer.kept.noteLimit = undecidedLimit
    return explainer
  }

  /// Adds the next entry.
  package mutating func add(_ entry: TraceEntry) {
    lastTime = entry.time
    packets = entry.number
    if let octets = entry.dataLength, let handle = entry.link { return data(entry, octets, of: handle) }
    switch entry.content {
    case .command(let command): self.command(command, entry)
    case .event(let event): self.event(event, entry)
    case .attribute, .security, .signalling, .data, .fragment, .other: break
    }
  }

  private mutating func keep(_ new: [TraceFinding]) { kept.add(new) }

  /// The findings of the chosen links, within the limits.
  private struct Selection {
    let filter: TraceFilter
    var problemLimit = TraceExplainer.problemLimit
    var noteLimit = TraceExplainer.noteLimit
    private(set) var findings: [TraceFinding] = []
    private var (problems, notes) = (0, 0)
    var omitted = 0

    init(_ filter: TraceFilter) { self.filter = filter }

    mutating func add(_ new: [TraceFinding]) {
      for finding in new where filter.isLink(finding.link?.handle, with: finding.peer) {
        if finding.isProblem {
          problems += 1
          if problems > problemLimit { omitted += 1 } else { findings.append(finding) }
        } else {
          notes += 1
          if notes > noteLimit { omitted += 1 } else { findings.append(finding) }
        }
      }
    }
  }

  // MARK: Data

  private mutating func data(_ entry: TraceEntry, _ octets: Int, of handle: ConnectionHandle) {
    if ended.contains(handle) { return }
    if links[handle] == nil { open(handle, entry.peer, nil, LinkParameters(), entry) }
    let waited = entry.direction == .hostToController ? buffers.sends(on: handle, entry) : nil
    links[handle]?.data(entry, octets: octets, waited: waited)
  }

  private mutating func open(
    _ handle: ConnectionHandle, _ peer: DeviceAddress?, _ role: HCI.Role?, _ parameters: LinkParameters,
    _ entry: TraceEntry
  ) {
    // The end of the link before is not in the trace.
    if var before = links[handle] { keep(before.findings(atEnd: entry.time)) }
    linkCount += 1
    ended.remove(handle)
    buffers.forget(handle)
    links[handle] = LinkHistory(
      LinkName(place: linkCount, handle: handle, peer: peer, role: role), at: entry.time, parameters)
  }

  // MARK: Commands

  private mutating func command(_ command: HCICommandPacket, _ entry: TraceEntry) {
    keep(attempts.command(command, entry))
    guard let handle = command.link else { return }
    links[handle]?.command(command, entry)
  }

  private mutating func status(_ status: HCIErrorCode, of opcode: HCIOpcode, _ entry: TraceEntry) {
    if Self.connectionCommands.contains(opcode) { return keep(attempts.status(status, entry)) }
    // The link or the set has ended in the meantime, or nothing was left to cancel.
    let isLate =
      status == .unknownConnectionIdentifier || status == .unknownAdvertisingIdentifier
      || opcode == .leCreateConnectionCancel && status == .commandDisallowed
    guard status != .success, !isLate else { return }
    if let index = refusals.firstIndex(where: { $0.opcode == opcode && $0.status == status }) {
      refusals[index].count += 1
      refusals[index].last = entry.withoutContent
    } else if refusals.count < Self.commandLimit {
      let kept = entry.withoutContent
      refusals.append(
        Refusal(opcode: opcode, status: status, first: kept, last: kept, isSetUp: links.isEmpty && linkCount == 0))
    }
  }

  private static let connectionCommands: Set<HCIOpcode> = [
    .leCreateConnection, .leExtendedCreateConnection, .leExtendedCreateConnectionV2,
  ]

  // MARK: Events

  private mutating func event(_ event: HCIEvent, _ entry: TraceEntry) {
    trains.event(event, entry)
    switch event {
    case .commandStatus(let event): status(event.status, of: event.opcode, entry)
    case .commandComplete(let event): completed(event, entry)
    case .leConnectionComplete(let event):
      let parameters = LinkParameters(
        interval: event.connectionInterval, latency: event.peripheralLatency,
        supervisionTimeout: event.supervisionTimeout)
      connected(event.connectionHandle, event.status, event.role, event.peerAddress, parameters, entry)
    case .leEnhancedConnectionComplete(let event): connected(event, entry)
    case .leEnhancedConnectionCompleteV2(let event): connected(event.connection, entry)
    case .disconnectionComplete(let event):
      guard event.status == .success else { break }
      buffers.ends(event.connectionHandle, entry)
      ended.insert(event.connectionHandle)
      // A link without a packet before its end has no entry here.
      var link =
        links.removeValue(forKey: event.connectionHandle)
        ?? LinkHistory(
          LinkName(place: nextPlace(), handle: event.connectionHandle, peer: entry.peer), at: entry.time)
      keep(link.findings(event, entry))
    case .encryptionChange, .encryptionChangeV2, .encryptionKeyRefreshComplete:
      guard let change = event.encryptionChange else { break }
      links[change.link]?.encryptionChanged(change.status, isOn: change.isOn, entry)
    case .leConnectionUpdateComplete(let event): links[event.connectionHandle]?.updated(event, entry)
    case .leConnectionRateChange(let event): links[event.connectionHandle]?.updated(event, entry)
    case .leDataLengthChange(let event): links[event.connectionHandle]?.updated(event)
    case .lePHYUpdateComplete(let event): links[event.connectionHandle]?.updated(event)
    case .numberOfCompletedPackets(let event):
      for link in event.links {
        guard let wait = buffers.completes(Int(link.numCompletedPackets), on: link.connectionHandle, entry) else {
          continue
        }
        links[wait.link]?.stalled(wait.seconds, from: wait.start, to: entry.withoutContent)
      }
    case .leAdvertisingReport(let event): attempts.advertises(event.reports.map { $0.address }, entry)
    case .leExtendedAdvertisingReport(let event): attempts.advertises(event.reports.map { $0.address }, entry)
    case .hardwareError:
      keep([
        TraceFinding(
          kind: .controller, time: entry.time,
          headline: "The controller reported a fault of its hardware or firmware, and loses its links",
          evidence: [.init(entry)],
          remedy: "Update the firmware of the adapter (on Debian, firmware-*). On USB, use another port or cable.")
      ])
    case .dataBufferOverflow:
      keep([
        TraceFinding(
          kind: .controller, time: entry.time,
          headline: "The controller got more data than it has buffers for: the host has miscounted them",
          evidence: [.init(entry)], remedy: "A fault of the host, or of the controller: report it with this trace.")
      ])
    // The other events explain nothing.
    default: break
    }
  }

  private mutating func nextPlace() -> Int {
    linkCount += 1
    return linkCount
  }

  private mutating func connected(_ event: HCI.LEEnhancedConnectionComplete, _ entry: TraceEntry) {
    let parameters = LinkParameters(
      interval: event.connectionInterval, latency: event.peripheralLatency, supervisionTimeout: event.supervisionTimeout
    )
    connected(event.connectionHandle, event.status, event.role, event.peerAddress, parameters, entry)
  }

  private mutating func connected(
    _ handle: ConnectionHandle, _ status: HCIErrorCode, _ role: HCI.Role, _ peer: DeviceAddress,
    _ parameters: LinkParameters, _ entry: TraceEntry
  ) {
    keep(attempts.completed(status, role, peer, entry))
    if status == .success { open(handle, peer, role, parameters, entry) }
  }

  private mutating func completed(_ event: HCI.CommandComplete, _ entry: TraceEntry) {
    // Every answer begins with the status (Vol 4, Part E, 7.7.14), except that of a vendor's command.
    guard DeclaredCommand.isDeclared(event.opcode), let first = event.returnParameters.first else { return }
    let code = HCIErrorCode(rawValue: first)
    status(code, of: event.opcode, entry)
    guard code == .success else { return }
    if event.opcode == .reset {
      let open = links.values.sorted { $0.name.place < $1.name.place }
      links = [:]
      trains.reset()
      for var link in open { keep(link.findings(atReset: entry)) }
      buffers = BufferUse()
    } else if event.opcode == .leReadBufferSize, let answer = try? event.response(to: HCI.LEReadBufferSize.self) {
      buffers.total = Int(answer.totalNumACLDataPackets)
    } else if event.opcode == .leReadBufferSizeV2, let answer = try? event.response(to: HCI.LEReadBufferSizeV2.self) {
      buffers.total = Int(answer.totalNumACLDataPackets)
    }
  }

  // MARK: The end

  /// Ends the trace.
  package mutating func finish() -> TraceExplanation {
    for var link in links.values.sorted(by: { $0.name.place < $1.name.place }) {
      keep(link.findings(atEnd: lastTime))
    }
    links = [:]
    keep(attempts.findings(atEnd: lastTime))
    keep(trains.findings())
    keep(refusals.map(finding))
    return TraceExplanation(findings: kept.findings, omitted: kept.omitted, packets: packets)
  }

  /// What the entries so far show of the chosen links. The explainer is ``undecided``.
  func explanation(of filter: TraceFilter) -> TraceExplanation {
    var ended = self
    _ = ended.finish()
    var chosen = Selection(filter)
    chosen.add(ended.kept.findings)
    chosen.omitted += ended.kept.omitted
    return TraceExplanation(findings: chosen.findings, omitted: chosen.omitted, packets: packets)
  }

  private func finding(_ refusal: Refusal) -> TraceFinding {
    let name = refusal.opcode.name ?? "\(refusal.opcode)"
    let times = refusal.count == 1 ? "" : " \(refusal.count) times"
    let isUnsupported = [.unknownCommand, .unsupportedFeatureOrParameterValue].contains(refusal.status)
    return TraceFinding(
      // Hosts ask for features in this way when they set a controller up.
      kind: .refusal, isProblem: !(isUnsupported && refusal.isSetUp), time: refusal.first.time,
      headline: "The controller refused \(name)\(times): \(refusal.status)",
      evidence: refusal.count == 1 ? [.init(refusal.first)] : [.init(refusal.first), .init(refusal.last)],
      remedy: Self.remedy(refusal.status))
  }

  private static func remedy(_ status: HCIErrorCode) -> String? {
    switch status {
    case .commandDisallowed:
      "The state of the controller forbids it: another program may use the adapter, or the host repeats a command."
    case .unknownCommand, .unsupportedFeatureOrParameterValue, .unsupportedRemoteFeature:
      "The controller or the peer has no such feature: ble doctor lists those of an adapter."
    case .invalidCommandParameters: "The parameters are out of range, or do not fit together."
    case .memoryCapacityExceeded, .connectionLimitExceeded, .limitReached:
      "A list or a table of the controller is full: use fewer devices, sets or links at the same time."
    default: nil
    }
  }
}

/// The buffers of the controller for data of the host (Vol 4, Part E, 4.1.1).
private struct BufferUse {
  /// 0 if the trace does not have it.
  var total = 0
  private var used: [ConnectionHandle: Int] = [:]
  private var sum = 0
  /// The packet that has taken the last buffer.
  private var full: TraceEntry?
  /// The seconds without a free buffer since the last packet that was sent.
  private var waited = 0.0

  /// A packet is sent.
  ///
  /// - Returns: the seconds without a free buffer since the packet before; nil if the trace does not have the number of
  ///   buffers.
  mutating func sends(on link: ConnectionHandle, _ entry: TraceEntry) -> Double? {
    defer { waited = 0 }
    guard total > 0 else { return nil }
    // More than all: the trace lacks an event.
    if sum < total {
      used[link, default: 0] += 1
      sum += 1
    }
    if sum == total, full == nil { full = entry.withoutContent }
    return waited
  }

  /// Packets are confirmed.
  ///
  /// - Returns: the time in which no buffer was free, if it ends now, and the link with the most of them.
  mutating func completes(_ count: Int, on link: ConnectionHandle, _ entry: TraceEntry)
    -> (seconds: Double, start: TraceEntry, link: ConnectionHandle)?
  {
    let holder = used.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? link
    let freed = min(count, used[link] ?? 0)
    used[link, default: 0] -= freed
    sum -= freed
    return release(entry, holder)
  }

  /// The link ends: its packets need no buffers.
  mutating func ends(_ link: ConnectionHandle, _ entry: TraceEntry) {
    sum -= used.removeValue(forKey: link) ?? 0
    _ = release(entry, link)
  }

  private mutating func release(_ entry: TraceEntry, _ holder: ConnectionHandle)
    -> (seconds: Double, start: TraceEntry, link: ConnectionHandle)?
  {
    guard sum < total, let start = full else { return nil }
    full = nil
    let seconds = elapsed(start.time, entry.time)
    waited += seconds
    return (seconds, start, holder)
  }

  mutating func forget(_ link: ConnectionHandle) {
    sum -= used.removeValue(forKey: link) ?? 0
    if sum < total { full = nil }
  }
}

extension HCICommandPacket {
  /// The link of a command that the explanation of a link needs.
  fileprivate var link: ConnectionHandle? {
    decoded(as: HCI.Disconnect.self)?.connectionHandle ?? decoded(as: HCI.LEEnableEncryption.self)?.connectionHandle
      ?? decoded(as: HCI.LELongTermKeyRequestNegativeReply.self)?.connectionHandle
  }
}

/// The findings of a trace.
package struct TraceExplanation: Sendable {
  /// What a trace of HCI packets does not have.
  package static let scope =
    "A trace of HCI packets does not show the radio: neither connection events without data, nor packets that were "
    + "sent again, nor signals of other devices."

  /// In the order of the links, and of a link in the order of time.
  package let findings: [TraceFinding]
  /// The findings past the limits of ``TraceExplainer``.
  package let omitted: Int
  package let packets: Int

  package init(findings: [TraceFinding], omitted: Int, packets: Int) {
    self.findings = findings.enumerated().sorted { one, other in
      func key(_ item: (offset: Int, element: TraceFinding)) -> (Int, Int64, Int) {
        (item.element.link?.place ?? 0, item.element.time, item.offset)
      }
      return key(one) < key(other)
    }.map { $0.element }
    (self.omitted, self.packets) = (omitted, packets)
  }

  package var problems: [TraceFinding] { findings.filter { $0.isProblem } }

  /// The lines in a terminal, each with its style.
  package var lines: [(text: String, isProblem: Bool)] {
    var lines: [(text: String, isProblem: Bool)] = []
    var section: LinkName??
    for finding in findings {
      if section != .some(finding.link) {
        section = .some(finding.link)
        if !lines.isEmpty { lines.append(("", false)) }
        lines.append((finding.link?.title ?? "Adapter and connections", false))
      }
      for (index, line) in finding.lines.enumerated() {
        lines.append(("  \(line)", finding.isProblem && index == 0))
      }
    }
    if !lines.isEmpty { lines.append(("", false)) }
    if omitted > 0 {
      lines.append(("\(omitted) more findings are not listed. Choose a link with --link.", false))
    }
    let count = problems.count
    let verdict =
      count == 0
      ? "Nothing wrong in \(packets) packets."
      : "\(count) \(count == 1 ? "problem" : "problems") in \(packets) packets."
    lines.append(("\(verdict) \(Self.scope)", false))
    return lines
  }
}
