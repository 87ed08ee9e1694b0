import BLEHost
import BLEVirtual
import BLEWire
import Foundation
import TestSupport
import Testing

@testable import BLEKit
@testable import BLEProxy

/// Who has which slot, whatever dies, in virtual time.
@Suite("Proxy: slots") struct SlotTests {
  private func isConnected(_ client: TestClient, to device: Int, _ world: ProxyWorld) -> Bool {
    client.take()
    return client.events.hasConnection(to: world.address(device))
  }

  private func connect(_ client: TestClient, to device: Int, _ world: ProxyWorld) {
    client.client.connect(to: world.address(device))
    #expect(world.run { isConnected(client, to: device, world) })
  }

  @Test func aSlotIsTakenFromTheRequestToTheEndOfTheLink() {
    let world = ProxyWorld()
    var configuration = ProxyConfiguration()
    configuration.connectionLimit = 3
    let proxy = world.proxy(configuration)
    let client = TestClient(proxy)
    #expect(proxy.slots == ConnectionSlots(limit: 3, allocated: []))
    client.client.connect(to: world.address(0))
    #expect(proxy.slots == ConnectionSlots(limit: 3, allocated: [world.address(0)]))
    #expect(world.run { isConnected(client, to: 0, world) })
    #expect(proxy.slots.free == 2)
    client.client.disconnect(from: world.address(0))
    world.run(for: .seconds(1))
    #expect(proxy.slots.free == 3)
    #expect(client.news().hasEnd(of: world.address(0)))
    #expect(world.links(adapter: 0) == 0)
  }

  @Test func theConnectionAfterTheLastSlotIsRefused() {
    let world = ProxyWorld(devices: 3)
    var configuration = ProxyConfiguration()
    configuration.connectionLimit = 2
    let proxy = world.proxy(configuration)
    let client = TestClient(proxy)
    for device in 0..<2 { connect(client, to: device, world) }
    _ = client.news()
    client.client.connect(to: world.address(2))
    guard case .disconnected(_, let error?)? = client.news().first else {
      Issue.record("not refused")
      return
    }
    #expect(error.kind == .noFreeSlot)
    client.client.disconnect(from: world.address(0))
    world.run(for: .seconds(1))
    connect(client, to: 2, world)
    #expect(proxy.slots.free == 0)
  }

  @Test func thirtyTwoConnectionsOfOneAdapter() {
    let world = ProxyWorld(devices: 32) { $0.maximumLinks = 40 }
    let proxy = world.proxy()
    let client = TestClient(proxy)
    for device in 0..<32 { client.client.connect(to: world.address(device)) }
    #expect(world.run { (0..<32).allSatisfy { isConnected(client, to: $0, world) } })
    #expect(proxy.slots.free == 0 && world.links(adapter: 0) == 32)
    client.client.close()
    world.run(for: .seconds(1))
    #expect(proxy.slots.free == 32 && world.links(adapter: 0) == 0)
  }

  @Test func theLimitFollowsTheController() {
    let world = ProxyWorld(devices: 4) { $0.maximumLinks = 2 }
    let log = Shared<[String]>([])
    var configuration = ProxyConfiguration()
    configuration.log = { line in log.change { $0.append(line) } }
    let proxy = world.proxy(configuration)
    let client = TestClient(proxy)
    #expect(proxy.slots.limit == 32)
    for device in 0..<2 { connect(client, to: device, world) }
    client.client.connect(to: world.address(2))
    world.run(for: .seconds(1))
    #expect(client.news().hasEnd(of: world.address(2)))
    #expect(proxy.slots == ConnectionSlots(limit: 2, allocated: [world.address(0), world.address(1)]))
    // It stays when a link ends.
    client.client.disconnect(from: world.address(0))
    world.run(for: .seconds(1))
    #expect(proxy.slots == ConnectionSlots(limit: 2, allocated: [world.address(1)]))
    connect(client, to: 3, world)
    #expect(log.value == ["the controller takes no more than 2 connections at once: the proxy announces as many"])
  }

  @Test func aLimitOfTheControllerIsTriedAgainAfterItsTime() {
    let world = ProxyWorld(devices: 3) { $0.maximumLinks = 2 }
    let log = Shared<[String]>([])
    var configuration = ProxyConfiguration()
    configuration.log = { line in log.change { $0.append(line) } }
    let proxy = world.proxy(configuration, limitTime: .seconds(20))
    let client = TestClient(proxy)
    for device in 0..<2 { connect(client, to: device, world) }
    for _ in 0..<2 {
      client.client.connect(to: world.address(2))
      world.run(for: .seconds(19))
      #expect(proxy.slots.limit == 2)
      world.run(for: .seconds(2))
      #expect(proxy.slots.limit == 32)
    }
    #expect(log.value.count == 1)
  }

