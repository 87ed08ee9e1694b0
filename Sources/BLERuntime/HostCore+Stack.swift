package import BLEHost
package import BLELinux
package import BLEWire

extension HostCore: StackCore {
  package mutating func pipeFailed(_ error: TransportError, now: Instant, into output: inout HostOutput) {
    let state: AdapterState =
      switch error.kind {
      case .poweredOff: .poweredOff
      case .noPermission: .unauthorized
      case .malformed, .unavailable, .busy, .unsupported, .closed, .inputOutput: .resetting
      }
    transportFailed(.transport("\(error)"), state: state, now: now, into: &output)
  }

  package static func isState(_ event: HostEvent) -> Bool {
    if case .state = event { true } else { false }
  }

  package static func refusal(commandLimit: Int) -> HostEvent {
    .refused(.tooMany("commands waiting", limit: commandLimit))
  }

  package static func notice(_ text: String) -> HostEvent { .diagnostic(Diagnostic(.transport, text)) }
}

extension HostOutput: StackOutput {}
