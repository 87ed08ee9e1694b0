import BLEL2CAP
import BLEWire
import TestVectors
import Testing

@Suite(.enabled(if: TestVectors.areHere, Comment(rawValue: TestVectors.whereToPutThem)))
struct L2CAPVectors {
  struct Case: Decodable, Sendable {
    struct Fields: Decodable, Sendable {
      var code, identifier: UInt8?
      var length: Int?
      var cid, sourceCID, destinationCID, spsm, mtu, mps, credits, result, reason: UInt16?
      var intervalMin, intervalMax, latency, timeout: UInt16?
      var sourceCIDs, destinationCIDs: [UInt16]?
      var payload, data: String?
    }

    var kind: String
    var hex: String?
    var policy: [String]?
    var command: String?
    var fields: Fields?
    var packets: [String]?
  }

  @Test func everyFrameAndSignalIsAsItsVectorSays() {
    let report = Self.run(in: TestVectors.folderOrNone)
    report.tell("L2CAP")
    #expect(report.failures == [])
  }

  static let kinds: Set = ["frame", "signalling", "signalling-malformed", "reassembly", "fcs"]

  static func run(in folder: VectorFolder) -> VectorReport {
    var report = VectorReport()
    let file = folder.file("l2cap", cases: Case.self, into: &report)
    for (name, vector) in file.cases(of: kinds, notingAllBut: kinds, into: &report) {
      report.check(name, policy: vector.policy) { checks in
        let octets = try checks.need([UInt8](hexadecimal: vector.hex ?? "?"), "hex")[...]
        switch vector.kind {
        case "signalling": try checkSignal(vector, octets, &checks)
        case "signalling-malformed":
          checks.refuses(as: CodecError.self) { _ = try SignallingPDU(decoding: octets) }
        case "reassembly": try checkReassembly(vector, octets, &checks)
        default: try checkFrame(vector, octets, &checks)
        }
      }
    }
    return report
  }

  private static func checkSignal(_ vector: Case, _ octets: Bytes, _ checks: inout VectorChecks) throws {
    let pdu = try SignallingPDU(decoding: octets)
    checks.equal(pdu.encoded[...], octets, "what is written")
    guard let fields = vector.fields else { return }
    checks.equal(pdu.command.code.rawValue, ifGiven: fields.code, "the code")
    checks.equal(pdu.identifier, ifGiven: fields.identifier, "the identifier")
    checks.equal(pdu.command.data.count, ifGiven: fields.length, "the length")
    if let made = command(vector.command ?? "", fields) {
      checks.equal(pdu.command, made, "the command")
    } else {
      checks.note("read and written, its fields not compared: command '\(vector.command ?? "")'")
    }
  }

  /// LE has no frame check sequence: a basic frame includes its two octets in the payload.
  private static func checkFrame(_ vector: Case, _ octets: Bytes, _ checks: inout VectorChecks) throws {
    let frame = try BasicFrame(decoding: octets)
    checks.equal(frame.encoded[...], octets, "what is written")
    guard let fields = vector.fields else { return }
    checks.equal(frame.channel.rawValue, ifGiven: fields.cid, "the channel")
    let payload = vector.kind == "fcs" ? frame.payload.dropLast(2) : frame.payload
    checks.equal(payload.hexadecimal, ifGiven: fields.payload, "the payload")
    if vector.kind != "fcs" { checks.equal(frame.payload.count, ifGiven: fields.length, "the length") }
  }

  private static func checkReassembly(_ vector: Case, _ octets: Bytes, _ checks: inout VectorChecks) throws {
    let packets = try checks.need(vector.packets, "packets")
    var machine = Reassembler()
    var last: Reassembler.Frame?
    for text in packets {
      // The handle and the flags, then the length: the ACL header of Vol 4, Part E, 5.4.2.
      let packet = try checks.need([UInt8](hexadecimal: text), "packet")
      guard packet.count >= 4 else { throw MissingValue(what: "packet") }
      checks.expect(last == nil, "a frame before the last packet")
      let outcome = machine.receive(packet.span.extracting(4...), packetBoundary: packet[1] >> 4 & 0b11)
      checks.equal(outcome.dropped, nil, "what is thrown away")
      last = outcome.frame
    }
    let channel = try checks.need(BasicFrame(decoding: octets), "frame").channel
    if let cid = vector.fields?.cid { checks.equal(channel.rawValue, cid, "the channel") }
    if packets.count == 1 {
      checks.equal(last, .inFragment(channel, payload: 4..<octets.count), "the frame")
    } else {
      checks.equal(last, .assembled(channel), "the frame")
      checks.equal(machine.takeFrame()[...], octets, "its octets")
    }
  }

