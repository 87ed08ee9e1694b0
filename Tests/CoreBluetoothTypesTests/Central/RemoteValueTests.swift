import BLEATT
import BLEGATT
import BLEHost
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// Rules 6.10 to 6.14 and 6.16: values, read, written and told.
@Suite struct RemoteValueTests {
  private let peer = PeerID(rawValue: 1)

  /// A connected peripheral with one characteristic of each kind: 2A37 notify and indicate, 2A38 read, 2A39 write, 2A40
  /// write without response, 2A41 indicate.
  private func scene(mtu: Int? = nil, limits: CentralLimits = CentralLimits()) throws -> (
    CentralStage, Peripheral, [Characteristic]
  ) {
    let stage = CentralStage(limits: limits)
    let peripheral = try stage.connect(1, mtu: mtu)
    let characteristics = try stage.discover(
      peripheral,
      [
        ("2A37", [.notify, .indicate]), ("2A38", .read), ("2A39", .write), ("2A40", .writeWithoutResponse),
        ("2A41", .indicate),
      ])
    _ = stage.posted()
    return (stage, peripheral, characteristics)
  }

  @Test func rule6_10_theValueIsThereBeforeTheCall() throws {
    let (stage, peripheral, characteristics) = try scene()
    peripheral.readValue(for: characteristics[1])
    #expect(stage.host.commands.last.map(CentralStage.describe) == "1 readLong(0x0006)")
    stage.answer(.success(.value([1, 2])))
    stage.say(.client(peer, .notification(3, [3])))
    stage.say(.client(peer, .indication(3, [4])))
    #expect(stage.heard() == ["value 2A38 [1, 2]", "value 2A37 [3]", "value 2A37 [4]"])
  }

  @Test func rule6_10_anErrorLeavesTheValue() throws {
    let (stage, peripheral, characteristics) = try scene()
    peripheral.readValue(for: characteristics[1])
    stage.answer(.success(.value([1])))
    peripheral.readValue(for: characteristics[1])
    stage.answer(.failure(.errorResponse(.readNotPermitted, request: .readRequest, handle: 6)))
    #expect(stage.heard() == ["value 2A38 [1]", "value 2A38 [1] ATT 0x2"])
  }

  @Test func aValueOfSomethingNotFoundIsNoNews() throws {
    let (stage, peripheral, _) = try scene()
    stage.say(.client(peer, .notification(0x99, [3])))
    #expect(stage.heard() == [])
    #expect(peripheral.state == .connected)
  }

  @Test func rule6_11_aWriteIsAnsweredOnce() throws {
    let (stage, peripheral, characteristics) = try scene()
    peripheral.writeValue(Data([1, 2]), for: characteristics[2], type: .withResponse)
    #expect(stage.host.commands.last.map(CentralStage.describe) == "1 write(0x0009, [1, 2])")
    stage.answer(.success(.done))
    peripheral.writeValue(Data([1, 2]), for: characteristics[2], type: .withResponse)
    stage.answer(.failure(.errorResponse(ATTErrorCode(rawValue: 0x80), request: .writeRequest, handle: 9)))
    #expect(stage.heard() == ["wrote 2A39", "wrote 2A39 ATT 0x80"])
  }

  @Test func rule6_11_aValueHas512OctetsAtMost() throws {
    let (stage, peripheral, characteristics) = try scene()
    #expect(peripheral.maximumWriteValueLength(for: .withResponse) == 512)
    peripheral.writeValue(Data(count: 512), for: characteristics[2], type: .withResponse)
    #expect(stage.posted().count == 1)
    peripheral.writeValue(Data(count: 513), for: characteristics[2], type: .withResponse)
    #expect(stage.posted() == [])
  }

  @Test func aValueTooLongIsToldInItsTurn() throws {
    let (stage, peripheral, characteristics) = try scene()
    peripheral.readValue(for: characteristics[1])
    peripheral.writeValue(Data(count: 513), for: characteristics[2], type: .withResponse)
    #expect(stage.heard() == [])
    stage.answer(.success(.value([1])))
    #expect(stage.heard() == ["value 2A38 [1]", "wrote 2A39 ATT 0xd"])
  }

