import Foundation
import Testing

/// A program that imports BluetoothLE has the names of two APIs. Both must be usable without the name of their module.
@Suite struct NamesTests {
  private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Sources")

  /// The public names that the files of a target declare at the start of a line.
  private static func names(of target: String) throws -> Set<String> {
    let folder = sources.appending(path: target)
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
    let declaration = /^public (?:final |indirect )?(?:struct|class|enum|protocol|actor|typealias|let|var|func) (\w+)/
    var names: Set<String> = []
    for file in files {
      let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
      for line in text.split(separator: "\n") {
        if let match = line.firstMatch(of: declaration) { names.insert(String(match.1)) }
      }
    }
    return names
  }

  @Test func theSwiftAPIAndTheAliasesShareNoName() throws {
    let (aliases, own) = (try Self.names(of: "BluetoothLE"), try Self.names(of: "BLEKit"))
    #expect(aliases.contains("Peripheral") && own.contains("RemoteDevice"))
    #expect(aliases.isDisjoint(with: own))
  }

  @Test func theModulesOfBothAPIsShareNoNameWithTheSwiftAPI() throws {
    let own = try Self.names(of: "BLEKit")
    let modules = [
      ("BLEAdapter", "AdapterError"), ("BLEAdapter", "AdapterOptions"), ("BLEAdapter", "BondStore"),
      ("BLEHost", "Bond"),
    ]
    for (module, name) in modules {
      let names = try Self.names(of: module)
      #expect(names.contains(name))
      #expect(names.isDisjoint(with: own))
    }
  }
}
