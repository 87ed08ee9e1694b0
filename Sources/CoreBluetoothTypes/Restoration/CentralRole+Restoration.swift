import BLEAdapter
import BLEHost
import BLEWire
import Foundation

extension CentralRole {
  /// What an earlier run declared, until the adapter is powered on.
  struct Restoration: Sendable {
    var content: RestoredConnections
    var isReported = false

    init(_ content: RestoredConnections) {
      self.content = content
      self.content.peripherals = Array(content.peripherals.prefix(RestoredConnections.limit))
    }
  }

  /// The state as the delegate receives it. Nothing else retains the peripherals until then.
  struct RestoredObjects: Sendable {
    var peripherals: [CBPeripheral] = []
    var scan: RestoredConnections.Scan?

    var dictionary: [String: Any] {
      var dictionary: [String: Any] = [:]
      if !peripherals.isEmpty { dictionary[CBCentralManagerRestoredStatePeripheralsKey] = peripherals }
      guard let scan else { return dictionary }
      if let services = scan.services {
        dictionary[CBCentralManagerRestoredStateScanServicesKey] = services.map { CBUUID($0.uuid) }
      }
      dictionary[CBCentralManagerRestoredStateScanOptionsKey] = scan.options
      return dictionary
    }
  }

  /// The first state of the adapter: the delegate is called. With power on, the scan starts, and the connections are
  /// pending: those that were, and the links, which ended with the process. Peripherals that the application does not
  /// hold are left out.
  mutating func restore(isPoweredOn: Bool, into effects: inout CentralEffects) {
    guard let restored = restoration else { return }
    let known = restored.content.peripherals.compactMap { record in record.deviceAddress.map { ($0, record) } }
    var objects = RestoredObjects(scan: restored.content.scan)
    if !restored.isReported {
      for (address, record) in known {
        slot(of: address)
        if let name = record.name { devices[address]?.name = name }
        if let object = peripheral(at: address) { objects.peripherals.append(object) }
      }
    }
    if isPoweredOn {
      restoration = nil
      if let scan = restored.content.scan { restoreScan(scan, into: &effects) }
      for (address, record) in known {
        guard let object = devices[address]?.object.object, devices[address]?.phase == .disconnected else { continue }
        connect(object, record.options, into: &effects)
      }
      restoredConnections = Set(pendingConnections.keys)
    } else {
      restoration?.isReported = true
    }
    if !restored.isReported { effects.calls.append(.willRestore(objects)) }
  }

  private mutating func restoreScan(_ scan: RestoredConnections.Scan, into effects: inout CentralEffects) {
    let options = scan.options
    startScan(
      scan.services?.map(\.uuid) ?? [], solicited: scan.solicited?.map(\.uuid) ?? [],
      allowsDuplicates: scan.allowsDuplicates ?? false, ScanParameters(options) { _ in }, into: &effects)
    declaredScan = scan
  }

  /// The state for the next run.
  var restorable: RestoredConnections {
    let peripherals = devices.all.sorted { $0.octets.value < $1.octets.value }.compactMap { address in
      devices[address].flatMap { device in
        device.wanted.map {
          RestoredConnections.Peripheral(address, name: device.object.object?.name ?? device.name, $0)
        }
      }
    }
    return RestoredConnections(
      scan: scan == nil ? nil : declaredScan,
      peripherals: Array(peripherals.filter { $0.deviceAddress != nil }.prefix(RestoredConnections.limit)))
  }
}

extension CentralRole.Device {
  /// The options of the connection that the application wants; nil if it wants none.
  fileprivate var wanted: ConnectOptions? {
    switch phase {
    case .disconnected: nil
    case .connecting(_, let options, _), .connected(_, let options): options
    case .cancelling(_, let next), .disconnecting(_, let next): next
    }
  }
}
