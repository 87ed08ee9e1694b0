import BluetoothLE
import Foundation
import Synchronization
import Testing

/// The examples of the pages of BluetoothLE do what the pages say, over the simulated radio.
///
/// All tests of the process share it: these advertise no service of the SIG, which another test may look for.
@Suite struct PageExampleTests {
  private func open(_ name: String, _ options: AdapterOptions = AdapterOptions()) async throws -> Adapter {
    var options = options
    options.transport = "virtual:pages-\(name)"
    options.pairing.storage = .memory
    return try await Adapter.open(options, timeout: nil)
  }

  private static let nameless = Advertisement()

  /// The first device that advertises a service.
  private func find(_ service: BluetoothUUID, with adapter: Adapter) async throws -> DeviceAddress {
    for try await result in adapter.scan(ScanOptions(services: [service])) { return result.address }
    throw CancellationError()
  }

  @Test func theDoorIsReadAfterAPairingWithItsPasskey() async throws {
    let sensor = try await open("door", DoorSensor.adapterOptions())
    let reader = try await open("door-reader", readerOptions())
    let (digits, display) = AsyncStream.makeStream(of: String.self)
    let (changes, change) = AsyncStream.makeStream(of: Bool.self)
    let serving = Task { try await DoorSensor().serve(on: sensor, display: { display.yield($0) }, changes: changes) }
    defer { serving.cancel() }
    // Not found by its service, which the sensor of another test also has.
    let address = try #require(sensor.address)
    try await reader.withConnection(to: address, timeout: nil) { device in
      try await pairAuthenticated(with: device, on: reader) {
        for await passkey in digits { return UInt32(passkey) }
        return nil
      }
      #expect(device.security.level >= .authenticated && device.security.isBonded)
      let state = try await device.characteristic(DoorSensor.state, in: DoorSensor.service)
      #expect(try await device.read(state, as: Bool.self) == false)
      var states = try await device.values(of: state, as: Bool.self).subscribed()
      change.yield(true)
      // The state at the time of the subscription may come first.
      while try await states.next() == false {}
      #expect(try await device.read(state, as: Bool.self) == true)
      // A bond is as good as another pairing: nobody is asked.
      try await pairAuthenticated(with: device, on: reader) {
        Issue.record("asked again")
        return nil
      }
    }
    #expect(reader.bonds.map(\.isProtected) == [true])
    forgetUnprotectedBonds(of: reader)
    #expect(reader.bonds.count == 1)
  }

