import BLEHCI
import BLEWire
import TestSupport
import Testing

/// The rules for every declared packet, and that all are listed.
@Suite struct DeclarationTests {
  static let commandRows =
    CommandTests.golden + LECommandTests.golden + LELinkCommandTests.golden
    + LEPeriodicCommandTests.golden + LEIsochronousCommandTests.golden

  @Test func `every command and its return parameters have golden octets`() {
    let commands = Self.commandRows.filter { !$0.testDescription.hasSuffix(" response") }.map(\.code)
    #expect(Set(commands).count == commands.count)
    #expect(Set(commands) == Set(HCI.commands.keys.map { Int($0.rawValue) }))
    let responses = Self.commandRows.filter { $0.testDescription.hasSuffix(" response") }.map(\.code)
    let expected = HCI.commands.values.filter { !$0.isAnsweredByStatus }.map { Int($0.opcode.rawValue) }
    #expect(Set(responses) == Set(expected))
  }

  @Test func `every event has golden octets`() {
    #expect(Set(LEMetaEventTests.golden.map(\.code)) == Set(HCI.leEvents.keys.map { Int($0.rawValue) }))
    #expect(HCI.leEvents.count == 0x29 + 2)
    // Command Complete has a test of its own: its return parameters are those of a command.
    let events = Set(HCI.events.keys).subtracting([.commandComplete]).map { Int($0.rawValue) }
    #expect(Set(EventTests.golden.map(\.code)) == Set(events) && EventTests.golden.count == 10)
    #expect(Set(HCI.events.keys.map(\.rawValue)) == Set(HCIEvent.Kind.allCases.map(\.rawValue)))
    #expect(Set(HCI.leEvents.keys.map(\.rawValue)) == Set(HCIEvent.LEKind.allCases.map(\.rawValue)))
  }

  @Test func `every command and event is listed once, under a name of its own`() {
    let commands = HCI.commands.values
    #expect(commands.count == 158 && Set(commands.map { "\($0.name)" }).count == commands.count)
    let names = HCI.events.values.map { "\($0.name)" } + HCI.leEvents.values.map { "\($0.name)" }
    #expect(HCI.events.count == 11)
    #expect(Set(names).count == names.count)
  }

  @Test func `random commands and return parameters are decoded as encoded, and no truncated or longer ones`() throws {
    func check<Command: HCICommand>(_ command: Command.Type, _ source: inout SplitMix64) throws {
      try checkRandom(Command.self, &source)
      try checkRandom(Command.Response.self, &source)
    }
    var source = SplitMix64(seed: 1)
    for command in HCI.commands.values { try check(command, &source) }
  }

  @Test func `random events are decoded as encoded, and no truncated or longer ones`() throws {
    func check<Event: HCIEventParameters>(_ event: Event.Type, _ source: inout SplitMix64) throws {
      try checkRandom(Event.self, &source)
      let parameters = Event.random(from: &source)
      let packet = HCIEventPacket(parameters)
      guard packet.parameters.count <= 255 else { return }
      let event = try HCIEvent(decoding: packet.encoded[...])
      #expect(event.parameters as? Event == parameters && event.packet == packet)
    }
    var source = SplitMix64(seed: 2)
    for row in 0..<400 {
      let octets = source.octets(60...60)
      for code in HCI.leEvents.keys {
        let packet = HCIEventPacket {
          $0.eventCode = .leMeta
          $0.parameters = [code.rawValue] + octets.prefix(row % 60)
        }
        guard let event = try? HCIEvent(packet) else { continue }
        // Only the reserved bits above a handle may differ.
        #expect(event.packet.parameters.count == 1 + row % 60 && event.parameters is any LEEventParameters)
        #expect(try HCIEvent(event.packet) == event)
      }
    }
    // Command Complete ends with all remaining octets: a truncated one is a shorter event.
    for (code, event) in HCI.events where code != .commandComplete { try check(event, &source) }
    for event in HCI.leEvents.values { try check(event, &source) }
  }

  @Test func `random packets are decoded as encoded`() throws {
    var source = SplitMix64(seed: 3)
    for _ in 0..<4 {
      let packets: [HCIPacket] = [
        .command(.random(from: &source)), .event(.random(from: &source)), .aclData(.random(from: &source)),
        .synchronousData(.random(from: &source)), .isoData(.random(from: &source)),
      ]
      for packet in packets {
        let octets = packet.encoded
        #expect(try HCIPacket(decoding: octets[...]) == packet)
        #expect(octets.first == packet.type.rawValue)
        for length in 0..<min(octets.count, 8) {
          #expect(throws: CodecError.self) { try HCIPacket(decoding: octets.prefix(length)) }
        }
        #expect(throws: CodecError.self) { try HCIPacket(decoding: octets.dropLast()) }
        #expect(throws: CodecError.trailing(count: 1)) { try HCIPacket(decoding: octets + [0]) }
      }
    }
  }

