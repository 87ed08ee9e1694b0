import BLEKit
import BLETwin
import BLEWire
import Foundation
import Testing
import ToolCore

@testable import ble

struct ServiceDescriptionTests {
  private func description(_ text: String) throws -> ServiceDescription {
    try ServiceDescription(Array(text.utf8), of: "lamp.json")
  }

  @Test func anAppearanceIsANumberOrAName() throws {
    for appearance in ["768", "\"Generic Thermometer\"", "\"generic thermometer\""] {
      let text = "{\"name\":\"x\",\"services\":[],\"appearance\":\(appearance)}"
      #expect(try ServiceDescription(Array(text.utf8), of: "x.json").appearance == 768)
    }
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

  private static let longName = "{\"name\":\"" + String(repeating: "é", count: 125) + "\",\"services\":[]}"
  private static let longDescription = nested("\"description\": \"" + String(repeating: "x", count: 600) + "\"")

  /// What an adapter or another device would not accept.
  private static let impossible: [(String, String)] = [
    ("{\"name\":\"x\",\n\"services\":[],\n\"name\":\"y\"}", "lamp.json:3: \"name\" is given twice in this object"),
    ("{\"name\":\"x\",\"services\":[],\n}", "lamp.json:2: this is not JSON: a name is expected here"),
    (
      "{\"name\":\"x\",\"services\":[\n],\"advertise\":[\"180F\",\n]}",
      "lamp.json:3: this is not JSON: a value is expected here"
    ),
    ("{\n\"name\":\"\",\"services\":[]}", "lamp.json:2: name: a text of 1 to 248 octets is expected, not of 0"),
    (
      longName,
      "lamp.json:1: name: a text of 1 to 248 octets is expected, not of 250"
    ),
    (
      "{\"name\":\"x\",\"services\":[{\"uuid\":\"180F\",\"characteristics\":[]}],\n\"advertise\":[\"180F\",\n\"Heart Rate\"]}",
      "lamp.json:3: advertise[1]: no service of this file is 180D. The services are Battery"
    ),
    (
      "{\"name\":\"x\",\"services\":[],\"advertise\":[\"180F\"]}",
      "lamp.json:1: advertise[0]: no service of this file is 180F. It has no services"
    ),
    (
      "{\"name\":\"x\",\n\"services\":[{\"uuid\":\"1800\",\"characteristics\":[]}]}",
      "lamp.json:2: services[0].uuid: the adapter has the service Generic Access already, with the name and the appearance of this file"
    ),
    (
      "{\"name\":\"x\",\n\"services\":[{\"uuid\":\"2A19\",\"characteristics\":[]}]}",
      "lamp.json:2: services[0].uuid: 2A19 (Battery Level) is not the type of a service"
    ),
    (
      "{\"name\":\"x\",\"services\":[{\"uuid\":\"180F\",\"characteristics\":[\n{\"uuid\":\"2902\",\"properties\":[\"read\"]}]}]}",
      "lamp.json:2: services[0].characteristics[0].uuid: 2902 (Client Characteristic Configuration) is not the type of a "
        + "characteristic: the adapter adds it where it belongs"
    ),
    (
      "{\"name\":\"x\",\"services\":[{\"uuid\":\"180F\",\"characteristics\":[\n{\"uuid\":\"180D\",\"properties\":[\"read\"]}]}]}",
      "lamp.json:2: services[0].characteristics[0].uuid: 180D (Heart Rate) is not the type of a characteristic"
    ),
    (
      "{\"name\":\"x\",\"services\":[{\"uuid\":\"180F\",\"characteristics\":[{\"uuid\":\"2A19\",\n\"properties\":[]}]}]}",
      "lamp.json:2: services[0].characteristics[0].properties: a characteristic has at least one of read, write, notify, indicate, "
        + "write_without_response"
    ),
    (
      "{\"name\":\"x\",\"services\":[{\"uuid\":\"180F\",\"characteristics\":[{\"uuid\":\"2A19\",\"properties\":[\"read\",\n\"read\"]}]}]}",
      "lamp.json:2: services[0].characteristics[0].properties[1]: 'read' is in the list twice"
    ),
    (
      longDescription,
      "lamp.json:4: services[0].characteristics[0].description: a text of 1 to 512 octets is expected, not of 600"
    ),
    (
      nested("\"value\": \"00\",\n\"exec\": \"date\""),
      "lamp.json:5: services[0].characteristics[0].exec: a characteristic has \"value\" or \"exec\", not both"
    ),
    (
      nested("\"every\": 5"),
      "lamp.json:4: services[0].characteristics[0].every: this is the period of a command: \"exec\" is missing"
    ),
    (
      "{\"name\":\"x\",\"services\":[{\"uuid\":\"180F\",\"characteristics\":[{\"uuid\":\"2A19\",\"properties\":[\"write\"],\n\"exec\":\"date\"}]}]}",
      "lamp.json:2: services[0].characteristics[0].exec: the value of a command cannot be written: leave write and "
        + "write_without_response out"
    ),
    (
      nested("\"value\": \"150 %\""),
      "lamp.json:4: services[0].characteristics[0].value: '150 %' is no value of Battery Level. Write it as ble read prints it, such as "
        + "0 %, or as pairs of hexadecimal digits, text:… or a number with its type, such as int16:2150"
    ),
  ]

  @Test(arguments: impossible) func rejectsWhatCannotBePublished(text: String, reason: String) {
    let error = #expect(throws: ToolError.self) { try description(text) }
    #expect(error?.status == 65 && error?.description == reason)
  }

  private static let faults: [(String, String)] = [
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
      "lamp.json:4: services[0].characteristics[0].value: '0g' is no value of Battery Level. Write it as ble read prints it, such as "
        + "0 %, or as pairs of hexadecimal digits, text:… or a number with its type, such as int16:2150"
    ),
    (
      nested("\"value\": 12"),
      "lamp.json:4: services[0].characteristics[0].value: text in quotation marks is expected, not 12"
    ),
    (
      "{\"name\":\"x\",\"services\":[{\"uuid\":\"batery\",\"characteristics\":[]}]}",
      "lamp.json:1: services[0].uuid: 'batery' is neither a UUID, which has 4, 8 or 36 characters, such as 180F, nor the name of a "
        + "service. Did you mean 'Battery'?"
    ),
    (
      "{\"name\":\"x\",\"services\":[],\n\"appearance\":70000}",
      "lamp.json:2: appearance: a number from 0 to 65535 is expected, not 70000"
    ),
    (
      "{\"name\":\"x\",\"services\":[],\n\"appearance\":\"Generic Termometer\"}",
      "lamp.json:2: appearance: 'Generic Termometer' is not the name of an appearance. Did you mean \"Generic "
        + "Thermometer\"?"
    ),
    (
      "{\"name\":\"x\",\"services\":[],\"appearance\":1.5}",
      "lamp.json:1: appearance: a number from 0 to 65535 is expected, not 1.5"
    ),
    (
      "{\"name\":\"x\",\"services\":[],\"colour\":1}",
      "lamp.json:1: colour: unknown field. The fields are name, appearance, passkey, advertise, advertising, periodic, "
        + "address, mtu, connection, pairing, services."
    ),
    (
      "{\"name\":\"x\",\"services\":[],\"passkey\":\"12345\"}",
      "lamp.json:1: passkey: a passkey has six digits, such as \"012345\""
    ),
  ]