  @Test func aDeviceThatDoesNotTypeThePasskeyDoesNotPair() async throws {
    let sensor = try await open("closed-door", DoorSensor.adapterOptions())
    let reader = try await open("stranger", readerOptions())
    let changes = AsyncStream<Bool> { $0.finish() }
    let serving = Task { try await DoorSensor().serve(on: sensor, display: { _ in }, changes: changes) }
    defer { serving.cancel() }
    let address = try #require(sensor.address)
    try await reader.withConnection(to: address, timeout: nil) { device in
      let error = await #expect(throws: BLEError.self) {
        try await pairAuthenticated(with: device, on: reader) { nil }
      }
      #expect(error?.kind == .security)
      #expect(reader.bonds.isEmpty)
    }
  }

  @Test func temperaturesGoOnAfterALinkHasEnded() async throws {
    let sensor = try await open("thermometer")
    let follower = try await open("follower")
    let value = Mutex<Int16>(2100)
    let characteristic = LocalCharacteristic("2A6E").read { _ in value.withLock { $0 } }.notify()
    let serving = Task { try await sensor.serve([LocalService("181A", [characteristic])], advertising: Self.nameless) }
    defer { serving.cancel() }
    let (temperatures, received) = AsyncStream.makeStream(of: Int16.self)
    let address = try #require(sensor.address)
    let following = Task {
      defer { received.finish() }
      try await followTemperature(of: address, with: follower, pause: .zero) { received.yield($0) }
    }
    var links = sensor.connections.makeAsyncIterator()
    var values = temperatures.makeAsyncIterator()
    let first = try #require(await links.next())
    #expect(await values.next() == 2100)
    value.withLock { $0 = 2200 }
    await first.disconnect()
    _ = await links.next()
    #expect(await values.next() == 2200)
    following.cancel()
    await #expect(throws: (any Error).self) { try await following.value }
  }

  @Test func whatAnotherAttemptDoesNotChangeIsThrown() async throws {
    let sensor = try await open("other-sensor")
    let follower = try await open("other-follower")
    let serving = Task { try await sensor.serve([LocalService("180F", [])], advertising: Self.nameless) }
    defer { serving.cancel() }
    let address = try #require(sensor.address)
    let error = await #expect(throws: BLEError.self) {
      try await followTemperature(of: address, with: follower, pause: .zero) { _ in }
    }
    #expect(error?.kind == .notFound)
  }

  @Test func theLevelIsWrittenWithinItsRange() async throws {
    let lamp = try await open("lamp")
    let (levels, change) = AsyncStream.makeStream(of: UInt8.self)
    let serving = Task { try await serveLevel(on: lamp) { change.yield($0) } }
    defer { serving.cancel() }
    let central = try await open("lamp-central")
    let address = try #require(lamp.address)
    try await central.withConnection(to: address, timeout: nil) { device in
      let level = try await device.characteristic(LevelledLamp.level, in: LevelledLamp.service)
      #expect(try await device.read(level, as: UInt8.self) == 50)
      try await device.write(UInt8(100), to: level)
      await #expect(throws: BLEError.self) { try await device.write(UInt8(101), to: level) }
      #expect(try await device.read(level, as: UInt8.self) == 100)
    }
    change.finish()
    #expect(await levels.reduce(into: []) { $0.append($1) } == [100])
  }

  @Test func theLightIsSwitchedOnAnEncryptedLink() async throws {
    let light = try await open("light")
    let central = try await open("switch")
    let (states, state) = AsyncStream.makeStream(of: Bool.self)
    let serving = Task { try await serveLight(on: light) { state.yield($0) } }
    defer { serving.cancel() }
    #expect(try await switchLight(on: true, with: central) == true)
    for await isOn in states {
      #expect(isOn)
      break
    }
    #expect(central.bonds.count == 1)
  }

  @Test func theCounterIsNotifiedAndDumped() async throws {
    let counter = try await open("counter")
    let central = try await open("counter-reader")
    let serving = Task { try await serveCounter(on: counter, every: .zero) }
    defer { serving.cancel() }
    let address = try await find("50DB505C-8AC4-4738-8448-3B1D9CC09CC5", with: central)
    try await central.withConnection(to: address, timeout: nil) { device in
      let lines = try await dump(device)
      #expect(lines.contains("service 50DB505C-8AC4-4738-8448-3B1D9CC09CC5"))
      #expect(lines.contains { $0.contains("486F64C6-4B5F-4B3B-8AFF-EDE134A8446A") && $0.contains("Notify") })
      #expect(lines.contains { $0.hasSuffix(" 2902") })
      let value = try await device.characteristic(
        "486F64C6-4B5F-4B3B-8AFF-EDE134A8446A", in: "50DB505C-8AC4-4738-8448-3B1D9CC09CC5")
      var counts = try await device.values(of: value, as: UInt32.self).subscribed()
      let (one, other) = (try await counts.next(), try await counts.next())
      #expect(try #require(other) > #require(one))
    }
  }

  @Test func theHeartRateIsPrinted() async throws {
    let monitor = try await open("monitor")
    let central = try await open("monitor-reader")
    let services = [
      LocalService("180F", [LocalCharacteristic("2A19").value(UInt8(97))]),
      LocalService(
        "180D",
        [
          LocalCharacteristic("2A37").notify { subscriber in
            while true { try await subscriber.send([0, 60]) }
          }
        ]),
    ]
    let publication = try await monitor.publish(services)
    let advertising = Task { try await monitor.advertise(Advertisement(localName: "Page monitor")) }
    defer { advertising.cancel() }
    try await printHeartRate(of: "Page monitor", with: central, count: 2)
    await publication.remove()
    // The end of the time ends the scan without an error.
    _ = try await findDevices(with: central, for: .zero)
  }

  @Test func aSignalEndsTheSensorsOfAllAdapters() async {
    let result = await #expect(processExitsWith: .exitCode(0), observing: [\.standardOutputContent]) {
      Task {
        let reader = try await Adapter.open(AdapterOptions(transport: "virtual:reader"))
        var addresses: Set<DeviceAddress> = []
        for try await result in reader.scan(ScanOptions(services: ["181A"])) {
          addresses.insert(result.address)
          if addresses.count == 2 { break }
        }
        kill(getpid(), SIGTERM)
      }
      await runSensors(on: ["virtual:one", "virtual:two"])
    }
    let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
    #expect(output.contains("virtual:one: ready as ") && output.contains("virtual:two: ready as "))
  }
}
