import BLEHCI
import BLEWire

/// The procedures of the link layer that the controller has begun on one link for this host, each with the time by
/// which it should have reported the end.
///
/// ```
///   command ── Command Status: success ──► pending ── event ──► ended
///                                             └── no event ──► ended by the host: LMP Response Timeout (0x22)
/// ```
struct LinkProcedures: Sendable {
  enum Procedure: Equatable, Sendable {
    case connectionUpdate, phyUpdate, featureExchange, subrateUpdate, featurePages, connectionRateUpdate, powerRead

    /// The procedure that a command begins.
    init?(_ opcode: HCIOpcode) {
      switch opcode {
      case .leConnectionUpdate: self = .connectionUpdate
      case .leSetPHY: self = .phyUpdate
      case .leReadRemoteFeatures: self = .featureExchange
      case .leSubrateRequest: self = .subrateUpdate
      case .leReadRemoteTransmitPowerLevel: self = .powerRead
      case .leReadAllRemoteFeatures: self = .featurePages
      case .leConnectionRateRequest: self = .connectionRateUpdate
      default: return nil
      }
    }

    var opcode: HCIOpcode {
      switch self {
      case .connectionUpdate: .leConnectionUpdate
      case .phyUpdate: .leSetPHY
      case .featureExchange: .leReadRemoteFeatures
      case .subrateUpdate: .leSubrateRequest
      case .powerRead: .leReadRemoteTransmitPowerLevel
      case .featurePages: .leReadAllRemoteFeatures
      case .connectionRateUpdate: .leConnectionRateRequest
      }
    }

    /// The event that takes the place of one that has not come.
    func failure(_ link: ConnectionHandle) -> LinkEvent {
      let status = HCIErrorCode.linkLayerResponseTimeout
      return switch self {
      case .connectionUpdate: .connectionUpdateComplete(.init { ($0.status, $0.connectionHandle) = (status, link) })
      case .phyUpdate: .phyUpdateComplete(.init { ($0.status, $0.connectionHandle) = (status, link) })
      case .featureExchange: .readRemoteFeaturesComplete(.init { ($0.status, $0.connectionHandle) = (status, link) })
      case .subrateUpdate: .subrateChange(.init { ($0.status, $0.connectionHandle) = (status, link) })
      case .powerRead:
        .transmitPowerReporting(.init { ($0.status, $0.connectionHandle, $0.reason) = (status, link, 0x02) })
      case .featurePages: .readAllRemoteFeaturesComplete(.init { ($0.status, $0.connectionHandle) = (status, link) })
      case .connectionRateUpdate: .connectionRateChange(.init { ($0.status, $0.connectionHandle) = (status, link) })
      }
    }
  }

  private var pending: [(procedure: Procedure, deadline: Instant)] = []

  /// When ``takeOverdue(_:)`` has work.
  var deadline: Instant? { pending.reduce(nil) { .nearer($0, $1.deadline) } }

  mutating func began(_ procedure: Procedure, until deadline: Instant) {
    ended(procedure)
    pending.append((procedure, deadline))
  }

  mutating func ended(_ procedure: Procedure) { pending.removeAll { $0.procedure == procedure } }

  /// The procedures whose end should have been reported.
  mutating func takeOverdue(_ now: Instant) -> [Procedure] {
    let overdue = pending.filter { $0.deadline <= now }.map { $0.procedure }
    pending.removeAll { $0.deadline <= now }
    return overdue
  }
}

extension Link {
  /// The controller has accepted a command about the link.
  mutating func began(_ opcode: HCIOpcode, now: Instant) {
    if let procedure = LinkProcedures.Procedure(opcode) { procedures.began(procedure, until: now + procedureTimeout) }
  }

  /// Ends the procedures whose end the controller does not report.
  mutating func tickProcedures(_ turn: inout LinkTurn) {
    guard let deadline = procedures.deadline, deadline <= turn.now else { return }
    for procedure in procedures.takeOverdue(turn.now) {
      let text = "it does not report the end of \(procedure.opcode)"
      turn.effects.append(.report(.controller, text, peer: peer))
      receive(procedure.failure(handle), &turn)
    }
  }
}
