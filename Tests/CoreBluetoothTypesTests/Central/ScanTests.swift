import BLEATT
import BLEGATT
import BLEHost
import BLEWire
import BluetoothLE
import EngineFixtures
import Testing

@testable import BLEEngine
@testable import CoreBluetoothTypes

/// Rules 6.1 to 6.3 and 6.17: scanning and what is found.
@Suite struct ScanTests {
  /// 02 01 06, complete list 180D 180F, name "Strap".
  static let strap = "020106" + "05030d180f18" + "06095374726170"

  @Test func rule6_1_nilTellsOfAll() {
    let stage = CentralStage()
    stage.manager.scanForPeripherals(withServices: nil)
    #expect(stage.manager.isScanning)
    #expect(stage.posted() == ["scan"])
    stage.advertise(1, Self.strap)
    stage.advertise(2, "020106", rssi: 127)
    #expect(stage.heard() == ["discovered Strap -40", "discovered - 127"])
    stage.manager.stopScan()
    #expect(stage.posted() == ["stop scanning"])
    stage.advertise(3)
    #expect(stage.heard() == [])
    stage.manager.stopScan()
    #expect(stage.posted() == [])
  }

  @Test func rule6_1_servicesFilter() {
    let stage = CentralStage()
    stage.manager.scanForPeripherals(withServices: ["180D"])
    stage.advertise(1, Self.strap)
    stage.advertise(2, "03030a18")
    stage.advertise(3)
    #expect(stage.heard() == ["discovered Strap -40"])
    // As 128 bits it is the same service.
    stage.advertise(4, "1107fb349b5f80000080001000000d180000")
    #expect(stage.heard() == ["discovered - -40"])
    #expect(stage.recorder.lastDictionary[AdvertisementDataServiceUUIDsKey] == "[180D]")
  }

  @Test func rule6_1_theScanResponseCounts() {
    let stage = CentralStage()
    stage.manager.scanForPeripherals(withServices: ["180D"])
    stage.advertise(1, "020106")
    #expect(stage.heard() == [])
    stage.advertise(1, "03030d18", isScanResponse: true)
    #expect(stage.heard() == ["discovered - -40"])
  }

  @Test func rule6_1_oneDiscoveryEachAndOneMoreWithTheScanResponse() {
    let stage = CentralStage()
    stage.manager.scanForPeripherals(withServices: nil)
    for _ in 0..<3 {
      stage.advertise(1, "020106")
      stage.advertise(1, "06095374726170", isScanResponse: true)
    }
    stage.advertise(1, "020104")
    #expect(stage.heard() == ["discovered - -40", "discovered Strap -40"])
    // A scan anew tells of them anew, with what is known by now.
    stage.manager.scanForPeripherals(withServices: nil)
    stage.advertise(1, "020106")
    #expect(stage.heard() == ["discovered Strap -40"])
  }

