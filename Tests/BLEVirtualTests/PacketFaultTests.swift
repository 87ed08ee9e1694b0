import BLEHCI
import BLEWire
import Testing

@testable import BLEVirtual

/// Faults of the packets between a controller and its host.
@Suite struct PacketFaultTests {
  static let reset: [UInt8] = [0x01, 0x03, 0x0C, 0x00]
  static let complete: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]

  /// A link of two controllers, of which the peripheral gets faults.
  private func linked(_ faults: [VirtualFault]) throws -> (
    RadioStage, central: ControllerID, peripheral: ControllerID, handles: (ConnectionHandle, ConnectionHandle)
  ) {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    let handles = try stage.connect(central, to: peripheral)
    _ = (stage.take(central), stage.take(peripheral))
    stage.radio.setFaults(faults, of: peripheral)
    return (stage, central, peripheral, handles)
  }

  private func data(_ handle: ConnectionHandle, _ value: UInt8) -> [UInt8] {
    [0x02, UInt8(handle.rawValue & 0xFF), UInt8(handle.rawValue >> 8), 0x05, 0x00, 0x01, 0x00, 0x04, 0x00, value]
  }

  /// The last octets of the ACL packets that a host received.
  private func values(_ packets: [[UInt8]]) -> [UInt8] { packets.filter { $0[0] == 0x02 }.compactMap(\.last) }

  @Test func dropsPacketsOfOneDirection() throws {
    var (stage, central, peripheral, handles) = try linked([.packets(PacketFault(.drop, .data, .toHost))])
    stage.send(data(handles.0, 1), from: central)
    #expect(stage.take(peripheral) == [])
    stage.send(data(handles.1, 2), from: peripheral)
    #expect(values(stage.take(central)) == [2])
  }

  @Test func aDroppedCommandIsNotPerformed() {
    var stage = RadioStage()
    let id = stage.attach()
    stage.radio.setFaults([.packets(PacketFault(.drop, .commands(.only([.reset])), .toController))], of: id)
    stage.send(Self.reset, from: id)
    #expect(stage.take(id) == [])
    stage.radio.setFaults([], of: id)
    stage.send(Self.reset, from: id)
    #expect(stage.take(id) == [Self.complete])
  }

  @Test func delaysPacketsAndKeepsTheirOrder() throws {
    let fault = PacketFault(.delay(.milliseconds(30)), .event(.commandComplete), .toHost)
    var (stage, central, peripheral, handles) = try linked([.packets(fault)])
    stage.send(Self.reset, from: peripheral)
    stage.send(data(handles.0, 1), from: central)
    #expect(stage.take(peripheral) == [])
    stage.run(for: .milliseconds(29))
    #expect(stage.take(peripheral) == [])
    stage.run(for: .milliseconds(1))
    #expect(stage.take(peripheral) == [Self.complete])
  }

  @Test func packetsBehindADelayedOneWaitForIt() throws {
    let fault = PacketFault(.delay(.milliseconds(30)), .event(.numberOfCompletedPackets), .toHost)
    var (stage, central, peripheral, handles) = try linked([.packets(fault)])
    stage.send(data(handles.1, 1), from: peripheral)
    #expect(values(stage.take(central)) == [1])
    stage.send(data(handles.0, 2), from: central)
    #expect(stage.take(peripheral) == [])
    stage.run(for: .milliseconds(30))
    #expect(stage.take(peripheral).map { $0[0] } == [0x04, 0x02])
  }

  @Test func delayedCommandsArePerformedLater() {
    var stage = RadioStage()
    let id = stage.attach()
    stage.radio.setFaults([.packets(PacketFault(.delay(.seconds(1)), .all, .toController))], of: id)
    stage.send(Self.reset, from: id)
    #expect(stage.radio.deadline == stage.now + .seconds(1) && stage.take(id) == [])
    stage.run(for: .seconds(1))
    #expect(stage.take(id) == [Self.complete] && stage.radio.deadline == nil)
  }

  @Test func duplicatesPackets() throws {
    var (stage, central, peripheral, handles) = try linked([.packets(PacketFault(.duplicate, .data, .toController))])
    stage.send(data(handles.1, 7), from: peripheral)
    #expect(values(stage.take(central)) == [7, 7])
    #expect(stage.take(peripheral).count == 2)
  }

  @Test func invertsOneBitBehindThePacketType() {
    for seed in 0..<50 as Range<UInt64> {
      var stage = RadioStage(seed: seed)
      let id = stage.attach()
      stage.radio.setFaults([.packets(PacketFault(.corrupt, .events, .toHost))], of: id)
      stage.send(Self.reset, from: id)
      let received = stage.take(id)
      #expect(received.count == 1 && received[0].count == Self.complete.count && received[0][0] == 0x04)
      let bits = zip(received[0], Self.complete).map { ($0 ^ $1).nonzeroBitCount }
      #expect(bits.reduce(0, +) == 1)
    }
  }

  @Test func exchangesAPacketWithTheNextOne() throws {
    var (stage, central, peripheral, handles) = try linked([.packets(PacketFault(.reorder, .data, .toController))])
    for value in 1...4 as ClosedRange<UInt8> { stage.send(data(handles.1, value), from: peripheral) }
    #expect(values(stage.take(central)) == [2, 1, 4, 3])
    stage.send(data(handles.1, 5), from: peripheral)
    stage.run(for: .milliseconds(99))
    #expect(stage.take(central) == [])
    stage.run(for: .milliseconds(1))
    #expect(values(stage.take(central)) == [5])
  }

  @Test func creditsAreNeverReturned() throws {
    var (stage, central, peripheral, handles) = try linked([.withholdsCredits()])
    stage.send(data(handles.1, 1), from: peripheral)
    #expect(values(stage.take(central)) == [1] && stage.take(peripheral) == [])
  }

  @Test(arguments: [
    HCIErrorCode.connectionTimeout, .remoteUserTerminatedConnection, .terminatedMICFailure,
  ])
  func endsLinksAfterANumberOfPackets(reason: HCIErrorCode) throws {
    var (stage, central, peripheral, handles) = try linked([.disconnects(afterPackets: 3, reason)])
    // The packet and its Number Of Completed Packets are two.
    stage.send(data(handles.1, 1), from: peripheral)
    #expect(values(stage.take(central)) == [1] && stage.take(peripheral).count == 1)
    stage.send(data(handles.0, 2), from: central)
    var received = data(handles.1, 2)
    received[2] |= 0x20
    let disconnection = [0x04, 0x05, 0x04, 0x00] + handles.1.octets + [reason.rawValue]
    #expect(stage.take(peripheral) == [received, disconnection])
    #expect(stage.take(central).last == [0x04, 0x05, 0x04, 0x00] + handles.0.octets + [reason.rawValue])
    stage.run(for: .seconds(60))
    #expect(stage.take(central) == [] && stage.take(peripheral) == [])
  }

  @Test(arguments: [nil, 0x42]) func restartsAndLosesItsLinks(code: UInt8?) throws {
    var (stage, central, peripheral, handles) = try linked([])
    stage.radio.setFaults([.restarts(at: stage.now + .seconds(1), hardwareError: code)], of: peripheral)
    stage.run(for: .seconds(1))
    #expect(stage.take(peripheral) == (code.map { [[0x04, 0x10, 0x01, $0]] } ?? []))
    stage.run(for: .seconds(60))
    #expect(stage.take(central) == [[0x04, 0x05, 0x04, 0x00] + handles.0.octets + [0x08]])
    stage.send(Self.reset, from: peripheral)
    #expect(stage.take(peripheral) == [Self.complete])
  }

  @Test func oneSeedGivesOneResult() throws {
    func received(seed: UInt64) throws -> [[UInt8]] {
      var stage = RadioStage(seed: seed)
      let (central, peripheral) = (stage.attach(), stage.attach())
      let handles = try stage.connect(central, to: peripheral)
      _ = stage.take(peripheral)
      stage.radio.setFaults(
        [.drop, .duplicate, .corrupt, .reorder, .delay(.milliseconds(5))].map {
          .packets(PacketFault($0, .data, .toHost, percent: 20))
        }, of: peripheral)
      for value in 0..<100 as Range<UInt8> {
        stage.send(data(handles.central, value), from: central)
        stage.run(for: .milliseconds(1))
      }
      stage.run(for: .seconds(1))
      return stage.take(peripheral)
    }
    #expect(try received(seed: 1) == received(seed: 1))
    #expect(try received(seed: 1) != received(seed: 2))
  }

  @Test func otherFaultsLeaveHeldPacketsHeld() {
    var stage = RadioStage()
    let id = stage.attach()
    stage.radio.setFaults([.packets(PacketFault(.delay(.seconds(1)), .all, .toHost))], of: id)
    stage.send(Self.reset, from: id)
    stage.radio.setFaults([], of: id)
    #expect(stage.take(id) == [])
    stage.run(for: .seconds(1))
    #expect(stage.take(id) == [Self.complete])
  }

  @Test func heldPacketsAreBounded() throws {
    var (stage, central, peripheral, handles) = try linked([.packets(PacketFault(.delay(.seconds(1)), .data, .toHost))])
    for _ in 0..<PacketFaults.heldLimit { stage.send(data(handles.0, 1), from: central) }
    #expect(stage.take(peripheral) == [])
    stage.send(data(handles.0, 2), from: central)
    #expect(values(stage.take(peripheral)) == [1])
    stage.run(for: .seconds(1))
    #expect(values(stage.take(peripheral)).count == PacketFaults.heldLimit)
  }

  @Test func aLatePacketDelaysNoOther() throws {
    let fault = PacketFault(.late(.seconds(60)), .answers(.only([.reset])), .toHost)
    var (stage, central, peripheral, handles) = try linked([.packets(fault)])
    stage.send(data(handles.0, 1), from: central)
    stage.send(Self.reset, from: peripheral)
    #expect(values(stage.take(peripheral)) == [1])
    stage.run(for: .milliseconds(59_999))
    #expect(stage.take(peripheral) == [])
    stage.run(for: .milliseconds(1))
    #expect(stage.take(peripheral) == [Self.complete])
  }

  @Test func packetsOfOneKindOvertakeThoseOfTheLastTime() throws {
    var (stage, central, peripheral, handles) = try linked([
      .packets(PacketFault(.overtake(.milliseconds(10)), .data, .toHost))
    ])
    stage.send(
      [0x01, 0x05, 0x14, 0x02, UInt8(handles.1.rawValue & 0xFF), UInt8(handles.1.rawValue >> 8)], from: peripheral)
    stage.send(data(handles.0, 1), from: central)
    #expect(values(stage.take(peripheral)) == [1], "before the answer to the command")
    stage.run(for: .milliseconds(9))
    #expect(stage.take(peripheral) == [])
    stage.run(for: .milliseconds(1))
    #expect(stage.take(peripheral).map { $0[1] } == [0x0E])
  }

  @Test func someOfThePacketsAreAffected() throws {
    var (stage, central, peripheral, handles) = try linked([
      .packets(PacketFault(.drop, .data, .toHost, occurrences: 2...3))
    ])
    for value in 1...5 as ClosedRange<UInt8> { stage.send(data(handles.0, value), from: central) }
    #expect(values(stage.take(peripheral)) == [1, 4, 5])
  }

  @Test func theFirstCommandsAreRejected() {
    var stage = RadioStage()
    let id = stage.attach()
    stage.radio.setFaults([.refusesFirst(.only([.reset]), .commandDisallowed, times: 2)], of: id)
    for _ in 0..<3 { stage.send(Self.reset, from: id) }
    #expect(stage.take(id).map(\.last) == [0x0C, 0x0C, 0])
  }

  @Test func packetsAreChosenByKind() {
    let meta: [UInt8] = [0x04, 0x3E, 0x02, 0x0A, 0x00]
    #expect(PacketFault.Packets.all.contains([]) && PacketFault.Packets.all.contains(meta[...]))
    #expect(PacketFault.Packets.leEvent(LESubeventCode(rawValue: 0x0A)).contains(meta[...]))
    #expect(!PacketFault.Packets.leEvent(LESubeventCode(rawValue: 0x0B)).contains(meta[...]))
    #expect(PacketFault.Packets.event(.leMeta).contains(meta[...]) && PacketFault.Packets.events.contains(meta[...]))
    #expect(!PacketFault.Packets.data.contains(meta[...]) && !PacketFault.Packets.commands(.all).contains(meta[...]))
    #expect(PacketFault.Packets.commands(.only([.reset])).contains(Self.reset[...]))
    #expect(!PacketFault.Packets.commands(.only([.leRand])).contains(Self.reset[...]))
    #expect(!PacketFault.Packets.commands(.all).contains([0x01, 0x03]))
    let answers = PacketFault.Packets.answers(.only([.reset]))
    #expect(answers.contains(Self.complete[...]) && answers.contains([0x04, 0x0F, 0x04, 0, 1, 0x03, 0x0C]))
    #expect(!answers.contains([0x04, 0x0F, 0x04, 0, 1, 0x04, 0x0C]) && !answers.contains([0x04, 0x0E, 0x04, 0x01]))
    #expect(!answers.contains(Self.reset[...]) && !answers.contains(meta[...]))
  }
}
