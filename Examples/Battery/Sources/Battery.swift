import BLEProfiles
import Synchronization

/// A device with a Battery Service and a Device Information Service, and a central that reads both.
@main struct BatteryExample {
  static let usage = """
    battery [--role peripheral|central] [--transport SPEC] [--level N] [--updates N]

      --role ROLE       one end alone; without it both ends run here, on the simulated radio
      --transport SPEC  the controller of that end, e.g. linux, tcp-client:127.0.0.1:6402
      --level N         peripheral: the charge at the start in percent (90)
      --updates N       central: how many changes of the charge it waits for (3)
    """

  static func main() async {
    await Program.run(usage) { program in
      let level = try program.number("--level", or: 90, in: 0...100)
      let updates = try program.number("--updates", or: 3, in: 0...100)
      try await program.runRoles {
        try await serve(on: $0, level: UInt8(level))
      } central: {
        try await read(with: $0, updates: updates)
      }
    }
  }

  static func serve(on adapter: Adapter, level: UInt8) async throws {
    let charge = Charge(level)
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
    say("advertises as \"Battery\" with \(level) %")
    try await adapter.serve([battery, information.localService()], advertisingAs: "Battery")
  }

  static func read(with adapter: Adapter, updates: Int) async throws {
    try await adapter.withDevice(advertising: Battery.service) { device in
      // A device without the service is no error.
      do {
        let information = try await device.readDeviceInformation()
        say("made by \(information.manufacturerName ?? "?"), model \(information.modelNumber ?? "?")")
        if let id = information.pnpID { say("product \(id.product) of \(id.source), vendor \(id.vendor)") }
      } catch let error as BLEError where error.kind == .notFound {
        say("no device information")
      }
      say("charge \(try await device.read(Battery.level).percent) %")
      if let status = try await device.readIfPresent(Battery.levelStatus) {
        say("\(status.powerState.chargeState), charge \(status.powerState.chargeLevel)")
      }
      guard updates > 0 else { return }
      try await within(.seconds(20), "\(updates) changes of the charge") {
        var received = 0
        for try await level in try await device.values(of: Battery.level) {
          say("charge now \(level.percent) %")
          received += 1
          if received == updates { break }
        }
      }
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
