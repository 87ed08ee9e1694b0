import AdapterFixtures
import BLEATT
import BLEGAP
import BLEGATT
import BLEHCI
import BLEHost
import BluetoothLE
import Testing

@testable import BLEAdapter
@testable import CoreBluetoothTypes

/// Rules of CoreBluetooth (Docs/CoreBluetooth.md) that concern several parts of a manager.
@Suite struct FurtherRuleTests {
  private let peer = LinkID(rawValue: 1)

  @Test("1.9 There is no power alert; the option is accepted and logged")
  func thereIsNoPowerAlert() {
    let fixture = CentralFixture()
    for isShown in [true, false] {
      let options = [CBCentralManagerOptionShowPowerAlertKey: isShown]
      for _ in 0..<2 { fixture.manager.reportIgnored(options, of: "init", known: AdapterOptions.keys) }
    }
    #expect(
      fixture.logged() == ["CBCentralManager: init: the option kCBInitOptionShowPowerAlert has no effect on Linux"])
  }

  /// After the Flags 28 octets with their headers, in the scan response a name of 10 octets without its header.
  @Test(
    "5.2 An advertisement fills 28 octets after the Flags, and 10 octets of name", arguments: 0...16,
    [0, 1, 8, 10, 11, 29])
  func anAdvertisementHasTwoAreas(services: Int, name: Int) {
    let fixture = PeripheralFixture()
    let uuids = (0..<services).map { CBUUID(BluetoothUUID(UInt16(0x2000 + $0))) }
    fixture.manager.startAdvertising([
      CBAdvertisementDataServiceUUIDsKey: uuids, CBAdvertisementDataLocalNameKey: String(repeating: "n", count: name),
    ])
    #expect(fixture.takeCalls() == ["didStart"])
    guard case .advertising(.start(_, let intent))? = fixture.host.commands.first else { return #expect(Bool(false)) }
    #expect(intent.data.prefix(3) == [2, 1, 6] && intent.data.count - 3 <= 28)
    let elements = AdvertisedData(advertisingData: intent.data[...], scanResponse: [][...])
    let response = AdvertisedData(advertisingData: [][...], scanResponse: intent.scanResponse[...])
    #expect(elements.serviceUUIDs.count == min(services, 13) && response.serviceUUIDs.isEmpty)
    // The overflow area has a place of its own (Docs/Decisions/radio.md#the-overflow-area).
    #expect(intent.scanResponse.count <= (services > 13 ? 31 : 12))
    #expect((response.localName?.octets.count ?? 0) <= 10)
  }

  @Test("5.4 In the background there is no name, and every UUID is in the overflow area")
  func anAdvertisementOfABackgroundProgram() throws {
    let fixture = PeripheralFixture()
    let payload = try fixture.manager.startAdvertising(
      Advertisement(localName: "Clock", serviceUUIDs: ["180D", "180F"]),
      options: AdvertisingOptions(policy: .background))
    #expect(payload.localName == nil && payload.contents.serviceUUIDs.isEmpty)
    #expect(payload.overflowServiceUUIDs == ["180D", "180F"])
    // Bits 61 and 115 of the mask (Docs/Decisions/radio.md#the-overflow-area).
    var mask = [UInt8](repeating: 0, count: 16)
    (mask[7], mask[14]) = (0x20, 0x08)
    #expect(Array(payload.advertisingData.suffix(17)) == [0x01] + mask)
  }

  @Test("5.6 An advertisement is connectable and scannable, with the Flags first")
  func anAdvertisementIsConnectable() {
    let fixture = PeripheralFixture()
    fixture.manager.startAdvertising([CBAdvertisementDataLocalNameKey: "Clock"])
    guard case .advertising(.start(_, let intent))? = fixture.host.commands.first else { return #expect(Bool(false)) }
    #expect(intent.isConnectable && intent.data.prefix(3) == [2, 1, 6])
  }

  @Test("6.2 The signal strength 127 means that there is none")
  func thereMayBeNoSignalStrength() {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(withServices: nil)
    fixture.advertise(1, rssi: 127)
    #expect(fixture.takeCalls() == ["discovered - 127"])
    #expect(fixture.recorder.lastDictionary[CBAdvertisementDataIsConnectable] == "1")
  }

  private func writer(_ limit: Int) throws -> (CentralFixture, Peripheral, Characteristic) {
    var limits = CentralLimits()
    limits.pendingWrites = limit
    let fixture = CentralFixture(limits: limits)
    let peripheral = try fixture.connect(1)
    let characteristic = try #require(fixture.discover(peripheral, [("2A39", .writeWithoutResponse)]).first)
    _ = fixture.posted()
    return (fixture, peripheral, characteristic)
  }

  @Test("6.11 canSendWriteWithoutResponse is false exactly until the call for room")
  func roomIsThereFromTheCallOn() throws {
    let (fixture, peripheral, characteristic) = try writer(2)
    let rooms = Lines()
    fixture.recorder.react { [weak peripheral] line in
      if line == "ready" { rooms.append("\(peripheral?.canSendWriteWithoutResponse ?? false)") }
    }
    for _ in 0..<3 {
      peripheral.writeValue(Data([1]), for: characteristic, type: .withoutResponse)
      #expect(peripheral.canSendWriteWithoutResponse)
      peripheral.writeValue(Data([2]), for: characteristic, type: .withoutResponse)
      #expect(!peripheral.canSendWriteWithoutResponse && !peripheral.canSendWriteWithoutResponse)
      #expect(fixture.takeCalls() == [])
      fixture.answer(.success(.done), .success(.done))
      // There is room again, then both have left.
      #expect(fixture.takeCalls() == ["ready", "ready"] && rooms.take() == ["true", "true"])
    }
    // Never full: the call says that the write has left.
    peripheral.writeValue(Data([1]), for: characteristic, type: .withoutResponse)
    fixture.answer(.success(.done))
    #expect(fixture.takeCalls() == ["ready"] && rooms.take() == ["true"])
  }

  @Test("6.11 There is no room without a link, and no call for it after the link")
  func thereIsNoRoomWithoutALink() throws {
    let (fixture, peripheral, characteristic) = try writer(1)
    peripheral.writeValue(Data([1]), for: characteristic, type: .withoutResponse)
    fixture.say(.link(peer, .disconnected(.connectionTimeout)))
    #expect(!peripheral.canSendWriteWithoutResponse)
    #expect(fixture.takeCalls() == ["disconnected connectionTimeout"])
    fixture.manager.connect(peripheral)
    #expect(!peripheral.canSendWriteWithoutResponse)
    fixture.linkUp(1, peer: 2)
    #expect(peripheral.canSendWriteWithoutResponse && fixture.takeCalls() == ["connected"])
  }

  @Test("6.11 A write with response holds 512 octets, one without what the MTU leaves", arguments: [23, 185, 517])
  func theLongestWrites(mtu: Int) throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1, mtu: mtu)
    #expect(peripheral.maximumWriteValueLength(for: .withResponse) == 512)
    #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) == min(mtu - 3, 512))
  }

  @Test("6.17 What another manager has discovered on a device counts")
  func whatAnotherManagerDiscoveredCounts() throws {
    let host = ScriptedHost()
    let (first, second) = (CentralFixture(host: host), CentralFixture(.unknown, host: host))
    let theirs = try first.connect(1)
    _ = try first.discover(theirs, [])
    second.settle()
    let mine = try #require(second.manager.retrieveConnectedPeripherals(withServices: ["180D"]).first)
    #expect(mine == theirs && mine !== theirs && mine.state == .disconnected)
    second.manager.connect(mine)
    #expect(mine.state == .connecting)
  }

  @Test("6.19 Duplicates on the main queue are not warned of")
  func duplicatesOnTheMainQueueAreAllowed() {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(
      withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
    #expect(fixture.logged() == [])
  }

  @Test("7.2 The calls of a central manager in order")
  func theLifeOfACentralManagerInOrder() throws {
    let fixture = CentralFixture(.unknown)
    fixture.say(.state(.poweredOn, nil))
    fixture.manager.scanForPeripherals(withServices: nil)
    fixture.advertise(1)
    fixture.manager.stopScan()
    let peripheral = try #require(fixture.recorder.takeFound())
    peripheral.delegate = fixture.recorder
    fixture.manager.connect(peripheral)
    fixture.linkUp(1)
    peripheral.discoverServices(nil)
    fixture.answer(.success(.services([DiscoveredService(handles: 1...9, uuid: "180D")])))
    peripheral.discoverCharacteristics(nil, for: try #require(peripheral.services?.first))
    fixture.answer(
      .success(
        .characteristics([
          DiscoveredCharacteristic(declaration: 2, properties: [.read, .write, .notify], valueHandle: 3, uuid: "2A37")
        ])))
    let characteristic = try #require(peripheral.services?.first?.characteristics?.first)
    peripheral.setNotifyValue(true, for: characteristic)
    peripheral.readValue(for: characteristic)
    peripheral.writeValue(Data([2]), for: characteristic, type: .withResponse)
    fixture.answer(.success(.configured(4)), .success(.value([1])), .success(.done))
    fixture.manager.cancelPeripheralConnection(peripheral)
    fixture.say(.link(peer, .disconnected(.terminatedByLocalHost)))
    #expect(
      fixture.takeCalls() == [
        "state poweredOn", "discovered - -40", "connected", "services 180D", "characteristics 2A37",
        "notifying 2A37 true", "value 2A37 [1]", "wrote 2A37", "disconnected",
      ])
  }

  @Test("8.5 The description is the text of the UUID", arguments: ["180D", "E20A39F4-73F5-4BC4-A12F-17D1AD07A961"])
  func theDescriptionIsTheText(text: String) { #expect("\(CBUUID(string: text))" == text) }
}
