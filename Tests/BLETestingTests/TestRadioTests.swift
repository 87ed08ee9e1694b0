import BLEKit
import BLETesting
import Synchronization
import Testing

/// A radio in virtual time, with programs on BLEKit.
struct TestRadioTests {
  /// A sensor with a value that a test sets, and a lamp.
  final class Sensor: Sendable {
    let level = Mutex<UInt8>(55)
    let written = Mutex<[[UInt8]]>([])

    var services: [LocalService] {
      [
        LocalService(
          "180F", [LocalCharacteristic("2A19").read { _ in self.level.withLock { $0 } }]),
        LocalService(
          "FFE0",
          [
            LocalCharacteristic("FFE1").write(kinds: [.withResponse, .withoutResponse]) { value, _ in
              self.written.withLock { $0.append(value) }
            }
          ]),
      ]
    }

    /// Serves them until the test ends.
    func serve(on device: TestDevice, of radio: TestRadio) async throws -> Task<Void, any Error> {
      let adapter = try await device.adapter()
      return Task(executorPreference: radio.executor) {
        try await adapter.serve(self.services, advertisingAs: "Sensor")
      }
    }
  }

  @Test func aCentralReadsAndWrites() async throws {
    let sensor = Sensor()
    let level = try await TestRadio.run { radio in
      let peripheral = try await radio.device("sensor")
      let serving = try await sensor.serve(on: peripheral, of: radio)
      defer { serving.cancel() }
      return try await radio.device("phone").adapter().withConnection(to: peripheral.address) { device in
        try await device.write([1, 2, 3], to: "FFE1", in: "FFE0")
        return try await device.read("2A19", in: "180F", as: UInt8.self)
      }
    }
    #expect(level == 55)
    #expect(sensor.written.withLock { $0 } == [[1, 2, 3]])
  }

