import BLEWire
import Foundation
import GatewayCore
import Testing

struct HomeAssistantTests {
  private let topics = Topics(prefix: "ble", gateway: "kitchen")
  private let thermometer = DeviceAddress(octets: BD_ADDR(0xC0_11_22_33_44_55), kind: .public)

  private func attribute(
    _ characteristic: BluetoothUUID, in service: BluetoothUUID = "181A", of address: DeviceAddress? = nil,
    isReadable: Bool = true, isWritable: Bool = false, isPublished: Bool = true
  ) -> DeviceAttribute {
    DeviceAttribute(
      AttributeName(address: address ?? thermometer, service: service, characteristic: characteristic),
      isReadable: isReadable, isWritable: isWritable, isPublished: isPublished)
  }

  private func device(_ number: Int) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(UInt64(number)), kind: .random)
  }

  /// The only announcement of a characteristic.
  private func announcement(
    of attribute: DeviceAttribute, deviceName: String? = "Thermometer", expireAfter: Int? = nil
  ) throws -> (topic: String, fields: [String: Any]) {
    var assistant = HomeAssistant(prefix: "homeassistant", topics: topics, expireAfter: expireAfter)
    let messages = assistant.announcements(of: attribute, deviceName: deviceName)
    try #require(messages.count == 1 && messages[0].isRetained)
    let fields = try JSONSerialization.jsonObject(with: messages[0].payload) as? [String: Any]
    return (messages[0].topic, try #require(fields))
  }

  /// The fields of Home Assistant's documentation of its MQTT sensor.
  @Test func aQuantityIsASensor() throws {
    let (topic, fields) = try announcement(of: attribute("2A6E"))
    #expect(topic == "homeassistant/sensor/ble_c01122334455_181a_2a6e/config")
    let expected: [String: Any] = [
      "name": "Temperature", "unique_id": "ble_c01122334455_181a_2a6e",
      "state_topic": "ble/devices/C0:11:22:33:44:55/181A/2A6E/value",
      "value_template": "{{ value_json.value | default(none) }}", "unit_of_measurement": "°C",
      "device_class": "temperature", "state_class": "measurement", "availability_mode": "all",
      "availability": [
        ["topic": "ble/gateways/kitchen/status", "payload_available": "online", "payload_not_available": "offline"],
        [
          "topic": "ble/devices/C0:11:22:33:44:55/connection", "value_template": "{{ value_json.state }}",
          "payload_available": "connected", "payload_not_available": "disconnected",
        ],
      ],
      "device": [
        "identifiers": ["ble_c01122334455"], "connections": [["bluetooth", "C0:11:22:33:44:55"]],
        "name": "Thermometer",
      ],
      "origin": ["name": "ble-gateway", "sw_version": "0.1.0"],
    ]
    #expect(NSDictionary(dictionary: fields) == NSDictionary(dictionary: expected))
  }

  /// The gateway connects for a request, and disconnects afterwards.
  @Test func aSensorThatIsReadOnRequestIsAvailableWithoutAConnection() throws {
    let (_, fields) = try announcement(of: attribute("2A6E", isPublished: false))
    let availability = try #require(fields["availability"] as? [[String: String]])
    #expect(availability.map { $0["topic"] } == ["ble/gateways/kitchen/status"])
  }

  @Test func aSensorExpires() throws {
    #expect(try announcement(of: attribute("2A6E"), expireAfter: 900).fields["expire_after"] as? Int == 900)
    // Only sensors do.
    let number = try announcement(of: attribute("2A6E", isWritable: true), expireAfter: 900)
    #expect(number.topic.contains("/number/") && number.fields["expire_after"] == nil)
  }

  /// Home Assistant's units for its device classes (homeassistant/components/sensor/const.py, DEVICE_CLASS_UNITS).
  @Test(
    arguments: [
      ("2A07", "signal_strength", "dBm"), ("2A19", "battery", "%"), ("2A1C", "temperature", "°C"),
      ("2A1E", "temperature", "°C"), ("2A37", nil, "bpm"), ("2A6C", "distance", "m"),
      ("2A6D", "atmospheric_pressure", "Pa"), ("2A6E", "temperature", "°C"), ("2A6F", "humidity", "%"),
      ("2A70", "wind_speed", "m/s"), ("2A71", nil, "°"), ("2A72", "wind_speed", "m/s"), ("2A75", nil, "/m³"),
      ("2A76", nil, nil), ("2A77", "irradiance", "W/m²"), ("2A78", "precipitation", "mm"),
      ("2A79", "temperature", "°C"), ("2A7A", "temperature", "°C"), ("2A7B", "temperature", "°C"),
    ] as [(BluetoothUUID, String?, String?)])
  func aDeviceClassHasItsUnit(uuid: BluetoothUUID, deviceClass: String?, unit: String?) throws {
    let fields = try announcement(of: attribute(uuid)).fields
    #expect(fields["device_class"] as? String == deviceClass)
    #expect(fields["unit_of_measurement"] as? String == unit)
    #expect(fields["state_class"] as? String == "measurement")
  }

  @Test func aNumberThatCanBeWrittenHasItsRange() throws {
    let (topic, fields) = try announcement(of: attribute("2A6E", isWritable: true))
    #expect(topic == "homeassistant/number/ble_c01122334455_181a_2a6e/config")
    #expect(fields["command_topic"] as? String == "ble/devices/C0:11:22:33:44:55/181A/2A6E/write")
    #expect(fields["command_template"] as? String == #"{"value": {{ value }} }"#)
    #expect(fields["state_topic"] as? String == "ble/devices/C0:11:22:33:44:55/181A/2A6E/value")
    #expect(fields["min"] as? Double == -273.15 && fields["max"] as? Double == 327.67)
    #expect(fields["step"] as? Double == 0.01 && fields["mode"] as? String == "box")
    #expect(fields["state_class"] == nil)
  }

  @Test func aBooleanIsASwitch() throws {
    let (topic, fields) = try announcement(of: attribute("2AE2", in: "FFE0", isWritable: true))
    #expect(topic == "homeassistant/switch/ble_c01122334455_ffe0_2ae2/config")
    #expect(fields["payload_on"] as? String == "01" && fields["payload_off"] as? String == "00")
    #expect(fields["value_template"] as? String == "{{ value_json.hex }}")
  }

  /// It has no value that could be read (Immediate Alert Service): Home Assistant shows what it has written.
  @Test func anAlertLevelIsASelection() throws {
    let (topic, fields) = try announcement(of: attribute("2A06", in: "1802", isReadable: false, isWritable: true))
    #expect(topic == "homeassistant/select/ble_c01122334455_1802_2a06/config")
    #expect(fields["options"] as? [String] == ["No Alert", "Mild Alert", "High Alert"])
    #expect(
      fields["command_template"] as? String
        == "{{ {'No Alert':'00','Mild Alert':'01','High Alert':'02'}.get(value) }}")
    #expect(fields["state_topic"] == nil && fields["value_template"] == nil)
    let withValue = try announcement(of: attribute("2A06", in: "1803", isWritable: true)).fields
    #expect(
      withValue["value_template"] as? String
        == "{{ {'00':'No Alert','01':'Mild Alert','02':'High Alert'}.get(value_json.hex) }}")
  }

  @Test func aNameThatCanBeWrittenIsText() throws {
    let (topic, fields) = try announcement(of: attribute("2A00", in: "1800", isWritable: true))
    #expect(topic == "homeassistant/text/ble_c01122334455_1800_2a00/config")
    #expect(fields["command_template"] as? String == #"{"text": {{ value | tojson }} }"#)
    #expect(fields["value_template"] as? String == "{{ value_json.text | default('') }}")
  }

  @Test(arguments: ["2A00", "2AE2", "2A06", "FFE1"] as [BluetoothUUID])
  func whatCanOnlyBeReadAndIsNoQuantityIsNotAnnounced(uuid: BluetoothUUID) {
    var assistant = HomeAssistant(prefix: "ha", topics: topics)
    let messages = assistant.announcements(of: attribute(uuid), deviceName: nil)
    #expect(messages == [] && !assistant.announces(attribute(uuid).name))
  }

  /// Otherwise it has no value after a start of Home Assistant, which stores that of a sensor that expires itself.
  @Test func theBrokerKeepsTheValuesOfWhatDoesNotExpire() {
    for (expireAfter, isKept) in [(nil, true), (60, false)] {
      var assistant = HomeAssistant(prefix: "ha", topics: topics, expireAfter: expireAfter)
      #expect(!assistant.retainsValue(of: attribute("2A6E").name))
      for attribute in [attribute("2A6E"), attribute("2A6F", isWritable: true)] {
        _ = assistant.announcements(of: attribute, deviceName: nil)
      }
      #expect(assistant.retainsValue(of: attribute("2A6E").name) == isKept)
      #expect(assistant.retainsValue(of: attribute("2A6F").name))
      #expect(!assistant.retainsValue(of: attribute("2A70").name))
    }
  }

  @Test func aCharacteristicIsAnnouncedAgainOnlyWhenItDiffers() throws {
    var assistant = HomeAssistant(prefix: "ha", topics: topics)
    func count(_ attribute: DeviceAttribute, _ name: String?) -> Int {
      assistant.announcements(of: attribute, deviceName: name).count
    }
    let onRequest = attribute("2A6E", isPublished: false)
    let counts = [
      count(onRequest, nil), count(onRequest, nil), count(attribute("2A6E"), nil), count(attribute("2A6E"), "A"),
      count(attribute("2A6E"), nil), count(attribute("2A6E"), "B"),
    ]
    #expect(counts == [1, 0, 1, 1, 0, 0])
    assistant.forget(thermometer)
    #expect(count(attribute("2A6E"), nil) == 1)
  }

  @Test(arguments: [(1, 1, "Temperature"), (2, 1, "Temperature 2"), (1, 3, "Temperature 3"), (2, 3, "Temperature 2.3")])
  func characteristicsOfOneTypeAreSensorsOfTheirOwn(service: Int, characteristic: Int, name: String) throws {
    let attribute = AttributeName(
      address: thermometer, service: "181A", serviceNumber: service, characteristic: "2A6E",
      characteristicNumber: characteristic)
    let (topic, fields) = try announcement(
      of: DeviceAttribute(attribute, isReadable: true, isWritable: false, isPublished: true))
    let path = attribute.path.lowercased().replacing("/", with: "_")
    #expect(topic == "homeassistant/sensor/ble_c01122334455_\(path)/config")
    #expect(fields["name"] as? String == name)
    #expect(fields["unique_id"] as? String == "ble_c01122334455_\(path)")
  }

  /// Vol 3, Part G, 3.3.3.2.
  @Test func aUserDescriptionTellsSensorsOfOneTypeApart() throws {
    var assistant = HomeAssistant(prefix: "homeassistant", topics: topics)
    let name = AttributeName(
      address: thermometer, service: "181A", characteristic: "2A6E", characteristicNumber: 2)
    func names(_ text: String?) throws -> [String?] {
      let attribute = DeviceAttribute(
        name, isReadable: true, isWritable: false, isPublished: true, userDescription: text)
      return try assistant.announcements(of: attribute, deviceName: "Greenhouse").map {
        (try JSONSerialization.jsonObject(with: $0.payload) as? [String: Any])?["name"] as? String
      }
    }
    #expect(try names("Air") == ["Temperature (Air)"])
    #expect(try names("Air") == [])
    // Not read yet on this link.
    #expect(try names(nil) == [])
    #expect(try names("Soil") == ["Temperature (Soil)"])
    let attributes = DeviceAttributes(of: thermometer, services: [("181A", ["2A6E", "2A6F", "2A6E"])])
    #expect(attributes.ofSharedTypes.map(\.path) == ["181A/2A6E", "181A/2A6E-2"])
    let (first, second) = (attributes.names[0], attributes.names[2])
    #expect(DeviceAttributes.distinct([first: "Air", second: "Soil"]) == [first: "Air", second: "Soil"])
    #expect(DeviceAttributes.distinct([first: "Sensor", second: "Sensor"]).isEmpty)
  }

  /// A device that changes its address would otherwise keep all others from being announced.
  @Test func theDeviceOfTheOldestValueMakesRoomAndIsWithdrawn() throws {
    var assistant = HomeAssistant(prefix: "ha", topics: topics)
    func announced(_ number: Int, _ uuid: BluetoothUUID = "2A6E") -> [ValueQueue.Message] {
      assistant.announcements(of: attribute(uuid, of: device(number)), deviceName: nil)
    }
    let topicsOfFirst = [announced(0), announced(0, "2A6F")].flatMap { $0.map(\.topic) }
    for number in 1..<HomeAssistant.deviceLimit {
      let messages = announced(number)
      #expect(messages.count == 1)
    }
    // The first device is used again, so that the second one makes room.
    let again = announced(0)
    #expect(again.isEmpty)
    let third = announced(HomeAssistant.deviceLimit)
    let second = attribute("2A6E", of: device(1)).name
    #expect(
      third.map(\.topic).dropLast() == [topics.value(second), "ha/sensor/ble_000000000001_random_181a_2a6e/config"])
    #expect(third.map(\.payload.isEmpty) == [true, true, false] && third.allSatisfy(\.isRetained))
    for number in 2..<HomeAssistant.deviceLimit { _ = announced(number) }
    let fourth = announced(9999).dropLast()
    let values = ["2A6E", "2A6F"].map { topics.value(attribute($0, of: device(0)).name) }
    #expect(fourth.map(\.topic) == values + topicsOfFirst && fourth.allSatisfy(\.payload.isEmpty))
  }

  /// Otherwise the broker would keep those of each run, whose devices have other addresses by now.
  @Test func theAnnouncementsOfEarlierRunsMakeRoom() throws {
    var earlier = HomeAssistant(prefix: "ha", topics: topics)
    var assistant = HomeAssistant(prefix: "ha", topics: topics)
    for number in 0..<HomeAssistant.deviceLimit {
      for message in earlier.announcements(of: attribute("2A6E", of: device(number)), deviceName: "A") {
        let withdrawn = assistant.received(message.payload, on: message.topic)
        #expect(withdrawn.isEmpty)
      }
    }
    // One that is used again is announced again, and stays.
    let again = assistant.announcements(of: attribute("2A6E", of: device(0)), deviceName: nil)
    #expect(again.map(\.payload.isEmpty) == [false])
    let new = assistant.announcements(of: attribute("2A6E", of: device(9999)), deviceName: nil)
    #expect(new.map(\.payload.isEmpty) == [true, true, false])
    let first = try #require(new.first)
    #expect(first.topic.hasSuffix("/value") && !first.topic.contains(device(0).topicLevel))
    // One more of the broker.
    let announcement = try #require(
      earlier.announcements(of: attribute("2A6E", of: device(7777)), deviceName: nil).last)
    let withdrawn = assistant.received(announcement.payload, on: announcement.topic)
    #expect(withdrawn.count == 2 && withdrawn.allSatisfy { $0.payload.isEmpty && $0.isRetained })
  }

  @Test func theAnnouncementsOfOthersAreNotWithdrawn() throws {
    var other = HomeAssistant(prefix: "ha", topics: Topics(prefix: "ble", gateway: "garage"))
    var assistant = HomeAssistant(prefix: "ha", topics: topics)
    let message = try #require(other.announcements(of: attribute("2A6E"), deviceName: nil).first)
    let own = try #require(HomeAssistantTests.own(topics, attribute("2A6E")))
    for (payload, topic) in [
      (message.payload, message.topic), (own.payload, "ha/sensor/ble_other/config"), (own.payload, "ha/light/x/config"),
      (Data("{".utf8), own.topic), (Data(), own.topic), (own.payload, "ha/sensor/ble_c01122334456_181a_2a6e/config"),
    ] {
      let withdrawn = assistant.received(payload, on: topic)
      #expect(withdrawn.isEmpty && !assistant.announces(attribute("2A6E").name), "\(topic)")
    }
    _ = assistant.received(own.payload, on: own.topic)
    #expect(assistant.announces(attribute("2A6E").name))
  }

  private static func own(_ topics: Topics, _ attribute: DeviceAttribute) -> ValueQueue.Message? {
    var assistant = HomeAssistant(prefix: "ha", topics: topics)
    return assistant.announcements(of: attribute, deviceName: nil).first
  }

  /// A device with another version of its software.
  @Test func aCharacteristicThatCanBeWrittenByNowReplacesItsSensor() throws {
    var assistant = HomeAssistant(prefix: "ha", topics: topics)
    let sensor = try #require(assistant.announcements(of: attribute("2A6E"), deviceName: nil).first)
    let messages = assistant.announcements(of: attribute("2A6E", isWritable: true), deviceName: nil)
    #expect(messages.map(\.payload.isEmpty) == [true, false] && messages.first?.topic == sensor.topic)
    #expect(messages.last?.topic == "ha/number/ble_c01122334455_181a_2a6e/config")
  }

  @Test func theEntitiesOfOneDeviceAreLimited() {
    var assistant = HomeAssistant(prefix: "ha", topics: topics)
    var count = 0
    for service in 0..<UInt16(HomeAssistant.entityLimit + 5) {
      let messages = assistant.announcements(
        of: attribute("2A6E", in: BluetoothUUID(service + 0x1800)), deviceName: nil)
      count += messages.count
    }
    #expect(count == HomeAssistant.entityLimit)
  }
}
