import AdapterFixtures
import BLEATT
import BLEGAP
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

@testable import BLEKit

/// Searches and attempts to connect: one failed attempt is not the end. The test plays the host.
@Suite struct ConnectingTests {
  private let host = ScriptedHost()
  private let lamp = DeviceAddress(octets: BD_ADDR(0xC000_0000_0001), kind: .random)
  private let clock = DeviceAddress(octets: BD_ADDR(0xC000_0000_0002), kind: .random)
  private let peer = LinkID(rawValue: 9)
  private let notEstablished = HCIErrorCode.connectionFailedToBeEstablished

  private func advertise(
    _ address: DeviceAddress, _ name: String?, services: [BluetoothUUID] = [], isConnectable: Bool = true,
    isScanResponse: Bool = false
  ) throws {
    let payload = try Advertisement(localName: name, serviceUUIDs: services).payload(under: .full)
    host.say(
      .scanning(
        .discovered([
          ScanReport(
            address: address, isConnectable: isConnectable, isScanResponse: isScanResponse,
            data: payload.advertisingData,
            rssi: -50)
        ])))
  }

  /// The next command, which has to be a request to connect.
  private func nextConnect() async throws -> (ConnectID, DeviceAddress) {
    while true {
      switch try await host.next() {
      case .initiating(.connect(let id, let address, _, _)): return (id, address)
      case .scanning(.start), .scanning(.stop), .initiating(.cancel): break
      case let other:
        Issue.record("\(other)")
        throw CancellationError()
      }
    }
  }

  private func untilScanning() async throws {
    while true { if case .scanning(.start) = try await host.next() { return } }
  }

