import Foundation
import Testing
import ToolCore

/// Files that people write: what is read, and what an error says.
struct ConfigurationValueTests {
  private enum Shape: String, CaseIterable { case round, square }

  /// What `body` reads of a text.
  private func read<Value: Sendable>(
    _ text: String, _ body: (ConfigurationValue) throws(ConfigurationFault) -> Value
  ) throws -> Value {
    try ConfigurationValue.read(Array(text.utf8), of: "file", body)
  }

  @Test func readsEachKindOfValue() throws {
    #expect(try read("\"a\"") { value throws(ConfigurationFault) in try value.text() } == "a")
    #expect(try read("true") { value throws(ConfigurationFault) in try value.flag() })
    for text in ["12", "12.0", "1.2e1"] {
      #expect(try read(text) { value throws(ConfigurationFault) in try value.number(in: 0...12) } == 12)
    }
    #expect(try read("\"round\"") { value throws(ConfigurationFault) in try value.choice(of: Shape.self) } == .round)
    #expect(
      try read("[1, 2]") { value throws(ConfigurationFault) in
        try value.list { element throws(ConfigurationFault) in try element.number(in: 0...9) }
      } == [1, 2])
    let present = try read("{\"a\": null, \"b\": 1}") { value throws(ConfigurationFault) in
      let fields = try value.fields(["a", "b", "c"])
      return [fields["a"] != nil, fields.has("a"), fields["b"] != nil, fields.has("c")]
    }
    #expect(present == [false, true, true, false])
  }

  @Test(arguments: ["13", "-1", "1.5", "\"1\"", "null", "99999999999999999999", "true", "{}"])
  func rejectsWhatIsNoNumberOfTheRange(text: String) {
    let error = #expect(throws: ConfigurationError.self) {
      try read(text) { value throws(ConfigurationFault) in try value.number(in: 0...12) }
    }
    #expect(error?.kind == .malformed)
    #expect(error?.description.hasPrefix("file:1: the top level: a number from 0 to 12 is expected, not ") == true)
  }

  /// A member is where its name is, an element where its value is, a missing field where its object is.
  @Test func findsTheLineOfAFault() {
    let text = "{\n  \"list\": [1,\n\n 2,\n {\"a\":\n 1}],\n\"b\": 2\n}"
    func line(_ body: (ConfigurationFields) throws(ConfigurationFault) -> Void) -> String? {
      let error = #expect(throws: ConfigurationError.self) {
        try read(text) { value throws(ConfigurationFault) in try body(try value.fields(["list", "b", "c"])) }
      }
      return error?.description
    }
    #expect(
      line { fields throws(ConfigurationFault) in throw try fields.required("b").fault("x") } == "file:7: b: x")
    #expect(
      line { fields throws(ConfigurationFault) in
        _ = try fields["list"]?.list { value throws(ConfigurationFault) in try value.number(in: 1...1) }
      } == "file:4: list[1]: a number from 1 to 1 is expected, not 2")
    #expect(
      line { fields throws(ConfigurationFault) in
        _ = try fields["list"]?.list { value throws(ConfigurationFault) in
          if let object = try? value.fields(["a", "b"]) { _ = try object.required("b") }
        }
      } == "file:5: list[2] has no \"b\"")
    #expect(
      line { fields throws(ConfigurationFault) in _ = try fields.required("c") } == "file:1: the top level has no \"c\""
    )
  }

  /// The text of a file must not move the cursor of the terminal that shows the error.
  @Test func showsNoControlCharacters() {
    let error = #expect(throws: ConfigurationError.self) {
      try read("{\"a\": \"\\u001b[2J\"}") { value throws(ConfigurationFault) in
        try value.fields(["a"]).required("a").flag()
      }
    }
    #expect(error?.description == "file:1: a: true or false is expected, not \"\\u{1B}[2J\"")
  }

  @Test func readsFilesUpToTheLimit() throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).json").path
    defer { try? FileManager.default.removeItem(atPath: file) }
    func write(_ count: Int) throws {
      try Data(("1" + String(repeating: " ", count: count - 1)).utf8).write(to: URL(fileURLWithPath: file))
    }
    try write(ConfigurationValue.maximumFileLength)
    #expect(
      try ConfigurationValue.read(file: file) { value throws(ConfigurationFault) in try value.number(in: 0...9) } == 1)
    try write(ConfigurationValue.maximumFileLength + 1)
    let error = #expect(throws: ConfigurationError.self) {
      try ConfigurationValue.read(file: file) { value throws(ConfigurationFault) in try value.number(in: 0...9) }
    }
    #expect(error?.kind == .unreadable && error?.description.hasSuffix("it has more than 1048576 octets") == true)
  }
}
