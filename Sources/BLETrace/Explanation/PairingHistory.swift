import BLEHCI
import BLESMP
import BLEWire
import ToolCore

/// The pairings and the encryption of one link.
struct PairingHistory {
  private struct Pairing {
    /// The direction of the initiator's PDUs.
    var initiator: HCIPacketDirection
    var request: TraceEntry
    var initiatorFeatures: PairingFeatures
    var response: TraceEntry?
    var responderFeatures: PairingFeatures?
    var last: TraceEntry

    var model: AssociationModel? {
      responderFeatures.map { AssociationModel.chosen(request: initiatorFeatures, response: $0).model }
    }
  }

  /// A failure that can be the cause of the end of the link.
  struct Failure {
    var time: Int64
    var text: String
    var evidence: TraceFinding.Evidence
  }

  private var pairing: Pairing?
  private var encryption: TraceEntry?
  private(set) var isEncrypted = false
  private(set) var lastFailure: Failure?
  private var findings: [TraceFinding] = []

  /// The pairing failures that are kept of a link.
  static let failureLimit = 8
  private var failures = 0

  mutating func takeFindings() -> [TraceFinding] {
    defer { findings = [] }
    return findings
  }

  private mutating func add(_ finding: TraceFinding, _ text: String, _ entry: TraceEntry) {
    lastFailure = Failure(time: entry.time, text: text, evidence: .init(entry))
    failures += 1
    if failures <= Self.failureLimit { findings.append(finding) }
  }

  // MARK: Pairing

  mutating func add(_ pdu: SMPPDU, _ entry: TraceEntry, of link: LinkName) {
    expire(at: entry.time, of: link)
    switch pdu {
    case .pairingRequest(let packet):
      let kept = entry.withoutContent
      pairing = Pairing(
        initiator: entry.direction, request: kept, initiatorFeatures: packet.features, last: kept)
    case .pairingResponse(let packet):
      guard pairing?.initiator != entry.direction else { break }
      pairing?.response = entry.withoutContent
      pairing?.responderFeatures = packet.features
    case .pairingFailed(let packet): fail(packet.reason, entry, of: link)
    case .pairingConfirm, .pairingRandom, .encryptionInformation, .centralIdentification, .identityInformation,
      .identityAddressInformation, .signingInformation, .securityRequest, .pairingPublicKey, .pairingDHKeyCheck,
      .pairingKeypressNotification:
      break
    }
    pairing?.last = entry.withoutContent
  }

  private mutating func fail(_ reason: PairingFailedReason, _ entry: TraceEntry, of link: LinkName) {
    let owner = entry.direction == .hostToController ? "This host" : "The peer"
    let (meaning, remedy) = ErrorMeaning.pairing(reason, pairing?.model)
    let step = pairing.map { " after the \($0.last.name)" } ?? ""
    var evidence = features
    if let last = pairing?.last, last.number != pairing?.request.number, last.number != pairing?.response?.number {
      evidence.append(.init(last))
    }
    evidence.append(.init(entry))
    add(
      TraceFinding(
        kind: .pairing, link: link, peer: link.peer, time: entry.time,
        headline: "\(owner) ended the pairing\(step), \(reason): \(meaning)", evidence: evidence, remedy: remedy),
      "the pairing failed: \(reason)", entry)
    pairing = nil
  }

  /// The packets with the features of the devices, and the association model that follows from them.
  private var features: [TraceFinding.Evidence] {
    guard let pairing else { return [] }
    var evidence = [TraceFinding.Evidence(pairing.request)]
    if let response = pairing.response { evidence.append(.init(response)) }
    guard let responder = pairing.responderFeatures else { return evidence }
    let (model, isSecure) = AssociationModel.chosen(request: pairing.initiatorFeatures, response: responder)
    let isOwn = pairing.initiator == .hostToController
    let (own, peer) = isOwn ? (pairing.initiatorFeatures, responder) : (responder, pairing.initiatorFeatures)
    let wanted = [(own, "this host"), (peer, "the peer")].filter { $0.0.authReq.contains(.mitm) }.map { $0.1 }
    let wish =
      wanted.isEmpty
      ? "no device requires authentication" : "\(wanted.joined(separator: " and ")) required authentication"
    evidence.append(
      .init(
        "this host is \(own.ioCapability), the peer is \(peer.ioCapability): \(model.text), "
          + "\(isSecure ? "LE Secure Connections" : "LE legacy pairing"); \(wish)"))
    return evidence
  }

