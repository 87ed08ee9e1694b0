public import BLEKit
import BLEWire

/// How the questions of pairings that the clients of a proxy begin are answered.
///
/// `AdapterOptions.pairing` of the adapters has to fit: a passkey can be entered only with the capability
/// `keyboardOnly` or `keyboardDisplay`.
public struct PairingPolicy: Sendable {
  private let reply: @Sendable (PairingRequest) async -> Void
  /// Receives the end of each pairing that a client has asked for; the error is nil for success.
  let ended: @Sendable (DeviceAddress, ProxyError?) -> Void

  /// - Parameter reply: answers one question; the next one is asked when it returns.
  public init(_ reply: @escaping @Sendable (PairingRequest) async -> Void) { self.init(reply, ended: { _, _ in }) }

  package init(
    _ reply: @escaping @Sendable (PairingRequest) async -> Void,
    ended: @escaping @Sendable (DeviceAddress, ProxyError?) -> Void
  ) {
    (self.reply, self.ended) = (reply, ended)
  }

  package func answer(_ request: PairingRequest) async { await reply(request) }

  /// Questions are declined. Pairings without a question (Just Works) succeed.
  public static let decline = Self { $0.reply.reject() }

  /// Passkeys that the devices display or have on their labels.
  ///
  /// - Parameters:
  ///   - passkeys: by the identity address of the device.
  ///   - other: for any other device; nil declines.
  ///   - acceptsComparison: whether numbers count as compared. Such a pairing does not protect against a device in the
  ///     middle.
  public static func passkeys(
    _ passkeys: [DeviceAddress: UInt32], other: UInt32? = nil, acceptsComparison: Bool = false
  ) -> Self {
    Self { request in
      switch request.question {
      case .enterPasskey:
        guard let passkey = passkeys[request.device.address.identity] ?? other else { return request.reply.reject() }
        request.reply.enter(passkey: passkey)
      case .compare: if acceptsComparison { request.reply.accept() } else { request.reply.reject() }
      case .consent: request.reply.accept()
      case .display, .replaceBond: request.reply.reject()
      }
    }
  }
}
