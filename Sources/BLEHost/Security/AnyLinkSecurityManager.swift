import BLEHCI
import BLESMP
import BLEWire

/// A security manager of either type. In Embedded Swift, which has no existential types, it is in a box.
struct AnyLinkSecurityManager: LinkSecurityManager {
  #if hasFeature(Embedded)
    private var box: Box

    init(_ manager: some LinkSecurityManager) { box = BoxOf(manager) }

    /// The box, for a change of this copy alone.
    private var own: Box {
      mutating get {
        if !isKnownUniquelyReferenced(&box) { box = box.copy() }
        return box
      }
    }
  #else
    private var box: any LinkSecurityManager

    init(_ manager: some LinkSecurityManager) { box = manager }

    private var own: any LinkSecurityManager {
      _read { yield box }
      _modify { yield &box }
    }
  #endif

  var deadline: Instant? { box.deadline }
  var isUnderWay: Bool { box.isUnderWay }
  var isStarting: Bool { box.isStarting }
  mutating func perform(
    _ input: SecurityInput, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    own.perform(input, &context, now: now, into: &effects)
  }
  mutating func stopEncryption() { own.stopEncryption() }
  mutating func linkEnded(
    _ reason: HCIErrorCode, isRequested: Bool, _ context: SecurityContext,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    own.linkEnded(reason, isRequested: isRequested, context, into: &effects)
  }
  func kernelLink(of device: PeerIdentity) -> KernelLinkFacts? { box.kernelLink(of: device) }
}

#if hasFeature(Embedded)
  // Unchecked, because a class with subclasses cannot be checked: a copy that is changed has a box of its own.
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
#endif
