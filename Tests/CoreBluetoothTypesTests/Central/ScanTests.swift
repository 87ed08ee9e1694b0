import AdapterFixtures
import BLEATT
import BLEGATT
import BLEHost
import BLEWire
import BluetoothLE
import TestSupport
import Testing

@testable import BLEAdapter
@testable import CoreBluetoothTypes

/// Rules 6.1 to 6.3 and 6.17: scanning and what is found.
@Suite struct ScanTests {
  /// 02 01 06, complete list 180D 180F, name "Strap".
  static let strap = "020106" + "05030d180f18" + "06095374726170"

  @Test("6.1 Without services all devices are reported")
  func nilTellsOfAll() {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(withServices: nil)
    #expect(fixture.manager.isScanning)
    #expect(fixture.posted() == ["scan"])
    fixture.advertise(1, Self.strap)
    fixture.advertise(2, "020106", rssi: 127)
    #expect(fixture.takeCalls() == ["discovered Strap -40", "discovered - 127"])
    fixture.manager.stopScan()
    #expect(fixture.posted() == ["stop scanning"])
    fixture.advertise(3)
    #expect(fixture.takeCalls() == [])
    fixture.manager.stopScan()
    #expect(fixture.posted() == [])
  }

  @Test("6.1 Services select devices")
  func servicesFilter() {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(withServices: ["180D"])
    fixture.advertise(1, Self.strap)
    fixture.advertise(2, "03030a18")
    fixture.advertise(3)
    #expect(fixture.takeCalls() == ["discovered Strap -40"])
    // As 128 bits it is the same service.
    fixture.advertise(4, "1107fb349b5f80000080001000000d180000")
    #expect(fixture.takeCalls() == ["discovered - -40"])
    #expect(fixture.recorder.lastDictionary[AdvertisementDataServiceUUIDsKey] == "[180D]")
  }

  @Test func theScanResponseCounts() {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(withServices: ["180D"])
    fixture.advertise(1, "020106")
    #expect(fixture.takeCalls() == [])
    fixture.advertise(1, "03030d18", isScanResponse: true)
    #expect(fixture.takeCalls() == ["discovered - -40"])
  }

  @Test("6.1 One report each, and one more with the scan response")
  func oneDiscoveryEachAndOneMoreWithTheScanResponse() {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(withServices: nil)
    for _ in 0..<3 {
      fixture.advertise(1, "020106")
      fixture.advertise(1, "06095374726170", isScanResponse: true)
    }
    fixture.advertise(1, "020104")
    #expect(fixture.takeCalls() == ["discovered - -40", "discovered Strap -40"])
    // A scan anew tells of them anew, with what is known by now.
    fixture.manager.scanForPeripherals(withServices: nil)
    fixture.advertise(1, "020106")
    #expect(fixture.takeCalls() == ["discovered Strap -40"])
  }

