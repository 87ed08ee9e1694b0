import BLEHCI
import BLESMP
import BLEWire
import Testing

@testable import BLEKernel

/// Links and frames (Docs/Decisions/kernel.md#translation).
@Suite struct KernelTranslatorTests {
  static let handle = TranslatorStage.handle
  static let request: [UInt8] = [0x02, 0x05, 0x02]
  static let response: [UInt8] = [0x03, 0x05, 0x02]

  static func disconnection(_ handle: ConnectionHandle = handle) -> HCI.DisconnectionComplete {
    HCI.DisconnectionComplete {
      $0.connectionHandle = handle
      $0.reason = .remoteUserTerminatedConnection
    }
  }

  static func octets(_ event: some HCIEventParameters) -> [UInt8] {
    var octets: [UInt8] = []
    octets.append(hci: event)
    return octets
  }

  @Test func passesCommandsAndEvents() {
    var stage = TranslatorStage()
    let command = stage.send(HCI.ReadLocalVersionInformation())
    #expect(command.actions == [.sendCommand] && command.messages == [[0x01, 0x01, 0x10, 0x00]])
    #expect(command.input.isEmpty, "the loop traces commands of the host itself")
    let event: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x01, 0x10, 0x00]
    #expect(stage.event(event).input == [.packet(event)])
  }

  @Test(arguments: HCIEventCode.allTested) func passesTheEventsThatConcernTheHost(code: HCIEventCode) {
    var stage = TranslatorStage()
    let event: [UInt8] = [0x04, code.rawValue, 0x02, 0x77, 0x00]
    #expect(stage.event(event).packets == (KernelTranslator.wantedEvents.contains(code) ? [event] : []))
  }

  @Test func announcesALinkThatWasUpBefore() {
    var stage = TranslatorStage()
    let result = stage.socket(.accepted(Self.handle, from: TranslatorStage.peer))
    #expect(result.packets == [Self.octets(TranslatorStage.connection(.peripheral))])
    #expect(result.actions == [.readSecurity(Self.handle)])
  }

  @Test func translatesPDUsAndFrames() {
    var stage = TranslatorStage()
    stage.link()
    #expect(stage.pdu(Self.request).packets == [[0x02, 0x40, 0x20, 7, 0, 3, 0, 4, 0, 0x02, 0x05, 0x02]])
    let result = stage.send(TranslatorStage.packet(Self.response))
    #expect(result.actions == [.sendPDU(Self.handle)] && result.messages == [Self.response])
    #expect(!stage.translator.hasCompleted, "not sent yet")
    #expect(stage.socket(.sent(Self.handle)).isEmpty)
    #expect(stage.translator.hasCompleted)
    #expect(stage.completed() == [TranslatorStage.completed(1)])
    #expect(stage.completed() == [])
  }

  @Test func addsCompletedFramesOfOneLinkInARow() {
    var stage = TranslatorStage()
    let other = ConnectionHandle(rawValue: 0x0041)
    stage.link()
    stage.link(other)
    for handle in [Self.handle, Self.handle, other, Self.handle] { _ = stage.socket(.sent(handle)) }
    #expect(
      stage.completed() == [
        TranslatorStage.completed(2), TranslatorStage.completed(1, on: other), TranslatorStage.completed(1),
      ])
  }

  @Test func keepsFramesWhileTheLinkHasNoSocket() {
    var stage = TranslatorStage()
    _ = stage.event(TranslatorStage.connection(.peripheral))
    for _ in 0..<2 { #expect(stage.send(TranslatorStage.packet(Self.response)).isEmpty) }
    let opened = stage.socket(.accepted(Self.handle, from: TranslatorStage.peer))
    #expect(opened.actions == [.readSecurity(Self.handle), .sendPDU(Self.handle)], "one at a time")
    #expect(stage.socket(.sent(Self.handle)).messages == [Self.response])
    #expect(stage.socket(.sent(Self.handle)).isEmpty)
    #expect(stage.completed() == [TranslatorStage.completed(2)])
  }

  @Test func keepsFramesThatTheSocketDoesNotTake() {
    var stage = TranslatorStage()
    stage.link()
    _ = stage.send(TranslatorStage.packet([1]))
    #expect(stage.reject([1], .full).isEmpty)
    #expect(stage.send(TranslatorStage.packet([2])).isEmpty, "behind the first")
    #expect(stage.socket(.writable(Self.handle)).messages == [[1]])
    #expect(stage.reject([1], .full).isEmpty, "it is kept already")
    #expect(stage.socket(.writable(Self.handle)).messages == [[1]])
    #expect(stage.socket(.sent(Self.handle)).messages == [[2]])
    _ = stage.socket(.sent(Self.handle))
    #expect(stage.completed() == [TranslatorStage.completed(2)])
  }

  @Test func dropsFramesPastTheLimitOfALink() {
    var stage = TranslatorStage()
    _ = stage.event(TranslatorStage.connection(.peripheral))
    for _ in 0..<KernelLink.frameLimit { _ = stage.send(TranslatorStage.packet(Self.response)) }
    #expect(!stage.translator.hasCompleted)
    _ = stage.send(TranslatorStage.packet(Self.response))
    #expect(stage.completed() == [TranslatorStage.completed(1)])
  }

  @Test func completesFramesForASocketThatFailed() {
    var stage = TranslatorStage()
    stage.link()
    _ = stage.send(TranslatorStage.packet([1]))
    _ = stage.reject([1], .full)
    _ = stage.send(TranslatorStage.packet([2]))
    #expect(stage.socket(.failed(Self.handle)).actions == [.close(Self.handle)])
    #expect(stage.completed() == [TranslatorStage.completed(2)])
    #expect(stage.send(TranslatorStage.packet([3])).isEmpty)
    #expect(stage.completed() == [TranslatorStage.completed(1)])
  }

  @Test(arguments: [SendRejection.failed, .notConnected]) func closesASocketThatTakesNothing(_ reason: SendRejection) {
    var stage = TranslatorStage()
    stage.link()
    _ = stage.send(TranslatorStage.packet([1]))
    #expect(stage.reject([1], reason).actions == [.close(Self.handle)])
    #expect(stage.completed() == [TranslatorStage.completed(1)])
  }

  @Test func completesFramesOfTheKernelsChannelsAndIgnoresUnknownLinks() {
    var stage = TranslatorStage()
    stage.link()
    #expect(stage.send(TranslatorStage.packet([0x0B, 0x01], channel: 6)).isEmpty)
    #expect(stage.completed() == [TranslatorStage.completed(1)])
    let unknown = ConnectionHandle(rawValue: 0x0077)
    #expect(stage.send(TranslatorStage.packet(Self.request, on: unknown)).isEmpty)
    #expect(stage.send(TranslatorStage.packet([0x0B], on: unknown, channel: 6)).isEmpty)
    #expect(stage.pdu(Self.request, on: unknown).isEmpty)
    #expect(stage.completed() == [])
  }

  @Test func handsOverWhatThePeerSentBeforeTheEndOfTheLink() {
    var stage = TranslatorStage()
    stage.link()
    let end = Self.disconnection()
    let result = stage.event(end)
    #expect(result.input.isEmpty && result.actions == [.drain(Self.handle)])
    #expect(stage.pdu(Self.request).packets.count == 1)
    let drained = stage.socket(.drained(Self.handle))
    #expect(drained.packets == [Self.octets(end)] && drained.actions == [.close(Self.handle)])
    #expect(stage.send(TranslatorStage.packet(Self.response)).isEmpty, "the link is gone")
    #expect(stage.completed() == [])
    #expect(stage.translator.deadline == nil)
  }

  @Test func forgetsCompletedFramesWithTheLink() {
    var stage = TranslatorStage()
    stage.link()
    _ = stage.socket(.sent(Self.handle))
    _ = stage.event(Self.disconnection())
    _ = stage.socket(.drained(Self.handle))
    #expect(!stage.translator.hasCompleted)
  }

  @Test func passesTheEndOfALinkWithoutASocketAtOnce() {
    var stage = TranslatorStage()
    _ = stage.event(TranslatorStage.connection(.peripheral))
    #expect(stage.event(Self.disconnection()).packets == [Self.octets(Self.disconnection())])
    let failed = HCI.DisconnectionComplete {
      $0.connectionHandle = Self.handle
      $0.status = .unknownConnectionIdentifier
    }
    stage.link()
    #expect(stage.event(failed).packets == [Self.octets(failed)], "the link is still up")
    #expect(stage.pdu(Self.request).packets.count == 1)
  }

  @Test func replacesTheListenerThatAnotherProgramsHasTakenFrom() {
    var stage = TranslatorStage()
    _ = stage.send(HCI.LESetAdvertisingEnable { $0.advertisingEnable = true })
    _ = stage.event(TranslatorStage.connection(.peripheral))
    #expect(stage.translator.deadline == .start + .seconds(1))
    #expect(stage.tick(after: .milliseconds(999)).isEmpty)
    #expect(stage.tick(after: .milliseconds(1)).actions == [.replaceListener])
    let result = stage.socket(.listenerReplaced(daemonRuns: true))
    #expect(result.notices.count == 1 && result.notices[0].contains("bluetoothd"))
    let disconnect: [UInt8] = [0x01, 0x06, 0x04, 0x03, 0x40, 0x00, 0x13]
    #expect(result.actions == [.sendCommand] && result.messages == [disconnect])
    #expect(result.input == [.sentCommand(disconnect)], "the trace has it")
    #expect(stage.send(TranslatorStage.packet(Self.request)).isEmpty)
    #expect(stage.completed() == [TranslatorStage.completed(1)], "it is another program's link")
  }

  @Test func leavesALinkThatWasNotAdvertisedForToAnotherProgram() {
    var stage = TranslatorStage()
    _ = stage.event(TranslatorStage.connection(.peripheral))
    _ = stage.tick(after: .seconds(1))
    let result = stage.socket(.listenerReplaced(daemonRuns: false))
    #expect(result.actions.isEmpty && result.notices[0].contains("another program"))
  }

  @Test func ignoresLinksOfOtherProgramsCentralRole() {
    var stage = TranslatorStage()
    #expect(stage.event(TranslatorStage.connection(.central)).packets.count == 1, "the host decides itself")
    #expect(stage.send(TranslatorStage.packet(Self.request)).isEmpty)
    #expect(stage.completed() == [])
  }

  @Test func waitsForNoSocketWithoutAListener() {
    var stage = TranslatorStage(hasListener: false)
    _ = stage.event(TranslatorStage.connection(.peripheral))
    #expect(stage.translator.deadline == nil)
  }
}

