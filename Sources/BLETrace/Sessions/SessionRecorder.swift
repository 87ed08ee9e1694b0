import BLEATT
package import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire

/// Collects the session of a central from the packets of a trace, which was taken at the central or at the peripheral.
///
/// The links of the trace have numbers from 1 on, in their order. Only the session that is chosen is kept, so that the
/// memory does not depend on the number of links: the one with the number, otherwise the first one with a request.
package struct SessionRecorder {
  /// The links whose summaries are kept. Those after them cannot be chosen.
  package static let linkLimit = 256
  /// The requests, commands and values of a session. The rest of the link is left out, with a line.
  package static let stepLimit = 65_536
  /// Those of a link before its first request, while no session is kept.
  static let leadLimit = 64
  /// The octets of their values.
  package static let octetLimit = 16 << 20
  /// The kinds of packets that the lines about a session name.
  package static let omissionLimit = 32

  /// A link that has not ended.
  private struct Open {
    var index: Int
    /// The direction of the central's PDUs; nil while it is not known.
    var client: HCIPacketDirection?
    /// The request without a response.
    var pending: (step: Int?, opcode: ATTOpcode, number: Int)?
    /// The request of a pairing, and whether the pairing is authenticated.
    var pairingRequest: PairingFeatures?
    var isAuthenticated: Bool?
    /// The indication without a confirmation.
    var indication: Int?
    var hasEnded = false
  }

  /// The characters that a line shows of a malformed packet.
  private static let detailLength = 120

  private var reader = TraceReader()
  private let chosen: Int?
  private var sessions: [RecordedSession] = []
  private var open: [ConnectionHandle: Open] = [:]
  /// The session that is kept.
  private var kept: Int?
  private var octets = 0
  private var hasMoreLinks = false
  private var hasAttributes = false
  /// Packets that the capture has cut, or that are malformed.
  private var unreadable: (first: Int, count: Int)?

  /// - Parameter number: the link to keep; nil for the first one with a request.
  package init(choosing number: Int? = nil) { chosen = number }

  /// Adds the next packet.
  package mutating func add(_ record: BTSnoopRecord) {
    let entry = reader.anyEntry(for: record)
    switch entry.content {
    case .event(let event): add(event, entry)
    case .attribute(let pdu):
      hasAttributes = true
      with(entry) { $0.add(pdu, entry, &$1) }
    case .security(let pdu): with(entry) { $0.add(pdu, entry, &$1) }
    case .signalling(let pdu): with(entry) { $0.add(pdu, entry, $1) }
    case .data(let channel):
      with(entry) { recorder, link in
        recorder.omit("data on channel \(channel)", "channels are not repeated", entry, link)
      }
    case .command(let command): add(command, entry)
    case .fragment: break
    case .other where entry.isFailure && entry.link == nil:
      unreadable = unreadable.map { ($0.first, $0.count + 1) } ?? (entry.number, 1)
    case .other where entry.isFailure:
      with(entry) { $0.omit("a malformed packet", String(entry.details.prefix(Self.detailLength)), entry, $1) }
    case .other: break
    }
  }

  /// The session of the trace.
  ///
  /// - Throws: ``SessionFault`` if there is none, or if several links have requests and none was chosen.
  package mutating func finish() throws(SessionFault) -> RecordedSession {
    for (handle, link) in open where !link.hasEnded { end(link, of: handle) }
    open = [:]
    if sessions.isEmpty { throw SessionFault(.noLink) }
    if let chosen {
      guard sessions.indices.contains(chosen - 1) else {
        throw SessionFault(.noSuchLink(chosen), sessions, hasMoreLinks)
      }
      guard sessions[chosen - 1].clientCount > 0 else {
        throw SessionFault(.noRequests(chosen), sessions, hasMoreLinks)
      }
    } else {
      guard hasAttributes else { throw SessionFault(.noAttributes, sessions, hasMoreLinks) }
      guard sessions.contains(where: { $0.clientCount > 0 }) else {
        throw SessionFault(.noRequests(nil), sessions, hasMoreLinks)
      }
      guard sessions.count(where: { $0.clientCount > 0 }) == 1 else {
        throw SessionFault(.several, sessions.filter { $0.clientCount > 0 }, hasMoreLinks)
      }
    }
    guard let kept, var session = sessions.indices.contains(kept) ? sessions[kept] : nil else {
      throw SessionFault(.noRequests(chosen), sessions, hasMoreLinks)
    }
    if let unreadable {
      let text = "\(unreadable.count) packets of the trace are cut or malformed"
      session.omissions.append(
        .init(number: unreadable.first, name: text, reason: "a request or a value of this link may be among them"))
    }
    session.omissions.sort { $0.number < $1.number }
    return session
  }
}

