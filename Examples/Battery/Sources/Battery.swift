import BLEProfiles
import Synchronization

/// A device with a Battery Service and a Device Information Service, and a central that reads both.
@main struct BatteryExample {
  static func main() async {
    await Adapter.runProgram {
      switch CommandLine.arguments.dropFirst().first {
      case "peripheral": try await serve(on: .open())
      case "central": try await read(with: .open())
      case nil:
        // Both ends in this process, on the simulated radio. The peripheral ends with this scope.
        async let _ = serve(on: .open(AdapterOptions(transport: "virtual:peripheral")))
        try await read(with: .open(AdapterOptions(transport: "virtual:central")))
      default: print("usage: battery [peripheral | central] [--transport SPEC]")
      }
    }
  }

  static func serve(on adapter: Adapter) async throws {
    let charge = Charge(90)
    var information = DeviceInformation()
    information.manufacturerName = "BluetoothLE for Swift"
    information.modelNumber = "Battery example"
    information.firmwareRevision = "1.0.2"
    information.pnpID = PnPID(vendor: 0xFFFF, product: 1, version: 0x0102)

    let battery = Battery.localService { subscriber in
      // The battery discharges by one percent for each notification, until it is empty.
      while charge.level > 0 {
        try await Task.sleep(for: .milliseconds(200))
        try await subscriber.send(BatteryLevel(percent: charge.discharge()))
      }
    } status: {
      var state = BatteryLevelStatus.PowerState()
      state.isBatteryPresent = true
      state.chargeState = .discharging
      state.chargeLevel = charge.level > 20 ? .good : charge.level > 5 ? .low : .critical
      return BatteryLevelStatus(powerState: state, level: charge.level)
    } level: {
      BatteryLevel(percent: charge.level)
    }
    print("advertises as \"Battery\" with \(charge.level) %")
    try await adapter.serve([battery, information.localService()], advertisingAs: "Battery")
  }

  static func read(with adapter: Adapter) async throws {
    let scan = adapter.scan(ScanOptions(services: [Battery.service]))
    guard let found = try await scan.first(where: \.isConnectable) else { return }
    try await adapter.withConnection(to: found.address) { device in
      // A device without the service is no error.
      do {
        let information = try await device.readDeviceInformation()
        // Text of another device is not printed as it is: it could control the terminal.
        let maker = String(printable: information.manufacturerName ?? "?")
        let model = String(printable: information.modelNumber ?? "?")
        print("made by \(maker), model \(model)")
        if let id = information.pnpID { print("product \(id.product) of \(id.source), vendor \(id.vendor)") }
      } catch let error as BLEError where error.kind == .notFound {
        print("no device information")
      }
      print("charge \(try await device.read(Battery.level).percent) %")
      if let status = try await device.readIfPresent(Battery.levelStatus) {
        print("\(status.powerState.chargeState), charge \(status.powerState.chargeLevel)")
      }
      // Until Control-C, or until the link ends.
      for try await level in try await device.values(of: Battery.level) { print("charge now \(level.percent) %") }
    }
  }
}

/// The charge of the battery in percent.
final class Charge: Sendable {
  private let state: Mutex<UInt8>
  init(_ level: UInt8) { state = Mutex(level) }
  var level: UInt8 { state.withLock { $0 } }

  /// Takes one percent.
  func discharge() -> UInt8 {
    state.withLock { level in
      if level > 0 { level -= 1 }
      return level
    }
  }
}
