import BLEHCI
import BLESMP
import BLEVirtual
import BLEWire
import Testing

@testable import BLEHost

/// Periodic advertising between hosts on the virtual radio: trains, synchronization and its transfer over a link.
@Suite("Trains between hosts") struct PeriodicTrainTests {
  private var world = World(3)
  private static let advertiser = 0
  private static let scanner = 1
  private static let third = 2
  private let train = AdvertisingID(rawValue: 1)
  private let sync = SyncID(rawValue: 1)

  /// - Parameter interval: in units of 1.25 ms.
  private mutating func advertise(_ data: [UInt8], interval: UInt16 = 8, of host: Int = advertiser) {
    var intent = AdvertisingIntent(data: [], scanResponse: [])
    (intent.usesExtendedPDUs, intent.isConnectable, intent.interval) = (true, false, 0x20...0x20)
    intent.secondaryPHY = .le2M
    intent.periodic = PeriodicIntent(data: data)
    intent.periodic?.interval = interval...interval
    world.ask(host, .advertising(.start(train, intent)))
  }

  private var trainID: TrainID { TrainID(world.hosts[Self.advertiser].ownAddress, set: 0) }

  private mutating func synchronize(_ host: Int = scanner, timeout: UInt16 = 100, filtersDuplicates: Bool = false) {
    var parameters = SyncParameters()
    (parameters.timeout, parameters.filtersDuplicates) = (timeout, filtersDuplicates)
    world.ask(host, .synchronizing(.start(sync, .train(trainID), parameters)))
  }

  /// The events of the synchronization since the last call, in words.
  private mutating func takeEvents(_ host: Int = scanner) -> [String] {
    world.takeHeard(host).compactMap { event in
      guard case .synchronizing(sync, let event) = event else { return nil }
      switch event {
      case .synchronized(let train): return "synchronized \(train.interval)"
      case .report(let report): return "\(report.completeness) \(report.data.count) \(report.data.first ?? 0)"
      case .lost: return "lost"
      case .ended(let error): return "ended: \(error)"
      case .transferred(_, .success): return "transferred"
      case .transferred(_, .failure(let error)): return "not transferred: \(error)"
      }
    }
  }

  @Test mutating func aTrainIsReceivedAndItsDataChanges() {
    advertise([7, 7])
    synchronize()
    world.run(for: .milliseconds(100))
    let first = takeEvents()
    #expect(first.first == "synchronized 8" && first.count > 5 && Set(first.dropFirst()) == ["complete 2 7"])
    world.ask(Self.advertiser, .advertising(.updateTrain(train, [8], UpdateToken(rawValue: 1))))
    world.run(for: .milliseconds(100))
    #expect(takeEvents().last == "complete 1 8")
    world.ask(Self.advertiser, .advertising(.stop(train)))
    world.run(for: .milliseconds(1_100))
    #expect(takeEvents().last == "lost")
    world.ask(Self.scanner, .synchronizing(.stop(sync)))
    world.run(for: .seconds(1))
    #expect(takeEvents() == [] && world.complaints.isEmpty)
  }

  @Test mutating func longDataComesWholeAlsoAfterAChange() {
    advertise([UInt8](repeating: 1, count: 1650))
    synchronize()
    world.run(for: .milliseconds(100))
    #expect(takeEvents().last == "complete 1650 1")
    world.ask(
      Self.advertiser,
      .advertising(.updateTrain(train, [UInt8](repeating: 2, count: 1000), UpdateToken(rawValue: 1))))
    world.run(for: .seconds(2))
    let events = takeEvents()
    #expect(events.last == "complete 1000 2")
    #expect(Set(events).isSubset(of: ["complete 1650 1", "complete 1000 2", "lost", "synchronized 8"]))
  }

