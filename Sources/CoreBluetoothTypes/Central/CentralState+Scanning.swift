import BLEEngine
import BLEGAP
import BLEHost
import BLEWire
import Foundation

extension DiscoveredDevice {
  /// As CoreBluetooth's dictionary.
  var dictionary: [String: Any] {
    var dictionary: [String: Any] = [CBAdvertisementDataIsConnectable: NSNumber(value: isConnectable)]
    if let name = data.localName { dictionary[CBAdvertisementDataLocalNameKey] = name.text ?? name.displayText }
    if let company = data.manufacturerData.first(where: { OverflowArea($0) == nil }) {
      dictionary[CBAdvertisementDataManufacturerDataKey] = Data(company.encoded)
    }
    if !data.serviceData.isEmpty {
      dictionary[CBAdvertisementDataServiceDataKey] = Dictionary(
        data.serviceData.map { (CBUUID($0.uuid), Data($0.data)) }, uniquingKeysWith: { $1 })
    }
    if !data.serviceUUIDs.isEmpty {
      dictionary[CBAdvertisementDataServiceUUIDsKey] = data.serviceUUIDs.map(CBUUID.init)
    }
    if !overflowServiceUUIDs.isEmpty {
      dictionary[CBAdvertisementDataOverflowServiceUUIDsKey] = overflowServiceUUIDs.map(CBUUID.init)
    }
    if !data.solicitedServiceUUIDs.isEmpty {
      dictionary[CBAdvertisementDataSolicitedServiceUUIDsKey] = data.solicitedServiceUUIDs.map(CBUUID.init)
    }
    if isTruncated { dictionary[CBAdvertisementDataIsTruncatedKey] = NSNumber(value: true) }
    if let level = data.txPowerLevel { dictionary[CBAdvertisementDataTxPowerLevelKey] = NSNumber(value: level) }
    return dictionary
  }
}

extension CentralState {
  /// Scans; a scan that runs is replaced.
  mutating func startScan(
    _ services: [BluetoothUUID], solicited: [BluetoothUUID], allowsDuplicates: Bool,
    _ scanParameters: ScanParameters = ScanParameters(), into effects: inout CentralEffects
  ) {
    scans += 1
    scan = ScanFilter(number: scans, services: services, solicited: solicited, allowsDuplicates: allowsDuplicates)
    var parameters = scanParameters
    // The host removes duplicates. Changed data is reported, because a scan response or a name may be new.
    (parameters.allowsDuplicates, parameters.reportsChanges) = (allowsDuplicates, !allowsDuplicates)
    effects.commands.append(.startScanning(parameters))
  }

  mutating func stopScan(into effects: inout CentralEffects) {
    guard scan != nil else { return }
    scan = nil
    effects.commands.append(.stopScanning)
  }

  mutating func discovered(_ discovery: Discovery, into effects: inout CentralEffects) {
    guard let scan, discovery.address.kind != .anonymous else { return }
    let address = discovery.address.identity
    guard remember(address) else { return }
    let addition = devices.add(discovery, for: scan)
    if let name = addition.name, let object = devices[address]?.object.object {
      object.update(name: name.new)
      if name.isChange { effects.calls.append(.peripheral(object, .updatedName)) }
    }
    guard let device = addition.report, let object = peripheral(at: address) else { return }
    effects.facts.append(
      .seen(address, name: devices.record(of: address).name, services: device.data.serviceUUIDs))
    effects.calls.append(.discovered(object, device))
  }

  /// Devices that the managers of this adapter know, with an object each.
  mutating func retrieve(_ known: [KnownDevices.Device]) -> [CBPeripheral] {
    known.compactMap { device in remember(device) ? peripheral(at: device.address) : nil }
  }

  /// The devices of these identifiers that this manager knows, with an object each.
  mutating func retrieve(_ identifiers: [UUID]) -> [CBPeripheral] {
    identifiers.compactMap { devices.address(of: PeerIdentifier($0)) }.compactMap { peripheral(at: $0) }
  }
}
