import BLEHCI
import BLESMP
import BLEWire

/// A security manager of either type: what `any LinkSecurityManager` would be if Embedded Swift 6.3 had existential
/// types, at the same cost.
struct AnyLinkSecurityManager: LinkSecurityManager {
  private var box: Box

  init(_ manager: some LinkSecurityManager) { box = BoxOf(manager) }

  /// The box, for a change of this copy alone.
  private mutating func own() -> Box {
    if !isKnownUniquelyReferenced(&box) { box = box.copy() }
    return box
  }

  var deadline: Instant? { box.deadline }
  var isUnderWay: Bool { box.isUnderWay }
  var isStarting: Bool { box.isStarting }
  mutating func perform(
    _ input: SecurityInput, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    own().perform(input, &context, now: now, into: &effects)
  }
  mutating func stopEncryption() { own().stopEncryption() }
  mutating func linkEnded(
    _ reason: HCIErrorCode, isRequested: Bool, _ context: SecurityContext,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    own().linkEnded(reason, isRequested: isRequested, context, into: &effects)
  }
  func kernelLink(of device: PeerIdentity) -> KernelLinkFacts? { box.kernelLink(of: device) }
}

private class Box: @unchecked Sendable {
  func copy() -> Box { self }
  var deadline: Instant? { nil }
  var isUnderWay: Bool { false }
  var isStarting: Bool { false }
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

private final class BoxOf<Manager: LinkSecurityManager>: Box, @unchecked Sendable {
  var manager: Manager

  init(_ manager: Manager) { self.manager = manager }

  override func copy() -> Box { BoxOf(manager) }
  override var deadline: Instant? { manager.deadline }
  override var isUnderWay: Bool { manager.isUnderWay }
  override var isStarting: Bool { manager.isStarting }
  override func perform(
    _ input: SecurityInput, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    manager.perform(input, &context, now: now, into: &effects)
  }
  override func stopEncryption() { manager.stopEncryption() }
  override func linkEnded(
    _ reason: HCIErrorCode, isRequested: Bool, _ context: SecurityContext,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    manager.linkEnded(reason, isRequested: isRequested, context, into: &effects)
  }
  override func kernelLink(of device: PeerIdentity) -> KernelLinkFacts? { manager.kernelLink(of: device) }
}
