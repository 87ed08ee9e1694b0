import BLEATT
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import Synchronization
import Testing

/// A sign counter of a peer is on stable storage before it is accepted (Vol 3, Part H, 2.4.5;
/// Docs/Decisions/pairing-and-bonds.md#storage-of-bonds).
@Suite("Sign counters and storage") struct SignCounterTests {
  /// The stores of all hosts: they take what is reported, and answer unless they fail.
  private final class Stores: Sendable {
    private struct State {
      var bonds: [Int: [DeviceAddress: Bond]] = [:]
      var isFailing = false
    }
    private let state = Mutex(State())

    func take(_ bond: Bond, of host: Int) -> [HostCommand] {
      state.withLock { state in
        guard !state.isFailing else { return [] }
        state.bonds[host, default: [:]][bond.identity] = bond
        return [.security(.bondsStored([bond]))]
      }
    }
    func setFailing(_ isFailing: Bool) { state.withLock { $0.isFailing = isFailing } }
    func bonds(_ host: Int) -> [Bond] { state.withLock { Array($0.bonds[host, default: [:]].values) } }
  }

  /// A bonded couple, whose central has a link in the clear because its bond has no key for its role.
  private func signing(_ stores: Stores, awaits: Bool = true) throws -> (couple: Couple, handle: AttributeHandle) {
    var couple = Couple(configure: { $1.awaitsBondStorage = awaits })
    couple.world.application = { host, event in
      if case .bonds(.changed(let bond)) = event { stores.take(bond, of: host) } else { [] }
    }
    try couple.connect()
    couple.secure()
    couple.disconnect()
    try restart(&couple, stores)
    return (couple, try #require(couple.handles[Couple.signed]))
  }

  /// Both hosts get what the stores have, as after a crash, and connect.
  private func restart(_ couple: inout Couple, _ stores: Stores) throws {
    couple.disconnect()
    for host in 0...1 {
      // The keys of this run are forgotten, and with them the counters that it has used.
      couple.world.ask(host, .security(.setBonds([])))
      let bonds = stores.bonds(host).map { bond in
        var bond = bond
        if host == 1 { bond.centralKey = nil }
        return bond
      }
      couple.world.ask(host, .security(.setBonds(bonds)))
    }
    couple.forget()
    try couple.connect()
  }

  /// The central writes an octet with this counter.
  @discardableResult
  private func write(
    _ value: UInt8, counter: UInt32, _ handle: AttributeHandle, _ stores: Stores, _ couple: inout Couple
  ) throws -> [UInt8] {
    try couple.forgeSignedWrite(of: [value], to: handle, key: stores.bonds(1).first?.ownCSRK, counter: counter)
  }

  /// The write counts when its counter is stored, and the read behind it gives the new value.
  @Test func aSignedWriteTakesEffectWhenItsCounterIsStored() throws {
    let stores = Stores()
    var (couple, handle) = try signing(stores)
    try write(1, counter: 1, handle, stores, &couple)
    #expect(couple.read(Couple.signed) == .success([1]))
    stores.setFailing(true)
    try write(2, counter: 2, handle, stores, &couple)
    try write(3, counter: 3, handle, stores, &couple)
    let value = couple.perform(.read(handle))
    #expect(value == nil, "it waits behind the write")
    stores.setFailing(false)
    var bond = try #require(couple.bond(0))
    bond.peerSignCounter -= 1
    couple.world.ask(0, .security(.bondsStored([bond])))
    couple.world.run(for: .milliseconds(100))
    #expect(stored(couple) == [[1], [2]])
    couple.world.ask(0, .security(.bondsStored([try #require(couple.bond(0))])))
    couple.world.run(for: .milliseconds(100))
    #expect(stored(couple) == [[1], [2], [3]])
    let answers = couple.events(1).compactMap {
      if case .client(_, .finished(_, .success(.value(let value)))) = $0 { Array(value) } else { nil }
    }
    #expect(answers.last == [3])
  }

  /// Values that were reported to the peripheral's application.
  private func stored(_ couple: Couple) -> [[UInt8]] {
    couple.events(0).compactMap { if case .server(_, .stored(Couple.signed, let value)) = $0 { value } else { nil } }
  }

  /// What was recorded over the radio is refused, whenever the program crashed.
  @Test func aCrashNeverAcceptsAReplay() throws {
    let stores = Stores()
    var (couple, handle) = try signing(stores)
    let first = try write(1, counter: 1, handle, stores, &couple)
    couple.world.run(for: .seconds(1))
    stores.setFailing(true)
    let second = try write(2, counter: 2, handle, stores, &couple)
    couple.world.run(for: .seconds(1))
    #expect(stored(couple) == [[1]], "the second one was not stored, and not accepted")
    stores.setFailing(false)
    try restart(&couple, stores)
    for pdu in [first, second] { couple.forge(pdu, onChannel: 4, from: 1) }
    couple.world.run(for: .seconds(1))
    // The second one was never accepted, so that it is no replay.
    #expect(stored(couple) == [[2]])
    for pdu in [first, second] { couple.forge(pdu, onChannel: 4, from: 1) }
    couple.world.run(for: .seconds(1))
    #expect(stored(couple) == [[2]])
  }

  /// Five seconds; then signed writes are discarded, at once until the store answers, and other PDUs go on.
  @Test func aStoreThatFailsDiscardsSignedWrites() throws {
    let stores = Stores()
    var (couple, handle) = try signing(stores)
    try write(1, counter: 1, handle, stores, &couple)
    couple.world.run(for: .seconds(1))
    // The peripheral's store fails.
    couple.world.application = { host, event in
      if host == 1, case .bonds(.changed(let bond)) = event { stores.take(bond, of: host) } else { [] }
    }
    try write(2, counter: 2, handle, stores, &couple)
    #expect(couple.perform(.read(handle)) == nil)
    couple.world.run(for: .seconds(5))
    #expect(couple.read(Couple.signed) == .success([1]))
    try write(3, counter: 3, handle, stores, &couple)
    #expect(couple.read(Couple.signed) == .success([1]))
    let lines = couple.events(0).compactMap { if case .diagnostic(let line) = $0 { line.text } else { nil } }
    #expect(lines.count { $0.hasPrefix("a signed write was discarded") } == 2)
    couple.world.ask(0, .security(.bondsStored([try #require(couple.bond(0))])))
    couple.world.application = { host, event in
      if case .bonds(.changed(let bond)) = event { stores.take(bond, of: host) } else { [] }
    }
    try write(4, counter: 4, handle, stores, &couple)
    #expect(couple.read(Couple.signed) == .success([4]))
  }

  /// So many PDUs wait behind a signed write; one more is dropped.
  @Test func whatWaitsIsBounded() throws {
    let stores = Stores()
    var (couple, handle) = try signing(stores)
    try write(1, counter: 1, handle, stores, &couple)
    couple.world.run(for: .seconds(1))
    couple.world.application = nil
    let link = try #require(couple.links[1])
    try write(2, counter: 2, handle, stores, &couple)
    for number in 0..<64 as Range<UInt32> {
      let id = GATTClient.OperationID(rawValue: 9000 + number)
      couple.world.ask(
        1, .link(link.central, .client(GATTClient.Operation(id: id, .writeWithoutResponse(handle, [UInt8(number)])))))
    }
    couple.world.run(for: .seconds(1))
    let dropped = couple.events(0).count {
      if case .diagnostic(let line) = $0 { line.text.hasPrefix("too many ATT PDUs") } else { false }
    }
    #expect(dropped == 1)
    couple.world.ask(0, .security(.bondsStored([try #require(couple.bond(0))])))
    #expect(couple.read(Couple.signed) == .success([62]))
  }

  /// A host without a store does not wait.
  @Test func withoutAStoreReportedIsStored() throws {
    let stores = Stores()
    var (couple, handle) = try signing(stores, awaits: false)
    stores.setFailing(true)
    try write(1, counter: 1, handle, stores, &couple)
    #expect(couple.read(Couple.signed) == .success([1]))
    #expect(couple.bond(0)?.peerSignCounter == 2)
  }
}
