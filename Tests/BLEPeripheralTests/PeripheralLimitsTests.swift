import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEPeripheral
import BLEVirtual
import BLEWire
import Testing

@Suite("The limits of a peripheral") struct PeripheralLimitsTests {
  @Test(arguments: 1...3) func thereAreAsManyLinksAsTheLimit(limit: Int) throws {
    let bench = try Bench(centrals: limit + 1) { $0.limits.links = limit }
    for central in 0..<limit { #expect(bench.connect(central) != nil) }
    #expect(bench.connect(limit) == nil)
    #expect(bench.peers.count == limit)
    bench.disconnect(0)
    #expect(bench.connect(limit) != nil)
  }

  @Test(arguments: [Int.min, 0, 65_536, .max]) func aLimitOutOfRangeIsTheNearestInRange(limit: Int) throws {
    let bench = try Bench {
      $0.limits.links = max(1, limit)
      $0.limits.bonds = limit
      $0.limits.updates = limit
      $0.limits.mtu = limit
      $0.limits.preparedOctets = limit
    }
    #expect(bench.connect() != nil)
    let handle = try bench.handle(0xFFF1)
    _ = try bench.write(AttributeHandle(rawValue: handle.rawValue + 1), [1, 0])
    #expect(bench.call { $0.update(Bench.open, [7].span, now: $1).accepted } == 1)
    bench.run(for: .seconds(1))
    #expect(bench.notified() == [[7]])
  }

  @Test func aValueHasNoRoomBehindAsManyAsTheLimit() throws {
    let bench = try Bench(pacing: .connectionEvents(packetsPerEvent: 4)) { $0.limits.updates = 3 }
    bench.connect()
    let handle = try bench.handle(0xFFF1)
    _ = try bench.write(AttributeHandle(rawValue: handle.rawValue + 1), [1, 0])
    // Nothing is sent before the next connection event.
    let results = (0..<5).map { value in
      bench.call { $0.update(Bench.open, [UInt8(value)].span, now: $1) }
    }
    #expect(results.map { $0.accepted } == [1, 1, 1, 0, 0])
    #expect(results.map { $0.full } == [0, 0, 0, 1, 1])
    func canUpdate() -> Int { bench.events.count { if case .canUpdate = $0 { true } else { false } } }
    #expect(canUpdate() == 0)
    bench.run(for: .seconds(1))
    #expect(canUpdate() == 1)
    #expect(bench.notified() == [[0], [1], [2]])
    #expect(bench.call { $0.update(Bench.open, [5].span, now: $1).accepted } == 1)
  }

  @Test func eventsBeyondTheLimitAreCounted() throws {
    let bench = try Bench { $0.limits.events = 2 }
    bench.keepsEvents = true
    func subscribe(_ value: UInt8) throws {
      _ = try bench.write(AttributeHandle(rawValue: bench.handle(0xFFF1).rawValue + 1), [value, 0])
    }
    bench.connect()
    try subscribe(1)
    try subscribe(0)
    try subscribe(1)
    bench.keepsEvents = false
    bench.call { _, _ in }
    let events = bench.takeEvents()
    let dropped = events.compactMap { if case .eventsDropped(let count) = $0 { count } else { nil } }
    let kept = events.drop { if case .connected = $0 { false } else { true } }
    #expect(dropped.count == 1 && dropped[0] >= 2, "\(events)")
    #expect(kept.count == 3, "\(events)")
  }

  @Test func aValueOfMoreOctetsThanAnAttributeFailsTheRead() throws {
    let bench = try Bench()
    bench.connect()
    let handle = try bench.handle(0xFFF1)
    bench.values.value = [UInt8](repeating: 7, count: ValueBuffer.limit)
    #expect(try bench.read(handle).first == 0x0B)
    bench.values.value.append(7)
    #expect(try bench.read(handle).last == 0x0E)
  }

  @Test func aPacketFromTheControllerHasALimit() throws {
    let bench = try Bench { $0.limits.packetOctets = 100 }
    // Events of vendors, of 100 octets and of 101.
    try bench.forge([0x04, 0xFF, 97] + [UInt8](repeating: 0, count: 97))
    #expect(throws: H4Error.self) { try bench.forge([0x04, 0xFF, 98] + [UInt8](repeating: 0, count: 98)) }
  }

  @Test func theMTUHasALimit() throws {
    let bench = try Bench { $0.limits.mtu = 60 }
    bench.values.value = [UInt8](repeating: 7, count: 100)
    bench.connect()
    #expect(try bench.read(bench.handle(0xFFF1)).count == 60)
  }

  @Test func preparedWritesHaveALimit() throws {
    let bench = try Bench { $0.limits.preparedOctets = 20 }
    bench.connect()
    let handle = bench.octets(try bench.handle(0xFFF1).rawValue)
    let part = [UInt8](repeating: 1, count: 10)
    #expect(try bench.request([0x16] + handle + [0, 0] + part).first == 0x17)
    #expect(try bench.request([0x16] + handle + [10, 0] + part).first == 0x17)
    #expect(try bench.request([0x16] + handle + [20, 0, 1]).last == 0x09)
  }

  @Test func oneBondMoreThanTheLimitRemovesOne() throws {
    let bench = try Bench(centrals: 3) { $0.limits.bonds = 2 }
    for central in 0..<3 {
      bench.connect(central)
      bench.pair(central)
      bench.disconnect(central)
    }
    let removed = bench.events.compactMap { if case .bondRemoved(let identity) = $0 { identity } else { nil } }
    #expect(removed.map { $0.octets } == [BD_ADDR(0xD0_0000_0000_00)])
  }

  @Test(arguments: [false, true]) func changesOfBondsWaitForRoom(isFirstDelivered: Bool) throws {
    let bench = try Bench(centrals: 3) { ($0.limits.bonds, $0.limits.events) = (2, 64) }
    func pair(_ central: Int) {
      bench.connect(central)
      bench.pair(central)
      bench.disconnect(central)
    }
    if isFirstDelivered { pair(0) }
    bench.keepsEvents = true
    if !isFirstDelivered { pair(0) }
    // Each subscription is an event.
    bench.connect()
    let descriptor = AttributeHandle(rawValue: try bench.handle(0xFFF1).rawValue + 1)
    for number in 0..<64 { _ = try bench.write(descriptor, [UInt8(number % 2), 0]) }
    bench.disconnect()
    for central in 1..<3 { pair(central) }
    _ = bench.takeEvents()
    bench.keepsEvents = false
    bench.call { _, _ in }
    let events = bench.takeEvents()
    let last = events.drop { if case .eventsDropped = $0 { false } else { true } }
    let changes = last.dropFirst().map {
      switch $0 {
      case .bondChanged(let bond): "changed \(bond.identity.octets)"
      case .bondRemoved(let identity): "removed \(identity.octets)"
      default: "\($0)"
      }
    }
    let identities = (0..<3).map { "\(BD_ADDR(0xD0_0000_0000_00 + UInt64($0)))" }
    // With each bond comes a change of its subscriptions, or a removal: the last one counts.
    #expect(changes == ["changed \(identities[1])", "removed \(identities[0])", "changed \(identities[2])"])
  }

  @Test func aBondThatTheProgramNeverHadLeavesNothing() throws {
    let bench = try Bench(centrals: 3) { ($0.limits.bonds, $0.limits.events) = (1, 1) }
    bench.keepsEvents = true
    for central in 0..<3 {
      bench.connect(central)
      bench.pair(central)
      bench.disconnect(central)
    }
    bench.keepsEvents = false
    bench.call { _, _ in }
    let events = bench.takeEvents()
    let bonds = events.compactMap { if case .bondChanged(let bond) = $0 { bond.identity.octets } else { nil } }
    #expect(bonds == [BD_ADDR(0xD0_0000_0000_02)], "\(events)")
    #expect(!events.contains { if case .bondRemoved = $0 { true } else { false } }, "\(events)")
  }
}
