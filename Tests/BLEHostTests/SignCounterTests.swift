import BLEATT
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import Synchronization
import Testing

/// A sign counter is on stable storage before it is used, and before it is accepted (Vol 3, Part H, 2.4.5;
/// Docs/Decisions/0055).
@Suite("Sign counters and storage") struct SignCounterTests {
  /// The stores of all hosts: they take what is reported, and answer unless they fail.
  private final class Stores: Sendable {
    private struct State {
      var bonds: [Int: [DeviceAddress: Bond]] = [:]
      var isFailing = false
      var saves: [Int: Int] = [:]
    }
    private let state = Mutex(State())

    func take(_ bond: Bond, of host: Int) -> [HostCommand] {
      state.withLock { state in
        guard !state.isFailing else { return [] }
        state.bonds[host, default: [:]][bond.identity] = bond
        state.saves[host, default: 0] += 1
        return [.bondsStored([bond])]
      }
    }
    func setFailing(_ isFailing: Bool) { state.withLock { $0.isFailing = isFailing } }
    func bonds(_ host: Int) -> [Bond] { state.withLock { Array($0.bonds[host, default: [:]].values) } }
    func saves(_ host: Int) -> Int { state.withLock { $0.saves[host] ?? 0 } }
  }

  /// A bonded couple, whose central has a link in the clear because its bond has no key for its role.
  private func signing(_ stores: Stores, awaits: Bool = true) throws -> (couple: Couple, handle: AttributeHandle) {
    var couple = Couple(configure: { $1.awaitsBondStorage = awaits })
    couple.world.application = { host, event in
      if case .bondChanged(let bond) = event { stores.take(bond, of: host) } else { [] }
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
      couple.world.ask(host, .setBonds([]))
      let bonds = stores.bonds(host).map { bond in
        var bond = bond
        if host == 1 { bond.centralKey = nil }
        return bond
      }
      couple.world.ask(host, .setBonds(bonds))
    }
    couple.forget()
    try couple.connect()
  }

