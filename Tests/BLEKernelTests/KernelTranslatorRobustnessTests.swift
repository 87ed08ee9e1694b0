import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import TestSupport
import Testing

@testable import BLEKernel

/// Any octets from a socket, in every state of a link: nothing traps, and what is kept stays bounded.
@Suite struct KernelTranslatorRobustnessTests {
  /// Links in each state, one a handle.
  static func stage() -> TranslatorStage {
    var stage = TranslatorStage()
    _ = stage.send(HCI.LESetAdvertisingEnable { $0.advertisingEnable = true })
    func handle(_ number: UInt16) -> ConnectionHandle { ConnectionHandle(rawValue: number) }
    // 0x0040 open, 0x0041 full, 0x0042 being secured, 0x0043 failed, 0x0044 ending.
    for number in 0x0040...0x0044 as ClosedRange<UInt16> { stage.link(handle(number)) }
    _ = stage.send(TranslatorStage.packet([1], on: handle(0x0041)))
    _ = stage.reject([1], .full, on: handle(0x0041))
    _ = stage.perform(.secure(handle: 0x0042, isAuthenticated: true))
    _ = stage.socket(.raised(handle(0x0042), isPending: true))
    _ = stage.socket(.failed(handle(0x0043)))
    _ = stage.event(HCI.DisconnectionComplete { $0.connectionHandle = handle(0x0044) })
    // 0x0045 without a socket, 0x0046 awaited, 0x0047 connecting.
    _ = stage.event(TranslatorStage.connection(.peripheral, handle: handle(0x0045)))
    for number in [0x0047, 0x0046] as [UInt16] {
      _ = stage.send(HCI.LECreateConnection())
      _ = stage.event(TranslatorStage.connection(.central, handle: handle(number)))
      if number == 0x0047 { _ = stage.management(KernelTranslatorTests.connected) }
      if number == 0x0047 { _ = stage.socket(.eventsRead) }
    }
    return stage
  }

  static let handles = (0x003F...0x0048 as ClosedRange<UInt16>).map { ConnectionHandle(rawValue: $0) }

  static func socketEvents(_ handle: ConnectionHandle) -> [SocketEvent] {
    [
      .accepted(handle, from: TranslatorStage.peer), .connected(handle, .pending), .connected(handle, .busy),
      .connected(handle, .failed), .readable(handle), .writable(handle), .failed(handle), .sent(handle),
      .drained(handle), .eventsRead, .listenerReplaced(daemonRuns: true), .security(handle, nil),
      .security(handle, SocketSecurity(level: .fips, keySize: 16)), .raised(handle, isPending: true),
      .raised(handle, isPending: false), .daemon(isRunning: true),
    ]
  }

  /// One event of each kind that the translator reads.
  static func events(_ handle: ConnectionHandle) -> [[UInt8]] {
    let peer = TranslatorStage.peer
    let enhanced = HCI.LEEnhancedConnectionComplete {
      $0.connectionHandle = handle
      $0.role = .peripheral
      $0.peerAddress = peer
    }
    let all: [any HCIEventParameters] = [
      KernelTranslatorTests.disconnection(handle), HCI.EncryptionChange { $0.connectionHandle = handle },
      HCI.EncryptionKeyRefreshComplete { $0.connectionHandle = handle },
      TranslatorStage.connection(.peripheral, handle: handle), TranslatorStage.connection(.central, handle: handle),
      enhanced, HCI.LEEnhancedConnectionCompleteV2 { $0.connection = enhanced },
      HCI.LELongTermKeyRequest { $0.connectionHandle = handle },
      HCI.LERemoteConnectionParameterRequest { $0.connectionHandle = handle },
      KernelDiscoveryTests.completed(HCI.LEReadBufferSize.self),
      KernelDiscoveryTests.completed(HCI.LEReadBufferSizeV2.self),
      KernelDiscoveryTests.completed(HCI.LESetScanEnable.self),
      KernelDiscoveryTests.completed(KernelDiscovery.Probe.self), HCI.CommandStatus(), HCI.HardwareError(),
    ]
    return all.map { event in
      var octets: [UInt8] = []
      func append(_ event: some HCIEventParameters) { octets.append(hci: event) }
      append(event)
      return octets
    }
  }

