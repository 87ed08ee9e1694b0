import BLEEngine
import BLEGAP
import BLEHost
import BLEWire
import Foundation

extension DiscoveredDevice {
  /// As CoreBluetooth's dictionary, which is made once for reports with the same content.
  var dictionary: [String: Any] {
    let view = content.view { AdvertisementDictionary($0) }
    return view?.dictionary ?? content.dictionary
  }

  /// The RSSI as CoreBluetooth's delegates receive it.
  var strength: NSNumber { Self.strengths[rssi + 128] }

  private static let strengths = (-128...127).map { NSNumber(value: $0) }
}

/// The dictionary of a content. Its values are immutable, but `Any` does not say so.
private final class AdvertisementDictionary: @unchecked Sendable {
  let dictionary: [String: Any]

  init(_ content: AdvertisedContent) { dictionary = content.dictionary }
}

extension AdvertisedContent {
  fileprivate var dictionary: [String: Any] {
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

  mutating func discovered(_ discoveries: [Discovery], into effects: inout CentralEffects) {
    guard let scan else { return }
    effects.calls.reserveCapacity(discoveries.count)
    for discovery in discoveries { discovered(discovery, by: scan, into: &effects) }
  }

  private mutating func discovered(_ discovery: Discovery, by scan: ScanFilter, into effects: inout CentralEffects) {
    let address = discovery.shared.content.address.identity
    guard address.kind != .anonymous else { return }
    let slot = slot(of: address)
    let addition = devices.add(discovery, at: slot, for: scan)
    let known = devices[slot: slot].object.object
    if let name = addition.name, let known {
      known.update(name: name.new)
      if name.isChange { effects.calls.append(.peripheral(known, .updatedName)) }
    }
    guard let device = addition.report, let object = known ?? peripheral(at: address) else { return }
    if addition.isRepeated {
      effects.seenAgain.append(address)
    } else {
      effects.facts.append(.seen(address, name: devices.name(at: slot), services: device.data.serviceUUIDs))
    }
    effects.calls.append(.discovered(object, device))
  }

  /// Devices that the managers of this adapter know, with an object each.
  mutating func retrieve(_ known: [KnownDevices.Device]) -> [CBPeripheral] {
    known.compactMap { device in
      remember(device)
      return peripheral(at: device.address)
    }
  }

  /// The devices of these identifiers that this manager knows, with an object each.
  mutating func retrieve(_ identifiers: [UUID]) -> [CBPeripheral] {
    identifiers.compactMap { devices.address(of: PeerIdentifier($0)) }.compactMap { peripheral(at: $0) }
  }
}
