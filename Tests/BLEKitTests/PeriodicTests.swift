import AdapterFixtures
import BLEGAP
import BLEHCI
import BLEHost
import BLEKit
import BLEWire
import Testing

/// Periodic advertising trains, sent and received (Vol 6, Part B, 4.4.2.12); the test plays the host.
@Suite struct PeriodicTests {
  private let host = ScriptedHost()
  private let advertiser = DeviceAddress(octets: BD_ADDR(0xC000_0000_0001), kind: .random)
  private var train: PeriodicTrain { PeriodicTrain(advertiser: advertiser, advertisingSet: 3) }

  private func nextStart() async throws -> (SyncID, SyncSource, SyncParameters) {
    guard case .synchronizing(.start(let id, let source, let parameters)) = try await host.next() else {
      throw CancellationError()
    }
    return (id, source, parameters)
  }

  private func synchronized(_ data: UInt16? = nil) -> HostEvent.Synchronizing {
    .synchronized(
      SynchronizedTrain(train: TrainID(advertiser, set: 3), phy: .le2M, interval: 80, serviceData: data))
  }

  @Test func aTrainIsReceivedUntilNothingRefersToIt() async throws {
    let adapter = try await host.open()
    var options = PeriodicSyncOptions()
    (options.skip, options.timeout, options.filtersDuplicates) = (4, .milliseconds(2_500), true)
    var sync: PeriodicSync? = adapter.synchronize(with: train, options: options)
    let (id, source, parameters) = try await nextStart()
    #expect(source == .train(TrainID(advertiser, set: 3)))
    #expect(parameters.skip == 4 && parameters.timeout == 250 && parameters.filtersDuplicates)
    host.say(
      .synchronizing(id, synchronized()),
      .synchronizing(id, .report(TrainReport([1, 2], rssi: -40, txPower: 4))),
      .synchronizing(id, .report(TrainReport([1], .truncated))), .synchronizing(id, .lost))
    var events = try #require(sync?.makeAsyncIterator())
    guard case .synchronized(let found) = try await events.next() else { Issue.record("no train"); return }
    #expect(found.train == train && found.phy == .le2M && found.interval == .milliseconds(100))
    guard case .report(let report) = try await events.next() else { Issue.record("no report"); return }
    #expect(report.data == [1, 2] && report.rssi == -40 && report.txPower == 4 && !report.isTruncated)
    guard case .report(let cut) = try await events.next() else { Issue.record("no report"); return }
    #expect(cut.isTruncated && cut.rssi == nil)
    #expect(try await events.next() == .lost)
    sync?.stop()
    #expect(try await events.next() == nil)
    sync = nil
    guard case .synchronizing(.stop(id)) = try await host.next() else { Issue.record("not stopped"); return }
  }

  @Test func theReasonEndsTheSequence() async throws {
    let adapter = try await host.open()
    let sync = adapter.synchronize(with: train)
    let (id, _, _) = try await nextStart()
    host.say(.synchronizing(id, .ended(.unsupported("synchronization with periodic advertising"))))
    var events = sync.makeAsyncIterator()
    await #expect { try await events.next() } throws: { ($0 as? BLEError)?.kind == .unsupported }
    #expect(try await events.next() == nil)
  }