  private func connected(_ id: ConnectID, _ address: DeviceAddress, _ peer: LinkID) -> HostEvent {
    .connected(
      ConnectedLink(
        peer: peer, address: address, role: .central,
        timing: LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500), request: id))
  }

  // MARK: - Attempts

  @Test func anAttemptThatIsNotEstablishedIsRepeated() async throws {
    let adapter = try await host.open()
    let connecting = Task { try await adapter.connect(to: lamp, timeout: nil) }
    for _ in 0..<3 {
      let (id, _) = try await nextConnect()
      host.say(.connectionFailed(id, .controller(.leCreateConnection, notEstablished)))
    }
    let (id, address) = try await nextConnect()
    host.say(connected(id, address, peer), .link(peer, .mtu(ATT.defaultMTU)))
    #expect(try await connecting.value.address == lamp)
  }

  /// The controller reports a link before the device has sent anything.
  @Test func aLinkThatEndsBeforeAnythingWasReceivedIsAFailedAttempt() async throws {
    let adapter = try await host.open()
    let connecting = Task { try await adapter.connect(to: lamp, timeout: nil) }
    let (first, address) = try await nextConnect()
    host.say(connected(first, address, peer), .link(peer, .disconnected(notEstablished)))
    let (second, _) = try await nextConnect()
    let other = LinkID(rawValue: 10)
    host.say(connected(second, address, other), .link(other, .mtu(ATT.defaultMTU)))
    #expect(try await connecting.value.peer == other)
  }

  /// Afterwards an end is an end.
  @Test func aLinkThatEndsAfterSomethingWasReceivedIsNotMadeAgain() async throws {
    let adapter = try await host.open()
    let connecting = Task { try await adapter.connect(to: lamp, timeout: nil) }
    let (id, address) = try await nextConnect()
    host.say(connected(id, address, peer), .link(peer, .mtu(ATT.defaultMTU)))
    let device = try await connecting.value
    host.say(.link(peer, .disconnected(notEstablished)))
    #expect(try await device.waitUntilDisconnected().disconnectReason == .connectionFailedToBeEstablished)
    await expectThrows(.disconnected) { _ = try await device.readRSSI() }
  }

  @Test(arguments: [HCIErrorCode.remoteUserTerminatedConnection, .connectionTimeout, .terminatedMICFailure])
  func anotherEndOfANewLinkIsItsError(_ reason: HCIErrorCode) async throws {
    let adapter = try await host.open()
    let connecting = Task { try await adapter.connect(to: lamp, timeout: nil) }
    let (id, address) = try await nextConnect()
    host.say(connected(id, address, peer), .link(peer, .disconnected(reason)))
    do {
      _ = try await connecting.value
      Issue.record("no error")
    } catch let error as BLEError {
      #expect(error.kind == .disconnected && error.disconnectReason?.rawValue == reason.rawValue)
    }
  }

  @Test func theErrorAfterTheTimeoutHasTheNumberOfAttempts() async throws {
    var attempts = ConnectionAttempts(within: .seconds(3_600))
    let failure = BLEError(HostError.controller(.leCreateConnection, notEstablished))
    for _ in 0..<2 { try await attempts.failed(failure, "no connection to X") }
    do throws(BLEError) {
      try await attempts.failed(BLEError(.timedOut, "late"), "no connection to X")
      Issue.record("no error")
    } catch {
      #expect(error.kind == .timedOut && error.disconnectReason == .connectionFailedToBeEstablished)
      #expect(
        error.description
          == "no connection to X within 3600.0 seconds in 3 attempts: the controller rejected LE Create Connection (0x200D): "
          + "Connection Failed to be Established / Synchronization Timeout (0x3E)")
    }
    var once = ConnectionAttempts(within: .zero)
    do throws(BLEError) {
      try await once.failed(BLEError(.timedOut, "late"), "no connection to X")
      Issue.record("no error")
    } catch { #expect(error.description == "no connection to X within 0.0 seconds") }
  }

  /// The search that follows a failed attempt ends with the timeout.
  @Test func aDeviceThatIsNotFoundAgainWasNotConnectedTo() async throws {
    var attempts = ConnectionAttempts(within: .seconds(3_600))
    let absence = BLEError(.notFound, "no device")
    #expect(attempts.explained(absence) == absence)
    let failure = BLEError(HostError.controller(.leCreateConnection, notEstablished))
    try await attempts.failed(failure, "no connection to X", isAnotherPossible: true)
    let error = attempts.explained(absence)
    #expect(error.kind == .timedOut && error.disconnectReason == .connectionFailedToBeEstablished)
    #expect(
      error.description.hasPrefix("no connection to X within 3600.0 seconds in 1 attempt: the controller rejected"))
  }

  /// Another attempt does not help.
  @Test func anErrorThatIsNotAboutTheLinkEndsTheAttempts() async throws {
    var attempts = ConnectionAttempts(within: nil)
    try await attempts.failed(BLEError(HostError.controller(.leCreateConnection, notEstablished)), "")
    do throws(BLEError) {
      try await attempts.failed(BLEError(HostError.controller(.leCreateConnection, .commandDisallowed)), "")
      Issue.record("no error")
    } catch {
      #expect(error.kind == .unsupported)
      #expect(error.description.hasSuffix("Command Disallowed (0x0C) (after 1 failed attempt to connect)"))
    }
  }

  /// An address that the device may have changed is not tried until the timeout.
  @Test func anAttemptForAnAddressThatCanChangeIsShort() throws {
    let unlimited = ConnectionAttempts(within: nil)
    let short = ConnectionAttempts(within: .seconds(4))
    let resolvable = DeviceAddress(octets: BD_ADDR(0x4000_0000_0001), kind: .random)
    let fixed = DeviceAddress(octets: BD_ADDR(1), kind: .public)
    #expect(unlimited.limit(for: fixed) == nil)
    #expect(unlimited.limit(for: lamp) == ConnectionAttempts.longest)
    #expect(unlimited.limit(for: resolvable) == ConnectionAttempts.longest)
    #expect(try #require(short.limit(for: fixed)) > .seconds(2))
    #expect(try #require(short.limit(for: lamp)) > .seconds(2))
    #expect(try #require(short.limit(for: resolvable)) <= .seconds(2))
    #expect(ConnectionAttempts.longest > .milliseconds(10_240), "the longest advertising interval")
  }

  // MARK: - Searches

  @Test func aDeviceIsFoundWhenItsNameComesLater() async throws {
    let adapter = try await host.open()
    let search = Task { try await adapter.findDevice(named: "Lamp", timeout: nil) }
    try await untilScanning()
    try advertise(lamp, nil)
    try advertise(lamp, "Abc")
    try advertise(clock, "Lamp 2")
    try advertise(lamp, "Lamp", isScanResponse: true)
    let found = try await search.value
    #expect(found.address == lamp && found.name == "Lamp")
    while true { if case .scanning(.stop) = try await host.next() { break } }
  }

  @Test func aDeviceIsFoundByItsServiceItsAddressOrACondition() async throws {
    let adapter = try await host.open()
    let searches: [@Sendable () async throws -> ScanResult] = [
      { try await adapter.findDevice(advertising: "180D", timeout: nil) },
      { [lamp] in try await adapter.findDevice(at: lamp, timeout: nil) },
      { try await adapter.findDevice(timeout: nil) { $0.contents.serviceUUIDs.contains("180D") } },
    ]
    for search in searches {
      let searching = Task { try await search() }
      try await untilScanning()
      try advertise(clock, "Clock", services: ["1805"])
      try advertise(lamp, "Lamp", services: ["180D"])
      #expect(try await searching.value.address == lamp)
    }
  }

  @Test func aSearchWithoutResultSaysWhatItWasFor() async throws {
    let adapter = try await host.open()
    do {
      _ = try await adapter.findDevice(named: "Lamp", timeout: .milliseconds(1))
      Issue.record("no error")
    } catch {
      #expect(error.kind == .notFound)
      #expect(
        error.description
          == "no device named 'Lamp' was found within 0.001 seconds. Is it switched on, near, and not connected elsewhere?"
      )
    }
    let cancelled = Task { try await adapter.findDevice(named: "Lamp", timeout: nil) }
    cancelled.cancel()
    await expectThrows(.cancelled) { _ = try await cancelled.value }
  }

  @Test func aDeviceIsSearchedAgainAfterAFailedAttempt() async throws {
    let adapter = try await host.open()
    let moved = DeviceAddress(octets: BD_ADDR(0x4000_0000_0002), kind: .random)
    let connecting = Task { try await adapter.connect(to: .named("Lamp"), timeout: nil) }
    try await untilScanning()
    try advertise(lamp, "Lamp")
    let (first, _) = try await nextConnect()
    host.say(.connectionFailed(first, .controller(.leCreateConnection, notEstablished)))
    try await untilScanning()
    // It uses another private address.
    try advertise(moved, "Lamp")
    let (second, address) = try await nextConnect()
    #expect(address == moved)
    host.say(connected(second, address, peer), .link(peer, .mtu(ATT.defaultMTU)))
    #expect(try await connecting.value.address == moved)
  }

  /// The controller waits for an address that the device no longer uses.
  @Test func aDeviceThatUsesAnotherAddressIsSearchedAgain() async throws {
    let (executor, clock) = (ManualExecutor(), ManualClock())
    let adapter = try await host.open(
      clock: WaitClock(
        executor: executor, sleep: { try await clock.sleep(for: $0) }, now: { clock.now - .start }))
    func untilTheNextLimit(is time: Duration) async {
      repeat {
        executor.drain()
        await Task.yield()
      } while clock.deadline != .start + time
    }
    let (before, after) = (0x4000_0000_0001, 0x4000_0000_0002)
    let connecting = Task { try await adapter.connect(to: .named("Lamp"), timeout: .seconds(20)) }
    try await untilScanning()
    try advertise(DeviceAddress(octets: BD_ADDR(UInt64(before)), kind: .random), "Lamp")
    let (first, address) = try await nextConnect()
    #expect(address.octets.value == UInt64(before))
    await untilTheNextLimit(is: .seconds(10))
    clock.advance(to: .start + .seconds(10))
    executor.drain()
    while true {
      guard case .initiating(.cancel(first)) = try await host.next() else { continue }
      host.say(.connectionFailed(first, .cancelled))
      break
    }
    await untilTheNextLimit(is: .seconds(10) + ConnectionAttempts.pause)
    clock.advance(to: .start + (.seconds(10) + ConnectionAttempts.pause))
    try await untilScanning()
    try advertise(DeviceAddress(octets: BD_ADDR(UInt64(after)), kind: .random), "Lamp")
    let (second, other) = try await nextConnect()
    #expect(other.octets.value == UInt64(after))
    host.say(connected(second, other, peer), .link(peer, .mtu(ATT.defaultMTU)))
    #expect(try await connecting.value.address == other)
  }

  /// A device may alternate advertisements that accept connections with others.
  @Test func aSearchToConnectWaitsForAnAdvertisementThatAcceptsConnections() async throws {
    let adapter = try await host.open()
    let connecting = Task { try await adapter.connect(to: .named("Lamp"), timeout: nil) }
    try await untilScanning()
    try advertise(lamp, "Lamp", isConnectable: false)
    try advertise(lamp, nil, isConnectable: true)
    let (id, address) = try await nextConnect()
    host.say(connected(id, address, peer), .link(peer, .mtu(ATT.defaultMTU)))
    #expect(try await connecting.value.address == lamp)
  }

  @Test func aDeviceThatAcceptsNoConnectionsIsNamed() async throws {
    let adapter = try await host.open()
    // The report arrives while the scan begins, before its time.
    let payload = try Advertisement(localName: "Lamp").payload(under: .full)
    host.connection.whenWoken { [host, lamp] in
      host.say(
        .scanning(
          .discovered([
            ScanReport(
              address: lamp, isConnectable: false, isScanResponse: false, data: payload.advertisingData, rssi: -50)
          ])))
    }
    do {
      _ = try await adapter.search(.named("Lamp"), isToConnect: true, within: .milliseconds(1))
      Issue.record("no error")
    } catch {
      #expect(error.kind == .notFound)
      #expect(error.description.contains("but C0:00:00:00:00:01 (random) advertises without accepting any"))
    }
  }

  @Test func aResultOfAScanIsConnectedToOnItsPHYs() async throws {
    let adapter = try await host.open()
    let search = Task { try await adapter.findDevice(named: "Far", timeout: nil) }
    try await untilScanning()
    let payload = try Advertisement(localName: "Far").payload(under: .full)
    var scanReport = ScanReport(
      address: lamp, isConnectable: true, isScanResponse: false, data: payload.advertisingData, rssi: -90)
    (scanReport.isLegacy, scanReport.primaryPHY, scanReport.secondaryPHY) = (false, .leCoded, .leCoded)
    host.say(.scanning(.discovered([scanReport])))
    let found = try await search.value
    let connecting = Task { try await adapter.connect(to: found, timeout: nil) }
    while true {
      guard case .initiating(.connect(let id, let address, _, let initiating)) = try await host.next() else { continue }
      #expect(address == lamp && initiating.phys == .leCoded)
      host.say(connected(id, address, peer), .link(peer, .mtu(ATT.defaultMTU)))
      break
    }
    _ = try await connecting.value
  }

  // MARK: - The reason of an end

  @Test func aPairingThatTheEndOfTheLinkInterruptsHasItsReason() async throws {
    let adapter = try await host.open()
    let connecting = Task { try await adapter.connect(to: lamp, timeout: nil) }
    let (id, address) = try await nextConnect()
    host.say(connected(id, address, peer), .link(peer, .mtu(ATT.defaultMTU)))
    let device = try await connecting.value
    let pairing = Task { try await device.pair() }
    guard case .link(peer, .requestSecurity) = try await host.next() else { throw CancellationError() }
    host.say(
      .pairing(peer, .failed(PairingFailure(.unspecifiedReason, .linkLost, at: .features))),
      .link(peer, .disconnected(.connectionTimeout)))
    do {
      try await pairing.value
      Issue.record("no error")
    } catch let error as BLEError {
      #expect(error.kind == .security && error.pairingFailure != nil && error.disconnectReason == .connectionTimeout)
      #expect(
        error.description
          == "the pairing failed, because the link ended: Connection Timeout (0x08). Connect again, then pair")
    }
  }

  /// The client of the host fails its operations before the end of the link is reported.
  @Test func anOperationThatTheEndOfTheLinkInterruptsHasItsReason() async throws {
    let adapter = try await host.open()
    let connecting = Task { try await adapter.connect(to: lamp, timeout: nil) }
    let (id, address) = try await nextConnect()
    host.say(connected(id, address, peer), .link(peer, .mtu(ATT.defaultMTU)))
    let device = try await connecting.value
    let reading = Task { try await device.read(AttributeHandle(rawValue: 3)) }
    guard case .link(peer, .client(let operation)) = try await host.next() else { throw CancellationError() }
    host.say(
      .client(peer, .finished(operation.id, .failure(.linkEnded))),
      .link(peer, .disconnected(.remoteUserTerminatedConnection))
    )
    do {
      _ = try await reading.value
      Issue.record("no error")
    } catch let error as BLEError {
      #expect(error.kind == .disconnected && error.disconnectReason == .remoteUserTerminatedConnection)
      #expect(error.description == "the link ended: Remote User Terminated Connection (0x13)")
    }
  }
}
