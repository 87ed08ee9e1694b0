import BLEATT
import BLEAssignedNumbers
import BLEHCI
import BLEWire
import ToolCore

/// The requests and indications of one link, and their answers.
struct AttributeHistory {
  /// A request or an indication without an answer.
  struct Transaction {
    var entry: TraceEntry
    var opcode: ATTOpcode
    /// The attribute, for a request of one.
    var handle: AttributeHandle?
    var isIndication = false
    /// The octets of the value of a Write Request; 0 for another one.
    var valueLength = 0

    var name: String { opcode.name ?? "\(opcode)" }
    /// Whether the peer has to answer.
    var isOfThisHost: Bool { entry.direction == .hostToController }
    /// `the peer did not answer a Read Request`.
    var complaint: String { "\(isOfThisHost ? "the peer" : "this host") did not answer \(name.withArticle)" }

    /// How long it has no answer.
    func wait(until time: Int64) -> String {
      let seconds = elapsed(entry.time, time)
      if seconds < 1 { return "\(name) without an answer, sent \(seconds.duration) before" }
      return "\(complaint) for \(seconds.duration)"
    }
  }

  private struct Sender: Hashable {
    var direction: HCIPacketDirection
    var isIndication: Bool
  }

  /// Error Responses with the same request, attribute and code.
  private struct Refusal {
    var isOfPeer: Bool
    var request: ATTOpcode
    var handle: AttributeHandle
    var code: ATTErrorCode
    var first: TraceEntry
    var last: TraceEntry
    var count = 1

    var isAboutSecurity: Bool {
      [.insufficientAuthentication, .insufficientEncryption, .insufficientEncryptionKeySize].contains(code)
    }
  }

  /// The refusals with different attributes and codes that are kept of a link.
  static let refusalLimit = 32
  /// The descriptors that enable updates, and the characteristics with updates, that are kept of a link.
  static let subscriptionLimit = 64
  /// An answer that takes longer is late.
  static let lateAnswer = 2.0
  /// The timeout of a transaction, less the time between the timer of a host and the trace.
  static let timeout = 29.5

  private var waiting: [Sender: Transaction] = [:]
  private var refusals: [Refusal] = []
  private var hasMoreRefusals = false
  private var late: (count: Int, longest: Double, request: TraceEntry, answer: TraceEntry)?
  /// The handles of values with updates, and of CCCDs, by the direction of the client.
  private var updating: [HCIPacketDirection: [(value: AttributeHandle, uuid: BluetoothUUID)]] = [:]
  private var configurations: [HCIPacketDirection: [AttributeHandle]] = [:]
  private var subscribers: Set<HCIPacketDirection> = []
  private var discoveredType: [HCIPacketDirection: BluetoothUUID] = [:]

  /// The requests and indications without an answer, the oldest first.
  var unanswered: [Transaction] { waiting.values.sorted { $0.entry.number < $1.entry.number } }

  /// Whether a server, that of the peer or of this host, has demanded security, and the link was not encrypted
  /// afterwards.
  func hasUnmetDemand(ofPeer isOfPeer: Bool) -> Bool {
    refusals.contains { $0.isAboutSecurity && $0.isOfPeer == isOfPeer }
  }

  /// - Returns: the request that the PDU answers, and the time in seconds that the answer took.
  mutating func add(_ pdu: ATTPDU, _ entry: TraceEntry, lateAfter limit: Double) -> (Transaction, seconds: Double)? {
    let opposite = entry.direction.opposite
    note(pdu, entry, opposite)
    let type = pdu.type
    switch type {
    case .request, .indication:
      let isIndication = type == .indication
      waiting[Sender(direction: entry.direction, isIndication: isIndication)] = Transaction(
        entry: entry.withoutContent, opcode: pdu.opcode, handle: pdu.attribute, isIndication: isIndication,
        valueLength: pdu.writtenLength)
      return nil
    case .command, .notification: return nil
    case .response, .confirmation:
      let isIndication = type == .confirmation
      let sender = Sender(direction: opposite, isIndication: isIndication)
      guard let request = waiting.removeValue(forKey: sender) else { return nil }
      let seconds = elapsed(request.entry.time, entry.time)
      if seconds > max(limit, Self.lateAnswer) {
        let isLongest = seconds > late?.longest ?? 0
        late = (
          (late?.count ?? 0) + 1, isLongest ? seconds : late?.longest ?? 0,
          isLongest ? request.entry : late?.request ?? request.entry,
          isLongest ? entry.withoutContent : late?.answer ?? entry.withoutContent
        )
      }
      return (request, seconds)
    }
  }

