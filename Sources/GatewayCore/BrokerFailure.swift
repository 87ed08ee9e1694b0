/// Why there is no connection to the broker.
public enum BrokerFailure: Equatable, Sendable {
  /// The broker rejects the client, with this return code of its CONNACK (MQTT 3.1.1, 3.2.2.3).
  case rejected(UInt8)
  /// Nothing listens at the port.
  case refused
  /// The name of the broker has no address.
  case unknownHost
  /// The broker, or the network, has ended the connection.
  case lost
  /// The certificate of the broker is not accepted, or it does not speak TLS.
  case tls
  case other(String)

  /// Whether another attempt has the same result.
  public var isFinal: Bool { [.rejected(1), .rejected(2), .rejected(4), .rejected(5)].contains(self) }

  /// What failed, and what to do.
  public func text(of broker: GatewayConfiguration.Broker, identifier: String) -> String {
    let name = "\(broker.host):\(broker.effectivePort)"
    if case .rejected(let code) = self {
      return "the broker \(name) rejects the gateway: \(Self.rejection(code, broker, identifier))"
    }
    return "no connection to the broker \(name): \(reason(broker))"
  }

  private static func rejection(
    _ code: UInt8, _ broker: GatewayConfiguration.Broker, _ identifier: String
  ) -> String {
    let login =
      broker.username == nil
      ? "Give a user name and a password: --username NAME --password-file FILE"
      : "Check the user name and the password file of the configuration"
    return switch code {
    case 1: "it does not support MQTT 3.1.1 (code 1). Use a newer broker"
    case 2: "it does not accept the name '\(identifier)' (code 2). Give another one: --id NAME"
    case 3: "it is not available (code 3). The gateway tries again"
    case 4: "wrong user name or password (code 4). \(login)"
    case 5: "not authorized (code 5). \(login)"
    default: "code \(code)"
    }
  }

  private func reason(_ broker: GatewayConfiguration.Broker) -> String {
    switch self {
    case .refused:
      "connection refused. Start a broker there, or give the address of another one: --broker HOST[:PORT]"
    case .unknownHost: "the name is unknown. Check the address and the network: --broker HOST[:PORT]"
    case .lost: "the connection has ended. The gateway connects again"
    case .tls where broker.certificateAuthorities == nil: "a TLS error. Give the certificates: --ca-file FILE"
    case .tls: "a TLS error. Check the port, and the certificates in \(broker.certificateAuthorities ?? "")"
    case .other(let text): "\(text). The gateway tries again"
    case .rejected: ""
    }
  }
}
