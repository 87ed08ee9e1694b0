import BLEProfiles
import BluetoothLE
import Synchronization

/// The peripheral: a chest strap that sends the heart rate to each subscriber.
final class HeartRateMonitor: Sendable {
  private let options: AdapterOptions
  private let beats: Int
  private let body = Mutex(Body())
  /// The number of measurements sent on each link that has ended.
  private let ends = AsyncStream.makeStream(of: Int.self)

  private struct Body {
    var energyExpended: UInt16 = 40
    /// The measurements sent to each device that is connected.
    var sent: [RemoteDevice: Int] = [:]
  }

  init(adapter options: AdapterOptions, beats: Int) {
    self.options = options
    self.beats = beats
  }

  /// Publishes and advertises, and ends when a central that subscribed has disconnected, for the `rounds`th time.
  func serve(_ rounds: Int) async throws {
    let adapter = Adapter(options)
    // The first of them to end, or to throw, ends the others.
    try await withThrowingTaskGroup { group in
      group.addTask { try await self.watch(adapter) }
      group.addTask { try await self.advertise(on: adapter) }
      group.addTask { await self.follow(adapter.connections) }
      group.addTask { await self.count(rounds) }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Ends when the adapter cannot be used.
  private func watch(_ adapter: Adapter) async throws {
    for await state in adapter.states {
      switch state {
      case .unknown, .poweredOn: break
      case .unsupported, .unauthorized:
        if let reason = adapter.stateReason { throw reason }
        throw Disappointment("the adapter is \(state)")
      case .resetting, .poweredOff:
        say("monitor", "the adapter is \(state)\(adapter.stateReason.map { ": \($0)" } ?? "")")
      }
    }
  }

  private func advertise(on adapter: Adapter) async throws {
    do {
      try await adapter.waitUntilPoweredOn()
    } catch {
      throw adapter.stateReason ?? error
    }
    let services = services
    let publication = try await adapter.publish(services)
    for service in services {
      say("monitor", "publishes \(service.uuid) with \(service.characteristics.count) characteristics")
    }
    say("monitor", "advertises as \"Strap\"")
    try await adapter.advertise(Advertisement(localName: "Strap", serviceUUIDs: [HeartRate.service]))
    withExtendedLifetime(publication) {}
  }

  private var services: [LocalService] {
    var information = DeviceInformation()
    information.manufacturerName = "BluetoothLE for Swift"
    information.modelNumber = "Chest strap 1"
    let heartRate = LocalService(
      HeartRate.service,
      [
        LocalCharacteristic(HeartRate.measurement).notify { try await self.send(to: $0) },
        LocalCharacteristic(HeartRate.bodySensorLocation).value(BodySensorLocation.chest),
        // All commands, so that unsupported ones are printed.
        LocalCharacteristic(HeartRate.controlPoint).write { octets, _ in try self.control(octets) },
      ])
    return [heartRate, Battery.localService { BatteryLevel(percent: 87) }, information.localService()]
  }

  /// One measurement every 200 ms, until the subscription ends or all are sent.
  private func send(to subscriber: Subscriber) async throws {
    say("monitor", "the central subscribes: \(beats) beats follow")
    for beat in 0..<beats {
      try await Task.sleep(for: .milliseconds(200))
      let energy = body.withLock { body in
        body.energyExpended += 1
        body.sent[subscriber.device, default: 0] += 1
        return body.energyExpended
      }
      let rate = UInt16(72 + [0, 2, 5, 3, 1][beat % 5])
      try await subscriber.send(HeartRateMeasurement(beatsPerMinute: rate, contact: .detected, energyExpended: energy))
    }
  }

  private func control(_ octets: [UInt8]) throws {
    guard HeartRateCommand(octets: octets) == HeartRateCommand(.resetEnergyExpended) else {
      say("monitor", "control point: unsupported value 0x\(octets.map(Self.hexadecimal).joined())")
      throw HeartRate.controlPointNotSupported
    }
    body.withLock { $0.energyExpended = 0 }
    say("monitor", "the energy expended is reset to 0 kJ")
  }

  private static func hexadecimal(_ octet: UInt8) -> String {
    (octet < 16 ? "0" : "") + String(octet, radix: 16, uppercase: true)
  }

  /// Reports each link, from its connection to its end.
  private func follow(_ connections: AsyncStream<RemoteDevice>) async {
    await withDiscardingTaskGroup { links in
      for await device in connections {
        say("monitor", "a central has connected")
        links.addTask {
          guard let reason = try? await device.waitUntilDisconnected() else { return }
          let sent = self.body.withLock { $0.sent.removeValue(forKey: device) ?? 0 }
          say("monitor", "\(reason); \(sent) beats were sent")
          self.ends.continuation.yield(sent)
        }
      }
    }
  }

  /// Ends with the last round. A link without measurements does not count.
  private func count(_ rounds: Int) async {
    var left = rounds
    for await sent in ends.stream where sent > 0 {
      left -= 1
      if left == 0 { return }
    }
  }
}
