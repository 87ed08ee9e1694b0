import BLEHCI
import BLEWire

/// A host that has the controller to itself gives its links its own security manager.
struct KernelSecurityManager: LinkSecurityManager {
  init(peer: LinkID, handle: ConnectionHandle, isCentral: Bool, address: DeviceAddress) {}

  var deadline: Instant? { nil }
  var isStarting: Bool { false }
  var isUnderWay: Bool { false }
  func perform(
    _ input: SecurityInput, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {}
  func stopEncryption() {}
  func linkEnded(
    _ reason: HCIErrorCode, isRequested: Bool, _ context: SecurityContext,
    into effects: inout [Effect<SecurityEffect>]
  ) {}
  func kernelLink(of device: PeerIdentity) -> KernelLinkFacts? { nil }
}
