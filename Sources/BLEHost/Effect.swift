import BLEHCI
import BLESMP
import BLEWire

/// What a part of the host causes. The router applies the effects of one input front to back; an effect that makes another part
/// emit effects is applied with all of them before the next one. A part has finished its own transition before its first
/// effect is applied.
enum Effect<Own: Sendable>: Sendable {
  /// Sends a command to the controller, or queues it until the controller takes one.
  case command(any HCICommand, for: Purpose)
  case event(HostEvent, to: Recipient)
  /// A directive for the kernel's security manager.
  case directive(SecurityDirective)
  /// A line for the log, within the limits of ``DiagnosticLog``.
  case report(Diagnostic.Origin, String, peer: PeerID?)
  /// What only this part causes.
  case own(Own)
}

extension HostCore {
  /// Applies the effects of a part, in order.
  ///
  /// - Parameter perform: applies one effect of the part's own.
  mutating func apply<Own>(
    _ effects: [Effect<Own>], now: Instant, into output: inout HostOutput,
    _ perform: (inout HostCore, Own, inout HostOutput) -> Void
  ) {
    for effect in effects {
      switch effect {
      case .command(let command, let purpose): send(command, for: purpose, now: now, into: &output)
      case .event(let event, let recipient): output.append(event, to: recipient)
      case .directive(let directive): output.directives.append(directive)
      case .report(let origin, let text, let peer): report(origin, text, peer: peer, into: &output)
      case .own(let own): perform(&self, own, &output)
      }
    }
  }

  /// Applies the effects of a part that has none of its own.
  mutating func apply(_ effects: [Effect<Never>], now: Instant, into output: inout HostOutput) {
    apply(effects, now: now, into: &output) { (_, _: Never, _) in }
  }

  /// Writes a line to the log. What a peer or the controller can cause is limited in rate.
  mutating func report(
    _ origin: Diagnostic.Origin, _ text: String, peer: PeerID? = nil, into output: inout HostOutput
  ) {
    var effects: [Effect<Never>] = []
    log.report(Diagnostic(origin, text, peer: peer), now: time, into: &effects)
    apply(effects, now: time, into: &output)
  }
}
