import BLEAdapter
import BLEHost
import BLEWire
import Foundation

/// What a central manager scans for and connects to, for the next run.
struct RestoredConnections: Codable, Equatable, Sendable {
  /// The peripherals at most; more are not restored.
  static let limit = 64

  var scan: Scan?
  var peripherals: [Peripheral] = []

  var isEmpty: Bool { scan == nil && peripherals.isEmpty }

  /// The arguments of ``CBCentralManager/scanForPeripherals(withServices:options:)``.
  struct Scan: Codable, Equatable, Sendable {
    /// Nil: all devices.
    var services: [RestoredUUID]?
    var allowsDuplicates: Bool?
    var solicited: [RestoredUUID]?
    var isPassive: Bool?
    /// In seconds.
    var interval: Double?
    var window: Double?
    var phys: [String]?
    var waitsForScanResponse: Bool?

    init(_ services: [CBUUID]?, _ options: [String: Any]?) {
      func number(_ key: String) -> NSNumber? { options?[key].flatMap { $0 as? NSNumber } }
      func flag(_ key: String) -> Bool? { options?[key].map { isTrue($0) } }
      func seconds(_ key: String) -> Double? { options?[key].flatMap { $0 as? Double } ?? number(key)?.doubleValue }
      self.services = services?.map { RestoredUUID($0.value) }
      allowsDuplicates = flag(CBCentralManagerScanOptionAllowDuplicatesKey)
      solicited = BluetoothUUID.list(options?[CBCentralManagerScanOptionSolicitedServiceUUIDsKey])?.map { .init($0) }
      isPassive = flag(CBCentralManagerScanOptionPassiveKey)
      interval = seconds(CBCentralManagerScanOptionIntervalKey)
      window = seconds(CBCentralManagerScanOptionWindowKey)
      phys = options?[CBCentralManagerScanOptionPHYsKey].flatMap { Set<LEPHY>(option: $0) }?.names
      waitsForScanResponse = flag(CBCentralManagerScanOptionWaitsForScanResponseKey)
    }

    /// The options, without those that were missing.
    var options: [String: Any] {
      let all: [String: Any?] = [
        CBCentralManagerScanOptionAllowDuplicatesKey: allowsDuplicates.map { NSNumber(value: $0) },
        CBCentralManagerScanOptionSolicitedServiceUUIDsKey: solicited?.map { CBUUID($0.uuid) },
        CBCentralManagerScanOptionPassiveKey: isPassive.map { NSNumber(value: $0) },
        CBCentralManagerScanOptionIntervalKey: interval.map { NSNumber(value: $0) },
        CBCentralManagerScanOptionWindowKey: window.map { NSNumber(value: $0) },
        CBCentralManagerScanOptionPHYsKey: phys.map { Set<LEPHY>(named: $0) },
        CBCentralManagerScanOptionWaitsForScanResponseKey: waitsForScanResponse.map { NSNumber(value: $0) },
      ]
      return all.compactMapValues(\.self)
    }
  }

  /// A device that the manager was connected to, or connecting.
  struct Peripheral: Codable, Equatable, Sendable {
    var address: String
    var isRandom: Bool
    var name: String?
    var reconnectsByItself: Bool
    /// Shortest and longest interval, latency and timeout in the units of HCI; nil is the default.
    var parameters: [UInt16]?
    var phys: [String]?
    var priority: String?

    init(_ address: DeviceAddress, name: String?, _ options: ConnectOptions) {
      (self.address, isRandom) = ("\(address.octets)", address.kind == .random)
      self.name = name
      reconnectsByItself = options.reconnectsByItself
      let timing = options.parameters
      if timing != ConnectionParameters() {
        parameters = [
          timing.interval.lowerBound, timing.interval.upperBound, timing.latency, timing.supervisionTimeout,
        ]
      }
      phys = options.phys?.names
      priority = options.priority?.rawValue
    }

    /// Nil if it is not the address of a device.
    var deviceAddress: DeviceAddress? {
      DeviceAddress(address, kind: isRandom ? .random : .public).flatMap { $0.isIdentityAddress ? $0 : nil }
    }

    /// Without the start delay, which has passed. Values that are not allowed have their defaults.
    var options: ConnectOptions {
      var options = ConnectOptions()
      options.reconnectsByItself = reconnectsByItself
      if let timing = parameters, timing.count == 4, timing[0] <= timing[1] {
        let wanted = ConnectionParameters(
          interval: timing[0]...timing[1], latency: timing[2], supervisionTimeout: timing[3])
        if wanted.isValid { options.parameters = wanted }
      }
      if let phys = phys.map({ Set<LEPHY>(named: $0) }), !phys.isDisjoint(with: [.le1M, .leCoded]) {
        options.phys = phys
      }
      options.priority = priority.flatMap { ConnectionPriority(rawValue: $0) }
      return options
    }
  }
}

extension Set<LEPHY> {
  fileprivate var names: [String] { LEPHY.allCases.filter(contains).map(\.description) }
  fileprivate init(named names: [String]) { self.init(LEPHY.allCases.filter { names.contains($0.description) }) }
}
