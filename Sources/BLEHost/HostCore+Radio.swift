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

  /// Connects an owner to a device: by a link that is up, else by a new one.
  mutating func connect(_ wanted: PendingConnection, now: Instant, into output: inout HostOutput) {
    var request = wanted
    request.device = bonds.identity(of: wanted.device, toolbox)
    let failure = radio.rejection(of: request, radioTurn(now: now)).map { HostEvent.connectionFailed(request.id, $0) }
    if let answer = failure ?? links.answer(to: request) { return output.append(answer, to: request.owner.recipient) }
    withRadio(now: now, into: &output) { $0.connect(request, &$1) }
  }
}
