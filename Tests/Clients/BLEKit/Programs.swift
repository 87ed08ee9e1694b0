import BLEKit

// A program that imports BLEKit alone: its values, its handlers, its sequences.

struct Temperature: GATTValue {
  var celsius: Double
  init(celsius: Double) { self.celsius = celsius }
  init?(octets: [UInt8]) {
    guard let hundredths = Int16(octets: octets) else { return nil }
    celsius = Double(hundredths) / 100
  }
  var octets: [UInt8] {
    let hundredths = (celsius * 100).rounded()
    return Int16(max(-27_315, min(32_767, hundredths))).octets
  }
}

actor Thermometer {
  var celsius = 21.5
  func set(_ celsius: Double) { self.celsius = celsius }
}

func serve(_ thermometer: Thermometer, adapter: Adapter) async throws {
  let service = LocalService(
    "181A",
    [
      LocalCharacteristic("2A6E", descriptors: [.userDescription("In the shade")])
        .read(security: .encrypted) { _ in Temperature(celsius: await thermometer.celsius) }
        .write(Temperature.self, kinds: [.withResponse, .withoutResponse], security: .authenticated) { value, device in
          guard value.celsius < 100 else { throw ATTErrorCode.outOfRange }
          await thermometer.set(value.celsius)
          print(device.address, device.mtu)
        }
        .notify(security: .encrypted) { subscriber in
          while true {
            try await subscriber.send(Temperature(celsius: await thermometer.celsius))
            try await Task.sleep(for: .seconds(1))
          }
        }
    ])
  try await adapter.serve([service], advertising: Advertisement(localName: "Thermometer", serviceUUIDs: ["181A"]))
}

func watch(_ adapter: Adapter) async {
  await withTaskGroup { group in
    group.addTask { for await state in adapter.states where state != .poweredOn { print(adapter.stateReason ?? "") } }
    group.addTask { for await device in adapter.connections { print(device, device.security.level) } }
    group.addTask {
      for await request in adapter.pairingRequests {
        if case .compare(let number) = request.question { print(number) }
        request.reply.accept()
      }
    }
  }
}

func collect(_ adapter: Adapter, from address: DeviceAddress) async throws(BLEError) -> Double {
  let device = try await adapter.connect(to: address, timeout: .seconds(5))
  let found = try await device.characteristic("2A6E", in: "181A")
  guard found.properties.contains(.notify) else { return try await device.read(found, as: Temperature.self).celsius }
  for try await temperature in device.values(of: found, as: Temperature.self) { return temperature.celsius }
  return .nan
}
