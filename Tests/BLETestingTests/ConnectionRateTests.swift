import BLEKit
import BLETesting
import Testing

/// Shorter connection intervals between two adapters (Vol 4, Part E, 7.8.154), in virtual time.
struct ConnectionRateTests {
  private static let able: VirtualControllerConfiguration = {
    var configuration = VirtualControllerConfiguration()
    configuration.version = 16
    configuration.connectionIntervals = VirtualConnectionIntervals(minimum: 8)
    return configuration
  }()
  private static let plain = VirtualControllerConfiguration()
  private static let fast = ConnectionRateRequest(interval: .milliseconds(1)...Duration.milliseconds(2))

  /// Connects a central with one controller to a peripheral with another one.
  private static func meet<Value: Sendable>(
    _ peripheral: VirtualControllerConfiguration, _ central: VirtualControllerConfiguration,
    _ body: @escaping @Sendable (RemoteDevice, TestRadio) async throws -> Value
  ) async throws -> Value {
    try await TestRadio.run { radio in
      let sensor = try await radio.device("sensor", controller: peripheral)
      let adapter = try await sensor.adapter()
      let services = [LocalService("180F", [LocalCharacteristic("2A19").read { _ in UInt8(55) }])]
      let serving = Task(executorPreference: radio.executor) {
        try await adapter.serve(services, advertisingAs: "Sensor")
      }
      defer { serving.cancel() }
      return try await radio.device("phone", controller: central).adapter().withConnection(to: sensor.address) {
        try await body($0, radio)
      }
    }
  }

  /// The time of a read, after one that has discovered the services.
  private static func read(_ device: RemoteDevice, _ radio: TestRadio) async throws -> Duration {
    _ = try await device.read("2A19", in: "180F", as: UInt8.self)
    let begin = radio.clock.now
    _ = try await device.read("2A19", in: "180F", as: UInt8.self)
    return begin.duration(to: radio.clock.now)
  }

  @Test func aRequestMakesTheLinkFaster() async throws {
    try await Self.meet(Self.able, Self.able) { device, radio in
      let slow = try await Self.read(device, radio)
      #expect(slow > .milliseconds(15))
      let timing = try await device.requestConnectionRate(Self.fast)
      #expect(timing.interval == .milliseconds(1) && timing.supervisionTimeout == .seconds(6))
      #expect(device.timing == timing && device.subrate?.factor == 1)
      let fast = try await Self.read(device, radio)
      #expect(fast <= .milliseconds(4))
      // With subrating, and then in units of 1.25 ms again.
      let request = ConnectionRateRequest(
        interval: .microseconds(1125)...Duration.milliseconds(2), subrateFactor: 10...10, continuationNumber: 9)
      #expect(try await device.requestConnectionRate(request).interval == .microseconds(1125))
      #expect(device.subrate?.factor == 10 && device.subrate?.continuationNumber == 9)
      let update = ConnectionParameterRequest(interval: .milliseconds(30)...Duration.milliseconds(30))
      #expect(try await device.updateConnectionParameters(update).interval == .milliseconds(30))
      #expect(device.subrate?.factor == 1)
    }
  }

  @Test(arguments: [false, true]) func theErrorSaysWhichEndLacksIt(_ isDevice: Bool) async throws {
    let (able, plain) = (Self.able, Self.plain)
    let error = try await Self.meet(isDevice ? plain : able, isDevice ? able : plain) { device, _ in
      await #expect(throws: BLEError.self) { _ = try await device.requestConnectionRate(Self.fast) }
    }
    let text = "\(isDevice ? "the device" : "the controller") has no Shorter Connection Intervals"
    #expect(error?.kind == .unsupported)
    #expect(error.map { "\($0)".contains(text) } == true, "\(String(describing: error))")
  }

  @Test func anIntervalBelowThoseOfTheControllerIsRejected() async throws {
    let error = try await Self.meet(Self.able, Self.able) { device, _ in
      let request = ConnectionRateRequest(interval: .microseconds(375)...Duration.microseconds(875))
      return await #expect(throws: BLEError.self) { _ = try await device.requestConnectionRate(request) }
    }
    #expect(error?.kind == .invalidArgument)
  }
}
