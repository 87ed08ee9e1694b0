import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// What tasks may ask: each question is answered once, by the result, its timeout or its cancellation.
@Suite struct CentralAsyncTests {
  private let peer = PeerID(rawValue: 1)

  /// Waits until the machine holds a waiter, so that what the test says next finds it.
  private func untilAsked(_ stage: CentralStage, _ isThere: @Sendable (CentralState) -> Bool) async {
    while !stage.manager.run({ state, _ in isThere(state) }) { await Task.yield() }
  }

  private func untilPending(_ stage: CentralStage) async {
    await untilAsked(stage) { $0.sessions.values.contains { !$0.pending.isEmpty || !$0.rssiReads.isEmpty } }
  }

  @Test func waitsForPower() async throws {
    let stage = CentralStage(.unknown)
    let waiting = Task { try await stage.manager.waitUntilPoweredOn() }
    await untilAsked(stage) { !$0.powerWaiters.isEmpty }
    stage.say(.state(.poweredOn, nil))
    try await waiting.value
    try await stage.manager.waitUntilPoweredOn()
    let never = CentralStage(.unknown)
    await #expect(throws: BluetoothError.self) {
      try await never.manager.waitUntilPoweredOn(timeout: .milliseconds(1))
    }
  }

  @Test func connectsAndDisconnects() async throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    let connecting = Task { try await stage.manager.connect(peripheral, timeout: nil) }
    await untilAsked(stage) { !$0.wishes.isEmpty }
    stage.linkUp(1)
    try await connecting.value
    #expect(stage.heard() == ["connected"])
    try await stage.manager.connect(peripheral, timeout: nil)
    let disconnecting = Task { try await stage.manager.disconnect(peripheral) }
    await untilAsked(stage) { state in
      state.devices.all.contains { state.devices[$0]?.disconnectWaiters.isEmpty == false }
    }
    stage.say(.disconnected(peer, .terminatedByLocalHost))
    try await disconnecting.value
    try await stage.manager.disconnect(peripheral)
    #expect(stage.heard() == ["disconnected"])
  }

  @Test func aConnectionThatFailsThrows() async throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    let connecting = Task { try await stage.manager.connect(peripheral, timeout: nil) }
    await untilAsked(stage) { !$0.wishes.isEmpty }
    stage.say(.connectionFailed(try #require(stage.lastWish()), .unsupported("connections")))
    await #expect(throws: BluetoothError.self) { try await connecting.value }
  }

  @Test func aConnectionIsGivenUpAfterItsTimeout() async throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    let error = await #expect(throws: BluetoothError.self) {
      try await stage.manager.connect(peripheral, timeout: .milliseconds(1))
    }
    #expect(error?.code == .connectionTimeout)
    #expect(stage.posted() == ["connect 1", "cancel connect"])
  }

  @Test func aConnectionIsGivenUpWithItsTask() async throws {
    let stage = CentralStage()
    let peripheral = try stage.find(1)
    let connecting = Task { try await stage.manager.connect(peripheral, timeout: nil) }
    await untilAsked(stage) { !$0.wishes.isEmpty }
    connecting.cancel()
    await #expect(throws: CancellationError.self) { try await connecting.value }
    #expect(stage.posted() == ["connect 1", "cancel connect"])
  }

  @Test func asksAndHearsTheAnswer() async throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    let characteristic = try #require(stage.discover(peripheral, [("2A37", [.read, .write, .notify])]).first)
    _ = stage.posted()

    let reading = Task { try await peripheral.value(of: characteristic) }
    await untilPending(stage)
    stage.answer(.success(.value([1, 2])))
    #expect(try await reading.value == Data([1, 2]))

    let writing = Task { try await peripheral.write(Data([3]), to: characteristic) }
    await untilPending(stage)
    stage.answer(.failure(.errorResponse(.writeNotPermitted, request: .writeRequest, handle: 3)))
    let error = await #expect(throws: ATTError.self) { try await writing.value }
    #expect(error?.code == .writeNotPermitted)

    let finding = Task { try await peripheral.descriptors(of: characteristic) }
    await untilPending(stage)
    stage.answer(.success(.descriptors([DiscoveredDescriptor(handle: 4, uuid: "2902")])))
    #expect(try await finding.value.map(\.uuid) == ["2902"])

    let measuring = Task { try await peripheral.signalStrength() }
    await untilPending(stage)
    stage.say(.rssi(peer, .success(-50)))
    #expect(try await measuring.value == -50)
    #expect(stage.heard() == [], "the answers went to the tasks")
  }

  @Test func discoversInSteps() async throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    let services = Task { try await peripheral.services(["180D"]) }
    await untilPending(stage)
    stage.answer(
      .success(
        .services([
          DiscoveredService(handles: 1...3, uuid: "1800"), DiscoveredService(handles: 4...9, uuid: "180D"),
        ])))
    let service = try #require(try await services.value.first)
    let characteristics = Task { try await peripheral.characteristics(of: service) }
    await untilPending(stage)
    stage.answer(
      .success(
        .characteristics([
          DiscoveredCharacteristic(declaration: 5, properties: .read, valueHandle: 6, uuid: "2A37")
        ])))
    #expect(try await characteristics.value.map(\.uuid) == ["2A37"])
  }

  @Test func aQuestionHasATimeout() async throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    let error = await #expect(throws: BluetoothError.self) {
      _ = try await peripheral.services(timeout: .milliseconds(1))
    }
    #expect(error?.code == .connectionTimeout)
    // The late answer concerns nobody.
    stage.answer(.success(.services([])))
    #expect(stage.heard() == [])
  }

  @Test func aLinkThatEndsAnswersEveryQuestion() async throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    let asking = Task { try await peripheral.services() }
    await untilPending(stage)
    stage.say(.disconnected(peer, .remoteUserTerminatedConnection))
    let error = await #expect(throws: BluetoothError.self) { _ = try await asking.value }
    #expect(error?.code == .peripheralDisconnected)
    #expect(stage.heard() == ["disconnected peripheralDisconnected"])
    await #expect(throws: BluetoothError.self) { _ = try await peripheral.services() }
  }

  @Test func discoveriesComeAsASequence() async throws {
    let stage = CentralStage()
    let discoveries = stage.manager.discoveries(withServices: ["180D"])
    #expect(stage.posted() == ["scan"])
    stage.advertise(1, "020106")
    stage.advertise(2, ScanTests.strap)
    for await found in discoveries {
      #expect(found.peripheral.name == "Strap")
      #expect(found.device.isConnectable)
      break
    }
  }

  @Test func theScanEndsWithItsSequence() async throws {
    let stage = CentralStage()
    let reading = Task { for await _ in stage.manager.discoveries() {} }
    await untilAsked(stage) { $0.scan != nil }
    reading.cancel()
    await reading.value
    #expect(stage.posted() == ["scan", "stop scanning"])
    #expect(!stage.manager.isScanning)
  }

  @Test func valuesComeAsASequenceThatEndsWithTheLink() async throws {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    let characteristic = try #require(stage.discover(peripheral, [("2A37", .notify)]).first)
    let values = peripheral.values(of: characteristic)
    for octet in 1...3 as ClosedRange<UInt8> { stage.say(.client(peer, .notification(3, [octet]))) }
    stage.say(.disconnected(peer, .connectionTimeout))
    var heard: [Data] = []
    for await value in values { heard.append(value) }
    #expect(heard == [Data([1]), Data([2]), Data([3])])
    for await _ in peripheral.values(of: characteristic) { Issue.record("there is no link") }
  }
}