  @Test func requestsBeyondTheLinksOfTheControllerShowItsLimit() {
    let world = ProxyWorld(devices: 32) { $0.maximumLinks = 16 }
    let log = Shared<[String]>([])
    var configuration = ProxyConfiguration()
    configuration.log = { line in log.change { $0.append(line) } }
    let proxy = world.proxy(configuration)
    let client = TestClient(proxy)
    for device in 0..<32 { client.client.connect(to: world.address(device)) }
    #expect(world.run { proxy.slots.allocated.count == 16 && proxy.slots.limit == 16 })
    world.run(for: .seconds(1))
    #expect(world.links(adapter: 0) == 16 && proxy.slots.free == 0)
    #expect(log.value.count == 1)
  }

  @Test func aRefusedAttemptIsMadeAgainWhenAnotherHasEnded() {
    // The host tries one device at a time.
    let world = ProxyWorld(devices: 3) { $0.filterAcceptListSize = 1 }
    let proxy = world.proxy()
    let client = TestClient(proxy)
    world.kill(0)
    for device in 0..<3 { client.client.connect(to: world.address(device)) }
    world.run(for: .seconds(29))
    #expect(!isConnected(client, to: 1, world) && !isConnected(client, to: 2, world))
    #expect(world.run { isConnected(client, to: 1, world) && isConnected(client, to: 2, world) })
    #expect(proxy.slots == ConnectionSlots(limit: 32, allocated: [world.address(1), world.address(2)]))
  }

  @Test func twentyDevicesOnTwoAdapters() {
    let world = ProxyWorld(adapters: 2, devices: 20) { $0.maximumLinks = 12 }
    let proxy = world.proxy()
    let client = TestClient(proxy)
    for device in 0..<20 { client.client.connect(to: world.address(device)) }
    #expect(world.run { (0..<20).allSatisfy { isConnected(client, to: $0, world) } })
    #expect(world.links(adapter: 0) + world.links(adapter: 1) == 20)
    #expect(max(world.links(adapter: 0), world.links(adapter: 1)) <= 12)
  }

  @Test func aDeviceOfAnotherClientIsRefused() {
    let world = ProxyWorld()
    let proxy = world.proxy()
    let (one, other) = (TestClient(proxy), TestClient(proxy))
    connect(one, to: 0, world)
    other.client.connect(to: world.address(0))
    guard case .disconnected(_, let error?)? = other.news().last else {
      Issue.record("not refused")
      return
    }
    #expect(error.kind == .inUse)
    #expect(proxy.slots.allocated.count == 1)
    // Nor can it end or use the connection.
    other.client.disconnect(from: world.address(0))
    world.run(for: .seconds(1))
    #expect(world.links(adapter: 0) == 1 && !one.news().hasEnd(of: world.address(0)))
  }

  @Test func aDeviceThatIsDisconnectedCanBeConnectedAtOnce() {
    let world = ProxyWorld()
    let proxy = world.proxy()
    let client = TestClient(proxy)
    connect(client, to: 0, world)
    _ = client.news()
    client.client.disconnect(from: world.address(0))
    client.client.connect(to: world.address(0))
    #expect(proxy.slots.allocated == [world.address(0)])
    #expect(world.run { isConnected(client, to: 0, world) })
    #expect(client.news().filter { if case .disconnected = $0 { true } else { false } }.count == 1)
    #expect(world.links(adapter: 0) == 1)
  }

  @Test func anAbsentDeviceIsTriedForTheTimeAndReleasesItsSlot() {
    let world = ProxyWorld(devices: 2)
    let proxy = world.proxy()
    let client = TestClient(proxy)
    world.kill(0)
    client.client.connect(to: world.address(0))
    // Another device does not wait for it.
    connect(client, to: 1, world)
    world.run(for: .seconds(29))
    #expect(proxy.slots.allocated.count == 2)
    world.run(for: .seconds(2))
    #expect(proxy.slots.allocated == [world.address(1)])
    let error = client.news().compactMap { if case .disconnected(_, let error) = $0 { error } else { nil } }.first
    #expect(error?.kind == .timedOut)
  }

  @Test func attemptsBeyondTheLimitWaitForOthers() {
    let world = ProxyWorld(devices: 3)
    var configuration = ProxyConfiguration()
    configuration.attemptLimit = 2
    let proxy = world.proxy(configuration)
    let client = TestClient(proxy)
    for device in 0..<2 {
      world.kill(device)
      client.client.connect(to: world.address(device))
    }
    client.client.connect(to: world.address(2))
    world.run(for: .seconds(29))
    #expect(!isConnected(client, to: 2, world) && proxy.slots.allocated.count == 3)
    #expect(world.run { isConnected(client, to: 2, world) })
    #expect(proxy.slots.allocated == [world.address(2)])
  }

