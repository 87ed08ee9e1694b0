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

  @Test func servicesAreFoundAndAChangeOfThemIsWatched() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    peripheral.discoverServices(nil)
    #expect(
      fixture.host.commands.suffix(2).map(CentralFixture.describe) == [
        "1 discoverPrimaryServices", "1 subscribeToServiceChanged",
      ])
    fixture.answer(.success(services))
    #expect(fixture.takeCalls() == ["services 180D 180F"])
    #expect(peripheral.services?.allSatisfy { $0.peripheral === peripheral && $0.isPrimary } == true)
    peripheral.discoverServices(nil)
    #expect(fixture.posted() == ["1 discoverPrimaryServices"], "once is enough")
  }

  @Test("6.8 Filtered discoveries of services add up")
  func filteredDiscoveriesAddUp() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    peripheral.discoverServices(["180F"])
    fixture.answer(.success(services))
    let battery = try #require(peripheral.services?.first)
    peripheral.discoverServices(["1800"])
    fixture.answer(.success(services))
    #expect(fixture.takeCalls() == ["services 180F", "services 1800 180F"])
    #expect(peripheral.services?.last === battery, "what was found stays the object it was")
    peripheral.discoverServices(["FFFF"])
    fixture.answer(.success(services))
    #expect(fixture.takeCalls() == ["services 1800 180F"])
  }

  @Test("6.8 Filtered discoveries of characteristics add up")
  func characteristicsAddUpToo() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    peripheral.discoverServices(["180F"])
    fixture.answer(.success(services))
    let service = try #require(peripheral.services?.first)
    #expect(service.characteristics == nil)
    peripheral.discoverCharacteristics(["2A38"], for: service)
    #expect(fixture.host.commands.last.map(CentralFixture.describe)?.hasPrefix("1 discoverCharacteristics") == true)
    fixture.answer(.success(characteristics))
    peripheral.discoverCharacteristics(nil, for: service)
    fixture.answer(.success(characteristics))
    #expect(fixture.takeCalls() == ["services 180F", "characteristics 2A38", "characteristics 2A37 2A38"])
    let first = try #require(service.characteristics?.first)
    #expect(first.service === service)
    #expect(first.properties == .notify)
  }

  @Test func aCharacteristicEndsWhereTheNextBegins() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    peripheral.discoverServices(["180F"])
    fixture.answer(.success(services))
    let service = try #require(peripheral.services?.first)
    peripheral.discoverCharacteristics(["2A37", "2A38"], for: service)
    fixture.answer(.success(characteristics))
    let found = try #require(service.characteristics)
    for characteristic in found { peripheral.discoverDescriptors(for: characteristic) }
    let kinds = fixture.commands().compactMap {
      if case .link(_, .client(let operation)) = $0 { operation.kind } else { nil }
    }
    #expect(kinds == [.discoverDescriptors(13...14), .discoverDescriptors(17...20)])
  }

  @Test func descriptors() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    let characteristic = try #require(fixture.discover(peripheral, [("2A37", .notify)]).first)
    peripheral.discoverDescriptors(for: characteristic)
    fixture.answer(
      .success(
        .descriptors([
          DiscoveredDescriptor(handle: 4, uuid: "2902"), DiscoveredDescriptor(handle: 5, uuid: "2901"),
        ])))
    #expect(fixture.takeCalls() == ["descriptors 2902 2901"])
    #expect(characteristic.descriptors?.allSatisfy { $0.characteristic === characteristic } == true)
  }

  /// A value that is the last attribute of its service has none, which is known without asking. The configuration of
  /// one that notifies may be directly behind the service.
  @Test func noRoomForDescriptorsIsNoDescriptors() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    peripheral.discoverServices(nil)
    fixture.answer(.success(.services([DiscoveredService(handles: 1...3, uuid: "180D")])))
    let service = try #require(peripheral.services?.first)
    peripheral.discoverCharacteristics(nil, for: service)
    fixture.answer(
      .success(
        .characteristics([
          DiscoveredCharacteristic(declaration: 2, properties: [.read, .notify], valueHandle: 3, uuid: "2A37")
        ])))
    let characteristic = try #require(service.characteristics?.first)
    peripheral.readValue(for: characteristic)
    peripheral.discoverDescriptors(for: characteristic)
    peripheral.setNotifyValue(true, for: characteristic)
    _ = fixture.takeCalls()
    fixture.answer(.success(.value([7])), .success(.noConfiguration(in: 4...4)))
    #expect(
      fixture.takeCalls() == ["value 2A37 [7]", "descriptors ", "notifying 2A37 true"], "in the order of the questions")
    #expect(characteristic.isNotifying, "some devices send the values nevertheless")
  }

  @Test("6.8 Included services are discovered for themselves")
  func includedServices() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    peripheral.discoverServices(["180D", "180F"])
    fixture.answer(.success(services))
    let service = try #require(peripheral.services?.first)
    peripheral.discoverIncludedServices(nil, for: service)
    fixture.answer(
      .success(
        .includedServices([
          IncludedService(declaration: 7, service: DiscoveredService(handles: 10...20, uuid: "180F")),
          IncludedService(declaration: 8, service: DiscoveredService(handles: 30...40, uuid: "1234")),
        ])))
    #expect(fixture.takeCalls() == ["services 180D 180F", "included 180F 1234"])
    let included = try #require(service.includedServices)
    #expect(included.first === peripheral.services?.last)
    #expect(included.last?.isPrimary == false)
    _ = fixture.posted()
    peripheral.discoverCharacteristics(nil, for: included[1])
    #expect(fixture.posted().count == 1, "what is in it can be found")
  }

  @Test func errorsAreTold() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    peripheral.discoverServices(nil)
    fixture.answer(.failure(.malformedResponse(.readByGroupTypeResponse, reason: "no order")))
    #expect(fixture.takeCalls() == ["services  unknown"])
    #expect(peripheral.services == nil)
  }

  @Test("6.9 Operations without a connection are logged and dropped")
  func beforeTheConnectionNothingIsAsked() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    peripheral.discoverServices(nil)
    peripheral.readRSSI()
    fixture.manager.connect(peripheral)
    peripheral.discoverServices(nil)
    #expect(fixture.posted() == ["connect 1"])
    #expect(fixture.logged().count { $0.contains("while in the connected state") } == 3)
    #expect(fixture.takeCalls() == [])
  }

  @Test("6.9 Operations on objects that were not discovered are logged and dropped")
  func objectsOfOnesOwnAreNotAsked() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
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
    #expect(fixture.posted() == [])
    #expect(fixture.logged().count { $0.contains("was not found on a peripheral") } == 8)
    #expect(service.peripheral == nil)
  }

  @Test("6.15 Changed services are void")
  func changedServicesAreVoid() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    peripheral.discoverServices(nil)
    fixture.answer(.success(services))
    let battery = try #require(peripheral.services?.last)
    peripheral.discoverCharacteristics(nil, for: battery)
    fixture.answer(.success(characteristics))
    let characteristic = try #require(battery.characteristics?.first)
    _ = fixture.takeCalls()
    fixture.say(.client(LinkID(rawValue: 1), .servicesChanged(8...11)))
    #expect(fixture.takeCalls() == ["modified 180D 180F"])
    #expect(peripheral.services?.map(\.uuid) == [])
    peripheral.readValue(for: characteristic)
    #expect(fixture.posted() == [])
    fixture.say(.client(LinkID(rawValue: 1), .notification(12, [1])))
    #expect(fixture.takeCalls() == [])
    peripheral.discoverServices(nil)
    fixture.answer(.success(services))
    #expect(fixture.takeCalls() == ["services 180D 180F"])
    #expect(peripheral.services?.last !== battery)
  }

  @Test func aChangeWhereNothingWasFoundIsToldToo() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    fixture.say(.client(LinkID(rawValue: 1), .servicesChanged(1...0xFFFF)))
    #expect(fixture.takeCalls() == ["modified "])
    #expect(peripheral.services == nil)
  }

  /// Docs/Decisions/corebluetooth.md#the-central.
  @Test func servicesOfTheStackAreFoundByTheirTypeOnly() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    let found: Result<GATTClient.Outcome, GATTClientError> = .success(
      .services([
        DiscoveredService(handles: 1...5, uuid: "1800"),
        DiscoveredService(handles: 6...9, uuid: "00001801-0000-1000-8000-00805F9B34FB"),
        DiscoveredService(handles: 10...20, uuid: "180F"),
      ]))
    peripheral.discoverServices(nil)
    fixture.answer(found)
    #expect(fixture.takeCalls() == ["services 180F"])
    peripheral.discoverServices(["1801"])
    fixture.answer(found)
    #expect(fixture.takeCalls() == ["services 1801 180F"])
    peripheral.discoverServices(nil)
    fixture.answer(found)
    #expect(fixture.takeCalls() == ["services 1801 180F"], "what was found stays")
    // Of the services that are void the application has two.
    fixture.say(.client(LinkID(rawValue: 1), .servicesChanged(1...20)))
    #expect(fixture.takeCalls() == ["modified 1801 180F"])
  }
}
