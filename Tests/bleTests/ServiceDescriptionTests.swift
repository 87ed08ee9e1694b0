import BLEKit
import BLEWire
import Testing
import ToolCore

@testable import ble

struct ServiceDescriptionTests {
  private func description(_ text: String) throws -> ServiceDescription {
    try ServiceDescription(Array(text.utf8), of: "lamp.json")
  }

  @Test func theExampleWorks() throws {
    let services = ServedValues(try description(ServiceDescription.example)).services()
    #expect(services.map(\.uuid) == ["181A", "180F"])
    #expect(services.first?.characteristics.map(\.uuid) == ["2A6E", "2A3D"])
  }

  /// A characteristic of a service; each part is on a line of its own.
  private static func nested(_ characteristic: String) -> String {
    "{\"name\":\"x\",\n\"services\":[{\"uuid\":\"180F\",\n\"characteristics\":[{\"uuid\":\"2A19\",\"properties\":[\"read\"],\n\(characteristic)}]}]}"
  }

  @Test(arguments: [
    ("{}", "lamp.json:1: the top level has no \"name\""),
    (
      "{\"name\":\"x\",\n\"services\":[{\"uuid\":\"180F\"}]}",
      "lamp.json:2: services[0] has no \"characteristics\""
    ),
    (
      "{\"name\":\"x\",\"services\":[{\"uuid\":\"180F\",\"characteristics\":[{\"uuid\":\"2A19\",\"properties\":[\"read\",\n\"fly\"]}]}]}",
      "lamp.json:2: services[0].characteristics[0].properties[1]: 'fly' is not one of read, write, notify, indicate, "
        + "write_without_response"
    ),
    (
      "{\"name\":\"x\",\"services\":[{\"uuid\":\"180F\",\"characteristics\":[{\"uuid\":\"2A19\",\"properties\":\"read\"}]}]}",
      "lamp.json:1: services[0].characteristics[0].properties: a list in [ ] is expected, not \"read\""
    ),
    ("{", "lamp.json:1: this is not JSON: a name is expected here"),
    ("{\"name\": \"x\",\n\"services\": [\n}", "lamp.json:3: this is not JSON: a value is expected here"),
    ("[]", "lamp.json:1: the top level: an object in { } is expected, not a list"),
    ("{\"nmae\":\"x\",\"services\":[]}", "lamp.json:1: nmae: unknown field. Did you mean \"name\"?"),
    (
      nested("\"secruity\" : \"encrypted\""),
      "lamp.json:4: services[0].characteristics[0].secruity: unknown field. Did you mean \"security\"?"
    ),
    (
      nested("\"security\": \"encryptd\""),
      "lamp.json:4: services[0].characteristics[0].security: 'encryptd' is not one of none, encrypted, authenticated. "
        + "Did you mean \"encrypted\"?"
    ),
    (
      nested("\"value\": \"0g\""),
      "lamp.json:4: services[0].characteristics[0].value: '0g' is neither pairs of hexadecimal digits nor text:…"
    ),
    (
      nested("\"value\": 12"),
      "lamp.json:4: services[0].characteristics[0].value: text in quotation marks is expected, not 12"
    ),
    (
      "{\"name\":\"x\",\"services\":[{\"uuid\":\"battery\",\"characteristics\":[]}]}",
      "lamp.json:1: services[0].uuid: 'battery' is not a UUID: it has 4, 8 or 36 characters, such as 180F"
    ),
    (
      "{\"name\":\"x\",\"services\":[],\n\"appearance\":70000}",
      "lamp.json:2: appearance: a number from 0 to 65535 is expected, not 70000"
    ),
    (
      "{\"name\":\"x\",\"services\":[],\"appearance\":1.5}",
      "lamp.json:1: appearance: a number from 0 to 65535 is expected, not 1.5"
    ),
    (
      "{\"name\":\"x\",\"services\":[],\"colour\":1}",
      "lamp.json:1: colour: unknown field. The fields are name, appearance, passkey, advertise, services."
    ),
    (
      "{\"name\":\"x\",\"services\":[],\"passkey\":\"12345\"}",
      "lamp.json:1: passkey: a passkey has six digits, such as \"012345\""
    ),
  ])
  func namesTheLineThePlaceAndTheAllowedValues(text: String, reason: String) {
    let error = #expect(throws: ToolError.self) { try description(text) }
    #expect(error?.status == 65 && error?.description == reason)
  }

  @Test func aFileThatCannotBeReadIsAnErrorOfTheInput() {
    let error = #expect(throws: ToolError.self) { try ServiceDescription(file: "/nowhere/lamp.json") }
    #expect(error?.status == 66)
    #expect(
      error?.description.hasPrefix("/nowhere/lamp.json cannot be read: No such file or directory. Name a") == true)
  }

  @Test(arguments: ["0", "0g", "text", String(repeating: "00", count: 513)])
  func rejectsAValueThatIsNeitherOctetsNorText(text: String) {
    #expect(throws: ToolError.self) { try ValueCommands.octets(text) }
  }

  @Test func takesOctetsAndText() throws {
    #expect(try ValueCommands.octets("01:ff 0A") == [0x01, 0xFF, 0x0A])
    #expect(try ValueCommands.octets("text:hé") == Array("hé".utf8))
    #expect(try ValueCommands.octets("") == [])
    #expect(try ValueCommands.octets(String(repeating: "00", count: 512)).count == 512)
  }

  @Test func valuesAreNotPartOfTheStructure() throws {
    let first = try description(ServiceDescription.example)
    #expect(first.hasStructure(of: try description(ServiceDescription.example.replacing("6608", with: "7008"))))
    #expect(!first.hasStructure(of: try description(ServiceDescription.example.replacing("notify", with: "indicate"))))
    #expect(!first.hasStructure(of: try description(ServiceDescription.example.replacing("Thermometer", with: "T"))))
    let passkeys = try ["012345", "012346"].map { passkey in
      try description("{\"name\":\"x\",\"passkey\":\"\(passkey)\",\"services\":[]}")
    }
    #expect(passkeys.map(\.passkey) == [12345, 12346] && !passkeys[0].hasStructure(of: passkeys[1]))
  }
}