  @Test func rule6_1_duplicatesWhenRequested() {
    let stage = CentralStage()
    stage.manager.scanForPeripherals(
      withServices: nil, options: [CentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: true)])
    for _ in 0..<3 { stage.advertise(1, Self.strap) }
    #expect(stage.heard().count == 3)
    stage.manager.scanForPeripherals(withServices: nil, options: [CentralManagerScanOptionAllowDuplicatesKey: false])
    for _ in 0..<3 { stage.advertise(1, Self.strap) }
    #expect(stage.heard().count == 1)
  }

  @Test func rule6_1_solicitedServicesWidenTheMatch() {
    let stage = CentralStage()
    stage.manager.scanForPeripherals(
      withServices: ["180D"], options: [CentralManagerScanOptionSolicitedServiceUUIDsKey: [BluetoothUUID("180A")]])
    stage.advertise(1, "03140a18")
    #expect(stage.heard() == ["discovered - -40"])
    #expect(stage.recorder.lastDictionary[AdvertisementDataSolicitedServiceUUIDsKey] == "[180A]")
    stage.advertise(2, "03030a18")
    #expect(stage.heard() == [])
  }

  /// 180D is bit 61 of the overflow area: octet 7, bit 5.
  @Test func rule5_theOverflowAreaIsSearched() {
    let stage = CentralStage()
    let area = "14ff4c0001" + "00000000000000200000000000000000"
    stage.manager.scanForPeripherals(withServices: ["180D", "180F"])
    stage.advertise(1, area)
    #expect(stage.heard() == ["discovered - -40"])
    #expect(stage.recorder.lastDictionary[AdvertisementDataOverflowServiceUUIDsKey] == "[180D]")
    #expect(stage.recorder.lastDictionary[AdvertisementDataManufacturerDataKey] == nil)
    stage.manager.scanForPeripherals(withServices: ["180F"])
    stage.advertise(1, area)
    #expect(stage.heard() == [])
    stage.manager.scanForPeripherals(withServices: nil)
    stage.advertise(1, area)
    #expect(stage.recorder.lastDictionary[AdvertisementDataOverflowServiceUUIDsKey] == nil)
  }

  @Test func rule6_2_theDictionary() {
    let stage = CentralStage()
    stage.manager.scanForPeripherals(withServices: nil)
    // Name, TX power -4 dBm, company 0x1234 with 2 octets, service data of 180F.
    stage.advertise(1, "06095374726170" + "020afc" + "05ff3412aabb" + "04160f1857", isConnectable: false)
    let dictionary = stage.recorder.lastDictionary
    #expect(dictionary[AdvertisementDataLocalNameKey] == "Strap")
    #expect(dictionary[AdvertisementDataTxPowerLevelKey] == "-4")
    #expect(dictionary[AdvertisementDataManufacturerDataKey] == "4 bytes")
    #expect(dictionary[AdvertisementDataServiceDataKey] == "[180F: 1 bytes]")
    #expect(["0", "false"].contains(dictionary[AdvertisementDataIsConnectable]))
    #expect(dictionary.count == 5)
    stage.advertise(2)
    #expect(Array(stage.recorder.lastDictionary.keys) == [AdvertisementDataIsConnectable])
  }

  /// Data whose end the controller has lost: reported and marked, and once more when it is whole.
  @Test func aTruncatedAdvertisementIsMarked() {
    let stage = CentralStage()
    stage.manager.scanForPeripherals(withServices: nil)
    // The name is cut: the flags and the services count.
    let cut = String(Self.strap.dropLast(4))
    stage.advertise(1, cut, isTruncated: true)
    #expect(stage.heard() == ["discovered - -40"])
    #expect(["1", "true"].contains(stage.recorder.lastDictionary[AdvertisementDataIsTruncatedKey]))
    #expect(stage.recorder.lastDictionary[AdvertisementDataServiceUUIDsKey] == "[180D, 180F]")
    stage.advertise(1, String(cut.dropLast(2)), isTruncated: true)
    #expect(stage.heard() == [])
    stage.advertise(1, Self.strap)
    #expect(stage.heard() == ["discovered Strap -40"])
    #expect(stage.recorder.lastDictionary[AdvertisementDataIsTruncatedKey] == nil)
    // A beginning of what is known whole changes nothing.
    stage.advertise(1, cut, isTruncated: true)
    stage.manager.scanForPeripherals(withServices: nil)
    stage.advertise(1, cut, isTruncated: true)
    #expect(stage.heard() == ["discovered Strap -40"])
    #expect(stage.recorder.lastDictionary[AdvertisementDataIsTruncatedKey] == nil)
  }

  @Test func rule6_2_servicesAreNilUntilDiscovered() throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1, Self.strap)
    #expect(peripheral.services == nil)
    #expect(peripheral.name == "Strap")
    #expect(peripheral.state == .disconnected)
  }

  @Test func rule6_3_theIdentifierIsStableAndOneObjectStandsForADevice() throws {
    let first = try CentralStage().find(7)
    let stage = CentralStage()
    let second = try stage.find(7)
    #expect(first.identifier == second.identifier)
    #expect(try stage.find(7) === second)
    #expect(try stage.find(8).identifier != second.identifier)
  }

  /// The process has no other test, so its memory is that of the manager and of what its adapter knows.
  @Test func aHundredThousandReportsLeaveTheMemoryAsItIs() async {
    await #expect(processExitsWith: .success) {
      func residentPages() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return try #require(fields.dropFirst().first.flatMap { Int($0) })
      }
      let stage = CentralStage()
      stage.manager.scanForPeripherals(withServices: nil)
      var before = 0
      for batch in 0..<1000 {
        if batch == 200 { before = try residentPages() }
        stage.host.say(
          (0..<100).map { index in
            let number = UInt64(batch * 100 + index)
            return .discovered(
              Discovery(
                address: DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + number % 900), kind: .random),
                isConnectable: true, isScanResponse: false, data: [2, 1, UInt8(truncatingIfNeeded: number / 900)],
                rssi: -40))
          })
        _ = stage.heard()
        _ = stage.recorder.takeFound()
      }
      try #require(try residentPages() - before < 1024)
    }
  }

  /// The read of the Device Name characteristic, where there is one.
  private func nameRead(_ stage: CentralStage) -> GATTClient.OperationID? {
    stage.commands().lazy.compactMap { command in
      guard case .inspect(_, let operation) = command, case .readUsingUUID("2A00", 1...0xFFFF) = operation.kind else {
        return nil
      }
      return operation.id
    }.first
  }

  @Test func theNameIsReadWhereNoneIsAdvertised() throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    stage.manager.connect(peripheral)
    stage.linkUp(1)
    let read = try #require(nameRead(stage))
    _ = stage.heard()
    let value = AttributeValue(handle: 3, value: [UInt8]("Lamp".utf8))
    stage.say(.client(PeerID(rawValue: 1), .finished(read, .success(.values([value])))))
    #expect(stage.heard() == ["name Lamp"] && peripheral.name == "Lamp")
  }

  @Test func aNameThatCannotBeReadIsNone() throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    stage.manager.connect(peripheral)
    stage.linkUp(1)
    let read = try #require(nameRead(stage))
    _ = stage.heard()
    let error = GATTClientError.errorResponse(.insufficientEncryption, request: .readByTypeRequest, handle: 3)
    stage.say(.client(PeerID(rawValue: 1), .finished(read, .failure(error))))
    #expect(stage.heard() == [] && peripheral.name == nil)
  }

  @Test func anAdvertisedNameIsNotRead() throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1, "03094142")
    stage.manager.connect(peripheral)
    stage.linkUp(1)
    #expect(peripheral.name == "AB" && nameRead(stage) == nil)
  }

  @Test func rule6_15_anotherNameIsTold() throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1, Self.strap)
    stage.manager.scanForPeripherals(withServices: ["1234"])
    stage.advertise(1, "05094e616d65")
    #expect(stage.heard() == ["name Name"])
    #expect(peripheral.name == "Name")
  }

  /// A new run of the program connects to a device that it has not heard yet.
  @Test func whoIsBondedIsRetrievedUnseen() throws {
    let record = BondFixtures.record(1)
    let keeper = BondStorage(BondFixtures.Notebook(record), log: { _, _ in })
    let stage = CentralStage(host: ScriptedHost(bonds: keeper))
    let bond = record.bonds[1]
    let peripheral = try #require(stage.manager.retrievePeripherals(withIdentifiers: [UUID(), bond.id]).first)
    #expect(peripheral.identifier == bond.id)
    stage.manager.connect(peripheral)
    guard case .connect(_, bond.record.identity, _, _)? = stage.commands().last else {
      Issue.record("not asked"); return
    }
  }

  @Test func rule6_17_whatWasSeenIsRetrieved() throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    #expect(stage.manager.retrievePeripherals(withIdentifiers: [UUID(), peripheral.identifier]) == [peripheral])
    let byAddress = try #require(stage.manager.retrievePeripheral(withAddress: "c0:00:00:00:00:05", isRandom: true))
    stage.manager.connect(byAddress)
    #expect(stage.posted() == ["connect 5"])
    #expect(stage.manager.retrievePeripheral(withAddress: "nonsense", isRandom: true) == nil)
  }

  @Test func theHostMayEndAScan() {
    let stage = CentralStage()
    stage.manager.scanForPeripherals(withServices: nil)
    stage.say(.scanStopped(.unsupported("scanning")))
    #expect(!stage.manager.isScanning)
    #expect(stage.logged().contains { $0.contains("the scan ended") })
  }

  /// At the limit the device not seen for the longest time is forgotten; one that the application holds is not.
  @Test func knownDevicesAreBounded() throws {
    var limits = CentralLimits()
    limits.knownDevices = 2
    let stage = CentralStage(limits: limits)
    let held = try stage.find(1)
    let second = try stage.find(2).identifier
    _ = stage.recorder.takeFound()
    #expect(stage.manager.retrievePeripherals(withIdentifiers: [second]).count == 1)
    let third = try stage.find(3)
    #expect(stage.manager.retrievePeripherals(withIdentifiers: [second]) == [])
    #expect(stage.manager.retrievePeripherals(withIdentifiers: [held.identifier]) == [held])
    // The application holds all that may be known: a new one is not reported.
    stage.manager.scanForPeripherals(withServices: nil)
    stage.advertise(4)
    #expect(stage.heard() == [])
    withExtendedLifetime(third) {}
  }

  @Test func garbageIsAnAdvertisementLikeAnyOther() {
    let stage = CentralStage()
    stage.manager.scanForPeripherals(withServices: nil)
    var source = SystemRandomNumberGenerator()
    for number in UInt8.min...UInt8.max {
      let octets = (0..<Int.random(in: 0...31, using: &source)).map { _ in UInt8.random(in: 0...255, using: &source) }
      stage.advertise(number, octets.hexadecimal)
    }
    #expect(stage.heard().count == 256)
  }
}
