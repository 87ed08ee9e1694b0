import BLEHCI
import BLEWire
import TestVectors
import Testing

/// Packets from captures and from other stacks, with the fields that another stack decodes.
@Suite(.enabled(if: TestVectors.areHere, "\(TestVectors.whereToPutThem)"))
struct HCIVectors {
  struct Case: Decodable, Sendable {
    var kind: String
    var hex: String
    var policy: [String]?
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

  static let kinds: Set = ["command", "command-complete", "command-status", "event", "le-event", "acl", "malformed"]

  @Test func `every packet is read, written back and means the same`() {
    let report = Self.run(in: TestVectors.folderOrNone)
    report.tell("HCI")
    #expect(report.failures == [])
  }

  static func run(in folder: VectorFolder) -> VectorReport {
    var report = VectorReport()
    let file = folder.file("hci", cases: Case.self, into: &report)
    var stream: [[UInt8]] = []
    for (name, vector) in file.cases(of: kinds, notingAllBut: kinds, into: &report) {
      report.check(name, policy: vector.policy) { checks in
        let octets = try checks.need([UInt8](hexadecimal: vector.hex), "hex")[...]
        if vector.kind == "malformed" {
          return checks.refuses(as: CodecError.self) { _ = try declared(octets) }
        }
        try checkFrame(vector, octets, &checks)
        try checkDeclaration(vector, octets, &checks)
        if vector.decodedBy == "bumble" { try compare(vector, octets, &checks) }
        stream.append(Array(octets))
      }
    }
    report.check("the framer cuts all packets out of one stream") { checks in try checkFramer(stream, &checks) }
    return report
  }

  /// Every packet is decoded and encoded.
  private static func checkFrame(_ vector: Case, _ octets: Bytes, _ checks: inout VectorChecks) throws {
    let packet = try HCIPacket(decoding: octets)
    checks.equal(packet.encoded[...], octets, "what is written")
    switch packet {
    case .command(let command):
      checks.equal(command.opcode.rawValue, ifGiven: vector.opcode, "the opcode")
      checks.equal(command.parameters.hexadecimal, ifGiven: vector.parameters, "the parameters")
    case .event(let event):
      checks.equal(event.parameters.hexadecimal, ifGiven: vector.parameters, "the parameters")
      check(try HCIEvent(event), against: vector, &checks)
    case .aclData(let data):
      checks.equal(data.connectionHandle.rawValue, ifGiven: vector.handle, "the handle")
      checks.equal(data.packetBoundaryFlag.rawValue, ifGiven: vector.packetBoundary, "the packet boundary")
      checks.equal(data.broadcastFlag, ifGiven: vector.broadcast, "the broadcast flag")
      checks.equal(data.data.hexadecimal, ifGiven: vector.payload, "the payload")
      let inPlace = try ACLHeader(reading: Array(octets).span)
      checks.equal(inPlace.connectionHandle, data.connectionHandle, "the handle in place")
      checks.equal(inPlace.dataLength, data.data.count, "the length in place")
    default: checks.note("read and written, its fields not compared")
    }
  }

  private static func check(_ event: HCIEvent, against vector: Case, _ checks: inout VectorChecks) {
    checks.equal(event.packet.encoded.hexadecimal, String(vector.hex.dropFirst(2)), "the event")
    switch event.parameters {
    case let event as HCI.CommandComplete:
      checks.equal(event.opcode.rawValue, ifGiven: vector.opcode, "the opcode")
      checks.equal(event.numHCICommandPackets, ifGiven: vector.numHCICommandPackets, "the credits")
      checks.equal(event.returnParameters.hexadecimal, ifGiven: vector.returnParameters, "the return parameters")
    case let event as HCI.CommandStatus:
      checks.equal(event.opcode.rawValue, ifGiven: vector.opcode, "the opcode")
      checks.equal(event.numHCICommandPackets, ifGiven: vector.numHCICommandPackets, "the credits")
      checks.equal(event.status.rawValue, ifGiven: vector.status, "the status")
    case let event as any LEEventParameters:
      checks.equal(type(of: event).subeventCode.rawValue, ifGiven: vector.subevent, "the subevent")
    default: checks.equal(event.eventCode.rawValue, ifGiven: vector.eventCode, "the event code")
    }
  }

  /// Every declared packet is decoded and encoded.
  private static func checkDeclaration(_ vector: Case, _ octets: Bytes, _ checks: inout VectorChecks) throws {
    guard let packet = try declared(octets), octets.count > 4 else { return }
    // A rejection may have the status alone, a later version more fields: only declared fields are encoded.
    if vector.returnParameters?.count == 2 { return }
    let written = packet.encoded.hexadecimal
    checks.expect(octets.hexadecimal.hasSuffix(written), "the fields are written as \(written)")
  }

  private static func checkFramer(_ packets: [[UInt8]], _ checks: inout VectorChecks) throws {
    let stream = packets.flatMap { $0 }
    for size in [1, 7, 64, 1000, max(1, stream.count)] {
      var framer = H4Framer()
      var found: [[UInt8]] = []
      for start in stride(from: 0, to: stream.count, by: size) {
        let piece = Array(stream[start..<min(stream.count, start + size)])
        try framer.receive(piece.span) { found.append([UInt8](copying: $0)) }
      }
      try framer.finish()
      checks.expect(found == packets, "in pieces of \(size) octets, other packets are found")
    }
  }

  /// The fields are those that Bumble decodes. A field with another name there is ignored.
  private static func compare(_ vector: Case, _ octets: Bytes, _ checks: inout VectorChecks) throws {
    guard let fields = vector.fields, let packet = try declared(octets) else { return }
    // Bumble calls undecoded return parameters "data"; a rejection may have the status alone.
    if vector.kind == "command-complete", fields.leaves["data"] != nil || vector.returnParameters?.count == 2 { return }
    let ours = FieldCollector(packet)
    for (name, values) in fields.leaves where !frameFields.contains(name) {
      let addresses = values.compactMap(\.address)
      checks.expect(addresses.allSatisfy(ours.addresses.contains), "\(name): another address")
      if !addresses.isEmpty { continue }
      let found = ours.fields.filter { $0.matches(otherNames[name] ?? name) }
      guard !found.isEmpty || values.isEmpty else {
        checks.note("Bumble's field '\(name)' has no counterpart of this name")
        continue
      }
      checks.equal(found.count, values.count, "how many \(name) there are")
      for (ours, theirs) in zip(found, values) {
        checks.expect(ours.equals(theirs), "\(name): \(ours.octets.hexadecimal) against \(theirs)")
      }
    }
  }

  /// Fields of the event around return parameters in Bumble.
  static let frameFields: Set<String> = ["num_hci_command_packets", "command_opcode", "data_length"]

  /// Names in Bumble that differ from the specification.
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

  /// The declared packet; nil without a declaration.
  private static func declared(_ octets: Bytes) throws -> (any Packet)? {
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
