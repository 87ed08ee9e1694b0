import Foundation
import Testing

/// Each Swift example in a documentation catalogue is the text of a file in `Examples`, which this target compiles. The examples of
/// one page are compiled by scripts/check-substitutions, because half of them must be rejected.
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

  @Test func theTestOfAServiceInTheReadmeIsTheOneThatRuns() throws {
    let root = Self.tests.deletingLastPathComponent().deletingLastPathComponent()
    let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
    let test = try String(contentsOf: Self.tests.appending(path: "Examples/TestAService.swift"), encoding: .utf8)
    #expect(Self.examples(in: readme).contains(test))
  }
}
