import BLEHCI
import BLEWire

/// An effect of a part of the host. The router applies the effects of one input front to back; an effect that makes
/// another part emit effects is applied with all of them before the next one. A part has finished its own transition
/// before its first effect is applied.
enum Effect<Own: Sendable>: Sendable {
  /// Sends a command to the controller, or queues it until the controller takes one.
  indirect case command(EncodedCommand, for: Purpose)
  case event(HostEvent, to: Recipient)
  /// A command to the kernel.
  indirect case kernel(KernelCommand)
  /// A line for the log, within the limits of ``DiagnosticLog``.
  indirect case report(Diagnostic.Origin, String, peer: LinkID?)
  /// An effect that only this part has.
  case own(Own)

  static func command(_ command: some HCICommand, for purpose: Purpose) -> Self {
    .command(EncodedCommand(command), for: purpose)
  }
}
