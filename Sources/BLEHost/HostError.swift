package import BLEHCI
package import BLEL2CAP

/// Why the host could not perform a command, and how to fix it.
package enum HostError: Error, Equatable, Sendable {
  /// The adapter is not powered on.
  case notPoweredOn
  /// The controller answered a command with an error.
  case controller(HCIOpcode, HCIErrorCode)
  /// The controller answered a command with parameters that the specification does not allow.
  case malformedAnswer(HCIOpcode)
  /// The controller did not answer a command in time.
  case commandTimedOut(HCIOpcode)
  /// The controller does not support the request; the text names the missing feature.
  case unsupported(String)
  /// The device of the link does not support the request; the text names the missing feature.
  case unsupportedByPeer(String)
  /// A setting of the program, or the kernel, excludes the request; the text says why.
  case disabled(String)
  /// The transport ended or failed; the text names it and says why.
  case transport(String)
  /// The value does not fit its limits; the text says which.
  case invalidParameters(String)
  /// No link of that name is up.
  case notConnected
  /// The limit of pending requests is reached.
  case tooMany(String, limit: Int)
  /// The caller cancelled the request.
  case cancelled
  /// The peer refused, by LE signalling or ATT.
  case peerRefused(String)
  /// The peer refused a channel (Vol 3, Part A, 4.23 and 4.26).
  case channelRefused(CreditBasedConnectionResult)
  /// The link does not have the security that was demanded, and did not get it; the text says why.
  case notSecured(String)
}

extension HostError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .notPoweredOn: "the adapter is not powered on: wait for the state poweredOn"
    case .controller(let opcode, let status): "the controller rejected \(opcode): \(status)"
    case .malformedAnswer(let opcode): "the controller answered \(opcode) with malformed parameters"
    case .commandTimedOut(let opcode):
      "the controller did not answer \(opcode): reset it or plug it in again, and check that the transport leads to an HCI controller"
    case .unsupported(let what): "the controller has no \(what)"
    case .unsupportedByPeer(let what): "the device has no \(what)"
    case .disabled(let why): why
    case .transport(let why): why
    case .invalidParameters(let which): which
    case .notConnected: "the device is not connected"
    case .tooMany(let what, let limit): "more than \(limit) \(what) at once"
    case .cancelled: "cancelled"
    case .peerRefused(let why): "the peer refused: \(why)"
    case .channelRefused(let result): "the peer refused the channel: \(result)"
    case .notSecured(let why): why
    }
  }
}

/// Something that went wrong without a command to answer: one line, which begins with its origin.
package struct Diagnostic: Equatable, Sendable, CustomStringConvertible {
  package enum Origin: String, Sendable { case controller, peer, application, transport }

  package var origin: Origin
  package var peer: LinkID?
  package var text: String

  package init(_ origin: Origin, _ text: String, peer: LinkID? = nil) {
    self.origin = origin
    self.text = text
    self.peer = peer
  }

  package var description: String {
    "\(origin.rawValue)\(peer.map { " (link \($0.rawValue))" } ?? ""): \(text)"
  }
}
