package import BLEHost
package import BLELinux

/// The reason why there is no adapter: what failed, where, and what to do.
///
/// `Adapter.stateReason` and `CBManager.stateReason` have it when the state is below powered on.
public struct AdapterError: Error, Hashable, Sendable {
  /// The kinds of failure.
  public enum Kind: Hashable, Sendable {
    /// The transport string is wrong.
    case malformed
    /// There is no controller or no adapter.
    case unavailable
    /// Another program uses it.
    case busy
    /// The process lacks a permission, which the text names.
    case noPermission
    /// This system, this version or the controller does not support it.
    case unsupported
    /// The connection to it was lost.
    case lost
    /// The adapter does not answer, or answers against the specification.
    case faulty
  }

  /// The kind of failure; ``exitStatus`` maps it to an exit status.
  public let kind: Kind
  /// One line: where, what failed, and what to do.
  public let text: String

  /// The exit status for a program that ends because of it, as in `sysexits.h`.
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
      default: .faulty  // The adapter exists but does not work.
      }
    text = "\(error)"
  }

  /// The state of an adapter whose host cannot be started because of it.
  package var state: AdapterState { kind == .noPermission ? .unauthorized : .unsupported }
}

extension AdapterError: CustomStringConvertible {
  public var description: String { text }
}
