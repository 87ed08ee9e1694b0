public import BLEWire
import ToolCore

/// The topics of a gateway.
///
/// ADDRESS is that of ``BLEWire/DeviceAddress/topicLevel``, SERVICE and CHARACTERISTIC are those of
/// ``AttributeName/path``.
///
/// | topic | payload |
/// |---|---|
/// | `ble/gateways/ID/status` | retained: `online`, `offline` |
/// | `ble/gateways/ID/info` | retained: version, adapter, counters |
/// | `ble/gateways/ID/lost` | the number of values that were not kept, and when |
/// | `ble/claims/ADDRESS/ID` | how well a gateway receives a device, and whether it serves it |
/// | `ble/devices/ADDRESS/advertisement` | the latest advertisement |
/// | `ble/devices/ADDRESS/connection` | whether a gateway is connected to the device |
/// | `ble/devices/ADDRESS/SERVICE/CHARACTERISTIC/value` | a value that was received or read |
/// | `ble/devices/ADDRESS/SERVICE/CHARACTERISTIC/read`, `…/write` | a request |
/// | `ble/devices/ADDRESS/SERVICE/CHARACTERISTIC/result` | the answer to a request |
public struct Topics: Sendable {
  public let prefix: String
  public let gateway: String

  public init(prefix: String, gateway: String) {
    self.prefix = prefix
    self.gateway = gateway
  }

  /// One level of a topic: no separator, no wildcard, no NUL (MQTT 3.1.1, 4.7).
  public static func isLevel(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 64 && !text.unicodeScalars.contains { "/+#\0".unicodeScalars.contains($0) }
  }

  /// One or several levels.
  public static func isPrefix(_ text: String) -> Bool {
    text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { isLevel(String($0)) }
  }

  public var status: String { "\(prefix)/gateways/\(gateway)/status" }
  public var info: String { "\(prefix)/gateways/\(gateway)/info" }
  public var lost: String { "\(prefix)/gateways/\(gateway)/lost" }

  public func claim(_ address: DeviceAddress) -> String { "\(prefix)/claims/\(address.topicLevel)/\(gateway)" }
  public func advertisement(_ address: DeviceAddress) -> String {
    "\(prefix)/devices/\(address.topicLevel)/advertisement"
  }
  public func connection(_ address: DeviceAddress) -> String { "\(prefix)/devices/\(address.topicLevel)/connection" }
  public func value(_ attribute: AttributeName) -> String { "\(path(attribute))/value" }
  public func write(_ attribute: AttributeName) -> String { "\(path(attribute))/write" }
  public func result(_ attribute: AttributeName) -> String { "\(path(attribute))/result" }

  private func path(_ attribute: AttributeName) -> String {
    "\(prefix)/devices/\(attribute.address.topicLevel)/\(attribute.path)"
  }

  /// The topics to which a gateway subscribes at the broker. Its own `info` is the first: the broker sends the one that
  /// it has before it answers the last subscription.
  public var subscriptions: [String] {
    [
      info, "\(prefix)/gateways/+/status", "\(prefix)/claims/+/+", "\(prefix)/devices/+/connection",
      "\(prefix)/devices/+/+/+/read", "\(prefix)/devices/+/+/+/write",
    ]
  }

  /// The subject of a received topic.
  public enum Received: Equatable, Sendable {
    case status(gateway: String)
    /// That of this gateway.
    case info
    case claim(DeviceAddress, gateway: String)
    case connection(DeviceAddress)
    case read(AttributeName)
    case write(AttributeName)
  }

  /// Reads a topic of ``subscriptions``; nil for any other one, for one with a malformed address or UUID, and for
  /// an invalid name of a gateway (``isLevel(_:)``).
  public func parse(_ topic: String) -> Received? {
    guard topic.hasPrefix(prefix + "/") else { return nil }
    let levels = topic.dropFirst(prefix.count + 1).split(separator: "/", omittingEmptySubsequences: false)
    switch (levels.first, levels.count) {
    case ("gateways", 3) where topic == info: return .info
    case ("gateways", 3) where levels[2] == "status":
      let gateway = String(levels[1])
      return Self.isLevel(gateway) ? .status(gateway: gateway) : nil
    case ("claims", 3):
      let gateway = String(levels[2])
      guard let address = DeviceAddress(topicLevel: levels[1]), Self.isLevel(gateway) else { return nil }
      return .claim(address, gateway: gateway)
    case ("devices", 3) where levels[2] == "connection":
      return DeviceAddress(topicLevel: levels[1]).map(Received.connection)
    case ("devices", 5):
      guard let attribute = attribute(topic) else { return nil }
      switch levels[4] {
      case "read": return .read(attribute)
      case "write": return .write(attribute)
      default: return nil
      }
    default: return nil
    }
  }

  /// Why a topic of a request names no characteristic; nil for a topic that does, and for one of another kind.
  public func fault(of topic: String) -> String? {
    guard topic.hasPrefix(prefix + "/devices/"), parse(topic) == nil else { return nil }
    let levels = topic.dropFirst(prefix.count + 1).split(separator: "/", omittingEmptySubsequences: false)
    guard levels.count == 5, levels[4] == "read" || levels[4] == "write" else { return nil }
    guard DeviceAddress(topicLevel: levels[1]) != nil else {
      return
        "'\(Self.shown(levels[1]))' is not an address such as F0:F1:F2:F3:F4:F5 (public) or F0:F1:F2:F3:F4:F5-random"
    }
    for (level, kind) in [(levels[2], UUIDName.Kind.service), (levels[3], .characteristic)]
    where !AttributeName.isLevel(level) {
      let uuids = UUIDName.uuids(String(level)).filter { !kind.excludes($0) }.map(\.uuidString)
      let advice = uuids.isEmpty ? " such as \(kind == .service ? "181A" : "2A6E")" : ": write \(uuids[0])"
      return "'\(Self.shown(level))' is not the UUID of a \(kind.rawValue)\(advice)"
    }
    return nil
  }

  private static func shown(_ level: Substring) -> String { String(printable: level.prefix(40)) }

  /// The characteristic of a topic such as ``value(_:)``; nil for one of another form.
  func attribute(_ topic: String) -> AttributeName? {
    guard topic.hasPrefix(prefix + "/devices/") else { return nil }
    let levels = topic.dropFirst(prefix.count + 1).split(separator: "/", omittingEmptySubsequences: false)
    guard levels.count == 5 else { return nil }
    return DeviceAddress(topicLevel: levels[1]).flatMap {
      AttributeName(address: $0, service: levels[2], characteristic: levels[3])
    }
  }
}