/// The central role.
extension KernelTranslatorTests {
  static let connected = {
    var event = Management.DeviceConnected()
    event.device = ManagementAddress(TranslatorStage.peer)
    event.flags = Management.DeviceConnected.locallyInitiated
    return event
  }()

  static func central(peer: DeviceAddress = TranslatorStage.peer, hasListener: Bool = true) -> TranslatorStage {
    var stage = TranslatorStage(hasListener: hasListener)
    _ = stage.send(HCI.LECreateConnection())
    _ = stage.event(TranslatorStage.connection(.central, peer: peer))
    return stage
  }

  @Test func connectsASocketWhenTheKernelHasTheLink() {
    var stage = Self.central()
    #expect(stage.management(Self.connected).actions == [.readEvents], "events first")
    #expect(stage.socket(.eventsRead).actions == [.connect(Self.handle, to: TranslatorStage.peer)])
    #expect(stage.socket(.connected(Self.handle, .pending)).isEmpty)
    #expect(stage.send(TranslatorStage.packet(Self.request)).isEmpty, "it waits")
    #expect(stage.socket(.writable(Self.handle)).messages == [Self.request])
  }

  @Test func readsTheEventOfALinkThatTheKernelReportsFirst() {
    var stage = TranslatorStage()
    _ = stage.send(HCI.LECreateConnection())
    #expect(stage.management(Self.connected).actions == [.readEvents])
    _ = stage.event(TranslatorStage.connection(.central))
    #expect(stage.socket(.eventsRead).actions == [.connect(Self.handle, to: TranslatorStage.peer)])
  }

