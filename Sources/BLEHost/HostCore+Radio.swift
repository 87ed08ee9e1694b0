import BLEGATT
import BLEHCI
import BLEWire

/// What the router has for the radio.
extension HostCore {
  mutating func withRadio(
    now: Instant, into output: inout HostOutput, _ body: (inout Radio, inout RadioTurn) -> Void
  ) {
    var turn = radioTurn(now: now)
    body(&radio, &turn)
    random = turn.random
    apply(turn.effects, now: now, into: &output)
  }

  private func radioTurn(now: Instant) -> RadioTurn {
    RadioTurn(
      controller: controller, isPoweredOn: state == .poweredOn, isShuttingDown: session.isShuttingDown,
      hasLinks: !links.isEmpty, devices: bonds.devices, now: now, random: random)
  }

  /// Lets the radio look at what the input has changed, at its end.
  mutating func reviewRadio(now: Instant, into output: inout HostOutput) {
    if radio.isReviewDue(bonds.revision) { withRadio(now: now, into: &output) { $0.review(&$1) } }
  }

  /// Every report of the event, in order (Vol 4, Part E, 7.7.65.2).
  mutating func receive(_ event: HCI.LEAdvertisingReport, now: Instant, into output: inout HostOutput) {
    for report in event.reports {
      let identity = bonds.identity(of: report.address, toolbox)
      withRadio(now: now, into: &output) { $0.receive(report, by: identity, &$1) }
    }
  }

  /// Every report of the event, in order (Vol 4, Part E, 7.7.65.13).
  mutating func receive(_ event: HCI.LEExtendedAdvertisingReport, now: Instant, into output: inout HostOutput) {
    for report in event.reports {
      let identity = bonds.identity(of: report.address, toolbox)
      withRadio(now: now, into: &output) { $0.receive(report, by: identity, &$1) }
    }
  }

  /// Connects an owner to a device: by a link that is up, else by a new one.
  mutating func connect(_ wanted: PendingConnection, now: Instant, into output: inout HostOutput) {
    var request = wanted
    request.device = bonds.identity(of: wanted.device, toolbox)
    let (id, device, owner) = (request.id, request.device, request.owner)
    if let error = radio.rejection(of: request, radioTurn(now: now)) {
      return output.append(.connectionFailed(id, error), to: owner.recipient)
    }
    if let link = links.share(device, with: owner, id) { return output.append(.connected(link), to: owner.recipient) }
    guard !links.isConnected(device) else {
      let error = HostError.invalidParameters("\(device) is connected already")
      return output.append(.connectionFailed(id, error), to: owner.recipient)
    }
    withRadio(now: now, into: &output) { $0.connect(request, &$1) }
  }
}
