import BLEATT
import BLECrypto
import BLEGAP
import BLEGATT
import BLEHCI
import BLEHost
import BLEPeripheral
import BLESMP
import BLEWire
import Testing

@Suite("A peripheral") struct PeripheralTests {
  static let insufficientAuthentication: UInt8 = 0x05, insufficientEncryption: UInt8 = 0x0F

  @Test func reportsThatItIsReadyAndAdvertises() throws {
    let bench = try Bench()
    let events = bench.takeEvents()
    guard case .ready(let address)? = events.first, case .advertising(true)? = events.last else {
      Issue.record("\(events)")
      return
    }
    #expect(address == DeviceAddress(octets: BD_ADDR(0xC0_1122_3344_55), kind: .random))
    #expect(bench.connect() != nil)
  }

  @Test func replacesTheAdvertisementWhileTheOneBeforeIsStopped() throws {
    let bench = try Bench()
    _ = bench.takeEvents()
    bench.call { peripheral, now in
      for name in ["One", "Two", "Three"] { try? peripheral.advertise(Advertisement(localName: name), now: now) }
    }
    bench.call { peripheral, now in
      peripheral.stopAdvertising(now: now)
      try? peripheral.advertise(Advertisement(localName: "Four"), now: now)
    }
    let events = bench.takeEvents()
    guard case .advertising(true)? = events.last else {
      Issue.record("\(events)")
      return
    }
    #expect(bench.connect() != nil)
  }

  @Test func stopsAdvertising() throws {
    let bench = try Bench()
    bench.call { $0.stopAdvertising(now: $1) }
    guard case .advertising(false)? = bench.events.last else {
      Issue.record("\(bench.events)")
      return
    }
    #expect(bench.connect() == nil)
  }

  @Test(arguments: [1, 2, 7, Int.max]) func readsAndWritesByFunctions(chunk: Int) throws {
    let bench = try Bench(chunk: chunk)
    bench.connect()
    let handle = try bench.handle(0xFFF1)
    #expect(try bench.read(handle) == [0x0B, 1, 2, 3])
    #expect(try bench.read(bench.handle(0xFFF4)) == [0x0B, 42])
    #expect(try bench.write(handle, [9]) == [0x13])
    #expect(bench.values.written == [[9]])
    bench.values.readError = .unlikelyError
    #expect(try bench.read(handle) == [0x01, 0x0A] + bench.octets(handle.rawValue) + [0x0E])
    bench.values.writeError = .outOfRange
    #expect(try bench.write(handle, [8]) == [0x01, 0x12] + bench.octets(handle.rawValue) + [0xFF])
    #expect(bench.values.written == [[9]])
  }

  @Test func readsALongValueInParts() throws {
    let bench = try Bench()
    bench.values.value = (0..<100).map { UInt8($0) }
    bench.connect()
    let handle = bench.octets(try bench.handle(0xFFF1).rawValue)
    #expect(try bench.request([0x0C] + handle + [90, 0]) == [0x0D] + (90..<100).map { UInt8($0) })
    #expect(try bench.request([0x0C] + handle + [100, 0]) == [0x0D])
    #expect(try bench.request([0x0C] + handle + [101, 0]) == [0x01, 0x0C] + handle + [0x07])
  }

  @Test func joinsThePartsOfALongWrite() throws {
    let bench = try Bench()
    bench.connect()
    let (first, other) = (
      bench.octets(try bench.handle(0xFFF1).rawValue), bench.octets(try bench.handle(0xFFF3).rawValue)
    )
    func prepare(_ handle: [UInt8], at offset: UInt8, _ value: [UInt8]) throws {
      #expect(try bench.request([0x16] + handle + [offset, 0] + value).first == 0x17)
    }
    try prepare(first, at: 0, [1, 2])
    try prepare(first, at: 2, [3])
    #expect(try bench.request([0x18, 1]) == [0x19])
    #expect(bench.values.written == [[1, 2, 3]])
    // A gap, and two values, which functions could not take all or not at all.
    try prepare(first, at: 1, [1])
    #expect(try bench.request([0x18, 1]).last == 0x07)
    try prepare(first, at: 0, [1])
    try prepare(other, at: 0, [1])
    #expect(try bench.request([0x18, 1]).last == 0x06)
    #expect(bench.values.written.count == 1)
  }

