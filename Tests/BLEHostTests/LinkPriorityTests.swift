import BLEATT
import BLEGATT
import BLEHCI
import BLEVirtual
import BLEWire
import Testing

@testable import BLEHost

/// Priorities of links: the commands to the controller, in their order, and what follows a refusal.
@Suite("Priorities of links") struct LinkPriorityTests {
  static let procedures: [HCIOpcode] = [.leReadRemoteFeatures, .leSetDataLength, .leSetPHY, .leConnectionUpdate]
  private let device = DeviceAddress(octets: BD_ADDR(0x00C0_FFEE_0001), kind: .public)
  private let handle = ConnectionHandle(rawValue: 0x40)

  private func able() -> ScriptedController {
    var controller = ScriptedController()
    controller.leFeatures = [
      .encryption, .dataPacketLengthExtension, .le2MPHY, .peripheralInitiatedFeaturesExchange,
    ]
    for command in [HCIOpcode.leReadMaximumDataLength] + Self.procedures { controller.supported.insert(command) }
    controller.maximumDataLength = (251, 2120)
    return controller
  }

  /// A host with one link.
  private func linked(
    _ controller: ScriptedController, _ role: ConnectedLink.Role = .central,
    _ configuration: HostConfiguration = HostConfiguration()
  ) throws -> (Bench, LinkID) {
    var bench = Bench(controller, configuration: configuration)
    switch role {
    case .central: bench.receive(ScriptedController.connectedAsCentral(0x40, to: device))
    case .peripheral: bench.receive(ScriptedController.connected(0x40))
    }
    let link = bench.takeEvents().compactMap { if case .connected(let link) = $0 { link } else { nil } }.last
    return (bench, try #require(link).peer)
  }

  /// The commands that a priority leads to.
  private func steps(_ bench: Bench) -> [HCIOpcode] {
    bench.controller.commands.map(\.opcode).filter { Self.procedures.contains($0) }
  }

  private func features(
    _ features: HCI.LEFeatures = [.dataPacketLengthExtension, .le2MPHY], _ status: HCIErrorCode = .success
  ) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(
      hci: HCI.LEReadRemoteFeaturesComplete {
        ($0.status, $0.connectionHandle, $0.features) = (status, handle, features)
      })
    return packet
  }

