import BLEHCI
import BLEL2CAP
import BLEWire
import Testing

@testable import BLEHost

/// The connection parameters of one link without the link: L2CAP PDUs, events of the controller and time go in.
@Suite("Link signalling") struct LinkSignallingTests {
  private let owner = OwnerID(rawValue: 1)
  private let wanted = ConnectionParameters(interval: 40...80, latency: 2, supervisionTimeout: 300)
  private var frames = PacketBuffer()
  private var effects: [Effect<LinkEffect>] = []

  private func signalling(
    _ role: ConnectedLink.Role, _ ownership: ControllerOwnership = .exclusive
  ) -> LinkSignalling {
    LinkSignalling(
      peer: LinkID(rawValue: 1), handle: ConnectionHandle(rawValue: 0x40), role: role,
      timing: LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500), ownership)
  }

  private mutating func take() -> (frames: [[UInt8]], effects: [String]) {
    defer {
      frames.removeAll()
      effects.removeAll()
    }
    return (
      (0..<frames.count).map { Array(frames[$0]) },
      effects.map { effect in
        switch effect {
        case .command(let command, .link(_, .connectionUpdate(let owner))):
          "\(command.opcode) \(owner.rawValue)"
        case .event(.link(_, .connectionUpdateRefused(let error)), let recipient):
          "\(error) \(recipient == .owner(owner))"
        case .event(.link(_, .connectionUpdated(let timing)), _): "updated \(timing.interval)"
        default: "other"
        }
      }
    )
  }

  @Test mutating func aPeripheralRequestsParametersOverL2CAP() {
    var signalling = signalling(.peripheral)
    signalling.update(to: wanted, for: owner, now: .start, into: &frames, &effects)
    let (frames, effects) = take()
    // Connection Parameter Update Request (Vol 3, Part A, 4.20).
    #expect(frames == [[0x12, 0x01, 0x08, 0x00, 40, 0, 80, 0, 2, 0, 0x2C, 0x01]])
    #expect(effects.isEmpty)
  }

  @Test(arguments: [true, false], [true, false])
  mutating func otherLinksUseTheCommand(isCentral: Bool, hasProcedure: Bool) {
    // A central may not send the request, and the kernel does not pass on the channel.
    var signalling = isCentral ? signalling(.central) : signalling(.peripheral, .sharedWithKernel)
    signalling.asksByLinkLayer = hasProcedure
    signalling.update(to: wanted, for: owner, now: .start, into: &frames, &effects)
    var (frames, effects) = take()
    #expect(frames.isEmpty && effects == ["\(HCIOpcode.leConnectionUpdate) 1"])
    signalling.updated(
      HCI.LEConnectionUpdateComplete { $0.status = .unsupportedRemoteFeature }, now: .start, into: &self.frames,
      &self.effects)
    (frames, effects) = take()
    let error = HostError.controller(.leConnectionUpdate, .unsupportedRemoteFeature)
    #expect(frames.isEmpty && effects == ["\(error) true"])
  }

  @Test(arguments: [(64, 247), (2_048, 2_050), (65_535, 65_533)] as [(UInt16, UInt16)])
  func framesThatEndAtTheKernelHaveAWholeSDU(mtu: UInt16, mps: UInt16) {
    let parameters = CreditBasedChannel.Parameters(mtu: mtu)
    #expect(signalling(.peripheral, .sharedWithKernel).effective(parameters).mps == mps)
    #expect(signalling(.peripheral).effective(parameters) == parameters)
  }

  @Test mutating func reportsARejectionToTheOwnerThatAsked() {
    var signalling = signalling(.peripheral)
    signalling.update(to: wanted, for: owner, now: .start, into: &frames, &effects)
    _ = take()
    _ = signalling.receive([0x13, 0x01, 0x02, 0x00, 0x01, 0x00].span, now: .start, into: &frames, &effects)
    #expect(take().effects == ["\(HostError.peerRefused("rejected")) true"])
    #expect(signalling.deadline == nil)
  }

  @Test mutating func aRequestWithoutResponseEndsAfterItsTime() throws {
    var signalling = signalling(.peripheral)
    signalling.update(to: wanted, for: owner, now: .start, into: &frames, &effects)
    _ = take()
    let deadline = try #require(signalling.deadline)
    #expect(deadline == .start + SignallingChannel.responseTimeout)
    _ = signalling.tick(now: deadline, into: &effects)
    #expect(take().effects == ["\(HostError.peerRefused("timedOut")) true"])
  }

  @Test mutating func aCentralAcceptsValidParametersAndTellsTheController() {
    var signalling = signalling(.central)
    let request: [UInt8] = [0x12, 0x07, 0x08, 0x00, 40, 0, 80, 0, 2, 0, 0x2C, 0x01]
    _ = signalling.receive(request.span, now: .start, into: &frames, &effects)
    let (frames, effects) = take()
    // Connection Parameter Update Response with result 0x0000 (Vol 3, Part A, 4.21).
    #expect(frames == [[0x13, 0x07, 0x02, 0x00, 0x00, 0x00]])
    #expect(effects == ["\(HCIOpcode.leConnectionUpdate) 0"])
  }

  @Test mutating func refusesParametersOutsideTheSpecification() {
    var signalling = signalling(.central)
    let wanted = ConnectionParameters(interval: 5...6, latency: 0, supervisionTimeout: 500)
    signalling.update(to: wanted, for: owner, now: .start, into: &frames, &effects)
    let effects = take().effects
    #expect(effects.count == 1 && effects[0].hasSuffix("true"))
  }

  @Test mutating func reportsTheTimingThatTheControllerReports() {
    var signalling = signalling(.central)
    signalling.updated(
      HCI.LEConnectionUpdateComplete {
        ($0.connectionInterval, $0.supervisionTimeout) = (60, 400)
      }, now: .start, into: &frames, &effects)
    #expect(take().effects == ["updated 60"])
    #expect(signalling.timing == LinkTiming(interval: 60, latency: 0, supervisionTimeout: 400))
    signalling.updated(
      HCI.LEConnectionUpdateComplete { $0.status = .unsupportedRemoteFeature }, now: .start, into: &frames, &effects)
    #expect(take().effects.count == 1 && signalling.timing.interval == 60)
  }

  @Test(arguments: [(24, 40, true), (40, 24, false), (5, 6, false)])
  func acceptsOnlyValidRequestsOfTheLinkLayer(lowest: UInt16, highest: UInt16, isAccepted: Bool) {
    let request = HCI.LERemoteConnectionParameterRequest {
      ($0.intervalMin, $0.intervalMax, $0.timeout) = (lowest, highest, 500)
    }
    let answer = LinkSignalling.answer(to: request).opcode
    #expect(
      answer
        == (isAccepted ? .leRemoteConnectionParameterRequestReply : .leRemoteConnectionParameterRequestNegativeReply))
  }
}
