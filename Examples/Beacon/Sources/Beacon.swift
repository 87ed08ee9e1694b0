import BLEProfiles
import Synchronization

/// An iBeacon whose numbers are set over a connection, and a central that does so.
@main struct Beacon {
  /// The service with the settings of the beacon, and its characteristics.
  static let service: BluetoothUUID = "7A3C0070-52D6-4C1E-9B0F-6D1E2F3A4B5C"
  static let major = ProfileCharacteristic<UInt16>("7A3C0071-52D6-4C1E-9B0F-6D1E2F3A4B5C", in: service)
  static let minor = ProfileCharacteristic<UInt16>("7A3C0072-52D6-4C1E-9B0F-6D1E2F3A4B5C", in: service)
  static let region: BluetoothUUID = "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"

  static func main() async {
    await Adapter.runProgram {
      switch CommandLine.arguments.dropFirst().first {
      case "peripheral": try await serve(on: .open())
      case "central": try await configure(with: .open())
      case nil:
        // Both ends in this process, on the simulated radio. The peripheral ends with this scope.
        async let _ = serve(on: .open(AdapterOptions(transport: "virtual:peripheral")))
        try await configure(with: .open(AdapterOptions(transport: "virtual:central")))
      default: print("usage: beacon [peripheral | central] [--transport SPEC]")
      }
    }
  }

  static func serve(on adapter: Adapter) async throws {
    let beacon = Mutex(IBeacon(region: region, major: 1, minor: 1, measuredPower: -59))
    let (changes, continuation) = AsyncStream.makeStream(of: IBeacon.self, bufferingPolicy: .bufferingNewest(1))
    @Sendable func change(_ field: any WritableKeyPath<IBeacon, UInt16> & Sendable, to number: UInt16) {
      continuation.yield(
        beacon.withLock { beacon in
          beacon[keyPath: field] = number
          return beacon
        })
    }
    let settings = LocalService(
      service,
      [
        LocalCharacteristic(major).readSynchronously { _ in beacon.withLock(\.major) }
          .write(UInt16.self) { number, _ in change(\.major, to: number) },
        LocalCharacteristic(minor).readSynchronously { _ in beacon.withLock(\.minor) }
          .write(UInt16.self) { number, _ in change(\.minor, to: number) },
      ])
    let publication = try await adapter.publish([settings])
    continuation.yield(beacon.withLock { $0 })
    var advertising: Task<Void, any Error>?
    for await value in changes {
      // The iBeacon fills the advertising data; the name is in the scan response.
      advertising?.cancel()
      _ = await advertising?.result
      var advertisement = value.advertisement
      advertisement.localName = "Beacon"
      print("advertises \(value.major)/\(value.minor)")
      advertising = Task { [advertisement] in try await adapter.advertise(advertisement) }
    }
    advertising?.cancel()
    withExtendedLifetime(publication) {}
  }

  static func configure(with adapter: Adapter) async throws {
    let (address, before) = try await find(with: adapter) { _ in true }
    print("found \(before.major)/\(before.minor), \(before.measuredPower) dBm at 1 m")
    try await adapter.withConnection(to: address) { device in
      try await device.write(7, to: minor)
      print("set the minor number to \(try await device.read(minor))")
    }
    let (_, after) = try await find(with: adapter) { $0.minor == 7 }
    print("found \(after.major)/\(after.minor)")
  }

  /// Scans until a beacon of the region is as `condition` demands.
  static func find(
    with adapter: Adapter, where condition: (IBeacon) -> Bool
  ) async throws -> (DeviceAddress, IBeacon) {
    var options = ScanOptions()
    options.allowsDuplicates = true
    for try await result in adapter.scan(options) where result.isConnectable {
      if let beacon = IBeacon(result.contents), beacon.region == region, condition(beacon) {
        return (result.address, beacon)
      }
    }
    throw CancellationError()
  }
}