  private func phyUpdate(_ phy: HCI.PHY, _ status: HCIErrorCode = .success) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(
      hci: HCI.LEPHYUpdateComplete {
        ($0.status, $0.connectionHandle, $0.txPHY, $0.rxPHY) = (status, handle, phy, phy)
      })
    return packet
  }

  private func dataLength(_ octets: UInt16) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(
      hci: HCI.LEDataLengthChange {
        $0.connectionHandle = handle
        ($0.maxTXOctets, $0.maxTXTime, $0.maxRXOctets, $0.maxRXTime) = (octets, 2120, octets, 2120)
      })
    return packet
  }

  private func timing(_ interval: UInt16, _ status: HCIErrorCode = .success) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(
      hci: HCI.LEConnectionUpdateComplete {
        ($0.status, $0.connectionHandle, $0.connectionInterval) = (status, handle, interval)
        $0.supervisionTimeout = 500
      })
    return packet
  }

  private func encryption(_ status: HCI.EncryptionEnabled) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(hci: HCI.EncryptionChange { ($0.connectionHandle, $0.encryptionEnabled) = (handle, status) })
    return packet
  }

  /// The intervals that the central has asked for, the shortest and the longest of each request.
  private func intervals(_ bench: Bench) throws -> [ClosedRange<UInt16>] {
    try bench.controller.commands.filter { $0.opcode == .leConnectionUpdate }.map {
      let parameters = try HCI.LEConnectionUpdate(decoding: $0.parameters).parameters
      return parameters.connectionIntervalMin...parameters.connectionIntervalMax
    }
  }

  private func last<Command: HCICommand>(_ type: Command.Type, _ bench: Bench) throws -> Command {
    let packet = try #require(bench.controller.commands.last { $0.opcode == Command.opcode })
    return try Command(decoding: packet.parameters)
  }

  @Test func aCentralAsksForOneSettingAfterTheOther() throws {
    var (bench, peer) = try linked(able())
    bench.perform(.link(peer, .prioritize(.throughput)))
    #expect(steps(bench) == [.leReadRemoteFeatures])
    bench.receive(features())
    #expect(steps(bench) == [.leReadRemoteFeatures, .leSetDataLength, .leSetPHY])
    let length = try last(HCI.LESetDataLength.self, bench)
    #expect(length.connectionHandle == handle && length.txOctets == 251 && length.txTime == 2120)
    let phy = try last(HCI.LESetPHY.self, bench)
    #expect(phy.txPHYs == .le2M && phy.rxPHYs == .le2M)
    bench.receive(dataLength(251))
    bench.receive(phyUpdate(.le2M))
    #expect(steps(bench) == Self.procedures)
    let timing = try last(HCI.LEConnectionUpdate.self, bench).parameters
    #expect(timing.connectionIntervalMin == 9 && timing.connectionIntervalMax == 9 && timing.maxLatency == 0)
  }

  /// The interval follows the packets of the link: one request at a time, and none for what the link has.
  @Test func theIntervalFollowsThePackets() throws {
    var (bench, peer) = try linked(able())
    bench.perform(.link(peer, .prioritize(.throughput)))
    bench.receive(features())
    bench.receive(phyUpdate(.le2M))
    #expect(try intervals(bench) == [6...6])
    // The answer to the first request is outstanding.
    bench.receive(dataLength(251))
    bench.receive(encryption(.on))
    #expect(try intervals(bench) == [6...6])
    bench.receive(timing(6))
    #expect(try intervals(bench) == [6...6, 8...8])
    bench.receive(timing(8))
    bench.receive(dataLength(251))
    #expect(try intervals(bench) == [6...6, 8...8])
    bench.receive(phyUpdate(.le1M))
    #expect(try intervals(bench) == [6...6, 8...8, 6...6])
    // Refused: it is not repeated.
    bench.receive(timing(8, .unacceptableConnectionParameters))
    bench.receive(dataLength(251))
    #expect(try intervals(bench) == [6...6, 8...8, 6...6])
  }

  /// The timing that a program or the peer has requested since stays.
  @Test(arguments: [false, true]) func anotherTimingStays(isOfProgram: Bool) throws {
    var (bench, peer) = try linked(able())
    bench.perform(.link(peer, .prioritize(.throughput)))
    bench.receive(features())
    bench.receive(phyUpdate(.le2M))
    bench.receive(timing(6))
    if isOfProgram {
      bench.perform(.link(peer, .updateConnection(ConnectionParameters(interval: 80...80))))
      #expect(try intervals(bench) == [6...6, 80...80])
    }
    bench.receive(timing(80))
    let before = try intervals(bench)
    bench.receive(dataLength(251))
    #expect(try intervals(bench) == before)
    // Asked for anew, the priority counts again.
    bench.perform(.link(peer, .prioritize(.throughput)))
    bench.receive(phyUpdate(.le2M))
    #expect(try intervals(bench) == before + [9...9])
  }

  /// Without a priority, and with another one, the packets change nothing.
  @Test(arguments: [ConnectionPriority?.none, .balanced, .lowPower])
  func onlyThroughputFollowsThePackets(_ priority: ConnectionPriority?) throws {
    var (bench, peer) = try linked(able())
    if let priority { bench.perform(.link(peer, .prioritize(priority))) }
    let before = try intervals(bench)
    bench.receive(dataLength(251))
    bench.receive(phyUpdate(.le2M))
    bench.receive(encryption(.on))
    #expect(try intervals(bench) == before)
  }

  /// A peripheral whose central has chosen a shorter interval that carries as much as 15 ms asks for nothing.
  @Test func aPeripheralKeepsAShortInterval() throws {
    var (bench, peer) = try linked(able(), .peripheral)
    bench.receive(dataLength(251))
    bench.receive(timing(9))
    bench.perform(.link(peer, .prioritize(.throughput)))
    bench.receive(features())
    let before = bench.data.count
    bench.receive(phyUpdate(.le2M))
    #expect(bench.data.count == before)
    #expect(try intervals(bench).isEmpty)
  }

  @Test func aPeripheralAsksForIntervalsThatPhonesAccept() throws {
    var (bench, peer) = try linked(able(), .peripheral)
    bench.perform(.link(peer, .prioritize(.throughput)))
    bench.receive(features())
    let before = bench.data.count
    bench.receive(phyUpdate(.le2M))
    #expect(steps(bench) == [.leReadRemoteFeatures, .leSetDataLength, .leSetPHY])
    #expect(bench.attPayloads(from: before) == [[0x12, 0x01, 0x08, 0x00, 12, 0, 12, 0, 0, 0, 0x58, 0x02]])
  }

  /// The Accessory Design Guidelines for Apple Devices, the older ones (first lines) and the newer ones.
  @Test(arguments: ConnectionPriority.allCases)
  func whatAPeripheralRequestsIsWithinTheGuidelinesForAccessories(priority: ConnectionPriority) {
    let wanted = priority.parameters(.peripheral, LinkPackets())
    let (shortest, longest) = (Double(wanted.interval.lowerBound) * 1.25, Double(wanted.interval.upperBound) * 1.25)
    let timeout = Double(wanted.supervisionTimeout) * 10
    let isShortest = shortest == 15 && longest == 15
    #expect(isShortest || (shortest >= 20 && shortest + 20 <= longest))
    #expect(wanted.latency <= 4 && timeout <= 6_000 && longest * Double(wanted.latency + 1) <= 2_000)
    #expect(shortest >= 15 && shortest.remainder(dividingBy: 15) == 0 && (isShortest || shortest + 15 <= longest))
    #expect(wanted.latency <= 30 && (6_000...18_000).contains(timeout))
    #expect(longest * Double(wanted.latency + 1) * 3 < timeout)
  }

  @Test(arguments: procedures) func aRefusalIsReportedAndTheOthersFollow(_ refused: HCIOpcode) throws {
    var controller = able()
    controller.refusals[refused] = .controllerBusy
    var (bench, peer) = try linked(controller)
    bench.perform(.link(peer, .prioritize(.throughput)))
    if refused != .leReadRemoteFeatures { bench.receive(features()) }
    if refused != .leSetPHY { bench.receive(phyUpdate(.le2M)) }
    #expect(steps(bench) == Self.procedures)
    let isReported = bench.takeEvents().contains { event in
      switch event {
      case .diagnostic(let line): line.text.contains("\(HCIErrorCode.controllerBusy)")
      case .link(peer, .connectionUpdateRefused(_)): refused == .leConnectionUpdate
      default: false
      }
    }
    #expect(isReported)
  }

  @Test func aProcedureThatFailsIsFollowedByTheNext() throws {
    var (bench, peer) = try linked(able())
    bench.perform(.link(peer, .prioritize(.throughput)))
    bench.receive(features([], .unsupportedRemoteFeature))
    #expect(steps(bench) == [.leReadRemoteFeatures, .leSetDataLength, .leSetPHY])
    bench.receive(phyUpdate(.le1M, .unsupportedRemoteFeature))
    #expect(steps(bench) == Self.procedures)
    #expect(!bench.takeEvents().contains { if case .link(_, .phy) = $0 { true } else { false } })
  }

  @Test func whatThePeerLacksIsNotAskedFor() throws {
    var (bench, peer) = try linked(able())
    bench.perform(.link(peer, .prioritize(.throughput)))
    bench.receive(features([.encryption]))
    #expect(steps(bench) == [.leReadRemoteFeatures, .leConnectionUpdate])
  }

  @Test func whatTheControllerLacksIsNotAskedFor() throws {
    var (bench, peer) = try linked(ScriptedController())
    bench.perform(.link(peer, .prioritize(.throughput)))
    #expect(steps(bench) == [.leConnectionUpdate])
  }

  @Test func aPeripheralWithoutTheProcedureDoesNotReadFeatures() throws {
    var controller = able()
    controller.leFeatures.remove(.peripheralInitiatedFeaturesExchange)
    var (bench, peer) = try linked(controller, .peripheral)
    bench.perform(.link(peer, .prioritize(.throughput)))
    #expect(steps(bench) == [.leSetDataLength, .leSetPHY])
  }

  @Test func anotherPriorityReturnsTheLinkToLE1M() throws {
    var (bench, peer) = try linked(able())
    bench.perform(.link(peer, .prioritize(.throughput)))
    bench.receive(features())
    bench.receive(phyUpdate(.le2M))
    bench.perform(.link(peer, .prioritize(.lowPower)))
    #expect(steps(bench) == Self.procedures + [.leSetPHY])
    #expect(try last(HCI.LESetPHY.self, bench).txPHYs == .le1M)
    bench.receive(phyUpdate(.le1M))
    let timing = try last(HCI.LEConnectionUpdate.self, bench).parameters
    #expect(timing.connectionIntervalMin == 84 && timing.connectionIntervalMax == 100 && timing.maxLatency == 2)
    // The features are read once, and LE 1M is asked for once.
    bench.perform(.link(peer, .prioritize(.lowPower)))
    #expect(steps(bench) == Self.procedures + [.leSetPHY, .leConnectionUpdate, .leConnectionUpdate])
  }

  @Test func theLastOfSeveralPrioritiesIsReached() throws {
    var (bench, peer) = try linked(able())
    bench.perform(.link(peer, .prioritize(.throughput)))
    bench.perform(.link(peer, .prioritize(.lowPower)))
    bench.receive(features())
    #expect(steps(bench) == [.leReadRemoteFeatures, .leConnectionUpdate])
    #expect(try last(HCI.LEConnectionUpdate.self, bench).parameters.connectionIntervalMin == 84)
  }

  @Test func aTimingThatTheLinkHasIsNotAskedFor() throws {
    var (bench, peer) = try linked(able())
    bench.perform(.link(peer, .prioritize(.balanced)))
    #expect(steps(bench).isEmpty)
  }

  @Test(arguments: [ConnectedLink.Role.central, .peripheral]) func eachLinkHasThePriorityOfTheHost(
    _ role: ConnectedLink.Role
  ) throws {
    var configuration = HostConfiguration()
    configuration.priority = .throughput
    let (bench, _) = try linked(able(), role, configuration)
    #expect(steps(bench) == [.leReadRemoteFeatures])
  }

  @Test func aLinkThatHasEndedHasNoPriority() throws {
    var (bench, peer) = try linked(able())
    bench.perform(.link(peer, .prioritize(.throughput)))
    bench.receive(ScriptedController.disconnected(0x40))
    bench.receive(features())
    #expect(steps(bench) == [.leReadRemoteFeatures])
    bench.perform(.link(peer, .prioritize(.throughput)))
    guard case .refused(.notConnected)? = bench.takeEvents().last else { Issue.record("not refused"); return }
  }
}