  @Test func takesEverySocketEventInEveryState() {
    for handle in Self.handles {
      for event in Self.socketEvents(handle) {
        var stage = Self.stage()
        _ = stage.socket(event)
        // And what follows each: frames, time, the end.
        _ = stage.send(TranslatorStage.packet([1, 2], on: handle))
        for reason in [SendRejection.full, .notConnected, .failed] { _ = stage.reject([1, 2], reason, on: handle) }
        _ = stage.tick(after: .seconds(60))
        _ = stage.event(KernelTranslatorTests.disconnection(handle))
        _ = stage.socket(.drained(handle))
        #expect(stage.send(TranslatorStage.packet([1, 2], on: handle)).isEmpty, "\(event) on \(handle)")
      }
    }
  }

  @Test func takesEveryEventAndEachTruncationInEveryState() {
    for handle in Self.handles {
      for event in Self.events(handle) {
        for count in 0...event.count {
          var stage = Self.stage()
          // Cut as a message, and cut with a length that says so.
          _ = stage.event(Array(event.prefix(count)))
          guard count >= 3 else { continue }
          var short = Array(event.prefix(count))
          short[2] = UInt8(count - 3)
          _ = stage.event(short)
        }
      }
    }
  }

  @Test func passesMalformedEventsToTheHostAndActsOnNone() {
    for event in Self.events(TranslatorStage.handle) {
      for count in 3..<event.count where event[1] != HCIEventCode.commandComplete.rawValue {
        var stage = TranslatorStage()
        stage.link()
        var short = Array(event.prefix(count))
        short[2] = UInt8(count - 3)
        let result = stage.event(short)
        // An LE event without a subevent code is none; the requests that the kernel answers stay below.
        let isKept = event[1] == HCIEventCode.leMeta.rawValue && (count == 3 || event[3] == 0x05 || event[3] == 0x06)
        #expect(result.packets == (isKept ? [] : [short]), "\(short)")
        if event[1] != HCIEventCode.leMeta.rawValue || event[3] != 0x0A && event[3] != 0x29 {
          #expect(result.actions.isEmpty, "\(short)")
        }
      }
    }
  }

  @Test func takesRandomMessagesInRandomOrder() {
    var random = SplitMix64(seed: 1)
    var stage = Self.stage()
    for _ in 0..<20_000 {
      let handle = Self.handles.randomElement(using: &random) ?? TranslatorStage.handle
      var octets = [UInt8](
        (0..<Int.random(in: 0...40, using: &random)).map { _ in .random(in: 0...255, using: &random) })
      switch Int.random(in: 0..<7, using: &random) {
      case 0:
        if octets.count > 3 { (octets[0], octets[2]) = (0x04, UInt8(octets.count - 3)) }
        _ = stage.event(octets)
      case 1: if let event = Self.events(handle).randomElement(using: &random) { _ = stage.event(event) }
      case 2:
        if octets.count > 6 {
          (octets[1], octets[2], octets[3], octets[4], octets[5]) = (0, 0, 0, UInt8(octets.count - 6), 0)
        }
        _ = stage.management(octets)
      case 3: _ = stage.pdu(octets, on: handle)
      case 4: _ = stage.send(octets)
      case 5: _ = stage.send(TranslatorStage.packet(octets, on: handle))
      default: if let event = Self.socketEvents(handle).randomElement(using: &random) { _ = stage.socket(event) }
      }
      if Int.random(in: 0..<16, using: &random) == 0 { _ = stage.tick(after: .milliseconds(10)) }
      _ = stage.completed()
    }
  }

  @Test func keepsNoMoreNoticesThanTheLimit() {
    var output = KernelOutput()
    for number in 0...KernelOutput.noticeLimit { output.log("\(number)") }
    #expect(output.takeNotices() == (0..<KernelOutput.noticeLimit).map { "\($0)" })
    #expect(output.takeNotices() == [])
  }

  @Test func boundsDevicesWhoseEventsAreNotRead() {
    var stage = TranslatorStage()
    for _ in 0..<10_000 { _ = stage.management(KernelTranslatorTests.connected) }
    #expect(stage.translator.connectedDevices.count == 1, "one of each device")
    for number in 1...100 as ClosedRange<UInt64> {
      var event = KernelTranslatorTests.connected
      event.device = ManagementAddress(DeviceAddress(octets: BD_ADDR(number), kind: .public))
      _ = stage.management(event)
    }
    #expect(stage.translator.connectedDevices.count == KernelTranslator.connectedDeviceLimit)
  }
}