  /// The 30 s of an ATT transaction (Vol 3, Part F, 3.3.3), and more: a handler that never returns.
  @Test func aTransactionThatIsNotAnsweredTakesNoTime() async throws {
    let (error, time) = try await TestRadio.run { radio in
      let peripheral = try await radio.device("sensor")
      let adapter = try await peripheral.adapter()
      let silent = LocalService(
        "FFE0",
        [
          LocalCharacteristic("FFE1").read { _ -> [UInt8] in
            try await radio.clock.sleep(for: .seconds(3600))
            return []
          }
        ])
      let serving = Task(executorPreference: radio.executor) { try await adapter.serve([silent], advertisingAs: "S") }
      defer { serving.cancel() }
      let phone = try await radio.device("phone").adapter()
      let begin = radio.clock.now
      let error = await #expect(throws: BLEError.self) {
        try await phone.withConnection(to: peripheral.address) { try await $0.read("FFE1", in: "FFE0") }
      }
      return (error, begin.duration(to: radio.clock.now))
    }
    #expect(error != nil)
    #expect(time >= .seconds(25) && time < .seconds(60))
  }

  @Test func bothEndsNoticeADeviceThatLeaves() async throws {
    let sensor = Sensor()
    try await TestRadio.run { radio in
      let peripheral = try await radio.device("sensor")
      let serving = try await sensor.serve(on: peripheral, of: radio)
      defer { serving.cancel() }
      let phone = try await radio.device("phone").adapter()
      let device = try await phone.connect(to: peripheral.address)
      try await peripheral.moveOutOfRange()
      let end = try await device.waitUntilDisconnected()
      #expect(end.disconnectReason == .connectionTimeout)
      // Nobody receives it, until it comes back.
      let missing = await #expect(throws: BLEError.self) {
        try await phone.connect(to: peripheral.address, timeout: .seconds(20))
      }
      #expect(missing?.kind == .timedOut)
      try await peripheral.moveIntoRange()
      let again = try await phone.connect(to: peripheral.address, timeout: .seconds(20))
      #expect(try await again.read("2A19", in: "180F", as: UInt8.self) == 55)
    }
  }

  @Test func adaptersSeeThatTheirControllerIsGoneAndBack() async throws {
    let sensor = Sensor()
    try await TestRadio.run { radio in
      let peripheral = try await radio.device("sensor")
      let serving = try await sensor.serve(on: peripheral, of: radio)
      defer { serving.cancel() }
      let phone = try await radio.device("phone")
      let adapter = try await phone.adapter()
      let device = try await adapter.connect(to: peripheral.address)
      try await phone.powerOff()
      try await device.waitUntilDisconnected()
      #expect(adapter.state == .poweredOff)
      try await phone.powerOn()
      let again = try await phone.adapter().connect(to: peripheral.address)
      #expect(again.isConnected)
    }
  }

  /// A device that is away and has no power is back when both are over, in whatever order; twice is as once.
  @Test(arguments: [true, false]) func powerAndRangeAreIndependent(_ isPoweredFirst: Bool) async throws {
    let sensor = Sensor()
    try await TestRadio.run { radio in
      let peripheral = try await radio.device("sensor")
      let serving = try await sensor.serve(on: peripheral, of: radio)
      defer { serving.cancel() }
      let phone = try await radio.device("phone").adapter()
      try await peripheral.powerOff()
      try await peripheral.moveOutOfRange()
      try await peripheral.powerOff()
      if isPoweredFirst { try await peripheral.powerOn() } else { try await peripheral.moveIntoRange() }
      await #expect(throws: BLEError.self) { try await phone.connect(to: peripheral.address, timeout: .seconds(5)) }
      if isPoweredFirst { try await peripheral.moveIntoRange() } else { try await peripheral.powerOn() }
      let device = try await phone.connect(to: peripheral.address, timeout: .seconds(5))
      try await peripheral.powerOn()
      try await radio.clock.sleep(for: .seconds(20))
      #expect(device.isConnected)
    }
  }

  /// A device that was reset has no key: the central learns that its bond is void.
  @Test func aForgottenBondIsNoticed() async throws {
    let sensor = Sensor()
    try await TestRadio.run { radio in
      let peripheral = try await radio.device("sensor")
      let serving = try await sensor.serve(on: peripheral, of: radio)
      defer { serving.cancel() }
      let phone = try await radio.device("phone").adapter()
      try await phone.withConnection(to: peripheral.address) { try await $0.pair() }
      #expect(phone.bonds.count == 1)
      try await phone.withConnection(to: peripheral.address) { device in
        try await device.pair()
        #expect(device.security.level > .none)
      }
      try await peripheral.forgetBonds()
      let lost = await #expect(throws: BLEError.self) {
        try await phone.withConnection(to: peripheral.address) { try await $0.pair() }
      }
      #expect(lost?.bondLoss != nil)
    }
  }

  /// A controller may discard the packets that it has when it is asked to end the link (Vol 6, Part B, 5.1.6): the keys
  /// of a pairing, and values.
  @Test func whatWasSentBeforeADisconnectArrives() async throws {
    let sensor = Sensor()
    try await TestRadio.run { radio in
      let peripheral = try await radio.device("sensor")
      let serving = try await sensor.serve(on: peripheral, of: radio)
      defer { serving.cancel() }
      let phone = try await radio.device("phone").adapter()
      let device = try await phone.connect(to: peripheral.address)
      try await device.pair()
      await device.disconnect()
      #expect(try await peripheral.adapter().bonds.count == 1)
      let again = try await phone.connect(to: peripheral.address)
      let characteristic = try #require(try await again.services().lazy.compactMap { $0["FFE1"] }.first)
      for number in 1...10 as ClosedRange<UInt8> {
        try await again.writeWithoutResponse([number], to: characteristic)
      }
      await again.disconnect()
    }
    #expect(sensor.written.withLock { $0 } == (1...10).map { [$0] })
  }

  /// Nobody acknowledges them: the end does not wait for that.
  @Test func aLinkToADeviceThatHasLeftEndsSoon() async throws {
    let sensor = Sensor()
    try await TestRadio.run { radio in
      let peripheral = try await radio.device("sensor")
      let serving = try await sensor.serve(on: peripheral, of: radio)
      defer { serving.cancel() }
      let phone = try await radio.device("phone").adapter()
      let device = try await phone.connect(to: peripheral.address)
      let characteristic = try #require(try await device.services().lazy.compactMap { $0["FFE1"] }.first)
      try await peripheral.moveOutOfRange()
      try await device.writeWithoutResponse([1], to: characteristic)
      let begin = radio.clock.now
      await device.disconnect()
      #expect(begin.duration(to: radio.clock.now) <= .seconds(1))
    }
  }

  /// The same seed gives the same packets, another one others.
  @Test func aSeedRepeatsARun() async throws {
    func times(seed: UInt64) async throws -> [Duration] {
      let sensor = Sensor()
      return try await TestRadio.run(seed: seed) { radio in
        let peripheral = try await radio.device("sensor")
        let serving = try await sensor.serve(on: peripheral, of: radio)
        defer { serving.cancel() }
        let phone = try await radio.device("phone")
        try await phone.setFaults([.losesReports(percent: 50)])
        var times: [Duration] = []
        for _ in 1...5 {
          let device = try await phone.adapter().connect(to: peripheral.address)
          times.append(radio.clock.now.sinceStart)
          try await device.write([1], to: "FFE1", in: "FFE0")
          times.append(radio.clock.now.sinceStart)
          await device.disconnect()
        }
        return times
      }
    }
    let first = try await times(seed: 7)
    #expect(try await times(seed: 7) == first)
    #expect(try await times(seed: 8) != first)
  }

  // MARK: Ends

  @Test func aTestThatDoesNotEndIsCancelled() async throws {
    let error = await #expect(throws: TestRadioError.self) {
      try await TestRadio.run(timeLimit: .seconds(100)) { radio in
        try await radio.clock.sleep(for: .seconds(200))
      }
    }
    #expect(error == .timeLimit(.seconds(100)))
  }

  @Test func aConditionThatIsNotMetFails() async throws {
    let error = await #expect(throws: TestRadioError.self) {
      try await TestRadio.run { radio in try await radio.wait(atMost: .seconds(3)) { false } }
    }
    #expect(error == .conditionNotMet(.seconds(3)))
  }

  @Test func theCancellationOfTheTaskCancelsTheTest() async throws {
    let running = Task {
      try await TestRadio.run(timeLimit: .seconds(1_000_000_000)) { radio in
        try await radio.inRealTime { try await Task.sleep(for: .seconds(3600)) }
      }
    }
    running.cancel()
    await #expect(throws: CancellationError.self) { try await running.value }
  }

  @Test func theErrorOfTheBodyIsThatOfTheTest() async throws {
    struct Mine: Error {}
    await #expect(throws: Mine.self) { try await TestRadio.run { _ in throw Mine() } }
  }

  @Test func aNameOfADeviceIsUnique() async throws {
    let error = await #expect(throws: TestRadioError.self) {
      try await TestRadio.run { radio in
        _ = try await radio.device("sensor")
        _ = try await radio.device("sensor")
      }
    }
    #expect(error == .nameInUse("sensor"))
  }

  /// What the test has left behind ends with the radio.
  @Test func whatIsLeftEndsWithTheRadio() async throws {
    let (adapter, waiting) = try await TestRadio.run { radio in
      let adapter = try await radio.device("left").adapter()
      let waiting = Task(executorPreference: radio.executor) { try await adapter.connect(to: .named("nobody")) }
      return (adapter, waiting)
    }
    await #expect(throws: BLEError.self) { try await waiting.value }
    #expect(adapter.state != .poweredOn)
  }

  /// Real time that is held, and the time of the radio.
  @Test func workInRealTimeHoldsTheRadio() async throws {
    let passed = try await TestRadio.run { radio in
      _ = try await radio.device("sensor").adapter()
      let begin = radio.clock.now
      let result = await radio.inRealTime { await Task.detached { 42 }.value }
      #expect(result == 42)
      return begin.duration(to: radio.clock.now)
    }
    #expect(passed == .zero)
  }
}