  @Test("6.1 Each advertisement is reported where duplicates are allowed")
  func duplicatesWhenRequested() {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(
      withServices: nil, options: [CentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: true)])
    for _ in 0..<3 { fixture.advertise(1, Self.strap) }
    #expect(fixture.takeCalls().count == 3)
    fixture.manager.scanForPeripherals(withServices: nil, options: [CentralManagerScanOptionAllowDuplicatesKey: false])
    for _ in 0..<3 { fixture.advertise(1, Self.strap) }
    #expect(fixture.takeCalls().count == 1)
  }

  @Test("6.1 Solicited services widen the match")
  func solicitedServicesWidenTheMatch() {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(
      withServices: ["180D"], options: [CentralManagerScanOptionSolicitedServiceUUIDsKey: [BluetoothUUID("180A")]])
    fixture.advertise(1, "03140a18")
    #expect(fixture.takeCalls() == ["discovered - -40"])
    #expect(fixture.recorder.lastDictionary[AdvertisementDataSolicitedServiceUUIDsKey] == "[180A]")
    fixture.advertise(2, "03030a18")
    #expect(fixture.takeCalls() == [])
  }

  @Test("6.1 Solicited services do not narrow a scan for all devices")
  func solicitedServicesDoNotNarrow() {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(
      withServices: nil, options: [CentralManagerScanOptionSolicitedServiceUUIDsKey: [BluetoothUUID("180A")]])
    fixture.advertise(1, "03030d18")
    fixture.advertise(2, "03140a18")
    #expect(fixture.takeCalls() == ["discovered - -40", "discovered - -40"])
  }

  /// 180D is bit 61 of the overflow area: octet 7, bit 5.
  @Test func theOverflowAreaIsSearched() {
    let fixture = CentralFixture()
    let area = "14ff4c0001" + "00000000000000200000000000000000"
    fixture.manager.scanForPeripherals(withServices: ["180D", "180F"])
    fixture.advertise(1, area)
    #expect(fixture.takeCalls() == ["discovered - -40"])
    #expect(fixture.recorder.lastDictionary[AdvertisementDataOverflowServiceUUIDsKey] == "[180D]")
    #expect(fixture.recorder.lastDictionary[AdvertisementDataManufacturerDataKey] == nil)
    fixture.manager.scanForPeripherals(withServices: ["180F"])
    fixture.advertise(1, area)
    #expect(fixture.takeCalls() == [])
    fixture.manager.scanForPeripherals(withServices: nil)
    fixture.advertise(1, area)
    #expect(fixture.recorder.lastDictionary[AdvertisementDataOverflowServiceUUIDsKey] == nil)
  }

  @Test("6.2 The types of the values in the dictionary")
  func theDictionary() {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(withServices: nil)
    // Name, TX power -4 dBm, company 0x1234 with 2 octets, service data of 180F.
    fixture.advertise(1, "06095374726170" + "020afc" + "05ff3412aabb" + "04160f1857", isConnectable: false)
    let dictionary = fixture.recorder.lastDictionary
    #expect(dictionary[AdvertisementDataLocalNameKey] == "Strap")
    #expect(dictionary[AdvertisementDataTxPowerLevelKey] == "-4")
    #expect(dictionary[AdvertisementDataManufacturerDataKey] == "4 bytes")
    #expect(dictionary[AdvertisementDataServiceDataKey] == "[180F: 1 bytes]")
    #expect(["0", "false"].contains(dictionary[AdvertisementDataIsConnectable]))
    #expect(dictionary.count == 5)
    fixture.advertise(2)
    #expect(Array(fixture.recorder.lastDictionary.keys) == [AdvertisementDataIsConnectable])
  }

  /// Data whose end the controller has lost: reported and marked, and once more when it is whole.
  @Test func aTruncatedAdvertisementIsMarked() {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(withServices: nil)
    // The name is cut: the flags and the services count.
    let cut = String(Self.strap.dropLast(4))
    fixture.advertise(1, cut, isTruncated: true)
    #expect(fixture.takeCalls() == ["discovered - -40"])
    #expect(["1", "true"].contains(fixture.recorder.lastDictionary[AdvertisementDataIsTruncatedKey]))
    #expect(fixture.recorder.lastDictionary[AdvertisementDataServiceUUIDsKey] == "[180D, 180F]")
    fixture.advertise(1, String(cut.dropLast(2)), isTruncated: true)
    #expect(fixture.takeCalls() == [])
    fixture.advertise(1, Self.strap)
    #expect(fixture.takeCalls() == ["discovered Strap -40"])
    #expect(fixture.recorder.lastDictionary[AdvertisementDataIsTruncatedKey] == nil)
    // A beginning of what is known whole changes nothing.
    fixture.advertise(1, cut, isTruncated: true)
    fixture.manager.scanForPeripherals(withServices: nil)
    fixture.advertise(1, cut, isTruncated: true)
    #expect(fixture.takeCalls() == ["discovered Strap -40"])
    #expect(fixture.recorder.lastDictionary[AdvertisementDataIsTruncatedKey] == nil)
  }

  @Test("6.2 services is nil until they are discovered")
  func servicesAreNilUntilDiscovered() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1, Self.strap)
    #expect(peripheral.services == nil)
    #expect(peripheral.name == "Strap")
    #expect(peripheral.state == .disconnected)
  }

  @Test("6.3 The identifier is stable")
  func theIdentifierIsStableAndOneObjectStandsForADevice() throws {
    let first = try CentralFixture().find(7)
    let fixture = CentralFixture()
    let second = try fixture.find(7)
    #expect(first.identifier == second.identifier)
    #expect(try fixture.find(7) === second)
    #expect(try fixture.find(8).identifier != second.identifier)
  }

  /// The process has no other test, so its memory is that of the manager and of what its adapter knows.
  @Test func aHundredThousandReportsLeaveTheMemoryAsItIs() async {
    await #expect(processExitsWith: .success) {
      func residentPages() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return try #require(fields.dropFirst().first.flatMap { Int($0) })
      }
      let fixture = CentralFixture()
      fixture.manager.scanForPeripherals(withServices: nil)
      var before = 0
      for batch in 0..<1000 {
        if batch == 200 { before = try residentPages() }
        fixture.host.say(
          (0..<100).map { index in
            let number = UInt64(batch * 100 + index)
            return .scanning(
              .discovered([
                ScanReport(
                  address: DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + number % 900), kind: .random),
                  isConnectable: true, isScanResponse: false, data: [2, 1, UInt8(truncatingIfNeeded: number / 900)],
                  rssi: -40)
              ]))
          })
        _ = fixture.takeCalls()
        _ = fixture.recorder.takeFound()
      }
      try #require(try residentPages() - before < 1024)
    }
  }

  /// The read of the Device Name characteristic, where there is one.
  private func nameRead(_ fixture: CentralFixture) -> GATTClient.OperationID? {
    fixture.commands().lazy.compactMap { command in
      guard case .link(_, .inspect(let operation)) = command, case .readUsingUUID("2A00", 1...0xFFFF) = operation.kind
      else {
        return nil
      }
      return operation.id
    }.first
  }

  @Test func theNameIsReadWhereNoneIsAdvertised() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    fixture.manager.connect(peripheral)
    fixture.linkUp(1)
    let read = try #require(nameRead(fixture))
    _ = fixture.takeCalls()
    let value = AttributeValue(handle: 3, value: [UInt8]("Lamp".utf8))
    fixture.say(.client(LinkID(rawValue: 1), .finished(read, .success(.values([value])))))
    #expect(fixture.takeCalls() == ["name Lamp"] && peripheral.name == "Lamp")
  }

  @Test func aNameThatCannotBeReadIsNone() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    fixture.manager.connect(peripheral)
    fixture.linkUp(1)
    let read = try #require(nameRead(fixture))
    _ = fixture.takeCalls()
    let error = GATTClientError.errorResponse(.insufficientEncryption, request: .readByTypeRequest, handle: 3)
    fixture.say(.client(LinkID(rawValue: 1), .finished(read, .failure(error))))
    #expect(fixture.takeCalls() == [] && peripheral.name == nil)
  }

  @Test func anAdvertisedNameIsNotRead() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1, "03094142")
    fixture.manager.connect(peripheral)
    fixture.linkUp(1)
    #expect(peripheral.name == "AB" && nameRead(fixture) == nil)
  }

  @Test("6.15 Another name is a call")
  func anotherNameIsTold() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1, Self.strap)
    fixture.manager.scanForPeripherals(withServices: ["1234"])
    fixture.advertise(1, "05094e616d65")
    #expect(fixture.takeCalls() == ["name Name"])
    #expect(peripheral.name == "Name")
  }

  /// A device that advertises its name later, or in every other advertisement.
  @Test func aNameThatComesLaterIsTold() throws {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(withServices: nil)
    fixture.advertise(1, "020106")
    let peripheral = try #require(fixture.recorder.takeFound())
    peripheral.delegate = fixture.recorder
    #expect(fixture.takeCalls() == ["discovered - -40"] && peripheral.name == nil)
    fixture.advertise(1, "0201060409446576")
    #expect(fixture.takeCalls() == ["name Dev"] && peripheral.name == "Dev")
    fixture.advertise(1, "020106")
    fixture.advertise(1, "0201060409446576")
    #expect(fixture.takeCalls() == [] && peripheral.name == "Dev")
  }

  @Test("6.15 Each change of a name is a call, also one that a report has") func aNameInAReportIsAlsoACall() throws {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(withServices: nil)
    fixture.advertise(1, "020106")
    let peripheral = try #require(fixture.recorder.takeFound())
    peripheral.delegate = fixture.recorder
    fixture.advertise(1, "0409446576", isScanResponse: true)
    #expect(fixture.takeCalls() == ["discovered - -40", "name Dev", "discovered Dev -40"] && peripheral.name == "Dev")
  }

  /// A scan that waits for scan responses keeps nothing back after its end.
  @Test(arguments: [false, true]) func theEndOfAScanReportsWhatWaits(isEndedByHost: Bool) throws {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(
      withServices: nil, options: [CBCentralManagerScanOptionWaitsForScanResponseKey: true])
    var scanReport = ScanReport(
      address: CentralFixture.address(1), isConnectable: true, isScanResponse: false, data: [2, 9, 0x41], rssi: -50)
    scanReport.isScannable = true
    fixture.say(.scanning(.discovered([scanReport])))
    #expect(fixture.takeCalls() == [])
    if isEndedByHost { fixture.say(.scanning(.stopped(nil))) } else { fixture.manager.stopScan() }
    #expect(fixture.takeCalls() == ["discovered A -50"])
    fixture.manager.stopScan()
    #expect(fixture.takeCalls() == [])
  }

  @Test func theServiceFilterIsTestedWithEachReport() throws {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(withServices: ["180F"])
    fixture.advertise(1, "020106")
    #expect(fixture.takeCalls() == [])
    fixture.advertise(1, "02010603020f18")
    fixture.advertise(1, "02010603020f18")
    #expect(fixture.takeCalls() == ["discovered - -40"])
  }

  /// The fields of many devices have a fixed length.
  @Test(arguments: ["0809506164 00000000", "0709506164 2020ff", "0809506164 00ff4142"])
  func paddingIsNotPartOfAName(_ name: String) throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1, name.replacing(" ", with: ""))
    #expect(peripheral.name == "Pad")
    #expect(fixture.recorder.lastDictionary[AdvertisementDataLocalNameKey] == "Pad")
  }

  @Test func paddingAloneIsNoName() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1, "03090000")
    #expect(peripheral.name == nil && fixture.recorder.lastDictionary[AdvertisementDataLocalNameKey] == nil)
    fixture.manager.connect(peripheral)
    fixture.linkUp(1)
    let read = try #require(nameRead(fixture))
    _ = fixture.takeCalls()
    let value = AttributeValue(handle: 3, value: [UInt8]("Lamp\0\0".utf8))
    fixture.say(.client(LinkID(rawValue: 1), .finished(read, .success(.values([value])))))
    #expect(fixture.takeCalls() == ["name Lamp"] && peripheral.name == "Lamp")
  }

  /// A new run of the program connects to a device that it has not heard yet.
  @Test func whoIsBondedIsRetrievedUnseen() throws {
    let record = BondFixtures.record(1)
    let keeper = BondStorage(BondFixtures.Notebook(record), log: { _ in })
    let fixture = CentralFixture(host: ScriptedHost(bonds: keeper))
    let bond = record.bonds[1]
    let peripheral = try #require(fixture.manager.retrievePeripherals(withIdentifiers: [UUID(), bond.id]).first)
    #expect(peripheral.identifier == bond.id)
    fixture.manager.connect(peripheral)
    guard case .initiating(.connect(_, bond.identity, _, _))? = fixture.commands().last else {
      Issue.record("not asked"); return
    }
  }

  @Test("6.17 Known identifiers are retrieved")
  func whatWasSeenIsRetrieved() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    #expect(fixture.manager.retrievePeripherals(withIdentifiers: [UUID(), peripheral.identifier]) == [peripheral])
    let byAddress = try #require(fixture.manager.retrievePeripheral(withAddress: "c0:00:00:00:00:05", isRandom: true))
    fixture.manager.connect(byAddress)
    #expect(fixture.posted() == ["connect 5"])
    #expect(fixture.manager.retrievePeripheral(withAddress: "nonsense", isRandom: true) == nil)
  }

  @Test func theHostMayEndAScan() {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(withServices: nil)
    fixture.say(.scanning(.stopped(.unsupported("scanning"))))
    #expect(!fixture.manager.isScanning)
    #expect(fixture.logged().contains { $0.contains("the scan ended") })
  }

  /// At the limit the device not seen for the longest time is forgotten; one that the application holds is not. New
  /// devices are reported, however many it holds.
  @Test func knownDevicesAreBounded() throws {
    var limits = CentralLimits()
    limits.knownDevices = 2
    let fixture = CentralFixture(limits: limits)
    let held = try fixture.find(1, "020941")
    let second = try fixture.find(2, "020942").identifier
    _ = fixture.recorder.takeFound()
    #expect(fixture.manager.retrievePeripherals(withIdentifiers: [second]).map(\.name) == ["B"])
    var others: [Peripheral] = []
    for number: UInt8 in 3...200 { others.append(try fixture.find(number)) }
    let all = [held] + others
    #expect(fixture.manager.retrievePeripherals(withIdentifiers: all.map(\.identifier)) == all)
    #expect(held.name == "A")
  }

  @Test func garbageIsAnAdvertisementLikeAnyOther() {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(withServices: nil)
    var source = SplitMix64(seed: 1)
    for number in UInt8.min...UInt8.max {
      let octets = (0..<Int.random(in: 0...31, using: &source)).map { _ in UInt8.random(in: 0...255, using: &source) }
      fixture.advertise(number, octets.hexadecimal)
    }
    #expect(fixture.takeCalls().count == 256)
  }
}
