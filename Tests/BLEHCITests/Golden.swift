import BLEHCI
import BLEWire
import TestSupport
import Testing

/// A packet and its octets, from the specification, with the checks for every packet.
struct Golden: Sendable, CustomTestStringConvertible {
  /// The opcode, event code or subevent code that the octets are for.
  let code: Int
  let testDescription: String
  let check: @Sendable () throws -> Void

  /// A command and its H4 packet.
  static func command<Command: HCICommand>(_ command: Command, _ text: String) -> Self {
    Self(code: Int(Command.opcode.rawValue), testDescription: "\(Command.self)") {
      let octets = try #require([UInt8](hexadecimal: text))
      var out = PacketBuffer()
      out.append(command)
      #expect(Array(out[0]) == octets)
      guard case .command(let packet) = try HCIPacket(decoding: octets[...]) else {
        Issue.record("no command packet")
        return
      }
      #expect(packet.opcode == Command.opcode)
      try checkPacket(command, octets[4...])
      let decoded = try #require(try packet.decoded())
      #expect(decoded.encoded == command.encoded)
    }
  }

  /// Return parameters in a Command Complete event.
  static func response<Command: HCICommand>(
    _ command: Command.Type, _ text: String, _ set: (inout Command.Response) -> Void = { _ in }
  ) -> Self {
    let response = Command.Response(set)
    return Self(code: Int(Command.opcode.rawValue), testDescription: "\(Command.self) response") {
      let octets = try #require([UInt8](hexadecimal: text))
      try checkPacket(response, octets[...])
      #expect(try Command.Response(returned: octets[...]) == response)
      var out = PacketBuffer()
      out.append(completing: command, with: response, credits: 3)
      let frame: [UInt8] = [0x04, 0x0E, UInt8(octets.count + 3), 3]
      #expect(Array(out[0]) == frame + littleEndian(Command.opcode.rawValue) + octets)
      guard let event = try HCIEvent(decoding: out[0].dropFirst()).parameters as? HCI.CommandComplete else {
        Issue.record("no Command Complete event")
        return
      }
      #expect(try event.response(to: command) == response)
      #expect(try #require(try event.decodedResponse()).encoded == octets)
      // A rejection may have the status alone.
      #expect(try Command.Response(returned: [0x0C]).status == .commandDisallowed)
      #expect(throws: CodecError.self) { try Command.Response(returned: []) }
    }
  }

  /// An event and its H4 packet.
  static func event<Event: HCIEventParameters>(_ event: Event, _ text: String) -> Self {
    Self(code: Int(Event.eventCode.rawValue), testDescription: "\(Event.self)") {
      let octets = try #require([UInt8](hexadecimal: text))
      var out = PacketBuffer()
      out.append(event)
      #expect(Array(out[0]) == octets)
      try checkPacket(event, octets[3...])
      let decoded = try HCIEvent(decoding: octets[1...])
      #expect(decoded.eventCode == Event.eventCode)
      #expect(decoded.parameters as? Event == event)
      #expect(decoded.packet.encoded[...] == octets[1...])
    }
  }

  /// An LE meta event and its H4 packet.
  static func meta<Event: LEEventParameters>(_ event: Event, _ text: String) -> Self {
    Self(code: Int(Event.subeventCode.rawValue), testDescription: "\(Event.self)") {
      let octets = try #require([UInt8](hexadecimal: text))
      var out = PacketBuffer()
      out.append(event)
      #expect(Array(out[0]) == octets)
      try checkPacket(event, octets[4...])
      let decoded = try HCIEvent(decoding: octets[1...])
      #expect(decoded.eventCode == .leMeta)
      #expect(decoded.parameters as? Event == event)
      #expect(decoded.packet.encoded[...] == octets[1...])
    }
  }
}

/// Checks decoding and encoding, each truncation, one trailing octet.
func checkPacket<P: Packet>(_ packet: P, _ octets: Bytes) throws {
  #expect(packet.encoded[...] == octets)
  #expect(try P(decoding: octets) == packet)
  for length in 0..<octets.count {
    #expect(throws: CodecError.self, "cut to \(length) octets") { try P(decoding: octets.prefix(length)) }
  }
  #expect(throws: CodecError.trailing(count: 1)) { try P(decoding: octets + [0]) }
  #expect(packet.fieldLines.isEmpty == octets.isEmpty)
}

/// Checks random packets, each truncation, one trailing octet.
func checkRandom<P: Packet>(_ type: P.Type, _ source: inout SplitMix64) throws {
  for _ in 0..<8 {
    let packet = P.random(from: &source)
    let octets = packet.encoded
    let decoded = try P(decoding: octets[...])
    #expect(decoded == packet && decoded.encoded == octets)
    let cutsTaken = octets.indices.filter { (try? P(decoding: octets[..<$0])) != nil }
    #expect(cutsTaken == [], "\(type) takes \(octets.hexadecimal) cut to these lengths")
    #expect(throws: CodecError.trailing(count: 1)) { try P(decoding: octets + [0]) }
  }
}

func littleEndian(_ number: UInt16) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8)] }

/// The values in the golden packets.
let link = ConnectionHandle(rawValue: 0x0040)  // 40 00
let peer = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)  // 01 55 44 33 22 11 C0
let privateAddress = BD_ADDR(0x4A0B_0C0D_0E0F)  // 0F 0E 0D 0C 0B 4A
/// 32 octets, counted up from `first`.
func coordinate(_ first: UInt8) -> Bytes { Bytes((0..<32).map { first &+ $0 }) }
