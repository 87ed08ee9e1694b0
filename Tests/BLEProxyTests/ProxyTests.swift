import AdapterFixtures
import BLEGATT
import BLEHCI
import BLEVirtual
import BLEWire
import Testing

@testable import BLEKit
@testable import BLEProxy

/// What one client does with devices, in virtual time.
@Suite("Proxy: scans, connections and attributes") struct ProxyTests {
  /// A proxy with one client that is connected to device 0.
  private func connected(_ world: ProxyWorld, _ configuration: ProxyConfiguration = ProxyConfiguration()) throws -> (
    Proxy, TestClient
  ) {
    let proxy = world.proxy(configuration)
    let client = TestClient(proxy)
    client.client.connect(to: world.address(0))
    #expect(
      world.run {
        client.take(); return client.events.hasConnection(to: world.address(0))
      })
    _ = client.news()
    return (proxy, client)
  }

  private func result(
    of operation: ProxyOperation, _ client: TestClient, _ world: ProxyWorld
  ) throws -> Result<ProxyOutcome, ProxyError> {
    client.take()
    let count = client.events.count
    client.client.perform(operation, on: world.address(0))
    var found: Result<ProxyOutcome, ProxyError>?
    let isOver = world.run {
      client.take()
      for case .finished(_, operation, let result) in client.events.dropFirst(count) { found = result }
      return found != nil
    }
    #expect(isOver)
    return try #require(found)
  }

  @Test func advertisementsReachTheClientThatWantsThem() throws {
    let world = ProxyWorld(devices: 3)
    let proxy = world.proxy()
    let (one, other) = (TestClient(proxy), TestClient(proxy))
    world.run(for: .seconds(1))
    one.client.scan(ProxyScan())
    world.run(for: .seconds(1))
    one.take()
    other.take()
    #expect(Set(one.advertisements.map(\.address)) == Set((0..<3).map { world.address($0) }))
    #expect(one.advertisements.allSatisfy { $0.data.starts(with: [2, 1, 6]) || $0.isScanResponse })
    #expect(other.advertisements.isEmpty)
    #expect(proxy.scanner.state == .running)
    one.client.scan(nil)
    world.run(for: .milliseconds(100))
    _ = one.news()
    world.run(for: .seconds(1))
    one.take()
    #expect(one.advertisements.count(where: { _ in true }) > 0)
    #expect(proxy.scanner.state == .idle)
  }

  @Test func oneClientThatWantsScanRequestsIsEnough() {
    let world = ProxyWorld()
    var configuration = ProxyConfiguration()
    configuration.scansActively = false
    let proxy = world.proxy(configuration)
    let (one, other) = (TestClient(proxy), TestClient(proxy))
    one.client.scan(ProxyScan())
    world.run(for: .seconds(1))
    #expect(proxy.scanner == ScannerStatus(state: .running, isActive: false, isActiveByDefault: false))
    var scan = ProxyScan()
    scan.isActive = true
    other.client.scan(scan)
    world.run(for: .seconds(1))
    #expect(proxy.scanner.isActive)
    #expect(one.news().contains { if case .scanner(let status) = $0 { status.isActive } else { false } })
    other.client.close()
    world.run(for: .seconds(1))
    #expect(!proxy.scanner.isActive && proxy.scanner.state == .running)
  }

  @Test func extendedAdvertisementsOf1650OctetsAndLECodedArrive() {
    let world = ProxyWorld(devices: 2)
    world.advertise(0, LongAdvertisement.longData, coded: false)
    world.advertise(1, [2, 1, 6, 3, 0xFF, 1, 2], coded: true)
    let client = TestClient(world.proxy())
    client.client.scan(ProxyScan())
    world.run(for: .seconds(2))
    client.take()
    let long = client.advertisements.first { $0.address == world.address(0) && !$0.isLegacy }
    #expect(long?.data == LongAdvertisement.longData && long?.isTruncated == false)
    let coded = client.advertisements.first { $0.address == world.address(1) && !$0.isLegacy }
    #expect(coded?.primaryPHY == .leCoded && coded?.data == [2, 1, 6, 3, 0xFF, 1, 2])
    // It is connected on the PHY that it was received on.
    client.client.connect(to: world.address(1))
    #expect(
      world.run {
        client.take(); return client.events.hasConnection(to: world.address(1))
      })
  }

  @Test func aControllerWithoutLECodedScansOnLE1M() {
    let world = ProxyWorld { $0.features.remove(.leCodedPHY) }
    let client = TestClient(world.proxy())
    client.client.scan(ProxyScan())
    world.run(for: .seconds(1))
    client.take()
    #expect(!client.advertisements.isEmpty)
  }

  @Test func weakAdvertisementsAreLeftOut() {
    let world = ProxyWorld()
    let client = TestClient(world.proxy())
    var scan = ProxyScan()
    scan.minimumRSSI = -49
    client.client.scan(scan)
    world.run(for: .seconds(1))
    client.take()
    #expect(client.advertisements.isEmpty)
    scan.minimumRSSI = -50
    client.client.scan(scan)
    world.run(for: .seconds(1))
    client.take()
    #expect(!client.advertisements.isEmpty)
  }

  @Test func aSlowClientLosesTheOldestAdvertisementsAndTheyAreCounted() {
    let world = ProxyWorld(devices: 4)
    var configuration = ProxyConfiguration()
    configuration.advertisementLimit = 8
    let proxy = world.proxy(configuration)
    let (slow, fast) = (TestClient(proxy), TestClient(proxy))
    for client in [slow, fast] { client.client.scan(ProxyScan()) }
    for _ in 0..<100 {
      world.run(for: .milliseconds(20))
      fast.take()
    }
    slow.take()
    #expect(slow.advertisements.count == 8)
    #expect(slow.lost > 0 && slow.lost + 8 == fast.advertisements.count && fast.lost == 0)
    #expect(
      zip(slow.advertisements, fast.advertisements.suffix(8)).allSatisfy {
        $0.address == $1.address && $0.data == $1.data
      })
  }

  @Test func servicesHaveHandlesAndDescriptors() throws {
    let world = ProxyWorld()
    let (_, client) = try connected(world)
    guard case .services(let services) = try result(of: .discoverServices, client, world).get() else {
      Issue.record("no services")
      return
    }
    let service = try #require(services.first { $0.uuid == ProxyWorld.service })
    #expect(service.characteristics.map(\.uuid) == [ProxyWorld.value, ProxyWorld.notified])
    #expect(service.characteristics[0].descriptors.isEmpty)
    #expect(service.characteristics[1].descriptors.map(\.uuid) == [.clientCharacteristicConfiguration])
    #expect(
      service.characteristics[1].descriptors.first?.handle.rawValue == service.characteristics[1].handle.rawValue + 1)
  }

  /// The handles of the value, the notified value and its descriptor.
  private func handles(_ client: TestClient, _ world: ProxyWorld) throws -> (
    value: AttributeHandle, notified: AttributeHandle, descriptor: AttributeHandle
  ) {
    guard case .services(let services) = try result(of: .discoverServices, client, world).get(),
      let service = services.first(where: { $0.uuid == ProxyWorld.service }),
      let descriptor = service.characteristics[1].descriptors.first
    else { throw CancellationError() }
    _ = client.news()
    return (service.characteristics[0].handle, service.characteristics[1].handle, descriptor.handle)
  }

  @Test func valuesAreWrittenAndReadInOrder() throws {
    let world = ProxyWorld()
    let (_, client) = try connected(world)
    let value = try handles(client, world).value
    let long = [UInt8](repeating: 5, count: 300)
    client.client.perform(.write(value, [1], withResponse: false), on: world.address(0))
    client.client.perform(.read(value), on: world.address(0))
    client.client.perform(.write(value, long, withResponse: true), on: world.address(0))
    client.client.perform(.read(value), on: world.address(0))
    world.run(for: .seconds(1))
    let ends = client.news().compactMap { event -> ProxyOutcome? in
      if case .finished(_, _, .success(let outcome)) = event { outcome } else { nil }
    }
    #expect(ends == [.done, .value([1]), .done, .value(long)])
  }

  @Test func anErrorOfTheDeviceIsTheResult() throws {
    let world = ProxyWorld()
    let (_, client) = try connected(world)
    guard case .failure(let error) = try result(of: .read(0x0999), client, world),
      case .bluetooth(let reason) = error.kind
    else {
      Issue.record("no error")
      return
    }
    #expect(reason.kind == .att(.invalidHandle))
  }

  @Test func notificationsReachTheClientUntilItStopsThem() throws {
    let world = ProxyWorld()
    let (_, client) = try connected(world)
    let (_, notified, descriptor) = try handles(client, world)
    _ = try result(of: .startNotifying(notified), client, world)
    _ = try result(of: .write(descriptor, [1, 0], withResponse: true), client, world)
    _ = client.news()
    world.notify(0, [1])
    world.notify(0, [2])
    world.run(for: .seconds(1))
    #expect(client.news().values == [[1], [2]])
    _ = try result(of: .stopNotifying(notified), client, world)
    #expect(try result(of: .read(descriptor), client, world).get() == .value([0, 0]))
    _ = client.news()
    world.notify(0, [3])
    world.run(for: .seconds(1))
    #expect(client.news().values == [])
  }

  @Test func theTimingOfALinkChanges() throws {
    let world = ProxyWorld()
    let (_, client) = try connected(world)
    let request = ConnectionParameterRequest(interval: .milliseconds(100)...Duration.milliseconds(100))
    #expect(try result(of: .setConnectionParameters(request), client, world).get() == .done)
    let wrong = ConnectionParameterRequest(interval: .seconds(8)...Duration.seconds(9))
    guard case .failure(let error) = try result(of: .setConnectionParameters(wrong), client, world),
      case .bluetooth(let reason) = error.kind
    else {
      Issue.record("no error")
      return
    }
    #expect(reason.kind == .invalidArgument)
  }

  @Test func anOperationWithoutAConnectionFails() throws {
    let world = ProxyWorld()
    let client = TestClient(world.proxy())
    guard case .failure(let error) = try result(of: .read(3), client, world) else {
      Issue.record("no error")
      return
    }
    #expect(error.kind == .notConnected)
  }

  @Test func oneMoreOperationThanMayWaitFails() throws {
    let world = ProxyWorld()
    var configuration = ProxyConfiguration()
    configuration.operationLimit = 4
    let (_, client) = try connected(world, configuration)
    world.settle()
    for _ in 0..<6 { client.client.perform(.read(3), on: world.address(0)) }
    let refused = client.news().filter {
      if case .finished(_, _, .failure(let error)) = $0 { error.kind == .limitExceeded } else { false }
    }
    // None has begun, or the first one has.
    #expect(refused.count == 1 || refused.count == 2)
    world.run(for: .seconds(1))
    #expect(client.news().count == 6 - refused.count)
  }

  @Test func aClientThatWaitsForRoomLosesNoWriteWithoutResponse() throws {
    let world = ProxyWorld()
    var configuration = ProxyConfiguration()
    configuration.operationLimit = 8
    let (_, client) = try connected(world, configuration)
    let value = try handles(client, world).value
    let address = world.address(0)
    var (next, pauses) = (0, 0)
    while next < 200 {
      while client.client.hasRoom, next < 200 {
        client.client.perform(.write(value, [UInt8(next)], withResponse: false), on: address)
        next += 1
      }
      guard next < 200 else { break }
      pauses += 1
      #expect(world.run { client.client.hasRoom })
    }
    world.run(for: .seconds(1))
    let results = client.news().compactMap { event -> [UInt8]? in
      if case .finished(_, .write(_, let octets, _), .success(.done)) = event { octets } else { nil }
    }
    #expect(results == (0..<200).map { [UInt8($0)] })
    // At least half of the queue is free after each pause.
    #expect(pauses >= 200 / 8 - 1 && pauses <= 200 / 4)
    #expect(try result(of: .read(value), client, world).get() == .value([199]))
  }

  @Test func aWriteWithoutResponseThatIsLostEndsTheConnection() throws {
    for length in [600, 513] {
      let world = ProxyWorld()
      let (proxy, client) = try connected(world)
      let value = try handles(client, world).value
      let write = ProxyOperation.write(value, [UInt8](repeating: 1, count: length), withResponse: false)
      client.client.perform(write, on: world.address(0))
      client.client.perform(.write(value, [2], withResponse: false), on: world.address(0))
      world.run(for: .seconds(1))
      let events = client.news()
      guard case .disconnected(_, let error?)? = events.last(where: { $0.isDisconnection }) else {
        Issue.record("the connection goes on after \(length) octets: \(events)")
        continue
      }
      #expect("\(error)".contains("a write without response to handle \(value) is lost"))
      #expect(proxy.slots.allocated.isEmpty && world.links(device: 0) == 0)
    }
  }

  @Test func oneMoreWriteWithoutResponseThanMayWaitEndsTheConnection() throws {
    let world = ProxyWorld()
    var configuration = ProxyConfiguration()
    configuration.operationLimit = 4
    let (_, client) = try connected(world, configuration)
    let value = try handles(client, world).value
    for number in 0..<6 {
      client.client.perform(.write(value, [UInt8(number)], withResponse: false), on: world.address(0))
    }
    #expect(!client.client.hasRoom)
    world.run(for: .seconds(1))
    guard case .disconnected(_, let error?)? = client.news().last(where: { $0.isDisconnection }) else {
      Issue.record("the connection goes on")
      return
    }
    #expect(error.kind == .limitExceeded)
    #expect(client.client.hasRoom)
  }

  @Test func aLinkThatTakesNoWritesEnds() throws {
    let world = ProxyWorld()
    let (proxy, client) = try connected(world)
    let value = try handles(client, world).value
    world.setFaults([.withholdsCredits()], adapter: 0)
    var writes = 0
    while client.client.hasRoom {
      client.client.perform(.write(value, [1], withResponse: false), on: world.address(0))
      writes += 1
      world.settle()
    }
    #expect(writes >= proxy.configuration.operationLimit)
    world.run(for: .seconds(90))
    #expect(client.news().hasEnd(of: world.address(0)) && client.client.hasRoom && proxy.slots.allocated.isEmpty)
  }

  @Test func unpairAndClearCacheNeedNoConnection() throws {
    let world = ProxyWorld()
    let client = TestClient(world.proxy())
    #expect(try result(of: .unpair, client, world).get() == .done)
    #expect(try result(of: .clearCache, client, world).get() == .done)
    #expect(client.news().allSatisfy { !$0.isDisconnection })
  }

  @Test func operationsThatWaitAtTheEndOfTheLinkEnd() throws {
    let world = ProxyWorld()
    let (_, client) = try connected(world)
    world.kill(0)
    for operation in [ProxyOperation.read(3), .unpair, .read(3), .clearCache] {
      client.client.perform(operation, on: world.address(0))
    }
    #expect(
      world.run {
        client.take(); return client.events.hasEnd(of: world.address(0))
      })
    let results = client.news().compactMap { event -> Bool? in
      if case .finished(_, _, let result) = event { (try? result.get()) != nil } else { nil }
    }
    #expect(results == [false, true, false, true])
  }

  /// The protocols of clients have no message for a change of the services.
  @Test func aChangeOfTheServicesEndsTheConnection() throws {
    let world = ProxyWorld()
    let (proxy, client) = try connected(world)
    let value = try handles(client, world).value
    #expect(try result(of: .read(value), client, world).get() == .value([7]))
    world.tell(
      0,
      .services(.add(ServiceDefinition(id: ServiceID(rawValue: 2), uuid: BluetoothUUID(0xFFE0), characteristics: []))))
    #expect(
      world.run {
        client.take(); return client.events.contains { $0.isDisconnection }
      })
    let errors = client.news().compactMap { if case .disconnected(_, let error) = $0 { error } else { nil } }
    guard case .bluetooth(let reason)? = errors.first?.kind else {
      Issue.record("no reason: \(errors)")
      return
    }
    #expect(reason.kind == .servicesChanged)
    #expect(proxy.slots.allocated.isEmpty)
    client.client.connect(to: world.address(0))
    #expect(
      world.run {
        client.take(); return client.events.hasConnection(to: world.address(0))
      })
    guard case .services(let services) = try result(of: .discoverServices, client, world).get() else { return }
    #expect(services.contains { $0.uuid == "FFE0" })
  }

  @Test func servicesThatWaitForAClientAreCounted() throws {
    let world = ProxyWorld()
    var configuration = ProxyConfiguration()
    configuration.eventOctets = 200
    let (_, client) = try connected(world, configuration)
    // One answer may be of any size.
    guard case .services? = try? result(of: .discoverServices, client, world).get() else {
      Issue.record("no services")
      return
    }
    _ = client.news()
    for _ in 0..<2 { client.client.perform(.discoverServices, on: world.address(0)) }
    world.run(for: .seconds(1))
    guard case .closed(let error)? = client.news().last else {
      Issue.record("the client was not closed")
      return
    }
    #expect(error.kind == .limitExceeded)
  }

  /// The values of one device fill the queue of its client, and no other.
  @Test func aDeviceThatFloodsItsClientDisturbsNoOther() throws {
    let world = ProxyWorld(devices: 2)
    var configuration = ProxyConfiguration()
    configuration.eventLimit = 16
    let (proxy, client) = try connected(world, configuration)
    let other = TestClient(proxy)
    other.client.connect(to: world.address(1))
    #expect(
      world.run {
        other.take(); return other.events.hasConnection(to: world.address(1))
      })
    let (_, notified, descriptor) = try handles(client, world)
    _ = try result(of: .startNotifying(notified), client, world)
    _ = try result(of: .write(descriptor, [1, 0], withResponse: true), client, world)
    _ = (client.news(), other.news())
    for number in 0..<17 { world.notify(0, [UInt8(number)]) }
    world.run(for: .seconds(1))
    guard case .closed? = client.news().last else { return _ = Issue.record("the client was not closed") }
    #expect(proxy.slots.allocated == [world.address(1)] && world.links(device: 1) == 1)
    other.client.perform(.discoverServices, on: world.address(1))
    world.run(for: .seconds(1))
    let answers = other.news().filter { if case .finished(_, _, .success(.services)) = $0 { true } else { false } }
    #expect(answers.count == 1)
  }

  @Test func aClientThatDoesNotTakeItsEventsIsClosedAndItsConnectionEnds() throws {
    let world = ProxyWorld()
    var configuration = ProxyConfiguration()
    configuration.eventLimit = 16
    let (proxy, client) = try connected(world, configuration)
    let (_, notified, descriptor) = try handles(client, world)
    _ = try result(of: .startNotifying(notified), client, world)
    _ = try result(of: .write(descriptor, [1, 0], withResponse: true), client, world)
    _ = client.news()
    for number in 0..<17 { world.notify(0, [UInt8(number)]) }
    world.run(for: .seconds(1))
    let events = client.news()
    #expect(events.count == 1)
    guard case .closed(let error)? = events.first else {
      Issue.record("the client was not closed: \(events)")
      return
    }
    #expect(error.kind == .limitExceeded)
    #expect(proxy.slots.allocated.isEmpty && world.links(adapter: 0) == 0 && world.links(device: 0) == 0)
  }
}

extension ProxyEvent {
  fileprivate var isDisconnection: Bool { if case .disconnected = self { true } else { false } }
}

extension [ProxyEvent] {
  func hasConnection(to address: DeviceAddress) -> Bool {
    contains { if case .connected(address, _) = $0 { true } else { false } }
  }
  func hasEnd(of address: DeviceAddress) -> Bool {
    contains { if case .disconnected(address, _) = $0 { true } else { false } }
  }
  var values: [[UInt8]] { compactMap { if case .value(_, _, let octets) = $0 { octets } else { nil } } }
}