// MARK: - Links

extension SessionRecorder {
  /// Performs something with the link of an entry; the first packet of a link that the trace begins within opens it.
  private mutating func with(_ entry: TraceEntry, _ body: (inout Self, inout Open) -> Void) {
    guard let handle = entry.link else { return }
    with(handle, entry, body)
  }

  private mutating func with(
    _ handle: ConnectionHandle, _ entry: TraceEntry, _ body: (inout Self, inout Open) -> Void
  ) {
    if open[handle] == nil { begin(handle, client: nil, entry) }
    guard var link = open[handle], !link.hasEnded else { return }
    let first = sessions[link.index].packets.lowerBound
    sessions[link.index].packets = first...max(first, entry.number)
    sessions[link.index].times.last = entry.time
    body(&self, &link)
    open[handle] = link
  }

  private mutating func begin(_ handle: ConnectionHandle, client: HCIPacketDirection?, _ entry: TraceEntry) {
    // The reader knows no attributes any more of a link whose end the trace does not have.
    open[handle] = nil
    guard sessions.count < Self.linkLimit else { return hasMoreLinks = true }
    sessions.append(RecordedSession(number: sessions.count + 1, entry, handle))
    open[handle] = Open(index: sessions.count - 1, client: client)
    if sessions.count == chosen { kept = sessions.count - 1 }
    guard client == nil else { return }
    let text = "the trace begins within the link"
    omit(text, "what came before is not repeated", entry, open[handle])
  }

  /// Takes what the reader knows of the attributes, before it forgets the link.
  private mutating func end(_ link: Open, of handle: ConnectionHandle) {
    if kept == link.index, let client = link.client {
      sessions[link.index].types = reader.attributeTypes(on: handle, client: client)
    }
    // A request at the end of the link has no answer; that of a link that goes on may follow the trace.
    if let pending = link.pending, pending.step != nil, kept == link.index, sessions[link.index].end == nil {
      let omission = RecordedSession.Omission(
        number: pending.number, name: "the answer to the request", reason: "the trace has none, so it is not compared")
      add(omission, to: link.index)
    }
  }

  private mutating func add(_ event: HCIEvent, _ entry: TraceEntry) {
    switch event {
    case .leConnectionComplete(let event) where event.status == .success:
      connected(event.connectionHandle, event.role, entry)
    case .leEnhancedConnectionComplete(let event) where event.status == .success:
      connected(event.connectionHandle, event.role, entry)
    case .leEnhancedConnectionCompleteV2(let event) where event.connection.status == .success:
      connected(event.connection.connectionHandle, event.connection.role, entry)
    case .disconnectionComplete(let event) where event.status == .success:
      with(event.connectionHandle, entry) { recorder, link in
        let isLocal = event.reason == .terminatedByLocalHost
        let isRemote: Bool =
          switch event.reason {
          case .remoteUserTerminatedConnection, .remoteDeviceTerminatedLowResources, .remoteDeviceTerminatedPowerOff:
            true
          default: false  // The link was lost, or this host ended it.
          }
        recorder.sessions[link.index].end = RecordedSession.End(
          number: entry.number, time: entry.time, reason: event.reason,
          isByServer: link.client == .hostToController ? isRemote : isLocal)
        recorder.noteUnconfirmed(link, entry)
        recorder.end(link, of: event.connectionHandle)
        (link.pending, link.hasEnded) = (nil, true)
      }
    case .encryptionChange, .encryptionChangeV2, .encryptionKeyRefreshComplete:
      guard let change = event.encryptionChange, change.status == .success, change.isOn else { break }
      with(change.link, entry) { $0.encrypted(entry, &$1) }
    case .lePHYUpdateComplete(let event) where event.status == .success:
      omitTiming("a change of the PHY", event.connectionHandle, entry)
    case .leConnectionUpdateComplete(let event) where event.status == .success:
      omitTiming("a change of the connection interval", event.connectionHandle, entry)
    case .leConnectionRateChange(let event) where event.status == .success:
      omitTiming("a change of the connection rate", event.connectionHandle, entry)
    // The others say nothing about what the central did.
    default: break
    }
  }

  private mutating func connected(_ handle: ConnectionHandle, _ role: HCI.Role, _ entry: TraceEntry) {
    begin(handle, client: role == .central ? .hostToController : .controllerToHost, entry)
  }

