import BLEWire
import Foundation
import GatewayCore
import Testing

struct ConfigurationTests {
  private func read(_ text: String) throws -> GatewayConfiguration {
    let file = FileManager.default.temporaryDirectory.appending(path: "gateway-\(UUID()).json")
    try text.write(to: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: file) }
    var configuration = try GatewayConfiguration(file: file.path)
    if configuration.identifier.isEmpty { configuration.identifier = "test" }
    try configuration.check()
    return configuration
  }

  @Test func anEmptyObjectHasTheDefaults() throws {
    var expected = GatewayConfiguration()
    expected.identifier = "test"
    #expect(try read("{}") == expected)
  }

  @Test func allFieldsAreRead() throws {
    let configuration = try read(
      """
      {"identifier": "kitchen", "prefix": "home/ble", "homeAssistant": null, "expireAfter": 900, "keptValues": 50,
       "broker": {"host": "broker", "certificateAuthorities": "/etc/ca.pem", "username": "u", "passwordFile": "/p"},
       "advertisements": false, "advertisementInterval": 60,
       "devices": [{"address": "C0:11:22:33:44:55-random", "subscribe": ["181A/2A6E", "180F/2A19"]}]}
      """)
    #expect(configuration.broker.effectivePort == 8883)
    #expect(configuration.homeAssistant == nil && configuration.expireAfter == 900)
    #expect(configuration.devices.first?.subscribe.map(\.description) == ["181A/2A6E", "180F/2A19"])
  }

  @Test(arguments: [
    ("{\"brokers\": {}}", "1: brokers: unknown field. Did you mean \"broker\"?"),
    ("{\"broker\":\n{\"hots\": \"a\"}}", "2: broker.hots: unknown field. Did you mean \"host\"?"),
    ("{\n\"prefix\": \"a/#\"}", "2: prefix: 'a/#' is empty or has '+', '#' or an empty part"),
    (
      "{\"identifier\": \"a/b\"}",
      "1: identifier: 'a/b' must be a name without '/', '+' and '#'. Set one with --id NAME"
    ),
    ("{\"keptValues\": 0}", "1: keptValues: a number from 1 to 1000000 is expected, not 0"),
    ("{\"expireAfter\": 0}", "1: expireAfter: a number from 1 to 31536000 is expected, not 0"),
    ("{\"broker\": {\"port\": 70000}}", "1: broker.port: a number from 1 to 65535 is expected, not 70000"),
    (
      "{\"devices\": [{\"subscribe\":\n[\"181A\"]}]}",
      "2: devices[0].subscribe[0]: '181A' is not SERVICE/CHARACTERISTIC, such as 181A/2A6E or 'Environmental "
        + "Sensing/Temperature'"
    ),
    (
      "{\"devices\": [{\"subscribe\":\n[\"Battery/Batery Level\"]}]}",
      "2: devices[0].subscribe[0]: 'Batery Level' is neither a UUID, which has 4, 8 or 36 characters, such as 180F, "
        + "nor the name of a characteristic. Did you mean 'Battery Level'?"
    ),
    ("{\"devices\": [\n{\"name\": \"a\"}]}", "2: devices[0] has no \"subscribe\""),
    (
      "{\"devices\": [{\"subscribe\": []}]}",
      "1: devices[0].subscribe: it is empty; name characteristics as 181A/2A6E"
    ),
    (
      "{\"devices\": [{\"address\": \"nobody\", \"subscribe\": [\"181A/2A6E\"]}]}",
      "1: devices[0].address: 'nobody' is not an address such as F0:F1:F2:F3:F4:F5 (public) or F0:F1:F2:F3:F4:F5-random"
    ),
    ("[]", "1: the top level: an object in { } is expected, not a list"),
    ("{", "1: this is not JSON: a name is expected here"),
  ])
  func namesTheLineThePlaceAndTheAllowedValues(text: String, reason: String) throws {
    let error = try #require(throws: GatewayError.self) {
      try GatewayConfiguration(Array(text.utf8), of: "gateway.json")
    }
    #expect(error.kind == .configuration && error.text == "gateway.json:\(reason)")
  }

  @Test func aSubscriptionIsNamedAsElsewhere() throws {
    for text in ["181A/2A6E", "Environmental Sensing/Temperature", "environmental sensing service/2a6e"] {
      #expect(try GatewayConfiguration.Subscription(text).description == "181A/2A6E")
    }
    let error = try #require(throws: GatewayConfiguration.Subscription.Failure.self) {
      try GatewayConfiguration.Subscription("Temperature")
    }
    #expect(error.description.hasPrefix("'Temperature' is not SERVICE/CHARACTERISTIC"))
  }

  @Test func aFileThatCannotBeReadIsAnErrorOfTheInput() throws {
    let error = try #require(throws: GatewayError.self) { try GatewayConfiguration(file: "/nowhere") }
    #expect(error.kind == .input && error.text == "/nowhere cannot be read: No such file or directory")
  }

  @Test func aDeviceIsFoundByAddressNameOrService() throws {
    let configuration = try read(
      """
      {"devices": [{"address": "C0:11:22:33:44:55-random", "subscribe": ["180F/2A19"]},
                   {"name": "Thermometer", "subscribe": ["181A/2A6F"]}, {"subscribe": ["181A/2A6E"]}]}
      """)
    let device = DeviceAddress(octets: BD_ADDR(0xC0_11_22_33_44_55), kind: .random)
    let other = DeviceAddress(octets: BD_ADDR(1), kind: .public)
    func found(_ address: DeviceAddress, _ name: String?, _ services: [BluetoothUUID]) -> [String] {
      configuration.subscriptions(address: address, name: name, services: services).map(\.description)
    }
    #expect(found(device, nil, []) == ["180F/2A19"])
    // Another device: an address of the other kind.
    #expect(found(DeviceAddress(octets: device.octets, kind: .public), nil, []) == [])
    #expect(found(other, "Thermometer", []) == ["181A/2A6F"])
    #expect(found(other, nil, ["181A"]) == ["181A/2A6E"])
    #expect(found(device, "Thermometer", ["181A"]) == ["180F/2A19", "181A/2A6F", "181A/2A6E"])
    #expect(found(other, "Other", ["180F"]) == [])
  }
}
