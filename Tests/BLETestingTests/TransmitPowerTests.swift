import BLEHCI
import BLEKit
import BLETesting
import Testing

/// The transmit power and the path loss between two devices, as their programs see them.
struct TransmitPowerTests {
  /// A link of the phone with the sensor: each as the other one's program sees it.
  private static func link(
    _ phone: TestDevice, _ sensor: TestDevice, on radio: TestRadio
  ) async throws -> (device: RemoteDevice, central: RemoteDevice, advertising: Task<Void, any Error>) {
    let advertiser = try await sensor.adapter()
    let advertising = Task(executorPreference: radio.executor) {
      try await advertiser.advertise(Advertisement(localName: "Sensor"))
    }
    var links = advertiser.connections.makeAsyncIterator()
    let device = try await phone.adapter().connect(to: sensor.address)
    return (device, try #require(await links.next()), advertising)
  }

  @Test func bothEndsReadBothPowers() async throws {
    try await TestRadio.run { radio in
      var controller = VirtualControllerConfiguration()
      controller.txPower = 4
      let (phone, sensor) = (try await radio.device("phone"), try await radio.device("sensor", controller: controller))
      let (device, central, advertising) = try await Self.link(phone, sensor, on: radio)
      defer { advertising.cancel() }
      try await sensor.setPathLoss(60, to: phone)
      #expect(try await device.readTransmitPower() == ConnectionTransmitPower(local: 0, remote: 4))
      #expect(try await central.readTransmitPower() == ConnectionTransmitPower(local: 4, remote: 0))
      #expect(try await device.readRSSI() == -56)
      #expect(try await central.readRSSI() == -60)
    }
  }

  @Test func changesAndZonesArriveAtBothEnds() async throws {
    try await TestRadio.run { radio in
      let (phone, sensor) = (try await radio.device("phone"), try await radio.device("sensor"))
      let (device, central, advertising) = try await Self.link(phone, sensor, on: radio)
      defer { advertising.cancel() }

      let thresholds = PathLossThresholds(low: 40, high: 70, hysteresis: 3, minimumEvents: 4)
      var atPhone = try device.pathLossZones(thresholds).makeAsyncIterator()
      var atSensor = try central.pathLossZones(thresholds).makeAsyncIterator()
      #expect(try await atPhone.next() == PathLoss(zone: .middle, decibels: 50))
      #expect(try await atSensor.next() == PathLoss(zone: .middle, decibels: 50))
      try await phone.setPathLoss(85, to: sensor)
      #expect(try await atPhone.next() == PathLoss(zone: .high, decibels: 85))
      #expect(try await atSensor.next() == PathLoss(zone: .high, decibels: 85))
      try await phone.setPathLoss(nil, to: sensor)
      #expect(try await atPhone.next() == PathLoss(zone: .middle, decibels: 50))

      var changes = try device.transmitPowerChanges().makeAsyncIterator()
      _ = try await device.readTransmitPower()
      #expect(try await changes.next() == ConnectionTransmitPower(local: 0))
      #expect(try await changes.next() == ConnectionTransmitPower(local: 0, remote: 0))
      try await sensor.setTransmitPower(-16)
      #expect(try await changes.next() == ConnectionTransmitPower(local: 0, remote: -16))
      try await phone.setTransmitPower(8)
      #expect(try await changes.next() == ConnectionTransmitPower(local: 8, remote: -16))
      #expect(try await device.readRSSI() == -66)

      try await sensor.moveOutOfRange()
      await #expect(throws: BLEError.self) { while try await changes.next() != nil {} }
      await #expect(throws: BLEError.self) { while try await atPhone.next() != nil {} }
    }
  }

  /// A device of before Bluetooth 5.2.
  @Test func aDeviceWithoutPowerControlHasNoKnownPower() async throws {
    try await TestRadio.run { radio in
      var old = VirtualControllerConfiguration()
      old.features.subtract([.powerControlRequest, .powerChangeIndication, .pathLossMonitoring])
      let (phone, sensor) = (try await radio.device("phone"), try await radio.device("sensor", controller: old))
      let (device, central, advertising) = try await Self.link(phone, sensor, on: radio)
      defer { advertising.cancel() }
      #expect(try await device.readTransmitPower() == ConnectionTransmitPower(local: 0))
      let thresholds = PathLossThresholds(low: 40, high: 70)
      let loss = await #expect(throws: BLEError.self) {
        for try await _ in try device.pathLossZones(thresholds) { Issue.record("a zone") }
      }
      #expect(loss?.kind == .unsupported)
      let power = await #expect(throws: BLEError.self) { try await central.readTransmitPower() }
      #expect(power?.kind == .unsupported)
      let changes = await #expect(throws: BLEError.self) {
        for try await _ in try central.transmitPowerChanges() { Issue.record("a change") }
      }
      #expect(changes?.kind == .unsupported)
    }
  }
}
