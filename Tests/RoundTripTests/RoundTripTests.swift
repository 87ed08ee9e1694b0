import BLEATT
import BLEGAP
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire
import Foundation
import TestSupport
import Testing

/// Every packet of the lists from which the decoders derive: random values are decoded as they were encoded, and octets
/// that are accepted are encoded as the same octets.
@Suite struct RoundTripTests {
  private static let seeds: Range<UInt64> = 0..<8

  /// Random octets near those of a packet: as encoded, with changed octets, truncated, longer, or of any content.
  private func octets(near encoded: [UInt8], _ source: inout SplitMix64) -> [UInt8] {
    var octets = encoded
    switch Int.random(in: 0..<5, using: &source) {
    case 0: break
    case 1:
      guard !octets.isEmpty else { break }
      for _ in 0..<Int.random(in: 1...3, using: &source) {
        octets[.random(in: 0..<octets.count, using: &source)] = .random(in: 0...255, using: &source)
      }
    case 2: octets = octets.dropLast(.random(in: 0...octets.count, using: &source))
    case 3: octets += (0..<Int.random(in: 1...8, using: &source)).map { _ in .random(in: 0...255, using: &source) }
    default: octets = octets.map { _ in .random(in: 0...255, using: &source) }
    }
    return octets
  }

  /// Both directions for one type of packet. A packet whose fields have reserved bits, which are not stored, or padding
  /// is `lossy`: what was accepted is then encoded as octets that are decoded as the same packet.
  private func check<P: Packet>(_ type: P.Type, _ source: inout SplitMix64, isLossy: Bool = false) throws -> Int {
    var accepted = 0
    for _ in 0..<4 {
      let packet = P.random(from: &source)
      let encoded = packet.encoded
      #expect(try P(decoding: encoded[...]) == packet, "\(type): \(encoded.hexadecimal)")
      for _ in 0..<6 {
        let octets = octets(near: encoded, &source)
        guard let decoded = try? P(decoding: octets[...]) else { continue }
        accepted += 1
        let again = decoded.encoded
        if isLossy {
          #expect(again.count == octets.count, "\(type): \(octets.hexadecimal)")
          #expect(try P(decoding: again[...]) == decoded, "\(type): \(octets.hexadecimal)")
        } else {
          #expect(again == octets, "\(type)")
        }
      }
    }
    return accepted
  }