  @Test func rule6_11_aWriteWithoutResponseIsNeverAnswered() throws {
    let (stage, peripheral, characteristics) = try scene(mtu: 50)
    #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) == 47)
    peripheral.writeValue(Data([9]), for: characteristics[3], type: .withoutResponse)
    #expect(stage.host.commands.last.map(CentralStage.describe) == "1 writeWithoutResponse(0x000C, [9])")
    stage.answer(.success(.done))
    #expect(stage.heard() == [])
    peripheral.writeValue(Data(count: 48), for: characteristics[3], type: .withoutResponse)
    peripheral.writeValue(Data([9]), for: characteristics[2], type: .withoutResponse)
    #expect(stage.posted() == [])
    #expect(stage.logged().count { $0.contains("this write is dropped") } == 2)
  }

  /// At the limit there is no room; one call follows when there is; past the second limit writes are dropped.
  @Test func rule6_11_roomIsToldOnce() throws {
    var limits = CentralLimits()
    limits.pendingWrites = 2
    limits.droppedWrites = 3
    let (stage, peripheral, characteristics) = try scene(limits: limits)
    #expect(peripheral.canSendWriteWithoutResponse)
    peripheral.writeValue(Data([1]), for: characteristics[3], type: .withoutResponse)
    #expect(peripheral.canSendWriteWithoutResponse)
    peripheral.writeValue(Data([2]), for: characteristics[3], type: .withoutResponse)
    #expect(!peripheral.canSendWriteWithoutResponse)
    peripheral.writeValue(Data([3]), for: characteristics[3], type: .withoutResponse)
    peripheral.writeValue(Data([4]), for: characteristics[3], type: .withoutResponse)
    #expect(stage.logged().count { $0.contains("this one is dropped") } == 1)
    stage.answer(.success(.done), .success(.done), .success(.done))
    #expect(stage.heard() == ["ready"])
    #expect(peripheral.canSendWriteWithoutResponse)
  }