/// The queue of a link, from the application to the buffers of the controller.
@Suite("Full buffers of the controller") struct FullBufferTests {
  /// An application that has `window` values on their way and hands over more when a quarter of them have left, as a
  /// manager lets its own do.
  private struct Sender {
    var window = 32
    var handedOver = 0
    var finished = 0

    mutating func next() -> Range<Int> {
      guard window - (handedOver - finished) >= window / 4 else { return 0..<0 }
      defer { handedOver = finished + window }
      return handedOver..<finished + window
    }
  }

  /// While the application has more to send, all buffers of the controller are in use, at each millisecond of half a
  /// second.
  @Test(arguments: [ConnectionPriority.throughput, .balanced, .lowPower], [(27, 3), (251, 8), (251, 20)])
  func notificationsKeepTheBuffersFull(_ priority: ConnectionPriority, _ buffers: (length: Int, count: Int)) throws {
    var controller = VirtualControllerConfiguration()
    controller.aclDataPacketLength = UInt16(buffers.length)
    controller.totalNumACLDataPackets = UInt8(buffers.count)
    var couple = Couple(
      controller: controller, pacing: .airtime, configure: { _, host in host.priority = priority })
    try couple.connect()
    couple.secure()
    couple.world.run(for: .seconds(5))
    let handle = try #require(couple.handles[Couple.stream])
    let values = handle...AttributeHandle(handle.rawValue + 1)
    _ = couple.perform(.configure(.notify, in: values))
    couple.world.run(for: .seconds(3))
    let isSubscribed = couple.events(0).contains { if case .server(_, .subscription) = $0 { true } else { false } }
    #expect(isSubscribed)
    couple.forget()
    couple.world.forgetPackets()
    var sender = Sender()
    for _ in 0..<500 {
      let commands = sender.next().map { number in
        HostCommand.update(
          UpdateToken(rawValue: UInt64(number) + 100), Couple.stream, [UInt8](repeating: 7, count: 20),
          to: couple.world.peers[0])
      }
      couple.world.ask(0, commands)
      couple.world.run(for: .milliseconds(1))
      sender.finished += couple.world.takeHeard(0).count {
        if case .server(_, .updateFinished) = $0 { true } else { false }
      }
      let packets = couple.world.sent[0].count { $0.first == HCIPacketType.aclData.rawValue }
      #expect(packets - sender.finished == buffers.count)
    }
    #expect(sender.finished > 8)
    #expect(couple.world.complaints.isEmpty)
  }

