import BLEAssignedNumbers
import BLEWire
import Foundation

/// The discovery topics of Home Assistant's MQTT integration: it makes a sensor of each quantity.
public struct HomeAssistant: Sendable {
  public let prefix: String
  public let topics: Topics
  private var announced: Set<AttributeName> = []

  /// Sensors that are announced; further ones are not.
  public static let limit = 4096

  public init(prefix: String, topics: Topics) {
    self.prefix = prefix
    self.topics = topics
  }

  /// The topic on which Home Assistant says `online` after a start.
  public var statusTopic: String { "\(prefix)/status" }

  /// Home Assistant or the broker has started anew: each sensor is to be announced again.
  public mutating func forget() { announced = [] }

  /// The retained message that announces a characteristic; nil for one without a quantity, and for one that was announced.
  public mutating func announcement(of attribute: AttributeName, deviceName: String?) -> ValueQueue.Message? {
    guard let quantity = Quantity.of(attribute.characteristic), announced.count < Self.limit,
      announced.insert(attribute).inserted
    else { return nil }

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
    let address = attribute.address.description
    let plain = address.replacing(":", with: "").lowercased()
    let identifier =
      "ble_\(plain)_\(attribute.service.uuidString)_\(attribute.characteristic.uuidString)".lowercased()
    let sensor = Sensor(
      name: AssignedNames.uuid(attribute.characteristic) ?? attribute.characteristic.uuidString,
      uniqueId: identifier, stateTopic: topics.value(attribute), unitOfMeasurement: quantity.unit,
      deviceClass: quantity.deviceClass,
      device: Device(
        identifiers: ["ble_\(plain)"], connections: [["bluetooth", address]], name: deviceName ?? address))
    return ValueQueue.Message(
      topic: "\(prefix)/sensor/\(identifier)/config", payload: Messages.encode(sensor, keys: .convertToSnakeCase),
      isRetained: true)
  }
}
