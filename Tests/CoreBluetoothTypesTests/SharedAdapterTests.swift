import AdapterFixtures
import BluetoothLE
import Synchronization
import TestSupport
import Testing

/// Several managers of one process on one adapter, over the simulated radio.
@Suite(.serialized, .usesRadio) struct SharedAdapterTests {
  private let name = UUID().uuidString
  private let service = MutableService(type: CBUUID(nsuuid: UUID()), primary: true)
  private let server = RadioTests.Server()
  private let first: AsyncCentral
  private let second: AsyncCentral

  init() {
    let adapter = AdapterOptions(transport: "virtual:c-\(name)")
    first = AsyncCentral(adapter, label: "first")
    second = AsyncCentral(adapter, label: "second")
  }

  private func characteristic(
    _ uuid: CBUUID, _ properties: CharacteristicProperties,
    _ permissions: AttributePermissions = [.readable, .writeable]
  ) -> MutableCharacteristic {
    MutableCharacteristic(type: uuid, properties: properties, value: nil, permissions: permissions)
  }

  private func publish(_ characteristics: MutableCharacteristic...) async {
    service.characteristics = characteristics
    server.publish(service, at: "virtual:p-\(name)")
    await server.wait(for: "advertising")
  }

  /// Counts the reports of a scan.
  final class Counter: NSObject, CentralManagerDelegate, Sendable {
    private let state = Mutex<(count: Int, wanted: Int, task: CheckedContinuation<Void, Never>?)>((0, 0, nil))
    var count: Int { state.withLock { $0.count } }

    func wait(for more: Int) async {
      await withCheckedContinuation { task in state.withLock { ($0.wanted, $0.task) = ($0.count + more, task) } }
    }
    func centralManagerDidUpdateState(_ central: CentralManager) {}
    func centralManager(
      _ central: CentralManager, didDiscover peripheral: Peripheral, advertisementData: [String: Any], rssi: NSNumber
    ) {
      let task = state.withLock { state in
        state.count += 1
        return state.count >= state.wanted ? state.task.take() : nil
      }
      task?.resume()
    }
  }

