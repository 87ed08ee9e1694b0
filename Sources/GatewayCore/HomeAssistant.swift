public import BLEWire
import FoundationEssentials

/// The discovery topics of Home Assistant's MQTT integration: it makes an entity of each announced characteristic.
public struct HomeAssistant: Sendable {
  public let prefix: String
  public let topics: Topics
  /// The time after which Home Assistant shows a sensor without a new value as unavailable, in seconds; nil for never.
  public let expireAfter: Int?

  /// The announced characteristics of a device.
  private struct Device {
    var announced: [AttributeName: Announced] = [:]
    /// When it was used last.
    var used = 0
  }

  /// What decides how a characteristic is announced.
  private struct Announced: Equatable {
    var kind: EntityKind
    var isPublished: Bool
    var hasDeviceName: Bool
  }

  private var devices: [DeviceAddress: Device] = [:]
  private var uses = 0

  /// The maximum number of announced devices. One more removes the one whose values were received least recently, and
  /// its messages are withdrawn: devices that change their addresses neither keep others from being announced nor fill
  /// the broker.
  public static let deviceLimit = 512
  /// Characteristics that are announced for one device; further ones are not.
  public static let entityLimit = 32

  public init(prefix: String, topics: Topics, expireAfter: Int? = nil) {
    (self.prefix, self.topics, self.expireAfter) = (prefix, topics, expireAfter)
  }

  /// The topic on which Home Assistant publishes `online` after a start (its birth message).
  public var statusTopic: String { "\(prefix)/status" }

  /// Whether a characteristic is announced.
  public func announces(_ name: AttributeName) -> Bool { devices[name.address]?.announced[name] != nil }

  /// Whether the broker keeps the values of a characteristic.
  ///
  /// Home Assistant has no other value after its start, except of a sensor that expires: it stores the value of that one
  /// itself, and would take a retained one for new.
  public func retainsValue(of name: AttributeName) -> Bool {
    guard let kind = devices[name.address]?.announced[name]?.kind else { return false }
    return !kind.isSensor || expireAfter == nil
  }

  /// Another gateway announces the device.
  public mutating func forget(_ address: DeviceAddress) { devices[address] = nil }

  /// The retained messages that announce a characteristic; none for one that Home Assistant cannot use, and for one that
  /// was announced. Messages without a payload, which withdraw those of another device, precede it.
  public mutating func announcements(of attribute: DeviceAttribute, deviceName: String?) -> [ValueQueue.Message] {
    guard let kind = EntityKind(attribute) else { return [] }
    let address = attribute.name.address
    uses += 1
    let withdrawn = devices[address] == nil && devices.count >= Self.deviceLimit ? withdrawOldest() : []
    var device = devices[address] ?? Device()
    device.used = uses
    defer { devices[address] = device }
    let before = device.announced[attribute.name]
    // Without a name in the latest advertisement, the device keeps the one that it had.
    let hasName = deviceName != nil || before?.hasDeviceName == true
    let new = Announced(kind: kind, isPublished: attribute.isPublished, hasDeviceName: hasName)
    guard new != before, before != nil || device.announced.count < Self.entityLimit else { return withdrawn }
    device.announced[attribute.name] = new
    let payload = Entity(kind, attribute, deviceName: deviceName, of: self).payload
    return withdrawn + [message(topic(of: attribute.name, kind), payload)]
  }

  private mutating func withdrawOldest() -> [ValueQueue.Message] {
    guard let oldest = devices.min(by: { $0.value.used < $1.value.used }) else { return [] }
    devices[oldest.key] = nil
    let topics = oldest.value.announced.flatMap { [topic(of: $0.key, $0.value.kind), self.topics.value($0.key)] }
    return topics.sorted().map { message($0, Data()) }
  }

  private func message(_ topic: String, _ payload: Data) -> ValueQueue.Message {
    ValueQueue.Message(topic: topic, payload: payload, isRetained: true)
  }

  private func topic(of name: AttributeName, _ kind: EntityKind) -> String {
    "\(prefix)/\(kind.component)/\(Entity.identifier(of: name))/config"
  }
}
