/// Why a pipe to a controller could not be opened, or was lost: what failed, where, and what mends it.
package struct TransportError: Error, Equatable, Sendable {
  package enum Kind: Sendable {
    /// The transport string itself is wrong.
    case malformed
    /// Nothing is there to talk to.
    case unavailable
    /// Somebody else holds it.
    case busy
    /// The user may not.
    case noPermission
    /// This system or this version cannot.
    case unsupported
    /// The other end closed it.
    case closed
    /// The adapter is there and switched off.
    case poweredOff
    /// The octets were no HCI packets, or could not be moved.
    case inputOutput
  }

  package let kind: Kind
  /// The transport string, or the path.
  package let place: String
  /// What happened, without a full stop.
  package let what: String
  /// The line that mends it, without a full stop; empty where nobody knows one.
  package let remedy: String
  package let cause: SystemError?

  package init(_ kind: Kind, at place: String, _ what: String, remedy: String = "", cause: SystemError? = nil) {
    self.kind = kind
    self.place = place
    self.what = what
    self.remedy = remedy
    self.cause = cause
  }

  /// The status a program that cannot go on ends with, as in `sysexits.h`.
  package var exitCode: Int32 {
    switch kind {
    case .malformed: 64
    case .unavailable, .unsupported, .closed, .poweredOff: 69
    case .inputOutput: 74
    case .busy: 75
    case .noPermission: 77
    }
  }
}

extension TransportError: CustomStringConvertible {
  package var description: String {
    let cause = cause.map { " (\($0))" } ?? ""
    return "\(place): \(what)\(cause)\(remedy.isEmpty ? "" : ": \(remedy)")"
  }
}
