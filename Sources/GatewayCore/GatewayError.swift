/// An error that ends the gateway, or that is the answer to a request of a client of the broker.
public struct GatewayError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of failure; its raw value is the word in the answer.
  public enum Kind: String, Sendable {
    /// The configuration or the command line.
    case configuration
    /// A file that cannot be read.
    case input
    /// The broker rejects the gateway, or cannot be used.
    case broker
    /// The payload of a request.
    case request
    /// No gateway receives the device, or it lacks the characteristic.
    case notFound
    /// The device did not answer, rejected the request or ended the link.
    case device
    /// More requests wait than a gateway keeps.
    case busy
  }

  public let kind: Kind
  /// What failed, and what to do.
  public let text: String

  public init(_ kind: Kind, _ text: String) {
    self.kind = kind
    self.text = text
  }

  public var description: String { text }

  /// The exit status of the program (sysexits.h).
  public var exitStatus: Int32 {
    switch kind {
    case .configuration, .request: 78
    case .input: 66
    case .broker, .busy: 69
    case .notFound: 68
    case .device: 76
    }
  }
}
