import BLEHCI
import BLEWire
import ToolCore

/// The attempts of this host to establish connections. A controller performs one at a time.
struct ConnectionAttempts {
  private struct Attempt {
    var entry: TraceEntry
    /// Nil for the devices of the filter accept list.
    var peer: DeviceAddress?
    /// The devices of the list at that time.
    var listed: [DeviceAddress]
    var isAccepted = false
    var cancel: TraceEntry?

    func seeks(_ address: DeviceAddress) -> Bool { peer == address || peer == nil }

    /// Whether a host that cancels this attempt goes on with the next one: for the same device, or with another list.
    func continues(in next: Self) -> Bool {
      peer == next.peer || peer.map(next.listed.contains) ?? next.peer.map(listed.contains) ?? false
    }
  }

  /// The devices of the accept list, and those whose advertisements are kept with their times.
  static let deviceLimit = 256
  /// A new attempt this soon after a cancel continues the one before: a host changes its list in this way.
  private static let pause = 1.0

  private var attempt: Attempt?
  /// An attempt that the host has cancelled, and the event that confirms it.
  private var cancelled: (attempt: Attempt, end: TraceEntry)?
  private var acceptList: [DeviceAddress] = []
  private var advertised: [DeviceAddress: TraceEntry] = [:]

  mutating func command(_ packet: HCICommandPacket, _ entry: TraceEntry) -> [TraceFinding] {
    if let command = packet.decoded(as: HCI.LECreateConnection.self) {
      return begin(command.initiatorFilterPolicy, command.peerAddress, entry)
    }
    if let command = packet.decoded(as: HCI.LEExtendedCreateConnection.self) {
      return begin(command.initiatorFilterPolicy, command.peerAddress, entry)
    }
    if let command = packet.decoded(as: HCI.LEExtendedCreateConnectionV2.self) {
      return begin(command.connection.initiatorFilterPolicy, command.connection.peerAddress, entry)
    }
    if let device = packet.decoded(as: HCI.LEAddDeviceToFilterAcceptList.self)?.address {
      if acceptList.count < Self.deviceLimit, !acceptList.contains(device) { acceptList.append(device) }
    } else if let device = packet.decoded(as: HCI.LERemoveDeviceFromFilterAcceptList.self)?.address {
      acceptList.removeAll { $0 == device }
    }
    switch packet.opcode {
    case .leCreateConnectionCancel: attempt?.cancel = entry.withoutContent
    case .leClearFilterAcceptList: acceptList = []
    case .reset: (acceptList, attempt) = ([], nil)
    default: break
    }
    return []
  }

  private mutating func begin(
    _ policy: HCI.InitiatorFilterPolicy, _ peer: DeviceAddress, _ entry: TraceEntry
  ) -> [TraceFinding] {
    let usesList = policy != .peerAddress
    var next = Attempt(entry: entry.withoutContent, peer: usesList ? nil : peer, listed: usesList ? acceptList : [])
    var findings: [TraceFinding] = []
    if let (before, end) = cancelled {
      if elapsed(end.time, entry.time) <= Self.pause, before.continues(in: next) {
        next.entry = before.entry
      } else {
        findings.append(failure(of: before, end))
      }
      cancelled = nil
    }
    attempt = next
    return findings
  }

  /// The controller has answered a command that creates a connection.
  mutating func status(_ status: HCIErrorCode, _ entry: TraceEntry) -> [TraceFinding] {
    guard status != .success else {
      attempt?.isAccepted = true
      return []
    }
    defer { attempt = nil }
    return [refusal(attempt, status, entry, "The controller refused to establish a connection")]
  }

