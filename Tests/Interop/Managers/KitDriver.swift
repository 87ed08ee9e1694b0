import BluetoothLE

/// Connections of BLEKit that lines direct: to an address, without a scan, with a timing.
@MainActor final class KitDriver {
  private let name: String
  private let adapter: Adapter
  private let channels: KitChannels
  private let attempts: Attempts
  private var device: RemoteDevice?

  init(_ name: String, on options: AdapterOptions) {
    self.name = name
    adapter = Adapter(options)
    attempts = Attempts(name)
    channels = KitChannels(attempts, name, on: adapter)
  }

  func perform(_ words: [String]) -> Bool {
    let numbers = words.compactMap { Int($0) }
    switch (words.first, words.count) {
    case ("connect", 2), ("connect", 6):
      guard let address = DeviceAddress(words[1], kind: .public) else { return false }
      let timing = words.count == 6 ? Self.timing(Array(words.dropFirst(2)).compactMap { Int($0) }) : nil
      attempt { driver in
        try await driver.adapter.waitUntilPoweredOn(timeout: .seconds(20))
        let device = try await driver.adapter.connect(to: address, timing: timing ?? ConnectionParameterRequest())
        driver.device = device
        driver.reportEnd(of: device)
        return "connected \(address) \(Self.text(device.timing))"
      }
    case ("update", 5):
      let timing = Self.timing(numbers)
      attempt { driver in
        try await driver.connected().updateConnectionParameters(timing)
        return "asked"
      }
    case ("timing", 1): attempt { driver in "timing \(Self.text(try driver.connected().timing))" }
    case ("read", 3):
      guard let service = BluetoothUUID(words[1]), let characteristic = BluetoothUUID(words[2]) else { return false }
      attempt { driver in
        let octets = try await driver.connected().read(characteristic, in: service)
        let security = try driver.connected().security
        return "value \(octets.map { String(format: "%02x", $0) }.joined()) \(security)"
      }
    case ("address", 1):
      attempt { driver in
        try await driver.adapter.waitUntilPoweredOn(timeout: .seconds(20))
        return "address \(driver.adapter.address.map { "\($0)" } ?? "unknown")"
      }
    case ("settle", 1): attempts.settle()
    case ("pair", 1):
      attempt { driver in
        try await driver.connected().pair()
        return "paired"
      }
    case ("write", 4), ("writes", 4):
      guard let service = BluetoothUUID(words[1]), let characteristic = BluetoothUUID(words[2]),
        let count = numbers.last
      else { return false }
      let repeats = words[0] == "writes"
      attempt { driver in
        let device = try driver.connected()
        let found = try await device.characteristic(characteristic, in: service)
        repeat { try await device.write([UInt8](repeating: UInt8(ascii: "w"), count: count), to: found) } while repeats
        return "wrote \(count)"
      }
    case ("subscribe", 3):
      guard let service = BluetoothUUID(words[1]), let characteristic = BluetoothUUID(words[2]) else { return false }
      attempt { driver in
        let device = try driver.connected()
        for try await value in device.values(of: try await device.characteristic(characteristic, in: service)) {
          say("\(driver.name) notified \(value.count)")
        }
        return "unsubscribed"
      }
    case ("database", 1):
      attempt { driver in
        let device = try driver.connected()
        let services = try await device.services()
        for service in services { try await driver.describe(service, of: device) }
        return "database \(services.count) \(device.mtu)"
      }
    case ("forget", 1):
      attempt { driver in
        for bond in driver.adapter.bonds { driver.adapter.remove(bond) }
        return "forgotten"
      }
    case ("disconnect", 1):
      attempt { driver in
        try await driver.connected().disconnect()
        return "disconnected"
      }
    default: return channels.perform(words, on: device)
    }
    return true
  }

  private func reportEnd(of device: RemoteDevice) {
    Task { @MainActor in
      guard let reason = try? await device.waitUntilDisconnected() else { return }
      say("\(name) ended \(device.address): \(reason)")
    }
  }

  /// Prints a service with all its values. A value with the property write is replaced by its complement, and printed
  /// again.
  private func describe(_ service: RemoteService, of device: RemoteDevice) async throws {
    say("\(name) service \(service.handles.lowerBound) \(service.handles.upperBound) \(service.uuid)")
    for characteristic in service.characteristics {
      let place = "\(characteristic.handle) \(characteristic.properties.rawValue) \(characteristic.uuid)"
      let value = await Self.value { try await device.read(characteristic) }
      say("\(name) characteristic \(place) \(Self.text(value))")
      if characteristic.properties.contains(.write), case .success(let octets) = value {
        let written = await Self.value {
          try await device.write(octets.map { ~$0 }, to: characteristic)
          return try await device.read(characteristic)
        }
        say("\(name) written \(characteristic.handle) \(Self.text(written))")
      }
      for descriptor in try await device.descriptors(of: characteristic) {
        let value = await Self.value { try await device.read(descriptor) }
        say("\(name) descriptor \(descriptor.handle) \(descriptor.uuid) \(Self.text(value))")
      }
    }
  }

  private static func value(_ read: () async throws -> [UInt8]) async -> Result<[UInt8], any Error> {
    do { return .success(try await read()) } catch { return .failure(error) }
  }

  private static func text(_ value: Result<[UInt8], any Error>) -> String {
    switch value {
    case .success(let octets): octets.map { String(format: "%02x", $0) }.joined()
    case .failure(let error): "error \(error)"
    }
  }

  private func attempt(_ body: @escaping @MainActor @Sendable (KitDriver) async throws -> String) {
    attempts.start { try await body(self) }
  }

  private func connected() throws -> RemoteDevice {
    struct NotConnected: Error {}
    guard let device else { throw NotConnected() }
    return device
  }

  private static func timing(_ numbers: [Int]) -> ConnectionParameterRequest {
    guard numbers.count == 4 else { return ConnectionParameterRequest() }
    return ConnectionParameterRequest(
      interval: .milliseconds(numbers[0])...Duration.milliseconds(numbers[1]), latency: numbers[2],
      supervisionTimeout: .milliseconds(numbers[3]))
  }

  private static func text(_ timing: ConnectionTiming?) -> String {
    guard let timing else { return "no link" }
    func milliseconds(_ duration: Duration) -> String { "\(duration / .milliseconds(1))" }
    return "interval \(milliseconds(timing.interval)) latency \(timing.latency) "
      + "timeout \(milliseconds(timing.supervisionTimeout))"
  }
}