  @Test mutating func repeatedDataIsLeftOut() {
    advertise([1])
    synchronize(filtersDuplicates: true)
    world.run(for: .seconds(3))
    #expect(takeEvents() == ["synchronized 8", "complete 1 1"])
    world.ask(Self.advertiser, .advertising(.updateTrain(train, [2], UpdateToken(rawValue: 1))))
    world.run(for: .seconds(3))
    #expect(takeEvents() == ["complete 1 2"])
  }

  @Test mutating func aReportIsMarkedWhereTheControllerLosesItsEnd() {
    world.setFaults([.losesChains(behind: 300)], of: Self.scanner)
    advertise([UInt8](repeating: 1, count: 600))
    synchronize()
    world.run(for: .milliseconds(100))
    #expect(takeEvents().dropFirst().allSatisfy { $0 == "truncated 300 1" })
  }

  @Test mutating func theSecondVersionOfAReportTellsOneEventFromTheNext() throws {
    advertise([1])
    synchronize()
    world.run(for: .seconds(1))
    let sync = try #require(world.hosts[Self.scanner].syncHandle(of: sync))
    world.setInRange(false, Self.advertiser)
    _ = takeEvents()
    for (counter, status, data) in [(1, 1, [7, 7]), (2, 0, [8])] as [(UInt16, UInt8, Bytes)] {
      var packet: [UInt8] = []
      packet.append(
        hci: HCI.LEPeriodicAdvertisingReportV2 {
          ($0.syncHandle, $0.periodicEventCounter, $0.dataStatus, $0.data) = (sync, counter, status, data)
        })
      world.deliver(packet, to: Self.scanner)
    }
    #expect(takeEvents() == ["truncated 2 7", "complete 1 8"])
  }

  @Test mutating func theAnnouncementsChangeTheirAddressWhileTheTrainGoesOn() {
    var settings = PrivacySettings(identityResolvingKey: SecretKey(7))
    settings.rotation = .seconds(10)
    advertise([1])
    synchronize()
    world.run(for: .seconds(1))
    world.ask(Self.advertiser, .privacy(settings))
    world.run(for: .seconds(60))
    let events = takeEvents()
    #expect(events.count > 5_000 && !events.contains("lost") && world.complaints.isEmpty)
  }

  private mutating func connect(_ host: Int, to other: Int) throws -> (from: LinkID, to: LinkID) {
    let intent = AdvertisingIntent(data: [2, 1, 6], scanResponse: [])
    world.ask(other, .advertising(.start(AdvertisingID(rawValue: 9), intent)))
    let address = world.hosts[other].ownAddress
    world.ask(host, .initiating(.connect(ConnectID(rawValue: 1), address, ConnectionParameters())))
    world.run(for: .seconds(2))
    return (try #require(world.peers[host].last), try #require(world.peers[other].last))
  }

  @Test mutating func aReceivedTrainIsTransferred() throws {
    advertise([5])
    let links = try connect(Self.scanner, to: Self.third)
    let expected = SyncSource.transfer(from: links.to)
    world.ask(Self.third, .synchronizing(.start(sync, expected, SyncParameters())))
    world.ask(Self.scanner, .synchronizing(.transfer(sync, to: links.from, serviceData: 3)))
    #expect(takeEvents().last?.hasPrefix("not transferred") == true, "it is not received yet")
    synchronize()
    world.run(for: .milliseconds(500))
    world.ask(Self.scanner, .synchronizing(.transfer(sync, to: links.from, serviceData: 3)))
    world.run(for: .seconds(1))
    #expect(takeEvents().contains("transferred"))
    let events = takeEvents(Self.third)
    #expect(events.first == "synchronized 8" && events.last == "complete 1 5")
    #expect(world.complaints.isEmpty)
  }

  @Test mutating func anOwnTrainIsTransferred() throws {
    advertise([6])
    let links = try connect(Self.third, to: Self.advertiser)
    let expected = SyncSource.transfer(from: links.from)
    world.ask(Self.third, .synchronizing(.start(sync, expected, SyncParameters())))
    world.ask(Self.advertiser, .advertising(.transfer(train, to: links.to, serviceData: 0xBEEF)))
    world.run(for: .seconds(1))
    let data = world.heard[Self.third].compactMap { event -> UInt16? in
      guard case .synchronizing(_, .synchronized(let train)) = event else { return nil }
      return train.serviceData
    }
    #expect(data == [0xBEEF] && takeEvents(Self.third).last == "complete 1 6")
    #expect(
      world.heard[Self.advertiser].contains {
        if case .advertising(_, .transferred(_, .success)) = $0 { true } else { false }
      })
    world.ask(Self.third, .link(links.from, .disconnect(.remoteUserTerminatedConnection)))
    world.run(for: .seconds(1))
    #expect(takeEvents(Self.third).last == "complete 1 6", "the train needs no link")
    world.ask(Self.advertiser, .advertising(.transfer(train, to: links.to, serviceData: 0)))
    guard case .advertising(_, .transferred(_, .failure(.notConnected))) = world.heard[Self.advertiser].last else {
      Issue.record("\(String(describing: world.heard[Self.advertiser].last))")
      return
    }
  }

