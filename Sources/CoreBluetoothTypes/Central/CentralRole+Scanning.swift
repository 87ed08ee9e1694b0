import BLEAdapter
import BLEGAP
import BLEHost
import BLEWire
import Foundation

extension DiscoveredDevice {
  /// As CoreBluetooth's dictionary, which is made once for reports with the same content.
  var dictionary: [String: Any] { content.view(as: AdvertisementDictionary.self).dictionary }

  /// The RSSI as CoreBluetooth's delegates receive it.
  var strength: NSNumber { Self.strengths[rssi + 128] }

  private static let strengths = (-128...127).map { NSNumber(value: $0) }
}

/// The dictionary of a content.
final class AdvertisementDictionary: AdvertisedView {
  /// Its values are immutable, but `Any` does not say so.
  nonisolated(unsafe) let dictionary: [String: Any]

  init(_ content: AdvertisedContent) { dictionary = content.dictionary }

  static func allocatedOctets(for data: AdvertisedData) -> Int {
    // This object, the buffer of the dictionary, a `CBUUID`, a `Data` with its buffer, an `NSNumber`.
    var (entries, octets) = (3, 64 + 64)
    func add(_ values: Int, octets each: Int, and more: Int = 0) {
      guard values > 0 else { return }
      entries += 1
      octets += values * each + more
    }
    add(data.serviceUUIDs.count, octets: 80, and: 32)
    add(data.solicitedServiceUUIDs.count, octets: 80, and: 32)
    add(data.serviceData.count, octets: 272, and: data.serviceData.reduce(64) { $0 + $1.data.count })
    add(
      data.manufacturerData.isEmpty ? 0 : 1, octets: 128,
      and: data.manufacturerData.reduce(0) { max($0, $1.data.count) })
    // Text of invalid UTF-8 has up to three octets for each that was received.
    if let name = data.localName { add(1, octets: 48 + name.octets.count * 6) }
    // At most three quarters of the places of a dictionary are taken.
    var places = 4
    while places * 3 < entries * 4 { places *= 2 }
    return octets + 3 * 64 + places * 48
  }
}

extension AdvertisedContent {
  /// Made at once for all keys: a Swift dictionary cannot make a value when it is read.
  fileprivate var dictionary: [String: Any] {
    let data = data.withParsedLists
    // First a list, so that the dictionary has its size from the start: a growing one hashes its keys several times.
    var entries: [(String, Any)] = []
    entries.reserveCapacity(8)
    entries.append((CBAdvertisementDataIsConnectable, isConnectable ? Self.yes : Self.no))
    if let name = data.name { entries.append((CBAdvertisementDataLocalNameKey, name)) }
    if let company = data.manufacturerData.first(where: { OverflowArea($0) == nil }) {
      entries.append((CBAdvertisementDataManufacturerDataKey, Data(company.encoded)))
    }
    if !data.serviceData.isEmpty {
      let values = data.serviceData.map { (CBUUID($0.uuid), Data($0.data)) }
      entries.append((CBAdvertisementDataServiceDataKey, Dictionary(values, uniquingKeysWith: { $1 })))
    }
    func add(_ uuids: [BluetoothUUID], _ key: String) {
      if !uuids.isEmpty { entries.append((key, uuids.map(CBUUID.init))) }
    }
    add(data.serviceUUIDs, CBAdvertisementDataServiceUUIDsKey)
    add(overflowServiceUUIDs, CBAdvertisementDataOverflowServiceUUIDsKey)
    add(data.solicitedServiceUUIDs, CBAdvertisementDataSolicitedServiceUUIDsKey)
    if isTruncated { entries.append((CBAdvertisementDataIsTruncatedKey, Self.yes)) }
    if let level = data.txPowerLevel { entries.append((CBAdvertisementDataTxPowerLevelKey, NSNumber(value: level))) }
    return Dictionary(uniqueKeysWithValues: entries)
  }

  private static let yes = NSNumber(value: true)
  private static let no = NSNumber(value: false)
}

extension CentralRole {
  /// Scans; a scan that runs is replaced.
  mutating func startScan(
    _ services: [BluetoothUUID], solicited: [BluetoothUUID], allowsDuplicates: Bool,
    _ scanParameters: ScanParameters = ScanParameters(), into effects: inout CentralEffects
  ) {
    scans += 1
    // Without services all devices match, whatever they solicit.
    scan = ScanFilter(
      number: scans, services: services, solicited: services.isEmpty ? [] : solicited,
      allowsDuplicates: allowsDuplicates)
    scan?.waitsForScanResponse = scanParameters.waitsForScanResponse
    var parameters = scanParameters
    // The host removes duplicates. Changed data is reported, because a scan response or a name may be new.
    (parameters.allowsDuplicates, parameters.reportsChanges) = (allowsDuplicates, !allowsDuplicates)
    effects.commands.append(.scanning(.start(parameters)))
  }

  mutating func stopScan(into effects: inout CentralEffects) {
    guard scan != nil else { return }
    endScan(into: &effects)
    effects.commands.append(.scanning(.stop))
  }

  /// The scan has ended: devices that it has kept back for their scan responses are reported.
  mutating func endScan(into effects: inout CentralEffects) {
    guard let ended = scan.take(), ended.waitsForScanResponse else { return }
    for device in devices.table.takeWaiting(for: ended) {
      let address = device.content.address.identity
      guard let object = peripheral(at: address) else { continue }
      effects.facts.append(.seen(address, name: device.name, services: device.data.serviceUUIDs))
      effects.calls.append(.discoveredAtEnd(object, device))
    }
  }

  mutating func discovered(_ scanReports: [ScanReport], into effects: inout CentralEffects) {
    guard let scan else { return }
    effects.calls.reserveCapacity(scanReports.count)
    for scanReport in scanReports { discovered(scanReport, by: scan, into: &effects) }
  }

  private mutating func discovered(_ scanReport: ScanReport, by scan: ScanFilter, into effects: inout CentralEffects) {
    let address = scanReport.shared.content.address.identity
    guard address.kind != .anonymous else { return }
    let slot = slot(of: address)
    let addition = devices.add(scanReport, at: slot, for: scan, isNeeded: Self.isNeeded)
    let known = devices[slot: slot].object.object
    if let name = addition.name, let known, known.name != name.new {
      known.update(name: name.new)
      effects.calls.append(.peripheral(known, .updatedName))
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
  mutating func retrieve(_ known: [AdapterDevices.Device], into effects: inout CentralEffects) -> [CBPeripheral] {
    known.compactMap { device in
      remember(device, into: &effects)
      return peripheral(at: device.address)
    }
  }

  /// The devices of these identifiers that this manager knows, with an object each.
  mutating func retrieve(_ identifiers: [UUID]) -> [CBPeripheral] {
    identifiers.compactMap { devices.address(of: PeerIdentifier($0)) }.compactMap { peripheral(at: $0) }
  }
}
