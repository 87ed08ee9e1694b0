import BLEAssignedNumbers
import BLEWire
import FoundationEssentials
import ToolCore

/// What Home Assistant makes of a characteristic.
enum EntityKind: Hashable, Sendable {
  case sensor
  case number
  case switchable
  /// The options with their values, a single octet each.
  case select([String])
  case text

  /// - Returns: nil for a characteristic that Home Assistant cannot use.
  init?(_ attribute: DeviceAttribute) {
    let uuid = attribute.name.characteristic
    if attribute.isWritable, let kind = Self.writable(uuid) {
      self = kind
    } else if attribute.isReadable, Quantity.of(uuid) != nil {
      self = .sensor
    } else {
      return nil
    }
  }

  private static func writable(_ uuid: BluetoothUUID) -> Self? {
    if WritableNumber(uuid) != nil { return .number }
    if uuid.isTextType { return .text }
    return switch uuid {
    // GATT Specification Supplement: Boolean; Alert Level.
    case "2AE2": .switchable
    case "2A06": .select(["No Alert", "Mild Alert", "High Alert"])
    default: nil
    }
  }

  /// The kind of an announcement; a selection has no options here.
  init?(component: some StringProtocol) {
    let kinds: [Self] = [.sensor, .number, .switchable, .select([]), .text]
    guard let kind = kinds.first(where: { $0.component == component }) else { return nil }
    self = kind
  }

  var isSensor: Bool { self == .sensor }

  /// The level of the discovery topic.
  var component: String {
    switch self {
    case .sensor: "sensor"
    case .number: "number"
    case .switchable: "switch"
    case .select: "select"
    case .text: "text"
    }
  }
}

/// The payload of a discovery topic. The names of the fields are those of Home Assistant's documentation of its MQTT
/// integration (https://www.home-assistant.io/integrations/mqtt), in another notation.
struct Entity: Encodable {
  struct Availability: Encodable {
    var topic: String
    var valueTemplate: String?
    var payloadAvailable: String
    var payloadNotAvailable: String
  }
  struct Device: Encodable {
    var identifiers: [String]
    var connections: [[String]]
    var name: String
  }
  struct Origin: Encodable {
    var name = "ble-gateway"
    var swVersion = ProgramVersion.text
  }

  var name: String
  var uniqueId: String
  var availability: [Availability]
  var availabilityMode = "all"
  var device: Device
  var origin = Origin()
  var stateTopic: String?
  var valueTemplate: String?
  var unitOfMeasurement: String?
  var deviceClass: String?
  // A sensor.
  var stateClass: String?
  var expireAfter: Int?
  // The others.
  var commandTopic: String?
  var commandTemplate: String?
  // A number.
  var min: Double?
  var max: Double?
  var step: Double?
  var mode: String?
  // A switch.
  var payloadOn: String?
  var payloadOff: String?
  // A selection.
  var options: [String]?

  init(
    _ kind: EntityKind, _ attribute: DeviceAttribute, userDescription: String?, deviceName: String?,
    of assistant: HomeAssistant
  ) {
    let (address, topics) = (attribute.name.address, assistant.topics)
    let uuid = attribute.name.characteristic
    name = Self.name(of: attribute.name, userDescription)
    uniqueId = Self.identifier(of: attribute.name)
    availability = [
      Availability(topic: topics.status, payloadAvailable: "online", payloadNotAvailable: "offline")
    ]
    // For a request the gateway connects, and disconnects afterwards.
    if attribute.isPublished {
      availability.append(
        Availability(
          topic: topics.connection(address), valueTemplate: "{{ value_json.state }}", payloadAvailable: "connected",
          payloadNotAvailable: "disconnected"))
    }
    device = Device(
      identifiers: ["ble_\(Self.plain(address))"], connections: [["bluetooth", address.octets.description]],
      name: deviceName ?? address.topicLevel)
    if attribute.isReadable { stateTopic = topics.value(attribute.name) }
    if !kind.isSensor { commandTopic = topics.write(attribute.name) }
    switch kind {
    case .sensor, .number:
      valueTemplate = "{{ value_json.value | default(none) }}"
      unitOfMeasurement = Quantity.of(uuid)?.unit
      deviceClass = uuid.shortValue.flatMap { Self.deviceClasses[$0] }
    case .switchable: (valueTemplate, payloadOn, payloadOff) = ("{{ value_json.hex }}", "01", "00")
    case .select(let names):
      options = names
      let values = names.enumerated().map { ("0\($0.offset)", $0.element) }
      valueTemplate = "{{ \(Self.mapping(values)).get(value_json.hex) }}"
      commandTemplate = "{{ \(Self.mapping(values.map { ($0.1, $0.0) })).get(value) }}"
    case .text:
      valueTemplate = "{{ value_json.text | default('') }}"
      commandTemplate = #"{"text": {{ value | tojson }} }"#
    }
    if kind.isSensor { (stateClass, expireAfter) = ("measurement", assistant.expireAfter) }
    if kind == .number, let number = WritableNumber(uuid) {
      commandTemplate = #"{"value": {{ value }} }"#
      (min, max, step, mode) = (number.minimum, number.maximum, number.step, "box")
    }
    if stateTopic == nil { valueTemplate = nil }
  }

  var payload: Data { Messages.encode(self, keys: .convertToSnakeCase) }

  /// The identifier of the entity, and the level of its topic.
  static func identifier(of name: AttributeName) -> String {
    "ble_\(plain(name.address))_\(name.path.replacing("/", with: "_"))".lowercased()
  }

  /// The device in Home Assistant's identifiers: without separators.
  private static func plain(_ address: DeviceAddress) -> String {
    address.topicLevel.lowercased().replacing(":", with: "").replacing("-", with: "_")
  }

  /// Characteristics of one type have names that differ: by what the device says of them, otherwise by their numbers.
  private static func name(of attribute: AttributeName, _ userDescription: String?) -> String {
    let name = AssignedNames.uuid(attribute.characteristic) ?? attribute.characteristic.uuidString
    if let userDescription { return "\(name) (\(userDescription))" }
    let numbers = [attribute.serviceNumber, attribute.characteristicNumber].filter { $0 > 1 }
    return numbers.isEmpty ? name : "\(name) \(numbers.map { "\($0)" }.joined(separator: "."))"
  }

  /// A dictionary in a template.
  private static func mapping(_ pairs: [(String, String)]) -> String {
    "{\(pairs.map { "'\($0.0)':'\($0.1)'" }.joined(separator: ","))}"
  }

  /// The device classes of Home Assistant's sensors and numbers, where the unit of the characteristic is one of the
  /// class.
  private static let deviceClasses: [UInt32: String] = [
    0x2A07: "signal_strength", 0x2A19: "battery", 0x2A1C: "temperature", 0x2A1E: "temperature", 0x2A6C: "distance",
    0x2A6D: "atmospheric_pressure", 0x2A6E: "temperature", 0x2A6F: "humidity", 0x2A70: "wind_speed",
    0x2A72: "wind_speed", 0x2A77: "irradiance", 0x2A78: "precipitation", 0x2A79: "temperature", 0x2A7A: "temperature",
    0x2A7B: "temperature",
  ]
}