  @Test mutating func aDeviceDoesNotReceiveItsOwnTrain() throws {
    advertise([5])
    let links = try connect(Self.scanner, to: Self.advertiser)
    synchronize()
    world.run(for: .milliseconds(500))
    world.ask(Self.advertiser, .synchronizing(.start(sync, .transfer(from: links.to), SyncParameters())))
    world.ask(Self.scanner, .synchronizing(.transfer(sync, to: links.from, serviceData: 3)))
    world.run(for: .seconds(10))
    #expect(takeEvents().contains("transferred") && takeEvents(Self.advertiser) == [])
  }

  @Test mutating func theEndOfTheLinkEndsTheWaitForATransfer() throws {
    let links = try connect(Self.scanner, to: Self.third)
    world.ask(Self.third, .synchronizing(.start(sync, .transfer(from: links.to), SyncParameters())))
    world.ask(Self.scanner, .link(links.from, .disconnect(.remoteUserTerminatedConnection)))
    world.run(for: .seconds(1))
    #expect(takeEvents(Self.third) == ["ended: \(HostError.notConnected)"])
  }

  @Test mutating func whatIsDeclaredSurvivesAReset() {
    advertise([1])
    synchronize()
    world.run(for: .seconds(1))
    _ = takeEvents()
    for host in [Self.scanner, Self.advertiser] {
      world.reconnectTransport(of: host)
      world.run(for: .seconds(3))
      let events = takeEvents()
      #expect(events.contains("lost") && events.contains("synchronized 8") && events.last == "complete 1 1")
    }
  }

  /// Lost events and an advertiser that vanishes: each report is whole or marked, and the train is found again within
  /// six of its intervals after its first announcement.
  @Test mutating func aTrainUnderFaultsIsWholeOrMarked() {
    world.setFaults([.losesReports(percent: 10)], of: Self.scanner)
    advertise([UInt8](repeating: 1, count: 1650))
    synchronize(timeout: 10)
    for round in 0..<3 {
      world.run(for: .seconds(2))
      let events = takeEvents()
      #expect(events.count > 150, "round \(round)")
      #expect(
        events.allSatisfy {
          ["synchronized 8", "lost", "complete 1650 1"].contains($0) || $0.hasPrefix("truncated")
        }, "round \(round)")
      world.setInRange(false, Self.advertiser)
      world.run(for: .seconds(1))
      #expect(takeEvents().last == "lost")
      world.setInRange(true, Self.advertiser)
      // An announcement every 20 ms and at most 10 ms later, then six intervals; one of ten events is lost.
      world.run(for: .milliseconds(30 * 3 + 60))
      #expect(takeEvents().contains("synchronized 8"), "round \(round)")
    }
    #expect(world.complaints.isEmpty)
  }
}

extension HostCore {
  /// The sync handle of a request of the process.
  fileprivate func syncHandle(of sync: SyncID) -> UInt16? { radio.syncHandle(of: sync, of: .process) }
}
