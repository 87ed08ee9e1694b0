import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEWire
import Testing

/// Values that are handed over as a run, and whose ends are counted.
@Suite struct UpdateRunTests {
  private let stream = AttributeID(rawValue: 11)

  /// A host with one link whose client has configured the characteristic.
  private func serving(
    _ subscription: UInt8, configuration: HostConfiguration = HostConfiguration()
  ) throws -> (Bench, value: UInt8) {
    var bench = Bench(configuration: configuration)
    let characteristic = CharacteristicDefinition(
      id: stream, uuid: BluetoothUUID(0xFFF4), properties: [.notify, .indicate], permissions: .readableAndWritable,
      value: .dynamic)
    bench.perform(
      .services(
        .add(
          ServiceDefinition(id: ServiceID(rawValue: 1), uuid: BluetoothUUID(0xFFF0), characteristics: [characteristic]))
      ))
    var handle: UInt8?
    for event in bench.takeEvents() {
      guard case .services(.added(_, .success(let handles))) = event else { continue }
      handle = handles.attributes[stream].map { UInt8(truncatingIfNeeded: $0.rawValue) }
    }
    let value = try #require(handle)
    bench.receive(ScriptedController.connected(0x40))
    if subscription > 0 { _ = bench.att(0x40, [0x12, value + 1, 0, subscription, 0]) }
    _ = bench.takeEvents()
    return (bench, value)
  }

  private func counts(_ events: [HostEvent]) -> [Int] {
    events.compactMap { if case .server(_, .updatesFinished(let count)) = $0 { count } else { nil } }
  }

  @Test func valuesLeaveInTheirOrderAndOneEventCountsThem() throws {
    var (bench, value) = try serving(1)
    bench.completesPackets = false
    let before = bench.data.count
    bench.update(stream, [[1], [], [2, 3]])
    #expect(bench.attPayloads(from: before) == [[0x1B, value, 0, 1], [0x1B, value, 0], [0x1B, value, 0, 2, 3]])
    #expect(bench.takeEvents().isEmpty)
    bench.receive(ScriptedController.completedPackets(0x40, 2))
    bench.receive(ScriptedController.completedPackets(0x40, 1))
    #expect(counts(bench.takeEvents()) == [2, 1])
  }

  @Test func valuesThatWaitForABufferKeepTheirOrder() throws {
    var (bench, value) = try serving(1)
    bench.completesPackets = false
    let before = bench.data.count
    bench.update(stream, (0..<40).map { [$0] })
    for _ in 0..<40 { bench.receive(ScriptedController.completedPackets(0x40, 1)) }
    #expect(bench.attPayloads(from: before) == (0..<40).map { [0x1B, value, 0, $0] })
    #expect(counts(bench.events).reduce(0, +) == 40)
  }

  @Test func aValueIsCutToTheMTUOfTheLink() throws {
    var (bench, value) = try serving(1)
    let before = bench.data.count
    bench.update(stream, [[UInt8](repeating: 7, count: 30), [8]])
    #expect(
      bench.attPayloads(from: before) == [[0x1B, value, 0] + [UInt8](repeating: 7, count: 20), [0x1B, value, 0, 8]])
  }

  @Test func valuesWithoutASubscriberAreFinishedAtOnce() throws {
    var (bench, _) = try serving(0)
    let before = bench.data.count
    bench.update(stream, [[1], [2]])
    #expect(bench.data.count == before)
    #expect(counts(bench.takeEvents()).reduce(0, +) == 2)
  }

  @Test func anIndicationIsCountedWithItsConfirmation() throws {
    var (bench, value) = try serving(2)
    let before = bench.data.count
    bench.update(stream, [[1], [2]])
    #expect(bench.attPayloads(from: before) == [[0x1D, value, 0, 1]])
    #expect(counts(bench.takeEvents()).isEmpty)
    #expect(bench.att(0x40, [0x1E]) == [[0x1D, value, 0, 2]])
    #expect(counts(bench.takeEvents()) == [1])
  }

  @Test func theEndOfTheLinkFinishesWhatWasOnItsWay() throws {
    var (bench, _) = try serving(1)
    bench.completesPackets = false
    bench.update(stream, [[1], [2], [3]])
    bench.receive(ScriptedController.completedPackets(0x40, 1))
    bench.receive(ScriptedController.disconnected(0x40, .connectionTimeout))
    #expect(counts(bench.takeEvents()).reduce(0, +) == 3)
  }

  @Test func oneAboveTheLimitIsRefusedAndCounted() throws {
    var configuration = HostConfiguration()
    configuration.maximumPendingUpdates = 2
    var (bench, _) = try serving(1, configuration: configuration)
    bench.completesPackets = false
    bench.update(stream, [[1], [2], [3]])
    let events = bench.takeEvents()
    #expect(counts(events) == [1])
    #expect(events.contains { if case .refused(.tooMany) = $0 { true } else { false } })
  }

  /// One client confirms nothing: it has the room of its own link only, and the other receives every value.
  @Test func aClientThatConfirmsNothingHoldsUpNoOther() throws {
    var (bench, value) = try serving(2)
    bench.receive(ScriptedController.connected(0x41, from: "C0:11:22:33:44:66"))
    _ = bench.att(0x41, [0x12, value + 1, 0, 1, 0])
    _ = bench.takeEvents()
    let before = bench.data.count
    for number in 0..<1_000 { bench.update(stream, [[UInt8(truncatingIfNeeded: number)]]) }
    let notified = bench.attPayloads(from: before).count { $0.first == 0x1B }
    #expect(notified == 1_000)
    let finished = Dictionary(
      grouping: bench.takeEvents().compactMap {
        if case .server(let peer, .updatesFinished(let count)) = $0 { (peer, count) } else { nil }
      },
      by: \.0
    ).mapValues { $0.reduce(0) { $0 + $1.1 } }
    let limit = HostConfiguration().maximumPendingUpdates
    #expect(finished[bench.peers[1]] == 1_000)
    #expect((1_000 - limit..<1_000).contains(finished[bench.peers[0]] ?? 0))
  }

  @Test func aRunGoesToItsOwnerAlone() throws {
    var (bench, _) = try serving(0)
    let owner = OwnerID(rawValue: 5)
    bench.update(stream, [[1]], from: owner)
    #expect(bench.recipients.last == .owner(owner))
    #expect(bench.events.contains { if case .refused(.invalidParameters) = $0 { true } else { false } })
  }
}
