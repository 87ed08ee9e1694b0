import AdapterFixtures
import BLELinux
import BLEWire
import Foundation
import Testing

@testable import BLEAdapter

/// The limits of what a manager keeps between runs.
@Suite struct RestorationStoreTests {
  private let folder: BondFixtures.Folder
  private let lines = Lines()

  init() throws { folder = try BondFixtures.Folder() }

  private var options: AdapterOptions {
    var options = AdapterOptions()
    options.transport = "virtual"
    options.pairing.storage = .file(folder.file)
    return options
  }

  private func open(_ identifier: String) -> RestorationStore? {
    .open(identifier, .central, options, log: { [lines] in lines.append($0.text) })
  }

  @Test func anIdentifierHasAsManyOctetsAsTheLimitAtMost() {
    #expect(open(String(repeating: "x", count: RestorationStore.identifierLimit)) != nil && lines.take().isEmpty)
    #expect(open(String(repeating: "x", count: RestorationStore.identifierLimit + 1)) == nil)
    #expect(lines.take().allSatisfy { $0.contains("1025 octets is not allowed") })
    #expect(open("") == nil && lines.take().count == 1)
  }

  @Test(arguments: [false, true]) func aStateHasAsManyOctetsAsTheLimitAtMost(isInFile: Bool) throws {
    func opened() throws -> RestorationStore {
      let store = RestorationStore.open(
        "main \(isInFile) \(folder.path)", .central, beside: isInFile ? folder.file : nil, "virtual",
        log: { [lines] in lines.append($0.text) })
      return try #require(store)
    }
    let longest = [UInt8](repeating: 1, count: RestorationStore.lengthLimit)
    try opened().settle { longest }
    #expect(try opened().load() == longest && lines.take().isEmpty)
    try opened().settle { longest + [2] }
    #expect(lines.take().count == 1)
    #expect(try opened().load() == longest)
  }

  /// The file of a program that knows more stays, whatever the manager does and however it ends.
  @Test func aStateOfANewerVersionStays() throws {
    func opened() throws -> RestorationStore {
      let store = RestorationStore.open(
        "newer", .central, beside: folder.file, "virtual", log: { [lines] in lines.append($0.text) }, later: { $0() })
      return try #require(store)
    }
    func write() throws -> String {
      let store = try opened()
      store.schedule { [1] }
      return try #require(folder.names.first { $0.hasPrefix("bonds.central-") && $0.hasSuffix(".json") })
    }
    let file = folder.path + "/" + (try write())
    let content = Data(#"{"version": 2, "program": "BluetoothLE 9.1", "content": {}}"#.utf8)
    #expect(
      FileManager.default.createFile(atPath: file, contents: content, attributes: [.posixPermissions: 0o600]))
    for _ in 1...2 {
      let store = try opened()
      #expect(store.load() == nil)
      store.schedule { [2] }
      store.settle { [3] }
      let line = try #require(lines.take().first)
      #expect(line.contains("neither restored nor saved (it has version 2, written by BluetoothLE 9.1, and this"))
      #expect(FileManager.default.contents(atPath: file) == content)
    }
  }

  /// In a process of its own, because it ends all stores there.
  @Test func theEndOfTheProcessRemovesAllStates() async {
    await #expect(processExitsWith: .success) {
      let folder = try BondFixtures.Folder()
      func open(_ place: String?) throws -> RestorationStore {
        let store = RestorationStore.open(
          "main \(place ?? "-")", .central, beside: place, "virtual", log: { _ in }, later: { $0() })
        return try #require(store)
      }
      for place in [folder.file, nil] {
        let released = try open(place)
        released.settle { [1] }
        let store = try open(place)
        try #require(store.load() == [1])
        store.schedule { [2] }
        try #require(folder.names.contains { $0.hasSuffix(".json") } == (place != nil))
        RestorationStore.endAll()
        store.schedule { [3] }
        store.settle { [4] }
        try #require(!folder.names.contains { $0.hasSuffix(".json") })
        let next = try open(place)
        try #require(next.load() == nil)
      }
    }
  }
}
