import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// Rules 6.10 to 6.14 and 6.16: values, read, written and told.
@Suite struct RemoteValueTests {
  private let peer = LinkID(rawValue: 1)

  /// A connected peripheral with one characteristic of each kind: 2A37 notify and indicate, 2A38 read, 2A39 write, 2A40
  /// write without response, 2A41 indicate.
  private func scene(mtu: Int? = nil, limits: CentralLimits = CentralLimits()) throws -> (
    CentralFixture, Peripheral, [Characteristic]
  ) {
    let fixture = CentralFixture(limits: limits)
    let peripheral = try fixture.connect(1, mtu: mtu)
    let characteristics = try fixture.discover(
      peripheral,
      [
        ("2A37", [.notify, .indicate]), ("2A38", .read), ("2A39", .write), ("2A40", .writeWithoutResponse),
        ("2A41", .indicate),
      ])
    _ = fixture.posted()
    return (fixture, peripheral, characteristics)
  }

  @Test("6.10 The value is there before the call, of reads and notifications")
  func theValueIsThereBeforeTheCall() throws {
    let (fixture, peripheral, characteristics) = try scene()
    peripheral.readValue(for: characteristics[1])
    #expect(fixture.host.commands.last.map(CentralFixture.describe) == "1 readLong(0x0006)")
    fixture.answer(.success(.value([1, 2])))
    fixture.say(.client(peer, .notification(3, [3])))
    fixture.say(.client(peer, .indication(3, [4])))
    #expect(fixture.takeCalls() == ["value 2A38 [1, 2]", "value 2A37 [3]", "value 2A37 [4]"])
  }

  @Test func anErrorLeavesTheValue() throws {
    let (fixture, peripheral, characteristics) = try scene()
    peripheral.readValue(for: characteristics[1])
    fixture.answer(.success(.value([1])))
    peripheral.readValue(for: characteristics[1])
    fixture.answer(.failure(.errorResponse(.readNotPermitted, request: .readRequest, handle: 6)))
    #expect(fixture.takeCalls() == ["value 2A38 [1]", "value 2A38 [1] ATT 0x2"])
  }

  @Test func aValueOfSomethingNotFoundIsNoNews() throws {
    let (fixture, peripheral, _) = try scene()
    fixture.say(.client(peer, .notification(0x99, [3])))
    #expect(fixture.takeCalls() == [])
    #expect(peripheral.state == .connected)
  }

  @Test("6.11 A write with response is answered once")
  func aWriteIsAnsweredOnce() throws {
    let (fixture, peripheral, characteristics) = try scene()
    peripheral.writeValue(Data([1, 2]), for: characteristics[2], type: .withResponse)
    #expect(fixture.host.commands.last.map(CentralFixture.describe) == "1 write(0x0009, [1, 2])")
    fixture.answer(.success(.done))
    peripheral.writeValue(Data([1, 2]), for: characteristics[2], type: .withResponse)
    fixture.answer(.failure(.errorResponse(ATTErrorCode(rawValue: 0x80), request: .writeRequest, handle: 9)))
    #expect(fixture.takeCalls() == ["wrote 2A39", "wrote 2A39 ATT 0x80"])
  }

  @Test func aValueHas512OctetsAtMost() throws {
    let (fixture, peripheral, characteristics) = try scene()
    #expect(peripheral.maximumWriteValueLength(for: .withResponse) == 512)
    peripheral.writeValue(Data(count: 512), for: characteristics[2], type: .withResponse)
    #expect(fixture.posted().count == 1)
    peripheral.writeValue(Data(count: 513), for: characteristics[2], type: .withResponse)
    #expect(fixture.posted() == [])
  }

  @Test func aValueTooLongIsToldInItsTurn() throws {
    let (fixture, peripheral, characteristics) = try scene()
    peripheral.readValue(for: characteristics[1])
    peripheral.writeValue(Data(count: 513), for: characteristics[2], type: .withResponse)
    #expect(fixture.takeCalls() == [])
    fixture.answer(.success(.value([1])))
    #expect(fixture.takeCalls() == ["value 2A38 [1]", "wrote 2A39 ATT 0xd"])
  }

