import BLEATT
import BLEGATT
import BLEHost
import BLEWire
import Testing

/// How often a bond is reported whose client changes what it has configured.
@Suite("Reports of changed bonds") struct BondReportTests {
  private func reports(_ couple: Couple) -> [Bond] {
    couple.events(0).compactMap { if case .bonds(.changed(let bond)) = $0 { bond } else { nil } }
  }

  /// A bonded couple, and the descriptor that the central writes.
  private func subscribing() throws -> (Couple, AttributeHandle) {
    var couple = Couple()
    try couple.connect()
    couple.secure()
    couple.world.run(for: .seconds(20))
    couple.forget()
    let handle = try #require(couple.handles[Couple.stream])
    return (couple, AttributeHandle(rawValue: handle.rawValue + 1))
  }

  @Test func aSubscriberThatTogglesIsReportedAtIntervals() throws {
    var (couple, descriptor) = try subscribing()
    for number in 0..<200 { _ = couple.perform(.write(descriptor, [UInt8(number % 2 == 0 ? 1 : 0), 0])) }
    // 100 seconds: the first change at once, then one report in ten seconds.
    #expect(reports(couple).count == 11)
  }

  @Test func theFirstChangeIsReportedAtOnceAndTheLastOneAtTheEndOfTheInterval() throws {
    var (couple, descriptor) = try subscribing()
    #expect(couple.perform(.write(descriptor, [1, 0])) == .success(.done))
    #expect(reports(couple).map(\.client.configurations.count) == [1])
    for value in [0, 2, 0] as [UInt8] { _ = couple.perform(.write(descriptor, [value, 0])) }
    #expect(reports(couple).count == 1)
    couple.world.run(for: .seconds(10))
    #expect(reports(couple).map(\.client.configurations.count) == [1, 0])
    couple.world.run(for: .seconds(60))
    #expect(reports(couple).count == 2)
  }

  @Test(arguments: [false, true]) func theEndOfALinkAndAShutdownReportWhatIsPending(byShutdown: Bool) throws {
    var (couple, descriptor) = try subscribing()
    for value in [1, 0, 2] as [UInt8] { _ = couple.perform(.write(descriptor, [value, 0])) }
    #expect(reports(couple).count == 1)
    if byShutdown { couple.world.shutDown(0) } else { couple.disconnect() }
    let configuration = try #require(reports(couple).last?.client.configurations.first)
    #expect(reports(couple).count == 2 && configuration.value == .indicate)
  }

  /// A bond that was removed is not reported any more.
  @Test func aRemovedBondIsNotReported() throws {
    var (couple, descriptor) = try subscribing()
    for value in [1, 0] as [UInt8] { _ = couple.perform(.write(descriptor, [value, 0])) }
    couple.world.ask(0, .security(.removeBond(try #require(reports(couple).first).identity)))
    couple.world.run(for: .seconds(60))
    couple.disconnect()
    #expect(reports(couple).count == 1)
  }
}
