import BLEAssignedNumbers
import BLEWire
import FoundationEssentials
import ToolCore

/// The discovery topics of Home Assistant's MQTT integration: it makes a sensor of each quantity.
public struct HomeAssistant: Sendable {
  public let prefix: String
  public let topics: Topics
  /// The announced characteristics of each device, and when the device was used last.
  private var devices: [DeviceAddress: (attributes: Set<AttributeName>, used: Int)] = [:]
  private var uses = 0

  /// The maximum number of announced devices. One more removes the one whose values were received least recently, and
  /// its announcements are withdrawn: devices that change their addresses neither keep others from being announced nor
  /// fill the broker.
  public static let deviceLimit = 512
  /// Sensors that are announced for one device; further ones are not.
  public static let sensorLimit = 32

  public init(prefix: String, topics: Topics) {
    self.prefix = prefix
    self.topics = topics
  }

  /// The topic on which Home Assistant publishes `online` after a start.
  public var statusTopic: String { "\(prefix)/status" }

  /// Home Assistant or the broker has restarted: each sensor has to be announced again.
  public mutating func forget() { devices = [:] }

  /// The retained messages that announce a characteristic; none for one without a quantity, and for one that was
  /// announced. Messages without a payload, which withdraw the announcements of another device, precede it.
  public mutating func announcements(of attribute: AttributeName, deviceName: String?) -> [ValueQueue.Message] {
    guard let quantity = Quantity.of(attribute.characteristic) else { return [] }
    uses += 1
    var withdrawn: [ValueQueue.Message] = []
    if devices[attribute.address] == nil, devices.count >= Self.deviceLimit,
      let oldest = devices.min(by: { $0.value.used < $1.value.used })
    {
      devices[oldest.key] = nil
      withdrawn = oldest.value.attributes.map { message(topic(of: $0), Data()) }.sorted { $0.topic < $1.topic }
    }
    var device = devices[attribute.address] ?? ([], uses)
    device.used = uses
    let isNew = device.attributes.count < Self.sensorLimit && device.attributes.insert(attribute).inserted
    devices[attribute.address] = device
    guard isNew else { return withdrawn }
    return withdrawn + [message(topic(of: attribute), description(of: attribute, quantity, deviceName))]
  }

  /// The device classes of Home Assistant's sensors; nil if none applies.
  private static let deviceClasses: [UInt32: String] = [
    0x2A19: "battery", 0x2A1C: "temperature", 0x2A1E: "temperature", 0x2A6C: "distance", 0x2A6D: "atmospheric_pressure",
    0x2A6E: "temperature", 0x2A6F: "humidity", 0x2A70: "wind_speed", 0x2A72: "wind_speed", 0x2A77: "irradiance",
    0x2A78: "precipitation", 0x2A79: "temperature", 0x2A7A: "temperature", 0x2A7B: "temperature",
  ]

  private func message(_ topic: String, _ payload: Data) -> ValueQueue.Message {
    ValueQueue.Message(topic: topic, payload: payload, isRetained: true)
  }

  /// The device in Home Assistant's identifiers: without separators.
  private func plain(_ address: DeviceAddress) -> String {
    address.topicLevel.lowercased().replacing(":", with: "").replacing("-", with: "_")
  }

  private func identifier(of attribute: AttributeName) -> String {
    "ble_\(plain(attribute.address))_\(attribute.path.replacing("/", with: "_"))".lowercased()
  }

  private func topic(of attribute: AttributeName) -> String { "\(prefix)/sensor/\(identifier(of: attribute))/config" }

  /// Characteristics of one type have names that differ.
  private func name(of attribute: AttributeName) -> String {
    let name = AssignedNames.uuid(attribute.characteristic) ?? attribute.characteristic.uuidString
    let numbers = [attribute.serviceNumber, attribute.characteristicNumber].filter { $0 > 1 }
    return numbers.isEmpty ? name : "\(name) \(numbers.map { "\($0)" }.joined(separator: "."))"
  }

  /// The payload of an announcement.
  private func description(of attribute: AttributeName, _ quantity: Quantity, _ deviceName: String?) -> Data {
    struct Device: Encodable {
      var identifiers: [String]
      var connections: [[String]]
      var name: String
    }
    struct Sensor: Encodable {
      var name: String
      var uniqueId: String
      var stateTopic: String
      var valueTemplate = "{{ value_json.value }}"
      var unitOfMeasurement: String?
      var deviceClass: String?
      var stateClass = "measurement"
      var device: Device
    }
    let address = attribute.address
    let sensor = Sensor(
      name: name(of: attribute),
      uniqueId: identifier(of: attribute), stateTopic: topics.value(attribute), unitOfMeasurement: quantity.unit,
      deviceClass: attribute.characteristic.shortValue.flatMap { Self.deviceClasses[$0] },
      device: Device(
        identifiers: ["ble_\(plain(address))"], connections: [["bluetooth", address.octets.description]],
        name: deviceName ?? address.topicLevel))
    return Messages.encode(sensor, keys: .convertToSnakeCase)
  }
}
