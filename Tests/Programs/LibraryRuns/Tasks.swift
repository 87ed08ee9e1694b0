import AsyncBluetooth
import CoreBluetooth

/// The same with tasks and sequences, on the main actor.
@MainActor func runTasks() {
  let central = AsyncCentral()
  Task {
    do {
      await central.waitUntilPoweredOn()
      var found: CBPeripheral?
      for await discovery in central.discoveries(of: [Sensor.room]) {
        print("found \(discovery.name ?? "unnamed") \(discovery.services.contains(Sensor.room))")
        found = discovery.peripheral
        break
      }
      guard let found else { return }
      let peripheral = try await central.connect(found)
      let services = try await peripheral.discoverServices([Sensor.room])
      let all = try await peripheral.discoverCharacteristics([Sensor.temperature, Sensor.label], for: services[0])
      guard let temperature = all.first(where: { $0.uuid == Sensor.temperature }),
        let label = all.first(where: { $0.uuid == Sensor.label })
      else { return }
      async let first = peripheral.read(temperature)
      async let second = peripheral.read(label)
      print("temperature \(Sensor.degrees(try await first)), label of \(try await second.count > 0)")
      try await peripheral.write(Data("Office".utf8), to: label)
      print("label \(String(decoding: try await peripheral.read(label), as: UTF8.self))")
      do {
        try await peripheral.write(Data(), to: label)
      } catch CBATTError.invalidAttributeValueLength {
        print("the sensor rejects an empty label")
      }
      for try await value in peripheral.values(of: temperature) {
        print("temperature \(Sensor.degrees(value))")
        break
      }
      await central.disconnect(peripheral)
      print("disconnected")
      exit(0)
    } catch {
      print("failed: \(error)")
      exit(1)
    }
  }
}