  /// The same for writes without response. The application has 16 that the host has not sent, as a manager lets its own
  /// do.
  @Test(arguments: [ConnectionPriority.throughput, .balanced, .lowPower], [(27, 3), (251, 8), (251, 20)])
  func writesWithoutResponseKeepTheBuffersFull(_ priority: ConnectionPriority, _ buffers: (length: Int, count: Int))
    throws
  {
    var controller = VirtualControllerConfiguration()
    controller.aclDataPacketLength = UInt16(buffers.length)
    controller.totalNumACLDataPackets = UInt8(buffers.count)
    var couple = Couple(controller: controller, pacing: .airtime) { _, host in host.priority = priority }
    try couple.connect()
    couple.world.run(for: .seconds(5))
    let handle = try #require(couple.handles[Couple.plain])
    let peer = try #require(couple.links[1]).central
    couple.forget()
    var (handedOver, sent) = (0, 0)
    for _ in 0..<500 {
      // What is sent at once makes room for more.
      repeat {
        let commands = (handedOver..<sent + 16).map { number in
          HostCommand.link(
            peer,
            .client(
              GATTClient.Operation(
                id: GATTClient.OperationID(rawValue: UInt32(number) + 100),
                .writeWithoutResponse(handle, [UInt8](repeating: 7, count: 20)))))
        }
        handedOver = sent + 16
        couple.world.ask(1, commands)
        sent += couple.world.takeHeard(1).count {
          if case .client(_, .finished(_, .success)) = $0 { true } else { false }
        }
      } while handedOver < sent + 16
      couple.world.run(for: .milliseconds(1))
      sent += couple.world.takeHeard(1).count {
        if case .client(_, .finished(_, .success)) = $0 { true } else { false }
      }
      #expect(couple.world.hosts[1].links.table.freeBuffers == 0)
    }
    #expect(sent > 40)
    #expect(couple.world.complaints.isEmpty)
  }
}
