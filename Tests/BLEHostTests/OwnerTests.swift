import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEWire
import Testing

@Suite("Owners of what a host does")
struct OwnerTests {
  static let first = OwnerID(rawValue: 1)
  static let second = OwnerID(rawValue: 2)
  private let peer = LinkID(rawValue: 1)

  private func service(_ id: UInt32, dynamic: Bool = true) -> ServiceDefinition {
    ServiceDefinition(
      id: ServiceID(rawValue: id), uuid: BluetoothUUID(0xFFE0 + UInt16(id)),
      characteristics: [
        CharacteristicDefinition(
          id: AttributeID(rawValue: id), uuid: BluetoothUUID(0xFFF0 + UInt16(id)),
          properties: [.read, .write, .notify],
          permissions: .readableAndWritable, value: dynamic ? .dynamic : .stored([1], length: 0...20))
      ])
  }

  /// A host with one service of each owner, and the handle of each value.
  private func serving(dynamic: Bool = true) throws -> (Bench, [UInt8]) {
    var bench = Bench()
    bench.perform(.services(.add(service(1, dynamic: dynamic))), from: Self.first)
    bench.perform(.services(.add(service(2, dynamic: dynamic))), from: Self.second)
    var handles: [UInt8] = []
    for (event, recipient) in bench.takeAddressed() {
      guard case .services(.added(let id, .success(let added))) = event else { continue }
      #expect(recipient == .owner(OwnerID(rawValue: id.rawValue)))
      handles.append(UInt8(try #require(added.attributes[AttributeID(rawValue: id.rawValue)]).rawValue))
    }
    try #require(handles.count == 2)
    bench.receive(ScriptedController.connected(0x40))
    _ = bench.takeAddressed()
    return (bench, handles)
  }

  private func address(_ last: UInt8) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 | UInt64(last)), kind: .random)
  }

  private func recipients(_ bench: Bench, where isWanted: (HostEvent) -> Bool) -> [Recipient] {
    zip(bench.events, bench.recipients).filter { isWanted($0.0) }.map(\.1)
  }

  private func report(_ last: UInt8, _ kind: HCI.AdvertisingReportType = .connectable) -> [UInt8] {
    var event: [UInt8] = []
    event.append(
      hci: HCI.LEAdvertisingReport {
        $0.reports = [
          HCI.AdvertisingReport {
            $0.eventType = kind
            $0.address = address(last)
            $0.data = [2, 1, 6]
          }
        ]
      })
    return event
  }

  // MARK: - Services

  @Test func aRequestGoesToTheOwnerOfTheServiceAndOnlyItAnswers() throws {
    var (bench, handles) = try serving()
    #expect(bench.att(0x40, [0x0A, handles[1], 0]).isEmpty)
    guard case .server(peer, .read(let token, _, _)) = bench.events.last else { Issue.record("not asked"); return }
    #expect(bench.recipients.last == .owner(Self.second))
    let before = bench.data.count
    bench.perform(.respond(peer, token, .success([9])), from: Self.first)
    #expect(bench.attPayloads(from: before).isEmpty)
    #expect(bench.recipients.last == .owner(Self.first), "told that it has nothing to answer")
    bench.perform(.respond(peer, token, .success([3])), from: Self.second)
    #expect(bench.attPayloads(from: before) == [[0x0B, 3]])
  }

  @Test func anotherOwnersServiceIsNotTouched() throws {
    var (bench, handles) = try serving(dynamic: false)
    bench.perform(.services(.setValue(AttributeID(rawValue: 1), [7])), from: Self.second)
    guard case .refused(.invalidParameters) = bench.events.last else { Issue.record("not refused"); return }
    bench.perform(.services(.remove(ServiceID(rawValue: 1))), from: Self.second)
    guard case .services(.removed(_, .failure)) = bench.events.last else { Issue.record("not refused"); return }
    bench.perform(.update(UpdateToken(rawValue: 1), AttributeID(rawValue: 1), [8], to: bench.peers), from: Self.second)
    guard case .server(_, .updateFinished(UpdateToken(rawValue: 1))) = bench.events.last else {
      Issue.record("open"); return
    }
    #expect(bench.recipients.suffix(4).allSatisfy { $0 == .owner(Self.second) })
    #expect(bench.att(0x40, [0x0A, handles[0], 0]) == [[0x0B, 1]])
  }

  @Test func storedValuesAndSubscriptionsAreReportedToTheOwnerOfTheAttribute() throws {
    var (bench, handles) = try serving(dynamic: false)
    #expect(bench.att(0x40, [0x12, handles[1], 0, 5]) == [[0x13]])
    #expect(recipients(bench) { if case .server(_, .stored) = $0 { true } else { false } } == [.owner(Self.second)])
    #expect(bench.att(0x40, [0x12, handles[0] + 1, 0, 1, 0]) == [[0x13]])
    #expect(
      recipients(bench) { if case .server(_, .subscription) = $0 { true } else { false } } == [.owner(Self.first)])
    bench.perform(.update(UpdateToken(rawValue: 3), AttributeID(rawValue: 1), [8], to: bench.peers), from: Self.first)
    #expect(
      recipients(bench) { if case .server(_, .updateFinished) = $0 { true } else { false } } == [.owner(Self.first)])
    bench.receive(ScriptedController.disconnected(0x40))
    #expect(bench.recipients.suffix(2) == [.owner(Self.first), .everyone], "the subscription, then the link")
  }

  @Test func storedValuesAreNotReportedToAnOwnerThatDoesNotWantThem() throws {
    var (bench, handles) = try serving(dynamic: false)
    let stored: (HostEvent) -> Bool = { if case .server(_, .stored) = $0 { true } else { false } }
    bench.perform(.services(.reportStoredWrites(false)), from: Self.second)
    #expect(bench.att(0x40, [0x12, handles[1], 0, 5]) == [[0x13]])
    #expect(recipients(bench, where: stored) == [])
    #expect(bench.att(0x40, [0x0A, handles[1], 0]) == [[0x0B, 5]])
    #expect(bench.att(0x40, [0x12, handles[0], 0, 6]) == [[0x13]])
    #expect(recipients(bench, where: stored) == [.owner(Self.first)], "it has not asked")
    bench.perform(.services(.reportStoredWrites(true)), from: Self.second)
    #expect(bench.att(0x40, [0x12, handles[1], 0, 7]) == [[0x13]])
    #expect(recipients(bench, where: stored) == [.owner(Self.first), .owner(Self.second)])
    for owner in [Self.first, Self.second] { bench.perform(.services(.reportStoredWrites(false)), from: owner) }
    for handle in handles { #expect(bench.att(0x40, [0x12, handle, 0, 8]) == [[0x13]]) }
    #expect(recipients(bench, where: stored) == [.owner(Self.first), .owner(Self.second)], "none of these")
  }

  @Test func aQueuedWriteOfTwoOwnersIsAnsweredWhenBothHave() throws {
    var (bench, handles) = try serving()
    for handle in handles { #expect(bench.att(0x40, [0x16, handle, 0, 0, 0, handle]).count == 1) }
    #expect(bench.att(0x40, [0x18, 1]).isEmpty)
    var tokens: [RequestToken] = []
    for (event, recipient) in bench.takeAddressed() {
      guard case .server(peer, .write(let token, let parts)) = event else { continue }
      #expect(parts.count == 1 && recipient == .owner(OwnerID(rawValue: parts[0].attribute.rawValue)))
      tokens.append(token)
    }
    let token = try #require(tokens.first)
    #expect(tokens == [token, token])
    let before = bench.data.count
    bench.perform(.respond(peer, token, .failure(.valueNotAllowed)), from: Self.second)
    #expect(bench.attPayloads(from: before).isEmpty, "the other owner has not answered")
    bench.perform(.respond(peer, token, .success([])), from: Self.first)
    #expect(bench.attPayloads(from: before).map { $0.first } == [0x01], "one rejection rejects the whole")
  }

  // MARK: - Attach and detach

  @Test func anOwnerThatAttachesReceivesTheStateAndTheLinksAlone() throws {
    var (bench, _) = try serving()
    _ = bench.att(0x40, [0x02, 100, 0])
    _ = bench.takeAddressed()
    let third = OwnerID(rawValue: 3)
    bench.attach(third)
    #expect(bench.recipients == [.owner(third), .owner(third), .owner(third), .owner(third)])
    guard case .address(bench.core.ownAddress) = bench.events[0], case .state(.poweredOn, nil) = bench.events[1],
      case .connected(let link) = bench.events[2], case .link(peer, .mtu(100)) = bench.events[3]
    else {
      Issue.record("\(bench.events)")
      return
    }
    #expect(link.peer == peer && link.role == .peripheral && link.request == nil)
  }

  /// The address is chosen before the controller is ready: the events to everyone come too early and later for such an
  /// owner.
  @Test func anOwnerThatAttachesWhileTheControllerIsBroughtUpGetsTheAddress() {
    var controller = ScriptedController()
    controller.publicAddress = BD_ADDR(0)
    controller.silent = [.leSetRandomAddress]
    var bench = Bench(controller)
    #expect(bench.core.state != .poweredOn)
    _ = bench.takeAddressed()
    let third = OwnerID(rawValue: 3)
    bench.attach(third)
    let addresses = bench.takeAddressed().filter {
      if case .address(bench.core.ownAddress) = $0.0 { true } else { false }
    }
    #expect(addresses.map(\.1) == [.owner(third)])
  }

  @Test func aRequestOfADetachedOwnerIsAnsweredAtOnce() throws {
    var (bench, handles) = try serving()
    #expect(bench.att(0x40, [0x0A, handles[0], 0]).isEmpty)
    let before = bench.data.count
    bench.detach(Self.first)
    #expect(bench.attPayloads(from: before).first == [0x01, 0x0A, handles[0], 0, 0x0E])
    #expect(bench.att(0x40, [0x0A, handles[0], 0]) == [[0x01, 0x0A, handles[0], 0, 0x01]], "its service has gone")
    #expect(bench.att(0x40, [0x0A, handles[1], 0]).isEmpty, "the other owner is asked")
  }

  @Test func aDetachedOwnerLeavesNothingBehind() throws {
    var bench = Bench()
    bench.perform(
      .advertising(.start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: [2, 1, 6], scanResponse: []))),
      from: Self.first)
    bench.perform(.scanning(.start(ScanParameters())), from: Self.first)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), address(1), ConnectionParameters())), from: Self.first)
    let before = bench.controller.commands.count
    bench.detach(Self.first)
    let sent = bench.controller.commands.dropFirst(before)
    #expect(
      Set(sent.map(\.opcode)) == [.leSetAdvertisingEnable, .leSetScanEnable, .leCreateConnectionCancel])
    #expect(sent.allSatisfy { $0.opcode == .leCreateConnectionCancel || $0.parameters.first == 0 })
    bench.perform(
      .advertising(.start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: [2, 1, 6], scanResponse: []))),
      from: Self.second)
    guard case .advertising(_, .started(.success)) = bench.events.last else { Issue.record("not started"); return }
  }

  @Test func anotherOwnersAdvertisementIsNotStopped() {
    var bench = Bench()
    let id = AdvertisingID(rawValue: 1)
    bench.perform(.advertising(.start(id, AdvertisingIntent(data: [2, 1, 6], scanResponse: []))), from: Self.first)
    #expect(bench.recipients.last == .owner(Self.first))
    let before = bench.controller.commands.count
    bench.perform(.advertising(.stop(id)), from: Self.second)
    bench.detach(Self.second)
    #expect(bench.controller.commands.count == before)
  }

  // MARK: - Scans

  @Test func theControllerScansForAllAndReportsGoToThoseThatScan() {
    var bench = Bench()
    var passive = ScanParameters()
    (passive.isActive, passive.interval, passive.window) = (false, 0x60, 0x60)
    bench.perform(.scanning(.start(passive)), from: Self.first)
    bench.receive(report(1))
    #expect(bench.recipients.last == .owner(Self.first))
    let before = bench.controller.commands.count
    bench.perform(.scanning(.start(ScanParameters())), from: Self.second)
    let parameters = bench.controller.commands.dropFirst(before).first { $0.opcode == .leSetScanParameters }
    #expect(parameters?.parameters.prefix(5) == [1, 0x60, 0, 0x60, 0], "active, and the larger share of time")
    bench.receive(report(2))
    #expect(bench.recipients.last == .owners([Self.first, Self.second]))
    bench.perform(.scanning(.stop), from: Self.first)
    bench.receive(report(3))
    #expect(bench.recipients.last == .owner(Self.second))
    bench.perform(.scanning(.stop), from: Self.second)
    #expect(bench.controller.commands.last?.parameters.first == 0)
    let count = bench.events.count
    bench.receive(report(4))
    #expect(bench.events.count == count, "nobody scans")
  }

  @Test func duplicatesGoOnlyToOwnersThatWantThem() {
    var bench = Bench()
    var all = ScanParameters()
    all.allowsDuplicates = true
    bench.perform(.scanning(.start(ScanParameters())), from: Self.first)
    bench.receive(report(1))
    bench.perform(.scanning(.start(all)), from: Self.second)
    #expect(bench.controller.commands.last?.parameters == [1, 0], "the controller filters no more")
    bench.receive(report(1))
    #expect(bench.recipients.last == .owner(Self.second), "the first owner has had it")
    bench.receive(report(1, .scanResponse))
    #expect(bench.recipients.last == .owners([Self.first, Self.second]), "a scan response is another report")
  }

  @Test func anOwnerThatScansLaterReceivesTheDevicesThatWereReported() {
    var bench = Bench()
    bench.perform(.scanning(.start(ScanParameters())), from: Self.first)
    let before = bench.controller.commands.count
    bench.perform(.scanning(.start(ScanParameters())), from: Self.second)
    #expect(
      bench.controller.commands.dropFirst(before).map(\.opcode)
        == [.leSetScanEnable, .leSetScanParameters, .leSetScanEnable], "the controller forgets whom it has reported")
  }

  @Test func theFilterOfDuplicatesIsBounded() {
    var bench = Bench()
    bench.perform(.scanning(.start(ScanParameters())), from: Self.first)
    bench.perform(.scanning(.start(ScanParameters())), from: Self.second)
    for number in 0..<32_768 {
      var event: [UInt8] = []
      event.append(
        hci: HCI.LEAdvertisingReport {
          $0.reports = [
            HCI.AdvertisingReport {
              $0.address = DeviceAddress(octets: BD_ADDR(0xC000_0001_0000 + UInt64(number)), kind: .random)
            }
          ]
        })
      bench.receive(event)
    }
    let count = bench.events.count
    bench.receive(report(1, .scanResponse))
    #expect(bench.events.count == count + 1, "one more: all are forgotten")
    bench.receive(report(1, .scanResponse))
    #expect(bench.events.count == count + 1)
  }

  // MARK: - Links

  @Test func aLinkIsSharedAndEndsWithItsLastUser() throws {
    var bench = Bench()
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), address(1), ConnectionParameters())), from: Self.first)
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: address(1)))
    #expect(recipients(bench) { if case .connected = $0 { true } else { false } } == [.everyone])
    bench.perform(.initiating(.connect(ConnectID(rawValue: 2), address(1), ConnectionParameters())), from: Self.second)
    guard case .connected(let shared) = bench.events.last else { Issue.record("not shared"); return }
    #expect(shared.peer == peer && shared.request == ConnectID(rawValue: 2))
    #expect(bench.recipients.last == .owner(Self.second))
    bench.perform(.initiating(.connect(ConnectID(rawValue: 3), address(1), ConnectionParameters())), from: Self.second)
    guard case .connectionFailed(_, .invalidParameters) = bench.events.last else { Issue.record("twice"); return }
    bench.perform(.link(peer, .release), from: Self.first)
    guard case .link(peer, .disconnected(.terminatedByLocalHost)) = bench.events.last else {
      Issue.record("open"); return
    }
    #expect(bench.recipients.last == .owner(Self.first))
    #expect(!bench.controller.commands.contains { $0.opcode == .disconnect })
    bench.detach(Self.second)
    #expect(bench.controller.commands.last?.opcode == .disconnect)
  }

  /// A controller rejects a second link to the device. The link is the device's: it stays when its users release it.
  @Test func theLinkOfADeviceThatIsConnectedAsACentralIsShared() throws {
    var bench = Bench()
    bench.receive(ScriptedController.connected(0x40))
    guard case .connected(let link) = bench.events.last else { Issue.record("not connected"); return }
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), link.address, ConnectionParameters())), from: Self.first)
    guard case .connected(let shared) = bench.events.last else { Issue.record("not shared"); return }
    #expect(shared.peer == link.peer && shared.role == .peripheral && shared.request == ConnectID(rawValue: 1))
    bench.perform(.link(link.peer, .release), from: Self.first)
    guard case .link(link.peer, .disconnected(.terminatedByLocalHost)) = bench.events.last else {
      Issue.record("open"); return
    }
    #expect(bench.recipients.last == .owner(Self.first))
    #expect(!bench.controller.commands.contains { $0.opcode == .disconnect || $0.opcode == .leCreateConnection })
  }

  @Test func anOwnerThatRequestsThemReceivesTheCapabilitiesBeforeTheState() throws {
    var bench = Bench()
    bench.perform(.reportCapabilities, from: Self.first)
    guard case .capabilities(let capabilities) = bench.events.last else { Issue.record("not reported"); return }
    #expect(bench.recipients.last == .owner(Self.first))
    #expect(capabilities.scansByExtendedCommands == bench.core.controller.scansByExtendedCommands)
  }

  @Test func twoOwnersMayWantOneDevice() {
    var bench = Bench()
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), address(1), ConnectionParameters())), from: Self.first)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 2), address(1), ConnectionParameters())), from: Self.second)
    #expect(bench.controller.commands.count { $0.opcode == .leCreateConnection } == 1)
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: address(1)))
    let links = bench.takeAddressed().compactMap { event, recipient -> (ConnectID?, Recipient)? in
      if case .connected(let link) = event { (link.request, recipient) } else { nil }
    }
    #expect(links.map(\.0) == [ConnectID(rawValue: 1), ConnectID(rawValue: 2)])
    #expect(links.map(\.1) == [.everyone, .owner(Self.second)])
    bench.detach(Self.first)
    #expect(!bench.controller.commands.contains { $0.opcode == .disconnect }, "the second owner uses it")
  }

  @Test func clientResultsGoToTheirOwnerAndNotificationsToThoseThatUseTheLink() throws {
    var bench = Bench()
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), address(1), ConnectionParameters())), from: Self.first)
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: address(1)))
    _ = bench.att(0x40, [0x03, 23, 0])
    let operation = GATTClient.Operation(id: GATTClient.OperationID(rawValue: 5), .read(AttributeHandle(rawValue: 3)))
    bench.perform(.link(peer, .client(operation)), from: Self.second)
    _ = bench.att(0x40, [0x0B, 1])
    let results = recipients(bench) { if case .client(_, .finished) = $0 { true } else { false } }
    #expect(results == [.owner(Self.second)])
    _ = bench.att(0x40, [0x1B, 3, 0, 9])
    #expect(bench.recipients.last == .owners([Self.first, Self.second]))
    bench.perform(.link(peer, .readRSSI), from: Self.second)
    #expect(bench.recipients.last == .owner(Self.second))
  }
}
