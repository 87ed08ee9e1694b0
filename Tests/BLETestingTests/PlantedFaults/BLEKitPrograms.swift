import BLEKit
import BLETesting
import Synchronization

/// Programs on BLEKit.
extension PlantedFault {
  /// The device was reset: its bond has to be removed, and a new one made.
  static let goesOnWithoutBond = PlantedFault(
    testDescription: "a lost bond",
    plan: IncidentPlan(of: ["lock"], [.forgetsBonds], count: 1...2, within: .seconds(20))
  ) { radio, isPlanted in
    let lock = try await radio.device("lock")
    let secret = LocalCharacteristic("FFE1").value(UInt8(7), security: .encrypted)
    let adapter = try await lock.adapter()
    async let _ = adapter.serve([LocalService("FFE0", [secret])], advertisingAs: "Lock")
    let phone = try await radio.device("phone").adapter()
    for _ in 1...3 {
      do {
        if try await !isRead(lock.address, with: phone, isPlanted) {
          _ = try await isRead(lock.address, with: phone, isPlanted)
        }
      } catch let error as BLEError {
        throw Found("the lock is not read any more: \(error.kind)")
      }
      try await radio.clock.sleep(for: .seconds(10))
    }
  }

  /// - Returns: false if it has removed a bond.
  private static func isRead(
    _ lock: DeviceAddress, with phone: Adapter, _ isPlanted: Bool
  ) async throws -> Bool {
    try await phone.withConnection(to: lock) { device in
      do {
        try await device.pair()
      } catch let error as BLEError where error.bondLoss != nil && !isPlanted {
        if let bond = phone.bonds.first { phone.remove(bond) }
        return false
      }
      _ = try await device.read("FFE1", in: "FFE0")
      return true
    }
  }

  /// The device has new services, and the program reads by the handles of before.
  static let keepsCharacteristic = PlantedFault(testDescription: "a handle that is kept after Service Changed") {
    radio, isPlanted in
    let sensor = try await radio.device("sensor")
    let adapter = try await sensor.adapter()
    let battery = LocalService("180F", [LocalCharacteristic("2A19").value(UInt8(55))])
    let first = try await adapter.publish([battery])
    async let _ = adapter.advertise(Advertisement(localName: "Sensor"))
    let phone = try await radio.device("phone").adapter()
    let device = try await phone.connect(to: sensor.address)
    var characteristic = try await device.characteristic("2A19", in: "180F")
    _ = try await device.read(characteristic)
    await first.remove()
    let second = try await adapter.publish([
      LocalService("FFE0", [LocalCharacteristic("FFE1").value(UInt8(1))]), battery,
    ])
    defer { withExtendedLifetime(second) {} }
    try await radio.clock.sleep(for: .seconds(2))
    if !isPlanted { characteristic = try await device.characteristic("2A19", in: "180F") }
    let level = try? await device.read(characteristic)
    if level != [55] { throw Found("the level is \(level.map { "\($0)" } ?? "not read"), not 55") }
  }

  /// The answer comes as a notification, which the program does not receive yet when it writes its command.
  static let writesBeforeSubscription = PlantedFault(testDescription: "a write before its subscription") {
    radio, isPlanted in
    let sensor = try await radio.device("sensor")
    let adapter = try await sensor.adapter()
    let published = Published()
    let control = LocalCharacteristic("FFE1").write { value, _ in
      try await published.publication.withLock { $0 }?.send(value, for: "FFE2")
    }
    let services = [LocalService("FFE0", [control, LocalCharacteristic("FFE2").notify()])]
    let publication = try await adapter.publish(services)
    published.publication.withLock { $0 = publication }
    async let _ = adapter.advertise(Advertisement(localName: "Sensor"))
    let phone = try await radio.device("phone").adapter()
    async let _ = command(sensor.address, with: phone, isPlanted)
    try await sensor.expect(.subscribed("FFE2"), .written("FFE1", [1]), .updated("FFE2", [1]), within: .seconds(20))
  }

  private final class Published: Sendable {
    let publication = Mutex<ServicePublication?>(nil)
  }

  private static func command(_ sensor: DeviceAddress, with phone: Adapter, _ isPlanted: Bool) async throws {
    try await phone.withConnection(to: sensor) { device in
      if isPlanted { try await device.write([1], to: "FFE1", in: "FFE0") }
      var values = try await device.values(of: "FFE2", in: "FFE0", as: [UInt8].self).subscribed()
      if !isPlanted { try await device.write([1], to: "FFE1", in: "FFE0") }
      while let value = try await values.next(), value != [1] {}
    }
  }
}
