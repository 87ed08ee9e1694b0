import AdapterFixtures
import BLEAdapter
import BLEHost
import BLEWire
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// The memory of what the devices of a central manager have advertised.
@Suite struct CentralScanMemoryTests {
  private func scanReport(_ number: Int, _ data: [UInt8]) -> ScanReport {
    ScanReport(
      address: DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + UInt64(number)), kind: .random), isConnectable: true,
      isScanResponse: false, data: data, rssi: -40)
  }

  private func scanning(knownOctets: Int? = nil) -> CentralRole {
    var limits = CentralLimits()
    if let knownOctets { limits.knownOctets = knownOctets }
    var state = CentralRole(limits: limits)
    var effects = CentralEffects()
    state.startScan([], solicited: [], allowsDuplicates: true, into: &effects)
    return state
  }

  /// Each device is reported, whether the application holds its object or not; the limit holds after each report.
  @Test(arguments: LongAdvertisement.allCases, [false, true])
  func theMemoryOfAdvertisementsIsLimited(kind: LongAdvertisement, isHeld: Bool) throws {
    // One array, whose capacity counts, for all devices.
    let octets = kind.octets
    var first = scanning()
    var effects = CentralEffects()
    first.discovered([scanReport(0, octets)], into: &effects)
    let each = first.devices.allocatedOctets
    #expect(each >= octets.count && each < 4096)
    for (knownOctets, count) in [(3 * each, 3), (3 * each - 1, 2)] {
      var state = scanning(knownOctets: knownOctets)
      var objects: [CBPeripheral] = []
      for number in 0..<50 {
        var effects = CentralEffects()
        state.discovered([scanReport(number, octets)], into: &effects)
        guard case .discovered(let object, _)? = effects.calls.first else {
          Issue.record("no report")
          continue
        }
        if isHeld { objects.append(object) }
        #expect(state.devices.allocatedOctets == min(number + 1, count) * each)
      }
      #expect(state.devices.all.count == (isHeld ? 50 : count) && objects.count == (isHeld ? 50 : 0))
    }
  }

  /// The dictionary of a short advertisement is kept with it, and counts; that of a long one is made for each report.
  @Test func dictionariesCount() throws {
    var state = scanning()
    var table = ScanTable(limit: 1, maximumOctets: .max)
    let short: [UInt8] = [2, 1, 6, 3, 3, 0x0D, 0x18, 5, 9, 0x4C, 0x61, 0x6D, 0x70]
    let filter = ScanFilter(number: 1, allowsDuplicates: true)
    for (data, isKept) in [(short, true), (LongAdvertisement.uuids.octets, false)] {
      var effects = CentralEffects()
      state.discovered([scanReport(1, data)], into: &effects)
      _ = table.add(scanReport(1, data), for: filter)
      let view = AdvertisementDictionary.allocatedOctets(for: table.record(at: 0).data)
      // The capacity of equal arrays can differ by what the allocator rounds.
      let counted = state.devices.allocatedOctets - table.allocatedOctets
      #expect(abs(counted - (isKept ? view : 0)) <= 64 && view > 64)
      guard case .discovered(_, let device)? = effects.calls.first else {
        Issue.record("no report")
        continue
      }
      let services = device.dictionary[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID]
      #expect(services?.count == (isKept ? 1 : 818))
      let content = device.content
      let isShared = content.view(as: AdvertisementDictionary.self) === content.view(as: AdvertisementDictionary.self)
      #expect(isShared == isKept)
    }
  }
}
