import BLETwin
import Foundation
import Testing

@testable import ble

/// The page about the files of `ble serve` says what the tool takes.
struct DescriptionPageTests {
  private static func page() throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = root.appending(path: "Sources/BluetoothLE/BluetoothLE.docc/DescriptionFiles.md")
    return try String(contentsOf: page, encoding: .utf8)
  }

  @Test func theExamplesOfThePageAreTaken() throws {
    let examples = try Self.page().components(separatedBy: "```json\n").dropFirst()
      .compactMap { $0.components(separatedBy: "```").first }
    #expect(!examples.isEmpty)
    for example in examples {
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).json")
      try Data(example.utf8).write(to: file)
      defer { try? FileManager.default.removeItem(at: file) }
      let description = try ServiceDescription(file: file.path)
      let services = ServedValues(description).services()
      #expect(services.count == description.services.count)
    }
  }

  @Test func thePageHasEachField() throws {
    let page = try Self.page()
    let keys = ServiceDescription.fields + ServiceDescription.Service.fields + ServiceDescription.Characteristic.fields
    for key in keys { #expect(page.contains("\n| `\(key)` |"), "\(key)") }
  }
}