  @Test func whatIsNotAllowedIsRefusedWithoutTheHost() async throws {
    let adapter = try await host.open()
    var long = PeriodicSyncOptions()
    long.timeout = .seconds(164)
    var skipping = PeriodicSyncOptions()
    skipping.skip = 500
    let syncs = [
      adapter.synchronize(with: train, options: long), adapter.synchronize(with: train, options: skipping),
      adapter.synchronize(with: PeriodicTrain(advertiser: advertiser, advertisingSet: 16)),
    ]
    for sync in syncs {
      var events = sync.makeAsyncIterator()
      await #expect { try await events.next() } throws: { ($0 as? BLEError)?.kind == .invalidArgument }
    }
    var options = PeriodicAdvertisingOptions()
    options.interval = .milliseconds(6)
    await #expect { try await adapter.startPeriodicAdvertising([], options: options) } throws: {
      ($0 as? BLEError)?.kind == .invalidArgument
    }
    #expect(host.commands.isEmpty)
    adapter.close()
    var events = adapter.synchronize(with: train).makeAsyncIterator()
    await #expect(throws: BLEError.self) { try await events.next() }
  }

  @Test func aReaderThatIsSlowLosesTheOldest() async throws {
    let adapter = try await host.open()
    let sync = adapter.synchronize(with: train)
    let (id, _, _) = try await nextStart()
    for number in 0..<1_100 { host.say(.synchronizing(id, .report(TrainReport([UInt8(number & 0xFF)])))) }
    var events = sync.makeAsyncIterator()
    guard case .report(let first) = try await events.next() else { Issue.record("no report"); return }
    #expect(first.droppedBefore == 1_100 - 1_024 && first.data == [UInt8(first.droppedBefore)])
  }

  @Test func aTrainIsSentUntilNothingRefersToIt() async throws {
    let adapter = try await host.open()
    var options = PeriodicAdvertisingOptions()
    (options.interval, options.includesTXPower, options.numbersData) = (.milliseconds(50), true, false)
    let id: AdvertisingID
    do {
      async let advertising = adapter.startPeriodicAdvertising(
        [1, 2, 3], announcedBy: Advertisement(serviceUUIDs: ["181A"]), options: options)
      guard case .advertising(.start(let started, let intent)) = try await host.next() else {
        throw CancellationError()
      }
      id = started
      #expect(intent.usesExtendedPDUs && !intent.isConnectable && intent.scanResponse.isEmpty && !intent.data.isEmpty)
      let periodic = try #require(intent.periodic)
      #expect(periodic.data == [1, 2, 3] && periodic.interval == 40...40)
      #expect(periodic.includesTXPower && !periodic.numbersData)
      host.say(.advertising(id, .started(.success(()))))
      let train = try await advertising
      async let updated: Void = train.update([4])
      guard case .advertising(.updateTrain(id, [4], let token)) = try await host.next() else {
        throw CancellationError()
      }
      host.say(.advertising(id, .trainUpdated(token, .success(()))))
      try await updated
      let refused = Task { try await train.update([5]) }
      guard case .advertising(.updateTrain(id, [5], let other)) = try await host.next() else {
        throw CancellationError()
      }
      host.say(.advertising(id, .trainUpdated(other, .failure(.invalidParameters("too long")))))
      await #expect { try await refused.value } throws: { ($0 as? BLEError)?.kind == .invalidArgument }
    }
    guard case .advertising(.stop(id)) = try await host.next() else { Issue.record("not stopped"); return }
  }

  @Test func aSynchronizationIsTransferredAndExpected() async throws {
    let adapter = try await host.open()
    var connections = adapter.connections.makeAsyncIterator()
    host.connect()
    let device = try #require(await connections.next())
    let sync = adapter.synchronize(byTransferFrom: device)
    let (id, source, _) = try await nextStart()
    #expect(source == .transfer(from: ScriptedHost.client))
    host.say(.synchronizing(id, synchronized(0xBEEF)))
    var events = sync.makeAsyncIterator()
    guard case .synchronized(let found) = try await events.next() else { Issue.record("no train"); return }
    #expect(found.serviceData == 0xBEEF)
    async let transferred: Void = sync.transfer(to: device, serviceData: 7)
    guard case .synchronizing(.transfer(id, ScriptedHost.client, 7)) = try await host.next() else {
      throw CancellationError()
    }
    host.say(.synchronizing(id, .transferred(ScriptedHost.client, .success(()))))
    try await transferred
    let lost = Task { try await sync.transfer(to: device) }
    _ = try await host.next()
    host.say(.link(ScriptedHost.client, .disconnected(.connectionTimeout)))
    await #expect { try await lost.value } throws: { ($0 as? BLEError)?.kind == .disconnected }
  }
}
