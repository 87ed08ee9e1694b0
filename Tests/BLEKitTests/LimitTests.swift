import AdapterFixtures
import BLEATT
import BLEHCI
import BLEHost
import BLEKit
import BLEWire
import Glibc
import TestSupport
import Testing

@testable import BLEGATT

/// The bounds of what an adapter keeps, and what happens there; the test plays the host.
@Suite struct LimitTests {
  private let host = ScriptedHost()
  private let client = ScriptedHost.client

  /// The commands from now on that a filter wants, until there are so many.
  private func commands<Value>(_ count: Int, _ want: (HostCommand) -> Value?) async throws -> [Value] {
    var found: [Value] = []
    while found.count < count { if let value = want(try await host.next()) { found.append(value) } }
    return found
  }

  private func answers(_ count: Int) async throws -> [RequestAnswer] {
    try await commands(count) { if case .respond(_, _, let answer) = $0 { answer } else { nil } }
  }

  /// Otherwise the call would wait for an answer that nobody gives.
  @Test func aCommandThatTheHostDoesNotTakeIsTheErrorOfItsCall() async throws {
    let adapter = try await host.open()
    var devices = adapter.connections.makeAsyncIterator()
    host.connect()
    let device = try #require(await devices.next())
    let address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0001), kind: .random)
    host.connection.makeRoom(0)
    await expectThrows(.limitExceeded) { try await adapter.advertise(Advertisement(localName: "a")) }
    await expectThrows(.limitExceeded) { _ = try await adapter.connect(to: address, timeout: nil) }
    await expectThrows(.limitExceeded) { for try await _ in adapter.scan() {} }
    await expectThrows(.limitExceeded) { _ = try await device.readRSSI() }
    await expectThrows(.limitExceeded) { _ = try await device.services() }
    host.connection.makeRoom(nil)
    let reading = Task { try await device.readRSSI() }
    while true { if case .link(_, .readRSSI) = try await host.next() { break } }
    host.say(.link(client, .rssi(.success(-40))))
    #expect(try await reading.value == -40)
  }

  /// Of what a reader of connections, states or questions has not read, it has the newest.
  @Test func aReaderThatDoesNotReadLosesTheOldestBeyond256() async throws {
    let adapter = try await host.open()
    let connections = adapter.connections
    for number in 1...257 as ClosedRange<UInt32> { host.connect(LinkID(rawValue: number)) }
    var addresses: [DeviceAddress] = []
    for await device in connections {
      addresses.append(device.address)
      if addresses.count == 256 { break }
    }
    #expect(
      addresses
        == (2...257).map { DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 | $0), kind: .random) })
  }

  /// Vol 3, Part F, 3.3.3: the host has answered instead of the handler, which is cancelled.
  @Test func aHandlerThatTakesTooLongIsCancelled() async throws {
    let adapter = try await host.open()
    let notes = Notes<String>()
    let (publication, attribute) = try await host.publish(
      LocalCharacteristic("2A37").read { _ -> [UInt8] in
        notes.note("begins")
        do { try await untilCancelled() } catch { notes.note("cancelled") }
        return []
      }, on: adapter)
    host.connect()
    let token = RequestToken(number: 1)
    host.say(.server(client, .read(token, attribute, offset: 0)))
    #expect(try await notes.next() == "begins")
    host.say(.server(client, .requestTimedOut(token)))
    #expect(try await notes.next() == "cancelled")
    _ = publication
  }

  @Test func aCancelledHandlerDoesNotCancelTheNextOne() async throws {
    let adapter = try await host.open()
    let notes = Notes<String>()
    let (publication, attribute) = try await host.publish(
      LocalCharacteristic("2A37").write { octets, _ in
        if octets == [0] {
          notes.note("begins")
          try? await untilCancelled()
        }
        notes.note("\(octets) \(Task.isCancelled)")
      }, on: adapter)
    host.connect()
    for number in UInt8(0)..<3 {
      let part = WritePart(attribute: attribute, offset: 0, value: [number])
      host.say(.server(client, .write(RequestToken(number: UInt64(number)), [part])))
    }
    #expect(try await notes.next() == "begins")
    // The second one waits: its handler is called all the same, and the host drops the answer.
    host.say(.server(client, .requestTimedOut(RequestToken(number: 1))))
    host.say(.server(client, .requestTimedOut(RequestToken(number: 0))))
    for expected in ["[0] true", "[1] false", "[2] false"] { #expect(try await notes.next() == expected) }
    host.say(.link(client, .disconnected(.remoteUserTerminatedConnection)))
    _ = publication
  }

  @Test func theRequestsOfADeviceAreHandledInOneTask() async throws {
    let adapter = try await host.open()
    let tasks = Notes<Int>()
    let (publication, attribute) = try await host.publish(
      LocalCharacteristic("2A37").read { _ -> [UInt8] in
        tasks.note(withUnsafeCurrentTask { $0?.hashValue ?? 0 })
        return []
      }, on: adapter)
    let other = LinkID(rawValue: client.rawValue + 1)
    for peer in [client, other] { host.connect(peer) }
    for (number, peer) in [client, client, other, client].enumerated() {
      host.say(.server(peer, .read(RequestToken(number: UInt64(number)), attribute, offset: 0)))
      _ = try await answers(1)
    }
    let found = tasks.all
    #expect(found[1] == found[0] && found[3] == found[0] && found[2] != found[0])
    _ = publication
  }

  @Test func aTaskThatWaitsForARequestDoesNotKeepTheAdapter() async throws {
    do {
      let adapter = try await host.open()
      let (publication, attribute) = try await host.publish(LocalCharacteristic("2A37").read { _ in [1] }, on: adapter)
      host.connect()
      host.say(.server(client, .read(RequestToken(number: 1), attribute, offset: 0)))
      #expect(try await answers(1) == [.success([1])])
      _ = publication
    }
    try await until { !host.connection.isAttached }
  }

  @Test func theEndOfALinkCancelsItsHandlerAndDropsWhatWaits() async throws {
    let adapter = try await host.open()
    let notes = Notes<String>()
    let (publication, attribute) = try await host.publish(
      LocalCharacteristic("2A37").write { octets, _ in
        notes.note("\(octets)")
        if octets == [0] { try? await untilCancelled() }
      }, on: adapter)
    host.connect()
    for number in UInt8(0)..<3 {
      let part = WritePart(attribute: attribute, offset: 0, value: [number])
      host.say(.server(client, .write(RequestToken(number: UInt64(number)), [part])))
    }
    #expect(try await notes.next() == "[0]")
    host.say(.link(client, .disconnected(.remoteUserTerminatedConnection)))
    // A link that comes up later has a queue of its own.
    host.connect()
    let part = WritePart(attribute: attribute, offset: 0, value: [3])
    host.say(.server(client, .write(RequestToken(number: 1), [part])))
    #expect(try await notes.next() == "[3]")
    #expect(notes.all == ["[0]", "[3]"])
    _ = publication
  }

  /// The host's thread needs the lock for its events: woken under it, it would spin.
  @Test func theHostIsWokenWithoutTheLock() async throws {
    let adapter = try await host.open()
    let notes = Notes<Adapter.State>()
    host.connection.whenWoken { [weak adapter] in if let adapter { notes.note(adapter.state) } }
    let (publication, attribute) = try await host.publish(LocalCharacteristic("2A37").read { _ in [1] }, on: adapter)
    #expect(try await notes.next() == .poweredOn)
    host.connect()
    host.say(.server(client, .read(RequestToken(number: 1), attribute, offset: 0)))
    #expect(try await answers(1) == [.success([1])])
    #expect(try await notes.next() == .poweredOn)
    _ = publication
  }

  @Test func requestsBeyondTheLimitGetInsufficientResources() async throws {
    let adapter = try await host.open()
    let (publication, attribute) = try await host.publish(LocalCharacteristic("2A37").readable(), on: adapter)
    // One request of each of 65 clients, which nobody reads.
    for number in UInt32(0)...64 {
      let peer = LinkID(rawValue: 100 + number)
      host.say(
        .connected(
          ConnectedLink(
            peer: peer, address: .init(octets: .init(UInt64(number)), kind: .public), role: .peripheral,
            timing: LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500))))
      host.say(.server(peer, .read(RequestToken(number: 1), attribute, offset: 0)))
    }
    #expect(try await answers(1) == [.failure(.insufficientResources)])
    var requests: [AttributeRequest] = []
    for await request in publication.requests {
      requests.append(request)
      request.respond(with: UInt8(1))
      if requests.count == 64 { break }
    }
    #expect(try await answers(64) == Array(repeating: .success([1]), count: 64))
  }

  @Test func commandsBeyondTheLimitAreDroppedAndARequestIsAnswered() async throws {
    let adapter = try await host.open()
    let notes = Notes<UInt16>()
    let gate = Notes<Void>()
    let (publication, attribute) = try await host.publish(
      LocalCharacteristic("2A37").write(UInt16.self, kinds: .withoutResponse) { value, _ in
        if value == 0 {
          notes.note(0)
          return try await gate.next()
        }
        notes.note(value)
      }, on: adapter)
    host.connect()
    func write(_ value: UInt16) { host.say(.server(client, .command(attribute, value.octets))) }
    write(0)
    #expect(try await notes.next() == 0)
    // The first one is with the handler; 256 wait behind it at most.
    for value in 1..<400 { write(UInt16(value)) }
    let request = [WritePart(attribute: attribute, offset: 0, value: UInt16(999).octets)]
    host.say(.server(client, .write(RequestToken(number: 5), request)))
    #expect(try await answers(1) == [.failure(.insufficientResources)])
    gate.note(())
    while try await notes.next() < 256 {}
    #expect(notes.all == Array(0...256))
    _ = publication
  }

  /// A burst of commands fills the queue of its client, and not the log. In a process of its own, whose log it has.
  @Test func commandsBeyondTheLimitAreAFewLinesOfTheLog() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let host = ScriptedHost()
      let adapter = try await host.open()
      let begun = Notes<Void>()
      let (publication, attribute) = try await host.publish(
        LocalCharacteristic("2A37").write(UInt16.self, kinds: .withoutResponse) { _, _ in
          begun.note(())
          try await Notes<Void>().next()
        }, on: adapter)
      host.connect()
      host.say(.server(ScriptedHost.client, .command(attribute, [0, 0])))
      try await begun.next()
      for value in 0..<2_256 as Range<UInt16> {
        host.say(.server(ScriptedHost.client, .command(attribute, value.octets)))
      }
      _ = publication
      exit(0)
    }
    let lines = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 9)
    let line = "[BluetoothLE] C0:00:00:00:00:07 (random): more than 256 Write Commands wait: one was dropped"
    for passed in lines.prefix(8) { #expect(passed == line) }
    #expect(lines.last.map(String.init) == "\(line) (1992 more lines like this one in 10 s)")
  }

  /// No lock is held: the handler of the log uses the adapter as any other code. In a process of its own, whose log it
  /// has.
  @Test func aRefusalIsALineWhoseHandlerMayUseTheAdapter() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
      let host = ScriptedHost()
      let adapter = try await host.open()
      BluetoothLog.setHandler { line in print("\(adapter.state): \(line)") }
      host.say(.refused(.disabled("it is off")))
      exit(0)
    }
    let lines = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self).split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("poweredOn: ") && $0.hasSuffix("it is off") })
  }

  @Test func valuesBeyondTheLimitAreRefused() async throws {
    let adapter = try await host.open()
    let (publication, attribute) = try await host.publish(LocalCharacteristic("2A37").notify(), on: adapter)
    host.connect()
    host.say(.server(client, .subscription(attribute, .notify)))
    await withTaskGroup(of: BLEError.Kind?.self) { group in
      for _ in 0..<300 {
        group.addTask {
          do throws(BLEError) {
            try await publication.send(UInt8(1), for: "2A37")
            return nil
          } catch {
            return error.kind
          }
        }
      }
      // 16 are with the host and 256 wait, whichever they are; the others fail at once.
      for _ in 0..<28 { #expect(await group.next() == .limitExceeded) }
      var sent = Set<UpdateToken>()
      while sent.count < 272 {
        guard case .update(let token, _, _, _) = try? await host.next() else { return group.cancelAll() }
        sent.insert(token)
        host.say(.server(client, .updateFinished(token)))
      }
      for _ in 0..<272 { #expect(await group.next() == .some(nil)) }
    }
  }

  /// A sequence has 16 values on their way; each that has left makes room for the next one.
  @Test func aSequenceHas16ValuesOnTheirWay() async throws {
    let adapter = try await host.open()
    let characteristic = LocalCharacteristic("2A37").notify { subscriber in
      try await subscriber.send(contentsOf: (0..<40).map { UInt8($0) })
    }
    let (publication, attribute) = try await host.publish(characteristic, on: adapter)
    host.connect()
    host.say(.server(client, .subscription(attribute, .notify)))
    var onTheirWay: [UpdateToken] = []
    for number in 0..<40 {
      if number >= 16 { host.say(.server(client, .updateFinished(onTheirWay.removeFirst()))) }
      guard case .update(let token, _, let value, _) = try await host.next() else { throw CancellationError() }
      #expect(value == [UInt8(number)])
      onTheirWay.append(token)
      let count = host.commands.count { if case .update = $0 { true } else { false } }
      #expect(count <= max(number + 1, 16))
    }
    _ = publication
  }

  /// The longest value whose PDU fills packets: 4 octets of L2CAP and 3 of ATT are before it.
  @Test(arguments: [(517, 251, 495), (247, 251, 244), (23, 27, 20), (517, 27, 506), (100, 251, 97)])
  func aValueFillsPackets(mtu: Int, octets: Int, expected: Int) async throws {
    let adapter = try await host.open()
    let notes = Notes<Int>()
    let characteristic = LocalCharacteristic("2A37").notify { notes.note($0.device.packetFillingLength) }
    let (publication, attribute) = try await host.publish(characteristic, on: adapter)
    host.connect()
    var length = ConnectionDataLength()
    length.transmitOctets = octets
    host.say(
      .link(client, .mtu(mtu)), .link(client, .dataLength(length)), .server(client, .subscription(attribute, .notify)))
    #expect(try await notes.next() == expected)
    _ = publication
  }

  @Test func aReaderWith1024ValuesBeforeItGetsAnError() async throws {
    let adapter = try await host.open()
    async let link = adapter.connect(to: DeviceAddress(octets: .init(9), kind: .public))
    guard case .initiating(.connect(let id, let address, _, _)) = try await host.next() else { return }
    host.say(
      .connected(
        ConnectedLink(
          peer: client, address: address, role: .central,
          timing: LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500), request: id)),
      .link(client, .mtu(23)))
    let device = try await link
    async let discovery = device.service("180D")
    func finish(_ outcome: GATTClient.Outcome) async throws {
      guard case .link(_, .client(let operation)) = try await host.next() else { return }
      host.say(.client(client, .finished(operation.id, .success(outcome))))
    }
    try await finish(.services([DiscoveredService(handles: 1...5, uuid: "180D")]))
    try await finish(.done)
    try await finish(
      .characteristics([
        DiscoveredCharacteristic(declaration: 2, properties: .notify, valueHandle: 3, uuid: "2A37")
      ]))
    let found = try #require(try await discovery["2A37"])
    let (begun, gate) = (Notes<[UInt8]>(), Notes<Void>())
    let reader = Task {
      var values: [[UInt8]] = []
      do {
        for try await value in device.values(of: found) {
          values.append(value)
          guard values.count == 1 else { continue }
          begun.note(value)
          try await gate.next()
        }
      } catch {
        return (values, (error as? BLEError)?.kind)
      }
      return (values, nil)
    }
    try await finish(.configured(4))
    host.say(.client(client, .notification(3, [1])))
    #expect(try await begun.next() == [1])
    for number in 0..<1025 { host.say(.client(client, .notification(3, UInt16(number).octets))) }
    // Read once all of them have been received.
    await host.connection.untilTaken(1030)
    gate.note(())
    let (values, error) = await reader.value
    #expect(values.dropFirst().elementsEqual((0..<1024).map { UInt16($0).octets }))
    #expect(error == .limitExceeded)
  }

  @Test func aLinkThatEndsEndsEverythingThatWaitsForIt() async throws {
    let adapter = try await host.open()
    host.connect()
    var device: RemoteDevice?
    for await connected in adapter.connections {
      device = connected
      break
    }
    let remote = try #require(device)
    let value = Task { try await remote.read("2A37", in: "180D") }
    let rssi = Task { try await remote.readRSSI() }
    let pairing = Task { try await remote.pair() }
    let end = Task { try await remote.waitUntilDisconnected() }
    for _ in 0..<3 { _ = try await host.next() }
    host.say(.link(client, .disconnected(.connectionTimeout)))
    await expectThrows(.disconnected) { _ = try await value.value }
    await expectThrows(.disconnected) { _ = try await rssi.value }
    await expectThrows(.disconnected) { try await pairing.value }
    #expect(try await end.value.kind == .disconnected)
    await expectThrows(.disconnected) { _ = try await remote.readRSSI() }
  }

  @Test func theEndOfTheAdapterDetaches() async throws {
    do {
      let adapter = try await host.open()
      _ = adapter
    }
    #expect(!host.connection.isAttached)
  }
}