  @Test(arguments: faults)
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

  @Test func textsHaveTheirLimits() throws {
    func field(_ name: String, _ count: Int) -> String {
      Self.nested("\"\(name)\":\"" + String(repeating: "x", count: count) + "\"")
    }
    for (name, limit) in [("exec", 4_096), ("description", 512)] {
      _ = try description(field(name, limit))
      let error = #expect(throws: ToolError.self) { try description(field(name, limit + 1)) }
      #expect(error?.description.contains("1 to \(limit) octets is expected, not of \(limit + 1)") == true)
    }
    let limit = ServiceDescription.maximumNameLength
    let text = field("description", 1)
    _ = try description(
      text.replacing("\"x\",\n\"services", with: "\"\(String(repeating: "x", count: limit))\",\n\"services"))
    #expect(throws: ToolError.self) {
      try description(
        text.replacing("\"x\",\n\"services", with: "\"\(String(repeating: "x", count: limit + 1))\",\n\"services"))
    }
  }

  @Test func takesNamesAndTypedValues() throws {
    let text = """
      {"name": "x", "advertise": ["environmental sensing"], "services": [{"uuid": "Environmental Sensing", "characteristics": [
        {"uuid": "Temperature", "properties": ["read"], "value": "-1.5 °C"},
        {"uuid": "2A56", "properties": ["read"], "value": "uint16:258"}]}]}
      """
    let description = try description(text)
    #expect(description.advertise == ["181A"] && description.services.map(\.uuid) == ["181A"])
    #expect(description.services[0].characteristics.map(\.uuid) == ["2A6E", "2A56"])
    #expect(description.services[0].characteristics.map(\.value) == [[0x6A, 0xFF], [0x02, 0x01]])
  }

  /// The commands run with the rights of this user.
  @Test func aFileWithCommandsThatOthersCanChangeIsRefused() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("lamp.json")
    func write(_ part: String, _ permissions: Int, folder folderPermissions: Int) throws {
      try Data(Self.nested(part).utf8).write(to: file)
      try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: file.path)
      try FileManager.default.setAttributes([.posixPermissions: folderPermissions], ofItemAtPath: folder.path)
    }
    try write("\"exec\": \"date\", \"every\": 60", 0o644, folder: 0o755)
    let characteristic = try #require(try ServiceDescription(file: file.path).services.first?.characteristics.first)
    #expect(characteristic.command == "date" && characteristic.period == 60)
    for (permissions, folderPermissions, path) in [
      (0o664, 0o755, file.path), (0o646, 0o755, file.path), (0o644, 0o777, folder.path),
    ] {
      try write("\"exec\": \"date\"", permissions, folder: folderPermissions)
      let error = #expect(throws: ToolError.self) { try ServiceDescription(file: file.path) }
      #expect(
        error?.status == 66 && error?.description.hasSuffix("can change \(path). Run: chmod go-w '\(path)'") == true)
    }
    // Without a command it is of no importance.
    try write("\"value\": \"00\"", 0o666, folder: 0o777)
    _ = try ServiceDescription(file: file.path)
  }

  /// Bonds are kept for the path, however it is written.
  @Test func thePathOfAFileIdentifiesItsDevice() {
    let program = ServeCommand.program(for: "/tmp/lamp.json")
    #expect(program.hasPrefix("ble-serve-lamp.json-") && !program.contains("/"))
    #expect(
      ServeCommand.program(for: "/tmp/../tmp/lamp.json") == program
        && ServeCommand.program(for: "/lamp.json") != program)
    #expect(ServeCommand.program(for: "/tmp/lamp2.json") != program)
    let folder = FileManager.default.currentDirectoryPath
    #expect(ServeCommand.program(for: "lamp.json") == ServeCommand.program(for: "\(folder)/lamp.json"))
    #expect(ServeCommand.program(for: "./lamp.json") == ServeCommand.program(for: "lamp.json"))
    #expect(ServeCommand.program(for: "/tmp/" + String(repeating: "é", count: 120)).utf8.count < 200)
  }

  @Test func valuesAreNotPartOfTheStructure() throws {
    let first = try description(ServiceDescription.example)
    #expect(first.hasStructure(of: try description(ServiceDescription.example.replacing("21.50 °C", with: "21.60 °C"))))
    #expect(!first.hasStructure(of: try description(ServiceDescription.example.replacing("notify", with: "indicate"))))
    #expect(!first.hasStructure(of: try description(ServiceDescription.example.replacing("Thermometer", with: "T"))))
    let passkeys = try ["012345", "012346"].map { passkey in
      try description("{\"name\":\"x\",\"passkey\":\"\(passkey)\",\"services\":[]}")
    }
    #expect(passkeys.map(\.passkey) == [12345, 12346] && !passkeys[0].hasStructure(of: passkeys[1]))
  }
}