  /// A Connection Complete event.
  mutating func completed(_ status: HCIErrorCode, _ role: HCI.Role, _ peer: DeviceAddress, _ entry: TraceEntry)
    -> [TraceFinding]
  {
    if status == .success {
      if let (before, _) = cancelled, before.seeks(peer) { cancelled = nil }
      if role == .central { attempt = nil }
      return []
    }
    guard let attempt else {
      // A peripheral: the directed advertising has ended, or the central has not followed.
      return [refusal(nil, status, entry, "No connection was established")]
    }
    self.attempt = nil
    // The answer to a cancel (Vol 4, Part E, 7.8.13).
    if status == .unknownConnectionIdentifier || status == .operationCancelledByHost {
      cancelled = (attempt, entry.withoutContent)
      return []
    }
    return [refusal(attempt, status, entry, "The connection was not established")]
  }

  mutating func advertises(_ addresses: [DeviceAddress], _ entry: TraceEntry) {
    for address in addresses where advertised[address] != nil || advertised.count < Self.deviceLimit {
      advertised[address] = entry.withoutContent
    }
  }

  /// What the trace shows at its end.
  func findings(atEnd time: Int64) -> [TraceFinding] {
    if let (attempt, end) = cancelled { return [failure(of: attempt, end)] }
    guard let attempt, attempt.isAccepted, elapsed(attempt.entry.time, time) >= 5 else { return [] }
    var finding = failure(of: attempt, nil)
    let seconds = elapsed(attempt.entry.time, time)
    finding.headline = "\(name(of: attempt)) until the end of the trace, \(seconds.duration)"
    return [finding]
  }

  private func name(of attempt: Attempt) -> String {
    guard attempt.peer == nil else { return "No connection with \(attempt.peer.map { "\($0)" } ?? "")" }
    let names = attempt.listed.prefix(4).map { "\($0)" }
    let more = attempt.listed.count > names.count ? " and \(attempt.listed.count - names.count) others" : ""
    return names.isEmpty
      ? "No connection with a device of the accept list"
      : "No connection with \(names.joined(separator: ", "))\(more), the devices of the accept list,"
  }

  private func refusal(
    _ attempt: Attempt?, _ status: HCIErrorCode, _ entry: TraceEntry, _ text: String
  ) -> TraceFinding {
    let known = ErrorMeaning.connection(status)
    let device = attempt?.peer.map { " with \($0)" } ?? ""
    return TraceFinding(
      kind: .connection, peer: attempt?.peer, time: attempt?.entry.time ?? entry.time,
      headline: "\(text)\(device), \(status)" + (known.map { ": \($0.meaning)" } ?? ""),
      evidence: (attempt.map { [.init($0.entry)] } ?? []) + [.init(entry)], remedy: known?.remedy)
  }

  /// No device has answered in the time of the host.
  private func failure(of attempt: Attempt, _ end: TraceEntry?) -> TraceFinding {
    var evidence = [TraceFinding.Evidence(attempt.entry)]
    let device = attempt.peer ?? (attempt.listed.count == 1 ? attempt.listed.first : nil)
    let report = device.flatMap { advertised[$0] }
    if let report {
      evidence.append(.init(report))
      evidence.append(.init("the device was advertising: the advertisement is the last one before"))
    } else if device != nil, !advertised.isEmpty, advertised.count < Self.deviceLimit {
      evidence.append(.init("the trace has advertisements of other devices, but none of this one"))
    }
    if let cancel = attempt.cancel { evidence.append(.init(cancel)) }
    if let end { evidence.append(.init(end)) }
    let seconds = elapsed(attempt.entry.time, end?.time ?? attempt.entry.time)
    return TraceFinding(
      // A host that is shut down also cancels, and one that waits for several devices may wait forever.
      kind: .connection, isProblem: device != nil && (end == nil || seconds >= Self.pause), peer: device,
      time: attempt.entry.time,
      headline: "\(name(of: attempt)) within \(seconds.duration), after which this host cancelled the attempt",
      evidence: evidence,
      remedy: report == nil
        ? "The device does not advertise with this address, is out of range or connected elsewhere: compare ble scan. "
          + "The type of the address, public or random, must be right, too."
        : "The device was in range before. It may have stopped advertising, be connected elsewhere, or use "
          + "advertisements that do not accept connections.")
  }
}
