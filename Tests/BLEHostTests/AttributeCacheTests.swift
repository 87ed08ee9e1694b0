import BLEATT
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import Testing

/// What a host keeps of the database of a bonded peripheral (Vol 3, Part G, 2.5.2).
@Suite("The attribute cache of a bonded peripheral") struct AttributeCacheTests {
  private static let readByGroupType = ATTOpcode.readByGroupTypeRequest.rawValue
  private static let readByType = ATTOpcode.readByTypeRequest.rawValue

  /// How many requests with this opcode the central has sent since.
  private func requests(_ opcode: UInt8, _ couple: Couple, after start: Int = 0) -> Int {
    // H4 indicator, handle, length, L2CAP length and channel, then the PDU.
    couple.world.sent[1].dropFirst(start).count { $0.count > 9 && $0[0] == 2 && $0[7] == 4 && $0[9] == opcode }
  }

  private func bonded() throws -> Couple {
    var couple = Couple()
    try couple.connect()
    couple.secure()
    return couple
  }

  @Test func aBondedPeripheralIsDiscoveredOnce() throws {
    var couple = try bonded()
    let discovered = couple.perform(.discoverPrimaryServices)
    let first = try #require(discovered)
    guard case .success(.services(let services)) = first else { return #expect(Bool(false), "\(first)") }
    #expect(services.map(\.uuid).contains("FFF0"))
    let discoveries = requests(Self.readByGroupType, couple)
    #expect(discoveries > 0)
    #expect(couple.perform(.discoverPrimaryServices) == first)
    couple.disconnect()
    #expect(couple.bond(1)?.attributeCache?.hash.count == 16, "it is stored with the bond")
    let start = couple.world.sent[1].count
    try couple.connect()
    #expect(couple.perform(.discoverPrimaryServices) == first)
    #expect(requests(Self.readByGroupType, couple, after: start) == 0)
    #expect(requests(Self.readByType, couple, after: start) == 1, "the Database Hash")
    #expect(couple.world.complaints.isEmpty)
  }

  /// A host that was started with the bond of an earlier run.
  @Test func theCacheOfAStoredBondIsUsed() throws {
    var couple = try bonded()
    let first = couple.perform(.discoverPrimaryServices)
    couple.disconnect()
    let bond = try #require(couple.bond(1))
    couple.world.ask(1, .security(.setBonds([bond])))
    let start = couple.world.sent[1].count
    try couple.connect()
    #expect(couple.perform(.discoverPrimaryServices) == first)
    #expect(requests(Self.readByGroupType, couple, after: start) == 0)
  }

  @Test func aDatabaseThatChangedWhileAwayIsDiscoveredAgain() throws {
    var couple = try bonded()
    _ = couple.perform(.discoverPrimaryServices)
    couple.disconnect()
    couple.world.ask(
      0,
      .services(.add(ServiceDefinition(id: ServiceID(rawValue: 2), uuid: BluetoothUUID(0xFFE0), characteristics: []))))
    try couple.connect()
    guard case .success(.services(let services)) = couple.perform(.discoverPrimaryServices) else {
      return #expect(Bool(false), "no services")
    }
    #expect(services.map(\.uuid).contains("FFE0"))
  }

  /// The central has not subscribed to Service Changed. The server rejects its next request, because it asked for
  /// Robust Caching (Vol 3, Part G, 2.5.2.1).
  @Test func aDatabaseThatChangesOnTheLinkIsDiscoveredAgain() throws {
    var couple = try bonded()
    _ = couple.perform(.discoverPrimaryServices)
    couple.world.ask(
      0,
      .services(.add(ServiceDefinition(id: ServiceID(rawValue: 2), uuid: BluetoothUUID(0xFFE0), characteristics: []))))
    couple.world.run(for: .seconds(1))
    couple.forget()
    #expect(couple.read(Couple.plain) == .failure(.databaseOutOfSync))
    #expect(
      couple.events(1).contains {
        if case .client(_, .servicesChanged(1 ... .last)) = $0 { true } else { false }
      })
    guard case .success(.services(let services)) = couple.perform(.discoverPrimaryServices) else {
      return #expect(Bool(false), "no services")
    }
    #expect(services.map(\.uuid).contains("FFE0"))
    // A handle is used again when its characteristic was discovered again.
    let handle = try #require(couple.handles[Couple.plain])
    #expect(couple.perform(.read(handle)) == .failure(.servicesChanged))
    for service in services { _ = couple.perform(.discoverCharacteristics(service.handles)) }
    #expect(couple.read(Couple.plain) == .success([7]))
  }

  @Test func serviceChangedEmptiesTheCache() throws {
    var couple = try bonded()
    #expect(couple.perform(.subscribeToServiceChanged) == .success(.done))
    _ = couple.perform(.discoverPrimaryServices)
    couple.forget()
    couple.world.ask(
      0,
      .services(.add(ServiceDefinition(id: ServiceID(rawValue: 2), uuid: BluetoothUUID(0xFFE0), characteristics: []))))
    couple.world.run(for: .seconds(1))
    #expect(couple.events(1).contains { if case .client(_, .servicesChanged) = $0 { true } else { false } })
    guard case .success(.services(let services)) = couple.perform(.discoverPrimaryServices) else {
      return #expect(Bool(false), "no services")
    }
    #expect(services.map(\.uuid).contains("FFE0"))
  }

  @Test func nothingIsCachedWithoutABond() throws {
    var couple = Couple(peripheral: nil, central: { _ in nil })
    try couple.connect()
    for _ in 1...2 {
      let before = requests(Self.readByGroupType, couple)
      _ = couple.perform(.discoverPrimaryServices)
      #expect(requests(Self.readByGroupType, couple) > before)
    }
    #expect(requests(Self.readByType, couple) == 0)
  }

  @Test(arguments: [true, false]) func theCacheOfABondIsDiscarded(whileConnected isConnected: Bool) throws {
    var couple = try bonded()
    _ = couple.perform(.discoverPrimaryServices)
    if !isConnected { couple.disconnect() }
    let bond = try #require(couple.bond(1))
    couple.world.ask(1, .security(.discardAttributeCache(bond.identity)))
    if isConnected { couple.disconnect() }
    couple.world.run(for: .seconds(60))
    #expect(couple.bond(1)?.attributeCache == nil)
    #expect(couple.bond(1)?.identity == bond.identity)
    let before = requests(Self.readByGroupType, couple)
    try couple.connect()
    _ = couple.perform(.discoverPrimaryServices)
    #expect(requests(Self.readByGroupType, couple) > before)
  }

  @Test func aBondThatIsRemovedTakesItsCacheAlong() throws {
    var couple = try bonded()
    _ = couple.perform(.discoverPrimaryServices)
    let identity = try #require(couple.bond(1)).identity
    couple.world.ask(1, .security(.removeBond(identity)))
    let before = requests(Self.readByGroupType, couple)
    _ = couple.perform(.discoverPrimaryServices)
    #expect(requests(Self.readByGroupType, couple) > before)
  }
}
