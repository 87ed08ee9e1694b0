public import BLEWire
public import FoundationEssentials

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
    var userDescription: String?
    /// False for one that an earlier run has announced.
    var isOfThisRun = true
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

  /// The announcements that the broker has: those of earlier runs of this gateway count for ``deviceLimit``, too.
  public var announcementTopics: String { "\(prefix)/+/+/config" }

  /// Whether a characteristic is announced.
  public func announces(_ name: AttributeName) -> Bool { devices[name.address]?.announced[name] != nil }

  /// Whether the broker keeps the values of a characteristic.
  ///
  /// Home Assistant has no other value after its start, except of a sensor that expires: it stores the value of that
  /// one itself, and would take a retained one for new.
  public func retainsValue(of name: AttributeName) -> Bool {
    guard let kind = devices[name.address]?.announced[name]?.kind else { return false }
    return !kind.isSensor || expireAfter == nil
  }

  /// Another gateway announces the device.
  public mutating func forget(_ address: DeviceAddress) { devices[address] = nil }

  /// The retained messages that announce a characteristic; none for one that Home Assistant cannot use, and for one
  /// that was announced. Messages without a payload, which withdraw those of another device, precede it.
  public mutating func announcements(of attribute: DeviceAttribute, deviceName: String?) -> [ValueQueue.Message] {
    guard let kind = EntityKind(attribute) else { return [] }
    let address = attribute.name.address
    uses += 1
    let withdrawn = devices[address] == nil && devices.count >= Self.deviceLimit ? withdrawOldest() : []
    var device = devices[address] ?? Device()
    device.used = uses
    defer { devices[address] = device }
    let before = device.announced[attribute.name]
    // Without a name in the latest advertisement, the device keeps the one that it had; so does a characteristic whose
    // user description is not read yet.
    let hasName = deviceName != nil || before?.hasDeviceName == true
    let new = Announced(
      kind: kind, isPublished: attribute.isPublished, hasDeviceName: hasName,
      userDescription: attribute.userDescription ?? before?.userDescription)
    guard new != before, before != nil || device.announced.count < Self.entityLimit else { return withdrawn }
    device.announced[attribute.name] = new
    // Of another kind, as the characteristic of an earlier version of the device was.
    let replaced = before.flatMap { $0.kind.component == kind.component ? nil : topic(of: attribute.name, $0.kind) }
    let payload = Entity(
      kind, attribute, userDescription: new.userDescription, deviceName: deviceName, of: self
    ).payload
    return withdrawn + (replaced.map { [message($0, Data())] } ?? [])
      + [message(topic(of: attribute.name, kind), payload)]
  }

  /// The broker has an announcement: of this run, of an earlier one, of another gateway or of another program.
  ///
  /// - Returns: the messages that withdraw those of a device, where earlier runs have announced too many.
  public mutating func received(_ payload: Data, on topic: String) -> [ValueQueue.Message] {
    guard let (name, kind) = readAnnouncement(payload, on: topic) else { return [] }
    var device = devices[name.address] ?? Device()
    guard device.announced[name] == nil, device.announced.count < Self.entityLimit else { return [] }
    device.announced[name] = Announced(kind: kind, isPublished: false, hasDeviceName: false, isOfThisRun: false)
    devices[name.address] = device
    return devices.count > Self.deviceLimit ? withdrawOldest() : []
  }

  /// Reads an announcement of a gateway of this name; nil for any other.
  private func readAnnouncement(_ payload: Data, on topic: String) -> (AttributeName, EntityKind)? {
    struct Announcement: Decodable {
      struct Availability: Decodable { var topic: String }
      var availability: [Availability]
      var stateTopic: String?
      var commandTopic: String?
    }
    let levels = topic.dropFirst(prefix.count + 1).split(separator: "/", omittingEmptySubsequences: false)
    guard topic.hasPrefix(prefix + "/"), levels.count == 3, levels[1].hasPrefix("ble_"),
      let kind = EntityKind(component: levels[0])
    else { return nil }
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    guard let found = try? decoder.decode(Announcement.self, from: payload),
      found.availability.first?.topic == topics.status,
      let name = (found.stateTopic ?? found.commandTopic).flatMap(topics.attribute), topic == self.topic(of: name, kind)
    else { return nil }
    return (name, kind)
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
