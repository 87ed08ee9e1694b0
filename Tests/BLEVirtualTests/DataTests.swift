import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// ACL data and its credits: Vol 4, Part E, 4.1.1 and 5.4.2.
struct DataTests {
  @Test func bothDirections() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    let handles = try stage.connect(central, to: peripheral)
    // PB flag 00 from a host becomes 10 towards the other host; a continuation stays 01.
    stage.send([0x02] + handles.central.octets + [0x03, 0x00, 1, 2, 3], from: central)
    stage.send([0x02, handles.central.octets[0], handles.central.octets[1] | 0x10, 0x01, 0x00, 4], from: central)
    let (p0, p1) = (handles.peripheral.octets[0], handles.peripheral.octets[1])
    #expect(
      stage.take(peripheral) == [[0x02, p0, p1 | 0x20, 0x03, 0x00, 1, 2, 3], [0x02, p0, p1 | 0x10, 0x01, 0x00, 4]])
    let completed: [UInt8] = [0x04, 0x13, 0x05, 0x01] + handles.central.octets + [0x01, 0x00]
    #expect(stage.take(central) == [completed, completed])
    stage.send([0x02] + handles.peripheral.octets + [0x00, 0x00], from: peripheral)
    let (c0, c1) = (handles.central.octets[0], handles.central.octets[1])
    #expect(stage.take(central) == [[0x02, c0, c1 | 0x20, 0x00, 0x00]])
  }

  /// The in-place event equals the declared one.
  @Test func completedPacketsAsDeclared() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    let handles = try stage.connect(central, to: peripheral)
    stage.send([0x02] + handles.central.octets + [0x00, 0x00], from: central)
    var declared = PacketBuffer()
    declared.append(
      HCI.NumberOfCompletedPackets {
        $0.links = [
          .init {
            $0.connectionHandle = handles.central
            $0.numCompletedPackets = 1
          }
        ]
      })
    #expect(stage.take(central) == [Array(declared[0])])
    let packet = try HCIPacket(decoding: #require(stage.take(peripheral).first)[...])
    #expect(
      packet
        == .aclData(
          HCIACLDataPacket {
            $0.connectionHandle = handles.peripheral
            $0.packetBoundaryFlag = .firstFlushable
          }))
  }

  /// A receiver with small buffers gets small pieces.
  @Test func resplitForTheReceiver() throws {
    var stage = RadioStage()
    let central = stage.attach()
    let peripheral = stage.attach { $0.aclDataPacketLength = 27 }
    let handles = try stage.connect(central, to: peripheral)
    let data = (0..<60).map(UInt8.init)
    stage.send([0x02] + handles.central.octets + [60, 0x00] + data, from: central)
    let packets = stage.take(peripheral)
    #expect(packets.map { $0.count - 5 } == [27, 27, 6])
    #expect(packets.map { $0[2] >> 4 } == [0b10, 0b01, 0b01])
    #expect(packets.flatMap { $0.dropFirst(5) } == data)
  }

  @Test func paced() throws {
    var stage = RadioStage(pacing: .connectionEvents(packetsPerEvent: 2))
    let central = stage.attach { $0.totalNumACLDataPackets = 3 }
    let peripheral = stage.attach()
    let handles = try stage.connect(central, to: peripheral)
    for number in UInt8(0)..<3 {
      stage.send([0x02] + handles.central.octets + [0x01, 0x00, number], from: central)
    }
    #expect(stage.take(peripheral).isEmpty && stage.take(central).isEmpty)
    // A fourth packet has no buffer: Data Buffer Overflow, and a complaint.
    stage.send([0x02] + handles.central.octets + [0x01, 0x00, 9], from: central)
    #expect(stage.take(central) == [[0x04, 0x1A, 0x01, 0x01]])
    #expect(stage.radio.complaints(about: central) == [.dataBeyondCredits(handles.central)])
    stage.run(for: .milliseconds(30))
    #expect(stage.take(peripheral).map { $0.last } == [0, 1])
    #expect(stage.take(central).count == 2)
    stage.run(for: .milliseconds(30))
    #expect(stage.take(peripheral).map { $0.last } == [2])
    #expect(stage.take(central).count == 1)
    #expect(stage.radio.deadline == nil)
  }

  /// Data that has not gone out when the link ends is lost, and its buffers are free for other links.
  @Test func buffersComeBackWithTheEndOfALink() throws {
    var stage = RadioStage(pacing: .connectionEvents(packetsPerEvent: 1))
    let peripheral = stage.attach { $0.totalNumACLDataPackets = 2 }
    let (first, second) = (stage.attach(), stage.attach())
    let one = try stage.connect(first, to: peripheral)
    let two = try stage.connect(second, to: peripheral)
    for _ in 0..<2 { stage.send([0x02] + one.peripheral.octets + [0x01, 0x00, 1], from: peripheral) }
    stage.detach(first)
    stage.run(for: .seconds(1))
    #expect(stage.take(peripheral) == [[0x04, 0x05, 0x04, 0x00] + one.peripheral.octets + [0x08]])
    for _ in 0..<2 { stage.send([0x02] + two.peripheral.octets + [0x01, 0x00, 2], from: peripheral) }
    stage.run(for: .seconds(1))
    #expect(stage.take(second).count == 2)
    #expect(stage.radio.complaints(about: peripheral).isEmpty)
  }

  @Test func dataAfterTheEndIsDropped() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    let handles = try stage.connect(central, to: peripheral)
    try stage.expect(.success, for: HCI.Disconnect { $0.connectionHandle = handles.central }, from: central)
    _ = (stage.take(central), stage.take(peripheral))
    stage.send([0x02] + handles.peripheral.octets + [0x01, 0x00, 1], from: peripheral)
    #expect(stage.take(central).isEmpty && stage.take(peripheral).isEmpty)
    #expect(stage.radio.complaints(about: peripheral).isEmpty)
  }

  @Test func complaints() throws {
    var stage = RadioStage()
    let central = stage.attach { $0.aclDataPacketLength = 27 }
    let peripheral = stage.attach()
    let handles = try stage.connect(central, to: peripheral)
    let (c0, c1) = (handles.central.octets[0], handles.central.octets[1])
    stage.send([0x02, c0, c1 | 0x10, 0x01, 0x00, 1], from: central)
    stage.send([0x02, c0, c1, 27, 0x00] + [UInt8](repeating: 0, count: 27), from: central)
    stage.send([0x02, c0, c1, 28, 0x00] + [UInt8](repeating: 0, count: 28), from: central)
    stage.send([0x02, c0, c1, 28, 0x00, 1], from: central)
    #expect(stage.take(peripheral).count == 1)
    #expect(
      stage.radio.complaints(about: central) == [
        .continuationWithoutStart(handles.central), .dataTooLong(handles.central, count: 28),
        .malformedPacket(firstOctet: 0x02),
      ])
  }

  /// Controller to host flow control: two buffers in the host, so the third packet waits, and so does its sender's
  /// credit.
  @Test(arguments: LinkTests.wholePackets) func hostWithoutRoom(_ pacing: VirtualRadio.Pacing) throws {
    var stage = RadioStage(pacing: pacing)
    let (central, peripheral) = (stage.attach(), stage.attach())
    try stage.expect(
      .success, for: HCI.SetControllerToHostFlowControl { $0.flowControlEnable = 1 }, from: peripheral)
    let size = HCI.HostBufferSize {
      $0.hostACLDataPacketLength = 27
      $0.hostTotalNumACLDataPackets = 2
    }
    try stage.expect(.success, for: size, from: peripheral)
    let handles = try stage.connect(central, to: peripheral)
    try stage.expect(.commandDisallowed, for: size, from: peripheral)
    for number: UInt8 in 0..<5 {
      stage.send([0x02] + handles.central.octets + [0x01, 0x00, number], from: central)
    }
    stage.run(for: .seconds(1))
    #expect(stage.take(peripheral).map { $0.last } == [0, 1])
    #expect(stage.take(central).count == 2)
    func giveBack(_ count: UInt16) {
      stage.send(
        HCI.HostNumberOfCompletedPackets {
          $0.links = [
            .init {
              $0.connectionHandle = handles.peripheral
              $0.numCompletedPackets = count
            }
          ]
        }, from: peripheral)
      stage.run(for: .seconds(1))
    }
    giveBack(1)
    #expect(stage.take(peripheral).map { $0.last } == [2])
    // More than the host holds counts as what it holds.
    giveBack(9)
    #expect(stage.take(peripheral).map { $0.last } == [3, 4])
    giveBack(2)
    // 60 octets need three of the host's two buffers: they come when both are free.
    stage.send([0x02] + handles.central.octets + [60, 0x00] + (0..<60), from: central)
    stage.run(for: .seconds(1))
    #expect(stage.take(peripheral).map(\.count) == [32, 32, 11])
    #expect(stage.take(central).count == 4)
    #expect(stage.radio.complaints(about: central).isEmpty && stage.radio.complaints(about: peripheral).isEmpty)
  }

  /// Twelve centrals on one peripheral: each gets its own data and no other's.
  @Test func twelveCentrals() throws {
    var stage = RadioStage()
    let peripheral = stage.attach()
    let centrals = (0..<12).map { _ in stage.attach() }
    let handles = try centrals.map { try stage.connect($0, to: peripheral) }
    #expect(Set(handles.map(\.peripheral)).count == 12)
    for round in UInt8(0)..<20 {
      for (index, central) in centrals.enumerated() {
        stage.send([0x02] + handles[index].central.octets + [0x02, 0x00, round, UInt8(index)], from: central)
        stage.send([0x02] + handles[index].peripheral.octets + [0x02, 0x00, UInt8(index), round], from: peripheral)
      }
    }
    for (index, central) in centrals.enumerated() {
      let data = stage.take(central).filter { $0[0] == 0x02 }.map { Array($0.suffix(2)) }
      #expect(data == (UInt8(0)..<20).map { [UInt8(index), $0] })
    }
    let arrived = stage.take(peripheral).filter { $0[0] == 0x02 }
    #expect(arrived.count == 240)
    for (index, handle) in handles.enumerated() {
      let own = arrived.filter { $0[1] == handle.peripheral.octets[0] }.map { Array($0.suffix(2)) }
      #expect(own == (UInt8(0)..<20).map { [$0, UInt8(index)] })
    }
  }
}