  @Test func rule6_12_answersComeInTheOrderOfTheQuestions() throws {
    let (stage, peripheral, characteristics) = try scene()
    peripheral.readValue(for: characteristics[1])
    peripheral.writeValue(Data([1]), for: characteristics[2], type: .withResponse)
    peripheral.discoverServices(nil)
    #expect(
      stage.host.commands.suffix(3).map(CentralStage.describe)
        == ["1 readLong(0x0006)", "1 write(0x0009, [1])", "1 discoverPrimaryServices"])
    let operations = stage.commands().compactMap { if case .client(_, let it) = $0 { it.id } else { nil } }
    // Whatever order they are answered in.
    stage.say(.client(peer, .finished(operations[1], .success(.done))))
    #expect(stage.heard() == [])
    stage.say(.client(peer, .finished(operations[0], .success(.value([1])))))
    #expect(stage.heard() == ["value 2A38 [1]", "wrote 2A39"])
  }

  @Test func pendingOperationsAreBounded() throws {
    var limits = CentralLimits()
    limits.pendingOperations = 2
    let (stage, peripheral, characteristics) = try scene(limits: limits)
    for _ in 0..<3 { peripheral.readValue(for: characteristics[1]) }
    #expect(stage.heard() == ["value 2A38 - outOfSpace"])
    #expect(stage.posted().count == 2)
  }

  @Test func rule6_13_notificationsBeforeIndications() throws {
    let (stage, peripheral, characteristics) = try scene()
    peripheral.setNotifyValue(true, for: characteristics[0])
    peripheral.setNotifyValue(true, for: characteristics[4])
    let kinds = stage.host.commands.suffix(2).compactMap { if case .client(_, let it) = $0 { it.kind } else { nil } }
    #expect(kinds == [.configure(.notify, in: 4...4), .configure(.indicate, in: 16...16)])
    stage.answer(.success(.configured(4)), .success(.configured(16)))
    #expect(stage.heard() == ["notifying 2A37 true", "notifying 2A41 true"])
    // Where the descriptor lies is known now.
    peripheral.setNotifyValue(false, for: characteristics[0])
    #expect(stage.host.commands.last.map(CentralStage.describe) == "1 write(0x0004, [0, 0])")
    stage.answer(.success(.done))
    #expect(stage.heard() == ["notifying 2A37 false"])
  }

  @Test func rule6_13_withoutItsDescriptorThereIsNoSubscription() throws {
    let (stage, peripheral, characteristics) = try scene()
    peripheral.setNotifyValue(true, for: characteristics[0])
    stage.answer(.failure(.errorResponse(.attributeNotFound, request: .findInformationRequest, handle: 4)))
    peripheral.setNotifyValue(true, for: characteristics[1])
    #expect(stage.heard() == ["notifying 2A37 false ATT 0xa", "notifying 2A38 false ATT 0x6"])
  }

  @Test func rule6_13_theConfigurationIsNotWrittenByHand() throws {
    let (stage, peripheral, characteristics) = try scene()
    peripheral.discoverDescriptors(for: characteristics[0])
    stage.answer(.success(.descriptors([DiscoveredDescriptor(handle: 4, uuid: "2902")])))
    let descriptor = try #require(characteristics[0].descriptors?.first)
    peripheral.writeValue(Data([1, 0]), for: descriptor)
    #expect(stage.posted() == [])
    #expect(stage.logged().contains { $0.contains("setNotifyValue") })
  }

  @Test(
    arguments: [
      ("2900", [1, 0], "1"), ("2901", [0x48, 0x69], "Hi"), ("2902", [2, 0], "2"), ("2903", [1, 1], "257"),
      ("2902", [2], "2"), ("2904", [1, 2, 3], "3 bytes"), ("2908", [1], "1 bytes"), ("2901", [0xFF], "\u{FFFD}"),
    ] as [(BluetoothUUID, [UInt8], String)])
  func rule6_14_descriptorsHaveTheirTypes(uuid: BluetoothUUID, octets: [UInt8], text: String) throws {
    let (stage, peripheral, characteristics) = try scene()
    peripheral.discoverDescriptors(for: characteristics[0])
    stage.answer(.success(.descriptors([DiscoveredDescriptor(handle: 4, uuid: uuid)])))
    let descriptor = try #require(characteristics[0].descriptors?.first)
    #expect(descriptor.value == nil)
    peripheral.readValue(for: descriptor)
    stage.answer(.success(.value(octets)))
    #expect(stage.heard() == ["descriptors \(uuid)", "descriptor \(uuid) \(text)"])
    switch uuid {
    case "2901": #expect(descriptor.value is String)
    case "2900", "2902", "2903": #expect(descriptor.value is NSNumber)
    default: #expect(descriptor.value is Data)
    }
  }

  @Test func descriptorsAreWritten() throws {
    let (stage, peripheral, characteristics) = try scene()
    peripheral.discoverDescriptors(for: characteristics[0])
    stage.answer(.success(.descriptors([DiscoveredDescriptor(handle: 4, uuid: "2901")])))
    let descriptor = try #require(characteristics[0].descriptors?.first)
    peripheral.writeValue(Data("x".utf8), for: descriptor)
    #expect(stage.host.commands.last.map(CentralStage.describe) == "1 write(0x0004, [120])")
    stage.answer(.success(.done))
    #expect(stage.heard() == ["descriptors 2901", "wrote descriptor 2901"])
  }

  @Test func rule6_16_theStrengthOfTheSignal() throws {
    let (stage, peripheral, _) = try scene()
    peripheral.readRSSI()
    #expect(stage.posted() == ["rssi 1"])
    stage.say(.rssi(peer, .success(-61)))
    #expect(stage.heard() == ["rssi -61"])
    #expect(peripheral.rssi == -61)
    stage.say(.rssi(peer, .success(-1)))
    #expect(stage.heard() == [], "somebody else asked")
    peripheral.readRSSI()
    stage.say(.rssi(peer, .failure(.notConnected)))
    #expect(stage.heard() == ["rssi 127 notConnected"])
  }

  @Test func whatIsNotSupportedSaysSo() throws {
    let (stage, peripheral, _) = try scene()
    peripheral.openL2CAPChannel(0x80)
    #expect(stage.heard() == ["opened operationNotSupported"])
    #expect(!peripheral.ancsAuthorized)
    #expect(!CentralManager.supports(.extendedScanAndConnect))
  }

  @Test func aPeripheralThatBreaksTheProtocolGetsALine() throws {
    let (stage, peripheral, _) = try scene()
    stage.say(.client(peer, .violation(.unexpectedPDU(.readResponse))), .client(peer, .bearerFailed))
    #expect(stage.logged().count == 2)
    #expect(stage.heard() == [])
    #expect(peripheral.state == .connected)
  }
}