  private mutating func omitTiming(_ name: String, _ handle: ConnectionHandle, _ entry: TraceEntry) {
    guard open[handle] != nil else { return }
    with(handle, entry) { $0.omit(name, "the link of the replay has its own timing", entry, $1) }
  }

  private mutating func add(_ command: HCICommandPacket, _ entry: TraceEntry) {
    guard command.opcode == .leSetDataLength, let handle = entry.link else { return }
    omitTiming("LE Set Data Length", handle, entry)
  }

  private mutating func encrypted(_ entry: TraceEntry, _ link: inout Open) {
    if link.isAuthenticated == nil {
      sessions[link.index].usesEarlierBond = true
      omit("the encryption with the key of an earlier bond", "the replay pairs, or uses a bond of its own", entry, link)
    }
    append(.encryption(isAuthenticated: link.isAuthenticated ?? false), entry, link)
  }
}

// MARK: - Packets

extension SessionRecorder {
  /// Whether the session is kept if a request follows.
  private func isCandidate(_ link: Open) -> Bool {
    kept == nil && chosen == nil && sessions[link.index].clientCount == 0
  }

  /// The central sends something: its session is kept, if no other one is.
  private mutating func addRequest(_ link: Open) {
    sessions[link.index].clientCount += 1
    guard kept == nil, chosen == nil else { return }
    kept = link.index
    for index in sessions.indices where index != link.index { sessions[index].steps = [] }
  }

  /// Adds a step to the session that is kept.
  ///
  /// - Returns: its place; nil if it is left out.
  @discardableResult
  private mutating func append(
    _ action: RecordedSession.Step.Action, _ entry: TraceEntry, _ link: Open
  ) -> Int? {
    guard kept == link.index || isCandidate(link) else { return nil }
    let size: Int =
      switch action {
      case .request(let pdu, _), .command(let pdu): pdu.count
      case .value(_, let value): value.count
      case .encryption: 0
      }
    let limit = kept == nil ? Self.leadLimit : Self.stepLimit
    guard sessions[link.index].steps.count < limit, octets + size <= Self.octetLimit else {
      omit("the rest of the link", "the session is longer than a replay can be", entry, link)
      return nil
    }
    octets += size
    sessions[link.index].steps.append(.init(number: entry.number, time: entry.time, action: action))
    return sessions[link.index].steps.count - 1
  }

  private mutating func omit(_ name: String, _ reason: String, _ entry: TraceEntry, _ link: Open?) {
    guard let link, kept == link.index || kept == nil else { return }
    add(.init(number: entry.number, name: name, reason: reason), to: link.index)
  }

  private mutating func add(_ omission: RecordedSession.Omission, to index: Int) {
    if let known = sessions[index].omissions.firstIndex(where: {
      $0.name == omission.name && $0.reason == omission.reason
    }) {
      sessions[index].omissions[known].count += 1
    } else if sessions[index].omissions.count < Self.omissionLimit {
      sessions[index].omissions.append(omission)
    }
  }

  private mutating func add(_ pdu: ATTPDU, _ entry: TraceEntry, _ link: inout Open) {
    let type = pdu.type
    let client = pdu.client(sentAs: entry.direction)
    // Without the event of the connection, the first PDU decides.
    let expected = link.client ?? client
    link.client = expected
    guard client == expected else {
      if type == .request || type == .command {
        omit("\(entry.name) of the peripheral", "this host answers as its own services do", entry, link)
      }
      return
    }
    switch type {
    case .request: add(request: pdu, entry, &link)
    case .response: add(response: pdu, entry, &link)
    case .command: add(command: pdu, entry, link)
    case .notification: addValues(of: pdu, entry, link)
    case .indication:
      noteUnconfirmed(link, entry)
      addValues(of: pdu, entry, link)
      link.indication = entry.number
    case .confirmation: link.indication = nil
    }
  }

  private mutating func add(request pdu: ATTPDU, _ entry: TraceEntry, _ link: inout Open) {
    if let pending = link.pending {
      omit(
        "a request before the answer to packet \(pending.number)", "the replay waits for the answer first", entry, link)
    }
    addRequest(link)
    link.pending = (append(.request(pdu.encoded, nil), entry, link), pdu.opcode, entry.number)
  }

