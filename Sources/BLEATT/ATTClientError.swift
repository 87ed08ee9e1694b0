/// Why the client half of a bearer did not take a PDU to send; always the caller's doing but for a failed bearer.
public enum ATTClientError: Error, Equatable, Sendable {
  /// No request: it has no response.
  case notARequest(ATTOpcode)
  /// No command: it would be answered.
  case notACommand(ATTOpcode)
  /// The PDU is longer than the ATT_MTU.
  case exceedsMTU(octets: Int, mtu: Int)
  /// So many requests wait already.
  case tooManyRequests(limit: Int)
  /// The MTU is exchanged once a link (Vol 3, Part F, 3.4.2.1).
  case mtuExchangedAlready
  /// A request got no answer within 30 seconds, or the link has ended.
  case bearerFailed
}

extension ATTClientError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notARequest(let opcode): "\(opcode) is no request: nothing would answer it"
    case .notACommand(let opcode): "\(opcode) is no command: send it as a request"
    case .exceedsMTU(let octets, let mtu):
      "a PDU of \(octets) octets does not fit the ATT_MTU of \(mtu): exchange a larger MTU or send it in parts"
    case .tooManyRequests(let limit): "\(limit) requests wait already: wait for an answer"
    case .mtuExchangedAlready: "the MTU has been exchanged on this link; once is all the specification allows"
    case .bearerFailed: "this bearer has failed: disconnect and connect again"
    }
  }
}