  @Test func awaitsTheListenerWhereTheKernelHasASocketOnTheLink() {
    var stage = Self.central()
    _ = stage.management(Self.connected)
    _ = stage.socket(.eventsRead)
    #expect(stage.socket(.connected(Self.handle, .busy)).isEmpty)
    #expect(stage.translator.deadline == .start + .seconds(1))
    #expect(stage.socket(.accepted(Self.handle, from: TranslatorStage.peer)).packets.isEmpty, "announced already")
    #expect(stage.translator.deadline == nil)
  }

  @Test func endsALinkOfOursThatAnotherListenerHas() {
    var stage = Self.central()
    _ = stage.management(Self.connected)
    _ = stage.socket(.eventsRead)
    _ = stage.socket(.connected(Self.handle, .busy))
    #expect(stage.tick(after: .seconds(1)).actions == [.replaceListener])
    #expect(stage.socket(.listenerReplaced(daemonRuns: false)).actions == [.sendCommand])
  }

  @Test(arguments: [SocketEvent.ConnectionResult.busy, .failed])
  func completesFramesOfALinkThatGetsNoSocket(_ result: SocketEvent.ConnectionResult) {
    var stage = Self.central(hasListener: false)
    _ = stage.send(TranslatorStage.packet(Self.request))
    _ = stage.management(Self.connected)
    _ = stage.socket(.eventsRead)
    _ = stage.socket(.connected(Self.handle, result))
    #expect(stage.completed() == [TranslatorStage.completed(1)])
  }

  @Test func findsAPrivateAddressByItsIdentity() {
    let privateAddress = DeviceAddress(octets: BD_ADDR(0x4455_6677_8899), kind: .random)
    var stage = Self.central(peer: privateAddress)
    _ = stage.management(Self.connected)
    #expect(stage.socket(.eventsRead).actions == [.connect(Self.handle, to: TranslatorStage.peer)])
    var other = Self.central(peer: privateAddress)
    var foreign = Self.connected
    foreign.flags = 0
    _ = other.management(foreign)
    #expect(other.socket(.eventsRead).isEmpty, "another program's link")
  }

  @Test func leavesTheLinksOfAnAdapterWithoutAnAddressToTheListener() {
    var adapter = TranslatorStage.adapter
    adapter.current.insert(.staticAddress)
    var stage = TranslatorStage(adapter)
    _ = stage.send(HCI.LECreateConnection())
    _ = stage.event(TranslatorStage.connection(.central))
    _ = stage.management(Self.connected)
    #expect(stage.socket(.eventsRead).isEmpty)
    #expect(stage.translator.deadline == .start + .seconds(1))
  }
}

extension HCIEventCode {
  /// Declared events, and some that are not.
  static let allTested =
    HCI.events.keys.sorted { $0.rawValue < $1.rawValue } + [.leMeta, .vendorSpecific, Self(rawValue: 0)]
}