  /// Ends a pairing whose next PDU has not come in time.
  private mutating func expire(at time: Int64, of link: LinkName) {
    guard let pairing, elapsed(pairing.last.time, time) >= Self.timeout, !isEncrypting else { return }
    let owner = pairing.last.direction == .hostToController ? "The peer" : "This host"
    var evidence = features
    if evidence.last?.number != pairing.last.number, pairing.last.number != pairing.request.number,
      pairing.last.number != pairing.response?.number
    {
      evidence.append(.init(pairing.last))
    }
    let seconds = elapsed(pairing.last.time, time)
    add(
      TraceFinding(
        kind: .pairing, link: link, peer: link.peer, time: pairing.last.time,
        headline: "\(owner) sent nothing for \(seconds.duration) after the \(pairing.last.name) of a pairing, "
          + "which ends after 30 s",
        evidence: evidence,
        remedy:
          "Pair again on a new link. A passkey or an answer of the user must be given within 30 s (Vol 3, Part H, 3.4)."
      ),
      "the pairing took longer than 30 s", pairing.last)
    self.pairing = nil
  }

  /// The timeout of a pairing, less the time between the timer of a host and the trace.
  private static let timeout = 29.5

  private var isEncrypting: Bool { encryption != nil }

  // MARK: Encryption

  mutating func enables(_ entry: TraceEntry) { encryption = entry.withoutContent }

  /// This host has no key for the central.
  mutating func lacksKey(_ entry: TraceEntry, of link: LinkName) {
    add(
      TraceFinding(
        kind: .encryption, link: link, peer: link.peer, time: entry.time,
        headline:
          "This host has no key for the central, which has asked for encryption with one: its bond is missing here",
        evidence: [.init(entry)],
        remedy: "Remove the bond on the central (on a phone: Settings, Bluetooth, Forget) and pair again."),
      "this host had no key for the central", entry)
  }

  mutating func changed(_ status: HCIErrorCode, isOn: Bool, _ entry: TraceEntry, of link: LinkName) {
    defer { encryption = nil }
    pairing = nil
    guard status != .success else {
      isEncrypted = isOn
      if isOn { lastFailure = nil }
      return
    }
    var evidence = encryption.map { [TraceFinding.Evidence($0)] } ?? []
    evidence.append(.init(entry))
    let device = link.peer.map { "\($0)" } ?? "the peer"
    if status == .pinOrKeyMissing {
      let remedy = link.peer.map {
        PairingRemedy(removesBond: true, isAuthenticated: false).commandLine(for: $0) { words in
          (["ble"] + words).joined(separator: " ")
        }
      }
      add(
        TraceFinding(
          kind: .encryption, link: link, peer: link.peer, time: entry.time,
          headline: "The encryption failed, \(status): \(device) has forgotten the bond", evidence: evidence,
          remedy: "Remove the bond of this host and pair again." + (remedy.map { " With this package: \($0)" } ?? "")),
        "the encryption failed: \(status)", entry)
    } else {
      let known = ErrorMeaning.disconnection(status)
      add(
        TraceFinding(
          kind: .encryption, link: link, peer: link.peer, time: entry.time,
          headline: "The encryption failed, \(status)" + (known.map { ": \($0.meaning)" } ?? ""), evidence: evidence,
          remedy: known?.remedy ?? "Remove the bond on both devices and pair again."),
        "the encryption failed: \(status)", entry)
    }
  }

  /// The link or the trace ends.
  ///
  /// - Parameter entry: the end of the link; nil for the end of the trace.
  mutating func finish(at time: Int64, _ entry: TraceEntry?, of link: LinkName) {
    expire(at: time, of: link)
    guard let pairing, let entry else { return }
    var evidence = features
    if pairing.last.number != pairing.request.number, pairing.last.number != pairing.response?.number {
      evidence.append(.init(pairing.last))
    }
    evidence.append(.init(entry))
    let owner = pairing.last.direction == .hostToController ? "the peer" : "this host"
    add(
      TraceFinding(
        kind: .pairing, link: link, peer: link.peer, time: pairing.last.time,
        headline: "The link ended during a pairing, \(elapsed(pairing.last.time, time).duration) after the "
          + "\(pairing.last.name): the next packet was that of \(owner)",
        evidence: evidence, remedy: "The reason of the end of the link explains it. Pair again."),
      "a pairing was not finished", pairing.last)
    self.pairing = nil
  }
}

extension AssociationModel {
  fileprivate var text: String {
    switch self {
    case .justWorks: "Just Works, without authentication"
    case .numericComparison: "numeric comparison"
    case .passkeyEntry: "passkey entry"
    case .outOfBand: "out of band"
    }
  }
}
