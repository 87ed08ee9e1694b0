import BLEKit
import BLEWire
import Foundation
import Testing
import ToolCore

@testable import ble

struct ServiceDescriptionTests {
  private func description(_ text: String) throws -> ServiceDescription {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).json")
    try Data(text.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    return try ServiceDescription(file: file.path)
  }

  @Test func theExampleWorks() throws {
    let services = try ServedValues(try description(ServiceDescription.example)).services()
    #expect(services.map(\.uuid) == ["181A", "180F"])
    #expect(services.first?.characteristics.map(\.uuid) == ["2A6E", "2A3D"])
  }

  @Test(arguments: [
    ("{}", "the top level has no \"name\""),
    ("{\"name\":\"x\",\"services\":[{\"uuid\":\"180F\"}]}", "services[0] has no \"characteristics\""),
    (
      "{\"name\":\"x\",\"services\":[{\"uuid\":\"180F\",\"characteristics\":[{\"uuid\":\"2A19\",\"properties\":[\"fly\"]}]}]}",
      "services[0].characteristics[0].properties[0]"
    ),
    ("{", "the top level: "),
    ("{\"nmae\":\"x\",\"services\":[]}", ":1: nmae: unknown field. Did you mean \"name\"?"),
    (
      "{\"name\":\"x\",\"services\":[{\"uuid\":\"180F\",\"characteristics\":[{\"uuid\":\"2A19\",\"properties\":[\"read\"],\n\"secruity\" : \"encrypted\"}]}]}",
      ":2: services[0].characteristics[0].secruity: unknown field. Did you mean \"security\"?"
    ),
    (
      "{\"name\":\"x\",\"services\":[],\"colour\":1}",
      "unknown field. The fields are name, appearance, passkey, advertise, services."
    ),
    ("{\"name\":\"x\",\"services\":[],\"passkey\":\"12345\"}", "passkey: a passkey has six digits, such as \"012345\""),
  ])
  func namesThePlaceOfAFault(text: String, place: String) {
    let error = #expect(throws: ToolError.self) { try description(text) }
    #expect(error?.status == 65 && error?.description.contains(place) == true)
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
    #expect(passkeys.map { $0.passkey?.number } == [12345, 12346] && !passkeys[0].hasStructure(of: passkeys[1]))
  }
}