  private mutating func add(response pdu: ATTPDU, _ entry: TraceEntry, _ link: inout Open) {
    let answered: Bool =
      if case .errorResponse(let error) = pdu { error.requestOpcode == link.pending?.opcode } else {
        link.pending?.opcode.response == pdu.opcode
      }
    guard let pending = link.pending, answered else {
      return omit("a \(entry.name) without its request", "it is not compared", entry, link)
    }
    link.pending = nil
    guard let step = pending.step, case .request(let request, _) = sessions[link.index].steps[step].action else {
      return
    }
    let response = RecordedSession.Response(number: entry.number, time: entry.time, pdu: pdu.encoded)
    octets += response.pdu.count
    sessions[link.index].steps[step].action = .request(request, response)
  }

  private mutating func add(command pdu: ATTPDU, _ entry: TraceEntry, _ link: Open) {
    guard case .writeCommand = pdu else {
      return omit(entry.name, "the replay has not the key of its signature", entry, link)
    }
    addRequest(link)
    append(.command(pdu.encoded), entry, link)
  }

  /// The server sends the next indication, or the link ends.
  private mutating func noteUnconfirmed(_ link: Open, _ entry: TraceEntry) {
    guard let number = link.indication else { return }
    omit("the indication in packet \(number) without a confirmation", "the replay confirms each", entry, link)
  }

  private mutating func addValues(of pdu: ATTPDU, _ entry: TraceEntry, _ link: Open) {
    switch pdu {
    case .handleValueNotification(let packet): append(.value(packet.handle, Array(packet.value)), entry, link)
    case .handleValueIndication(let packet): append(.value(packet.handle, Array(packet.value)), entry, link)
    case .multipleHandleValueNotification(let packet):
      for tuple in packet.tuples { append(.value(tuple.handle, Array(tuple.value)), entry, link) }
    // No other PDU has a value that the server sends by itself.
    default: break
    }
  }

  private mutating func add(_ pdu: SMPPDU, _ entry: TraceEntry, _ link: inout Open) {
    switch pdu {
    case .pairingRequest(let packet): link.pairingRequest = packet.features
    case .pairingResponse(let packet):
      guard let request = link.pairingRequest else { break }
      let model = AssociationModel.chosen(request: request, response: packet.features).model
      link.isAuthenticated = model.isAuthenticated
      if model == .outOfBand { omit("the pairing out of band", "the replay has not its data", entry, link) }
    case .pairingFailed(let packet):
      omit("Pairing Failed (\(packet.reason))", "a pairing that failed is not repeated", entry, link)
    case .pairingConfirm, .pairingRandom, .encryptionInformation, .centralIdentification, .identityInformation,
      .identityAddressInformation, .signingInformation, .securityRequest, .pairingPublicKey, .pairingDHKeyCheck,
      .pairingKeypressNotification:
      break
    }
  }

  private mutating func add(_ pdu: SignallingPDU, _ entry: TraceEntry, _ link: Open) {
    switch pdu.command {
    case .leCreditBasedConnectionRequest, .creditBasedConnectionRequest:
      omit(entry.name, "channels and enhanced bearers are not repeated", entry, link)
    case .connectionParameterUpdateRequest: break  // The event of the update follows.
    // The others belong to a channel.
    default: break
    }
  }
}

/// Why a trace has no session for a replay.
package struct SessionFault: Error, Equatable, CustomStringConvertible {
  package enum Reason: Equatable, Sendable {
    /// The trace has no link.
    case noLink
    /// No link has a packet of ATT.
    case noAttributes
    /// The link, or each one, has no request of a central.
    case noRequests(Int?)
    /// No link has this number.
    case noSuchLink(Int)
    /// Several links have requests.
    case several
  }

  package let reason: Reason
  /// The links of the trace, and whether it has more.
  package let links: [String]
  package let hasMore: Bool

  /// The links that an error names.
  package static let linkLimit = 16

  init(_ reason: Reason, _ sessions: [RecordedSession] = [], _ hasMore: Bool = false) {
    self.reason = reason
    links = sessions.prefix(Self.linkLimit).map(\.summary)
    self.hasMore = hasMore || sessions.count > Self.linkLimit
  }

  package var description: String {
    let list = links.isEmpty ? "" : ". Its links: \(links.joined(separator: "; "))\(hasMore ? "; and others" : "")"
    return switch reason {
    case .noLink: "the trace has no link: record one while the central connects and uses the device"
    case .noAttributes: "no link of the trace has a packet of ATT: there is nothing to repeat\(list)"
    case .noRequests(let number?): "link \(number) of the trace has no request of a central\(list)"
    case .noRequests(nil): "no link of the trace has a request of a central: there is nothing to repeat\(list)"
    case .noSuchLink(let number): "the trace has no link \(number)\(list)"
    case .several: "several links of the trace have requests: choose one by its number\(list)"
    }
  }
}
