public import BLEGAP
import BLEHost
public import BLEWire
import Foundation

/// What a scan asks for.
struct Scan: Sendable {
  /// Tells one scan from the next: each reports devices anew.
  var number: UInt64
  var services: [BluetoothUUID]
  var solicited: [BluetoothUUID]
  var allowsDuplicates: Bool

  /// Whether a device is wanted: any of the services, in its list or in its overflow area, or any of the
  /// solicited ones. Without either, every device.
  func matches(_ data: AdvertisedData) -> Bool {
    if services.isEmpty, solicited.isEmpty { return true }
    if data.serviceUUIDs.contains(where: services.contains) { return true }
    if data.solicitedServiceUUIDs.contains(where: solicited.contains) { return true }
    return !(data.overflowArea?.matches(of: services) ?? []).isEmpty
  }
}

/// What was heard of a device.
struct Sighting: Sendable {
  /// Advertising data or a scan response, as last received.
  private struct Area: Sendable {
    var octets: [UInt8] = []
    var isTruncated = false

    /// - Returns: whether it is another one now. The beginning of what is there, whose end was lost, is not.
    mutating func replace(by discovery: Discovery) -> Bool {
      if discovery.isTruncated, octets.starts(with: discovery.data), !octets.isEmpty { return false }
      guard discovery.data != octets || discovery.isTruncated != isTruncated else { return false }
      (octets, isTruncated) = (discovery.data, discovery.isTruncated)
      return true
    }
  }

  private var advertisingData = Area()
  private var scanResponse = Area()
  private(set) var isConnectable = false
  /// Both areas in one view.
  private(set) var data = AdvertisedData()
  private(set) var name: String?
  /// What was last reported, and in which scan.
  var reported: (scan: UInt64, data: AdvertisedData, isTruncated: Bool)?
  /// Whether one of the areas ends before its end.
  var isTruncated: Bool { advertisingData.isTruncated || scanResponse.isTruncated }

  /// - Returns: whether something is new.
  mutating func add(_ discovery: Discovery) -> Bool {
    if discovery.isScanResponse {
      guard scanResponse.replace(by: discovery) else { return false }
    } else {
      isConnectable = discovery.isConnectable
      guard advertisingData.replace(by: discovery) else { return false }
    }
    data = AdvertisedData(advertisingData: advertisingData.octets[...], scanResponse: scanResponse.octets[...])
    if let name = data.localName { self.name = name.text ?? name.displayText }
    return true
  }
}

/// A device as ``CBCentralManagerDelegate/centralManager(_:didDiscover:advertisementData:rssi:)`` tells of it, typed.
public struct SightedDevice: Sendable {
  /// What it said, advertising data and scan response together.
  public let data: AdvertisedData
  public let isConnectable: Bool
  /// Whether the data ends before its end: the controller lost the rest of an extended advertisement, or it has more than
  /// 1650 octets (Vol 4, Part E, 7.7.65.13). ``data`` then holds the AD structures up to the one that is cut.
  public let isTruncated: Bool
  /// Those of the services looked for whose bits are set in the overflow area: perhaps it has them.
  public let overflowServiceUUIDs: [BluetoothUUID]
  /// In dBm; 127 where the controller has none.
  public let rssi: Int

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
    into effects: inout CentralEffects
  ) {
    scans += 1
    scan = Scan(number: scans, services: services, solicited: solicited, allowsDuplicates: allowsDuplicates)
    var parameters = ScanParameters()
    // The host always tells all: a device that changes what it says is then seen, and the list of those reported is kept
    // here, where a scan response that comes later is known to be new.
    parameters.allowsDuplicates = true
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
    guard remember(address), var sighting = devices[address]?.sighting else { return }
    let before = sighting.name
    let isNew = sighting.add(discovery)
    devices[address]?.sighting = sighting
    if isNew, let name = sighting.name, name != before {
      devices[address]?.object.object?.update(name: name)
      if before != nil, let object = devices[address]?.object.object {
        effects.calls.append(.peripheral(object, .updatedName))
      }
    }
    // One report for each device, and another one when its scan response adds to it, or when what was truncated is whole.
    let isReported = sighting.reported?.scan == scan.number
    let completes = sighting.reported?.isTruncated == true && !sighting.isTruncated
    let adds = isNew && (discovery.isScanResponse || completes) && sighting.reported?.data != sighting.data
    guard scan.allowsDuplicates || !isReported || adds, scan.matches(sighting.data) else { return }
    devices[address]?.sighting.reported = (scan.number, sighting.data, sighting.isTruncated)
    guard let object = peripheral(at: address) else { return }
    effects.calls.append(
      .discovered(
        object,
        SightedDevice(
          data: sighting.data, isConnectable: sighting.isConnectable, isTruncated: sighting.isTruncated,
          overflowServiceUUIDs: sighting.data.overflowArea?.matches(of: scan.services) ?? [],
          rssi: Int(discovery.rssi))))
  }

  /// The devices of these identifiers that are known, with an object each.
  mutating func retrieve(_ identifiers: [UUID]) -> [CBPeripheral] {
    identifiers.compactMap { addresses[$0] }.compactMap { peripheral(at: $0) }
  }

  /// Devices connected as peripherals, by whichever manager of this process, that have one of the services.
  mutating func retrieveConnected(with services: [BluetoothUUID]) -> [CBPeripheral] {
    let mine = sessions.values.map { ($0.address, $0.services.values.map(\.type)) }
    let others = otherLinks.values.map { ($0.address, [BluetoothUUID]()) }
    return (mine + others).filter { address, discovered in
      let advertised = devices[address]?.sighting.data.serviceUUIDs ?? []
      return (discovered + advertised).contains(where: services.contains)
    }.compactMap { peripheral(at: $0.0) }
  }
}
