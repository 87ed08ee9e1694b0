import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// HCI read aloud: octets to the controller, octets from it.
struct ConversationTests {
  /// A controller after power-on, before any command.
  func freshController() -> (RadioStage, ControllerID) {
    var stage = RadioStage()
    var configuration = VirtualControllerConfiguration()
    configuration.publicAddress = BD_ADDR(0x0102_0304_0506)
    let id = stage.radio.attach(configuration, now: .start)
    return (stage, id)
  }

  @Test(arguments: [
    // Reset
    ("01 03 0c 00", ["04 0e 04 01 03 0c 00"]),
    // Read Local Version Information: 5.4, company 0xFFFF
    ("01 01 10 00", ["04 0e 0c 01 01 10 00 0d 00 00 0d ff ff 00 00"]),
    // Read BD_ADDR
    ("01 09 10 00", ["04 0e 0a 01 09 10 00 06 05 04 03 02 01"]),
    // Read Local Supported Features: LE, no BR/EDR
    ("01 03 10 00", ["04 0e 0c 01 03 10 00 00 00 00 00 60 00 00 00"]),
    // Read Buffer Size
    ("01 05 10 00", ["04 0e 0b 01 05 10 00 fb 00 00 08 00 00 00"]),
    // LE Read Buffer Size: 251 octets, 8 packets
    ("01 02 20 00", ["04 0e 07 01 02 20 00 fb 00 08"]),
    // LE Read Buffer Size [v2]: no ISO
    ("01 60 20 00", ["04 0e 0a 01 60 20 00 fb 00 08 00 00 00"]),
    // LE Read Supported States
    ("01 1c 20 00", ["04 0e 0c 01 1c 20 00 ff ff ff ff ff 03 00 00"]),
    // LE Read Filter Accept List Size
    ("01 0f 20 00", ["04 0e 05 01 0f 20 00 10"]),
    // Write LE Host Support
    ("01 6d 0c 02 01 00", ["04 0e 04 01 6d 0c 00"]),
    // Read Advertising Physical Channel Tx Power
    ("01 07 20 00", ["04 0e 05 01 07 20 00 00"]),
    // LE Encrypt with the sample of Vol 3, Part H, 2.2.1's FIPS-197 C.1
    (
      "01 17 20 20 0f0e0d0c0b0a09080706050403020100 ffeeddccbbaa99887766554433221100",
      ["04 0e 14 01 17 20 00 5ac5b47080b7cdd830047b6ad8e0c469"]
    ),
    // An unknown command, a vendor's one: Unknown HCI Command
    ("01 ff 0f 00", ["04 0e 04 01 ff 0f 01"]),
    ("01 01 fc 00", ["04 0e 04 01 01 fc 01"]),
    // Too few parameters and one too many: Invalid HCI Command Parameters
    ("01 06 20 0e 0000000000000000000000000000", ["04 0e 04 01 06 20 12"]),
    ("01 03 0c 01 00", ["04 0e 04 01 03 0c 12"]),
    // Disconnect, too short, is answered by Command Status
    ("01 06 04 02 40 00", ["04 0f 04 12 01 06 04"]),
    // Disconnect a link that is not there
    ("01 06 04 03 40 00 13", ["04 0f 04 02 01 06 04"]),
    // Read RSSI of a link that is not there
    ("01 05 14 02 40 00", ["04 0e 07 01 05 14 02 40 00 7f"]),
    // Create Connection Cancel with nothing to cancel
    ("01 0e 20 00", ["04 0e 04 01 0e 20 0c"]),
    // LE Generate DHKey before a key pair exists
    ("01 26 20 40" + String(repeating: "00", count: 64), ["04 0f 04 0c 01 26 20"]),
  ])
  func answer(command: String, answers: [String]) throws {
    var (stage, id) = freshController()
    stage.send(try #require([UInt8](hexadecimal: command)), from: id)
    #expect(stage.take(id).map(\.hexadecimal) == answers.map { $0.filter { $0 != " " } })
  }

  /// Supported Commands tells the truth: a set bit is never answered with Unknown HCI Command, a clear one always.
  @Test(arguments: [48, 105, 111]) func supportedCommandsAreTrue(count: Int) throws {
    var stage = RadioStage()
    let id = stage.attach {
      if count == 48 { $0.features = [] }
      if count == 111 { $0.connectionIntervals = VirtualConnectionIntervals() }
    }
    let supported = try stage.ask(HCI.ReadLocalSupportedCommands(), from: id).supportedCommands
    #expect(supported.opcodes.count == count)
    for opcode in HCI.SupportedCommands.all.opcodes {
      _ = stage.take(id)
      stage.send([0x01] + [UInt8(opcode.rawValue & 0xFF), UInt8(opcode.rawValue >> 8)] + [0], from: id)
      let answer = try HCIEvent(decoding: #require(stage.take(id).first).dropFirst())
      let isUnknown =
        switch answer.parameters {
        case let event as HCI.CommandComplete: event.opcode == opcode && event.returnParameters.first == 0x01
        case let event as HCI.CommandStatus: event.opcode == opcode && event.status == .unknownCommand
        default: false
        }
      #expect(isUnknown != supported.contains(opcode), "\(opcode)")
    }
  }

  /// The masks of power-on let neither LE meta events nor anything of a later version through.
  @Test func masksAfterReset() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    stage.send(HCI.Reset(), from: central)
    _ = stage.take(central)
    try stage.connectSilently(central, to: peripheral)
    #expect(stage.take(central).isEmpty)
    // With LE Meta unmasked and the LE mask of power-on, Connection Complete comes in its first form.
    stage.send(HCI.Reset(), from: central)
    stage.send(HCI.SetEventMask { $0.eventMask = .init(rawValue: .max) }, from: central)
    _ = stage.take(central)
    stage.run(for: .seconds(10))
    try stage.connectSilently(central, to: peripheral)
    let events = try stage.metaEvents(central)
    #expect(events.count == 1)
    guard let event = events.first as? HCI.LEConnectionComplete else {
      Issue.record("Connection Complete, but it is \(events)")
      return
    }
    #expect(event.status == .success && event.role == .central)
  }

  @Test func commandCreditsAreConfigurable() throws {
    var stage = RadioStage()
    let id = stage.attach { $0.commandCredits = 3 }
    stage.send(HCI.Reset(), from: id)
    #expect(stage.take(id) == [[0x04, 0x0E, 0x04, 0x03, 0x03, 0x0C, 0x00]])
  }

  @Test func buffersSharedWithBREDR() throws {
    var stage = RadioStage()
    let id = stage.attach {
      $0.sharesBuffersWithBREDR = true
      $0.aclDataPacketLength = 27
      $0.totalNumACLDataPackets = 1
    }
    #expect(try stage.ask(HCI.LEReadBufferSize(), from: id).aclDataPacketLength == 0)
    let sizes = try stage.ask(HCI.ReadBufferSize(), from: id)
    #expect(sizes.aclDataPacketLength == 27 && sizes.totalNumACLDataPackets == 1)
  }

  @Test func packetsThatOnlyControllersSend() {
    var stage = RadioStage()
    let id = stage.attach()
    for octets: [UInt8] in [
      [], [0x04, 0x0E, 0x00], [0x07], [0x01, 0x03, 0x0C], [0x02, 0x40], [0x01, 0x03, 0x0C, 0x01],
    ] {
      stage.send(octets, from: id)
    }
    #expect(stage.take(id).isEmpty)
    #expect(stage.radio.complaints(about: id).count == 6)
  }

  @Test func complaintsAreBounded() {
    var stage = RadioStage()
    let id = stage.attach()
    for _ in 0...Complaint.limit { stage.send([0x07], from: id) }
    #expect(stage.radio.complaints(about: id).count == Complaint.limit)
  }
}

extension RadioStage {
  /// Connects without looking at what the hosts hear.
  mutating func connectSilently(_ central: ControllerID, to peripheral: ControllerID) throws {
    try advertise(peripheral)
    let peer = address(of: peripheral)
    send(HCI.LECreateConnection { $0.peerAddress = peer }, from: central)
    _ = take(central)
    run(for: .milliseconds(200))
  }
}
