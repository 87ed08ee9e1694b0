import BLEHCI
import BLEHost
import BLEVirtual
import BLEWire
import Testing

/// Two hosts on the PHYs of LE: links, and advertisements that are longer than a packet.
@Suite("PHYs of links and advertisements") struct PHYTests {
  struct Air: CustomStringConvertible, Sendable {
    var primary: HCI.PHY
    var secondary: HCI.PHY
    var pacing: VirtualRadio.Pacing
    var description: String { "\(primary), then \(secondary), \(pacing)" }
  }

  static let air: [Air] = [VirtualRadio.Pacing.immediate, .airtime].flatMap { pacing in
    [HCI.PHY.le1M, .leCoded].flatMap { primary in
      [HCI.PHY.le1M, .le2M, .leCoded].map { Air(primary: primary, secondary: $0, pacing: pacing) }
    }
  }

  private let id = AdvertisingID(rawValue: 1)

  private func extended(_ air: Air, _ data: [UInt8], isConnectable: Bool) -> AdvertisingIntent {
    var intent = AdvertisingIntent(data: data, scanResponse: [])
    intent.usesExtendedPDUs = true
    intent.isConnectable = isConnectable
    (intent.primaryPHY, intent.secondaryPHY) = (air.primary, air.secondary)
    return intent
  }

  /// 1,650 octets of AD structures, the longest advertisement there is (Vol 6, Part B, 2.3.4.9).
  static let longest: [UInt8] = {
    var data: [UInt8] = []
    for number in UInt8(0)..<6 { data += [254, 0xFF, 0xFF, 0xFF] + [UInt8](repeating: number, count: 251) }
    return data + [119, 0xFF, 0xFF, 0xFF] + [UInt8](repeating: 7, count: 116)
  }()

  private func phys(_ world: World, _ host: Int) -> [ConnectionPHY] {
    world.heard[host].compactMap { if case .link(_, .phy(.success(let phy))) = $0 { phy } else { nil } }
  }

  private func phyErrors(_ world: World, _ host: Int) -> [HostError] {
    world.heard[host].compactMap { if case .link(_, .phy(.failure(let error))) = $0 { error } else { nil } }
  }

  private func link(_ world: World, _ host: Int) -> LinkID? {
    world.heard[host].compactMap { if case .connected(let link) = $0 { link.peer } else { nil } }.last
  }