  private mutating func note(_ pdu: ATTPDU, _ entry: TraceEntry, _ client: HCIPacketDirection) {
    switch pdu {
    case .errorResponse(let packet): refuse(packet, entry)
    case .readByTypeRequest(let packet): discoveredType[entry.direction] = packet.attributeType
    case .readByTypeResponse(let packet) where discoveredType[client] == "2803":
      // Properties, handle of the value, UUID (Vol 3, Part G, 3.3.1): Notify is 0x10, Indicate 0x20.
      for attribute in packet.attributeDataList where (attribute.value.first ?? 0) & 0x30 != 0 {
        guard let handle = attribute.value.uint16(at: 1), updating[client, default: []].count < Self.subscriptionLimit,
          let uuid = BluetoothUUID(littleEndian: attribute.value.dropFirst(3))
        else { continue }
        let value = AttributeHandle(rawValue: handle)
        if updating[client]?.contains(where: { $0.value == value }) == true { continue }
        updating[client, default: []].append((value, uuid))
      }
    case .findInformationResponse(let packet):
      for pair in packet.informationData
      where pair.uuid == "2902" && configurations[client, default: []].count < Self.subscriptionLimit {
        configurations[client, default: []].append(pair.handle)
      }
    case .writeRequest(let packet) where configurations[entry.direction]?.contains(packet.handle) == true:
      subscribers.insert(entry.direction)
    // A bond keeps subscriptions.
    case .handleValueNotification, .handleValueIndication, .multipleHandleValueNotification: subscribers.insert(client)
    default: break
    }
  }

  private mutating func refuse(_ packet: ErrorResponse, _ entry: TraceEntry) {
    if packet.isNormalEnd { return }
    let isOfPeer = entry.direction == .controllerToHost
    if let index = refusals.firstIndex(where: {
      $0.isOfPeer == isOfPeer && $0.request == packet.requestOpcode && $0.handle == packet.handle
        && $0.code == packet.code
    }) {
      refusals[index].count += 1
      refusals[index].last = entry.withoutContent
    } else if refusals.count < Self.refusalLimit {
      let kept = entry.withoutContent
      refusals.append(
        Refusal(
          isOfPeer: isOfPeer, request: packet.requestOpcode, handle: packet.handle, code: packet.code, first: kept,
          last: kept))
    } else {
      hasMoreRefusals = true
    }
  }

  /// The link is encrypted: the demands of the servers so far have been met.
  mutating func encrypted() { refusals.removeAll { $0.isAboutSecurity } }

  /// What the history shows at the end of the link or of the trace.
  ///
  /// - Parameters:
  ///   - isEncrypted: whether the link was encrypted at that time.
  ///   - hasEnded: whether the link has ended; the explanation of the end names the requests without an answer.
  func findings(of link: LinkName, at end: Int64, isEncrypted: Bool, hasEnded: Bool) -> [TraceFinding] {
    var findings = refusals.map { finding($0, of: link, isEncrypted: isEncrypted) }
    if hasMoreRefusals {
      findings.append(
        TraceFinding(
          kind: .refusal, link: link, peer: link.peer, time: end,
          headline: "More requests were refused than the \(Self.refusalLimit) that are listed here",
          remedy: "ble log FILE --layer att prints all of them."))
    }
    if let late {
      let owner = late.request.direction == .hostToController ? "The peer" : "This host"
      let times =
        late.count == 1 ? "" : ", and \(late.count - 1) other answers took more than \(Self.lateAnswer.duration)"
      findings.append(
        TraceFinding(
          kind: .answer, link: link, peer: link.peer, time: late.request.time,
          headline: "\(owner) took \(late.longest.duration) to answer \(late.request.name.withArticle)\(times)",
          evidence: [.init(late.request), .init(late.answer)],
          remedy: late.request.direction == .hostToController
            ? "The peer's application is slow, or waits for its user. The limit is 30 s (Vol 3, Part F, 3.3.3)."
            : "Answer sooner in the program: the link ends after 30 s (Vol 3, Part F, 3.3.3)."))
    }
    if !hasEnded {
      for transaction in unanswered where elapsed(transaction.entry.time, end) >= Self.timeout {
        findings.append(
          TraceFinding(
            kind: .answer, link: link, peer: link.peer, time: transaction.entry.time,
            headline: "\(transaction.complaint.capitalizedFirst) until the end of the trace, "
              + elapsed(transaction.entry.time, end).duration,
            evidence: [.init(transaction.entry)],
            remedy: "The link cannot be used after 30 s (Vol 3, Part F, 3.3.3): connect again."))
      }
    }
    if !isEncrypted { findings += HCIPacketDirection.both.compactMap { absence($0, of: link, at: end) } }
    return findings
  }

