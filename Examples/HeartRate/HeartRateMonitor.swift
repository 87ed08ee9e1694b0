import BluetoothLE
import Synchronization

/// The peripheral: a chest strap that tells the heart rate to whoever subscribes.
final class HeartRateMonitor: NSObject, PeripheralManagerDelegate, Sendable {
  private let measurement = MutableCharacteristic(
    type: HeartRateProfile.measurement, properties: [.notify], value: nil, permissions: [])
  private let controlPoint = MutableCharacteristic(
    type: HeartRateProfile.controlPoint, properties: [.write], value: nil, permissions: [.writeable])
  private let batteryLevel = MutableCharacteristic(
    type: HeartRateProfile.batteryLevel, properties: [.read], value: nil, permissions: [.readable])
  private let adapter: AdapterOptions
  private let beats: Int
  private let queue = DispatchQueue(label: "heart-rate monitor")
  private let body = Mutex(Body())
  private let ending = AsyncStream.makeStream(of: (any Error)?.self)

  private struct Body {
    var manager: PeripheralManager?
    var beating: Task<Void, any Error>?
    var told = 0
    var energyExpended: UInt16 = 40
    var publishing = 0
  }

  init(adapter: AdapterOptions, beats: Int) {
    self.adapter = adapter
    self.beats = beats
  }

  /// Publishes and advertises, and ends when a central that listened has gone, for the `rounds`th time.
  func serve(_ rounds: Int) async throws {
    let manager = PeripheralManager(delegate: self, queue: queue, adapter: adapter)
    body.withLock { $0.manager = manager }
    defer { body.withLock { $0.manager = nil } }
    var left = rounds
    for await error in ending.stream {
      if let error { throw error }
      left -= 1
      if left == 0 { return }
    }
  }

  func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {
    switch peripheral.state {
    case .poweredOn:
      let services = services
      body.withLock { $0.publishing = services.count }
      for service in services { peripheral.add(service) }
    case .unsupported, .unauthorized: end(peripheral.stateReason ?? BluetoothError(.unknown))
    case .unknown, .resetting, .poweredOff: say("monitor", "the adapter is \(peripheral.state)")
    }
  }

  private var services: [MutableService] {
    let location = MutableCharacteristic(
      type: HeartRateProfile.bodySensorLocation, properties: [.read], value: Data([1]), permissions: [.readable])
    let heartRate = MutableService(type: HeartRateProfile.heartRate, primary: true)
    heartRate.characteristics = [measurement, location, controlPoint]
    let battery = MutableService(type: HeartRateProfile.battery, primary: true)
    battery.characteristics = [batteryLevel]
    let information = MutableService(type: HeartRateProfile.deviceInformation, primary: true)
    information.characteristics = [
      (HeartRateProfile.manufacturerName, "BluetoothLE for Swift"), (HeartRateProfile.modelNumber, "Chest strap 1"),
    ].map {
      MutableCharacteristic(type: $0.0, properties: [.read], value: Data($0.1.utf8), permissions: [.readable])
    }
    return [heartRate, battery, information]
  }

  func peripheralManager(_ peripheral: PeripheralManager, didAdd service: Service, error: (any Error)?) {
    if let error { return end(error) }
    say("monitor", "publishes \(service.uuid) with \(service.characteristics?.count ?? 0) characteristics")
    let isLast = body.withLock { body in
      body.publishing -= 1
      return body.publishing == 0
    }
    guard isLast else { return }
    peripheral.startAdvertising([
      AdvertisementDataLocalNameKey: "Strap", AdvertisementDataServiceUUIDsKey: [HeartRateProfile.heartRate],
    ])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?) {
    if let error { return end(error) }
    say("monitor", "advertises as \"Strap\"")
  }

  func peripheralManager(_ peripheral: PeripheralManager, didConnect central: Central) {
    say("monitor", "a central has connected")
  }

  /// One beat every fifth of a second, for as long as somebody listens and there are beats to tell.
  func peripheralManager(
    _ peripheral: PeripheralManager, central: Central, didSubscribeTo characteristic: Characteristic
  ) {
    say("monitor", "the central subscribes: \(beats) beats follow")
    let beating = Task { [weak self] in
      for beat in 0..<(self?.beats ?? 0) {
        try await Task.sleep(for: .milliseconds(200))
        try await self?.tell(beat)
      }
    }
    body.withLock { body in
      body.beating?.cancel()
      body.beating = beating
    }
  }

  private func tell(_ beat: Int) async throws {
    let (manager, energy) = body.withLock { body in
      body.energyExpended += 1
      return (body.manager, body.energyExpended)
    }
    let rate = UInt16(72 + [0, 2, 5, 3, 1][beat % 5])
    try await manager?.send(
      HeartRateMeasurement(beatsPerMinute: rate, energyExpended: energy).octets, for: measurement)
    body.withLock { $0.told += 1 }
  }

  func peripheralManager(
    _ peripheral: PeripheralManager, central: Central, didUnsubscribeFrom characteristic: Characteristic
  ) {
    say("monitor", "the central listens no more")
    body.withLock { $0.beating?.cancel() }
  }

  func peripheralManager(_ peripheral: PeripheralManager, didReceiveRead request: ATTRequest) {
    guard request.characteristic === batteryLevel, request.offset <= 1 else {
      return peripheral.respond(to: request, withResult: .invalidOffset)
    }
    request.value = Data([87]).dropFirst(request.offset)
    peripheral.respond(to: request, withResult: .success)
  }

  func peripheralManager(_ peripheral: PeripheralManager, didReceiveWrite requests: [ATTRequest]) {
    guard let first = requests.first else { return }
    let octets = requests.map { [UInt8]($0.value ?? Data()) }
    guard octets == [[HeartRateProfile.resetEnergyExpended]] else {
      say("monitor", "the control point does not know \(octets)")
      return peripheral.respond(to: first, withResult: HeartRateProfile.controlPointNotSupported)
    }
    body.withLock { $0.energyExpended = 0 }
    say("monitor", "the energy expended is back to 0 kJ")
    peripheral.respond(to: first, withResult: .success)
  }

  func peripheralManager(
    _ peripheral: PeripheralManager, didDisconnect central: Central, reason: DisconnectReason
  ) {
    let told = body.withLock { body in
      body.beating?.cancel()
      defer { body.told = 0 }
      return body.told
    }
    say("monitor", "the central has gone (\(reason)); it was told \(told) beats")
    // One that only looked around is no reason to stop.
    if told > 0 { end(nil) }
  }

  private func end(_ error: (any Error)?) { ending.continuation.yield(error) }
}
