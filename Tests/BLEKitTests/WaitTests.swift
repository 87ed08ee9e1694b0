import AdapterFixtures
import BLEAdapter
import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLEWire
import Synchronization
import Testing

@testable import BLEKit

/// A task that waits for the host, and the limit of its time, are one thing: each ends with the other, and with the
/// link or the session that it belongs to. The test plays the host.
@Suite struct WaitTests {
  private let host = ScriptedHost()
  private let address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0009), kind: .random)
  private let peer = ScriptedHost.client
  private let otherPeer = LinkID(rawValue: 8)

  /// Begins to wait, and returns when the task waits.
  private func wait<Value>(
    for awaited: Awaited<Value>, _ adapter: Adapter
  ) async throws -> Task<Void, any Error> {
    let begun = Notes<Bool>()
    let task = Task {
      _ = try await adapter.session.wait(for: awaited) { _, _ throws(BLEError) in
        begun.note(true)
        return nil
      }
    }
    _ = try await begun.next()
    return task
  }

  // MARK: Limits

  @Test func aLimitBeginsWhenItsTaskWaits() async throws {
    let (executor, clock) = (ManualExecutor(), ManualClock())
    let adapter = try await host.open(
      clock: WaitClock(executor: executor, sleep: { try await clock.sleep(for: $0) }))
    let begun = Notes<Int>()
    let waiting = Task {
      try await adapter.session.wait(for: .power, timeout: .seconds(30)) { _, _ throws(BLEError) in
        begun.note(executor.waitingCount)
        return nil
      }
    }
    #expect(try await begun.next() == 0, "no limit runs before its task waits")
    // The state is free when the task is in it.
    #expect(adapter.state == .poweredOn)
    #expect(executor.waitingCount == 1)
    executor.drain()
    #expect(clock.deadline == .start + .seconds(30))
    clock.advance(to: .start + .seconds(30))
    executor.drain()
    await expectThrows(.timedOut) { try await waiting.value }
    #expect(adapter.session.state.withLock { $0.waits.isEmpty })
  }

  @Test func anAnswerEndsTheLimit() async throws {
    let (executor, clock) = (ManualExecutor(), ManualClock())
    let adapter = try await host.open(
      clock: WaitClock(executor: executor, sleep: { try await clock.sleep(for: $0) }))
    let connecting = Task { try await adapter.connect(to: address, timeout: .seconds(30)) }
    guard case .initiating(.connect(let id, _, _, _)) = try await host.next() else { throw CancellationError() }
    executor.drain()
    #expect(clock.deadline != nil)
    host.say(.connectionFailed(id, .unsupported("connections")))
    await expectThrows(.unsupported) { _ = try await connecting.value }
    executor.drain()
    #expect(clock.deadline == nil)
    clock.advance(to: .start + .seconds(30))
    executor.drain()
    #expect(host.commands.count == 1, "nothing is cancelled")
  }

  /// The operations with a limit.
  enum Limited: CaseIterable {
    case power, connection, scope, pairing, timing, channel
  }

  private func begin(_ operation: Limited, _ limit: Duration) async throws -> Task<Void, any Error> {
    let adapter = try await host.open()
    host.connect()
    let device = RemoteDevice(session: adapter.session, peer: peer, address: address, isCentral: true)
    if operation == .power { host.say(.state(.poweredOff, nil)) }
    let task = Task { [address] in
      switch operation {
      case .power: try await adapter.waitUntilPoweredOn(timeout: limit)
      case .connection: _ = try await adapter.connect(to: address, timeout: limit)
      case .scope: try await adapter.withConnection(to: address, timeout: limit) { _ in }
      case .pairing: try await device.pair(timeout: limit)
      case .timing: try await device.updateConnectionParameters(ConnectionParameterRequest(), timeout: limit)
      case .channel: _ = try await device.openChannel(psm: 0x80, timeout: limit)
      }
    }
    if operation != .power { _ = try await host.next() }
    return task
  }

  @Test(
    arguments: Limited.allCases,
    [
      .zero, .nanoseconds(1), .seconds(-1), .seconds(Int64.min), Duration(attoseconds: .min),
    ] as [Duration])
  func aLimitThatHasPassedEndsTheWaitAtOnce(_ operation: Limited, _ limit: Duration) async throws {
    let task = try await begin(operation, limit)
    let error = await #expect(throws: BLEError.self) { try await task.value }
    #expect(error?.kind == .timedOut)
  }

  @Test(
    arguments: Limited.allCases,
    [
      .seconds(Int64.max), Duration(secondsComponent: .max, attosecondsComponent: 999_999_999_999_999_999),
      Duration(attoseconds: .max),
    ] as [Duration])
  func aLimitOfAnySizeIsALimit(_ operation: Limited, _ limit: Duration) async throws {
    let task = try await begin(operation, limit)
    task.cancel()
    let error = await #expect(throws: BLEError.self) { try await task.value }
    #expect(error?.kind == .cancelled)
  }

  /// A limit that fires before its task waits would leave the task for ever.
  @Test func limitsThatAreOverAtOnceLeaveNoTaskBehind() async throws {
    let adapter = try await host.open()
    let ended = await withTaskGroup(of: Int.self) { group in
      for number in 0..<64 {
        group.addTask { [address] in
          var ended = 0
          for call in 0..<50 {
            let limit: Duration = (call + number).isMultiple(of: 2) ? .zero : .nanoseconds(1)
            do throws(BLEError) { _ = try await adapter.connect(to: address, timeout: limit) } catch {
              if error.kind == .timedOut { ended += 1 }
            }
          }
          return ended
        }
      }
      return await group.reduce(0, +)
    }
    #expect(ended == 64 * 50)
    #expect(adapter.session.state.withLock { $0.waits.isEmpty })
  }

  // MARK: Ends

  @Test func theEndOfALinkEndsItsWaitsAndNoOthers() async throws {
    let adapter = try await host.open()
    host.connect(peer)
    host.connect(otherPeer)
    let own = [
      try await wait(for: .operation(peer, HostIDs.operation()), adapter),
      try await wait(for: .rssi(peer, read: 1), adapter),
      try await wait(for: .phy(peer), adapter),
      try await wait(for: .timing(peer), adapter),
      try await wait(for: .pairing(peer, .authenticated), adapter),
      try await wait(for: .channel(peer, HostIDs.openChannel()), adapter),
    ]
    let end = try await wait(for: .linkEnd(peer), adapter)
    let others = [
      try await wait(for: .phy(otherPeer), adapter), try await wait(for: .linkEnd(otherPeer), adapter),
      try await wait(for: .power, adapter), try await wait(for: .update(HostIDs.update()), adapter),
    ]
    host.say(.link(peer, .disconnected(.connectionTimeout)))
    for task in own { await expectThrows(.disconnected) { try await task.value } }
    try await end.value
    for task in others { task.cancel() }
    for task in others { await expectThrows(.cancelled) { try await task.value } }
  }

  @Test func theEndOfTheSessionEndsEveryWait() async throws {
    let adapter = try await host.open()
    host.connect(peer)
    let waits = [
      try await wait(for: .power, adapter),
      try await wait(for: .serviceAdd(HostIDs.service()), adapter),
      try await wait(for: .serviceRemoval(HostIDs.service()), adapter),
      try await wait(for: .advertisingStart(HostIDs.advertising()), adapter),
      try await wait(for: .advertisement(HostIDs.advertising()), adapter),
      try await wait(for: .update(HostIDs.update()), adapter),
      try await wait(for: .connection(HostIDs.connect()), adapter),
      try await wait(for: .listen(HostIDs.listen()), adapter),
      try await wait(for: .listenEnd(SPSM(rawValue: 0x80)), adapter),
      try await wait(for: .operation(peer, HostIDs.operation()), adapter),
      try await wait(for: .rssi(peer, read: 1), adapter),
      try await wait(for: .phy(peer), adapter),
      try await wait(for: .timing(peer), adapter),
      try await wait(for: .pairing(peer, .encrypted), adapter),
      try await wait(for: .channel(peer, HostIDs.openChannel()), adapter),
    ]
    let end = try await wait(for: .linkEnd(peer), adapter)
    let (states, connections, questions) = (adapter.states, adapter.connections, adapter.pairingRequests)
    adapter.close()
    for task in waits { await expectThrows(.adapterUnavailable) { try await task.value } }
    try await end.value
    for await _ in states {}
    for await _ in connections {}
    for await _ in questions {}
    #expect(adapter.session.state.withLock { $0.waits.isEmpty && $0.streamEnds.isEmpty })
  }

  @Test func theSameRemovalTwiceEndsBoth() async throws {
    let adapter = try await host.open()
    let (publication, _) = try await host.publish(LocalCharacteristic("2A37").read { _ -> [UInt8] in [] }, on: adapter)
    let first = Task { await publication.remove() }
    guard case .services(.remove(let id)) = try await host.next() else { throw CancellationError() }
    let second = Task { await publication.remove() }
    // It withdraws nothing that the first has not withdrawn.
    guard case .services(.remove(id)) = try await host.next() else { throw CancellationError() }
    host.say(.services(.removed(id, .success(0x0010...0x0013))))
    await first.value
    await second.value
  }

  @Test func severalTasksWaitForOneEventAndOneOfThemCanBeCancelled() async throws {
    let adapter = try await host.open()
    host.connect(peer)
    let first = try await wait(for: .phy(peer), adapter)
    let second = try await wait(for: .phy(peer), adapter)
    first.cancel()
    await expectThrows(.cancelled) { try await first.value }
    host.say(.link(peer, .phy(.success(ConnectionPHY(transmit: .le2M, receive: .le2M)))))
    try await second.value
  }
}
