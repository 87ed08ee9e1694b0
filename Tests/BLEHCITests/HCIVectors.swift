import BLEHCI
import BLEWire
import TestVectors
import Testing

/// Packets that others made or captured, and what another stack reads in them.
@Suite(.enabled(if: TestVectors.areHere, "\(TestVectors.whereToPutThem)"))
struct HCIVectors {
  struct Case: Decodable {
    var name: String
    var kind: String
    var hex: String
    var opcode: UInt16?
    var parameters: String?
    var numHCICommandPackets: UInt8?
    var returnParameters: String?
    var status: UInt8?
    var eventCode: UInt8?
    var subevent: UInt8?
    var handle: UInt16?
    var packetBoundary: UInt16?
    var broadcast: UInt8?
    var payload: String?
    var fields: JSONValue?
    var decodedBy: String?
  }

  static func cases() throws -> [(Case, Bytes)] {
    try TestVectors.load("hci", as: Case.self).cases.map {
      ($0, try #require([UInt8](hexadecimal: $0.hex), "\($0.name)")[...])
    }
  }

  @Test func `every frame is read and written back`() throws {
    var counts: [String: Int] = [:]
    for (vector, octets) in try Self.cases() where vector.kind != "malformed" {
      counts[vector.kind, default: 0] += 1
      let packet = try HCIPacket(decoding: octets)
      #expect(packet.encoded[...] == octets, "\(vector.name)")
      switch packet {
      case .command(let command):
        #expect(command.opcode.rawValue == vector.opcode, "\(vector.name)")
        #expect(command.parameters.hexadecimal == vector.parameters, "\(vector.name)")
      case .event(let event):
        #expect(event.parameters.hexadecimal == vector.parameters ?? event.parameters.hexadecimal, "\(vector.name)")
        try check(HCIEvent(event), against: vector)
      case .aclData(let data):
        #expect(data.connectionHandle.rawValue == vector.handle, "\(vector.name)")
        #expect(data.packetBoundaryFlag.rawValue == vector.packetBoundary, "\(vector.name)")
        #expect(data.broadcastFlag == vector.broadcast, "\(vector.name)")
        #expect(data.data.hexadecimal == vector.payload, "\(vector.name)")
        let inPlace = try ACLHeader(reading: Array(octets).span)
        #expect(inPlace.connectionHandle == data.connectionHandle && inPlace.dataLength == data.data.count)
      default: Issue.record("\(vector.name): no such packet in the vectors")
      }
    }
    #expect(counts.values.reduce(0, +) > 400)
  }

  private func check(_ event: HCIEvent, against vector: Case) throws {
    #expect(event.packet.encoded.hexadecimal == vector.hex.dropFirst(2), "\(vector.name)")
    switch event.parameters {
    case let event as HCI.CommandComplete:
      #expect(event.opcode.rawValue == vector.opcode, "\(vector.name)")
      #expect(event.numHCICommandPackets == vector.numHCICommandPackets, "\(vector.name)")
      #expect(event.returnParameters.hexadecimal == vector.returnParameters, "\(vector.name)")
    case let event as HCI.CommandStatus:
      #expect(event.opcode.rawValue == vector.opcode, "\(vector.name)")
      #expect(event.numHCICommandPackets == vector.numHCICommandPackets, "\(vector.name)")
      #expect(event.status.rawValue == vector.status, "\(vector.name)")
    case let event as any LEEventParameters:
      #expect(type(of: event).subeventCode.rawValue == vector.subevent, "\(vector.name)")
    default: #expect(event.eventCode.rawValue == vector.eventCode, "\(vector.name)")
    }
  }

  @Test func `malformed frames are refused`() throws {
    let malformed = try Self.cases().filter { $0.0.kind == "malformed" }
    #expect(!malformed.isEmpty)
    for (vector, octets) in malformed {
      #expect(throws: CodecError.self, "\(vector.name)") {
        if case .event(let event) = try HCIPacket(decoding: octets) { _ = try HCIEvent(event) }
      }
    }
  }

