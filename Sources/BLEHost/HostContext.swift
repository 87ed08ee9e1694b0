import BLEATT
import BLECrypto
import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// What all parts of the host share: the session, which takes commands, the log, the random numbers, and the time and
/// the output of the current input. ``HostCore`` has one, and lends it in place to the parts that apply effects
/// themselves.
struct HostContext: Sendable {
  var session: ControllerSession
  var log: DiagnosticLog
  /// One source for all parts: the order of their draws decides what each one gets.
  var random: RandomSource
  /// The time of the current input, and what the input has caused.
  var now = Instant.start
  var output = HostOutput()
  /// Our identity, and the address that peers receive.
  var ownIdentity = DeviceAddress(octets: BD_ADDR(), kind: .public)
  var ownAddress = DeviceAddress(octets: BD_ADDR(), kind: .public)
  /// Whether a pairing without authentication does not give our identity to the peer.
  var withholdsIdentity = false
  init(_ configuration: HostConfiguration, random: RandomSource) {
    session = ControllerSession(configuration)
    log = DiagnosticLog(limits: configuration.diagnosticLimits)
    self.random = random
  }

  var controller: ControllerCapabilities { session.capabilities }
  var state: AdapterState { session.state }

  mutating func send(_ command: some HCICommand, for purpose: Purpose) {
    send(EncodedCommand(command), for: purpose)
  }

  /// Sends a command, or queues it until the controller takes one.
  mutating func send(_ command: EncodedCommand, for purpose: Purpose) {
    var effects: [Effect<SessionEffect>] = []
    session.send(command, for: purpose, now: now, packets: &output.packets, into: &effects)
    for effect in effects { apply(effect) }
  }

  mutating func append(_ event: HostEvent, to recipient: Recipient = .everyone) { output.append(event, to: recipient) }

  /// Writes a line to the log. What a peer or the controller can cause is limited in rate.
  mutating func report(_ origin: Diagnostic.Origin, _ text: String, peer: LinkID? = nil) {
    withLog { $0.report(Diagnostic(origin, text, peer: peer), now: $1, into: &$2) }
  }

  mutating func withLog(_ body: (inout DiagnosticLog, Instant, inout [Effect<Never>]) -> Void) {
    var effects: [Effect<Never>] = []
    body(&log, now, &effects)
    apply(effects)
  }

  /// Applies an effect that is not the part's own.
  mutating func apply<Own>(_ effect: Effect<Own>) {
    switch effect {
    case .command(let command, let purpose): send(command, for: purpose)
    case .event(let event, let recipient): output.append(event, to: recipient)
    case .kernel(let command): output.kernelCommands.append(command)
    case .report(let origin, let text, let peer): report(origin, text, peer: peer)
    case .own: break
    }
  }

  mutating func apply(_ effects: [Effect<Never>]) { for effect in effects { apply(effect) } }
}
