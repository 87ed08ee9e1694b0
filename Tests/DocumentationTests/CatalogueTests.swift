import BLESMP
import Foundation
import Testing

/// Each Swift example in a documentation catalogue is the text of a file in `Examples`, which this target compiles. The
/// examples of one page are compiled by scripts/check-substitutions, because half of them must be rejected.
@Suite struct CatalogueTests {
  private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
  private static let sources = tests.deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources")

  private static func files(below folder: URL, withSuffix suffix: String) throws -> [URL] {
    try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(suffix) }.sorted()
      .map { folder.appending(path: $0) }
  }

  /// The content of the code blocks that are marked as Swift.
  private static func examples(in page: String) -> [String] {
    page.components(separatedBy: "```swift\n").dropFirst().compactMap { $0.components(separatedBy: "```").first }
  }

  @Test func everyExampleOfACatalogueIsCompiled() throws {
    let compiled = Set(
      try Self.files(below: Self.tests.appending(path: "Examples"), withSuffix: ".swift").map {
        try String(contentsOf: $0, encoding: .utf8)
      })
    let pages = try Self.files(below: Self.sources, withSuffix: ".md").filter {
      $0.path.contains(".docc/") && $0.lastPathComponent != "ProgramsForAppleSystems.md"
    }
    #expect(pages.count >= 8)
    var shown: Set<String> = []
    for page in pages {
      for example in Self.examples(in: try String(contentsOf: page, encoding: .utf8)) {
        #expect(compiled.contains(example), "an example in \(page.lastPathComponent) is not a file of Examples")
        shown.insert(example)
      }
    }
    #expect(shown == compiled, "a file of Examples is in no catalogue")
  }

  /// A `|` inside code also ends a cell, unless it is written `\\|`.
  @Test func rowsOfATableHaveAsManyCellsAsItsHead() throws {
    let root = Self.sources.deletingLastPathComponent()
    var pages = try Self.files(below: Self.sources, withSuffix: ".md").filter { $0.path.contains(".docc/") }
    for folder in ["Docs", "Examples", "Fuzz", "Tests"] {
      pages += try Self.files(below: root.appending(path: folder), withSuffix: ".md")
    }
    pages += ["README.md", "CONTRIBUTING.md"].map { root.appending(path: $0) }
    for page in pages {
      var head: Int?
      for line in try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n") {
        guard line.hasPrefix("|") else {
          head = nil
          continue
        }
        let count = line.replacing("\\|", with: "").count { $0 == "|" }
        #expect(count == head ?? count, "\(page.lastPathComponent): \(line.prefix(60))")
        head = head ?? count
      }
    }
  }

  /// The table of the page "Pairing and bonds" is that of the specification (Vol 3, Part H, 2.3.5.1, table 2.8).
  @Test func thePageOfPairingHasTheQuestionOfEachPairOfCapabilities() throws {
    let page = Self.sources.appending(path: "BluetoothLE/BluetoothLE.docc/PairingAndBonds.md")
    let capabilities: [IOCapability] = [
      .noInputNoOutput, .displayOnly, .displayYesNo, .keyboardOnly, .keyboardDisplay,
    ]
    let models: [Substring: AssociationModel] = [
      "no question": .justWorks, "compare": .numericComparison,
      "central displays": .passkeyEntry(initiator: .displays, responder: .enters),
      "peripheral displays": .passkeyEntry(initiator: .enters, responder: .displays),
      "both type": .passkeyEntry(initiator: .enters, responder: .enters),
    ]
    func features(_ capability: IOCapability, secure: Bool) -> PairingFeatures {
      var features = PairingFeatures()
      features.ioCapability = capability
      if capability != .noInputNoOutput { features.authReq.insert(.mitm) }
      if secure { features.authReq.insert(.secureConnections) }
      return features
    }
    let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
    let head = try #require(lines.firstIndex { $0.hasPrefix("| central ") })
    for (central, line) in zip(capabilities, lines[(head + 2)...]) {
      let cells = line.split(separator: " | ").dropFirst().map { $0.replacing(" |", with: "") }
      #expect(cells.count == capabilities.count)
      for (peripheral, cell) in zip(capabilities, cells) {
        let entries = cell.split(separator: ", or ")
        for (isSecure, entry) in [(true, entries.first), (false, entries.last)] {
          let chosen = AssociationModel.chosen(
            request: features(central, secure: isSecure), response: features(peripheral, secure: isSecure))
          #expect(entry.flatMap { models[$0] } == chosen.model, "\(central), \(peripheral): \(cell)")
        }
      }
    }
  }
}