  @Test func `the ACL header equals the declared packet`() throws {
    var source = SplitMix64(seed: 4)
    for _ in 0..<20 {
      var packet = try HCIACLDataPacket(decoding: Bytes(source.octets(2...2)) + [0, 0])
      packet.data = Bytes(source.octets(0...30))
      let octets = HCIPacket.aclData(packet).encoded
      let header = try ACLHeader(reading: octets.span)
      #expect(header.connectionHandle == packet.connectionHandle)
      #expect(header.packetBoundaryFlag == packet.packetBoundaryFlag)
      #expect(header.broadcastFlag == packet.broadcastFlag)
      #expect(header.dataLength == packet.data.count)
      for length in 0..<octets.count {
        let cut = Array(octets.prefix(length))
        let expected = try #require(#expect(throws: CodecError.self) { try HCIPacket(decoding: cut[...]) })
        #expect(throws: expected) { try ACLHeader(reading: cut.span) }
      }
      let longer = octets + [0]
      #expect(throws: CodecError.trailing(count: 1)) { try ACLHeader(reading: longer.span) }
    }
    let event: [UInt8] = [0x04, 0x10, 0x01, 0x00, 0x00]
    #expect(throws: CodecError.invalid(field: "HCI packet indicator")) { try ACLHeader(reading: event.span) }
  }

  @Test func `Number Of Completed Packets equals the declared event`() throws {
    var source = SplitMix64(seed: 5)
    for _ in 0..<500 {
      var octets = source.octets(0...14)
      if !octets.isEmpty { octets[0] %= 4 }
      var read: [HCI.CompletedPackets] = []
      let inPlace = Result {
        try HCI.NumberOfCompletedPackets.forEach(in: octets.span) { handle, count in
          read.append(
            HCI.CompletedPackets {
              $0.connectionHandle = handle
              $0.numCompletedPackets = UInt16(count)
            })
        }
      }
      do throws(CodecError) {
        let declared = try HCI.NumberOfCompletedPackets(decoding: octets[...])
        #expect(throws: Never.self) { try inPlace.get() }
        #expect(read == declared.links)
      } catch {
        #expect(throws: error) { try inPlace.get() }
        #expect(read.isEmpty)
      }
    }
  }

  @Test func `no octets make a decoder trap`() {
    var source = SplitMix64(seed: 6)
    for _ in 0..<3000 {
      var octets = Bytes(source.octets(0...70))
      _ = try? HCIPacket(decoding: octets)
      _ = try? HCIEvent(decoding: octets)
      guard let code = octets.popFirst() else { continue }
      let event = HCIEventPacket {
        $0.eventCode = HCIEventCode(rawValue: code & 0x7F)
        $0.parameters = octets
      }
      if let event = try? HCIEvent(event) { _ = event.packet.encoded }
    }
    for (opcode, _) in HCI.commands {
      for _ in 0..<20 {
        let octets = Bytes(source.octets(0...50))
        let command = HCICommandPacket {
          $0.opcode = opcode
          $0.parameters = octets
        }
        if let command = try? command.decoded() { #expect(command.encoded.count == octets.count) }
        let complete = HCI.CommandComplete {
          $0.opcode = opcode
          $0.returnParameters = octets
        }
        _ = try? complete.decodedResponse()
      }
    }
  }

  @Test func `parameters above 255 octets are cut`() throws {
    let subevent = HCI.SubeventData { $0.data = Bytes(repeating: 1, count: 300) }
    let command = HCI.LESetPeriodicAdvertisingSubeventData { $0.subevents = [subevent, subevent] }
    var octets: [UInt8] = []
    octets.append(hci: command)
    #expect(octets.count == 4 + 255 && octets[3] == 255)
    let longest = HCI.LESetExtendedAdvertisingData { $0.advertisingData = Bytes(repeating: 1, count: 300) }
    octets = []
    octets.append(hci: longest)
    #expect(octets.count == 4 + 255 && octets[3] == 255 && octets[7] == 251)
    guard case .command(let packet) = try HCIPacket(decoding: octets[...]) else {
      Issue.record("no command packet")
      return
    }
    #expect(try packet.decoded() != nil)
  }
}