  /// The command with the fields of the vector.
  private static func command(_ name: String, _ fields: Case.Fields) -> SignallingCommand? {
    func channel(_ number: UInt16?) -> ChannelID { ChannelID(rawValue: number ?? 0) }
    switch name {
    case "command-reject":
      var packet = CommandReject()
      packet.reason = CommandRejectReason(rawValue: fields.reason ?? 0)
      packet.data = ([UInt8](hexadecimal: fields.data ?? "") ?? [])[...]
      return .commandReject(packet)
    case "disconnection-request":
      return .disconnectionRequest(
        .init(destinationCID: channel(fields.destinationCID), sourceCID: channel(fields.sourceCID)))
    case "disconnection-response":
      return .disconnectionResponse(
        .init(destinationCID: channel(fields.destinationCID), sourceCID: channel(fields.sourceCID)))
    case "connection-parameter-update-request":
      return .connectionParameterUpdateRequest(
        .init(
          intervalMin: fields.intervalMin ?? 0, intervalMax: fields.intervalMax ?? 0, latency: fields.latency ?? 0,
          timeout: fields.timeout ?? 0))
    case "connection-parameter-update-response":
      return .connectionParameterUpdateResponse(.init(result: .init(rawValue: fields.result ?? 0)))
    case "le-credit-based-connection-request":
      var packet = LECreditBasedConnectionRequest()
      packet.spsm = SPSM(rawValue: fields.spsm ?? 0)
      packet.sourceCID = channel(fields.sourceCID)
      (packet.mtu, packet.mps, packet.initialCredits) = (fields.mtu ?? 0, fields.mps ?? 0, fields.credits ?? 0)
      return .leCreditBasedConnectionRequest(packet)
    case "le-credit-based-connection-response":
      var packet = LECreditBasedConnectionResponse(rejected: .init(rawValue: fields.result ?? 0))
      packet.destinationCID = channel(fields.destinationCID)
      (packet.mtu, packet.mps, packet.initialCredits) = (fields.mtu ?? 0, fields.mps ?? 0, fields.credits ?? 0)
      return .leCreditBasedConnectionResponse(packet)
    case "flow-control-credit":
      var packet = FlowControlCredit()
      packet.channel = channel(fields.cid)
      packet.credits = fields.credits ?? 0
      return .flowControlCredit(packet)
    case "enhanced-credit-connection-request":
      var packet = CreditBasedConnectionRequest()
      packet.spsm = SPSM(rawValue: fields.spsm ?? 0)
      (packet.mtu, packet.mps, packet.initialCredits) = (fields.mtu ?? 0, fields.mps ?? 0, fields.credits ?? 0)
      packet.sourceCIDs = (fields.sourceCIDs ?? []).map(channel)
      return .creditBasedConnectionRequest(packet)
    case "enhanced-credit-connection-response":
      var packet = CreditBasedConnectionResponse()
      (packet.mtu, packet.mps, packet.initialCredits) = (fields.mtu ?? 0, fields.mps ?? 0, fields.credits ?? 0)
      packet.result = CreditBasedConnectionResult(rawValue: fields.result ?? 0)
      packet.destinationCIDs = (fields.destinationCIDs ?? []).map(channel)
      return .creditBasedConnectionResponse(packet)
    case "enhanced-credit-reconfigure-request":
      var packet = CreditBasedReconfigureRequest()
      (packet.mtu, packet.mps) = (fields.mtu ?? 0, fields.mps ?? 0)
      packet.destinationCIDs = (fields.destinationCIDs ?? []).map(channel)
      return .creditBasedReconfigureRequest(packet)
    case "enhanced-credit-reconfigure-response":
      return .creditBasedReconfigureResponse(.init(result: .init(rawValue: fields.result ?? 0)))
    default: return nil
    }
  }
}
