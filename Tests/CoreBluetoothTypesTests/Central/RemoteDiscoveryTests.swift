import BLEATT
import BLEGATT
import BLEHost
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// Rules 6.8, 6.9 and 6.15: what a peripheral has.
@Suite struct RemoteDiscoveryTests {
  private let services = GATTClient.Outcome.services([
    DiscoveredService(handles: 1...5, uuid: "1800"), DiscoveredService(handles: 6...9, uuid: "180D"),
    DiscoveredService(handles: 10...20, uuid: "180F"),
  ])
  private let characteristics = GATTClient.Outcome.characteristics([
    DiscoveredCharacteristic(declaration: 11, properties: .notify, valueHandle: 12, uuid: "2A37"),
    DiscoveredCharacteristic(declaration: 15, properties: .read, valueHandle: 16, uuid: "2A38"),
  ])

  @Test func rule6_8_servicesAreFoundAndAChangeOfThemIsWatched() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    peripheral.discoverServices(nil)
    #expect(
      stage.host.commands.suffix(2).map(CentralStage.describe) == [
        "1 discoverPrimaryServices", "1 subscribeToServiceChanged",
      ])
    stage.answer(.success(services))
    #expect(stage.heard() == ["services 1800 180D 180F"])
    #expect(peripheral.services?.allSatisfy { $0.peripheral === peripheral && $0.isPrimary } == true)
    peripheral.discoverServices(nil)
    #expect(stage.posted() == ["1 discoverPrimaryServices"], "once is enough")
  }

  @Test func rule6_8_filteredDiscoveriesAddUp() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    peripheral.discoverServices(["180F"])
    stage.answer(.success(services))
    let battery = try #require(peripheral.services?.first)
    peripheral.discoverServices(["1800"])
    stage.answer(.success(services))
    #expect(stage.heard() == ["services 180F", "services 1800 180F"])
    #expect(peripheral.services?.last === battery, "what was found stays the object it was")
    peripheral.discoverServices(["FFFF"])
    stage.answer(.success(services))
    #expect(stage.heard() == ["services 1800 180F"])
  }

  @Test func rule6_8_characteristicsAddUpToo() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    peripheral.discoverServices(["180F"])
    stage.answer(.success(services))
    let service = try #require(peripheral.services?.first)
    #expect(service.characteristics == nil)
    peripheral.discoverCharacteristics(["2A38"], for: service)
    #expect(stage.host.commands.last.map(CentralStage.describe)?.hasPrefix("1 discoverCharacteristics") == true)
    stage.answer(.success(characteristics))
    peripheral.discoverCharacteristics(nil, for: service)
    stage.answer(.success(characteristics))
    #expect(stage.heard() == ["services 180F", "characteristics 2A38", "characteristics 2A37 2A38"])
    let first = try #require(service.characteristics?.first)
    #expect(first.service === service)
    #expect(first.properties == .notify)
  }

  @Test func rule6_8_aCharacteristicEndsWhereTheNextBegins() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    peripheral.discoverServices(["180F"])
    stage.answer(.success(services))
    let service = try #require(peripheral.services?.first)
    peripheral.discoverCharacteristics(["2A37", "2A38"], for: service)
    stage.answer(.success(characteristics))
    let found = try #require(service.characteristics)
    for characteristic in found { peripheral.discoverDescriptors(for: characteristic) }
    let kinds = stage.commands().compactMap { if case .client(_, let operation) = $0 { operation.kind } else { nil } }
    #expect(kinds == [.discoverDescriptors(13...14), .discoverDescriptors(17...20)])
  }

  @Test func rule6_8_descriptors() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    let characteristic = try #require(stage.discover(peripheral, [("2A37", .notify)]).first)
    peripheral.discoverDescriptors(for: characteristic)
    stage.answer(
      .success(
        .descriptors([
          DiscoveredDescriptor(handle: 4, uuid: "2902"), DiscoveredDescriptor(handle: 5, uuid: "2901"),
        ])))
    #expect(stage.heard() == ["descriptors 2902 2901"])
    #expect(characteristic.descriptors?.allSatisfy { $0.characteristic === characteristic } == true)
  }

  /// A value that is the last attribute of its service has none, which is known without asking.
  @Test func noRoomForDescriptorsIsNoDescriptors() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    peripheral.discoverServices(nil)
    stage.answer(.success(.services([DiscoveredService(handles: 1...3, uuid: "180D")])))
    let service = try #require(peripheral.services?.first)
    peripheral.discoverCharacteristics(nil, for: service)
    stage.answer(
      .success(
        .characteristics([
          DiscoveredCharacteristic(declaration: 2, properties: [.read, .notify], valueHandle: 3, uuid: "2A37")
        ])))
    let characteristic = try #require(service.characteristics?.first)
    peripheral.readValue(for: characteristic)
    peripheral.discoverDescriptors(for: characteristic)
    peripheral.setNotifyValue(true, for: characteristic)
    _ = stage.heard()
    stage.answer(.success(.value([7])))
    #expect(
      stage.heard() == ["value 2A37 [7]", "descriptors ", "notifying 2A37 false ATT 0xa"],
      "in the order of the questions")
  }

  @Test func rule6_8_includedServices() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    peripheral.discoverServices(["180D", "180F"])
    stage.answer(.success(services))
    let service = try #require(peripheral.services?.first)
    peripheral.discoverIncludedServices(nil, for: service)
    stage.answer(
      .success(
        .includedServices([
          IncludedService(declaration: 7, service: DiscoveredService(handles: 10...20, uuid: "180F")),
          IncludedService(declaration: 8, service: DiscoveredService(handles: 30...40, uuid: "1234")),
        ])))
    #expect(stage.heard() == ["services 180D 180F", "included 180F 1234"])
    let included = try #require(service.includedServices)
    #expect(included.first === peripheral.services?.last)
    #expect(included.last?.isPrimary == false)
    _ = stage.posted()
    peripheral.discoverCharacteristics(nil, for: included[1])
    #expect(stage.posted().count == 1, "what is in it can be found")
  }

  @Test func rule6_8_errorsAreTold() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    peripheral.discoverServices(nil)
    stage.answer(.failure(.malformedResponse(.readByGroupTypeResponse, reason: "no order")))
    #expect(stage.heard() == ["services  unknown"])
    #expect(peripheral.services == nil)
  }

  @Test func rule6_9_beforeTheConnectionNothingIsAsked() throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    peripheral.discoverServices(nil)
    peripheral.readRSSI()
    stage.manager.connect(peripheral)
    peripheral.discoverServices(nil)
    #expect(stage.posted() == ["connect 1"])
    #expect(stage.logged().count { $0.contains("while in the connected state") } == 3)
    #expect(stage.heard() == [])
  }

  @Test func rule6_9_objectsOfOnesOwnAreNotAsked() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    let service = MutableService(type: "180D", primary: true)
    let characteristic = dynamic("2A37")
    let descriptor = MutableDescriptor(type: "2901", value: "x")
    peripheral.discoverCharacteristics(nil, for: service)
    peripheral.discoverIncludedServices(nil, for: service)
    peripheral.discoverDescriptors(for: characteristic)
    peripheral.readValue(for: characteristic)
    peripheral.readValue(for: descriptor)
    peripheral.writeValue(Data(), for: characteristic, type: .withResponse)
    peripheral.writeValue(Data(), for: descriptor)
    peripheral.setNotifyValue(true, for: characteristic)
    #expect(stage.posted() == [])
    #expect(stage.logged().count { $0.contains("was not found on a peripheral") } == 8)
    #expect(service.peripheral == nil)
  }

  @Test func rule6_15_changedServicesAreVoid() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    peripheral.discoverServices(nil)
    stage.answer(.success(services))
    let battery = try #require(peripheral.services?.last)
    peripheral.discoverCharacteristics(nil, for: battery)
    stage.answer(.success(characteristics))
    let characteristic = try #require(battery.characteristics?.first)
    _ = stage.heard()
    stage.say(.client(PeerID(rawValue: 1), .servicesChanged(8...11)))
    #expect(stage.heard() == ["modified 180D 180F"])
    #expect(peripheral.services?.map(\.uuid) == ["1800"])
    peripheral.readValue(for: characteristic)
    #expect(stage.posted() == [])
    stage.say(.client(PeerID(rawValue: 1), .notification(12, [1])))
    #expect(stage.heard() == [])
    peripheral.discoverServices(nil)
    stage.answer(.success(services))
    #expect(stage.heard() == ["services 1800 180D 180F"])
    #expect(peripheral.services?.last !== battery)
  }

  @Test func rule6_15_aChangeWhereNothingWasFoundIsToldToo() throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    stage.say(.client(PeerID(rawValue: 1), .servicesChanged(1...0xFFFF)))
    #expect(stage.heard() == ["modified "])
    #expect(peripheral.services == nil)
  }
}
