import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// Commands about the controller itself: features, powers, and the host's defaults for links.
struct LocalCommandTests {
  /// Commands in one session with a controller of the standard features, each with its answer.
  @Test(arguments: [
    // Read LE Host Support, Write LE Host Support, Read LE Host Support
    [
      ("01 6c 0c 00", "04 0e 06 01 6c 0c 00 00 00"), ("01 6d 0c 02 01 00", "04 0e 04 01 6d 0c 00"),
      ("01 6c 0c 00", "04 0e 06 01 6c 0c 00 01 00"),
    ],
    // LE Read Local Supported Features; LE Set Host Feature adds bit 32, removes it, and rejects bit 12, which is the
    // controller's, and bit 64
    [
      ("01 03 20 00", "04 0e 0c 01 03 20 00 ff 79 00 0b 3e 00 00 00"),
      ("01 74 20 02 20 01", "04 0e 04 01 74 20 00"), ("01 03 20 00", "04 0e 0c 01 03 20 00 ff 79 00 0b 3f 00 00 00"),
      ("01 74 20 02 20 00", "04 0e 04 01 74 20 00"), ("01 03 20 00", "04 0e 0c 01 03 20 00 ff 79 00 0b 3e 00 00 00"),
      ("01 74 20 02 0c 01", "04 0e 04 01 74 20 11"), ("01 74 20 02 40 01", "04 0e 04 01 74 20 11"),
    ],
    // LE Write RF Path Compensation: 128 dB at most; LE Read RF Path Compensation
    [
      ("01 4c 20 00", "04 0e 08 01 4c 20 00 00 00 00 00"), ("01 4d 20 04 00 05 00 fb", "04 0e 04 01 4d 20 00"),
      ("01 4c 20 00", "04 0e 08 01 4c 20 00 00 05 00 fb"), ("01 4d 20 04 01 05 00 00", "04 0e 04 01 4d 20 12"),
      ("01 4d 20 04 00 00 ff fa", "04 0e 04 01 4d 20 12"), ("01 4c 20 00", "04 0e 08 01 4c 20 00 00 05 00 fb"),
    ],
    // LE Read Transmit Power: -20 to 20 dBm
    [("01 4b 20 00", "04 0e 06 01 4b 20 00 ec 14")],
    // LE Read Maximum Data Length: 251 octets in 2,120 µs
    [("01 2f 20 00", "04 0e 0c 01 2f 20 00 fb 00 48 08 fb 00 48 08")],
    // LE Write Suggested Default Data Length, LE Read Suggested Default Data Length
    [
      ("01 24 20 04 fb 00 48 08", "04 0e 04 01 24 20 00"), ("01 23 20 00", "04 0e 08 01 23 20 00 fb 00 48 08"),
      ("01 24 20 04 1a 00 48 08", "04 0e 04 01 24 20 12"), ("01 23 20 00", "04 0e 08 01 23 20 00 fb 00 48 08"),
    ],
    // LE Set Default PHY: any; LE 2M; none; one that does not exist
    [
      ("01 31 20 03 03 00 00", "04 0e 04 01 31 20 00"), ("01 31 20 03 00 02 02", "04 0e 04 01 31 20 00"),
      ("01 31 20 03 00 00 01", "04 0e 04 01 31 20 11"), ("01 31 20 03 00 01 08", "04 0e 04 01 31 20 11"),
    ],
    // LE Set Host Channel Classification: at least two channels, 37 bits
    [
      ("01 14 20 05 03 00 00 00 00", "04 0e 04 01 14 20 00"), ("01 14 20 05 01 00 00 00 00", "04 0e 04 01 14 20 12"),
      ("01 14 20 05 03 00 00 00 20", "04 0e 04 01 14 20 12"),
    ],
    // LE Read Maximum Advertising Data Length, LE Read Number of Supported Advertising Sets
    [("01 3a 20 00", "04 0e 06 01 3a 20 00 72 06"), ("01 3b 20 00", "04 0e 05 01 3b 20 00 08")],
    // LE Set Event Mask, Set Event Mask, Set Event Mask Page 2
    [
      ("01 01 20 08 ff ff ff ff ff ff ff ff", "04 0e 04 01 01 20 00"),
      ("01 01 0c 08 ff ff ff ff ff ff ff ff", "04 0e 04 01 01 0c 00"),
      ("01 63 0c 08 ff ff ff ff ff ff ff ff", "04 0e 04 01 63 0c 00"),
    ],
  ])
  func session(exchanges: [(command: String, answer: String)]) throws {
    var stage = RadioStage()
    let id = stage.radio.attach(now: .start)
    for (command, answer) in exchanges {
      stage.send(try #require([UInt8](hexadecimal: command)), from: id)
      #expect(stage.take(id).map(\.hexadecimal) == [answer.filter { $0 != " " }], "\(command)")
    }
  }

  /// Vol 4, Part E, 7.8.115.
  @Test func hostFeaturesDoNotChangeWithALink() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    _ = try stage.connect(central, to: peripheral)
    let feature = HCI.LESetHostFeature {
      $0.bitNumber = 32
      $0.bitValue = true
    }
    try stage.expect(.commandDisallowed, for: feature, from: central)
  }