  /// The counters of the signed writes that the central has sent, in order.
  private func counters(_ couple: Couple, since start: Int = 0) -> [UInt32] {
    couple.world.sent[1].dropFirst(start).filter { $0.count > 9 && $0[0] == 2 && $0[9] == 0xD2 }.map {
      $0.suffix(12).prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
  }

  private func write(_ number: UInt32, _ handle: AttributeHandle, _ value: UInt8, _ couple: inout Couple) throws {
    let link = try #require(couple.links[1])
    let operation = GATTClient.Operation(
      id: GATTClient.OperationID(rawValue: 5000 + number), .signedWrite(handle, [value]))
    couple.world.ask(1, .client(link.central, operation))
  }

  private func result(_ number: UInt32, _ couple: Couple) -> Result<GATTClient.Outcome, GATTClientError>? {
    for case .client(_, .finished(GATTClient.OperationID(rawValue: 5000 + number), let result)) in couple.events(1) {
      return result
    }
    return nil
  }

  /// Whatever the store had when the program crashed, no counter is used twice; and a store is written once in a block.
  @Test func aCrashNeverReusesACounter() throws {
    let stores = Stores()
    var (couple, handle) = try signing(stores)
    var used: [UInt32] = []
    for round in 0..<4 {
      let (start, saves) = (couple.world.sent[1].count, stores.saves(1))
      for number in 0..<100 as Range<UInt32> { try write(number, handle, UInt8(number), &couple) }
      couple.world.run(for: .seconds(1))
      let sent = counters(couple, since: start)
      #expect(sent.count == 100 && stores.saves(1) - saves <= 3, "round \(round)")
      for bond in stores.bonds(1) { for counter in sent { #expect(counter < bond.ownSignCounter) } }
      used += sent
      try restart(&couple, stores)
    }
    #expect(Set(used).count == 400 && used == used.sorted())
  }

  /// After a start nothing is reserved: the write waits for the store, and what comes behind it.
  @Test func aSignedWriteWaitsForItsReservation() throws {
    let stores = Stores()
    var (couple, handle) = try signing(stores)
    stores.setFailing(true)
    let start = couple.world.sent[1].count
    try write(1, handle, 9, &couple)
    let value = couple.perform(.read(handle))
    #expect(counters(couple, since: start).isEmpty && result(1, couple) == nil && value == nil)
    stores.setFailing(false)
    let reported = try #require(couple.bond(1))
    couple.world.ask(1, .bondsStored([reported]))
    couple.world.run(for: .seconds(1))
    #expect(counters(couple, since: start) == [reported.ownSignCounter - 64])
    #expect(result(1, couple) == .success(.done) && couple.read(Couple.signed) == .success([9]))
  }

  /// Five seconds; then signed writes fail, at once until the store answers, and the operations behind them go on.
  @Test func aStoreThatFailsEndsTheWait() throws {
    let stores = Stores()
    var (couple, handle) = try signing(stores)
    stores.setFailing(true)
    let start = couple.world.sent[1].count
    try write(1, handle, 9, &couple)
    couple.world.run(for: .milliseconds(4900))
    #expect(result(1, couple) == nil)
    couple.world.run(for: .milliseconds(100))
    #expect(result(1, couple) == .failure(.signCounterNotStored))
    try write(2, handle, 9, &couple)
    #expect(result(2, couple) == .failure(.signCounterNotStored))
    #expect(couple.read(Couple.signed) == .success([7]) && counters(couple, since: start).isEmpty)
    stores.setFailing(false)
    couple.world.ask(1, .bondsStored([try #require(couple.bond(1))]))
    try write(3, handle, 9, &couple)
    couple.world.run(for: .seconds(1))
    #expect(result(3, couple) == .success(.done) && couple.read(Couple.signed) == .success([9]))
  }

  /// The part of a block that a link has not used is used by the next one.
  @Test func linksShareABlock() throws {
    let stores = Stores()
    var (couple, handle) = try signing(stores)
    for number in 1...3 as ClosedRange<UInt32> {
      try write(number, handle, 1, &couple)
      couple.disconnect()
      try couple.connect()
    }
    let all = counters(couple)
    #expect(all == [64, 65, 66] && stores.bonds(1).map(\.ownSignCounter) == [128])
  }

  /// A bond that is removed takes its key along.
  @Test func aRemovedBondSignsNothing() throws {
    let stores = Stores()
    var (couple, handle) = try signing(stores)
    couple.world.ask(1, .removeBond(couple.world.hosts[0].ownAddress))
    try write(1, handle, 1, &couple)
    #expect(result(1, couple) == .failure(.cannotSign))
  }

  /// The server side: the write counts when its counter is stored, and the read behind it gives the new value.
  @Test func aSignedWriteTakesEffectWhenItsCounterIsStored() throws {
    let stores = Stores()
    var (couple, handle) = try signing(stores)
    try write(1, handle, 1, &couple)
    #expect(couple.read(Couple.signed) == .success([1]))
    stores.setFailing(true)
    try write(2, handle, 2, &couple)
    try write(3, handle, 3, &couple)
    let value = couple.perform(.read(handle))
    #expect(value == nil, "it waits behind the write")
    stores.setFailing(false)
    var bond = try #require(couple.bond(0))
    bond.peerSignCounter -= 1
    couple.world.ask(0, .bondsStored([bond]))
    couple.world.run(for: .milliseconds(100))
    #expect(stored(couple) == [[1], [2]])
    couple.world.ask(0, .bondsStored([try #require(couple.bond(0))]))
    couple.world.run(for: .milliseconds(100))
    #expect(stored(couple) == [[1], [2], [3]])
    let answers = couple.events(1).compactMap {
      if case .client(_, .finished(_, .success(.value(let value)))) = $0 { Array(value) } else { nil }
    }
    #expect(answers.last == [3])
  }

  /// Values that were reported to the peripheral's application.
  private func stored(_ couple: Couple) -> [[UInt8]] {
    couple.events(0).compactMap { if case .stored(_, Couple.signed, let value) = $0 { value } else { nil } }
  }

  /// What was recorded over the radio is refused, whenever the program crashed.
  @Test func aCrashNeverAcceptsAReplay() throws {
    let stores = Stores()
    var (couple, handle) = try signing(stores)
    try write(1, handle, 1, &couple)
    couple.world.run(for: .seconds(1))
    stores.setFailing(true)
    try write(2, handle, 2, &couple)
    couple.world.run(for: .seconds(1))
    #expect(stored(couple) == [[1]], "the second one was not stored, and not accepted")
    var recorded = couple.world.sent[1].filter { $0.count > 9 && $0[0] == 2 && $0[9] == 0xD2 }
    stores.setFailing(false)
    try restart(&couple, stores)
    let handles = try #require(couple.world.sent[1].last { $0[0] == 2 })[1...2]
    for index in recorded.indices { recorded[index].replaceSubrange(1...2, with: handles) }
    for packet in recorded { couple.world.forge(packet, from: 1) }
    couple.world.run(for: .seconds(1))
    // The second one was never accepted, so that it is no replay.
    #expect(stored(couple) == [[2]])
    for packet in recorded { couple.world.forge(packet, from: 1) }
    couple.world.run(for: .seconds(1))
    #expect(stored(couple) == [[2]])
  }

  /// Five seconds; then signed writes are discarded, at once until the store answers, and other PDUs go on.
  @Test func aStoreThatFailsDiscardsSignedWrites() throws {
    let stores = Stores()
    var (couple, handle) = try signing(stores)
    try write(1, handle, 1, &couple)
    couple.world.run(for: .seconds(1))
    // The central's counters are reserved; the peripheral's store fails.
    couple.world.application = { host, event in
      if host == 1, case .bondChanged(let bond) = event { stores.take(bond, of: host) } else { [] }
    }
    try write(2, handle, 2, &couple)
    #expect(couple.perform(.read(handle)) == nil)
    couple.world.run(for: .seconds(5))
    #expect(couple.read(Couple.signed) == .success([1]))
    try write(3, handle, 3, &couple)
    #expect(couple.read(Couple.signed) == .success([1]))
    let lines = couple.events(0).compactMap { if case .diagnostic(let line) = $0 { line.text } else { nil } }
    #expect(lines.count { $0.hasPrefix("a signed write was discarded") } == 2)
    couple.world.ask(0, .bondsStored([try #require(couple.bond(0))]))
    couple.world.application = { host, event in
      if case .bondChanged(let bond) = event { stores.take(bond, of: host) } else { [] }
    }
    try write(4, handle, 4, &couple)
    #expect(couple.read(Couple.signed) == .success([4]))
  }

  /// So many PDUs wait behind a signed write; one more is dropped.
  @Test func whatWaitsIsBounded() throws {
    let stores = Stores()
    var (couple, handle) = try signing(stores)
    try write(1, handle, 1, &couple)
    couple.world.run(for: .seconds(1))
    couple.world.application = nil
    let link = try #require(couple.links[1])
    try write(2, handle, 2, &couple)
    for number in 0..<64 as Range<UInt32> {
      let id = GATTClient.OperationID(rawValue: 9000 + number)
      couple.world.ask(
        1, .client(link.central, GATTClient.Operation(id: id, .writeWithoutResponse(handle, [UInt8(number)]))))
    }
    couple.world.run(for: .seconds(1))
    let dropped = couple.events(0).count {
      if case .diagnostic(let line) = $0 { line.text.hasPrefix("too many ATT PDUs") } else { false }
    }
    #expect(dropped == 1)
    couple.world.ask(0, .bondsStored([try #require(couple.bond(0))]))
    #expect(couple.read(Couple.signed) == .success([62]))
  }

  /// A host without a store does not wait, and reserves all the same.
  @Test func withoutAStoreReportedIsStored() throws {
    let stores = Stores()
    var (couple, handle) = try signing(stores, awaits: false)
    stores.setFailing(true)
    try write(1, handle, 1, &couple)
    #expect(couple.read(Couple.signed) == .success([1]))
    #expect(couple.bond(1)?.ownSignCounter == 128 && couple.bond(0)?.peerSignCounter == 65)
  }
}
