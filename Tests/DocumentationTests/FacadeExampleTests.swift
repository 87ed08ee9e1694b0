import BluetoothLE
import Testing

/// The examples of CoreBluetooth's and BluetoothLE's pages do what the pages say.
@Suite struct FacadeExampleTests {
  @Test func temperatureIsReadWithDelegates() async throws {
    let thermometer = ThermometerPeripheral()
    thermometer.start(
      on: DispatchQueue(label: "thermometer"), options: [ManagerOptionTransportKey: "virtual:documentation-thermometer"]
    )
    let (values, report) = AsyncStream.makeStream(of: Double.self)
    let reader = ThermometerReader(
      adapter: AdapterOptions(transport: "virtual:documentation-reader"), queue: DispatchQueue(label: "reader")
    ) { report.yield($0) }
    var first: Double?
    for await value in values {
      first = value
      break
    }
    #expect(first == 21.5)
    withExtendedLifetime((thermometer, reader)) {}
  }
}