  @Test func `the framer cuts all vectors out of one stream`() throws {
    let packets = try Self.cases().filter { $0.0.kind != "malformed" }.map { Array($0.1) }
    let stream = packets.flatMap { $0 }
    for size in [1, 7, 64, 1000, stream.count] {
      var framer = H4Framer()
      var found: [[UInt8]] = []
      for start in stride(from: 0, to: stream.count, by: size) {
        let piece = Array(stream[start..<min(stream.count, start + size)])
        try framer.receive(piece.span) { found.append([UInt8](copying: $0)) }
      }
      try framer.finish()
      #expect(found == packets)
    }
  }

  @Test func `every declared packet is read and written back`() throws {
    var count = 0
    for (vector, octets) in try Self.cases() where vector.kind != "malformed" {
      guard let packet = try declared(octets), octets.count > 4 else { continue }
      count += 1
      // A refusal may be the status alone, a packet of a later version may go on: only what is declared is written.
      let refused = vector.returnParameters?.count == 2
      if !refused { #expect(octets.hexadecimal.hasSuffix(packet.encoded.hexadecimal), "\(vector.name)") }
    }
    #expect(count >= 260)
  }

  @Test func `the fields are those that Bumble reads`() throws {
    var compared = 0
    var unmatched: Set<String> = []
    for (vector, octets) in try Self.cases() where vector.decodedBy == "bumble" {
      guard let fields = vector.fields, let packet = try declared(octets) else { continue }
      // Return parameters that Bumble leaves as octets, it calls "data"; a refusal may be the status alone.
      if vector.kind == "command-complete", fields.leaves["data"] != nil || vector.returnParameters?.count == 2 {
        continue
      }
      let ours = FieldCollector(packet)
      for (name, values) in fields.leaves where !Self.frameFields.contains(name) {
        let addresses = values.compactMap(\.address)
        #expect(addresses.allSatisfy(ours.addresses.contains), "\(vector.name): \(name)")
        compared += addresses.count
        if !addresses.isEmpty { continue }
        let found = ours.fields.filter { $0.matches(Self.otherNames[name] ?? name) }
        guard !found.isEmpty || values.isEmpty else {
          unmatched.insert(name)
          continue
        }
        #expect(found.count == values.count, "\(vector.name): \(name)")
        for (ours, theirs) in zip(found, values) {
          #expect(ours.equals(theirs), "\(vector.name): \(name) \(ours.octets.hexadecimal) \(theirs)")
          compared += 1
        }
      }
    }
    #expect(unmatched == [])
    #expect(compared > 850)
  }

  /// What Bumble lists of the frame around return parameters.
  static let frameFields: Set<String> = ["num_hci_command_packets", "command_opcode", "data_length"]

  /// Where Bumble has another name than the specification's.
  static let otherNames = [
    "encryption_diversifier": "encrypted_diversifier",
    "handle": "connection_handle",
    "hc_acl_data_packet_length": "acl_data_packet_length",
    "hc_synchronous_data_packet_length": "synchronous_data_packet_length",
    "hc_total_num_acl_data_packets": "total_num_acl_data_packets",
    "hc_total_num_synchronous_data_packets": "total_num_synchronous_data_packets",
    "manufacturer_name": "company_identifier",
    "simultaneous_le_host": "unused",
  ]

  /// The packet in its declared form; nil where only its frame is known.
  private func declared(_ octets: Bytes) throws -> (any Packet)? {
    switch try HCIPacket(decoding: octets) {
    case .command(let command): return try command.decoded()
    case .event(let packet):
      let parameters = try HCIEvent(packet).parameters
      if let event = parameters as? HCI.CommandComplete { return try event.decodedResponse() }
      return parameters
    default: return nil
    }
  }
}