  @Test func theEndOfOneScanLeavesTheScanOfAnotherManager() async throws {
    await publish(characteristic("2A37", [.read]))
    try await first.waitUntilPoweredOn()
    try await second.waitUntilPoweredOn()
    let (ours, theirs) = (Counter(), Counter())
    (first.manager.delegate, second.manager.delegate) = (ours, theirs)
    let all = [CentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: true)]
    first.manager.scanForPeripherals(withServices: [service.uuid], options: all)
    second.manager.scanForPeripherals(withServices: [service.uuid], options: all)
    await ours.wait(for: 2)
    await theirs.wait(for: 2)
    second.manager.stopScan()
    #expect(first.manager.isScanning && !second.manager.isScanning)
    await ours.wait(for: 1)
    let before = theirs.count
    await ours.wait(for: 5)
    #expect(theirs.count == before)
    first.manager.stopScan()
  }

  @Test func aManagerMadeWhileACentralIsConnectedServesIt() async throws {
    await publish(characteristic("2A37", [.read]))
    let peripheral = try await first.find(service.uuid)
    try await first.connect(peripheral)
    _ = try await first.discover(service.uuid, of: peripheral)

    let lateService = MutableService(type: CBUUID(nsuuid: UUID()), primary: true)
    let level = characteristic("2A19", [.read, .notify])
    lateService.characteristics = [level]
    let late = RadioTests.Server()
    late.publish(lateService, at: "virtual:p-\(name)")
    await late.wait(for: "advertising")
    level.value = Data([87])
    let manager = try #require(late.manager)
    let central = try #require(manager.connectedCentrals.first)
    let known = try #require(server.manager?.connectedCentrals.first)
    #expect(central == known && central.maximumUpdateValueLength == known.maximumUpdateValueLength)
    #expect(central.maximumUpdateValueLength > 20)

    let found = try await first.discover(lateService.uuid, of: peripheral)
    #expect(try await first.value(of: found[0], of: peripheral) == Data([87]))
    try await first.subscribe(to: found[0], of: peripheral)
    await late.wait(for: "subscribed")
    #expect(level.subscribedCentrals == [central])
  }

  @Test func aConcurrentQueueKeepsTheOrderOfValues() async throws {
    let mine = characteristic("2A37", [.notify])
    await publish(mine)
    let adapter = AdapterOptions(transport: "virtual:c-\(name)")
    let central = AsyncCentral(adapter, queue: .global())
    let peripheral = try await central.find(service.uuid)
    try await central.connect(peripheral)
    let found = try await central.discover(service.uuid, of: peripheral)
    let values = central.values(of: found[0])
    try await central.subscribe(to: found[0], of: peripheral)
    await server.wait(for: "subscribed")
    let manager = try #require(server.manager)
    let sending = Task { [server] in
      for number in 0..<3000 as Range<UInt16> {
        let value = Data([UInt8(number & 0xFF), UInt8(number >> 8)])
        while !manager.updateValue(value, for: mine, onSubscribedCentrals: nil) { await server.wait(for: "ready") }
      }
    }
    var seen: [UInt16] = []
    for await value in values {
      seen.append(UInt16(value[value.startIndex]) | UInt16(value[value.startIndex + 1]) << 8)
      if seen.count == 3000 { break }
    }
    await sending.value
    #expect(seen == Array(0..<3000))
  }

  /// Counts the pairings of a central.
  final class PairingCounter: PairingDelegate, Sendable {
    let count = Mutex(0)
    func manager(_ manager: Manager, didPairWith peer: Peer, bond: Bond?) { count.withLock { $0 += 1 } }
    func manager(_ manager: Manager, didFailToPairWith peer: Peer, error: PairingError) { count.withLock { $0 += 1 } }
  }

  @Test func withoutPairingOnDemandTheRefusalIsTheResult() async throws {
    await publish(characteristic("2A37", [.read], [.readEncryptionRequired]))
    var adapter = AdapterOptions(transport: "virtual:d-\(name)")
    adapter.pairing.pairsOnDemand = false
    let central = AsyncCentral(adapter)
    let counter = PairingCounter()
    central.manager.pairingDelegate = counter
    let peripheral = try await central.find(service.uuid)
    try await central.connect(peripheral)
    let found = try await central.discover(service.uuid, of: peripheral)
    do {
      _ = try await central.value(of: found[0], of: peripheral)
      Issue.record("the value was read")
    } catch let error as ATTError {
      #expect(error.code == .insufficientAuthentication)
    }
    #expect(counter.count.withLock { $0 } == 0 && central.manager.bonds.isEmpty)
  }

  @Test func theLongestWriteWithoutResponseArrives() async throws {
    let mine = characteristic("2A37", [.write, .writeWithoutResponse])
    await publish(mine)
    let peripheral = try await first.find(service.uuid)
    try await first.connect(peripheral)
    let found = try await first.discover(service.uuid, of: peripheral)
    let length = peripheral.maximumWriteValueLength(for: .withoutResponse)
    #expect(length == 512)
    peripheral.writeValue(Data(repeating: 7, count: length), for: found[0], type: .withoutResponse)
    // Behind it, and answered.
    try await first.write(Data([1]), to: found[0], of: peripheral)
    #expect(server.parts == [1, 1])
  }

  @Test func aDeviceOfAnotherManagerIsRetrievedAndConnectedTo() async throws {
    let mine = characteristic("2A37", [.read])
    await publish(mine)
    mine.value = Data([42])
    try await second.waitUntilPoweredOn()
    let ours = try await first.find(service.uuid)
    let theirs = try #require(second.manager.retrievePeripherals(withIdentifiers: [ours.identifier]).first)
    #expect(theirs.identifier == ours.identifier && theirs !== ours)
    #expect(second.manager.retrieveConnectedPeripherals(withServices: [service.uuid]).isEmpty)
    try await first.connect(ours)
    _ = try await first.discover(service.uuid, of: ours)
    #expect(second.manager.retrieveConnectedPeripherals(withServices: [service.uuid]) == [theirs])

    theirs.delegate = second
    try await second.connect(theirs)
    let found = try await second.discover(service.uuid, of: theirs)
    #expect(try await second.value(of: found[0], of: theirs) == Data([42]))
    // The other manager uses the link still.
    try await first.disconnect(ours)
    #expect(ours.state == .disconnected && theirs.state == .connected)
    #expect(first.manager.retrieveConnectedPeripherals(withServices: [service.uuid]) == [ours])
    #expect(try await second.value(of: found[0], of: theirs) == Data([42]))
    try await second.disconnect(theirs)
    await server.wait(for: "disconnected 19")
    #expect(first.manager.retrieveConnectedPeripherals(withServices: [service.uuid]).isEmpty)
  }

  @Test func aDeviceThatCameAsACentralIsConnectedTo() async throws {
    let mine = characteristic("2A37", [.read])
    await publish(mine)
    // The central publishes a service, too.
    let back = characteristic("2A38", [.read])
    let itsService = MutableService(type: CBUUID(nsuuid: UUID()), primary: true)
    itsService.characteristics = [back]
    let itsServer = RadioTests.Server()
    itsServer.publish(itsService, at: "virtual:c-\(name)")
    await itsServer.wait(for: "advertising")
    back.value = Data([5])

    try await first.connect(first.find(service.uuid))
    await server.wait(for: "connected")
    let central = try #require(server.manager?.connectedCentrals.first)
    let here = AsyncCentral(AdapterOptions(transport: "virtual:p-\(name)"))
    try await here.waitUntilPoweredOn()
    let device = try #require(here.manager.retrievePeripherals(withIdentifiers: [central.identifier]).first)
    device.delegate = here
    try await here.connect(device)
    let found = try await here.discover(itsService.uuid, of: device)
    #expect(try await here.value(of: found[0], of: device) == Data([5]))
    // The link is the other device's: it stays.
    try await here.disconnect(device)
    #expect(device.state == .disconnected && central.isConnected)
    #expect(server.manager?.connectedCentrals == [central])
  }

  /// Services, subscriptions, scans and connections of each manager are its own.
  @Test func twoManagersOfEachKindShareAnAdapter() async throws {
    let here = "virtual:s-\(name)"
    let values = [characteristic("2A37", [.read, .notify]), characteristic("2A38", [.read, .notify])]
    let (servers, devices) = ([RadioTests.Server(), RadioTests.Server()], [RadioTests.Server(), RadioTests.Server()])
    let (ours, theirs) = ([service, MutableService(type: CBUUID(nsuuid: UUID()), primary: true)], [UUID(), UUID()])
    for index in 0...1 {
      ours[index].characteristics = [values[index]]
      servers[index].publish(ours[index], at: here)
      await servers[index].wait(for: "advertising")
      values[index].value = Data([UInt8(index)])
      let remote = MutableService(type: CBUUID(nsuuid: theirs[index]), primary: true)
      let constant = MutableCharacteristic(
        type: "2A39", properties: [.read], value: Data([10 + UInt8(index)]), permissions: [.readable])
      remote.characteristics = [constant]
      devices[index].publish(remote, at: "virtual:r\(index)-\(name)")
      await devices[index].wait(for: "advertising")
    }
    let centrals = [AsyncCentral(AdapterOptions(transport: here)), AsyncCentral(AdapterOptions(transport: here))]
    var found: [(peripheral: Peripheral, value: Characteristic)] = []
    for index in 0...1 {
      let uuid = CBUUID(nsuuid: theirs[index])
      let peripheral = try await centrals[index].find(uuid)
      try await centrals[index].connect(peripheral)
      let value = try #require(try await centrals[index].discover(uuid, of: peripheral).first)
      #expect(try await centrals[index].value(of: value, of: peripheral) == Data([10 + UInt8(index)]))
      found.append((peripheral, value))
    }
    // A client of both services subscribes to one.
    let adapter = try await first.find(ours[0].uuid)
    try await first.connect(adapter)
    for index in 0...1 {
      let value = try #require(try await first.discover(ours[index].uuid, of: adapter).first)
      #expect(try await first.value(of: value, of: adapter) == Data([UInt8(index)]))
      if index == 1 { try await first.subscribe(to: value, of: adapter) }
    }
    await servers[1].wait(for: "subscribed")
    #expect(values[0].subscribedCentrals == [] && values[1].subscribedCentrals?.count == 1)
    for server in servers { #expect(server.manager?.connectedCentrals.count == 1) }
    // The end of one connection leaves the other one.
    try await centrals[0].disconnect(found[0].peripheral)
    #expect(try await centrals[1].value(of: found[1].value, of: found[1].peripheral) == Data([11]))
  }

  @Test func theFeaturesAreThoseOfTheAdapters() async throws {
    #expect(CentralManager.supports([]))
    try await first.waitUntilPoweredOn()
    #expect(CentralManager.supports(.extendedScanAndConnect))
    #expect(!CentralManager.supports(CentralManager.Feature(rawValue: 2)))
  }

  @Test func theNameIsReadWhereAdvertisingGaveNone() async throws {
    service.characteristics = [characteristic("2A37", [.read])]
    var adapter = AdapterOptions(transport: "virtual:p-\(name)")
    adapter.deviceName = "Lamp"
    server.publish(service, at: adapter)
    await server.wait(for: "advertising")
    let peripheral = try await first.find(service.uuid)
    #expect(peripheral.name == nil)
    try await first.connect(peripheral)
    try await first.waitForName(of: peripheral)
    #expect(peripheral.name == "Lamp")
  }

  @Test("6.20 A pending connection is fulfilled by any link to its device")
  func aLinkOfTheDeviceFulfilsAPendingConnection() async throws {
    await publish(characteristic("2A37", [.read]))
    let back = MutableService(type: CBUUID(nsuuid: UUID()), primary: true)
    back.characteristics = [
      MutableCharacteristic(type: "2A39", properties: [.read], value: Data([7]), permissions: [.readable])
    ]
    let other = RadioTests.Server()
    other.publish(back, at: "virtual:c-\(name)")
    await other.wait(for: "advertising")
    let theirs = AsyncCentral(AdapterOptions(transport: "virtual:p-\(name)"), label: "theirs")
    let ours = try await theirs.find(back.uuid)
    other.manager?.stopAdvertising()
    let pending = Task { try await theirs.connect(ours) }
    try await until { ours.state == .connecting }
    let peripheral = try await first.find(service.uuid)
    try await first.connect(peripheral)
    try await pending.value
    #expect(ours.state == .connected && peripheral.state == .connected)
    let value = try #require(try await theirs.discover(back.uuid, of: ours).first)
    #expect(try await theirs.value(of: value, of: ours) == Data([7]))
    // The link is that of the other manager, which still uses it.
    try await theirs.disconnect(ours)
    #expect(ours.state == .disconnected && peripheral.state == .connected)
    try await first.disconnect(peripheral)
  }

  @Test("5.8 The Device Name is the name that is advertised", arguments: [nil, "Lamp"])
  func theDeviceNameIsTheAdvertisedOne(set: String?) async throws {
    service.characteristics = [characteristic("2A37", [.read])]
    var adapter = AdapterOptions(transport: "virtual:p-\(name)")
    adapter.deviceName = set
    server.publish(service, at: adapter)
    await server.wait(for: "advertising")
    let manager = try #require(server.manager)
    manager.stopAdvertising()
    // Too long for the advertisement, which has a part of it.
    manager.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Aquarium in the hall", CBAdvertisementDataServiceUUIDsKey: [service.uuid],
    ])
    await server.wait(for: "advertising")
    let peripheral = try await first.find(service.uuid)
    try await first.connect(peripheral)
    let found = try #require(try await first.discover("1800", of: peripheral).first { $0.uuid == "2A00" })
    let value = try await first.value(of: found, of: peripheral)
    #expect(String(decoding: value, as: UTF8.self) == set ?? "Aquarium in the hall")
  }

  @Test func anIdentifierOfAnEarlierRunIsConnectedToWithoutAScan() async throws {
    await publish(characteristic("2A37", [.read]))
    let folder = try BondFixtures.Folder()
    var adapter = AdapterOptions(transport: "virtual:e-\(name)")
    adapter.deviceStorage = .file(folder.file)
    var earlier: AsyncCentral? = AsyncCentral(adapter, label: "earlier")
    let found = try #require(try await earlier?.find(service.uuid))
    try await earlier?.connect(found)
    let identifier = found.identifier
    earlier = nil
    // The file is saved after the connection.
    try await until { folder.names.contains("bonds.json") }

    adapter.transport = "virtual:l-\(name)"
    let later = AsyncCentral(adapter, label: "later")
    try await later.waitUntilPoweredOn()
    let peripheral = try #require(later.manager.retrievePeripherals(withIdentifiers: [identifier, UUID()]).first)
    peripheral.delegate = later
    try await later.connect(peripheral)
    #expect(try await later.discover(service.uuid, of: peripheral).count == 1)
  }
}