  @Test(arguments: seeds) func attPDUs(seed: UInt64) throws {
    var source = SplitMix64(seed: seed)
    for type in ATT.packets {
      func checkPDU<P: ATTPacket>(_ type: P.Type) throws {
        #expect(try check(type, &source) > 0, "no octets are accepted as \(type)")
        let packet = P.random(from: &source)
        let pdu = try ATTPDU(decoding: packet.encodedPDU[...])
        #expect(pdu.packet as? P == packet && pdu.opcode == P.opcode && pdu.encoded == packet.encodedPDU)
        let octets = octets(near: pdu.encoded, &source)
        if let decoded = try? ATTPDU(decoding: octets[...]) { #expect(decoded.encoded == octets) }
      }
      try checkPDU(type)
    }
  }

  @Test(arguments: seeds) func smpPDUs(seed: UInt64) throws {
    var source = SplitMix64(seed: seed)
    for type in SMP.packets {
      func checkPDU<P: SMPPacket>(_ type: P.Type) throws {
        #expect(try check(type, &source) > 0, "no octets are accepted as \(type)")
        let packet = P.random(from: &source)
        let pdu = try SMPPDU(decoding: packet.encodedPDU[...])
        #expect(pdu.packet as? P == packet && pdu.code == P.code && pdu.encoded == packet.encodedPDU)
        let octets = octets(near: pdu.encoded, &source)
        if let decoded = try? SMPPDU(decoding: octets[...]) { #expect(decoded.encoded == octets) }
      }
      try checkPDU(type)
    }
  }

  @Test(arguments: seeds) func signallingPDUs(seed: UInt64) throws {
    var source = SplitMix64(seed: seed)
    for type in SignallingPDU.packets {
      func checkPDU<P: SignallingPacket>(_ type: P.Type) throws {
        #expect(try check(type, &source) > 0, "no octets are accepted as \(type)")
        let (identifier, packet) = (UInt8.random(in: 0...255, using: &source), P.random(from: &source))
        let pdu = try SignallingPDU(decoding: packet.encodedPDU(identifier: identifier)[...])
        #expect(pdu.identifier == identifier && pdu.command.packet as? P == packet && pdu.command.code == P.code)
        #expect(pdu.encoded == packet.encodedPDU(identifier: identifier))
        let octets = octets(near: pdu.encoded, &source)
        if let decoded = try? SignallingPDU(decoding: octets[...]) { #expect(decoded.encoded == octets) }
      }
      try checkPDU(type)
    }
  }

  @Test(arguments: seeds) func l2capFrames(seed: UInt64) throws {
    var source = SplitMix64(seed: seed)
    for _ in 0..<50 {
      let payload = (0..<Int.random(in: 0...40, using: &source)).map { _ in UInt8.random(in: 0...255, using: &source) }
      let channel = UInt16.random(in: 0 ... .max, using: &source)
      var octets: [UInt8] = []
      octets.append(littleEndian: UInt16(payload.count))
      octets.append(littleEndian: channel)
      octets += payload
      #expect(try BasicFrame(decoding: octets[...]).encoded == octets)
      let other = self.octets(near: octets, &source)
      if let frame = try? BasicFrame(decoding: other[...]) { #expect(frame.encoded == other) }
    }
  }

  @Test(arguments: seeds) func hciCommandsAndTheirReturnParameters(seed: UInt64) throws {
    var source = SplitMix64(seed: seed)
    for command in HCI.commands.values.sorted(by: { $0.opcode.rawValue < $1.opcode.rawValue }) {
      func checkCommand<Command: HCICommand>(_ type: Command.Type) throws {
        #expect(try check(type, &source, isLossy: true) > 0, "no octets are accepted as \(type)")
        #expect(try check(Command.Response.self, &source, isLossy: true) > 0, "\(Command.Response.self)")
        let command = Command.random(from: &source)
        var packet: [UInt8] = []
        packet.append(hci: command)
        guard command.encoded.count <= 255, case .command(let received) = try HCIPacket(decoding: packet[...]) else {
          return
        }
        #expect(try received.decoded()?.encoded == command.encoded)
        #expect(HCIPacket.command(received).encoded == packet)
      }
      try checkCommand(command)
    }
  }

  @Test(arguments: seeds) func hciEvents(seed: UInt64) throws {
    var source = SplitMix64(seed: seed)
    func checkEvent<Event: HCIEventParameters>(_ type: Event.Type) throws {
      #expect(try check(type, &source, isLossy: true) > 0, "no octets are accepted as \(type)")
      let parameters = Event.random(from: &source)
      let packet = HCIEventPacket(parameters)
      guard packet.parameters.count <= 255 else { return }
      let event = try HCIEvent(decoding: packet.encoded[...])
      #expect(event.parameters as? Event == parameters && event.packet == packet)
    }
    for event in HCI.events.values.sorted(by: { $0.eventCode.rawValue < $1.eventCode.rawValue }) {
      try checkEvent(event)
    }
    for event in HCI.leEvents.values.sorted(by: { $0.subeventCode.rawValue < $1.subeventCode.rawValue }) {
      try checkEvent(event)
    }
  }

  /// ACL, synchronous and isochronous data, and commands and events as packets of a transport: nothing of their octets
  /// is lost.
  @Test(arguments: seeds) func packetsOfATransport(seed: UInt64) throws {
    var source = SplitMix64(seed: seed)
    for _ in 0..<40 {
      let packets: [HCIPacket] = [
        .command(.random(from: &source)), .event(.random(from: &source)), .aclData(.random(from: &source)),
        .synchronousData(.random(from: &source)), .isoData(.random(from: &source)),
      ]
      for packet in packets {
        #expect(try HCIPacket(decoding: packet.encoded[...]) == packet)
        let octets = octets(near: packet.encoded, &source)
        guard let decoded = try? HCIPacket(decoding: octets[...]) else { continue }
        #expect(decoded.encoded.count == octets.count)
        #expect(try HCIPacket(decoding: decoded.encoded[...]) == decoded)
      }
    }
  }

  /// Every AD type with data of every length: the element has the octets, and the octets the element.
  @Test(arguments: seeds) func adStructures(seed: UInt64) throws {
    var source = SplitMix64(seed: seed)
    for type in UInt8.min ... .max {
      for length in 0...40 {
        let data = Bytes((0..<length).map { _ in UInt8.random(in: 0...255, using: &source) })
        let structure = ADStructure(type: ADType(rawValue: type), data: data)
        let element = ADElement(structure)
        #expect(element.structure == structure)
        var written: [UInt8] = []
        element.encode(to: &written)
        #expect(ADStructures(written[...]).elements == [element])
        #expect(written == [UInt8(length + 1), type] + data)
      }
    }
  }

  /// A packet that is declared and not listed is in no decoder and in no test.
  @Test func everyDeclaredPacketIsListed() throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Sources")
    let listed: [String: [Any.Type]] = [
      "ATTPacket": ATT.packets, "SMPPacket": SMP.packets, "SignallingPacket": SignallingPDU.packets,
      "HCICommand": Array(HCI.commands.values), "HCIEventParameters": Array(HCI.events.values),
      "LEEventParameters": Array(HCI.leEvents.values),
    ]
    var declared: [String: Set<String>] = [:]
    let pattern =
      /struct (\w+): (ATTPacket|SMPPacket|SignallingPacket|HCIEventParameters|LEEventParameters|HCICommand|LinkCommand|ParameterlessCommand)\b/
    for case let file as URL in FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil) ?? .init()
    where file.pathExtension == "swift" {
      for match in try String(contentsOf: file, encoding: .utf8).matches(of: pattern) {
        let kind = match.output.2.hasSuffix("Command") ? "HCICommand" : String(match.output.2)
        declared[kind, default: []].insert(String(match.output.1))
      }
    }
    for (kind, types) in listed { #expect(declared[kind] == Set(types.map { "\($0)" }), "\(kind)") }
  }
}
