import BLEHCI
import BLEWire
import Testing

@testable import BLEKernel

/// The connection parameters that the host asks for are in force, whether the controller or the kernel makes the link.
@Suite struct KernelInitiatorTests {
  static let peer = TranslatorStage.peer
  static let other = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)
  static let privateAddress = DeviceAddress(octets: BD_ADDR(0x4011_2233_4455), kind: .random)

  /// 30 to 50 ms, latency 4, 5 s.
  static let parameters = HCI.ConnectionParameters {
    $0.connectionIntervalMin = 24
    $0.connectionIntervalMax = 40
    $0.maxLatency = 4
    $0.supervisionTimeout = 500
  }
  static let parameterOctets: [UInt8] = [24, 0, 40, 0, 4, 0, 0xF4, 0x01]
  static let peerOctets: [UInt8] = [0x01, 0x00, 0x01, 0x01, 0xAA, 0x00, 1]
  static let otherOctets: [UInt8] = [0x55, 0x44, 0x33, 0x22, 0x11, 0xC0, 2]

  static func create(
    _ device: DeviceAddress = peer, usesList: Bool = false, _ parameters: HCI.ConnectionParameters = parameters
  ) -> HCI.LECreateConnection {
    HCI.LECreateConnection {
      $0.initiatorFilterPolicy = usesList ? .acceptList : .peerAddress
      $0.peerAddress = device
      $0.parameters = parameters
    }
  }

  static func createExtended(_ device: DeviceAddress = peer) -> HCI.LEExtendedCreateConnection {
    HCI.LEExtendedCreateConnection {
      $0.peerAddress = device
      $0.initiatingPHYs = .le1M
      $0.initiations = [HCI.InitiatingParameters { $0.parameters = parameters }]
    }
  }

  /// LE Connection Complete as the central.
  static func connection(
    interval: UInt16 = 40, latency: UInt16 = 4, timeout: UInt16 = 500, peer: DeviceAddress = peer
  ) -> HCI.LEConnectionComplete {
    HCI.LEConnectionComplete {
      $0.connectionHandle = TranslatorStage.handle
      $0.role = .central
      $0.peerAddress = peer
      $0.connectionInterval = interval
      $0.peripheralLatency = latency
      $0.supervisionTimeout = timeout
    }
  }

  static func load(_ devices: [UInt8]...) -> [UInt8] {
    let entries = devices.flatMap { $0 + parameterOctets }
    return [0x35, 0x00, 0x00, 0x00, UInt8(2 + entries.count), 0, UInt8(devices.count), 0] + entries
  }

  @Test func givesTheKernelTheParametersBeforeALinkIsCreated() {
    var stage = TranslatorStage()
    let legacy = stage.send(Self.create())
    #expect(legacy.actions == [.sendManagement, .sendCommand])
    #expect(legacy.messages.first == Self.load(Self.peerOctets))
    var second = TranslatorStage()
    #expect(second.send(Self.createExtended(Self.other)).messages.first == Self.load(Self.otherOctets))
  }

  @Test func givesTheKernelTheSameParametersOnce() {
    var stage = TranslatorStage()
    _ = stage.send(Self.create())
    #expect(stage.send(Self.create()).actions == [.sendCommand])
    #expect(stage.send(Self.create(Self.other)).actions == [.sendManagement, .sendCommand])
  }

  @Test func givesTheKernelTheParametersForEachDeviceOfTheAcceptList() {
    var stage = TranslatorStage()
    _ = stage.send(Self.create(Self.privateAddress))
    _ = stage.send(HCI.LEClearFilterAcceptList())
    for device in [Self.peer, Self.other] {
      _ = stage.send(HCI.LEAddDeviceToFilterAcceptList { $0.address = device })
    }
    let result = stage.send(Self.create(usesList: true))
    #expect(result.messages.first == Self.load(Self.peerOctets, Self.otherOctets))
  }

  @Test func boundsTheDevicesOfTheAcceptList() {
    var stage = TranslatorStage()
    for index in 0...UInt64(KernelInitiator.acceptListLimit) {
      let device = DeviceAddress(octets: BD_ADDR(0x00AA_0000_0000 + index), kind: .public)
      _ = stage.send(HCI.LEAddDeviceToFilterAcceptList { $0.address = device })
    }
    let message = stage.send(Self.create(usesList: true)).messages.first
    #expect(message?.count == 6 + 2 + KernelInitiator.acceptListLimit * 15)
  }

  @Test func leavesPrivateAddressesOut() {
    var stage = TranslatorStage()
    #expect(stage.send(Self.create(Self.privateAddress)).actions == [.sendCommand])
  }

  @Test func leavesTheParametersToBluetoothdWhereItRuns() {
    var stage = TranslatorStage(isPairedByDaemon: true)
    #expect(stage.send(Self.create()).actions == [.sendCommand])
    #expect(stage.event(Self.connection(timeout: 42)).actions == [.sendCommand], "and changes the link afterwards")
  }

  @Test func leavesALinkThatHasTheParameters() {
    for interval: UInt16 in [24, 40] {
      var stage = TranslatorStage()
      _ = stage.send(Self.create())
      #expect(stage.event(Self.connection(interval: interval, latency: 0)).actions == [])
    }
  }

  @Test(arguments: [
    connection(interval: 23), connection(interval: 41), connection(latency: 5), connection(timeout: 42),
  ]) func changesALinkThatHasOtherParameters(_ event: HCI.LEConnectionComplete) {
    var stage = TranslatorStage()
    _ = stage.send(Self.createExtended())
    let result = stage.event(event)
    let update: [UInt8] =
      [
        0x01, 0x13, 0x20, 14, UInt8(TranslatorStage.handle.rawValue & 0xFF),
        UInt8(TranslatorStage.handle.rawValue >> 8),
      ]
      + Self.parameterOctets + [0, 0, 0, 0]
    #expect(result.actions == [.sendCommand] && result.messages == [update])
    #expect(result.input == [.packet(KernelTranslatorTests.octets(event)), .sentCommand(update)])
  }

  @Test func changesNoLinkOfAnotherProgram() {
    var stage = TranslatorStage()
    #expect(stage.event(Self.connection(timeout: 42)).actions == [], "nothing was asked for")
    _ = stage.send(Self.create(Self.other))
    #expect(stage.event(Self.connection(timeout: 42)).actions == [], "another device")
  }

  @Test func changesNoLinkOfAPeripheral() {
    var stage = TranslatorStage()
    _ = stage.send(Self.create())
    var event = Self.connection(timeout: 42)
    event.role = .peripheral
    #expect(stage.event(event).actions == [])
  }
}