  @Test func pairsAndStoresABondThatOutlivesIt() throws {
    let bench = try Bench()
    bench.connect()
    let handle = try bench.handle(0xFFF2)
    #expect(try bench.read(handle).last == Self.insufficientAuthentication)
    bench.pair()
    #expect(try bench.read(handle) == [0x0B, 1, 2, 3])
    _ = try bench.write(AttributeHandle(rawValue: handle.rawValue + 1), [1, 0])
    bench.disconnect()
    let bond = try #require(bench.bonds.last)
    let central = bench.centralEvents[0].compactMap { if case .bonds(.changed(let bond)) = $0 { bond } else { nil } }
    // A second run, with what a store has of it.
    let stored = try Bond(encoded: bond.encoded.span)
    #expect(stored == bond)
    let again = try Bench(bonds: [stored], centralBonds: central.suffix(1))
    again.connect()
    #expect(try again.read(handle) == [0x0B, 1, 2, 3])
    #expect(!again.events.contains { if case .paired = $0 { true } else { false } })
    let restored = again.events.contains {
      if case .subscription(_, Bench.secret, .notify) = $0 { true } else { false }
    }
    #expect(restored)
  }

  @Test func showsAPasskey() throws {
    let bench = try Bench(io: .displayOnly, centralIO: .keyboardOnly)
    bench.connect()
    bench.pair()
    let shown = bench.events.compactMap {
      if case .question(_, _, .display(let passkey)) = $0 { passkey } else { nil }
    }
    #expect(shown == [Passkey(123_456)])
    let levels = bench.events.compactMap { if case .security(_, let state) = $0 { state.level } else { nil } }
    #expect(levels.last == .secureConnections)
  }

  @Test func rejectsPairingThatIsDisabled() throws {
    let bench = try Bench()
    bench.call { $0.setPairing(nil, now: $1) }
    bench.connect()
    bench.pair()
    #expect(bench.bonds.isEmpty)
    #expect(bench.centralEvents[0].contains { if case .pairing(_, .failed) = $0 { true } else { false } })
  }

  @Test func removesABond() throws {
    let bench = try Bench()
    bench.connect()
    bench.pair()
    let identity = try #require(bench.bonds.last?.identity)
    bench.call { $0.removeBond(of: identity, now: $1) }
    #expect(bench.events.contains { if case .bondRemoved(identity) = $0 { true } else { false } })
  }

  @Test func notifiesThoseWhoHaveSubscribed() throws {
    let bench = try Bench(centrals: 2) { $0.limits.links = 2 }
    bench.connect(0)
    bench.connect(1)
    let handle = try bench.handle(0xFFF1)
    let value: [UInt8] = [5, 6]
    #expect(bench.call { $0.update(Bench.open, value.span, now: $1) } == UpdateResult())
    _ = try bench.write(AttributeHandle(rawValue: handle.rawValue + 1), [1, 0], 1)
    #expect(bench.call { $0.update(Bench.open, value.span, now: $1).accepted } == 1)
    bench.run(for: .seconds(1))
    #expect(bench.notified(0).isEmpty)
    #expect(bench.notified(1) == [value])
    let (peers, none) = (bench.peers, UpdateResult())
    #expect(bench.call { $0.update(Bench.open, value.span, to: peers[0], now: $1) } == none)
    #expect(bench.call { $0.update(Bench.other, value.span, to: peers[1], now: $1) } == none)
  }

  @Test func startsAgainAfterTheControllerWasReset() throws {
    let bench = try Bench()
    bench.connect()
    _ = bench.takeEvents()
    bench.call { $0.start(now: $1) }
    bench.run(for: .seconds(3))
    let events = bench.takeEvents()
    #expect(events.contains { if case .disconnected = $0 { true } else { false } })
    #expect(events.contains { if case .ready = $0 { true } else { false } })
    // The central loses its link by the supervision timeout.
    bench.run(for: .seconds(60))
    #expect(bench.connect() != nil)
  }

  @Test func rejectsOctetsThatAreNoPackets() throws {
    let bench = try Bench()
    #expect(throws: H4Error.self) { try bench.forge([0xAA]) }
    // Nothing is received until it starts again.
    #expect(throws: H4Error.self) { try bench.forge([0x04, 0x0E, 0x00]) }
    bench.call { $0.start(now: $1) }
    bench.run(for: .seconds(1))
    #expect(bench.connect() != nil)
  }

  @Test func rejectsServicesThatAreNotPossible() throws {
    let twice = Bench.service(Bench.Values())
    #expect(throws: DatabaseError.self) {
      _ = try Peripheral(PeripheralConfiguration(name: "x"), services: [twice, twice], cryptography: LibCrypto())
    }
  }
}