  /// A controller with more power than 20 dBm, or less than -20 dBm, reports its own as the limit.
  @Test func rangeOfTransmitPower() throws {
    var stage = RadioStage()
    let (weak, strong) = (stage.attach { $0.txPower = -30 }, stage.attach { $0.txPower = 25 })
    let least = try stage.ask(HCI.LEReadTransmitPower(), from: weak)
    #expect(least.minTXPower == -30 && least.maxTXPower == 20)
    let greatest = try stage.ask(HCI.LEReadTransmitPower(), from: strong)
    #expect(greatest.minTXPower == -20 && greatest.maxTXPower == 25)
  }

  /// The host's default PHYs limit the answer to a request of the peer (Vol 4, Part E, 7.8.48).
  @Test func defaultPHYs() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    let only1M = HCI.LESetDefaultPHY {
      $0.txPHYs = .le1M
      $0.rxPHYs = .le1M
    }
    try stage.expect(.success, for: only1M, from: peripheral)
    let handles = try stage.connect(central, to: peripheral)
    let request = HCI.LESetPHY {
      $0.connectionHandle = handles.central
      $0.txPHYs = [.le1M, .le2M]
      $0.rxPHYs = [.le1M, .le2M]
    }
    try stage.expect(.success, for: request, from: central)
    let update = try #require(try stage.metaEvents(central).first as? HCI.LEPHYUpdateComplete)
    #expect(update.txPHY == .le1M && update.rxPHY == .le1M)
  }

  /// With airtime a controller with LE Coded has the time of 251 octets at S=8.
  @Test(arguments: [(true, 17_040), (false, 2120)]) func greatestDataLengthWithAirtime(isCoded: Bool, time: UInt16)
    throws
  {
    var stage = RadioStage(pacing: .airtime)
    let id = stage.attach { if !isCoded { $0.features.remove(.leCodedPHY) } }
    let greatest = try stage.ask(HCI.LEReadMaximumDataLength(), from: id)
    #expect(greatest.supportedMaxTXOctets == 251 && greatest.supportedMaxTXTime == time)
  }

  /// The controller's private address towards a peer, once it has generated one (Vol 4, Part E, 7.8.43).
  @Test func localResolvableAddress() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    let peer = stage.address(of: scanner)
    let add = HCI.LEAddDeviceToResolvingList {
      $0.peerIdentityAddress = peer
      $0.localIRK = PrivacyTests.irk
    }
    try stage.expect(.success, for: add, from: advertiser)
    let enable = HCI.LESetAddressResolutionEnable { $0.addressResolutionEnable = true }
    try stage.expect(.success, for: enable, from: advertiser)
    let read = HCI.LEReadLocalResolvableAddress { $0.peerIdentityAddress = peer }
    try stage.expect(.unknownConnectionIdentifier, for: read, from: advertiser)
    try stage.advertise(advertiser) {
      $0.ownAddressType = .resolvableElsePublic
      $0.peerAddress = peer
    }
    try stage.scan(scanner, .passive)
    stage.run(for: .seconds(1))
    let received = try #require(try stage.reports(scanner).first).address
    #expect(try stage.ask(read, from: advertiser).localResolvableAddress == received.octets)
  }
}