  private func finding(_ refusal: Refusal, of link: LinkName, isEncrypted: Bool) -> TraceFinding {
    let name = refusal.request.name ?? "\(refusal.request)"
    let owner = refusal.isOfPeer ? "The peer" : "This host"
    let times = refusal.count == 1 ? "" : ", \(refusal.count) times"
    var (meaning, remedy) = ErrorMeaning.attribute(refusal.code, of: refusal.request)
    var isProblem = ![.requestNotSupported, .attributeNotLong, .unsupportedGroupType].contains(refusal.code)
    var evidence = [TraceFinding.Evidence(refusal.first)]
    if refusal.count > 1 { evidence.append(.init(refusal.last)) }
    if refusal.isAboutSecurity {
      if isEncrypted {
        meaning = "the attribute requires a key that is authenticated, or longer than that of the link"
        remedy =
          "Remove the bond and pair with a passkey or a comparison: with this package, ble pair DEVICE --authenticated."
      } else {
        evidence.append(.init("no pairing and no encryption of the link follows in the trace"))
        if let device = link.peer, refusal.isOfPeer {
          remedy += " With this package: ble pair \(device.word)"
        }
      }
      isProblem = true
    }
    return TraceFinding(
      kind: .refusal, isProblem: isProblem, link: link, peer: link.peer, time: refusal.first.time,
      headline:
        "\(owner) refused \(name.withArticle) of \(refusal.first.attribute ?? "\(refusal.handle)")\(times), "
        + "\(refusal.code): \(meaning)",
      evidence: evidence, remedy: remedy)
  }

  /// Characteristics with updates, of which the client has enabled none.
  ///
  /// It is certain only if the trace has the discovery of the descriptors, and no bond keeps a subscription.
  private func absence(_ client: HCIPacketDirection, of link: LinkName, at end: Int64) -> TraceFinding? {
    guard let found = updating[client], let descriptors = configurations[client], !subscribers.contains(client),
      !found.isEmpty, !descriptors.isEmpty
    else { return nil }
    let named = found.filter { AssignedNames.uuid($0.uuid) != "Service Changed" }
    guard !named.isEmpty else { return nil }
    let names = named.prefix(4).map { "\($0.value) \(AssignedNames.uuid($0.uuid) ?? $0.uuid.uuidString)" }
    let more = named.count > names.count ? " and \(named.count - names.count) others" : ""
    let owner = client == .hostToController ? "This host" : "The peer"
    return TraceFinding(
      kind: .answer, isProblem: false, link: link, peer: link.peer, time: end,
      headline: "\(owner) has not enabled notifications or indications, and gets no values without a request: "
        + names.joined(separator: ", ") + more,
      remedy: "If values are expected, subscribe: the client writes the Client Characteristic Configuration.")
  }
}

extension HCIPacketDirection {
  static let both: [Self] = [.hostToController, .controllerToHost]
}

extension TraceEntry {
  /// The entry without the octets of its packet, which would keep those of other packets.
  package var withoutContent: Self {
    var entry = self
    entry.content = .other
    return entry
  }
}

extension String {
  /// `a Read Request`, `an Exchange MTU Request`.
  var withArticle: String { (first.map { "AEIOUaeiou".contains($0) } == true ? "an " : "a ") + self }

  var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}

extension ATTPDU {
  /// The attribute of a request or an indication of one attribute.
  fileprivate var attribute: AttributeHandle? {
    if case .handleValueIndication(let packet) = self { return packet.handle }
    return requestedAttribute
  }

  fileprivate var writtenLength: Int { if case .writeRequest(let packet) = self { packet.value.count } else { 0 } }
}
