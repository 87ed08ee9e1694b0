public import FoundationEssentials

/// One run of a gateway. `info` names it, so that two gateways of one name recognize each other.
///
/// A broker closes the connection of a client when another one with its identifier connects (MQTT 3.1.1, 3.1.4). Both
/// connect again, so they would close each other's connections without end. The one that started first ends instead:
/// when it is connected again, the broker has the `info` of the other one.
public struct GatewayInstance: Hashable, Sendable {
  /// 16 hexadecimal digits.
  public let number: String
  /// ISO 8601, in UTC.
  public let start: String
  /// Whether the broker has had the `info` of this run.
  private var wasPublished = false

  public init(number: UInt64 = .random(in: 0 ... .max), start: Date) {
    let digits = String(number, radix: 16)
    self.number = String(repeating: "0", count: 16 - digits.count) + digits
    self.start = Messages.text(of: start)
  }

  /// The broker sends `info` of this gateway.
  ///
  /// - Parameters:
  ///   - payload: the payload; one without an instance changes nothing.
  ///   - isRetained: whether the broker had it before the connection.
  /// - Returns: whether another gateway of this name has started since. The `info` of earlier runs says nothing.
  public mutating func isSuperseded(by payload: Data, isRetained: Bool) -> Bool {
    struct Info: Decodable {
      var instance: String
      var started: String
    }
    guard let info = try? JSONDecoder().decode(Info.self, from: payload) else { return false }
    if info.instance == number { wasPublished = true }
    return wasPublished && isRetained && (info.started, info.instance) > (start, number)
  }
}
