import BLEL2CAP
import BLEWire
import Foundation
import TestVectors
import Testing

@Suite(.enabled(if: TestVectors.areHere, Comment(rawValue: TestVectors.whereToPutThem)))
struct L2CAPVectors {
  struct Case: Decodable, CustomTestStringConvertible, Sendable {
    struct Fields: Decodable, Sendable {
      var code, identifier: UInt8?
      var length: Int?
      var cid, sourceCID, destinationCID, spsm, mtu, mps, credits, result, reason: UInt16?
      var intervalMin, intervalMax, latency, timeout: UInt16?
      var sourceCIDs, destinationCIDs: [UInt16]?
      var payload, data: String?
    }

    var name, kind, hex: String
    var command: String?
    var fields: Fields?
    var packets: [String]?
    var aclSize: Int?

    var testDescription: String { name }
    var octets: Bytes { ([UInt8](hexadecimal: hex) ?? [])[...] }
  }

  static let cases: [Case] = (try? TestVectors.load("l2cap", as: Case.self).cases) ?? []

  @Test func everyKindIsKnown() {
    #expect(!Self.cases.isEmpty)
    let known = ["frame", "signalling", "signalling-malformed", "reassembly", "fcs"]
    #expect(Self.cases.allSatisfy { known.contains($0.kind) })
  }

  @Test(arguments: cases.filter { $0.kind == "signalling" }) func signalling(vector: Case) throws {
    let pdu = try SignallingPDU(decoding: vector.octets)
    let fields = try #require(vector.fields)
    #expect(pdu.command.code.rawValue == fields.code)
    #expect(pdu.identifier == fields.identifier)
    #expect(pdu.command.data.count == fields.length)
    #expect(pdu.encoded[...] == vector.octets)

    let made = try #require(command(vector.command ?? "", fields))
    #expect(made == pdu.command)
  }

  @Test(arguments: cases.filter { $0.kind == "signalling-malformed" }) func malformedSignalling(vector: Case) {
    #expect(throws: CodecError.self) { try SignallingPDU(decoding: vector.octets) }
  }

  /// The check sequence of BR/EDR is no part of LE: a basic frame hands its two octets on with the payload.
  @Test(arguments: cases.filter { $0.kind == "frame" || $0.kind == "fcs" }) func frames(vector: Case) throws {
    let frame = try BasicFrame(decoding: vector.octets)
    let fields = try #require(vector.fields)
    let payload = try #require(fields.payload.flatMap { [UInt8](hexadecimal: $0) })
    #expect(frame.channel.rawValue == fields.cid)
    if vector.kind == "fcs" {
      #expect(frame.payload.dropLast(2) == payload[...])
    } else {
      #expect(frame.payload == payload[...])
      #expect(frame.payload.count == fields.length)
    }
    #expect(frame.encoded[...] == vector.octets)
  }

  @Test(arguments: cases.filter { $0.kind == "reassembly" }) func reassembly(vector: Case) throws {
    let packets = try #require(vector.packets).map { [UInt8](hexadecimal: $0) ?? [] }
    var machine = Reassembler()
    var last: Reassembler.Frame?
    for packet in packets {
      #expect(last == nil)
      // The handle and the flags, then the length: the ACL header of Vol 4, Part E, 5.4.2.
      let outcome = machine.receive(packet.span.extracting(4...), packetBoundary: packet[1] >> 4 & 0b11)
      #expect(outcome.dropped == nil)
      last = outcome.frame
    }
    let channel = ChannelID(rawValue: try #require(vector.fields?.cid))
    if packets.count == 1 {
      #expect(last == .inFragment(channel, payload: 4..<vector.octets.count))
    } else {
      #expect(last == .assembled(channel))
      #expect(machine.takeFrame()[...] == vector.octets)
    }
  }

  /// The command made from the fields, by the names that the collection has for them.
  private func command(_ name: String, _ fields: Case.Fields) -> SignallingCommand? {
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
      var packet = LECreditBasedConnectionResponse(refused: .init(rawValue: fields.result ?? 0))
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
