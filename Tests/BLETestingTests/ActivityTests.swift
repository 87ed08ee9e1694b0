import BLEKit
import BLETesting
import Testing

/// What devices do on their links, and what a test expects of them.
struct ActivityTests {
  /// A sensor with a value that is read and written, and one that is updated by each write.
  private static func sensor(_ radio: TestRadio) async throws -> (TestDevice, Task<Void, any Error>) {
    let sensor = try await radio.device("sensor")
    let adapter = try await sensor.adapter()
    let services = [
      LocalService(
        "FFE0",
        [
          LocalCharacteristic("FFE1").read { _ in UInt8(7) }.write { value, _ in
            if value.isEmpty { throw ATTErrorCode.invalidAttributeValueLength }
          },
          LocalCharacteristic("FFE2").notify { try await $0.send([9]) },
        ])
    ]
    return (
      sensor,
      Task(executorPreference: radio.executor) { try await adapter.serve(services, advertisingAs: "Sensor") }
    )
  }

  @Test func bothEndsHaveTheActionsOfALink() async throws {
    try await TestRadio.run { radio in
      let (sensor, serving) = try await Self.sensor(radio)
      defer { serving.cancel() }
      let phone = try await radio.device("phone")
      let device = try await phone.adapter().connect(to: sensor.address)
      try await device.pair()
      _ = try await device.read("FFE1", in: "FFE0")
      try await device.write([1, 2], to: "FFE1", in: "FFE0")
      try await device.write([UInt8](repeating: 3, count: 300), to: "FFE1", in: "FFE0")
      _ = try? await device.write([], to: "FFE1", in: "FFE0")
      for try await value in device.values(of: "FFE2", in: "FFE0", as: [UInt8].self) {
        #expect(value == [9])
        break
      }
      await device.disconnect()
      let expected: [LinkAction] = [
        .connected, .paired, .read("FFE1"), .written("FFE1", [1, 2]),
        .written("FFE1", [UInt8](repeating: 3, count: 300)), .written("FFE1", []),
        .refused("FFE1", .invalidAttributeValueLength), .subscribed("FFE2"), .updated("FFE2", [9]),
        .unsubscribed("FFE2"), .disconnected(),
      ]
      for end in [phone, sensor] {
        let actions = try await end.activity().map(\.action)
        #expect(actions.count == expected.count, "\(actions)")
        for (action, wanted) in zip(actions, expected) { #expect(wanted.includes(action), "\(action), not \(wanted)") }
      }
      let isOfPeer = try await sensor.activity().map(\.isOfPeer)
      #expect(isOfPeer == [false, false, true, true, true, true, false, true, false, true, false])
      // The bond has the attributes: nothing is discovered on the next link.
      let again = try await phone.adapter().connect(to: sensor.address)
      try await again.pair()
      _ = try await again.read("FFE1", in: "FFE0")
      try await sensor.expect(.disconnected(), .connected, .encrypted, .read("FFE1"), within: .seconds(1))
    }
  }

  @Test func whatIsMissingIsSaidWithWhatHasHappened() async throws {
    try await TestRadio.run { radio in
      let (sensor, serving) = try await Self.sensor(radio)
      defer { serving.cancel() }
      let device = try await radio.device("phone").adapter().connect(to: sensor.address)
      try await device.write([1], to: "FFE1", in: "FFE0")
      let begin = radio.clock.now
      let error = await #expect(throws: TestRadioError.self) {
        try await sensor.expect(.connected, .subscribed("FFE2"), within: .seconds(3))
      }
      #expect(begin.duration(to: radio.clock.now) >= .seconds(3))
      let text = "\(try #require(error))"
      #expect(text.contains("sensor: not subscribed FFE2 within 3.0 seconds after"), "\(text)")
      #expect(text.contains("s: written FFE1 = 01"), "\(text)")
    }
  }

  @Test func theNextExpectationBeginsAfterTheLastOne() async throws {
    try await TestRadio.run { radio in
      let (sensor, serving) = try await Self.sensor(radio)
      defer { serving.cancel() }
      let device = try await radio.device("phone").adapter().connect(to: sensor.address)
      try await device.write([1], to: "FFE1", in: "FFE0")
      try await sensor.expect(.written("FFE1"))
      await #expect(throws: TestRadioError.self) { try await sensor.expect(.written("FFE1"), within: .seconds(1)) }
      try await device.write([2], to: "FFE1", in: "FFE0")
      let found = try await sensor.expect(.written("FFE1"))
      #expect(found.first?.action == .written("FFE1", [2]))
    }
  }

  @Test func anUnwantedActionFails() async throws {
    try await TestRadio.run { radio in
      let (sensor, serving) = try await Self.sensor(radio)
      defer { serving.cancel() }
      let device = try await radio.device("phone").adapter().connect(to: sensor.address)
      try await sensor.expectNone(of: .written(), .disconnected(), for: .seconds(5))
      async let _ = {
        try await radio.clock.sleep(for: .seconds(1))
        try await device.write([1], to: "FFE1", in: "FFE0")
      }()
      let error = await #expect(throws: TestRadioError.self) {
        try await sensor.expectNone(of: .written("FFE1"), for: .seconds(5))
      }
      #expect(error.map { "\($0)" }?.contains("written FFE1 = 01") == true)
    }
  }

  /// The device is found among many.
  @Test func aCrowdedRadioHasManyAdvertisers() async throws {
    try await TestRadio.run { radio in
      let (sensor, serving) = try await Self.sensor(radio)
      defer { serving.cancel() }
      try await radio.addAdvertisers(100)
      let phone = try await radio.device("phone").adapter()
      var names: Set<String> = []
      for try await report in phone.scan() {
        if let name = report.name { names.insert(name) }
        if names.count == 101 { break }
      }
      #expect(names.contains("Sensor") && names.contains("Other 100"))
      let device = try await phone.connect(to: sensor.address)
      #expect(try await device.read("FFE1", in: "FFE0") == [7])
    }
  }
}
