package import BLEWire

/// Owners that attach and detach, and links that several of them use.
extension HostCore {
  /// Reports the adapter's state and each link that is up to a new owner, and to no other one.
  package mutating func attach(_ owner: OwnerID, now: Instant, into output: inout HostOutput) {
    time = now
    if state == .poweredOn { output.append(.address(radio.identity), to: owner.recipient) }
    if state != .unknown { output.append(.state(state, session.reason), to: owner.recipient) }
    var effects: [Effect<LinkEffect>] = []
    links.report(to: owner, into: &effects)
    apply(effects, now: now, into: &output) { _, _, _ in }
  }

  /// Withdraws everything that an owner declared. No event answers: none has a recipient.
  ///
  /// Requests that wait for its answer get Unlikely Error; its services, advertisements, scan and pending connections are
  /// removed; the links that our central made end where no other owner uses them.
  package mutating func detach(_ owner: OwnerID, now: Instant, into output: inout HostOutput) {
    guard owner != .process else { return }
    time = now
    defer { links.review() }
    session.detach(owner)
    for index in links.indices {
      withLink(index, now: now, into: &output) { $0.rejectRequests(of: owner, &$1, &$3) }
    }
    withServices(now: now, into: &output) { $0.removeAll(of: owner, into: &$1) }
    withRadio(now: now, into: &output) { $0.detach(owner, &$1) }
    for index in links.indices { withLink(index, now: now, into: &output) { $0.release(by: owner, &$3) } }
    reviewRadio(now: now, into: &output)
  }
}

/// The services of the owners.
extension HostCore {
  /// Lets the registry do something and applies what it causes.
  mutating func withServices(
    now: Instant, into output: inout HostOutput, _ body: (inout ServiceRegistry, inout [Effect<ServiceEffect>]) -> Void
  ) {
    var effects: [Effect<ServiceEffect>] = []
    body(&services, &effects)
    apply(effects, now: now, into: &output) { core, effect, output in
      switch effect {
      case .changed(let range):
        for index in core.links.indices {
          core.withLink(index, now: now, into: &output) {
            $0.server.serviceChanged(range, $1, now: now, into: &$3.server)
          }
        }
      }
    }
  }
}