  private func connected(_ world: inout World, _ phys: HCI.PHYs = .le1M) throws -> (central: LinkID, peripheral: LinkID)
  {
    let scan = InitiatingParameters(phys: phys)
    world.ask(1, .initiating(.connect(ConnectID(rawValue: 1), world.hosts[0].ownAddress, ConnectionParameters(), scan)))
    world.run(for: .seconds(5))
    return (try #require(link(world, 1)), try #require(link(world, 0)))
  }

  @Test(arguments: air) func aLinkBeginsOnThePHYOfTheAuxiliaryPacket(_ air: Air) throws {
    var world = World(2, pacing: air.pacing)
    world.ask(0, .advertising(.start(id, extended(air, [2, 1, 6], isConnectable: true))))
    let links = try connected(&world, [.le1M, .le2M, .leCoded])
    world.ask(0, .link(links.peripheral, .readPHY))
    world.ask(1, .link(links.central, .readPHY))
    let expected = ConnectionPHY(reported: air.secondary, air.secondary)
    #expect(phys(world, 0) == [expected] && phys(world, 1) == [expected])
    #expect(world.complaints.isEmpty, "\(world.complaints)")
  }

  @Test(arguments: air) func theLongestAdvertisementIsReceivedWhole(_ air: Air) {
    var world = World(2, pacing: air.pacing)
    world.ask(0, .advertising(.start(id, extended(air, Self.longest, isConnectable: false))))
    var scan = ScanParameters()
    scan.phys = [.le1M, .leCoded]
    world.ask(1, .scanning(.start(scan)))
    world.run(for: .seconds(5))
    let found = world.heard[1].flatMap { event -> [ScanReport] in
      if case .scanning(.discovered(let found)) = event { found } else { [] }
    }
    #expect(!found.isEmpty)
    for scanReport in found {
      #expect(scanReport.data == Self.longest && !scanReport.isTruncated && !scanReport.isLegacy)
      #expect(scanReport.primaryPHY == air.primary && scanReport.secondaryPHY == air.secondary)
      #expect(scanReport.advertisingSet == 0 && scanReport.reportedAddress == world.hosts[0].ownAddress)
    }
    #expect(world.complaints.isEmpty, "\(world.complaints)")
  }

  @Test(arguments: air) func theLongestScanResponseIsReceivedWhole(_ air: Air) {
    var world = World(2, pacing: air.pacing)
    var intent = extended(air, [], isConnectable: false)
    intent.scanResponse = Self.longest
    world.ask(0, .advertising(.start(id, intent)))
    var scan = ScanParameters()
    scan.phys = [.le1M, .leCoded]
    world.ask(1, .scanning(.start(scan)))
    world.run(for: .seconds(5))
    let found = world.heard[1].flatMap { event -> [ScanReport] in
      if case .scanning(.discovered(let found)) = event { found } else { [] }
    }
    #expect(found.contains { !$0.isScanResponse && $0.isScannable && $0.data.isEmpty })
    #expect(found.contains { $0.isScanResponse && $0.data == Self.longest && !$0.isTruncated })
    #expect(world.complaints.isEmpty, "\(world.complaints)")
  }

  @Test(arguments: [VirtualRadio.Pacing.immediate, .connectionEvents(packetsPerEvent: 4), .airtime])
  func eitherEndOfALinkMayAskForAnotherPHY(_ pacing: VirtualRadio.Pacing) throws {
    var world = World(2, pacing: pacing)
    world.ask(0, .advertising(.start(id, AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
    let links = try connected(&world)
    for (host, peer) in [(1, links.central), (0, links.peripheral)] {
      for (phys, phy) in [(HCI.PHYs.le2M, LEPHY.le2M), (.leCoded, .leCoded), (.le1M, .le1M)] {
        for host in world.hosts.indices { _ = world.takeHeard(host) }
        world.ask(host, .link(peer, .setPHY(PHYPreference(transmit: phys, receive: phys, coding: .s8))))
        world.run(for: .seconds(2))
        let expected = ConnectionPHY(transmit: phy, receive: phy)
        #expect(self.phys(world, 0) == [expected] && self.phys(world, 1) == [expected], "\(phy) by host \(host)")
      }
    }
    #expect(world.complaints.isEmpty, "\(world.complaints)")
  }

  @Test func theTwoDirectionsMayDiffer() throws {
    var world = World(2)
    world.ask(0, .advertising(.start(id, AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
    let links = try connected(&world)
    world.ask(1, .link(links.central, .setPHY(PHYPreference(transmit: .le2M, receive: .leCoded))))
    world.run(for: .seconds(1))
    #expect(phys(world, 1) == [ConnectionPHY(transmit: .le2M, receive: .leCoded)])
    #expect(phys(world, 0) == [ConnectionPHY(transmit: .leCoded, receive: .le2M)])
  }

  @Test func aPreferenceThatChangesNothingIsAnsweredAllTheSame() throws {
    var world = World(2)
    world.ask(0, .advertising(.start(id, AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
    let links = try connected(&world)
    world.ask(1, .link(links.central, .setPHY(PHYPreference(transmit: .le1M, receive: .le1M))))
    #expect(phys(world, 1) == [ConnectionPHY(transmit: .le1M, receive: .le1M)] && phys(world, 0).isEmpty)
  }

  @Test func aPHYThatTheControllerLacksIsRejectedBeforeTheController() throws {
    var world = World(
      2,
      controller: { index in
        var configuration = VirtualControllerConfiguration()
        if index == 1 { configuration.features.subtract([.le2MPHY, .leCodedPHY]) }
        return configuration
      })
    world.ask(0, .advertising(.start(id, AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
    let links = try connected(&world)
    let owner = OwnerID(rawValue: 7)
    let sent = world.sent[1].count
    world.ask(1, .link(links.central, .setPHY(PHYPreference(transmit: .le2M))), from: owner)
    world.ask(1, .link(links.central, .setPHY(PHYPreference(receive: .leCoded))), from: owner)
    world.ask(1, .link(LinkID(rawValue: 99), .setPHY(PHYPreference())), from: owner)
    #expect(phyErrors(world, 1) == [.unsupported("LE 2M PHY"), .unsupported("LE Coded PHY"), .notConnected])
    var scan = ScanParameters()
    scan.phys = [.le1M, .leCoded]
    world.ask(1, .scanning(.start(scan)), from: owner)
    guard case .scanning(.stopped(.unsupported("LE Coded PHY"))) = world.heard[1].last else {
      Issue.record("\(world.heard[1])"); return
    }
    let stranger = DeviceAddress(octets: BD_ADDR(1), kind: .public)
    world.ask(
      1,
      .initiating(
        .connect(ConnectID(rawValue: 9), stranger, ConnectionParameters(), InitiatingParameters(phys: [.le1M, .le2M]))))
    guard case .connectionFailed(ConnectID(rawValue: 9), .unsupported("LE 2M PHY")) = world.heard[1].last else {
      Issue.record("\(world.heard[1])"); return
    }
    let air = Air(primary: .leCoded, secondary: .leCoded, pacing: .immediate)
    world.ask(1, .advertising(.start(id, extended(air, [2, 1, 6], isConnectable: true))))
    guard case .advertising(id, .started(.failure(.unsupported("LE Coded PHY")))) = world.heard[1].last else {
      Issue.record("\(world.heard[1])"); return
    }
    #expect(world.sent[1].count == sent)
  }

  @Test func aScanIsOnAPrimaryPHY() {
    var world = World(1)
    for phys in [HCI.PHYs.le2M, [], [.le1M, .le2M]] {
      var scan = ScanParameters()
      scan.phys = phys
      world.ask(0, .scanning(.start(scan)))
      guard case .scanning(.stopped(.invalidParameters)) = world.takeHeard(0).last else {
        Issue.record("\(phys)"); return
      }
    }
    let stranger = DeviceAddress(octets: BD_ADDR(1), kind: .public)
    world.ask(
      0,
      .initiating(.connect(ConnectID(rawValue: 1), stranger, ConnectionParameters(), InitiatingParameters(phys: .le2M)))
    )
    guard case .connectionFailed(_, .invalidParameters) = world.takeHeard(0).last else { Issue.record("taken"); return }
  }

  @Test func aScannerOnOnePHYDoesNotReceiveTheOther() {
    var world = World(2)
    let air = Air(primary: .leCoded, secondary: .leCoded, pacing: .immediate)
    world.ask(0, .advertising(.start(id, extended(air, [2, 1, 6], isConnectable: true))))
    world.ask(1, .scanning(.start(ScanParameters())))
    world.run(for: .seconds(2))
    #expect(!world.takeHeard(1).contains { if case .scanning(.discovered) = $0 { true } else { false } })
    var scan = ScanParameters()
    scan.phys = .leCoded
    world.ask(1, .scanning(.start(scan)))
    world.run(for: .seconds(2))
    #expect(world.takeHeard(1).contains { if case .scanning(.discovered) = $0 { true } else { false } })
  }

  @Test func aLinkDoesNotBeginOnAPHYThatWasNotAllowed() {
    var world = World(2)
    let air = Air(primary: .le1M, secondary: .le2M, pacing: .immediate)
    world.ask(0, .advertising(.start(id, extended(air, [2, 1, 6], isConnectable: true))))
    world.ask(1, .initiating(.connect(ConnectID(rawValue: 1), world.hosts[0].ownAddress, ConnectionParameters())))
    world.run(for: .seconds(2))
    #expect(link(world, 1) == nil)
  }
}