  @Test("6.11 A write without response is never answered")
  func aWriteWithoutResponseIsNeverAnswered() throws {
    let (fixture, peripheral, characteristics) = try scene(mtu: 50)
    #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) == 47)
    peripheral.writeValue(Data([9]), for: characteristics[3], type: .withoutResponse)
    #expect(fixture.host.commands.last.map(CentralFixture.describe) == "1 writeWithoutResponse(0x000C, [9])")
    fixture.answer(.success(.done))
    #expect(fixture.takeCalls() == ["ready"])
    peripheral.writeValue(Data(count: 48), for: characteristics[3], type: .withoutResponse)
    peripheral.writeValue(Data([9]), for: characteristics[2], type: .withoutResponse)
    #expect(fixture.posted() == [])
    #expect(fixture.logged().count { $0.contains("this write is dropped") } == 2)
  }

  /// At the limit there is no room; one call follows when there is; past the limit of octets writes are dropped.
  @Test("6.11 The call for room comes once")
  func roomIsToldOnce() throws {
    var limits = CentralLimits()
    limits.pendingWrites = 2
    limits.pendingOctets = 3 * 65
    let (fixture, peripheral, characteristics) = try scene(limits: limits)
    #expect(peripheral.canSendWriteWithoutResponse)
    peripheral.writeValue(Data([1]), for: characteristics[3], type: .withoutResponse)
    #expect(peripheral.canSendWriteWithoutResponse)
    peripheral.writeValue(Data([2]), for: characteristics[3], type: .withoutResponse)
    #expect(!peripheral.canSendWriteWithoutResponse)
    peripheral.writeValue(Data([3]), for: characteristics[3], type: .withoutResponse)
    peripheral.writeValue(Data([4]), for: characteristics[3], type: .withoutResponse)
    #expect(fixture.logged().count { $0.contains("so this write is dropped") } == 1)
    fixture.answer(.success(.done), .success(.done))
    #expect(fixture.takeCalls() == ["ready"])
    #expect(peripheral.canSendWriteWithoutResponse)
  }

