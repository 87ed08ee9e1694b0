import BLEHCI
import BLESMP
import BLEWire

/// The host does not pair, and its links are not encrypted: each attempt of a central is rejected (Vol 3, Part H,
/// 3.5.5; Vol 4, Part E, 7.8.26), and so is the request of an owner.
struct OwnSecurityManager: LinkSecurityManager {
  private let peer: LinkID
  private let handle: ConnectionHandle

  init(
    peer: LinkID, handle: ConnectionHandle, isCentral: Bool, own: DeviceAddress, other: DeviceAddress,
    procedureTimeout: Duration
  ) {
    (self.peer, self.handle) = (peer, handle)
  }

  var deadline: Instant? { nil }
  var isUnderWay: Bool { false }
  var isStarting: Bool { false }

  func perform(
    _ input: SecurityInput, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    switch input {
    case .pdu(let pdu) where pdu.first.map { SMPCode(rawValue: $0) } == .pairingRequest:
      effects.append(.own(.send(.pairingFailed(.init(reason: .pairingNotSupported)))))
    case .keyRequested:
      effects.append(.command(HCI.LELongTermKeyRequestNegativeReply { $0.connectionHandle = handle }, for: .reply))
    case .requested(let owner, _):
      effects.append(.event(.refused(.unsupported("pairing")), to: owner.recipient))
      let failure = PairingFailure(.pairingNotSupported, .local)
      effects.append(.event(.pairing(peer, .failed(failure)), to: owner.recipient))
    case .pdu, .report, .refused, .bond, .answer, .keyMissed, .encryptionChanged, .encryptionFailed, .levelApplied,
      .tick:
      break
    }
  }
  func stopEncryption() {}
  func linkEnded(
    _ reason: HCIErrorCode, isRequested: Bool, _ context: SecurityContext,
    into effects: inout [Effect<SecurityEffect>]
  ) {}
  func kernelLink(of device: PeerIdentity) -> KernelLinkFacts? { nil }
}
