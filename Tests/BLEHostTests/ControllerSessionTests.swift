import BLEHCI
import BLEWire
import Testing

@testable import BLEHost

/// The session without a host: effects are compared, and the controller is the scripted one.
@Suite("The session with a controller, alone") struct ControllerSessionTests {
  private var session = ControllerSession(HostConfiguration())
  private var controller = ScriptedController()
  private var effects: [Effect<SessionEffect>] = []
  private var packets = PacketBuffer()
  private var states: [AdapterState] = []
  private var answered: [HCIOpcode] = []
  private var abandoned: [Purpose] = []
  private var losses = 0
  private var chosen = DeviceAddress(octets: BD_ADDR(1), kind: .public)
  private var now = Instant.start

  private mutating func use(_ configuration: HostConfiguration) { session = ControllerSession(configuration) }

  /// Applies the effects as the host does, and answers the commands, until there are no more.
  private mutating func settle() throws {
    while !effects.isEmpty || !packets.isEmpty {
      while !effects.isEmpty { apply(effects.removeFirst()) }
      var sent = PacketBuffer()
      swap(&sent, &packets)
      for index in 0..<sent.count {
        let command = try HCICommandPacket(decoding: Array(sent[index]).dropFirst()[...])
        for answer in controller.answer(command) {
          switch try HCIEvent(decoding: answer.dropFirst()[...]) {
          case .commandComplete(let event):
            session.receive(.commandComplete(event), now: now, packets: &packets, into: &effects)
          case .commandStatus(let event):
            session.receive(.commandStatus(event), now: now, packets: &packets, into: &effects)
          case let other: Issue.record("an answer, but it is \(other)")
          }
        }
      }
    }
  }

  private mutating func apply(_ effect: Effect<SessionEffect>) {
    switch effect {
    case .command(let command, let purpose):
      session.send(command, for: purpose, now: now, packets: &packets, into: &effects)
    case .event(.state(let state, _), _): states.append(state)
    case .own(.chooseAddress):
      session.addressChosen(chosen, into: &effects)
    case .own(.answered(_, let opcode, _, _)): answered.append(opcode)
    case .own(.abandoned(let purpose)): abandoned.append(purpose)
    case .own(.lost): losses += 1
    case .own(.ready), .own(.stop), .own(.keyMissed), .own(.timedOut), .event, .report, .kernel: break
    }
  }

  @Test mutating func isBroughtUp() throws {
    session.start(into: &effects)
    try settle()
    #expect(states == [.poweredOn] && session.capabilities.aclLength == 27)
    #expect(controller.commands.first?.opcode == .reset)
  }

  @Test(arguments: [DeviceAddress.Kind.public, .random])
  mutating func aRandomAddressIsSetInTheBringUp(kind: DeviceAddress.Kind) throws {
    chosen = DeviceAddress(octets: BD_ADDR(1), kind: kind)
    session.start(into: &effects)
    try settle()
    #expect(controller.commands.contains { $0.opcode == .leSetRandomAddress } == (kind == .random))
  }

  @Test mutating func theKernelsControllerIsNotReset() throws {
    var configuration = HostConfiguration()
    configuration.ownership = .sharedWithKernel
    use(configuration)
    session.start(into: &effects)
    try settle()
    #expect(states == [.poweredOn])
    #expect(!controller.commands.contains { $0.opcode == .reset || $0.opcode == .setEventMask })
    session.hardwareFailed(code: 1, into: &effects)
    #expect(effects.isEmpty)
  }

  @Test mutating func aSilentControllerIsResetTwiceThenUnsupported() throws {
    controller.silent = [.readBDADDR]
    session.start(into: &effects)
    try settle()
    for _ in 0..<3 {
      now = try #require(session.deadline)
      session.tick(now: now, packets: &packets, into: &effects)
      try settle()
    }
    #expect(states == [.resetting, .resetting, .unsupported] && losses == 3)
    #expect(abandoned == Array(repeating: .setup(.publicAddress), count: 3))
    #expect(controller.commands.count { $0.opcode == .reset } == 3)
  }

  @Test mutating func anAnswerGoesToItsPurpose() throws {
    session.start(into: &effects)
    try settle()
    effects.append(.command(HCI.LESetScanEnable(), for: .radio(.scanning(.enable))))
    try settle()
    #expect(answered == [.leSetScanEnable])
  }

  @Test mutating func aFailureAbandonsWhatWaits() throws {
    session.start(into: &effects)
    try settle()
    controller.silent = [.leSetScanEnable]
    effects.append(.command(HCI.LESetScanEnable(), for: .radio(.scanning(.enable))))
    try settle()
    session.hardwareFailed(code: 1, into: &effects)
    try settle()
    #expect(abandoned == [.radio(.scanning(.enable))] && states.suffix(1) == [.poweredOn] && losses == 1)
  }

  @Test mutating func theShutdownWaitsForLinksAndIsBounded() throws {
    session.start(into: &effects)
    try settle()
    session.shutDown(now: now, into: &effects)
    guard case .own(.stop) = effects.last else { Issue.record("\(effects)"); return }
    session.checkShutdown(now: now, hasLinks: true)
    #expect(session.isShuttingDown && !session.isShutDown)
    session.checkShutdown(now: now + .seconds(2), hasLinks: true)
    #expect(session.isShutDown && session.isEnding)
  }

  @Test mutating func aSessionThatIsNotUpIsShutDownAtOnce() {
    session.shutDown(now: now, into: &effects)
    #expect(session.isShutDown && effects.isEmpty)
  }
}