  @Test("6.11 Each time that all writes without response have left, one call follows")
  func theEndOfTheWritesIsReported() throws {
    let (fixture, peripheral, characteristics) = try scene()
    for _ in 0..<3 {
      for _ in 0..<5 { peripheral.writeValue(Data([1]), for: characteristics[3], type: .withoutResponse) }
      let writes = fixture.commands().compactMap { if case .link(_, .client(let it)) = $0 { it.id } else { nil } }
      for id in writes.dropLast() { fixture.say(.client(peer, .finished(id, .success(.done)))) }
      #expect(fixture.takeCalls() == [])
      fixture.say(.client(peer, .finished(try #require(writes.last), .success(.done))))
      #expect(fixture.takeCalls() == ["ready"])
    }
  }

  /// As the bearers of mesh networks and wallets do.
  @Test("6.11 A program that writes once in each call for more writes goes on")
  func eachCallForMoreAllowsAnotherWrite() throws {
    let (fixture, peripheral, characteristics) = try scene()
    fixture.recorder.react { [weak peripheral] line in
      if line == "ready" { peripheral?.writeValue(Data([1]), for: characteristics[3], type: .withoutResponse) }
    }
    peripheral.writeValue(Data([1]), for: characteristics[3], type: .withoutResponse)
    for _ in 0..<20 {
      fixture.answer(.success(.done))
      #expect(fixture.takeCalls() == ["ready"])
    }
  }

  /// The writes of one delegate call may leave one by one while it runs.
  @Test("6.11 A burst of writes without response has one call")
  func aBurstHasOneCall() throws {
    let (fixture, peripheral, characteristics) = try scene()
    let peer = peer
    fixture.recorder.react { [weak peripheral, host = fixture.host] line in
      guard line.hasPrefix("rssi") else { return }
      for _ in 0..<3 {
        peripheral?.writeValue(Data([1]), for: characteristics[3], type: .withoutResponse)
        guard case .link(_, .client(let write))? = host.commands.last else { continue }
        host.say(.client(peer, .finished(write.id, .success(.done))))
      }
    }
    peripheral.readRSSI()
    fixture.say(.link(peer, .rssi(.success(-40))))
    #expect(fixture.takeCalls() == ["rssi -40", "ready"])
  }

  @Test("6.12 Operations are answered in their order")
  func answersComeInTheOrderOfTheQuestions() throws {
    let (fixture, peripheral, characteristics) = try scene()
    peripheral.readValue(for: characteristics[1])
    peripheral.writeValue(Data([1]), for: characteristics[2], type: .withResponse)
    peripheral.discoverServices(nil)
    #expect(
      fixture.host.commands.suffix(3).map(CentralFixture.describe)
        == ["1 readLong(0x0006)", "1 write(0x0009, [1])", "1 discoverPrimaryServices"])
    let operations = fixture.commands().compactMap { if case .link(_, .client(let it)) = $0 { it.id } else { nil } }
    // Whatever order they are answered in.
    fixture.say(.client(peer, .finished(operations[1], .success(.done))))
    #expect(fixture.takeCalls() == [])
    fixture.say(.client(peer, .finished(operations[0], .success(.value([1])))))
    #expect(fixture.takeCalls() == ["value 2A38 [1]", "wrote 2A39"])
  }

  @Test func pendingOperationsAreBounded() throws {
    var limits = CentralLimits()
    limits.pendingOctets = 128
    let (fixture, peripheral, characteristics) = try scene(limits: limits)
    for _ in 0..<3 { peripheral.readValue(for: characteristics[1]) }
    #expect(fixture.takeCalls() == ["value 2A38 - outOfSpace"])
    // Only that one has failed, and there is room again after an answer.
    fixture.answer(.success(.value([1])))
    #expect(fixture.takeCalls() == ["value 2A38 [1]"])
    peripheral.readValue(for: characteristics[1])
    #expect(fixture.posted().count == 1)
  }

  @Test("6.12 A thousand writes may wait for their answers")
  func aThousandWritesMayWait() throws {
    let (fixture, peripheral, characteristics) = try scene()
    for _ in 0..<1000 { peripheral.writeValue(Data(count: 512), for: characteristics[2], type: .withResponse) }
    #expect(fixture.posted().count == 1000 && fixture.takeCalls().isEmpty)
  }

  @Test("6.16 Each reading of the signal strength and of the PHYs has an answer")
  func requestsThatWaitAreAnswered() throws {
    var limits = CentralLimits()
    limits.pendingRequests = 2
    let (fixture, peripheral, _) = try scene(limits: limits)
    for _ in 0..<3 { peripheral.readRSSI() }
    for _ in 0..<3 { peripheral.readPHY() }
    #expect(fixture.takeCalls() == ["rssi 127 outOfSpace", "phy outOfSpace"])
    fixture.say(.link(peer, .disconnected(.connectionTimeout)))
    #expect(
      fixture.takeCalls() == [
        "rssi 127 connectionTimeout", "rssi 127 connectionTimeout", "phy connectionTimeout", "phy connectionTimeout",
        "disconnected connectionTimeout",
      ])
  }

  @Test("4.5, 6.13 A central prefers notifications")
  func notificationsBeforeIndications() throws {
    let (fixture, peripheral, characteristics) = try scene()
    peripheral.setNotifyValue(true, for: characteristics[0])
    peripheral.setNotifyValue(true, for: characteristics[4])
    let kinds = fixture.host.commands.suffix(2).compactMap {
      if case .link(_, .client(let it)) = $0 { it.kind } else { nil }
    }
    #expect(kinds == [.configure(.notify, in: 4...4), .configure(.indicate, in: 16...16)])
    fixture.answer(.success(.configured(4)), .success(.configured(16)))
    #expect(fixture.takeCalls() == ["notifying 2A37 true", "notifying 2A41 true"])
    // Where the descriptor lies is known now.
    peripheral.setNotifyValue(false, for: characteristics[0])
    #expect(fixture.host.commands.last.map(CentralFixture.describe) == "1 write(0x0004, [0, 0])")
    fixture.answer(.success(.done))
    #expect(fixture.takeCalls() == ["notifying 2A37 false"])
  }

  @Test("6.13 Without its descriptor a characteristic notifies if its device sends values")
  func withoutItsDescriptorValuesAreDelivered() throws {
    let (fixture, peripheral, characteristics) = try scene()
    peripheral.setNotifyValue(true, for: characteristics[0])
    fixture.answer(.success(.noConfiguration(in: 5...5)))
    #expect(characteristics[0].isNotifying)
    // A characteristic that announces neither notifications nor indications.
    peripheral.setNotifyValue(true, for: characteristics[1])
    #expect(fixture.takeCalls() == ["notifying 2A37 true", "notifying 2A38 false ATT 0x6"])
    fixture.say(.client(peer, .notification(3, [1])))
    #expect(fixture.takeCalls() == ["value 2A37 [1]"])
  }

  @Test("6.13 writeValue does not write the configuration")
  func theConfigurationIsNotWrittenByHand() throws {
    let (fixture, peripheral, characteristics) = try scene()
    peripheral.discoverDescriptors(for: characteristics[0])
    fixture.answer(.success(.descriptors([DiscoveredDescriptor(handle: 4, uuid: "2902")])))
    let descriptor = try #require(characteristics[0].descriptors?.first)
    peripheral.writeValue(Data([1, 0]), for: descriptor)
    #expect(fixture.posted() == [])
    #expect(fixture.logged().contains { $0.contains("setNotifyValue") })
  }

  @Test(
    "6.14 Values of descriptors have the types of their UUIDs",
    arguments: [
      ("2900", [1, 0], "1"), ("2901", [0x48, 0x69], "Hi"), ("2902", [2, 0], "2"), ("2903", [1, 1], "257"),
      ("2902", [2], "2"), ("2904", [1, 2, 3], "3 bytes"), ("2908", [1], "1 bytes"), ("2901", [0xC3], "\u{FFFD}"),
      ("2901", [0x48, 0x69, 0, 0x78], "Hi"),
    ] as [(BluetoothUUID, [UInt8], String)])
  func descriptorsHaveTheirTypes(uuid: BluetoothUUID, octets: [UInt8], text: String) throws {
    let (fixture, peripheral, characteristics) = try scene()
    peripheral.discoverDescriptors(for: characteristics[0])
    fixture.answer(.success(.descriptors([DiscoveredDescriptor(handle: 4, uuid: uuid)])))
    let descriptor = try #require(characteristics[0].descriptors?.first)
    #expect(descriptor.value == nil)
    peripheral.readValue(for: descriptor)
    fixture.answer(.success(.value(octets)))
    #expect(fixture.takeCalls() == ["descriptors \(uuid)", "descriptor \(uuid) \(text)"])
    switch uuid {
    case "2901": #expect(descriptor.value is String)
    case "2900", "2902", "2903": #expect(descriptor.value is NSNumber)
    default: #expect(descriptor.value is Data)
    }
  }

  @Test func descriptorsAreWritten() throws {
    let (fixture, peripheral, characteristics) = try scene()
    peripheral.discoverDescriptors(for: characteristics[0])
    fixture.answer(.success(.descriptors([DiscoveredDescriptor(handle: 4, uuid: "2901")])))
    let descriptor = try #require(characteristics[0].descriptors?.first)
    peripheral.writeValue(Data("x".utf8), for: descriptor)
    #expect(fixture.host.commands.last.map(CentralFixture.describe) == "1 write(0x0004, [120])")
    fixture.answer(.success(.done))
    #expect(fixture.takeCalls() == ["descriptors 2901", "wrote descriptor 2901"])
  }

  @Test("6.16 readRSSI needs a connection and is answered")
  func theStrengthOfTheSignal() throws {
    let (fixture, peripheral, _) = try scene()
    peripheral.readRSSI()
    #expect(fixture.posted() == ["rssi 1"])
    fixture.say(.link(peer, .rssi(.success(-61))))
    #expect(fixture.takeCalls() == ["rssi -61"])
    #expect(peripheral.rssi == -61)
    fixture.say(.link(peer, .rssi(.success(-1))))
    #expect(fixture.takeCalls() == [], "somebody else asked")
    peripheral.readRSSI()
    fixture.say(.link(peer, .rssi(.failure(.notConnected))))
    #expect(fixture.takeCalls() == ["rssi 127 notConnected"])
  }

  @Test func whatIsNotSupportedSaysSo() throws {
    let (_, peripheral, _) = try scene()
    #expect(!peripheral.ancsAuthorized)
    // Of given adapters: those of this process are opened by other tests, too.
    #expect(!CBCentralManager.supports(.extendedScanAndConnect, on: []))
    #expect(CBCentralManager.supports([], on: []))
  }

  @Test func aPeripheralThatBreaksTheProtocolGetsALine() throws {
    let (fixture, peripheral, _) = try scene()
    fixture.say(.client(peer, .violation(.unexpectedPDU(.readResponse))), .client(peer, .bearerFailed))
    #expect(fixture.logged().count == 2)
    #expect(fixture.takeCalls() == [])
    #expect(peripheral.state == .connected)
  }
}
