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
      {"identifier": "kitchen", "prefix": "home/ble", "homeAssistant": null, "keptValues": 50,
       "broker": {"host": "broker", "certificateAuthorities": "/etc/ca.pem", "username": "u", "passwordFile": "/p"},
       "advertisements": false, "advertisementInterval": 60,
       "devices": [{"address": "C0:11:22:33:44:55-random", "subscribe": ["181A/2A6E", "180F/2A19"]}]}
      """)
    #expect(configuration.broker.effectivePort == 8883)
    #expect(configuration.homeAssistant == nil)
    #expect(configuration.devices.first?.subscribe.map(\.description) == ["181A/2A6E", "180F/2A19"])
  }

  @Test(arguments: [
    (#"{"brokers": {}}"#, "brokers"), (#"{"broker": {"hots": "a"}}"#, "hots"), (#"{"prefix": "a/#"}"#, "prefix"),
    (#"{"identifier": "a/b"}"#, "identifier"), (#"{"keptValues": 0}"#, "keptValues"),
    (#"{"devices": [{"subscribe": ["181A"]}]}"#, "devices.[0].subscribe"),
    (#"{"devices": [{"name": "a"}]}"#, "subscribe"),
    (#"{"devices": [{"address": "nobody", "subscribe": ["181A/2A6E"]}]}"#, "address"), ("[]", ""), ("{", ""),
  ])
  func rejectsWhatItDoesNotKnowAndNamesTheField(text: String, field: String) throws {
    let error = try #require(throws: GatewayError.self) { try read(text) }
    #expect(error.kind == .configuration)
    #expect(field.isEmpty || error.text.contains(field), "\(error.text)")
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
