package import BLEHost
package import BLELinux

/// Why there is no adapter to work with: what failed, where, and what mends it.
///
/// `CBManager.stateReason` has it when the state is below powered on.
public struct AdapterError: Error, Hashable, Sendable {
  public enum Kind: Hashable, Sendable {
    /// The transport string is wrong.
    case malformed
    /// Nothing is there to talk to.
    case unavailable
    /// Somebody else holds it.
    case busy
    /// The process may not; the text names what it lacks.
    case noPermission
    /// This system, this version or the controller cannot.
    case unsupported
    /// It was there and was lost.
    case lost
    /// The adapter is there and its answers make no sense, or none come.
    case faulty
  }

  public let kind: Kind
  /// One line: where, what, and what mends it.
  public let text: String

  /// The status a program that cannot go on ends with, as in `sysexits.h`.
  public var exitStatus: Int32 {
    switch kind {
    case .malformed: 64
    case .unavailable, .unsupported, .lost: 69
    case .faulty: 74
    case .busy: 75
    case .noPermission: 77
    }
  }

  package init(_ error: TransportError) {
    kind =
      switch error.kind {
      case .malformed: .malformed
      case .unavailable: .unavailable
      case .busy: .busy
      case .noPermission: .noPermission
      case .unsupported: .unsupported
      case .closed, .poweredOff: .lost
      case .inputOutput: .faulty
      }
    text = "\(error)"
  }

  package init(_ error: HostError) {
    kind =
      switch error {
      case .transport: .lost
      case .unsupported: .unsupported
      default: .faulty
      }
    text = "\(error)"
  }

  /// The state of a manager that met it on the way to its host.
  package var state: AdapterState { kind == .noPermission ? .unauthorized : .unsupported }
}

extension AdapterError: CustomStringConvertible {
  public var description: String { text }
}