  @Test func sightingsAreBounded() {
    var table = SightingTable(adapters: 1)
    func address(_ number: Int) -> DeviceAddress {
      DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 | UInt64(number)), kind: .random)
    }
    for number in 0...2 * SightingTable.halfLimit {
      let scanReport = ScanReport(
        address: address(number), isConnectable: true, isScanResponse: false, data: [], rssi: -40)
      table.add(ReceivedAdvertisement(scanReport), of: 0)
    }
    #expect(table[address(0)] == nil && table[address(SightingTable.halfLimit - 1)] == nil)
    #expect(table[address(SightingTable.halfLimit)]?.rssi == [-40])
    #expect(table[address(2 * SightingTable.halfLimit)]?.phys == [.le1M])
  }

  @Test func theEndOfTheProxyEndsEverything() {
    let world = ProxyWorld(devices: 2)
    let proxy = world.proxy()
    let client = TestClient(proxy)
    for device in 0..<2 { connect(client, to: device, world) }
    client.client.scan(ProxyScan())
    let isOver = Shared(false)
    _ = proxy.spawn {
      await proxy.close()
      isOver.change { $0 = true }
    }
    world.run(for: .seconds(1))
    #expect(isOver.value && world.links(adapter: 0) == 0 && proxy.slots.allocated.isEmpty)
    guard case .closed? = client.news().last else {
      Issue.record("the client was not told")
      return
    }
  }

  /// What dies in a cycle.
  private enum Death: String, CaseIterable {
    case nothing, client, device, radio, adapter, proxy
  }

  /// At a random moment after a random number of requests something dies. After it every slot is free, no host has a
  /// link, and the next cycle goes on with the same adapters and devices.
  @Test func noSlotIsLostWhateverDies() throws {
    let environment = ProcessInfo.processInfo.environment
    let cycles = environment["BLE_PROXY_CYCLES"].flatMap { Int($0) } ?? 60
    var random = SplitMix64(seed: environment["BLE_PROXY_SEED"].flatMap { UInt64($0) } ?? 7)
    let world = ProxyWorld(adapters: 2, devices: 4, seed: random.next())
    var configuration = ProxyConfiguration()
    configuration.connectionLimit = 3
    var proxy = world.proxy(configuration)
    var rows = ["cycle,death,device,connected,free after"]
    for cycle in 0..<cycles {
      let clients = [TestClient(proxy), TestClient(proxy)]
      let death = Death.allCases.randomElement(using: &random) ?? .nothing
      if Bool.random(using: &random) { clients[0].client.scan(ProxyScan()) }
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let (client, device) = (clients[Int.random(in: 0...1, using: &random)], Int.random(in: 0..<4, using: &random))
        act(client, on: world.address(device), &random)
        world.run(for: .microseconds(Int.random(in: 0...200_000, using: &random)))
        #expect(proxy.slots.free >= 0 && proxy.slots.allocated.count <= 4)
      }
      let device = Int.random(in: 0..<4, using: &random)
      let connected = world.links(adapter: 0) + world.links(adapter: 1)
      switch death {
      case .nothing: break
      case .client: clients[Int.random(in: 0...1, using: &random)].client.close()
      case .device: world.kill(device)
      case .radio: world.cutLinks(of: device)
      case .adapter: world.restart(adapter: Int.random(in: 0...1, using: &random))
      case .proxy:
        let old = proxy
        _ = old.spawn { await old.close() }
        proxy = world.proxy(configuration)
      }
      world.run(for: .microseconds(Int.random(in: 0...400_000, using: &random)))
      for client in clients {
        for device in 0..<4 { client.client.disconnect(from: world.address(device)) }
      }
      // The supervision timeout is 5 seconds.
      world.run(for: .seconds(12))
      for client in clients { client.client.close() }
      world.revive(device)
      world.run(for: .seconds(3))
      let slots = proxy.slots
      rows.append("\(cycle),\(death),\(device),\(connected),\(slots.free)")
      try #require(
        slots.allocated.isEmpty && slots.limit == 6,
        "cycle \(cycle), \(death): \(slots), clients \(clients.map { $0.news() })")
      let links = (0...1).map { world.links(adapter: $0) } + (0..<4).map { world.links(device: $0) }
      try #require(links.allSatisfy { $0 == 0 }, "cycle \(cycle), \(death): links \(links)")
    }
    #expect(world.complaints.isEmpty)
    // Everything works as at the beginning.
    let client = TestClient(proxy)
    for device in 0..<4 { connect(client, to: device, world) }
    if let path = environment["BLE_PROXY_ROWS"] {
      try (rows.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }
  }

  private func act(_ client: TestClient, on address: DeviceAddress, _ random: inout SplitMix64) {
    switch Int.random(in: 0..<8, using: &random) {
    case 0...3: client.client.connect(to: address)
    case 4: client.client.disconnect(from: address)
    case 5: client.client.perform(.discoverServices, on: address)
    case 6: client.client.perform(.read(3), on: address)
    default:
      client.client.connect(to: address)
      client.client.disconnect(from: address)
    }
  }
}
