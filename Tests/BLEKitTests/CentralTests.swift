import AdapterFixtures
import BLEATT
import BLEAdapter
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

@testable import BLEGATT
@testable import BLEKit

/// The operations of the central role: each ends once, with its result, its timeout or its cancellation. The test plays
/// the host.
@Suite struct CentralTests {
  private let host = ScriptedHost()
  private let address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0009), kind: .random)
  private let peer = LinkID(rawValue: 9)

  private func link(_ adapter: Adapter) async throws -> RemoteDevice {
    async let link = adapter.connect(to: address, timeout: nil)
    guard case .initiating(.connect(let id, let address, _, _)) = try await host.next() else {
      throw CancellationError()
    }
    host.say(
      .connected(
        ConnectedLink(
          peer: peer, address: address, role: .central,
          timing: LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500), request: id)),
      .link(peer, .mtu(ATT.defaultMTU)))
    return try await link
  }

  @Test func waitingForPowerEndsWithTheStateOrTheTimeout() async throws {
    let adapter = Adapter(client: AdapterClient(over: host.connection, log: { _ in }))
    try await adapter.waitUntilPoweredOn()
    host.say(.state(.poweredOff, nil))
    await host.connection.untilTaken(2)
    #expect(adapter.state == .poweredOff)
    await expectThrows(.timedOut) { try await adapter.waitUntilPoweredOn(timeout: .milliseconds(1)) }
    let waiting = Task { try await adapter.waitUntilPoweredOn() }
    host.say(.state(.poweredOn, nil))
    try await waiting.value
  }

  @Test func connectionThatFailsThrows() async throws {
    let adapter = try await host.open()
    let connecting = Task { try await adapter.connect(to: address, timeout: nil) }
    guard case .initiating(.connect(let id, _, _, _)) = try await host.next() else { throw CancellationError() }
    host.say(.connectionFailed(id, .unsupported("connections")))
    await expectThrows(.unsupported) { _ = try await connecting.value }
  }

  @Test func connectionIsCancelledAfterItsTimeout() async throws {
    let adapter = try await host.open()
    await expectThrows(.timedOut) { _ = try await adapter.connect(to: address, timeout: .milliseconds(1)) }
    guard case .initiating(.connect(let id, _, _, _)) = try await host.next() else { throw CancellationError() }
    guard case .initiating(.cancel(id)) = try await host.next() else { Issue.record("another command"); return }
  }

  @Test func aLinkThatComesUpAfterItsTaskGaveUpEnds() async throws {
    let adapter = try await host.open()
    await expectThrows(.timedOut) { _ = try await adapter.connect(to: address, timeout: .milliseconds(1)) }
    guard case .initiating(.connect(let id, _, _, _)) = try await host.next() else { throw CancellationError() }
    guard case .initiating(.cancel(id)) = try await host.next() else { Issue.record("another command"); return }
    // The command has crossed the event.
    host.say(
      .connected(
        ConnectedLink(
          peer: peer, address: address, role: .central,
          timing: LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500), request: id)))
    guard case .link(peer, .release) = try await host.next() else { Issue.record("the link stays"); return }
  }

  @Test func aLinkOfAnotherOwnerIsNotReleased() async throws {
    let adapter = try await host.open()
    let connecting = Task { try await adapter.connect(to: address, timeout: nil) }
    guard case .initiating(.connect(let id, _, _, _)) = try await host.next() else { throw CancellationError() }
    // One link fulfils the requests of two owners: everybody is told the first of them.
    for request in [ConnectID(rawValue: 0), id] {
      host.say(
        .connected(
          ConnectedLink(
            peer: peer, address: address, role: .central,
            timing: LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500), request: request)))
    }
    host.say(.link(peer, .mtu(ATT.defaultMTU)))
    let device = try await connecting.value
    let reading = Task { try await device.readRSSI() }
    guard case .link(peer, .readRSSI) = try await host.next() else { Issue.record("the link is released"); return }
    host.say(.link(peer, .rssi(.success(-40))))
    _ = try await reading.value
  }

  @Test func valuesOf16CharacteristicsWaitForTheirFirstReader() {
    var early = EarlyValues()
    for number in 1...17 as ClosedRange<UInt16> { early.add([0], at: AttributeHandle(rawValue: number)) }
    early.add([1], at: 16)
    #expect(early.claim(16) == [1] && early.claim(17) == nil)
    // A later value has, or had, a reader.
    early.add([2], at: 16)
    #expect(early.claim(16) == nil)
    early.remove(in: 1...3)
    #expect(early.claim(3) == nil && early.claim(4) == [0])
  }

  @Test func aNameThatIsCutIsSaid() {
    let name = String(repeating: "n", count: 42)
    func omission(_ advertisement: Advertisement) -> String? { advertisement.omission(place: "elsewhere") }
    #expect(
      omission(Advertisement(localName: name, serviceUUIDs: ["180F"]))
        == "the name '\(name)' has 42 octets and does not fit into the advertisement: '\(name.prefix(29))' (29 octets) "
        + "is sent, and devices that search for the whole name do not find it. Shorten it, or list fewer services "
        + "elsewhere")
    let many: [BluetoothUUID] = (0..<5).map { BluetoothUUID(uuid128: UInt128($0) << 64 | 0xFEED) }
    #expect(omission(Advertisement(serviceUUIDs: many))?.contains("\(many[4].uuidString)") == true)
    #expect(omission(Advertisement(localName: "Lamp", serviceUUIDs: ["180F"])) == nil)
  }

  @Test func aChangeOfTheTimingHasAnOutcome() async throws {
    let device = try await link(try await host.open())
    let request = ConnectionParameterRequest(interval: .milliseconds(100)...Duration.milliseconds(100))
    let changing = Task { try await device.updateConnectionParameters(request, timeout: nil) }
    guard case .link(peer, .updateConnection(_)) = try await host.next() else { throw CancellationError() }
    host.say(.link(peer, .connectionUpdated(LinkTiming(interval: 80, latency: 0, supervisionTimeout: 500))))
    #expect(try await changing.value.interval == .milliseconds(100))
    let refused = Task { try await device.updateConnectionParameters(request, timeout: nil) }
    guard case .link(peer, .updateConnection(_)) = try await host.next() else { throw CancellationError() }
    host.say(.link(peer, .connectionUpdateRefused(.peerRefused("no"))))
    await expectThrows(.invalidResponse) { _ = try await refused.value }
  }

  @Test func aChangeOfTheSubratingHasAnOutcome() async throws {
    let device = try await link(try await host.open())
    #expect(device.subrate?.factor == 1)
    let request = SubrateRequest(factor: 4...8, latency: 1, continuationNumber: 7)
    let changing = Task { try await device.requestSubrate(request, timeout: nil) }
    guard case .link(peer, .requestSubrating(let parameters)) = try await host.next() else { throw CancellationError() }
    // The second request fails at once, and does not end the first one.
    await expectThrows(.invalidArgument) { _ = try await device.requestSubrate(request) }
    #expect(parameters.factor == 4...8 && parameters.continuation == 7 && parameters.supervisionTimeout == 600)
    let subrating = LinkSubrating(factor: 8, latency: 1, continuation: 7, supervisionTimeout: 500)
    host.say(.link(peer, .subrating(.success(subrating))))
    #expect(try await changing.value.factor == 8)
    #expect(device.subrate?.continuationNumber == 7 && device.timing?.latency == 1)
    #expect(device.timing?.supervisionTimeout == .seconds(5))
    let refused = Task { try await device.requestSubrate(request, timeout: nil) }
    guard case .link(peer, .requestSubrating(_)) = try await host.next() else { throw CancellationError() }
    host.say(.link(peer, .subrating(.failure(.unsupported("Connection Subrating")))))
    await expectThrows(.unsupported) { _ = try await refused.value }
    for invalid in [
      SubrateRequest(factor: 0...1), SubrateRequest(factor: 1...501), SubrateRequest(factor: 1...4, latency: -1),
      SubrateRequest(factor: 1...4, continuationNumber: 4), SubrateRequest(factor: 1...70_000),
      SubrateRequest(factor: 1...4, supervisionTimeout: .seconds(33)),
    ] {
      await expectThrows(.invalidArgument) { _ = try await device.requestSubrate(invalid) }
    }
  }

  @Test func aChangeOfTheConnectionRateHasAnOutcome() async throws {
    let device = try await link(try await host.open())
    let request = ConnectionRateRequest(
      interval: .milliseconds(1)...Duration.microseconds(1375), subrateFactor: 2...4, latency: 1, continuationNumber: 3)
    let changing = Task { try await device.requestConnectionRate(request, timeout: nil) }
    guard case .link(peer, .requestConnectionRate(let parameters)) = try await host.next() else {
      throw CancellationError()
    }
    await expectThrows(.invalidArgument) { _ = try await device.requestConnectionRate(request) }
    #expect(parameters.interval == 8...11 && parameters.subrating.factor == 2...4)
    #expect(parameters.subrating.continuation == 3 && parameters.subrating.supervisionTimeout == 600)
    let subrating = LinkSubrating(factor: 4, latency: 1, continuation: 3, supervisionTimeout: 500)
    host.say(.link(peer, .connectionRate(.success(LinkRate(interval: 9, subrating: subrating)))))
    let timing = try await changing.value
    #expect(timing.interval == .microseconds(1125) && timing.latency == 1)
    #expect(device.timing == timing && device.subrate?.factor == 4 && device.subrate?.continuationNumber == 3)
    // A change by the device, and requests that fail.
    let none = LinkSubrating(factor: 1, latency: 0, continuation: 0, supervisionTimeout: 500)
    host.say(.link(peer, .connectionRate(.success(LinkRate(interval: 60, subrating: none)))))
    for error in [HostError.unsupported("Shorter Connection Intervals"), .unsupportedByPeer("such")] {
      let refused = Task { try await device.requestConnectionRate(request, timeout: nil) }
      guard case .link(peer, .requestConnectionRate(_)) = try await host.next() else { throw CancellationError() }
      host.say(.link(peer, .connectionRate(.failure(error))))
      await expectThrows(.unsupported) { _ = try await refused.value }
      #expect(device.timing?.interval == .microseconds(7500) && device.subrate?.factor == 1)
    }
    let longest = Duration.milliseconds(2)
    for invalid in [
      ConnectionRateRequest(interval: .microseconds(250)...longest), ConnectionRateRequest(interval: .zero...longest),
      ConnectionRateRequest(interval: .seconds(-1)...longest),
      ConnectionRateRequest(interval: longest...Duration.seconds(5)),
      ConnectionRateRequest(interval: longest...Duration.seconds(1_000_000)),
      ConnectionRateRequest(interval: longest...longest, subrateFactor: 0...1),
      ConnectionRateRequest(interval: longest...longest, subrateFactor: 1...501),
      ConnectionRateRequest(interval: longest...longest, latency: -1),
      ConnectionRateRequest(interval: longest...longest, continuationNumber: 1),
      ConnectionRateRequest(interval: longest...longest, supervisionTimeout: .seconds(33)),
    ] {
      await expectThrows(.invalidArgument) { _ = try await device.requestConnectionRate(invalid) }
    }
  }

  @Test func valuesOfAllCharacteristicsHaveOneOrderAndAnEnd() async throws {
    let device = try await link(try await host.open())
    var values = try device.attributeValues().makeAsyncIterator()
    for (handle, octet) in [(3, 1), (5, 2), (3, 3)] as [(UInt16, UInt8)] {
      host.say(.client(peer, .notification(AttributeHandle(rawValue: handle), [octet])))
    }
    host.say(.link(peer, .disconnected(.connectionTimeout)))
    for (handle, octet) in [(3, 1), (5, 2), (3, 3)] as [(UInt16, UInt8)] {
      let value = try await values.next()
      #expect(value?.handle.rawValue == handle && value?.octets == [octet])
    }
    do throws(BLEError) {
      _ = try await values.next()
      Issue.record("no error")
    } catch {
      #expect(error.kind == .disconnected && error.disconnectReason == .connectionTimeout)
    }
  }

  @Test func connectionIsCancelledWithItsTask() async throws {
    let adapter = try await host.open()
    let connecting = Task { try await adapter.connect(to: address, timeout: nil) }
    guard case .initiating(.connect(let id, _, _, _)) = try await host.next() else { throw CancellationError() }
    connecting.cancel()
    await expectThrows(.cancelled) { _ = try await connecting.value }
    guard case .initiating(.cancel(id)) = try await host.next() else { Issue.record("another command"); return }
  }

  @Test func signalStrengthIsReadFromTheController() async throws {
    let device = try await link(try await host.open())
    let reading = Task { try await device.readRSSI() }
    guard case .link(peer, .readRSSI) = try await host.next() else { Issue.record("another command"); return }
    host.say(.link(peer, .rssi(.success(-50))))
    #expect(try await reading.value == -50)
  }

  @Test func operationAfterTheLossOfABondSaysWhatToDo() async throws {
    let device = try await link(try await host.open())
    host.say(.bonds(.lost(peer, address, .forgottenByPeer)))
    let discovering = Task { try await device.services() }
    guard case .link(_, .client(let operation)) = try await host.next() else { throw CancellationError() }
    host.say(.client(peer, .finished(operation.id, .failure(.notEncrypted))))
    let error = await #expect(throws: BLEError.self) { _ = try await discovering.value }
    #expect(error?.kind == .security)
    #expect(error?.description.contains("has forgotten this bond") == true)
  }

  /// The controllers end a link whose ends have different keys. Whether an operation has begun by then is chance.
  @Test func theLossOfABondIsTheErrorAlsoWhenItHasEndedTheLink() async throws {
    let device = try await link(try await host.open())
    let discovering = Task { try await device.services() }
    guard case .link(_, .client) = try await host.next() else { throw CancellationError() }
    host.say(.bonds(.lost(peer, address, .keysDiffer)), .link(peer, .disconnected(.terminatedMICFailure)))
    let reasons = [
      await #expect(throws: BLEError.self) { _ = try await discovering.value },
      await #expect(throws: BLEError.self) { _ = try await device.services() },
      #expect(throws: BLEError.self) { _ = try device.attributeValues() },
    ]
    for error in reasons {
      #expect(error?.kind == .security)
      #expect(error?.description.contains("has another key for this bond") == true)
    }
    let end = try await device.waitUntilDisconnected()
    #expect(end.kind == .disconnected && end.disconnectReason?.rawValue == 0x3D)
  }

  @Test func anOperationAfterTheEndOfItsLinkSaysWhyItEnded() async throws {
    let device = try await link(try await host.open())
    host.say(.bonds(.lost(peer, address, .keysDiffer)))
    let proven = SecurityState(level: .encrypted, keySize: 16, isBonded: true, isBondProven: true)
    host.say(.link(peer, .security(proven)), .link(peer, .disconnected(.connectionTimeout)))
    try await device.waitUntilDisconnected()
    let error = await #expect(throws: BLEError.self) { _ = try await device.services() }
    #expect(error?.kind == .disconnected)
    #expect(error?.description == "the link ended: Connection Timeout (0x08)")
  }

  @Test func theReasonsOfTheLast32EndsAreKept() {
    var links = EndedLinks()
    for number in 1...33 {
      let end = BLEError(.disconnected, "link \(number)")
      links.add(LinkID(rawValue: UInt32(number)), "device \(number)", end, end)
    }
    #expect(links.error(of: LinkID(rawValue: 2)).description == "link 2")
    #expect(links.error(of: LinkID(rawValue: 1)).description == BLEError.notConnected.description)
    #expect(links.name(of: LinkID(rawValue: 2)) == "device 2" && links.name(of: LinkID(rawValue: 1)) == nil)
  }

  @Test func aTimeoutNamesTheDevice() async throws {
    let adapter = try await host.open()
    let error = await #expect(throws: BLEError.self) {
      _ = try await adapter.connect(to: address, timeout: .milliseconds(1))
    }
    #expect(error?.description == "no connection to C0:00:00:00:00:09 (random) within 0.001 seconds")
    _ = (try await host.next(), try await host.next())
    let device = try await link(adapter)
    let pairing = await #expect(throws: BLEError.self) { try await device.pair(timeout: .milliseconds(1)) }
    #expect(pairing?.description == "no pairing with C0:00:00:00:00:09 (random) within 0.001 seconds")
  }

  /// The battery level of a device whose services the test makes up.
  private func batteryLevel(of device: RemoteDevice) async throws -> RemoteCharacteristic {
    async let discovery = device.service("180F")
    try await answer(.success(.services([DiscoveredService(handles: 1...5, uuid: "180F")])))
    try await answer(.success(.done))
    let found = DiscoveredCharacteristic(declaration: 2, properties: [.read, .notify], valueHandle: 3, uuid: "2A19")
    try await answer(.success(.characteristics([found])))
    return try #require(try await discovery["2A19"])
  }

  private func answer(_ result: Result<GATTClient.Outcome, GATTClientError>) async throws {
    guard case .link(_, .client(let operation)) = try await host.next() else { throw CancellationError() }
    host.say(.client(peer, .finished(operation.id, result)))
  }

  @Test func anErrorNamesTheCharacteristicAndNotItsHandle() async throws {
    let device = try await link(try await host.open())
    let level = try await batteryLevel(of: device)
    func failure(
      _ error: GATTClientError, _ body: @escaping @Sendable () async throws -> Void
    ) async throws -> String? {
      let operation = Task { try await body() }
      try await answer(.failure(error))
      return await #expect(throws: BLEError.self) { try await operation.value }?.description
    }
    #expect(
      try await failure(.errorResponse(.readNotPermitted, request: ReadRequest.opcode, handle: 3)) {
        _ = try await device.read(level)
      }
        == "Read Request (0x0A) for characteristic 2A19 rejected by the server: Read Not Permitted (0x02)")
    #expect(
      try await failure(.errorResponse(.writeNotPermitted, request: WriteRequest.opcode, handle: 3)) {
        try await device.write([1], to: level)
      } == "Write Request (0x12) for characteristic 2A19 rejected by the server: Write Not Permitted (0x03)")
    #expect(
      try await failure(.timedOut) { _ = try await device.read(level) }
        == "characteristic 2A19: operation failed: no response within 30 seconds. Disconnect and connect again")
    #expect(
      try await failure(.errorResponse(.writeNotPermitted, request: WriteRequest.opcode, handle: 4)) {
        for try await _ in device.values(of: level) {}
      }?.hasPrefix("the subscription to characteristic 2A19: Write Request") == true)
  }

  /// The refusal that made the host pair is reported after the failure of the pairing.
  @Test func aPairingOnDemandThatFailsIsTheErrorOfTheOperation() async throws {
    let device = try await link(try await host.open())
    let level = try await batteryLevel(of: device)
    let refused = GATTClientError.errorResponse(.insufficientAuthentication, request: ReadRequest.opcode, handle: 3)
    func read(_ events: HostEvent...) async throws -> BLEError? {
      let reading = Task { _ = try await device.read(level) }
      guard case .link(_, .client(let operation)) = try await host.next() else { throw CancellationError() }
      for event in events { host.say(event) }
      host.say(.client(peer, .finished(operation.id, .failure(refused))))
      return await #expect(throws: BLEError.self) { try await reading.value }
    }
    #expect(try await read()?.kind == .att(.insufficientAuthentication))
    let error = try await read(.pairing(peer, .failed(PairingFailure(.confirmValueFailed, .peer))))
    #expect(error?.kind == .security && error?.pairingFailure?.reason == 0x04)
    #expect(
      error?.description
        == "characteristic 2A19: the pairing failed, rejected by the peer: Confirm Value Failed (0x04). "
        + "Pair again with the digits that are shown")
    // A pairing that succeeded since then: it does not reach the level of the characteristic.
    let strength = KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: true)
    let paired = PairedDevice(identity: address, isBonded: true, strength: strength)
    #expect(try await read(.pairing(peer, .succeeded(paired)))?.kind == .att(.insufficientAuthentication))
  }

  @Test func scanEndsWithItsSequence() async throws {
    let adapter = try await host.open()
    let reading = Task { for try await _ in adapter.scan() {} }
    guard case .scanning(.start) = try await host.next() else { throw CancellationError() }
    reading.cancel()
    _ = await reading.result
    guard case .scanning(.stop) = try await host.next() else { Issue.record("another command"); return }
  }

  @Test func connectionsThatNobodyReadsKeepTheNewest256() async throws {
    let adapter = try await host.open()
    let connections = adapter.connections
    for number in UInt32(0)...257 {
      host.say(
        .connected(
          ConnectedLink(
            peer: LinkID(rawValue: 100 + number), address: .init(octets: .init(UInt64(number)), kind: .public),
            role: .peripheral, timing: LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500))))
    }
    await host.connection.untilTaken(259)
    adapter.close()
    var octets: [UInt64] = []
    for await device in connections { octets.append(UInt64(device.address.octets.value)) }
    #expect(octets == Array(2...257))
  }
}
