import CoreBluetooth
import PromisedBluetooth

/// One chain of promises, from the adapter to the disconnection; the error in the middle is an error of the sensor.
@MainActor func runPromises() -> CentralPromises {
  let central = CentralPromises()
  central.poweredOn()
    .then { central.scan(for: Sensor.room) }
    .then { central.connect($0) }
    .then { peripheral in
      central.service(Sensor.room, of: peripheral)
        .then { service in
          when(fulfilled: [
            central.characteristic(Sensor.temperature, of: service), central.characteristic(Sensor.label, of: service),
          ])
        }
        .then { found in
          central.read(found[0]).done { print("temperature \(Sensor.degrees($0))") }
            .then { central.write(Data("Office".utf8), to: found[1]) }
            .then { central.read(found[1]) }
            .done { print("label \(String(decoding: $0, as: UTF8.self))") }
            .then { central.write(Data(), to: found[1]) }
            .recover { error in
              guard case CBATTError.invalidAttributeValueLength = error else { throw error }
              print("the sensor rejects an empty label")
              return .value(())
            }
            .then { () -> Promise<Data> in
              let (value, resolver) = Promise<Data>.pending()
              return central.subscribe(to: found[0]) { resolver.fulfill($0) }.then { isNotifying in
                print("notifying \(isNotifying)")
                return value
              }
            }
            .done { print("temperature \(Sensor.degrees($0))") }
        }
        .then { central.disconnect(peripheral) }
    }
    .done {
      print("disconnected")
      exit(0)
    }
    .catch { error in
      print("failed: \(error)")
      exit(1)
    }
  return central
}
